#!/usr/bin/env -S python3 -B
"""A benchmark as a Slurm job: a template becomes a batch script, which is submitted, followed to its end, and
its output read. What it means for the run that a job ends in one way or another is in job_watch.py."""

from __future__ import annotations

import os
import re
import shutil
import socket
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Mapping, Optional, Sequence

import fleetmark_output
from fleetmark_output import OutputError, PatternReader, SpecError, Value
from fleetmark_plugin import BadParameter, Plugin
from fleetmark_template import Template, TemplateError, load_parameters, load_template
from fleetmark_waiting import Clock, Stopped, run_plugin, seconds_until
from job_watch import Ending, JobWatch, Patience, Verdict
from slurm_client import (SlurmClient, SlurmMissing, SlurmUnreachable, Submission, SubmitRefused, home_of_user)

NAME_PREFIX = "fleetmark-"
# Before the agent's own limit, so that the job is cancelled and the reason told in peace.
RESERVE_SECONDS = 5.0
CANCEL_SECONDS = 1.5  # the agent kills two seconds after it has asked
OWN_OPTIONS = ("array", "comment", "chdir", "error", "hold", "input", "job-name", "open-mode", "output", "parsable",
               "test-only", "wait", "wait-all-nodes", "wrap")
SEVERAL_JOBS = re.compile(r"^#SBATCH\s+(-a\b|--array\b|hetjob\b|packjob\b)", re.M)


@dataclass(frozen=True)
class Job:
    """Everything that the parameters say."""

    submission: Submission
    output: Path
    patience: Patience
    max_outstanding: int
    reader: str
    program: str
    patterns: PatternReader
    label_host: bool
    environment: Mapping[str, str]
    submit_timeout: float
    keep_output: bool


def sbatch_options(options: object, params: Mapping[str, object], output: Path) -> list[str]:
    if not isinstance(options, dict):
        raise BadParameter("options", "must be a map of sbatch's long options")
    built = ["--output=%s" % output, "--open-mode=truncate", "--chdir=%s" % output.parent,
             "--requeue" if params["requeue"] else "--no-requeue"]
    limit = int(float(str(params["job_time"])))
    if limit > 0:
        built.append("--time=%d:%02d" % (limit // 60, limit % 60))
    for name, value in options.items():
        if not re.fullmatch(r"[a-z][a-z0-9-]+", name):
            raise BadParameter("options", "has '%s', which is no long option of sbatch" % name)
        if name in OWN_OPTIONS:
            raise BadParameter("options", "has '%s', which this plugin sets itself" % name)
        if value is True:
            built.append("--" + name)
        elif value is not False:
            built.append("--%s=%s" % (name, value))
    return built


def batch_script(params: Mapping[str, object]) -> str:
    """The rendered script. BadParameter, TemplateError."""
    text, path = str(params["script"]), str(params["template"])
    if bool(text) == bool(path):
        raise BadParameter("template", "or 'script' must be set, and not both")
    template = Template(text, "script") if text else load_template(Path(path))
    parameters = dict(params["parameters"])  # type: ignore[call-overload]
    if params["parameter_file"]:
        parameters = {**load_parameters(Path(str(params["parameter_file"]))), **parameters}
    script = template.render(parameters)
    if SEVERAL_JOBS.search(script):
        raise BadParameter("template", "makes several jobs of one; a benchmark is one job")
    return script if script.startswith("#!") else "#!/bin/bash\n" + script


def job_name(benchmark: str) -> str:
    """The same for each run of this benchmark by this machine, so that what a lost run left behind is found."""
    return re.sub(r"[^A-Za-z0-9_.@-]", "_", "%s%s@%s" % (NAME_PREFIX, benchmark, socket.gethostname()))


def job_environment(params: Mapping[str, object]) -> dict[str, str]:
    """Nothing of this run's own folders: they are not there on the job's node."""
    environment = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LANG": "C.UTF-8", "HOME": home_of_user()}
    if params["slurm_conf"]:
        environment["SLURM_CONF"] = str(params["slurm_conf"])
    extra = params["environment"]
    return {**environment, **{str(k): str(v) for k, v in dict(extra).items()}}  # type: ignore[call-overload]


def read_job(request: Mapping[str, object]) -> Job:
    params: Mapping[str, object] = request["params"]  # type: ignore[assignment]
    number = lambda name: float(str(params[name]))  # noqa: E731
    folder = Path(str(params["output_dir"] or request["work_dir"]))
    if not folder.is_dir():
        raise BadParameter("output_dir", "is no folder: %s" % folder)
    run_id = str(request["run_id"])
    output = folder / ("fleetmark-%s.out" % re.sub(r"[^A-Za-z0-9]", "_", run_id))
    metrics = params["metrics"]
    if bool(params["reader"]) == bool(metrics):
        raise BadParameter("reader", "or 'metrics' must be set, and not both")
    submission = Submission(batch_script(params), sbatch_options(params["options"], params, output),
                            job_name(str(request["benchmark"])), run_id)
    patience = Patience(
        pending=number("max_pending"), hopeless=number("reason_patience"), unreachable=number("slurm_patience"),
        gone=number("gone_patience"), first_poll=min(0.5, number("poll")), longest_poll=number("poll"),
        run_time=seconds_until(request.get("deadline_unix_ns")) - RESERVE_SECONDS)
    return Job(submission, output, patience, int(number("max_outstanding")), str(params["reader"]),
               str(params["fleetmark"]),
               PatternReader.from_parameters(metrics, params["sanity"], params["sanity_not"]),
               bool(params["label_host"]), job_environment(params), number("submit_timeout"), bool(params["keep_output"]))


class JobRun:
    """One run: submits, waits, reads. The job is cancelled whenever the run ends before it."""

    def __init__(self, plugin: Plugin, job: Job, client: SlurmClient, clock: Clock):
        self._plugin = plugin
        self._job = job
        self._client = client
        self._clock = clock
        self._job_id: Optional[str] = None
        self._submitting = False

    def measure(self) -> None:
        try:
            self._make_room()
            self._submit()
            watch = JobWatch(self._client, str(self._job_id), self._job.patience, self._clock,
                             lambda text: self._plugin.progress(0, text))
            verdict = watch.wait()
            if not verdict.cancel:
                self._job_id = None
        except SlurmUnreachable as error:
            self._plugin.try_later("Slurm can't be asked now: %s" % error)
        finally:
            self._take_back()
        self._report(verdict)

    def _make_room(self) -> None:
        """Cancels what an earlier run of this benchmark lost, and waits for a turn if too much is queued."""
        ours = [j for j in self._client.queued() if j.name.startswith(NAME_PREFIX)]
        lost = [j for j in ours if j.name == self._job.submission.name]
        for job in lost:
            self._plugin.event("job %s, which an earlier run left behind, is cancelled" % job.job_id)
            self._client.cancel(job.job_id)
        if lost:
            self._plugin.try_later("jobs of an earlier run had to be cancelled first")
        if len(ours) >= self._job.max_outstanding:
            self._plugin.try_later("no slot: %d benchmark jobs of this user are in the queue, %d are allowed" % (
                len(ours), self._job.max_outstanding))

    def _submit(self) -> None:
        self._submitting = True
        try:
            self._job_id = self._client.submit(self._job.submission)
        except SubmitRefused as refused:
            self._submitting = refused.full  # sbatch may have been stopped a moment too late
            if refused.full:
                self._plugin.try_later("no slot: %s" % refused)
            if refused.parameters:
                self._plugin.bad_parameter("options", "or the script is refused by sbatch: %s" % refused)
            self._plugin.fail("sbatch: %s" % refused)
        except SlurmUnreachable as error:
            self._job_id = self._accepted_after_all()
            if self._job_id is None:
                self._plugin.try_later("sbatch: %s" % error)
        self._plugin.log("job %s is submitted" % self._job_id)

    def _accepted_after_all(self) -> Optional[str]:
        """The job's id, when only sbatch's answer was lost."""
        try:
            for job in self._client.queued():
                if job.name == self._job.submission.name and job.comment == self._job.submission.comment:
                    return job.job_id
        except SlurmUnreachable:
            pass  # what got in all the same is cancelled by the next run
        return None

    def _take_back(self) -> None:
        seconds = CANCEL_SECONDS if isinstance(sys.exc_info()[1], Stopped) else None
        if self._job_id is not None:
            if not self._client.cancel(self._job_id, seconds):
                print("job %s could not be cancelled; the next run does it" % self._job_id, file=sys.stderr)
        elif self._submitting and sys.exc_info()[0] is not None:
            self._client.cancel_named(self._job.submission.name, seconds)

    def _report(self, verdict: Verdict) -> None:
        if verdict.record is not None and verdict.record.node_fault:
            self._plugin.event("Slurm: %s; nodes %s" % (verdict.reason, verdict.record.nodes or "unknown"))
        if verdict.ending is Ending.LATER:
            self._plugin.try_later(verdict.reason)
        if verdict.ending is Ending.FAILED:
            self._show_output()
            self._plugin.fail(verdict.reason)
        try:
            values = self._read_values()
        except OutputError as error:
            self._show_output()
            self._plugin.invalid(str(error))
            return
        host = verdict.record.only_node if verdict.record and self._job.label_host else None
        fleetmark_output.write_values(self._plugin, values, {"host": host} if host else {})

    def _read_values(self) -> Sequence[Value]:
        self._await_output()
        text = fleetmark_output.read_output(self._job.output)
        if self._job.reader:
            self._job.patterns.check(text)
            return fleetmark_output.read_by_program(self._job.program, self._job.reader, self._job.output)
        return self._job.patterns.read(text)

    def _await_output(self) -> None:
        """A network file system may show the file a moment after the job's end."""
        end = self._clock.now() + 10
        while not self._job.output.exists() and self._clock.now() < end:
            self._clock.sleep(0.2)

    def _show_output(self) -> None:
        try:
            text = fleetmark_output.read_output(self._job.output)
        except OutputError as error:
            text = str(error)
        print("The job's output ends with:\n%s" % text[-4000:], file=sys.stderr)


def run(plugin: Plugin) -> None:
    try:
        job = read_job(plugin.request)
    except (SpecError, TemplateError) as error:
        plugin.bad_parameter("template" if isinstance(error, TemplateError) else "metrics", "is wrong: %s" % error)
    if shutil.which("sbatch", path=job.environment["PATH"]) is None:
        plugin.skip("Slurm's sbatch is not installed")
    client = SlurmClient(job.environment, submit_timeout=job.submit_timeout)
    try:
        JobRun(plugin, job, client, Clock()).measure()
    except SlurmMissing as error:
        plugin.skip("Slurm is not configured here: %s" % error)
    finally:
        if not job.keep_output:
            job.output.unlink(missing_ok=True)


if __name__ == "__main__":
    run_plugin(run)
