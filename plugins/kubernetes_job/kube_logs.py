"""Collects the logs of a job's pods while they run: afterwards they may be gone with their pods.

One thread follows one container. All of them end when `close` is called; each log has a bound, at which the
rest is left out and said.
"""

from __future__ import annotations

import contextlib
import threading
import time
import urllib.parse
from typing import Mapping

from kube_api import ApiError, Transport, Unreachable

MAX_LOG_BYTES = 32 << 20
MAX_CONTAINERS = 256


class ContainerLog:
    """The log of one container's latest instance."""

    def __init__(self, transport: Transport, path: str):
        self._transport = transport
        self._path = path
        self._lock = threading.Lock()
        self._data = bytearray()
        self._stop = threading.Event()
        self._finish = threading.Event()
        self.truncated = False
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def text(self) -> bytes:
        with self._lock:
            return bytes(self._data)

    def _read(self, follow: bool) -> None:
        """Reads the log from its beginning; what is there already is never made shorter."""
        fresh = bytearray()
        for data in self._transport.stream(self._path + ("&follow=true" if follow else ""), self._stop):
            fresh += data
            self.truncated = self.truncated or len(fresh) > MAX_LOG_BYTES
            del fresh[MAX_LOG_BYTES:]
            with self._lock:
                if len(fresh) >= len(self._data):
                    self._data = bytearray(fresh)
            if self.truncated:
                return

    def _follow(self) -> None:
        """Streams; whenever the stream breaks, it is read again."""
        while not self._stop.is_set():
            last = self._finish.is_set()
            with contextlib.suppress(ApiError, Unreachable):
                self._read(follow=not last)
            if last or self.truncated:
                return
            self._finish.wait(0.5)

    def finish(self) -> None:
        """The container has ended: read what is still missing, once."""
        self._finish.set()

    def complete(self, seconds: float) -> None:
        """Waits for the end of the stream; of a container that goes on, takes what there is now."""
        self._thread.join(seconds)
        if self._thread.is_alive():
            with contextlib.suppress(ApiError, Unreachable):
                self._read(follow=False)

    def close(self) -> None:
        self._stop.set()
        self._finish.set()


class PodLogs:
    """The logs by (pod's uid, container, restarts)."""

    def __init__(self, transport: Transport, namespace: str):
        self._transport = transport
        self._namespace = namespace
        self._logs: dict[tuple[str, str, int], ContainerLog] = {}

    def update(self, pod: Mapping[str, object]) -> None:
        """Begins to follow the containers of `pod` that have started."""
        metadata, status = pod.get("metadata") or {}, pod.get("status") or {}
        assert isinstance(metadata, dict) and isinstance(status, dict)
        for container in status.get("containerStatuses") or []:
            state = container.get("state") or {}
            if state.get("running") is None and state.get("terminated") is None:
                continue
            key = (str(metadata.get("uid")), str(container.get("name")), int(container.get("restartCount") or 0))
            if key not in self._logs and len(self._logs) < MAX_CONTAINERS:
                path = "/api/v1/namespaces/%s/pods/%s/log?container=%s" % (
                    self._namespace, urllib.parse.quote(str(metadata.get("name"))), urllib.parse.quote(key[1]))
                self._logs[key] = ContainerLog(self._transport, path)
            if state.get("terminated") is not None and key in self._logs:
                self._logs[key].finish()

    def forget(self) -> None:
        """An attempt is over without an end: nothing of it may be read."""
        self.close()
        self._logs.clear()

    def text(self, uids: set[str]) -> bytes:
        """The logs of the latest instance of each container of these pods, one after another."""
        latest: dict[tuple[str, str], tuple[int, ContainerLog]] = {}
        for (uid, container, restarts), log in self._logs.items():
            if uid in uids and restarts >= latest.get((uid, container), (-1, log))[0]:
                latest[uid, container] = (restarts, log)
        return b"".join(log.text() for _, log in latest.values())

    @property
    def truncated(self) -> bool:
        return any(log.truncated for log in self._logs.values())

    def finish(self, seconds: float) -> None:
        """Makes the logs complete, as far as the API has them; waits up to `seconds` in all for streams to end."""
        until = time.monotonic() + seconds
        for log in self._logs.values():
            log.finish()
        for log in self._logs.values():
            log.complete(max(0.0, until - time.monotonic()))

    def close(self) -> None:
        for log in self._logs.values():
            log.close()
