"""What Slurm's programs say of a job, as plain data: records, states and pending reasons.

Sources of the meanings: the manual pages of squeue (JOB STATE CODES, JOB REASON CODES), sacct and scontrol.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Iterable, Mapping, Optional


class Stage(Enum):
    """Where in its life a job is."""

    WAITING = "waiting"
    RUNNING = "running"
    PAUSED = "paused"  # holds its nodes, but does not run
    LEAVING = "leaving"  # over or between two attempts; what comes next is not known yet
    HELD = "held"  # in the queue, and a person must release it
    ENDED = "ended"
    UNKNOWN = "unknown"  # a state that this program has never heard of


_STAGES: Mapping[str, Stage] = {
    **dict.fromkeys(("PENDING", "CONFIGURING", "POWER_UP_NODE"), Stage.WAITING),
    **dict.fromkeys(("RUNNING", "RESIZING", "SIGNALING"), Stage.RUNNING),
    **dict.fromkeys(("SUSPENDED", "STOPPED"), Stage.PAUSED),
    **dict.fromkeys(("COMPLETING", "STAGE_OUT", "REQUEUED", "REQUEUE_FED", "UPDATE_DB", "RECONFIG_FAIL"),
                    Stage.LEAVING),
    **dict.fromkeys(("REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD"), Stage.HELD),
    **dict.fromkeys(("COMPLETED", "FAILED", "TIMEOUT", "CANCELLED", "NODE_FAIL", "BOOT_FAIL", "DEADLINE",
                     "OUT_OF_MEMORY", "PREEMPTED", "REVOKED", "LAUNCH_FAILED"), Stage.ENDED),
}
# Endings that say something of the cluster and nothing of what was measured.
_INFRASTRUCTURE: Mapping[str, str] = {
    "NODE_FAIL": "a node of the job failed",
    "BOOT_FAIL": "a node of the job could not be booted",
    "LAUNCH_FAILED": "the job could not be launched",
    "PREEMPTED": "the job was preempted",
    "REVOKED": "a sibling cluster took the job",
    "DEADLINE": "the job's deadline came before it could end",
}
_NODE_FAULTS = ("NODE_FAIL", "BOOT_FAIL", "LAUNCH_FAILED")
# Reasons with which a pending job can't be expected to start by itself.
_HOPELESS = ("dependencyneversatisfied", "badconstraints", "jobheld", "launch failed requeued held",
             "job requeued in held state", "partitiondown", "partitioninactive", "partitionnodelimit",
             "partitiontimelimit", "nodedown", "reservationdeleted", "invalidaccount", "invalidqos", "accountnotallowed",
             "qosnotallowed", "nodes required for job are down", "associationlimit", "jobarraytasklimit")


@dataclass(frozen=True)
class JobRecord:
    """One job as a program reports it. `state` is upper case, without what follows in "CANCELLED by 1001"."""

    state: str
    reason: str = ""
    nodes: str = ""  # as Slurm writes lists, "n[1-3]"; empty when there are none
    exit_status: Optional[int] = None
    exit_signal: int = 0
    restarts: int = 0
    was_suspended: bool = False
    is_array: bool = False
    detail: str = ""  # "by 1001"

    @property
    def stage(self) -> Stage:
        return _STAGES.get(self.state, Stage.UNKNOWN)

    @property
    def infrastructure(self) -> Optional[str]:
        """Why the end says nothing of the benchmark, if it does not."""
        return _INFRASTRUCTURE.get(self.state)

    @property
    def node_fault(self) -> bool:
        return self.state in _NODE_FAULTS

    @property
    def only_node(self) -> Optional[str]:
        return self.nodes if self.nodes and not re.search(r"[\[,]", self.nodes) else None


def split_state(text: str) -> tuple[str, str]:
    """("CANCELLED", "by 1001") of "CANCELLED by 1001"; "" of an empty text. A mark of sacct's cut columns goes."""
    state, _, detail = text.strip().partition(" ")
    return state.rstrip("+").upper(), detail.strip()


def clean_nodes(text: str) -> str:
    text = text.strip()
    return "" if text.lower() in ("", "(null)", "none assigned", "none", "n/a") else text


def _exit_code(text: str) -> tuple[Optional[int], int]:
    match = re.fullmatch(r"(\d+):(\d+)", text.strip())
    return (int(match[1]), int(match[2])) if match else (None, 0)


def parse_scontrol(text: str) -> list[JobRecord]:
    """The records of `scontrol show job --oneliner`; an array or a heterogeneous job has several."""
    records = []
    for line in text.splitlines():
        # Values may hold blanks and "=": a field begins with a known kind of name after a blank.
        fields = dict(re.findall(r"(?:^|\s)([A-Z][A-Za-z/:]*)=(.*?)(?=\s[A-Z][A-Za-z/:]*=|$)", line.strip()))
        if "JobId" not in fields or "JobState" not in fields:
            continue
        state, detail = split_state(fields["JobState"])
        status, number = _exit_code(fields.get("ExitCode", ""))
        suspended = fields.get("SecsPreSuspend", "0")
        records.append(JobRecord(
            state=state, detail=detail, reason=fields.get("Reason", "").replace("_", " "),
            nodes=clean_nodes(fields.get("NodeList", "")), exit_status=status, exit_signal=number,
            restarts=int(fields["Restarts"]) if fields.get("Restarts", "").isdigit() else 0,
            was_suspended=suspended.isdigit() and suspended != "0",
            is_array="ArrayJobId" in fields))
    return records


SACCT_FIELDS = "JobID,State,ExitCode,NodeList,Reason"


def parse_sacct(text: str, job_id: str) -> Optional[JobRecord]:
    """The latest attempt's record of `sacct --parsable2 --noheader --duplicates --format=SACCT_FIELDS`.

    None when there is no line of this job: a header, steps ("12.batch") and other jobs do not count. Attempts
    are listed oldest first.
    """
    record = None
    for line in text.splitlines():
        fields = line.split("|")
        if len(fields) < 5 or fields[0].strip() != job_id:
            continue
        state, detail = split_state(fields[1])
        if not state:
            continue
        status, number = _exit_code(fields[2])
        record = JobRecord(state=state, detail=detail, reason=fields[4].strip(), nodes=clean_nodes(fields[3]),
                           exit_status=status, exit_signal=number)
    return record


def combine(records: Iterable[JobRecord]) -> Optional[JobRecord]:
    """The record that decides about a job of several components: one that still goes on, then one that failed."""
    order = (Stage.UNKNOWN, Stage.HELD, Stage.PAUSED, Stage.WAITING, Stage.RUNNING, Stage.LEAVING, Stage.ENDED)
    return min(records, key=lambda r: (order.index(r.stage), r.state == "COMPLETED"), default=None)


def hopeless(reason: str) -> bool:
    """Will a pending job with this reason start only if somebody does something?"""
    text = reason.lower().replace("_", " ").strip("() ")
    if text.startswith("reqnodenotavail"):
        return "unavailablenodes" in text and not text.rstrip().endswith("unavailablenodes:")
    return any(text.startswith(each) for each in _HOPELESS)


def parse_job_id(text: str) -> Optional[tuple[str, str]]:
    """(id, cluster or "") of what `sbatch --parsable` prints, whatever a wrapper prints around it."""
    for line in reversed(text.splitlines()):
        match = re.fullmatch(r"(\d+)(?:;(\S+))?", line.strip())
        if match:
            return match[1], match[2] or ""
    return None


def base_job_id(text: str) -> str:
    """12 of 12_[4-9], 12_3, 12+1 and 12.batch."""
    match = re.match(r"\d+", text.strip())
    return match[0] if match else ""
