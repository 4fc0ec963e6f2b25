"""Runs another program: its output goes line by line to the caller and as a whole into a file, its process
group ends with it, and it is stopped when the caller is.

Needs Python 3.9; copy this file into the plugin's folder.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from queue import Empty, Queue
from typing import IO, Iterator, Mapping, Optional, Sequence

MAX_OUTPUT_BYTES = 64 << 20
MAX_LINE_BYTES = 64 << 10
GRACE_SECONDS = 1.0


class TooMuchOutput(Exception):
    """The program printed more than MAX_OUTPUT_BYTES."""


class Program:
    """A context: leaving it ends whatever still runs. Standard error is part of the output.

    Raises OSError when it can't be started.
    """

    def __init__(self, command: Sequence[str], output: Path, environment: Optional[Mapping[str, str]] = None,
                 folder: Optional[Path] = None):
        self._lines: Queue[Optional[bytes]] = Queue(maxsize=1000)
        self._file: IO[bytes] = open(output, "wb")
        self._too_much = False
        try:
            self._process = subprocess.Popen(
                list(command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=folder,
                env=dict(environment) if environment is not None else None, start_new_session=True)
        except OSError:
            self._file.close()
            raise
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._file.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        size = 0
        for line in iter(lambda: self._process.stdout.readline(MAX_LINE_BYTES), b""):
            size += len(line)
            if size > MAX_OUTPUT_BYTES:
                self._too_much = True
                self._signal(signal.SIGKILL)
                break
            self._file.write(line)
            self._file.flush()
            self._lines.put(line)
        self._lines.put(None)

    def lines(self, tick: float = 1.0) -> Iterator[Optional[str]]:
        """Each line without its end, repaired; None when `tick` seconds passed without one."""
        while True:
            try:
                line = self._lines.get(timeout=tick)
            except Empty:
                yield None
                continue
            if line is None:
                if self._too_much:
                    raise TooMuchOutput("it printed more than %d MiB" % (MAX_OUTPUT_BYTES >> 20))
                return
            yield line.decode("utf-8", "replace").rstrip("\r\n")

    def status(self) -> int:
        """After the last line: the exit status, negative for a signal."""
        return self._process.wait()

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def stop(self) -> None:
        """SIGTERM to the group, a second later SIGKILL."""
        if self._process.poll() is None:
            self._signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(GRACE_SECONDS)
        self._signal(signal.SIGKILL)
        self._process.wait()


def show_end(output: Path, size: int = 4000) -> None:
    """The end of the output into this run's log."""
    with contextlib.suppress(OSError):
        text = output.read_bytes()[-size:].decode("utf-8", "replace")
        print("The program's output ends with:\n%s" % text, file=sys.stderr)
