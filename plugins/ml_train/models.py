"""The networks that are trained, and how large they are.

ResNet-50: He et al., "Deep Residual Learning for Image Recognition" (2015), with the stride in the 3x3
convolution as in MLPerf Training. CosmoFlow: Mathuriya et al. (2018) in the form of MLPerf HPC: five 3-D
convolutions and three dense layers that predict four parameters. DeepCAM: Kurth et al., "Exascale Deep
Learning for Climate Analytics" (2018): a DeepLabv3+ of separable convolutions with residuals, 16 channels in
and 3 classes out; its middle is shorter here than the reference's 16 blocks where the size says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Mapping, Sequence

import torch
from torch import nn


@dataclass(frozen=True)
class Size:
    """What one size of one model means. `shape` is of one sample."""

    shape: Sequence[int]
    batch: int
    width: int
    depth: Sequence[int]
    classes: int
    samples: int  # of synthetic data, for each rank
    rate: float


class Bottleneck(nn.Module):
    def __init__(self, inside: int, width: int, stride: int):
        super().__init__()
        out = 4 * width
        self.body = nn.Sequential(
            nn.Conv2d(inside, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, out, 1, bias=False), nn.BatchNorm2d(out))
        self.shortcut = nn.Sequential() if stride == 1 and inside == out else nn.Sequential(
            nn.Conv2d(inside, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.body(x) + self.shortcut(x))


def resnet50(size: Size) -> nn.Module:
    layers: list[nn.Module] = [nn.Conv2d(size.shape[0], size.width, 7, 2, 3, bias=False), nn.BatchNorm2d(size.width),
                               nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    inside = size.width
    for stage, blocks in enumerate(size.depth):
        width = size.width << stage
        for block in range(blocks):
            layers.append(Bottleneck(inside, width, 2 if stage and not block else 1))
            inside = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inside, size.classes))


class Separable(nn.Sequential):
    def __init__(self, inside: int, out: int, stride: int = 1, dilation: int = 1):
        super().__init__(nn.Conv2d(inside, inside, 3, stride, dilation, dilation, inside, bias=False),
                         nn.BatchNorm2d(inside), nn.Conv2d(inside, out, 1, bias=False), nn.BatchNorm2d(out),
                         nn.ReLU(inplace=True))


class XceptionBlock(nn.Module):
    def __init__(self, inside: int, out: int, stride: int):
        super().__init__()
        self.body = nn.Sequential(Separable(inside, out), Separable(out, out), Separable(out, out, stride))
        self.shortcut = nn.Sequential() if stride == 1 and inside == out else nn.Sequential(
            nn.Conv2d(inside, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.body(x) + self.shortcut(x)


class DeepCam(nn.Module):
    """Logits for each pixel."""

    def __init__(self, size: Size):
        super().__init__()
        w = size.width
        self.stem = nn.Sequential(nn.Conv2d(size.shape[0], w, 3, 2, 1, bias=False), nn.BatchNorm2d(w),
                                  nn.ReLU(inplace=True))
        self.entry = XceptionBlock(w, 4 * w, 2)
        self.middle = nn.Sequential(XceptionBlock(4 * w, 8 * w, 2),
                                    *(XceptionBlock(8 * w, 8 * w, 1) for _ in range(size.depth[0])))
        self.pyramid = nn.ModuleList(Separable(8 * w, 2 * w, dilation=d) for d in (1, 6, 12, 18))
        self.low = nn.Sequential(nn.Conv2d(4 * w, w, 1, bias=False), nn.BatchNorm2d(w), nn.ReLU(inplace=True))
        self.head = nn.Sequential(Separable(9 * w, 4 * w), nn.Conv2d(4 * w, size.classes, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        low = self.entry(self.stem(x))
        deep = self.middle(low)
        spread = torch.cat([branch(deep) for branch in self.pyramid], 1)
        spread = nn.functional.interpolate(spread, size=low.shape[2:], mode="bilinear", align_corners=False)
        out = self.head(torch.cat([spread, self.low(low)], 1))
        return nn.functional.interpolate(out, size=x.shape[2:], mode="bilinear", align_corners=False)


def cosmoflow(size: Size) -> nn.Module:
    layers: list[nn.Module] = []
    inside, edge = size.shape[0], size.shape[1]
    for level in range(size.depth[0]):
        layers += [nn.Conv3d(inside, size.width << level, 3, padding=1), nn.LeakyReLU(0.3), nn.MaxPool3d(2)]
        inside, edge = size.width << level, edge // 2
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(inside * edge**3, 128), nn.LeakyReLU(0.3),
                         nn.Linear(128, 64), nn.LeakyReLU(0.3), nn.Linear(64, size.classes))


@dataclass(frozen=True)
class Benchmark:
    """`mllog_name` is what MLPerf's logs call it. `loss` takes (outputs, targets)."""

    mllog_name: str
    build: Callable[[Size], nn.Module]
    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
    optimizer: str  # sgd or adam
    sizes: Mapping[str, Size]


# "small" is for a test or a node without an accelerator, "full" is the benchmark's own size. "small" ends on two
# cores within two minutes; docs/machine-learning.md has what was measured.
BENCHMARKS: Mapping[str, Benchmark] = {
    "resnet50": Benchmark("resnet", resnet50, nn.functional.cross_entropy, "sgd", {
        "tiny": Size((3, 32, 32), 8, 8, (1, 1, 1, 1), 4, 64, 0.01),
        "small": Size((3, 64, 64), 8, 64, (3, 4, 6, 3), 10, 64, 0.01),
        "full": Size((3, 224, 224), 32, 64, (3, 4, 6, 3), 1000, 2048, 0.01)}),
    "deepcam": Benchmark("deepcam", DeepCam, nn.functional.cross_entropy, "adam", {
        "tiny": Size((16, 32, 48), 4, 4, (1,), 3, 32, 3e-3),
        "small": Size((16, 96, 144), 2, 16, (4,), 3, 16, 1e-3),
        "full": Size((16, 768, 1152), 2, 64, (16,), 3, 512, 1e-3)}),
    "cosmoflow": Benchmark("cosmoflow", cosmoflow, nn.functional.l1_loss, "sgd", {
        "tiny": Size((4, 16, 16, 16), 4, 4, (3,), 4, 32, 0.02),
        "small": Size((4, 64, 64, 64), 2, 16, (4,), 4, 16, 0.02),
        "full": Size((4, 128, 128, 128), 4, 32, (5,), 4, 512, 0.01)}),
}
