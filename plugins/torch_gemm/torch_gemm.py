#!/usr/bin/env -S python3 -B
"""Rate of matrix products by PyTorch in bf16, fp16, tf32 and fp32, on the CPU or on each GPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from fleetmark_plugin import Plugin
from fleetmark_torch import Torch, require_torch
from fleetmark_waiting import run_plugin

WORKER = Path(__file__).resolve().parent / "gemm_worker.py"
WRONG_PRODUCT = 3
PRECISIONS = ("bf16", "fp16", "fp32", "tf32")


def run_worker(plugin: Plugin, torch: Torch, precision: str, gpu: int) -> None:
    """One precision on one device; `gpu` is -1 for the CPU."""
    threads = len(plugin.request["cpus"] or os.sched_getaffinity(0))
    options = {"n": int(plugin.params["n"]), "precision": precision, "device": "cuda" if gpu >= 0 else "cpu",
               "repetitions": int(plugin.params["repetitions"]), "threads": threads}
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    if gpu >= 0:
        environment.update(CUDA_DEVICE_ORDER="PCI_BUS_ID", CUDA_VISIBLE_DEVICES=str(gpu))
    labels = {"precision": precision, "device": "gpu%d" % gpu if gpu >= 0 else "cpu"}
    with subprocess.Popen([torch.python, str(WORKER), json.dumps(options)], env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=sys.stderr, text=True) as worker:
        try:
            assert worker.stdout is not None
            for line in worker.stdout:
                plugin.sample("rate", json.loads(line)["rate"], "GFLOP/s", labels)
        except BaseException:
            worker.kill()
            raise
    if worker.returncode == WRONG_PRODUCT:
        plugin.invalid("a product in %s on %s was wrong" % (precision, labels["device"]))
    elif worker.returncode != 0:
        plugin.fail("the products in %s on %s ended with status %d" % (precision, labels["device"], worker.returncode))


def measure(plugin: Plugin, torch: Torch) -> None:
    wanted = plugin.params["precisions"]
    if not wanted or any(p not in PRECISIONS for p in wanted):
        plugin.bad_parameter("precisions", "must be a list of %s" % ", ".join(PRECISIONS))
    cuda = plugin.params["device"] == "cuda" or (plugin.params["device"] == "auto" and torch.gpus > 0)
    if cuda and not torch.gpus:
        plugin.skip("PyTorch %s of %s has no GPU to use" % (torch.version, torch.python))
    named = [str(d)[3:] for d in plugin.request.get("devices", []) if str(d).startswith("gpu")]
    gpus = ([int(d) for d in named if d.isdigit()] or list(range(torch.gpus))) if cuda else [-1]
    if not cuda:
        left_out = [p for p in wanted if p in ("fp16", "tf32")]  # no CPU kernels worth the name
        wanted = [p for p in wanted if p not in left_out]
        if left_out:
            plugin.log("%s: only on GPUs" % ", ".join(left_out))
    if not wanted:
        plugin.skip("none of the precisions is for the CPU")
    for gpu in gpus:
        for precision in wanted:
            run_worker(plugin, torch, precision, gpu)


if __name__ == "__main__":
    run_plugin(lambda plugin: measure(plugin, require_torch(plugin)))
