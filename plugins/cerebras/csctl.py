"""The appliance's jobs, by csctl: their phase, and cancelling them."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass
from enum import Enum
from typing import Optional


class Phase(Enum):
    WAITING = "waiting"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"  # csctl said nothing, or a word that this program doesn't know


_PHASES = {
    **dict.fromkeys(("queued", "queueing", "pending", "created", "initializing", "scheduled", "inqueue"), Phase.WAITING),
    **dict.fromkeys(("running", "active", "restarting"), Phase.RUNNING),
    **dict.fromkeys(("succeeded", "completed"), Phase.SUCCEEDED),
    **dict.fromkeys(("failed", "failing"), Phase.FAILED),
    **dict.fromkeys(("cancelled", "canceled", "cancelling"), Phase.CANCELLED),
}


def parse_phase(text: str) -> Phase:
    """From `csctl get job NAME -o json`, or from the table of versions that have no JSON."""
    try:
        job = json.loads(text)
        status = job.get("status") if isinstance(job, dict) else None
        word = status.get("phase") if isinstance(status, dict) else status
        return _PHASES.get(str(word).lower(), Phase.UNKNOWN)
    except ValueError:
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) < 2:
            return Phase.UNKNOWN
        columns = [(match.group().strip(), match.start()) for match in re.finditer(r"\S+(?: \S+)*\s*", lines[0])]
        for index, (name, start) in enumerate(columns):
            if name.lower() in ("phase", "status", "state"):
                end = columns[index + 1][1] if index + 1 < len(columns) else None
                return _PHASES.get(lines[1][start:end].strip().lower(), Phase.UNKNOWN)
        return Phase.UNKNOWN


@dataclass(frozen=True)
class Csctl:
    program: str = "csctl"
    timeout: float = 20.0

    def phase(self, job: str) -> Phase:
        return parse_phase(self._run("get", "job", job, "-o", "json") or "")

    def cancel(self, job: str, timeout: Optional[float] = None) -> bool:
        return self._run("cancel", "job", job, timeout=timeout) is not None

    def _run(self, *arguments: str, timeout: Optional[float] = None) -> Optional[str]:
        try:
            done = subprocess.run([self.program, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                                  timeout=timeout or self.timeout, check=True)
            return done.stdout.decode("utf-8", "replace")
        except (OSError, subprocess.SubprocessError):
            return None
