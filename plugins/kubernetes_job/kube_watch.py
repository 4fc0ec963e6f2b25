"""Follows a created job to its end, its logs with it. What an end means is in kube_endings.py."""

from __future__ import annotations

import re
import urllib.parse
from dataclasses import dataclass
from typing import Any, Callable, Mapping, Optional, Sequence

import kube_endings
from fleetmark_waiting import Backoff, Clock, Lasting
from kube_api import ApiError, Resource, Transport, Unreachable, items
from kube_endings import Ending, EndRules, Verdict
from kube_logs import PodLogs


@dataclass(frozen=True)
class Patience:
    """Seconds. `run_time`: until this run itself must end."""

    pending: float
    start: float
    unreachable: float
    run_time: float
    poll: float


@dataclass(frozen=True)
class Target:
    """The job that was created, and which pods are its own."""

    resource: Resource
    namespace: str
    name: str
    pod_selector: str

    @property
    def path(self) -> str:
        return self.resource.path(self.namespace, self.name)

    @property
    def pods_path(self) -> str:
        return "/api/v1/namespaces/%s/pods?labelSelector=%s" % (
            urllib.parse.quote(self.namespace), urllib.parse.quote(self.pod_selector))


class KubeWatch:
    """`pods` holds those of the last look, `logs` what they printed."""

    def __init__(self, transport: Transport, target: Target, rules: EndRules, patience: Patience, clock: Clock,
                 say: Callable[[str], None], end_pattern: Optional[re.Pattern[str]] = None):
        self._transport = transport
        self._target = target
        self._rules = rules
        self._patience = patience
        self._clock = clock
        self._say = say
        self._end_pattern = end_pattern
        self._said = ""
        self._ran = False
        self._waiting = Lasting(clock)
        self._stuck = Lasting(clock)
        self._unreachable = Lasting(clock)
        self._end_at = clock.now() + patience.run_time
        self.pods: Sequence[Mapping[str, Any]] = []
        self.logs = PodLogs(transport, target.namespace)

    def wait(self) -> Verdict:
        polls = Backoff(min(0.5, self._patience.poll), self._patience.poll)
        while True:
            try:
                verdict = self._look(polls)
                self._unreachable.update(False)
            except Unreachable as error:
                verdict = self._no_answer(str(error))
            if verdict is not None:
                return verdict
            left = self._end_at - self._clock.now()
            if left <= 0:
                return Verdict(Ending.FAILED if self._ran else Ending.LATER,
                               "this run's time was over while %s %s" % (self._target.name, self._said))
            self._clock.sleep(min(polls.next(), left))

    def output(self) -> bytes:
        """What the pods that did not fail printed, complete as far as the API still has it."""
        self.logs.finish(3)
        good = [p for p in self.pods if kube_endings.pod_trouble(p) is None]
        return self.logs.text({str(p["metadata"].get("uid")) for p in good})

    def _tell(self, what: str, polls: Backoff) -> None:
        if what != self._said:
            polls.reset()
            self._say("%s %s" % (self._target.name, what))
            self._said = what

    def _no_answer(self, error: str) -> Optional[Verdict]:
        if self._unreachable.update(True) < self._patience.unreachable:
            return None
        return Verdict(Ending.LATER, "the API server has not answered for %.0f s; %s may still run: %s" % (
            self._patience.unreachable, self._target.name, error))

    def _look(self, polls: Backoff) -> Optional[Verdict]:
        """The verdict, if there is one yet. Unreachable."""
        # The job first: pods seen afterwards are at least as far as it is.
        try:
            job = self._transport.request("GET", self._target.path)
            self.pods = items(self._transport.request("GET", self._target.pods_path))
        except ApiError as error:
            if error.not_found:
                return Verdict(Ending.LATER, "%s was deleted by somebody else" % self._target.name)
            return Verdict(Ending.FAILED, "the API server refuses to tell of %s: %s" % (self._target.name, error))
        for pod in self.pods:
            self.logs.update(pod)
        verdict = kube_endings.judge(job, self.pods, self._rules)
        if verdict is not None:
            return verdict
        if self._end_pattern is not None and self._end_pattern.search(
                self.logs.text({str(p["metadata"].get("uid")) for p in self.pods}).decode("utf-8", "replace")):
            return Verdict(Ending.OK, "%s printed its end" % self._target.name)
        return self._patience_left(job, polls)

    def _patience_left(self, job: Mapping[str, Any], polls: Backoff) -> Optional[Verdict]:
        if kube_endings.is_suspended(job) and self._ran:
            self.logs.forget()
            self._ran = False
        stuck = next(filter(None, map(kube_endings.start_trouble, self.pods)), None)
        if self._stuck.update(stuck is not None) >= self._patience.start and stuck:
            return Verdict(Ending.FAILED, stuck)
        waits = kube_endings.waits_for(job, self.pods)
        self._ran = self._ran or waits is None
        self._tell("waits: " + waits if waits else "runs", polls)
        if self._waiting.update(waits is not None) >= self._patience.pending and waits:
            return Verdict(Ending.LATER, "%s did not start within %.0f s: %s" % (
                self._target.name, self._patience.pending, waits))
        return None
