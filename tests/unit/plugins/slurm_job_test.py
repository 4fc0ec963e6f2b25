"""The plugin slurm_job without a cluster: odd answers of Slurm's programs, and what each end of a job means."""

import os
import pathlib
import stat
import sys
import tempfile
import unittest

from harness import Plugin, plugins_dir

sys.path.insert(0, os.path.join(plugins_dir(), "slurm_job"))
import slurm_client  # noqa: E402
import slurm_state  # noqa: E402
from job_watch import Ending, JobWatch, Patience, judge_end  # noqa: E402
from slurm_state import JobRecord, Stage  # noqa: E402

PATIENCE = Patience(pending=1000, hopeless=20, unreachable=300, gone=60, run_time=5000, first_poll=1, longest_poll=10)


class FakeClock:
    def __init__(self):
        self.time = 0.0

    def now(self):
        return self.time

    def sleep(self, seconds):
        assert seconds > 0
        self.time += seconds


class Script:
    """Answers of slurmctld by time: [(from, record or exception)]; `accounts` likewise."""

    def __init__(self, clock, answers, accounts=()):
        self.clock, self.answers, self.accounts = clock, answers, accounts

    def _at(self, listed):
        return [what for since, what in listed if since <= self.clock.now()][-1] if listed else None

    def show(self, _):
        answer = self._at(self.answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def account(self, _):
        return self._at(self.accounts)


def watch(answers, accounts=(), patience=PATIENCE):
    """(verdict, seconds it took, what was said)"""
    clock, said = FakeClock(), []
    verdict = JobWatch(Script(clock, answers, accounts), "12", patience, clock, said.append).wait()
    return verdict, clock.now(), said


RUNNING = JobRecord("RUNNING", nodes="n1")
PENDING = JobRecord("PENDING", reason="Priority")
COMPLETED = JobRecord("COMPLETED", nodes="n1", exit_status=0)
GONE = slurm_client.JobUnknown("Invalid job id specified")
DOWN = slurm_client.SlurmUnreachable("Unable to contact slurm controller")


class StateTest(unittest.TestCase):
    def test_states_with_more_than_a_word(self):
        self.assertEqual(slurm_state.split_state("CANCELLED by 1001"), ("CANCELLED", "by 1001"))
        self.assertEqual(slurm_state.split_state("CANCELLED+"), ("CANCELLED", ""))
        self.assertEqual(slurm_state.split_state(" running "), ("RUNNING", ""))

    def test_every_documented_state_has_a_stage(self):
        for stage, states in {
                Stage.WAITING: "PENDING CONFIGURING", Stage.RUNNING: "RUNNING RESIZING SIGNALING",
                Stage.PAUSED: "SUSPENDED STOPPED", Stage.LEAVING: "COMPLETING STAGE_OUT REQUEUED REQUEUE_FED",
                Stage.HELD: "REQUEUE_HOLD SPECIAL_EXIT RESV_DEL_HOLD",
                Stage.ENDED: "COMPLETED FAILED TIMEOUT CANCELLED NODE_FAIL BOOT_FAIL DEADLINE OUT_OF_MEMORY "
                             "PREEMPTED REVOKED"}.items():
            for state in states.split():
                self.assertEqual(JobRecord(state).stage, stage, state)
        self.assertEqual(JobRecord("SOMETHING_NEW").stage, Stage.UNKNOWN)

    def test_scontrol(self):
        line = ("JobId=12 JobName=fleetmark-a@h UserId=root(0) JobState=PENDING "
                "Reason=ReqNodeNotAvail,_UnavailableNodes:n1 Dependency=(null) Requeue=1 Restarts=2 ExitCode=0:0 "
                "SecsPreSuspend=0 NodeList=(null) Comment=run id with = and blanks Command=(null)")
        record, = slurm_state.parse_scontrol(line + "\n\n")
        self.assertEqual((record.state, record.restarts, record.nodes), ("PENDING", 2, ""))
        self.assertTrue(slurm_state.hopeless(record.reason))
        self.assertEqual(slurm_state.parse_scontrol("No jobs in the system\n"), [])

    def test_sacct(self):
        text = ("JobID|State|ExitCode|NodeList|Reason\n12|PREEMPTED|0:15|n1|None\n12.batch|CANCELLED|0:15|n1|\n"
                "12|RUNNING|0:0|n2|None\n123|FAILED|1:0|n3|None\n12_3|FAILED|1:0|n3|\n")
        record = slurm_state.parse_sacct(text, "12")
        self.assertEqual((record.state, record.nodes), ("RUNNING", "n2"), "the latest attempt")
        self.assertIsNone(slurm_state.parse_sacct("JobID|State|ExitCode|NodeList|Reason\n", "12"))
        self.assertEqual(slurm_state.parse_sacct("12|CANCELLED by 1001|0:0|None assigned|", "12"),
                         JobRecord("CANCELLED", detail="by 1001", exit_status=0))

    def test_job_ids(self):
        for text in ("123_[4-9]", "123_4", "123+1", "123.batch", "123"):
            self.assertEqual(slurm_state.base_job_id(text), "123", text)
        self.assertEqual(slurm_state.base_job_id("JOBID"), "")
        self.assertEqual(slurm_state.parse_job_id("site says hello\n77;big\n"), ("77", "big"))
        self.assertEqual(slurm_state.parse_job_id("77\n"), ("77", ""))
        self.assertIsNone(slurm_state.parse_job_id("Submitted nothing\n"))

    def test_reasons(self):
        for reason in ("ReqNodeNotAvail, UnavailableNodes:n[1-2]", "ReqNodeNotAvail,_UnavailableNodes:n1",
                       "Nodes_required_for_job_are_DOWN,_DRAINED_or_reserved", "DependencyNeverSatisfied",
                       "JobHeldUser", "(JobHeldAdmin)", "launch_failed_requeued_held", "BadConstraints"):
            self.assertTrue(slurm_state.hopeless(reason), reason)
        for reason in ("Priority", "Resources", "None", "BeginTime", "QOSMaxJobsPerUserLimit", "",
                       "ReqNodeNotAvail, May be reserved for other job", "ReqNodeNotAvail,_UnavailableNodes:"):
            self.assertFalse(slurm_state.hopeless(reason), reason)

    def test_jobs_of_several_components(self):
        combined = slurm_state.combine([COMPLETED, JobRecord("FAILED", exit_status=1)])
        self.assertEqual(combined.state, "FAILED")
        self.assertEqual(slurm_state.combine([COMPLETED, RUNNING]), RUNNING)


class EndTest(unittest.TestCase):
    def test_every_end(self):
        for record, ending in (
                (COMPLETED, Ending.OK), (JobRecord("COMPLETED", exit_status=1), Ending.FAILED),
                (JobRecord("COMPLETED", exit_status=0, was_suspended=True), Ending.LATER),
                (JobRecord("FAILED", exit_status=3), Ending.FAILED), (JobRecord("TIMEOUT"), Ending.FAILED),
                (JobRecord("OUT_OF_MEMORY"), Ending.FAILED), (JobRecord("CANCELLED"), Ending.LATER),
                (JobRecord("NODE_FAIL"), Ending.LATER), (JobRecord("BOOT_FAIL"), Ending.LATER),
                (JobRecord("DEADLINE"), Ending.LATER), (JobRecord("PREEMPTED"), Ending.LATER),
                (JobRecord("REVOKED"), Ending.LATER), (JobRecord("LAUNCH_FAILED"), Ending.LATER)):
            self.assertIs(judge_end("12", record).ending, ending, record)


class WatchTest(unittest.TestCase):
    def test_a_plain_job(self):
        verdict, _, said = watch([(0, PENDING), (30, RUNNING), (90, JobRecord("COMPLETING")), (95, COMPLETED)])
        self.assertIs(verdict.ending, Ending.OK)
        self.assertEqual(said, ["job 12 waits: Priority", "job 12 runs on n1", "job 12 is COMPLETING"])

    def test_an_outage_is_no_end(self):
        verdict, seconds, _ = watch([(0, RUNNING), (10, DOWN), (250, RUNNING), (300, COMPLETED)])
        self.assertIs(verdict.ending, Ending.OK)
        self.assertGreaterEqual(seconds, 300)

    def test_an_outage_is_not_waited_for_for_ever(self):
        verdict, seconds, _ = watch([(0, RUNNING), (10, DOWN)])
        self.assertEqual((verdict.ending, verdict.cancel), (Ending.LATER, True))
        self.assertLess(seconds, 10 + 300 + 30)

    def test_accounting_that_never_ends_a_job_that_is_gone(self):
        verdict, seconds, _ = watch([(0, RUNNING), (10, GONE)], [(0, JobRecord("REQUEUED"))])
        self.assertIs(verdict.ending, Ending.LATER)
        self.assertRegex(verdict.reason, "gone .*REQUEUED")
        self.assertLess(seconds, 10 + 60 + 30)

    def test_a_job_that_only_accounting_remembers(self):
        verdict, _, _ = watch([(0, RUNNING), (10, GONE)], [(0, JobRecord("RUNNING")), (30, COMPLETED)])
        self.assertIs(verdict.ending, Ending.OK)

    def test_preempted_and_requeued_is_still_to_come(self):
        verdict, _, said = watch([(0, RUNNING), (10, JobRecord("REQUEUED")), (12, JobRecord(
            "PENDING", reason="BeginTime", restarts=1)), (130, RUNNING), (200, COMPLETED)])
        self.assertIs(verdict.ending, Ending.OK)
        self.assertIn("job 12 waits again, after 1 restarts: BeginTime", said)

    def test_a_drained_node(self):
        drained = JobRecord("PENDING", reason="ReqNodeNotAvail, UnavailableNodes:n1")
        verdict, seconds, _ = watch([(0, drained)])
        self.assertEqual((verdict.ending, verdict.cancel), (Ending.LATER, True))
        self.assertLess(seconds, 40)
        verdict, _, _ = watch([(0, drained), (15, RUNNING), (40, COMPLETED)])
        self.assertIs(verdict.ending, Ending.OK, "a moment of it is no reason to give up")

    def test_held_and_suspended_jobs_are_taken_back(self):
        for record in (JobRecord("REQUEUE_HOLD"), JobRecord("SPECIAL_EXIT"), JobRecord("SUSPENDED")):
            verdict, _, _ = watch([(0, RUNNING), (10, record)])
            self.assertEqual((verdict.ending, verdict.cancel), (Ending.LATER, True), record)

    def test_too_long_in_the_queue(self):
        verdict, seconds, _ = watch([(0, PENDING)])
        self.assertEqual((verdict.ending, verdict.cancel), (Ending.LATER, True))
        self.assertLess(seconds, 1030)

    def test_the_runs_own_time_is_over(self):
        short = Patience(1000, 20, 300, 60, 50, 1, 10)
        self.assertEqual(watch([(0, RUNNING)], patience=short)[0].ending, Ending.FAILED)
        verdict, seconds, _ = watch([(0, PENDING)], patience=short)
        self.assertEqual((verdict.ending, verdict.cancel, seconds), (Ending.LATER, True, 50))

    def test_a_state_nobody_knows_is_no_end(self):
        verdict, _, _ = watch([(0, JobRecord("HIBERNATING")), (50, COMPLETED)])
        self.assertIs(verdict.ending, Ending.OK)


class RefusalTest(unittest.TestCase):
    """What sbatch says, through a program that says it."""

    def run_with(self, programs, **params):
        with tempfile.TemporaryDirectory() as folder:
            for name, body in {"squeue": "exit 0", "scancel": f"echo $* >> {folder}/cancelled", **programs}.items():
                path = os.path.join(folder, name)
                with open(path, "w", encoding="utf-8") as file:
                    file.write("#!/bin/sh\n" + body.replace("@", folder) + "\n")
                os.chmod(path, stat.S_IRWXU)
            given = {"script": "echo", "poll": 0.2, "slurm_patience": 0.5, "gone_patience": 0.5,
                     "metrics": [{"name": "rate", "unit": "1/s", "better": "higher", "pattern": r"rate (\S+)"}],
                     **params}
            result = Plugin("slurm_job").run(given, {"PATH": folder + ":" + os.environ["PATH"]})
            cancelled = os.path.join(folder, "cancelled")
            self.cancelled = pathlib.Path(cancelled).read_text("utf-8") if os.path.exists(cancelled) else ""
            return result

    def test_limits_mean_later(self):
        for text in ("Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)",
                     "QOSMaxSubmitJobPerUserLimit", "AssocMaxSubmitJobLimit", "AssocGrpSubmitJobsLimit"):
            result = self.run_with({"sbatch": f"echo \"sbatch: error: {text}\" >&2; exit 1"})
            self.assertEqual(result.status, 75, (text, result))
            self.assertIn("no slot", result.log)

    def test_outages_mean_later(self):
        for text in ("Unable to contact slurm controller (connect failure)", "Socket timed out on send/recv operation",
                     "Slurm backup controller in standby mode", "Zero Bytes were transmitted or received",
                     "Munge encode failed: Failed to access /run/munge/munge.socket.2"):
            result = self.run_with({"sbatch": f"echo 'sbatch: error: {text}' >&2; exit 1"})
            self.assertEqual(result.status, 75, (text, result))

    def test_refusals_of_the_parameters(self):
        for text in ("invalid partition specified: x", "Requested node configuration is not available",
                     "Invalid account or account/partition combination specified", "Invalid qos specification",
                     "Requested time limit is invalid (missing or exceeds some limit)"):
            result = self.run_with({"sbatch": f"echo 'sbatch: error: Batch job submission failed: {text}' >&2; exit 1"})
            self.assertEqual(result.status, 78, (text, result))

    def test_an_unknown_refusal_is_a_failure(self):
        self.assertEqual(self.run_with({"sbatch": "echo 'sbatch: error: plugin says no' >&2; exit 1"}).status, 1)

    def test_an_answer_that_was_lost_is_looked_for(self):
        result = self.run_with({
            "sbatch": "for a; do case $a in --job-name=*) n=${a#*=};; --comment=*) c=${a#*=};; --output=*) "
                      "echo rate 3 > ${a#*=};; esac; done; echo \"31|$n|$c\" > @/queue; "
                      "echo 'sbatch: error: Socket timed out on send/recv operation' >&2; exit 1",
            "squeue": "cat @/queue 2>/dev/null; exit 0",
            "scontrol": "echo JobId=31 JobState=COMPLETED ExitCode=0:0 NodeList=n1"})
        self.assertTrue(result.done, result)
        self.assertEqual(result.values("rate"), [3])

    def test_a_job_that_vanishes_without_accounting(self):
        result = self.run_with({"sbatch": "echo 31", "sacct": "echo 'sacct: error: Connection refused' >&2; exit 1",
                                "scontrol": "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1"})
        self.assertEqual(result.status, 75, result)
        self.assertIn("gone from the queue", result.log)

    def test_the_last_try_of_sbatch_decides(self):
        busy = "echo 'sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying' >&2; "
        result = self.run_with({"sbatch": busy + "echo 'sbatch: error: Batch job submission failed: Invalid partition "
                                                 "name specified' >&2; exit 1"})
        self.assertEqual(result.status, 78, result)
        result = self.run_with({"sbatch": busy + "echo 'sbatch: error: Batch job submission failed: Slurm temporarily "
                                                 "unable to accept job' >&2; exit 1"})
        self.assertEqual(result.status, 75, result)

    def test_slurm_that_stays_away_is_told_to_cancel(self):
        result = self.run_with({"sbatch": "echo 31", "scontrol": "echo 'Connection refused' >&2; exit 1"})
        self.assertEqual(result.status, 75, result)
        self.assertIn("31", self.cancelled)

    def test_reads_by_a_reader_of_fleetmark(self):
        program = ('#!/bin/sh\n[ "$*" = "parse --reader stream $4 -o json" ] || exit 9\n'
                   'echo \'{"outcome":"OK","metrics":[{"name":"triad","value":9.5,"unit":"GB/s","better":"higher",'
                   '"labels":{"a":"b"}}],"problems":[]}\'')
        submit = "for a; do case $a in --output=*) echo x > ${a#*=};; esac; done; echo 31"
        done = {"sbatch": submit, "scontrol": "echo JobId=31 JobState=COMPLETED ExitCode=0:0 NodeList=n1",
                "fleetmark": program}
        result = self.run_with(done, metrics=[], reader="stream")
        self.assertTrue(result.done, result)
        self.assertEqual(result.of("metric")[0]["labels"], {"a": "b", "host": "n1"})
        result = self.run_with({**done, "fleetmark": "echo '{\"outcome\":\"INVALID\",\"metrics\":[],"
                                                     "\"problems\":[{\"line\":7,\"text\":\"no triad\"}]}'"}, metrics=[], reader="stream")
        self.assertIn("line 7: no triad", result.of("invalid")[0]["message"])


if __name__ == "__main__":
    unittest.main()
