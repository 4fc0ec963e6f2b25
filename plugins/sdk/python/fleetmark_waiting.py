"""Waiting for something elsewhere: a clock that tests replace, a deadline, delays that grow, how it ended, and how a
run is stopped.

Needs Python 3.9; copy this file into the plugin's folder.
"""

from __future__ import annotations

import signal
import sys
import time
from dataclasses import dataclass, field
from enum import Enum
from typing import Callable, NoReturn, Optional

from fleetmark_plugin import BadParameter, Plugin


class Ending(Enum):
    """Of a job elsewhere."""

    OK = "ok"
    FAILED = "failed"
    LATER = "later"  # nothing was learnt of the benchmark


class Clock:
    """Seconds that only go forward. Tests have their own."""

    def now(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class Stopped(BaseException):
    """A signal asks this run to end: what it started elsewhere has to be taken back within two seconds.

    No Exception, so that no `except Exception` on the way swallows it.
    """

    def __init__(self, number: int):
        super().__init__("stopped by signal %d" % number)
        self.status = 128 + number


def raise_stopped_on_signals() -> None:
    """SIGTERM, SIGINT and SIGHUP raise Stopped in the main thread, once: clean-up is not interrupted again."""
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

    def stop(number: int, _: object) -> None:
        for each in numbers:
            signal.signal(each, signal.SIG_IGN)
        raise Stopped(number)

    for each in numbers:
        signal.signal(each, stop)


def run_plugin(run: Callable[[Plugin], None]) -> NoReturn:
    """The whole of a plugin's main: `run`, and the end of the protocol. A signal ends `run` by Stopped."""
    raise_stopped_on_signals()
    try:
        plugin = Plugin()
        try:
            run(plugin)
        except BadParameter as error:
            plugin.bad_parameter(error.name, str(error))
        plugin.done()
    except Stopped as stopped:
        sys.exit(stopped.status)
    sys.exit(0)


@dataclass
class Backoff:
    """Delays in seconds that grow by half each time from `first` to `longest`."""

    first: float
    longest: float
    _next: float = field(default=0.0, init=False)

    def next(self) -> float:
        delay = self._next or self.first
        self._next = min(delay * 1.5, self.longest)
        return min(delay, self.longest)

    def reset(self) -> None:
        self._next = 0.0


@dataclass
class Lasting:
    """Since when a condition has held without a pause."""

    clock: Clock
    _since: Optional[float] = field(default=None, init=False)

    def update(self, holds: bool) -> float:
        """Seconds for which it has held now; 0 when it does not."""
        if not holds:
            self._since = None
            return 0.0
        now = self.clock.now()
        if self._since is None:
            self._since = now
        return now - self._since


def seconds_until(deadline_unix_ns: object) -> float:
    """From now to the deadline in a plugin's request; infinity when there is none."""
    try:
        deadline = int(str(deadline_unix_ns))
    except ValueError:
        return float("inf")
    return (deadline - time.time_ns()) / 1e9 if deadline > 0 else float("inf")
