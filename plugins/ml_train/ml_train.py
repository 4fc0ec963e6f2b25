#!/usr/bin/env -S python3 -B
"""Trains ResNet-50, DeepCAM or CosmoFlow in PyTorch for a few epochs, on one or several ranks of this node, and
reports each epoch after the first as a sample."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Mapping, Optional, Sequence

from fleetmark_plugin import Plugin
from fleetmark_torch import Torch, require_torch
from fleetmark_waiting import run_plugin

HERE = Path(__file__).resolve().parent


def gpu_numbers(devices: Sequence[object]) -> list[int]:
    """[0, 3] of ["gpu0", "gpu3"]."""
    return [int(str(d)[3:]) for d in devices if str(d).startswith("gpu") and str(d)[3:].isdigit()]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Ranks:
    """The processes of a training. Rank 0's lines are read; when one fails, all are ended."""

    def __init__(self, torch: Torch, count: int, options: Mapping[str, object], gpus: Sequence[int], threads: int):
        self._processes: list[subprocess.Popen[str]] = []
        port = free_port()
        for rank in range(count):
            environment = {**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(count),
                           "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": str(threads),
                           "PYTHONDONTWRITEBYTECODE": "1"}
            if gpus:
                environment["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
                environment["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, gpus))
            self._processes.append(subprocess.Popen(
                [torch.python, str(HERE / "train_worker.py"), json.dumps(options)], env=environment,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE if rank == 0 else sys.stderr, stderr=sys.stderr, text=True))

    def epochs(self):
        """What rank 0 says of each epoch."""
        stdout = self._processes[0].stdout
        assert stdout is not None
        for line in stdout:
            if line.startswith("{"):
                yield json.loads(line)
            else:
                sys.stderr.write(line)

    def failure(self) -> Optional[str]:
        """After the last epoch: which rank failed, and how."""
        for rank, process in enumerate(self._processes):
            if process.wait(60) != 0:
                return "rank %d ended with status %d" % (rank, process.returncode)
        return None

    def stop(self) -> None:
        for process in self._processes:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.wait()


def report(plugin: Plugin, epoch: Mapping[str, float], before: float, labels: Mapping[str, str]) -> None:
    seconds, io, communication = epoch["seconds"], epoch["io_seconds"], epoch["communication_seconds"]
    plugin.sample("throughput", epoch["samples"] / seconds, "samples/s", labels)
    computing = seconds - io - communication
    if computing > 0:
        plugin.sample("compute_throughput", epoch["samples"] / computing, "samples/s", labels)
    plugin.sample("epoch_time", seconds, "s", labels)
    plugin.sample("io_time", io, "s", labels)
    plugin.sample("loss_change", epoch["loss"] - before, "1", labels)
    if epoch["ranks"] > 1:
        plugin.sample("communication_time", communication, "s", labels)
    for name, unit in (("gpu_power", "W"), ("gpu_utilisation", "%"), ("cpu_power", "W")):
        if name in epoch:
            plugin.sample(name, epoch[name], unit, labels)


def measure(plugin: Plugin, torch: Torch) -> None:
    params = plugin.params
    chosen = gpu_numbers(plugin.request.get("devices", [])) or list(range(torch.gpus))
    cuda = params["device"] == "cuda" or (params["device"] == "auto" and torch.gpus > 0)
    if cuda and not torch.gpus:
        plugin.skip("PyTorch %s of %s has no GPU to use" % (torch.version, torch.python))
    if params["precision"] == "fp16" and not cuda:
        plugin.bad_parameter("precision", "fp16 is for GPUs")
    gpus = chosen if cuda else []
    ranks = int(params["ranks"]) or max(1, len(gpus))
    if cuda and ranks > len(gpus):
        plugin.bad_parameter("ranks", "are %d, more than the %d GPUs" % (ranks, len(gpus)))
    threads = max(1, len(plugin.request["cpus"] or os.sched_getaffinity(0)) // ranks)
    work_dir = plugin.request["work_dir"]
    log = os.path.join(work_dir, "mlperf.log")
    options = {"model": params["model"], "size": params["size"], "epochs": int(params["epochs"]),
               "batch": int(params["batch"]), "precision": params["precision"], "device": "cuda" if cuda else "cpu",
               "data": params["data"], "work_dir": work_dir, "threads": threads, "seed": int(params["seed"]), "log": log,
               "gpus": gpus}
    plugin.log("PyTorch %s, %d ranks on %s" % (torch.version, ranks, torch.gpu_name if cuda else "the CPU"))
    labels = {"model": str(params["model"])}
    workers = Ranks(torch, ranks, options, gpus, threads)
    losses = []
    try:
        for epoch in workers.epochs():
            if losses:  # the first warms up
                report(plugin, epoch, losses[-1], labels)
            losses.append(epoch["loss"])
            plugin.progress(len(losses) / (params["epochs"] + 1), "epoch %d, loss %.4g" % (epoch["epoch"], epoch["loss"]))
        failure = workers.failure()
    finally:
        workers.stop()
    if failure or len(losses) != params["epochs"] + 1:
        plugin.fail(failure or "the training ended after %d epochs" % len(losses))
    if not losses[-1] < losses[0]:
        plugin.invalid("the loss did not fall: %s" % ", ".join("%.4g" % loss for loss in losses))
    plugin.artifact("mlperf.log", "mlperf.log")


if __name__ == "__main__":
    run_plugin(lambda plugin: measure(plugin, require_torch(plugin)))
