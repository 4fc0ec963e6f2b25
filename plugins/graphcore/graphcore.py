#!/usr/bin/env -S python3 -B
"""Trains on Graphcore IPUs, by poprun where there are several instances, and reads rate and power."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Mapping, Sequence

import fleetmark_output
import fleetmark_program
from fleetmark_output import OutputError, PatternReader, SpecError, Value, parse_number
from fleetmark_plugin import Plugin
from fleetmark_program import Program, TooMuchOutput
from fleetmark_waiting import run_plugin
from ipu_monitor import IpuMonitor

# "throughput: 1234.5 samples/sec" in many spellings; poprun puts "[1,0]<stdout>:" before an instance's lines.
_RATE = re.compile(r"(?:\[\d+,(?P<instance>\d+)\]<std(?:out|err)>:)?.*?throughput\D{0,30}?(?P<value>[0-9.,eE+]+)\s*"
                   r"(?:samples|images|sequences|imgs|items)\s*(?:/|per )\s*s", re.I)
# What the driver says when others have the IPUs: nothing is wrong with the node.
_BUSY = re.compile(r"failed to acquire|no (available )?device|could not (find|acquire)|device.* in use|cannot attach", re.I)


def training_command(params: Mapping[str, object]) -> list[str]:
    command = [str(each) for each in params["command"]]  # type: ignore[attr-defined]
    instances, replicas = int(str(params["instances"])), int(str(params["replicas"]))
    if instances == 0:
        return command
    poprun = ["poprun", "--num-instances=%d" % instances, "--num-replicas=%d" % replicas]
    return [*poprun, *map(str, params["poprun_arguments"]), *command]  # type: ignore[call-overload]


def read_rates(text: str) -> list[Value]:
    """The sum of the instances' last rates. OutputError when there is none or one is no number."""
    rates: dict[str, float] = {}
    for line in text.splitlines():
        match = _RATE.search(line)
        if match:
            value = parse_number(match["value"])
            if value is None:
                raise OutputError("'%s' is not a plain finite number in: %s" % (match["value"], line[:200]))
            rates[match["instance"] or ""] = value
    if not rates:
        raise OutputError("no line has a throughput in samples a second")
    return [Value("throughput", sum(rates.values()), "samples/s", "higher")]


def read_values(plugin: Plugin, patterns: PatternReader, output: Path) -> Sequence[Value]:
    text = fleetmark_output.read_output(output)
    patterns.check(text)
    if plugin.params["reader"]:
        return fleetmark_output.read_by_program(str(plugin.params["fleetmark"]), str(plugin.params["reader"]), output)
    return patterns.read(text) if plugin.params["metrics"] else read_rates(text)


def measure(plugin: Plugin, command: Sequence[str], patterns: PatternReader) -> None:
    output = Path(plugin.request["work_dir"]) / "training.log"
    monitor = IpuMonitor([str(each) for each in plugin.params["monitor"]], float(plugin.params["monitor_interval"]))
    if plugin.params["monitor"]:
        monitor.begin()
    busy = ""
    try:
        with Program(command, output) as program:
            for line in program.lines():
                if line and not busy and _BUSY.search(line):
                    busy = line.strip()[:300]
            status = program.status()
    except OSError as error:
        plugin.skip("%s can't be started: %s" % (command[0], error))
    except TooMuchOutput as error:
        plugin.fail("the training: %s" % error)
    finally:
        readings = monitor.end()
    if status != 0:
        if busy:
            plugin.try_later("the IPUs are not free: %s" % busy)
        fleetmark_program.show_end(output)
        plugin.fail("the training ended with status %d" % status)
    try:
        fleetmark_output.write_values(plugin, read_values(plugin, patterns, output), {})
    except OutputError as error:
        plugin.invalid(str(error))
        return
    for name, unit in (("ipu_power", "W"), ("ipu_utilisation", "%")):
        if name in readings:
            plugin.metric(name, readings[name], unit)


def run(plugin: Plugin) -> None:
    params = plugin.params
    try:
        patterns = PatternReader.from_parameters(params["metrics"], params["sanity"], params["sanity_not"])
    except SpecError as error:
        plugin.bad_parameter("metrics", "is wrong: %s" % error)
    if not params["command"]:
        plugin.bad_parameter("command", "must be set")
    if shutil.which("gc-info") is None:
        plugin.skip("gc-info is not installed: this is no Graphcore host, or its SDK is not enabled")
    measure(plugin, training_command(params), patterns)


if __name__ == "__main__":
    run_plugin(run)
