"""Follows one Slurm job to its end and says what the end means.

What is known and what is not are kept apart: while slurmctld does not answer, nothing has ended. A state that
is no end and yet no longer in the queue (accounting's REQUEUED of a job that is gone) ends after a bounded
time as a failure of the infrastructure. Only a job that completed in one piece may give figures.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Optional, Protocol

from fleetmark_waiting import Backoff, Clock, Ending, Lasting
from slurm_client import JobUnknown, SlurmUnreachable
from slurm_state import JobRecord, Stage, hopeless


@dataclass(frozen=True)
class Verdict:
    ending: Ending
    reason: str
    record: Optional[JobRecord] = None
    cancel: bool = False  # the job may still be there


@dataclass(frozen=True)
class Patience:
    """Seconds. `run_time`: until this run itself must end."""

    pending: float
    hopeless: float
    unreachable: float
    gone: float
    run_time: float
    first_poll: float
    longest_poll: float


class JobSource(Protocol):
    def show(self, job_id: str) -> JobRecord: ...

    def account(self, job_id: str) -> Optional[JobRecord]: ...


def judge_end(job_id: str, record: JobRecord) -> Verdict:
    """The verdict about a record whose stage is ENDED."""
    job = "job %s" % job_id
    if record.infrastructure:
        return Verdict(Ending.LATER, "%s: %s (%s)" % (job, record.infrastructure, record.state), record)
    if record.state == "COMPLETED" and record.exit_status in (0, None) and not record.exit_signal:
        if record.was_suspended:
            return Verdict(Ending.LATER, "%s was suspended for a while: its figures would be wrong" % job, record)
        return Verdict(Ending.OK, "%s completed" % job, record)
    if record.state == "CANCELLED":
        return Verdict(Ending.LATER, ("%s was cancelled %s" % (job, record.detail)).rstrip(), record)
    if record.state == "TIMEOUT":
        return Verdict(Ending.FAILED, "%s reached its time limit" % job, record)
    if record.state == "OUT_OF_MEMORY":
        return Verdict(Ending.FAILED, "%s ran out of memory" % job, record)
    how = "was killed by signal %d" % record.exit_signal if record.exit_signal else (
        "ended with status %s" % ("?" if record.exit_status is None else record.exit_status))
    return Verdict(Ending.FAILED, "%s %s (%s)" % (job, how, record.state), record)


class JobWatch:
    """Watches `job_id`. `say` gets a sentence at each change of what is known."""

    def __init__(self, source: JobSource, job_id: str, patience: Patience, clock: Clock,
                 say: Callable[[str], None]):
        self._source = source
        self._id = job_id
        self._patience = patience
        self._clock = clock
        self._say = say
        self._said = ""
        self._end_at = clock.now() + patience.run_time
        self._pending = Lasting(clock)
        self._hopeless = Lasting(clock)
        self._unreachable = Lasting(clock)
        self._gone = Lasting(clock)

    def wait(self) -> Verdict:
        polls = Backoff(self._patience.first_poll, self._patience.longest_poll)
        while True:
            verdict = self._look(polls)
            if verdict is not None:
                return verdict
            left = self._end_at - self._clock.now()
            if left <= 0:
                return Verdict(Ending.LATER if self._said.startswith("waits") else Ending.FAILED,
                               "this run's time was over while job %s %s" % (self._id, self._said), cancel=True)
            self._clock.sleep(min(polls.next(), left))

    def _tell(self, what: str, polls: Backoff) -> None:
        if what != self._said:
            polls.reset()
            self._say("job %s %s" % (self._id, what))
            self._said = what

    def _look(self, polls: Backoff) -> Optional[Verdict]:
        """The verdict, if there is one yet."""
        try:
            record = self._source.show(self._id)
        except SlurmUnreachable as error:
            return self._no_answer(str(error), polls)
        except JobUnknown:
            self._unreachable.update(False)
            return self._not_in_queue(polls)
        self._unreachable.update(False)
        self._gone.update(False)
        return self._in_queue(record, polls)

    def _no_answer(self, error: str, polls: Backoff) -> Optional[Verdict]:
        if not self._said.startswith("is out of sight"):
            self._tell("is out of sight: Slurm does not answer: " + error, polls)
        if self._unreachable.update(True) < self._patience.unreachable:
            return None
        return Verdict(Ending.LATER, "Slurm has not answered for %.0f s; job %s may still run: %s" % (
            self._patience.unreachable, self._id, error), cancel=True)

    def _not_in_queue(self, polls: Backoff) -> Optional[Verdict]:
        record = self._source.account(self._id)
        if record is not None and record.stage is Stage.ENDED:
            return judge_end(self._id, record)
        state = record.state if record else "nothing"
        self._tell("is not in the queue, and accounting says %s" % state, polls)
        if self._gone.update(True) < self._patience.gone:
            return None
        return Verdict(Ending.LATER, "job %s is gone from the queue without an end (accounting says %s)" % (
            self._id, state), record)

    def _in_queue(self, record: JobRecord, polls: Backoff) -> Optional[Verdict]:
        stage = record.stage
        waits = stage is Stage.WAITING
        pending = self._pending.update(waits)
        no_hope = self._hopeless.update(waits and hopeless(record.reason))
        if record.is_array:
            return Verdict(Ending.FAILED, "job %s is an array; a benchmark is one job" % self._id, record, True)
        if stage is Stage.ENDED:
            return judge_end(self._id, record)
        if stage is Stage.HELD:
            return Verdict(Ending.LATER, "job %s is held (%s): %s" % (self._id, record.state, record.reason), record,
                           cancel=True)
        if stage is Stage.PAUSED:
            return Verdict(Ending.LATER, "job %s was suspended: its figures would be wrong" % self._id, record,
                           cancel=True)
        self._tell(_describe(record), polls)
        if waits and hopeless(record.reason) and no_hope >= self._patience.hopeless:
            return Verdict(Ending.LATER, "job %s can't start: %s" % (self._id, record.reason), record, cancel=True)
        if waits and pending >= self._patience.pending:
            return Verdict(Ending.LATER, "job %s did not start within %.0f s: %s" % (
                self._id, self._patience.pending, record.reason), record, cancel=True)
        return None


def _describe(record: JobRecord) -> str:
    if record.stage is Stage.WAITING:
        again = " again, after %d restarts" % record.restarts if record.restarts else ""
        return "waits%s: %s" % (again, record.reason or record.state)
    if record.stage is Stage.RUNNING:
        return "runs on %s" % (record.nodes or "its nodes")
    return "is %s" % record.state
