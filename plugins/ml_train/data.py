"""Training data: shards in a folder, real or made up.

A shard is a file `*.npz` with the arrays `x` (samples first, float32, or uint8 which becomes 0..1) and `y`
(classes as integers, for DeepCAM one for each pixel, for CosmoFlow four numbers). Ranks take the shards in
turn. What is made up has something to learn in it, so that a loss that does not fall means a fault.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator, Sequence

import numpy
import torch

from models import Size

SHARD_SAMPLES = 16


class DataError(Exception):
    """What is wrong, beginning with the file's name."""


def _made_up(model: str, size: Size, rng: numpy.random.Generator, count: int) -> tuple[numpy.ndarray, numpy.ndarray]:
    noise = rng.standard_normal((count, *size.shape), dtype=numpy.float32)
    if model == "resnet50":  # a class is a pattern of stripes
        classes = rng.integers(0, size.classes, count)
        position = numpy.arange(size.shape[2], dtype=numpy.float32)
        waves = numpy.sin(2 * numpy.pi * numpy.outer(1 + numpy.arange(size.classes) % 16, position / size.shape[2]))
        return noise * 0.5 + waves[classes][:, None, None, :].astype(numpy.float32), classes
    if model == "deepcam":  # a pixel's class is how high the first channel, a smooth field, is there
        rows, columns = (numpy.linspace(0, 6.28, n, dtype=numpy.float32) for n in size.shape[1:])
        phase = rng.uniform(0, 6.28, (count, 2)).astype(numpy.float32)
        field = numpy.sin(rows[None, :, None] + phase[:, :1, None]) * numpy.sin(columns[None, None, :] + phase[:, 1:, None])
        noise *= 0.3
        noise[:, 0] += 2 * field
        return noise, numpy.digitize(field, (0.1, 0.6))
    targets = rng.uniform(-1, 1, (count, 4)).astype(numpy.float32)  # each is the mean of its channel
    return noise * 0.5 + targets.reshape(count, 4, 1, 1, 1), targets


def write_synthetic(folder: Path, model: str, size: Size, rank: int, seed: int) -> None:
    rng = numpy.random.default_rng((seed, rank))
    for first in range(0, size.samples, SHARD_SAMPLES):
        count = min(SHARD_SAMPLES, size.samples - first)
        x, y = _made_up(model, size, rng, count)
        numpy.savez(folder / ("rank%d-%05d.npz" % (rank, first)), x=x, y=y)


@dataclass
class Shards:
    """Batches out of the shards; `seconds` is the time spent in reading files since it was set to 0."""

    paths: Sequence[Path]
    size: Size
    batch: int
    seconds: float = 0.0

    @staticmethod
    def of_folder(folder: Path, size: Size, batch: int, rank: int, ranks: int) -> Shards:
        paths = sorted(folder.glob("*.npz"))
        own = paths[rank::ranks] if len(paths) >= ranks else []
        if not own:
            raise DataError("%s: has %d shards (*.npz) for %d ranks" % (folder, len(paths), ranks))
        return Shards(own, size, batch)

    def epoch(self, order: Sequence[int]) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Full batches only; the shards in the given order."""
        for index in order:
            began = time.perf_counter()
            x, y = self._read(self.paths[index])
            self.seconds += time.perf_counter() - began
            for first in range(0, len(x) - self.batch + 1, self.batch):
                yield x[first:first + self.batch], y[first:first + self.batch]

    def _read(self, path: Path) -> tuple[torch.Tensor, torch.Tensor]:
        try:
            with numpy.load(path, allow_pickle=False) as shard:
                x, y = shard["x"], shard["y"]
        except (OSError, ValueError, KeyError) as error:
            raise DataError("%s: %s" % (path, error)) from None
        if tuple(x.shape[1:]) != tuple(self.size.shape) or len(x) != len(y):
            raise DataError("%s: x is %s and y is %s, but samples are %s" % (path, x.shape, y.shape, tuple(self.size.shape)))
        inputs = x.astype(numpy.float32) / 255 if x.dtype == numpy.uint8 else x.astype(numpy.float32)
        targets = y.astype(numpy.float32 if y.dtype.kind == "f" else numpy.int64)
        return torch.from_numpy(inputs), torch.from_numpy(targets)
