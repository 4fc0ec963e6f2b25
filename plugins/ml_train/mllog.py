"""MLPerf's training log, one record a line: `:::MLLOG {"namespace": ..., "time_ms": ..., "event_type": ...,
"key": ..., "value": ..., "metadata": ...}`, in the order in which its own library writes the fields."""

from __future__ import annotations

import json
import time
from typing import IO, Optional


class MlLog:
    """Writes to `file`; to nothing when there is none."""

    def __init__(self, file: Optional[IO[str]]):
        self._file = file

    def start(self, key: str, **metadata: object) -> None:
        self._write("INTERVAL_START", key, None, metadata)

    def stop(self, key: str, **metadata: object) -> None:
        self._write("INTERVAL_END", key, None, metadata)

    def point(self, key: str, value: object, **metadata: object) -> None:
        self._write("POINT_IN_TIME", key, value, metadata)

    def _write(self, event: str, key: str, value: object, metadata: dict[str, object]) -> None:
        if self._file is not None:
            record = {"namespace": "", "time_ms": time.time_ns() // 1_000_000, "event_type": event, "key": key,
                      "value": value, "metadata": {"file": "train_worker.py", "lineno": 0, **metadata}}
            self._file.write(":::MLLOG %s\n" % json.dumps(record, allow_nan=False))
            self._file.flush()
