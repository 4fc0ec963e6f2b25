"""Metrics out of what a job printed: by regular expressions, or by one of `fleetmark parse`'s readers.

The expressions are given as to the plugin `command` (docs/plugin-protocol.md calls that shape a metric
pattern): maps with name, unit, better, pattern and optionally reduce, scale and labels, besides lists of
patterns that must and must not match. They are Python's own here, in multi-line mode. Numbers are plain
decimals: "1,234" or "nan" is a problem, never a guess.

Needs Python 3.9; copy this file into the plugin's folder.
"""

from __future__ import annotations

import collections
import json
import math
import re
import statistics
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Callable, Iterator, Mapping, Optional, Sequence

if TYPE_CHECKING:
    from fleetmark_plugin import Plugin

MAX_MATCHES = 10_000  # of one pattern in one text
MAX_OUTPUT_BYTES = 64 << 20
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_BETTER = ("higher", "lower", "none")
_REDUCTIONS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "first": lambda values: values[0],
    "last": lambda values: values[-1],
    "min": min,
    "max": max,
    "mean": statistics.fmean,
    "median": statistics.median,
}
_ALL = "all"


class SpecError(Exception):
    """A parameter is wrong; begins with its name."""


class OutputError(Exception):
    """The output gives no metrics that may be used; says why."""


@dataclass(frozen=True)
class Value:
    """A metric's value; `repetition` when it is one of several from one run."""

    name: str
    value: float
    unit: str
    better: str
    labels: Mapping[str, str] = field(default_factory=dict)
    repetition: bool = False


def parse_number(text: str) -> Optional[float]:
    if not _NUMBER.fullmatch(text):
        return None
    value = float(text)
    return value if math.isfinite(value) else None


def decode(data: bytes) -> tuple[str, bool]:
    """The text, and whether bytes that are no UTF-8 had to be replaced."""
    try:
        return data.decode("utf-8"), False
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace"), True


def read_output(path: Path) -> str:
    """The file's text, repaired. OutputError when it is missing or larger than MAX_OUTPUT_BYTES."""
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_OUTPUT_BYTES + 1)
    except OSError as error:
        raise OutputError("the job's output %s can't be read: %s" % (path, error.strerror)) from None
    if len(data) > MAX_OUTPUT_BYTES:
        raise OutputError("the job's output is larger than %d MiB" % (MAX_OUTPUT_BYTES >> 20))
    return decode(data)[0]


def _shorten(text: str, length: int = 200) -> str:
    return text if len(text) <= length else text[:length - 3] + "..."


def _compile(pattern: object, where: str) -> re.Pattern[str]:
    if not isinstance(pattern, str) or not pattern:
        raise SpecError("%s must be a pattern, not %r" % (where, pattern))
    try:
        return re.compile(pattern, re.MULTILINE)
    except re.error as error:
        raise SpecError("%s: pattern '%s': %s" % (where, _shorten(pattern), error)) from None


@dataclass(frozen=True)
class _Metric:
    name: str
    unit: str
    better: str
    pattern: re.Pattern[str]
    value_group: int
    reduce: str
    scale: float
    labels: Mapping[str, str]

    @staticmethod
    def from_map(spec: object, where: str) -> _Metric:
        known = ("name", "unit", "better", "pattern", "reduce", "scale", "labels")
        if not isinstance(spec, dict):
            raise SpecError("%s must be a map with name, unit, better and pattern" % where)
        for key in spec:
            if key not in known:
                raise SpecError("%s: unknown key '%s'; known are %s" % (where, key, ", ".join(known)))
        for key in ("name", "unit", "better"):
            if not isinstance(spec.get(key), str) or not spec[key]:
                raise SpecError("%s: '%s' must be set, to a string" % (where, key))
        if spec["better"] not in _BETTER:
            raise SpecError("%s: 'better' must be higher, lower or none" % where)
        pattern = _compile(spec.get("pattern"), where)
        reduce = spec.get("reduce", "last")
        if reduce != _ALL and reduce not in _REDUCTIONS:
            raise SpecError("%s: 'reduce' must be all, %s" % (where, ", ".join(_REDUCTIONS)))
        scale = spec.get("scale", 1)
        if isinstance(scale, bool) or not isinstance(scale, (int, float)) or not math.isfinite(scale) or scale == 0:
            raise SpecError("%s: 'scale' must be a number other than 0" % where)
        labels = spec.get("labels", {})
        if not isinstance(labels, dict):
            raise SpecError("%s: 'labels' must be a map of strings" % where)
        return _Metric(spec["name"], spec["unit"], spec["better"], pattern, _value_group(pattern, where), reduce,
                       float(scale), {str(key): str(value) for key, value in labels.items()})

    def read(self, text: str) -> Iterator[Value]:
        """Raises OutputError when nothing matches or something that is no number does."""
        groups: dict[tuple[tuple[str, str], ...], list[float]] = {}
        for count, match in enumerate(self.pattern.finditer(text)):
            if count == MAX_MATCHES:
                raise OutputError("metric '%s': more than %d matches" % (self.name, MAX_MATCHES))
            captured = match[self.value_group] or ""
            number = parse_number(captured)
            if number is None or not math.isfinite(number * self.scale):
                raise OutputError("metric '%s': captured '%s', which is not a plain finite number" % (
                    self.name, _shorten(captured)))
            named = {name: found or "" for name, found in match.groupdict().items() if name != "value"}
            groups.setdefault(tuple(sorted({**self.labels, **named}.items())), []).append(number * self.scale)
        if not groups:
            raise OutputError("metric '%s': nothing matches '%s'; the output ends with: %s" % (
                self.name, _shorten(self.pattern.pattern), _shorten(text.strip()[-200:])))
        for labels, values in groups.items():
            if self.reduce == _ALL:
                for value in values:
                    yield Value(self.name, value, self.unit, self.better, dict(labels), True)
            else:
                yield Value(self.name, _REDUCTIONS[self.reduce](values), self.unit, self.better, dict(labels))


def _value_group(pattern: re.Pattern[str], where: str) -> int:
    if "value" in pattern.groupindex:
        return pattern.groupindex["value"]
    if pattern.groups == 1 and not pattern.groupindex:
        return 1
    raise SpecError("%s: pattern '%s' needs exactly one group, or one named value, as in (?P<value>[0-9.]+)" % (
        where, _shorten(pattern.pattern)))


@dataclass(frozen=True)
class PatternReader:
    """Immutable; made from the parameters `metrics`, `sanity` and `sanity_not`."""

    metrics: Sequence[_Metric]
    sanity: Sequence[re.Pattern[str]]
    sanity_not: Sequence[re.Pattern[str]]

    @staticmethod
    def from_parameters(metrics: object, sanity: object, sanity_not: object) -> PatternReader:
        if not isinstance(metrics, list):
            raise SpecError("parameter 'metrics' must be a list")
        patterns = []
        for name, listed in (("sanity", sanity), ("sanity_not", sanity_not)):
            if not isinstance(listed, list):
                raise SpecError("parameter '%s' must be a list" % name)
            patterns.append([_compile(each, "parameter '%s[%d]'" % (name, i)) for i, each in enumerate(listed)])
        return PatternReader(
            [_Metric.from_map(each, "parameter 'metrics[%d]'" % i) for i, each in enumerate(metrics)], *patterns)

    def read(self, text: str) -> list[Value]:
        self.check(text)
        return [value for metric in self.metrics for value in metric.read(text)]

    def check(self, text: str) -> None:
        """Raises OutputError unless the sanity patterns are content."""
        for pattern in self.sanity:
            if not pattern.search(text):
                raise OutputError("sanity: nothing matches '%s'" % _shorten(pattern.pattern))
        for pattern in self.sanity_not:
            found = pattern.search(text)
            if found:
                raise OutputError("sanity_not: '%s' matches: %s" % (_shorten(pattern.pattern), _shorten(found[0])))


def read_by_program(program: str, reader: str, path: Path, timeout: float = 60) -> list[Value]:
    """What `fleetmark parse --reader READER` finds in a file. OutputError when it finds nothing it trusts."""
    command = [program, "parse", "--reader", reader, str(path), "-o", "json"]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise OutputError("%s parse did not work: %s" % (program, error)) from None
    said = decode(done.stderr)[0].strip()
    try:
        answer = json.loads(done.stdout)
        outcome, problems = answer["outcome"], answer.get("problems", [])
        values = [Value(str(each["name"]), float(each["value"]), str(each["unit"]), str(each.get("better", "none")),
                        {str(key): str(text) for key, text in each.get("labels", {}).items()})
                  for each in answer["metrics"]]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise OutputError("%s parse --reader %s ended with status %d and no answer (%r): %s" % (
            program, reader, done.returncode, error, _shorten(said))) from None
    if str(outcome).lower() not in ("ok", "outcome_ok"):
        raise OutputError("reader %s: %s: %s" % (reader, outcome, "; ".join(map(str, problems)) or said))
    if not values:
        raise OutputError("reader %s finds no metric: %s" % (reader, "; ".join(map(str, problems)) or said))
    return values


def write_values(plugin: Plugin, values: Sequence[Value], labels: Mapping[str, str]) -> None:
    """Values of which one name and label set has several are repetitions. `labels` are added to each."""
    keys = collections.Counter((v.name, tuple(sorted(v.labels.items()))) for v in values)
    for value in values:
        several = keys[value.name, tuple(sorted(value.labels.items()))] > 1
        write = plugin.sample if value.repetition or several else plugin.metric
        write(value.name, value.value, value.unit, {**labels, **value.labels}, value.better)
