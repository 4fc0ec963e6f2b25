#!/usr/bin/env -S python3 -B
"""Runs an existing ReFrame suite and takes over what its report holds: metrics, results and references."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Mapping, Sequence

import fleetmark_program
from fleetmark_plugin import Plugin
from fleetmark_program import Program, TooMuchOutput
from fleetmark_waiting import run_plugin
from reframe_report import Case, Report, ReportError, read_report


def reframe_command(params: Mapping[str, object], report: Path, prefix: Path) -> list[str]:
    command = [str(params["reframe"])]
    for option, name in (("--config-file", "config"), ("--system", "system")):
        if params[name]:
            command.append("%s=%s" % (option, params[name]))
    for path in params["checks"]:  # type: ignore[attr-defined]
        command += ["--checkpath=%s" % path]
    command += ["--recursive"] if params["recursive"] else []
    for tag in params["tags"]:  # type: ignore[attr-defined]
        command += ["--tag=%s" % tag]
    for name in params["names"]:  # type: ignore[attr-defined]
        command += ["--name=%s" % name]
    return [*command, "--report-file=%s" % report, "--prefix=%s" % prefix, *map(str, params["arguments"]), "--run"]  # type: ignore[call-overload]


def reference_file(cases: Sequence[Case], benchmark: str) -> str:
    """The references as the collector's configuration has them; JSON is YAML."""
    entries = []
    for case in cases:
        for metric in case.metrics:
            if metric.reference is not None:
                entry = {"benchmark": benchmark, "metric": metric.name, "labels": case.labels,
                         "value": metric.reference.value, "unit": metric.unit}
                for name, tolerance in (("lower", metric.reference.lower), ("upper", metric.reference.upper)):
                    if tolerance is not None:
                        entry[name] = tolerance
                entries.append(entry)
    lines = ["  - " + json.dumps(entry, ensure_ascii=False) for entry in entries]
    return "references:\n" + "\n".join(lines) + "\n" if lines else ""


def write_case(plugin: Plugin, case: Case) -> None:
    """Values of a case count when it passed, or when only a reference was missed: the value is real then."""
    labels = case.labels
    usable = case.result == "pass" or (case.result == "fail" and case.phase == "performance")
    for metric in case.metrics:
        if usable and metric.value is not None:
            plugin.sample(metric.name, metric.value, metric.unit, labels, metric.reference.better if metric.reference else None)
            if case.result == "fail" and metric.reference is not None and not metric.reference.holds(metric.value):
                low, high = metric.reference.bounds()
                plugin.event("%s: %s is %.6g, outside of %.6g to %.6g" % (case.test, metric.name, metric.value, low, high))
        elif usable:
            plugin.event("%s: no value of %s" % (case.test, metric.name))
    if case.result != "skip":
        plugin.sample("passed", 1 if case.result == "pass" else 0, "1", labels, "higher")
    if case.result in ("fail", "abort", "unknown"):
        plugin.event("%s: %s%s" % (case.test, case.result, " in " + case.phase if case.phase else ""))
    if case.tries > 1:
        plugin.event("%s: tried %d times" % (case.test, case.tries))


def take_over(plugin: Plugin, report: Report) -> None:
    ran = [case for case in report.cases if case.result != "skip"]
    if not ran:
        plugin.skip("no test of %d ran" % len(report.cases))
    if report.odd:
        plugin.event("%d rows of the report could not be read" % report.odd)
    for case in report.cases:
        write_case(plugin, case)
    text = reference_file(report.cases, str(plugin.request["benchmark"]))
    if text:
        Path(plugin.request["work_dir"], "references.yaml").write_text(text, "utf-8")
        plugin.artifact("references.yaml", "references.yaml")
    plugin.log("%d tests of report version %s" % (len(ran), report.version))


def measure(plugin: Plugin) -> None:
    work_dir = Path(plugin.request["work_dir"])
    report, output = work_dir / "report.json", work_dir / "reframe.log"
    prefix = Path(str(plugin.params["prefix"])) if plugin.params["prefix"] else work_dir
    command = reframe_command(plugin.params, report, prefix)
    environment = {**os.environ, **{str(k): str(v) for k, v in plugin.params["environment"].items()}}
    try:
        with Program(command, output, environment) as program:
            for _ in program.lines():
                pass
            status = program.status()
    except OSError as error:
        plugin.skip("%s can't be started: %s" % (command[0], error))
    except TooMuchOutput as error:
        plugin.fail("ReFrame: %s" % error)
    if not report.exists():  # written at a session's end only
        fleetmark_program.show_end(output)
        plugin.fail("ReFrame ended with status %d and without a report" % status)
    try:
        take_over(plugin, read_report(report))
    except ReportError as error:
        plugin.fail(str(error))


def run(plugin: Plugin) -> None:
    if shutil.which(str(plugin.params["reframe"])) is None:
        plugin.skip("ReFrame is not installed: no program '%s'" % plugin.params["reframe"])
    for path in plugin.params["checks"]:
        if not Path(str(path)).exists():
            plugin.bad_parameter("checks", "has '%s', which is not there" % path)
    measure(plugin)


if __name__ == "__main__":
    run_plugin(run)
