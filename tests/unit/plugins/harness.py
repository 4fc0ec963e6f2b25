"""Runs a plugin as the agent does and checks what it says against its manifest."""

import contextlib
import json
import math
import os
import re
import signal
import subprocess
import tempfile
import time

import yaml

UNITS = {"ms": 1e-3, "s": 1, "m": 60, "h": 3600, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def plugins_dir():
    return os.environ["FM_PLUGINS_DIR"]


def quantity(value):
    match = re.fullmatch(r"(\d+)([A-Za-z]+)", str(value))
    return int(match[1]) * UNITS[match[2]] if match else value


class Result:
    def __init__(self, status, stdout, log, seconds):
        self.status, self.log, self.seconds = status, log, seconds
        self.lines = [json.loads(line) for line in stdout.splitlines()]

    def of(self, kind):
        return [line for line in self.lines if line["type"] == kind]

    def values(self, name):
        return [line["value"] for line in self.lines if line.get("name") == name]

    @property
    def done(self):
        return bool(self.lines) and self.lines[-1]["type"] == "done" and self.status == 0

    def __repr__(self):
        return "status %d, lines %s, log %r" % (self.status, self.lines, self.log[-2000:])


class Plugin:
    """The plugin in `folder`; without a manifest its parameters are given as they are."""

    def __init__(self, name, folder=None, command=None):
        self.folder = folder or os.path.join(plugins_dir(), name)
        self.manifest = {"command": command, "params": {}}
        if command is None:
            with open(os.path.join(self.folder, "manifest.yaml"), encoding="utf-8") as file:
                self.manifest = yaml.safe_load(file)

    def start(self, work_dir, params=None, env=None, benchmark="test"):
        declared = self.manifest["params"]
        values = {name: spec["default"] for name, spec in declared.items() if "default" in spec}
        values.update(params or {})
        for name, spec in declared.items():
            if spec["type"] in ("duration", "bytes"):
                values[name] = quantity(values[name])
        environment = {
            "PATH": os.environ["PATH"], "HOME": work_dir, "TMPDIR": work_dir, "LANG": "C.UTF-8",
            "FLEETMARK_API": "1", "FLEETMARK_WORK_DIR": work_dir, "FLEETMARK_PLUGIN_DIR": self.folder,
        }
        for name, value in values.items():
            if not isinstance(value, (list, dict)):
                text = str(value).lower() if isinstance(value, bool) else str(value)
                environment["FLEETMARK_PARAM_" + name.upper()] = text
        environment.update(env or {})
        program, *arguments = self.manifest["command"]
        if program.startswith("./"):
            program = os.path.join(self.folder, program)
        child = subprocess.Popen([program, *arguments], cwd=work_dir, env=environment, stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        request = {"api": 1, "run_id": os.path.basename(work_dir), "benchmark": benchmark, "params": values, "devices": [],
                   "cpus": sorted(os.sched_getaffinity(0)), "work_dir": work_dir,
                   "deadline_unix_ns": str(time.time_ns() + 60 * 10**9), "peers": []}
        with contextlib.suppress(BrokenPipeError):  # it may end without reading
            child.stdin.write(json.dumps(request).encode())
        with contextlib.suppress(BrokenPipeError):
            child.stdin.close()
        child.stdin = None
        return child

    def run(self, params=None, env=None):
        with tempfile.TemporaryDirectory() as work_dir:
            begin = time.monotonic()
            child = self.start(work_dir, params, env)
            stdout, log = child.communicate(timeout=110)
            return Result(child.returncode, stdout.decode(), log.decode("utf-8", "replace"),
                          time.monotonic() - begin)

    def check_metrics(self, result):
        """Raises AssertionError unless the run is a complete and valid one by the manifest."""
        assert result.done and not result.of("invalid"), result
        declared = {metric["name"]: metric for metric in self.manifest["metrics"]}
        for line in result.of("metric") + result.of("sample"):
            metric = declared[line["name"]]
            assert line["unit"] == metric["unit"] and math.isfinite(line["value"]), line
            assert set(line.get("labels", {})) <= set(metric.get("labels", [])), line
        missing = {n for n, m in declared.items() if m.get("required", True)} - {
            line["name"] for line in result.lines if "name" in line}
        assert not missing, missing
