"""Reads ReFrame's run reports of data versions 1 to 4: test cases, their metrics and references.

A case that was tried again counts by its last try, and what failed before is kept apart as flaky. Names of
metrics that missed their reference come from each metric's own bounds, never from the text of the failure,
which names the wrong one in some versions. "NaN" and "Infinity", which ReFrame writes though they are not
JSON, are read; such values are no values.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Mapping, Optional

MAX_REPORT_BYTES = 256 << 20
_GOOD = {"pass", "success", "xfail"}
_SKIPPED = {"skip", "skipped"}
_FAILED = {"fail", "failure", "xpass"}
_ABORTED = {"abort", "aborted", "fail_deps"}
_GENERATED = re.compile(r"\s*%\.(?:repeat_no|nid|part)=\S+|\s*%\$?nid=\S+")
# ReFrame's units are free text.
_UNITS = {"mb/s": "MB/s", "gb/s": "GB/s", "gflops": "GFLOP/s", "gflop/s": "GFLOP/s", "flop/s": "FLOP/s", "tflop/s": "TFLOP/s",
          "tflops": "TFLOP/s", "mflop/s": "MFLOP/s", "s": "s", "sec": "s", "seconds": "s", "ms": "ms", "us": "us", "ns": "ns",
          "w": "W", "%": "%", "inputs/s": "samples/s", "samples/s": "samples/s", "images/s": "samples/s", "iops": "IOPS",
          "gib/s": "GiB/s", "mib/s": "MiB/s", "gbit/s": "Gbit/s", "mbit/s": "Mbit/s", "tokens/s": "tokens/s", "c": "Cel",
          "mb": "MB", "gb": "GB", "hz": "Hz", "mhz": "MHz", "ghz": "GHz", "j": "J"}


class ReportError(Exception):
    """The report can't be used; begins with the file's name."""


@dataclass(frozen=True)
class Reference:
    """ReFrame's triple: tolerances are fractions of the value, absolute where it is 0; None is no bound."""

    value: float
    lower: Optional[float]
    upper: Optional[float]

    def bounds(self) -> tuple[float, float]:
        scale = abs(self.value)

        def bound(tolerance: Optional[float], none: float) -> float:
            if tolerance is None:
                return none
            return self.value + tolerance * scale if self.value else tolerance

        return bound(self.lower, -math.inf), bound(self.upper, math.inf)

    def holds(self, value: float) -> bool:
        low, high = self.bounds()
        return low <= value <= high

    @property
    def better(self) -> str:
        """The side without a bound is the good one."""
        if self.lower is not None and self.upper is None:
            return "higher"
        if self.upper is not None and self.lower is None:
            return "lower"
        return "none"


@dataclass(frozen=True)
class Metric:
    name: str
    value: Optional[float]  # None: missing, or not finite
    unit: str
    reference: Optional[Reference]


@dataclass(frozen=True)
class Case:
    """The last try of one test on one system, partition and environment."""

    test: str
    system: str
    partition: str
    environ: str
    nodes: str
    result: str  # pass, fail, abort, skip or unknown
    phase: str
    metrics: tuple[Metric, ...]
    tries: int = 1

    @property
    def labels(self) -> dict[str, str]:
        named = {"test": self.test, "partition": ":".join(p for p in (self.system, self.partition) if p),
                 "environ": self.environ, "host": self.nodes if self.nodes and not re.search(r"[\[,]", self.nodes) else ""}
        return {key: value[:256] for key, value in named.items() if value}


@dataclass
class Report:
    version: str
    cases: list[Case] = field(default_factory=list)
    odd: int = 0  # rows that could not be read


def metric_name(text: str) -> str:
    """As Fleetmark allows names: "Total IO Time" is total_io_time."""
    name = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    return (name if name[:1].isalpha() else "m_" + name)[:64]


def unit_name(text: object) -> str:
    return _UNITS.get(str(text or "").strip().lower(), "1")


def _number(value: object) -> Optional[float]:
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if good else None  # type: ignore[arg-type]


def make_reference(value: object, lower: object, upper: object) -> Optional[Reference]:
    """None for the triples that mean "not checked" and for those that ReFrame refuses."""
    number, low, high = _number(value), _number(lower), _number(upper)
    if number is None or (low is None and high is None):
        return None
    wrong_side = (low is not None and low > 0) or (high is not None and high < 0)
    beyond_zero = (number > 0 and low is not None and low < -1) or (number < 0 and high is not None and high > 1)
    if wrong_side or beyond_zero:
        return None
    return Reference(number, low, high)


def _metrics(case: Mapping[str, Any]) -> tuple[Metric, ...]:
    found = []
    values = case.get("perfvalues")
    if isinstance(values, dict):  # 4.x: {"sys:part:metric": [value, reference, lower, upper, unit, result]}
        for key, row in values.items():
            if isinstance(row, list) and len(row) >= 5:
                found.append(Metric(metric_name(key.rpartition(":")[2]), _number(row[0]), unit_name(row[4]),
                                    make_reference(*row[1:4])))
    for row in case.get("perfvars") or []:  # up to 3.x
        if isinstance(row, dict) and row.get("name"):
            found.append(Metric(metric_name(str(row["name"])), _number(row.get("value")), unit_name(row.get("unit")),
                                make_reference(row.get("reference"), row.get("thres_lower"), row.get("thres_upper"))))
    return tuple(found)


def _result(text: object) -> str:
    for result, words in (("pass", _GOOD), ("skip", _SKIPPED), ("fail", _FAILED), ("abort", _ABORTED)):
        if text in words:
            return result
    return "unknown"


def _case(row: Mapping[str, Any]) -> Case:
    system, _, partition = str(row.get("system") or "").partition(":")
    nodes = row.get("job_nodelist") or row.get("nodelist") or []
    return Case(test=_GENERATED.sub("", str(row.get("display_name") or row.get("name") or "")).strip(), system=system,
                partition=str(row.get("partition") or partition), environ=str(row.get("environ") or row.get("environment") or ""),
                nodes=",".join(map(str, nodes)) if isinstance(nodes, list) else str(nodes), result=_result(row.get("result")),
                phase=str(row.get("fail_phase") or ""), metrics=_metrics(row))


def read_report(path: Path) -> Report:
    """ReportError."""
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_REPORT_BYTES + 1)
        if len(data) > MAX_REPORT_BYTES:
            raise ReportError("%s: is larger than %d MiB" % (path, MAX_REPORT_BYTES >> 20))
        top = json.loads(data.decode("utf-8", "replace"))
        session, runs = top["session_info"], top["runs"]
        version = str(session["data_version"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ReportError("%s: is no run report: %r" % (path, error)) from None
    if version.split(".")[0] not in ("1", "2", "3", "4"):
        raise ReportError("%s: data version %s is not known" % (path, version))
    report = Report(version)
    last: dict[tuple[object, ...], Case] = {}
    for run in runs if isinstance(runs, list) else []:
        for row in (run.get("testcases") if isinstance(run, dict) else None) or []:
            if not isinstance(row, dict) or not (row.get("display_name") or row.get("name")):
                report.odd += 1
                continue
            case = _case(row)
            key = (row.get("unique_name") or row.get("name"), case.system, case.partition, case.environ)
            tries = last[key].tries + 1 if key in last else 1
            last[key] = Case(**{**case.__dict__, "tries": tries})
    report.cases = list(last.values())
    return report
