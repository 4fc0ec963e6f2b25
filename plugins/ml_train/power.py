"""Power and utilisation while something runs, where this user may read them: GPUs by nvidia-smi or rocm-smi's
sysfs files, processor packages by the kernel's energy counters (powercap)."""

from __future__ import annotations

import shutil
import statistics
import subprocess
import threading
import time
from pathlib import Path
from typing import Optional, Sequence

INTERVAL_SECONDS = 0.5


def read_nvidia(gpus: Sequence[int]) -> Optional[tuple[float, float]]:
    """(watts of all, mean utilisation in percent); None when it can't be told."""
    command = ["nvidia-smi", "--query-gpu=power.draw,utilization.gpu", "--format=csv,noheader,nounits"]
    command += ["--id=" + ",".join(map(str, gpus))] if gpus else []
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=True)
        rows = [[float(cell) for cell in line.split(",")] for line in done.stdout.splitlines() if line.strip()]
        return sum(row[0] for row in rows), statistics.fmean(row[1] for row in rows)
    except (OSError, ValueError, IndexError, subprocess.SubprocessError, statistics.StatisticsError):
        return None


class PackageEnergy:
    """Joules of all processor packages since the first reading."""

    def __init__(self, root: Path = Path("/sys/class/powercap")):
        self._counters = []
        for folder in sorted(root.glob("intel-rapl:?")) + sorted(root.glob("intel-rapl:??")):
            try:
                limit = int((folder / "max_energy_range_uj").read_text())
                self._counters.append((folder / "energy_uj", limit, int((folder / "energy_uj").read_text())))
            except (OSError, ValueError):
                continue

    def joules(self) -> Optional[float]:
        """Since the last call or the beginning; None when no counter can be read."""
        if not self._counters:
            return None
        used, fresh = 0, []
        for path, limit, last in self._counters:
            try:
                now = int(path.read_text())
            except (OSError, ValueError):
                return None
            used += now - last if now >= last else now + limit - last
            fresh.append((path, limit, now))
        self._counters = fresh
        return used / 1e6


class PowerMeter:
    """Measures from `begin` to `end`; one thread, only where there are GPUs to ask."""

    def __init__(self, gpus: Sequence[int], root: Path = Path("/sys/class/powercap")):
        self._gpus = gpus
        self._energy = PackageEnergy(root)
        self._readings: list[tuple[float, float]] = []
        self._stop = threading.Event()
        self._thread: Optional[threading.Thread] = None
        self._began = 0.0

    def begin(self) -> None:
        self._began = time.perf_counter()
        self._energy.joules()
        self._readings = []
        self._stop.clear()
        if self._gpus and shutil.which("nvidia-smi"):
            self._thread = threading.Thread(target=self._sample, daemon=True)
            self._thread.start()

    def _sample(self) -> None:
        while not self._stop.wait(INTERVAL_SECONDS):
            reading = read_nvidia(self._gpus)
            if reading is not None:
                self._readings.append(reading)

    def end(self) -> dict[str, float]:
        """gpu_power and gpu_utilisation, cpu_power: means, those that could be read."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        found = {}
        if self._readings:
            found["gpu_power"] = statistics.fmean(r[0] for r in self._readings)
            found["gpu_utilisation"] = statistics.fmean(r[1] for r in self._readings)
        joules, seconds = self._energy.joules(), time.perf_counter() - self._began
        if joules is not None and seconds > 0:
            found["cpu_power"] = joules / seconds
        return found
