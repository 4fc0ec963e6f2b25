"""Slurm by its own programs: sbatch, scontrol, squeue, sacct, scancel.

Answers are told apart into "it is so", "there is no such job" and "nothing is known now": the last is never
taken for an end. Every call has a time limit. Not for several threads.
"""

from __future__ import annotations

import os
import pwd
import re
import subprocess
from dataclasses import dataclass, field
from typing import Mapping, Optional, Sequence

import slurm_state
from slurm_state import JobRecord


class SlurmUnreachable(Exception):
    """Slurm did not answer, or said that it can't now."""


class SlurmMissing(Exception):
    """Slurm's programs or its configuration are not on this machine."""


class JobUnknown(Exception):
    """slurmctld answers and does not have the job (any more)."""


class SubmitRefused(Exception):
    """sbatch said no for good. `full`: only because somebody's limit of jobs is reached."""

    def __init__(self, message: str, full: bool = False, parameters: bool = False):
        super().__init__(message)
        self.full = full
        self.parameters = parameters


_UNREACHABLE = re.compile(
    r"unable to contact|connection (refused|timed out|reset)|socket timed out|not connected|standby|"
    r"zero bytes|communication connection failure|slurm_persist_conn|resource temporarily unavailable|"
    r"insane message|unexpected message|munge encode failed|authentication (error|credential)|"
    r"unable to establish|no route to host|persistent connection|try again|error receiving|controller is", re.I)
_MISSING = re.compile(r"could not establish a configuration source|unable to (process|read|open).*slurm\.conf|"
                      r"s_p_parse_file", re.I)
_GONE = re.compile(r"invalid job id specified", re.I)
_FULL = re.compile(
    r"(max|grp)\w*submit\w*|maxjob\w*limit|job submit limit|temporarily unable to accept job|job count limit|"
    r"maxjobcount|jobs? limit (reached|exceeded)|accounting/qos policy", re.I)
_PARAMETERS = re.compile(
    r"invalid (partition|account|qos|feature|generic resource|node name|time|reservation|wckey|option|"
    r"dependency)|requested (node configuration|time limit|reservation|partition|nodes? (are|is))|"
    r"more processors|unrecognized option|invalid option|node count spec|memory specification|"
    r"this does not look like a batch script|batch script (is|contains)|unknown gres|illegal|cluster.*unknown|"
    r"user's group not permitted|access/permission denied|license", re.I)


@dataclass(frozen=True)
class QueuedJob:
    job_id: str
    name: str
    comment: str


@dataclass(frozen=True)
class Submission:
    """One batch job. `script` is the text that sbatch reads, `options` are its long options."""

    script: str
    options: Sequence[str]
    name: str
    comment: str


def last_words(text: str) -> str:
    """The lines that say something, at most 300 characters, without the program's own marks."""
    lines = [re.sub(r"^s\w+: (error: |fatal: )?", "", line.strip()) for line in text.splitlines() if line.strip()]
    return "; ".join(lines)[-300:] or "it said nothing"


def without_retries(text: str) -> str:
    """sbatch's words without those it said before it tried again: only the last try decides."""
    return "\n".join(line for line in text.splitlines() if "sleeping and retrying" not in line)


def home_of_user() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return "/"


@dataclass
class SlurmClient:
    """`environment` is what the programs get, and through sbatch the job."""

    environment: Mapping[str, str]
    timeout: float = 30.0
    submit_timeout: float = 60.0
    cluster: str = ""  # of the job, when sbatch chose one of several
    user: str = field(default_factory=lambda: str(os.getuid()))

    def submit(self, submission: Submission) -> str:
        """The new job's id. SubmitRefused, SlurmUnreachable (then it may have been accepted all the same).

        While slurmctld has as many jobs as it takes, sbatch says so and tries again for minutes: `submit_timeout`
        ends that.
        """
        command = ["sbatch", "--parsable", "--job-name=" + submission.name, "--comment=" + submission.comment,
                   *submission.options]
        try:
            done = self._run(command, submission.script, self.submit_timeout)
        except SlurmUnreachable as error:
            if _FULL.search(str(error)):
                raise SubmitRefused(str(error), full=True) from None
            raise
        if done.returncode == 0:
            parsed = slurm_state.parse_job_id(done.stdout)
            if parsed is None:
                raise SlurmUnreachable("sbatch printed no job id: " + last_words(done.stdout + done.stderr))
            self.cluster = parsed[1]
            return parsed[0]
        message = last_words(done.stderr)
        final = without_retries(done.stderr)
        if _FULL.search(final):
            raise SubmitRefused(message, full=True)
        if _UNREACHABLE.search(final):
            raise SlurmUnreachable(message)
        raise SubmitRefused(message, parameters=bool(_PARAMETERS.search(final)))

    def show(self, job_id: str) -> JobRecord:
        """What slurmctld knows of the job. JobUnknown, SlurmUnreachable."""
        done = self._run(["scontrol", *self._cluster(), "show", "job", "--oneliner", job_id])
        record = slurm_state.combine(slurm_state.parse_scontrol(done.stdout))
        if record is not None:
            return record
        if _GONE.search(done.stderr):
            raise JobUnknown(last_words(done.stderr))
        raise SlurmUnreachable(last_words(done.stderr or done.stdout))

    def account(self, job_id: str) -> Optional[JobRecord]:
        """The accounting's record of the latest attempt; None when there is none or no accounting answers."""
        command = ["sacct", *self._cluster(), "--jobs=" + job_id, "--parsable2", "--noheader", "--duplicates",
                   "--format=" + slurm_state.SACCT_FIELDS]
        try:
            return slurm_state.parse_sacct(self._run(command).stdout, job_id)
        except (SlurmUnreachable, SlurmMissing):
            return None

    def queued(self) -> list[QueuedJob]:
        """This user's jobs that are not over."""
        done = self._run(["squeue", "--noheader", "--user=" + self.user, "--format=%A|%j|%k"])
        if done.returncode != 0:
            raise SlurmUnreachable(last_words(done.stderr))
        jobs = []
        for line in done.stdout.splitlines():
            fields = line.split("|", 2)
            if len(fields) == 3 and slurm_state.base_job_id(fields[0]):
                jobs.append(QueuedJob(slurm_state.base_job_id(fields[0]), fields[1].strip(), fields[2].strip()))
        return jobs

    def cancel(self, job_id: str, timeout: Optional[float] = None) -> bool:
        return self._cancel([*self._cluster(), job_id], timeout)

    def cancel_named(self, name: str, timeout: Optional[float] = None) -> bool:
        return self._cancel(["--user=" + self.user, "--name=" + name], timeout)

    def _cancel(self, arguments: Sequence[str], timeout: Optional[float]) -> bool:
        try:
            return self._run(["scancel", *arguments], timeout=timeout).returncode == 0
        except (SlurmUnreachable, SlurmMissing):
            return False

    def _cluster(self) -> list[str]:
        return ["--clusters=" + self.cluster] if self.cluster else []

    def _run(self, command: Sequence[str], text: str = "",
             timeout: Optional[float] = None) -> subprocess.CompletedProcess[str]:
        try:
            done = subprocess.run(command, input=text, capture_output=True, encoding="utf-8", errors="replace",
                                  env=dict(self.environment), timeout=timeout or self.timeout, check=False)
        except subprocess.TimeoutExpired as error:
            said = error.stderr or b""
            raise SlurmUnreachable("%s did not end within %.0f s: %s" % (
                command[0], error.timeout, last_words(said.decode("utf-8", "replace")))) from None
        except OSError as error:
            raise SlurmMissing("%s: %s" % (command[0], error.strerror)) from None
        if done.returncode != 0 and _MISSING.search(done.stderr):
            raise SlurmMissing(last_words(done.stderr))
        return done
