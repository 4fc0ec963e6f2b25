"""What sysfs and proc say, as plain values. Every function takes the root that stands for / and reads only below it.

What is not there is not an error: a machine without ECC has no counts. Bounds: MAX_DEVICES of a kind.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator, Optional

MAX_DEVICES = 128
# File systems that hold data on a device or server; the others are the kernel's own.
_REAL = {"ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "vfat", "nfs", "nfs4", "lustre", "gpfs", "beegfs", "ceph",
         "fuse.ceph", "cifs", "smb3", "tmpfs", "overlay", "wekafs", "pvfs2", "glusterfs", "fuse.glusterfs"}
_PRIVATE_TMPFS = ("/run", "/sys", "/proc", "/dev")


@dataclass(frozen=True)
class EccCount:
    device: str
    corrected: Optional[int]
    uncorrected: Optional[int]


@dataclass(frozen=True)
class Link:
    device: str
    width: int
    max_width: int
    speed: float  # GT/s
    max_speed: float


@dataclass(frozen=True)
class Mount:
    path: str
    kind: str


def _text(path: Path) -> Optional[str]:
    try:
        with open(path, "rb") as file:
            return file.read(4096).decode("utf-8", "replace").strip()
    except OSError:
        return None


def _number(path: Path) -> Optional[int]:
    text = _text(path)
    return int(text) if text is not None and re.fullmatch(r"-?\d{1,18}", text) else None


def _listed(folder: Path, pattern: str) -> list[Path]:
    return sorted(folder.glob(pattern))[:MAX_DEVICES]


def ecc_counts(root: Path) -> Iterator[EccCount]:
    """Memory controllers by EDAC; amdgpu's RAS blocks, summed for each card."""
    for controller in _listed(root / "sys/devices/system/edac/mc", "mc[0-9]*"):
        found = EccCount(controller.name, _number(controller / "ce_count"), _number(controller / "ue_count"))
        if found.corrected is not None or found.uncorrected is not None:
            yield found
    for card in _listed(root / "sys/class/drm", "card[0-9]*"):
        totals = {"ce": 0, "ue": 0}
        blocks = _listed(card / "device/ras", "*_err_count")
        for block in blocks:
            for kind, count in re.findall(r"^\s*(ue|ce):\s*(\d{1,18})\s*$", _text(block) or "", re.MULTILINE):
                totals[kind] += int(count)
        if blocks:
            yield EccCount("gpu_" + card.name, totals["ce"], totals["ue"])


def nvidia_counts(csv: str) -> Iterator[EccCount]:
    """Of `nvidia-smi --query-gpu=index,ecc.errors.corrected.volatile.total,ecc.errors.uncorrected.volatile.total
    --format=csv,noheader`; "[N/A]" is no count."""
    for line in csv.splitlines()[:MAX_DEVICES]:
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) != 3 or not cells[0].isdigit():
            continue
        counts = [int(cell) if cell.isdigit() else None for cell in cells[1:]]
        if counts != [None, None]:
            yield EccCount("gpu" + cells[0], counts[0], counts[1])


def _speed(text: Optional[str]) -> Optional[float]:
    match = re.match(r"(\d+(?:\.\d+)?) ?GT/s", text or "")
    return float(match[1]) if match else None


def _link(device: Path) -> Optional[tuple[int, int, float, float]]:
    """What the link runs at and what this end could."""
    width, most = _number(device / "current_link_width"), _number(device / "max_link_width")
    speed, fastest = _speed(_text(device / "current_link_speed")), _speed(_text(device / "max_link_speed"))
    # 255 and 0 stand for a link that is down, or none.
    if not width or not most or width > 64 or most > 64 or not speed or not fastest:
        return None
    return width, most, speed, fastest


def pcie_links(root: Path) -> Iterator[Link]:
    """Accelerators, network and storage controllers; a slot that is narrower than its card bounds the card."""
    for device in _listed(root / "sys/bus/pci/devices", "*"):
        kind = _text(device / "class") or ""
        if kind[:4] not in ("0x01", "0x02", "0x03", "0x12"):
            continue
        own = _link(device)
        if own is None:
            continue
        width, most, speed, fastest = own
        slot = _link(Path(os.path.realpath(device)).parent)
        if slot is not None:
            most, fastest = min(most, slot[1]), min(fastest, slot[3])
        yield Link(device.name, width, most, speed, fastest)


def network_speeds(root: Path) -> Iterator[tuple[str, int]]:
    """(interface, Mbit/s) of links that are up and know their speed; InfiniBand's ports by their rate."""
    seen = set()
    for interface in _listed(root / "sys/class/net", "*"):
        speed = _number(interface / "speed")
        if speed is not None and speed > 0 and _text(interface / "operstate") == "up":
            seen.add(interface.name)
            yield interface.name, speed
    for port in _listed(root / "sys/class/infiniband", "*/ports/*"):
        rate = re.match(r"(\d+(?:\.\d+)?) Gb/sec", _text(port / "rate") or "")
        name = "%s/%s" % (port.parent.parent.name, port.name)
        if rate and (_text(port / "state") or "").endswith("ACTIVE") and name not in seen:
            yield name, int(float(rate[1]) * 1000)


def clock_source(root: Path) -> tuple[Optional[str], list[str]]:
    folder = root / "sys/devices/system/clocksource/clocksource0"
    return _text(folder / "current_clocksource"), (_text(folder / "available_clocksource") or "").split()


def vulnerabilities(root: Path) -> dict[str, str]:
    return {path.name: _text(path) or "" for path in _listed(root / "sys/devices/system/cpu/vulnerabilities", "*")}


def mounts(root: Path) -> list[Mount]:
    found = {}
    for line in (_long_text(root / "proc/self/mounts") or "").splitlines():
        cells = line.split()
        if len(cells) >= 3:
            path = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), cells[1])
            found[path] = Mount(path, cells[2])  # the last one lies above the others
    return list(found.values())[:1024]


def _long_text(path: Path) -> Optional[str]:
    try:
        with open(path, "rb") as file:
            return file.read(1 << 20).decode("utf-8", "replace")
    except OSError:
        return None


def is_storage(mount: Mount) -> bool:
    private = mount.kind == "tmpfs" and mount.path.startswith(_PRIVATE_TMPFS)
    return mount.kind in _REAL and not private


def is_remote(mount: Mount) -> bool:
    """A file system whose server may not answer, so that asking it could hang."""
    return mount.kind in {"nfs", "nfs4", "lustre", "gpfs", "beegfs", "ceph", "fuse.ceph", "cifs", "smb3", "wekafs", "pvfs2",
                          "glusterfs", "fuse.glusterfs"}
