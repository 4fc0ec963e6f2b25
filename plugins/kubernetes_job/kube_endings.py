"""What the objects of a job say about where it is and how it ended. Pure functions of what the API gave.

A condition counts by its type and by status "True", never by its place in the list; "SuccessCriteriaMet" and
"FailureTarget" announce an end and are none. A pod is judged by phase, reason, condition DisruptionTarget,
its containers' reasons and exit codes together: each of them alone has been seen to lie (a pod that
"Succeeded" though its container was killed for want of memory, evicted pods without container states).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping, Optional, Sequence

from fleetmark_waiting import Ending


@dataclass(frozen=True)
class Verdict:
    ending: Ending
    reason: str
    node: str = ""  # of the pod that is to blame


@dataclass(frozen=True)
class EndRules:
    """What ends a kind well and badly: "condition:TYPE", "phase:WORD" (of status.phase), or "pods:Succeeded"
    (all of them) and "pods:Failed" (one of them, when all have ended)."""

    success: Sequence[str]
    failure: Sequence[str]


_KUBEFLOW = EndRules(("condition:Succeeded",), ("condition:Failed",))
KNOWN_KINDS: Mapping[str, EndRules] = {
    "Job": EndRules(("condition:Complete",), ("condition:Failed",)),
    "TrainJob": EndRules(("condition:Complete",), ("condition:Failed",)),
    # Its status is not part of what Graphcore publishes, so its pods decide.
    "IPUJob": EndRules(("pods:Succeeded",), ("pods:Failed",)),
    "JobSet": EndRules(("condition:Completed",), ("condition:Failed",)),
    **dict.fromkeys(("TFJob", "PyTorchJob", "MPIJob", "XGBoostJob", "PaddleJob", "JAXJob"), _KUBEFLOW),
}
_LOST_REASONS = ("Evicted", "Preempted", "Preempting", "NodeLost", "NodeShutdown", "NodeAffinity", "Shutdown",
                 "Terminated", "UnexpectedAdmissionError", "Terminating", "DeletionByPodGC", "TerminationByKubelet",
                 "PreemptionByScheduler", "DeletionByTaintManager", "EvictionByEvictionAPI", "OutOfcpu",
                 "OutOfmemory", "OutOfpods")
_LOST_CONTAINERS = ("ContainerStatusUnknown", "NodeLost")
_CANT_START = ("ImagePullBackOff", "ErrImagePull", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable",
               "CreateContainerConfigError", "CreateContainerError", "RunContainerError", "CrashLoopBackOff")


def _list(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def true_condition(status: Mapping[str, Any], kind: str) -> Optional[Mapping[str, Any]]:
    for condition in _list(status.get("conditions")):
        if condition.get("type") == kind and condition.get("status") in ("True", True):
            return condition
    return None


def _met(status: Mapping[str, Any], pods: Sequence[Mapping[str, Any]], rule: str) -> Optional[str]:
    """Words about the rule, when it holds."""
    what, _, name = rule.partition(":")
    if what == "pods":
        phases = {pod_phase(pod) for pod in pods}
        ended = bool(phases) and phases <= {"Succeeded", "Failed"}
        return "its pods" if ended and (name in phases if name == "Failed" else phases == {name}) else None
    if what == "phase":
        return str(status.get("message") or name) if status.get("phase") == name else None
    condition = true_condition(status, name)
    if condition is None:
        return None
    return ": ".join(str(condition[key]) for key in ("reason", "message") if condition.get(key)) or name


def job_end(job: Mapping[str, Any], pods: Sequence[Mapping[str, Any]], rules: EndRules) -> Optional[Verdict]:
    """What the rules say, once the job has ended. A failure counts before a success."""
    status, name = _map(job.get("status")), _map(job.get("metadata")).get("name")
    for rule in rules.failure:
        words = _met(status, pods, rule)
        if words is not None:
            return Verdict(Ending.FAILED, "%s failed: %s" % (name, words))
    for rule in rules.success:
        if _met(status, pods, rule) is not None:
            return Verdict(Ending.OK, "%s succeeded" % name)
    return None


def is_suspended(job: Mapping[str, Any]) -> bool:
    """Held by Kueue or by somebody: its pods are gone, and it may go on later."""
    spec = _map(job.get("spec"))
    return spec.get("suspend") is True or _map(spec.get("runPolicy")).get("suspend") is True


def _containers(pod: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    status = _map(pod.get("status"))
    return _list(status.get("initContainerStatuses")) + _list(status.get("containerStatuses"))


def pod_name(pod: Mapping[str, Any]) -> str:
    return str(_map(pod.get("metadata")).get("name", ""))


def pod_node(pod: Mapping[str, Any]) -> str:
    return str(_map(pod.get("spec")).get("nodeName") or "")


def pod_phase(pod: Mapping[str, Any]) -> str:
    return str(_map(pod.get("status")).get("phase") or "")


def pod_trouble(pod: Mapping[str, Any]) -> Optional[Verdict]:
    """Why figures of this pod may not be used, if so: lost to the cluster (LATER), or its own end (FAILED)."""
    status, node = _map(pod.get("status")), pod_node(pod)
    where = "pod %s%s" % (pod_name(pod), " on %s" % node if node else "")
    disruption = true_condition(status, "DisruptionTarget")
    reason = str(status.get("reason") or "")
    if disruption is not None or reason in _LOST_REASONS:
        words = [reason or str(_map(disruption).get("reason", "")),
                 str(status.get("message") or _map(disruption).get("message") or "")]
        return Verdict(Ending.LATER, "%s was lost: %s" % (where, ": ".join(w for w in words if w)), node)
    for container in _containers(pod):
        for when in ("state", "lastState"):
            ended = _map(_map(container.get(when)).get("terminated"))
            why = ended.get("reason")
            what = "%s, container %s" % (where, container.get("name"))
            if why == "OOMKilled":
                return Verdict(Ending.FAILED, "%s ran out of memory" % what, node)
            if why in _LOST_CONTAINERS:
                return Verdict(Ending.LATER, "%s was lost: %s" % (what, why), node)
            if when == "state" and ended.get("exitCode") not in (None, 0):
                return Verdict(Ending.FAILED, "%s ended with status %s%s" % (
                    what, ended["exitCode"], " (%s)" % why if why and why != "Error" else ""), node)
    if status.get("phase") == "Failed":
        return Verdict(Ending.FAILED if _containers(pod) else Ending.LATER,
                       "%s failed%s" % (where, ": " + reason if reason else " and says not why"), node)
    return None


def start_trouble(pod: Mapping[str, Any]) -> Optional[str]:
    """Why a pod that has not ended does not get on, if it is for a fault that waiting seldom mends."""
    for container in _containers(pod):
        waiting = _map(_map(container.get("state")).get("waiting"))
        if waiting.get("reason") in _CANT_START:
            return "pod %s, container %s can't start: %s" % (pod_name(pod), container.get("name"), ": ".join(
                str(waiting[key]) for key in ("reason", "message") if waiting.get(key)))
    return None


def waits_for(job: Mapping[str, Any], pods: Sequence[Mapping[str, Any]]) -> Optional[str]:
    """What the job waits for before all of its pods run; None when it runs."""
    if is_suspended(job):
        return "it is suspended (queued)"
    for pod in pods:
        if pod_phase(pod) in ("Pending", ""):
            for condition in _list(_map(pod.get("status")).get("conditions")):
                if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
                    return "pod %s: %s" % (pod_name(pod), condition.get("message") or condition.get("reason"))
            return "pod %s is pending" % pod_name(pod)
    return None if pods else "it has no pods yet"


def judge(job: Mapping[str, Any], pods: Sequence[Mapping[str, Any]], rules: EndRules) -> Optional[Verdict]:
    """The verdict of the job with its pods, once the job has ended.

    A failed job is as its pods tell: lost pods alone make it no failure of the benchmark. Of a job that
    succeeded only pods that did not fail are read, so those that were replaced do no harm; but one that
    "succeeded" although a container was killed for want of memory does.
    """
    end = job_end(job, pods, rules)
    if end is None:
        return None
    troubles = [t for t in map(pod_trouble, pods) if t is not None]
    if end.ending is Ending.FAILED:
        if "DeadlineExceeded" in end.reason:
            return end
        own = [t for t in troubles if t.ending is Ending.FAILED]
        lost = [t for t in troubles if t.ending is Ending.LATER]
        if lost and not own:
            return lost[0]
        return Verdict(end.ending, "%s; %s" % (end.reason, own[0].reason), own[0].node) if own else end
    succeeded = [pod for pod in pods if pod_phase(pod) == "Succeeded"]
    for trouble in map(pod_trouble, succeeded):
        if trouble is not None:
            return trouble
    return end
