#!/usr/bin/env -S python3 -B
"""Trains a model of the Cerebras Model Zoo on a wafer-scale system from its user host, and reads the rate."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Mapping, Optional

import fleetmark_program
from cerebras_log import TrainingLog
from csctl import Csctl, Phase
from fleetmark_plugin import Plugin
from fleetmark_program import Program, TooMuchOutput
from fleetmark_waiting import Clock, Stopped, run_plugin, seconds_until

RESERVE_SECONDS = 5.0
CANCEL_SECONDS = 1.0


def training_command(params: Mapping[str, object], model_dir: Path) -> list[str]:
    """cszoo is the launcher since release 2.4; run.py came before it, and csrun_wse before that."""
    options = ["--num_csx=%d" % int(str(params["num_csx"])), "--model_dir=%s" % model_dir, *map(str, params["arguments"])]  # type: ignore[call-overload]
    config, script = str(params["config"]), str(params["script"])
    if params["launcher"] == "cszoo":
        return ["cszoo", "fit", config, *options]
    if params["launcher"] == "run_py":
        return [str(params["python"]), script, "CSX", "--mode=train", "--params=" + config, *options]
    old = [option for option in options if not option.startswith("--num_csx")]
    return ["csrun_wse", str(params["python"]), script, "--mode=train", "--params=" + config, *old]


class Training:
    """One run. The appliance's jobs are cancelled when it ends before them."""

    def __init__(self, plugin: Plugin, csctl: Csctl, clock: Clock):
        self._plugin = plugin
        self._csctl = csctl
        self._clock = clock
        self._log = TrainingLog()
        self._over = False

    def measure(self, command: list[str]) -> None:
        output = Path(self._plugin.request["work_dir"]) / "training.log"
        try:
            with Program(command, output) as program:
                status = self._follow(program)
            self._over = status == 0
            self._report(status, output)
        except OSError as error:
            self._plugin.skip("%s can't be started: %s" % (command[0], error))
        except TooMuchOutput as error:
            self._plugin.fail("the training: %s" % error)
        finally:
            self._take_back()

    def _follow(self, program: Program) -> int:
        began = self._clock.now()
        end = began + seconds_until(self._plugin.request.get("deadline_unix_ns")) - RESERVE_SECONDS
        pending = float(self._plugin.params["max_pending"])
        for line in program.lines():
            if line is not None:
                self._log.read(line)
            now = self._clock.now()
            if now > end:
                self._plugin.fail("this run's time was over at step %d" % self._log.steps)
            if not self._log.steps and now - began > pending and self._waits():
                self._plugin.try_later("job %s did not start within %.0f s" % (self._log.jobs[-1], pending))
        return program.status()

    def _waits(self) -> bool:
        return bool(self._log.jobs) and self._csctl.phase(self._log.jobs[-1]) is Phase.WAITING

    def _take_back(self) -> None:
        """The last job is the one that may still go on: compilation has one of its own before it."""
        if self._over or not self._log.jobs:
            return
        stopping = isinstance(sys.exc_info()[1], Stopped)
        job = self._log.jobs[-1]
        if not stopping and self._csctl.phase(job) in (Phase.SUCCEEDED, Phase.FAILED, Phase.CANCELLED):
            return
        if not self._csctl.cancel(job, CANCEL_SECONDS if stopping else None):
            print("job %s could not be cancelled" % job, file=sys.stderr)

    def _report(self, status: int, output: Path) -> None:
        log, plugin = self._log, self._plugin
        phase = self._csctl.phase(log.jobs[-1]) if log.jobs else Phase.UNKNOWN
        name = log.jobs[-1] if log.jobs else "the training"
        if phase is Phase.CANCELLED:
            plugin.try_later("%s was cancelled by somebody" % name)
        if status != 0 and phase is Phase.WAITING:
            plugin.try_later("%s ended while it waited in the queue: %s" % (name, log.problem))
        if status != 0 or phase is Phase.FAILED:
            fleetmark_program.show_end(output)
            plugin.fail("%s failed (status %d): %s" % (name, status, log.problem or "it says not why"))
        if log.unreadable:
            plugin.invalid("not a plain finite number: %s" % log.unreadable)
        elif not log.completed:
            plugin.invalid("the log does not say that the training completed; its last step is %d" % log.steps)
        elif log.rate is None:
            plugin.invalid("no step line has a GlobalRate")
        else:
            labels = {"systems": str(int(plugin.params["num_csx"]))}
            plugin.metric("throughput", log.rate, "samples/s", labels)
            plugin.metric("steps", log.steps, "count", labels)
            if log.loss is not None:
                plugin.metric("loss", log.loss, "1", labels)


def run(plugin: Plugin) -> None:
    params = plugin.params
    needs_script = params["launcher"] != "cszoo"
    for name, needed in (("config", True), ("script", needs_script)):
        if needed and not Path(str(params[name])).is_file():
            plugin.bad_parameter(name, "is no file: '%s'" % params[name])
    model_dir: Optional[Path] = Path(str(params["model_dir"])) if params["model_dir"] else None
    command = training_command(params, model_dir or Path(plugin.request["work_dir"]) / "model_dir")
    if shutil.which(command[0]) is None:
        plugin.skip("%s is not installed: this is no Cerebras user host" % command[0])
    Training(plugin, Csctl(str(params["csctl"])), Clock()).measure(command)


if __name__ == "__main__":
    run_plugin(run)
