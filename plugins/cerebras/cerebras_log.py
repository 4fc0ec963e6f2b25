"""Reads the log of a training on a Cerebras appliance, line by line.

The rate is GlobalRate, over the whole training, of the last step: Rate is smoothed over a few steps only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Optional

from fleetmark_output import parse_number

_JOB = re.compile(r"\bwsjob-[a-z0-9]+\b")
_STEP = re.compile(r"\|\s*Train\w* Device=\S+ .*?Step=(\d+)")
_GLOBAL = re.compile(r"\bGlobalRate=(\S+?)(?:\s+samples/sec)?(?:,|\s*$)")
_LOSS = re.compile(r"\bLoss=(\S+?)(?:,|\s*$)")
_WRONG = re.compile(r"^Traceback \(most recent|\bERROR:|\bCRITICAL:|\bNaN loss\b", re.I)


@dataclass
class TrainingLog:
    """What was read so far."""

    jobs: list[str] = field(default_factory=list)  # in the order of their appearance
    steps: int = 0
    rate: Optional[float] = None
    loss: Optional[float] = None
    completed: bool = False
    problem: str = ""  # the first line that says that something is wrong
    unreadable: str = ""

    def read(self, line: str) -> None:
        for job in _JOB.findall(line):
            if job not in self.jobs:
                self.jobs.append(job)
        if "completed successfully" in line:
            self.completed = True
        step = _STEP.search(line)
        if step:
            self._read_step(int(step[1]), line)
        elif _WRONG.search(line) and not self.problem:
            self.problem = line.strip()[:300]

    def _read_step(self, number: int, line: str) -> None:
        self.steps = number
        for name, pattern in (("rate", _GLOBAL), ("loss", _LOSS)):
            found = pattern.search(line)
            value = parse_number(found[1]) if found else None
            if found and value is None:
                self.unreadable = "%s in: %s" % (found[1][:50], line.strip()[:200])
            if value is not None:
                setattr(self, name, value)
