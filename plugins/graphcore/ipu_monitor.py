"""Reads IPUs' power and utilisation out of gc-monitor's tables while a training runs."""

from __future__ import annotations

import re
import statistics
import subprocess
import threading
from typing import Optional, Sequence

_CELL = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(W|%)\s*")


def parse_tables(text: str) -> dict[str, list[float]]:
    """{"power": [watts...], "utilisation": [percents...]}: what columns named so hold; "N/A" is left out."""
    found: dict[str, list[float]] = {"power": [], "utilisation": []}
    columns: dict[int, str] = {}
    width = 0
    for line in text.splitlines():
        cells = line.strip().strip("|").split("|") if line.strip().startswith("|") else []
        if len(cells) < 2:
            continue
        kinds = {i: "power" if "power" in c.lower() else "utilisation" for i, c in enumerate(cells)
                 if re.search(r"power|utili[sz]ation|\butil\b", c, re.I)}
        if kinds:
            columns, width = kinds, len(cells)
        elif len(cells) == width:
            for index, kind in columns.items():
                match = _CELL.fullmatch(cells[index])
                if match and match[2] == ("W" if kind == "power" else "%"):
                    found[kind].append(float(match[1]))
    return found


class IpuMonitor:
    """Asks every `interval` seconds from `begin` to `end`; one thread."""

    def __init__(self, command: Sequence[str], interval: float):
        self._command = list(command)
        self._interval = interval
        self._stop = threading.Event()
        self._power: list[float] = []
        self._utilisation: list[float] = []
        self._thread: Optional[threading.Thread] = None

    def begin(self) -> None:
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()

    def _sample(self) -> None:
        while not self._stop.wait(self._interval):
            try:
                done = subprocess.run(self._command, stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=True)
            except (OSError, subprocess.SubprocessError):
                continue
            tables = parse_tables(done.stdout.decode("utf-8", "replace"))
            if tables["power"]:
                self._power.append(sum(tables["power"]))
            if tables["utilisation"]:
                self._utilisation.append(statistics.fmean(tables["utilisation"]))

    def end(self) -> dict[str, float]:
        """Means: ipu_power of all IPUs together, ipu_utilisation; those that could be read."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        found = {}
        if self._power:
            found["ipu_power"] = statistics.fmean(self._power)
        if self._utilisation:
            found["ipu_utilisation"] = statistics.fmean(self._utilisation)
        return found
