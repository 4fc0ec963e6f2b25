"""One rank of a training. Started by ml_train.py, or by torchrun, srun or a PyTorchJob on several nodes: RANK,
WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT are in the environment as PyTorch has them.

    train_worker.py '{"model": "resnet50", "size": "small", "epochs": 3, ...}'

Rank 0 prints one JSON object for each epoch. Gradients are averaged by all-reduces that nothing overlaps, so
that the time of communication is its own: a trainer that overlaps both is a little faster.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
import time
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Sequence

import numpy
import torch
import torch.distributed

from data import DataError, Shards, write_synthetic
from mllog import MlLog
from models import BENCHMARKS, Benchmark
from power import PowerMeter

BUCKET_BYTES = 32 << 20


@dataclass(frozen=True)
class Options:
    model: str
    size: str = "small"
    epochs: int = 3  # after the first one, which only warms up
    batch: int = 0  # of a rank; 0 is the size's own
    precision: str = "fp32"
    device: str = "cpu"
    data: str = ""  # a folder of shards; empty is synthetic data
    work_dir: str = "."
    threads: int = 0
    seed: int = 1
    log: str = ""
    gpus: Sequence[int] = ()

    @staticmethod
    def parse(text: str) -> Options:
        given = json.loads(text)
        unknown = set(given) - {field.name for field in fields(Options)}
        if unknown:
            raise ValueError("unknown option '%s'" % "', '".join(sorted(unknown)))
        return Options(**given)


class Ranks:
    """The other ranks; alone without a network. `seconds` is the time spent in communication."""

    def __init__(self, device: torch.device):
        self.rank = int(os.environ.get("RANK", "0"))
        self.count = int(os.environ.get("WORLD_SIZE", "1"))
        self.seconds = 0.0
        self._device = device
        if self.count > 1:
            torch.distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")

    def average_gradients(self, model: torch.nn.Module) -> None:
        if self.count == 1:
            return
        synchronize(self._device)
        began = time.perf_counter()
        for bucket in self._buckets([p.grad for p in model.parameters() if p.grad is not None]):
            flat = torch.cat([gradient.reshape(-1) for gradient in bucket])
            torch.distributed.all_reduce(flat)
            flat /= self.count
            at = 0
            for gradient in bucket:
                gradient.copy_(flat[at:at + gradient.numel()].view_as(gradient))
                at += gradient.numel()
        synchronize(self._device)
        self.seconds += time.perf_counter() - began

    @staticmethod
    def _buckets(gradients: Sequence[torch.Tensor]) -> list[list[torch.Tensor]]:
        buckets: list[list[torch.Tensor]] = [[]]
        size = 0
        for gradient in gradients:
            bytes_here = gradient.numel() * gradient.element_size()
            if buckets[-1] and size + bytes_here > BUCKET_BYTES:
                buckets.append([])
                size = 0
            buckets[-1].append(gradient)
            size += bytes_here
        return buckets

    def same_start(self, model: torch.nn.Module) -> None:
        if self.count > 1:
            for value in model.state_dict().values():
                torch.distributed.broadcast(value, 0)

    def reduce(self, values: Sequence[float], largest: bool) -> list[float]:
        """The sum, or the largest, over the ranks of each value."""
        if self.count == 1:
            return list(values)
        tensor = torch.tensor(values, dtype=torch.float64, device=self._device)
        torch.distributed.all_reduce(tensor, torch.distributed.ReduceOp.MAX if largest else torch.distributed.ReduceOp.SUM)
        return tensor.tolist()

    def close(self) -> None:
        if self.count > 1:
            torch.distributed.destroy_process_group()


def synchronize(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def make_optimizer(benchmark: Benchmark, model: torch.nn.Module, rate: float) -> torch.optim.Optimizer:
    if benchmark.optimizer == "adam":
        return torch.optim.Adam(model.parameters(), lr=rate)
    return torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)


@dataclass
class Epoch:
    seconds: float
    samples: int
    io_seconds: float
    communication_seconds: float
    loss: float


class Trainer:
    def __init__(self, options: Options, ranks: Ranks, device: torch.device):
        benchmark = BENCHMARKS[options.model]
        size = benchmark.sizes[options.size]
        self._options, self._ranks, self._device, self._benchmark = options, ranks, device, benchmark
        torch.manual_seed(options.seed)
        self._model = benchmark.build(size).to(device)
        ranks.same_start(self._model)
        self._optimizer = make_optimizer(benchmark, self._model, size.rate)
        half = {"fp32": None, "bf16": torch.bfloat16, "fp16": torch.float16}[options.precision]
        self._half = half
        self._scaler = torch.cuda.amp.GradScaler(enabled=half is torch.float16)
        folder = Path(options.data) if options.data else self._synthetic(size)
        own = not options.data
        self._shards = Shards.of_folder(folder, size, options.batch or size.batch, 0 if own else ranks.rank,
                                        1 if own else ranks.count)
        self._order = numpy.random.default_rng((options.seed, ranks.rank))

    def _synthetic(self, size) -> Path:
        folder = Path(self._options.work_dir) / ("data%d" % self._ranks.rank)
        folder.mkdir()
        write_synthetic(folder, self._options.model, size, self._ranks.rank, self._options.seed)
        return folder

    def epoch(self) -> Epoch:
        self._model.train()
        self._shards.seconds = self._ranks.seconds = 0.0
        total, samples, steps = torch.zeros((), device=self._device), 0, 0
        synchronize(self._device)
        began = time.perf_counter()
        limit = self._equal_steps()
        for x, y in self._shards.epoch(self._order.permutation(len(self._shards.paths)).tolist()):
            if steps == limit:
                break
            total += self._step(x.to(self._device), y.to(self._device))
            samples += len(x)
            steps += 1
        synchronize(self._device)
        seconds = time.perf_counter() - began
        if not steps:
            raise DataError("%s: no shard holds a batch of %d" % (self._shards.paths[0].parent, self._shards.batch))
        return self._over_ranks(Epoch(seconds, samples, self._shards.seconds, self._ranks.seconds, total.item() / steps))

    def _equal_steps(self) -> int:
        """As many steps as the rank with the least data has: an all-reduce needs all of them."""
        if self._ranks.count == 1:
            return -1
        steps = 0
        for path in self._shards.paths:
            with numpy.load(path, mmap_mode="r", allow_pickle=False) as shard:
                steps += len(shard["y"]) // self._shards.batch
        return int(-self._ranks.reduce([-steps], largest=True)[0])

    def _step(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        self._optimizer.zero_grad(set_to_none=True)
        cast = torch.autocast(self._device.type, self._half) if self._half else contextlib.nullcontext()
        with cast:
            out = self._model(x)
        loss = self._benchmark.loss(out.float(), y)
        self._scaler.scale(loss).backward()
        self._scaler.unscale_(self._optimizer) if self._half is torch.float16 else None
        self._ranks.average_gradients(self._model)
        self._scaler.step(self._optimizer)
        self._scaler.update()
        return loss.detach()

    def _over_ranks(self, own: Epoch) -> Epoch:
        """The slowest rank's times, the samples of all, the mean loss."""
        seconds, io, communication = self._ranks.reduce(
            [own.seconds, own.io_seconds, own.communication_seconds], largest=True)
        samples, loss = self._ranks.reduce([own.samples, own.loss], largest=False)
        return Epoch(seconds, int(samples), io, communication, loss / self._ranks.count)


def choose_device(name: str) -> torch.device:
    if name == "cuda":
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
        return torch.device("cuda", torch.cuda.current_device())
    return torch.device("cpu")


def train(options: Options, ranks: Ranks, device: torch.device, log: MlLog) -> None:
    benchmark = BENCHMARKS[options.model]
    log.start("init_start")
    log.point("submission_benchmark", benchmark.mllog_name)
    trainer = Trainer(options, ranks, device)
    batch = options.batch or benchmark.sizes[options.size].batch
    log.point("global_batch_size", batch * ranks.count)
    log.point("seed", options.seed)
    log.stop("init_stop")
    log.start("run_start")
    meter = PowerMeter(options.gpus)
    for number in range(options.epochs + 1):
        log.start("epoch_start", epoch_num=number)
        meter.begin()
        epoch = trainer.epoch()
        power = meter.end()
        log.stop("epoch_stop", epoch_num=number)
        if not math.isfinite(epoch.loss):
            log.stop("run_stop", status="aborted")
            raise FloatingPointError("the loss of epoch %d is not finite" % number)
        log.point("tracked_stats", {"throughput": epoch.samples / epoch.seconds, "loss": epoch.loss}, epoch_num=number)
        if ranks.rank == 0:
            print(json.dumps({"epoch": number, "seconds": epoch.seconds, "samples": epoch.samples, "loss": epoch.loss,
                              "io_seconds": epoch.io_seconds, "communication_seconds": epoch.communication_seconds,
                              "ranks": ranks.count, **power}), flush=True)
    log.point("eval_accuracy", epoch.loss, epoch_num=options.epochs, kind="training loss")
    log.stop("run_stop", status="success")


def main() -> None:
    options = Options.parse(sys.argv[1])
    if options.threads:
        torch.set_num_threads(options.threads)
    device = choose_device(options.device)
    ranks = Ranks(device)
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(open(options.log, "w", encoding="utf-8")) if options.log and not ranks.rank else None
        try:
            train(options, ranks, device, MlLog(file))
        except (DataError, FloatingPointError) as error:
            sys.exit(str(error))
    ranks.close()


if __name__ == "__main__":
    main()
