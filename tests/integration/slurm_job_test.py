"""The plugin slurm_job against a real cluster on this machine: each way that a job can end."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import slurm_cluster

sys.path.insert(0, str(pathlib.Path(os.environ["FM_SOURCE_DIR"]) / "tests/unit/plugins"))
from harness import Plugin, Result  # noqa: E402

RATE = {"name": "rate", "unit": "1/s", "better": "higher", "pattern": r"rate (\S+)"}
MAX_JOBS = 14
SETTINGS = {
    "PreemptType": "preempt/partition_prio", "PreemptMode": "REQUEUE", "MaxJobCount": MAX_JOBS, "MessageTimeout": 5,
    # A job that is requeued starts again only when its credential has run out, else two minutes later.
    "AuthInfo": "socket=@DIR@/munge/munge.socket.2,cred_expire=5",
}


class Run(threading.Thread):
    """One run of the plugin, beside others."""

    def __init__(self, test, script, **params):
        super().__init__(daemon=True)
        self.work = tempfile.mkdtemp(dir=test.folder)
        self.benchmark = params.pop("benchmark", None) or test.id().rpartition(".")[2]
        env = params.pop("env", None)
        defaults = {"script": script, "metrics": [RATE], "slurm_conf": str(test.cluster.conf), "poll": 0.3,
                    "reason_patience": 2, "gone_patience": 2, "max_outstanding": 100}
        self.began = time.monotonic()
        self.process = Plugin("slurm_job").start(self.work, {**defaults, **params}, env, self.benchmark)
        self.result = None
        self.seen = []
        self.start()
        (test.addClassCleanup if isinstance(test, type) else test.addCleanup)(self.finish)

    def run(self):
        for line in self.process.stdout:
            self.seen.append(line.decode())
        log = self.process.communicate()[1]  # a log is smaller than a pipe
        self.result = Result(self.process.returncode, "".join(self.seen), log.decode("utf-8", "replace"),
                             time.monotonic() - self.began)

    def finish(self, seconds=100):
        self.join(0.01 if self.process is None else seconds)
        if self.result is None:
            self.process.kill()
            self.join()
        return self.result

    @property
    def reason(self):
        return self.finish().log.splitlines()[-1]


@unittest.skipUnless(os.geteuid() == 0, "slurmd needs root")
class SlurmJobTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = slurm_cluster.start_for(
            cls, ["n1", "n2", "n3", "n4"], SETTINGS, ["urgent Nodes=n3 PriorityTier=10 MaxTime=INFINITE State=UP"])
        cls.folder = cls.cluster.folder
        # Slurm's time limits are whole minutes; the end of a reservation ends a job just so, if not at once
        # either: this run has the time of the other tests for it.
        cls.cluster.run("scontrol", "create", "reservation", "reservationname=short", "starttime=now",
                        "endtime=now+10seconds", "nodes=n4", "users=root", "flags=ignore_jobs")
        cls.limited = Run(cls, "sleep 600", benchmark="limited", options={"reservation": "short"})

    def setUp(self):
        began = time.monotonic()
        self.addCleanup(lambda: print(f"({time.monotonic() - began:.1f} s)", end=" ", flush=True))

    def jobs(self, run):
        """[(id, state)] of the queue that belong to a run."""
        name = f"fleetmark-{run.benchmark}@"
        lines = self.cluster.run("squeue", "--noheader", "--format=%A|%T|%j").splitlines()
        return [tuple(line.split("|")[:2]) for line in lines if line.split("|")[2].startswith(name)]

    def await_state(self, run, state):
        """The job's id, once it is in that state."""
        self.cluster.wait(f"{run.benchmark} {state}", lambda: any(s == state for _, s in self.jobs(run)), 30,
                          lambda: (self.jobs(run), run.result))
        return next(i for i, s in self.jobs(run) if s == state)

    def assert_ends(self, run, status, reason):
        result = run.finish()
        self.assertEqual(result.status, status, result)
        self.assertRegex(run.reason, reason)
        self.assertFalse(result.of("metric") + result.of("sample"), "no value of a run that tells nothing")
        self.assertEqual([s for _, s in self.jobs(run) if s not in ("COMPLETING",)], [], "no job is left")

    def test_success_and_failure(self):
        good = Run(self, "#SBATCH --nodelist=n1\necho rate {{rate}}; printf 'caf\\351\\n'", parameters={"rate": 42})
        bad = Run(self, "echo rate 7; exit 3", benchmark="failing", options={"nodelist": "n2"})
        killed = Run(self, "echo rate 7; kill -SEGV $$", benchmark="killed", options={"nodelist": "n2"})
        missing = Run(self, "echo speed 7", benchmark="missing", options={"nodelist": "n1"})
        result = good.finish()
        self.assertTrue(result.done, result)
        self.assertEqual(result.of("metric"), [{"type": "metric", "name": "rate", "value": 42.0, "unit": "1/s",
                                                "better": "higher", "labels": {"host": "n1"}}])
        self.assertEqual(list(pathlib.Path(good.work).glob("fleetmark-*")), [], "the output is removed")
        self.assert_ends(bad, 1, "ended with status 3")
        self.assertIn("rate 7", bad.result.log, "the job's output is in the log")
        self.assert_ends(killed, 1, "signal 11|status 139")
        self.assertTrue(missing.finish().done)
        self.assertIn("nothing matches", missing.result.of("invalid")[0]["message"])

    def test_x_time_limit(self):
        self.assert_ends(self.limited, 1, "reached its time limit")

    def test_cancelled_by_somebody(self):
        run = Run(self, "sleep 600", options={"nodelist": "n1"})
        self.cluster.run("scancel", self.await_state(run, "RUNNING"))
        self.assert_ends(run, 75, "was cancelled")

    def test_a_stop_cancels_the_job(self):
        run = Run(self, "sleep 600", options={"nodelist": "n1"})
        self.await_state(run, "RUNNING")
        run.process.send_signal(signal.SIGTERM)
        self.assertEqual(run.finish(2).status, 143, run.result)
        self.cluster.wait("the job is gone", lambda: not self.jobs(run), 20)

    def test_what_a_killed_run_left_is_cancelled_by_the_next(self):
        run = Run(self, "sleep 600", options={"nodelist": "n1"})
        job = self.await_state(run, "RUNNING")
        run.process.kill()
        run.finish()
        self.assert_ends(Run(self, "echo rate 1"), 75, "jobs of an earlier run had to be cancelled")
        self.cluster.wait("the job is gone", lambda: job not in dict(self.jobs(run)), 20)
        self.assertTrue(Run(self, "echo rate 1", options={"nodelist": "n1"}).finish().done)

    def test_a_drained_node_is_not_waited_for(self):
        blocker = self.cluster.submit("n2", "sleep 600")
        self.cluster.wait_state("n2", "MIXED")
        run = Run(self, "echo rate 1", options={"nodelist": "n2", "exclusive": True})
        self.await_state(run, "PENDING")
        self.cluster.drain("n2")
        self.addCleanup(self.cluster.resume, "n2")
        self.cluster.run("scancel", blocker)
        self.assert_ends(run, 75, "can't start: (ReqNodeNotAvail|Nodes required)")

    def test_a_full_queue_is_waited_for_no_longer_than_allowed(self):
        self.cluster.wait_state("n1", "IDLE")
        blocker = self.cluster.submit("n1", "sleep 600")
        run = Run(self, "echo rate 1", options={"nodelist": "n1", "exclusive": True}, max_pending=2)
        self.assert_ends(run, 75, "did not start within 2 s: (Resources|Priority)")
        self.cluster.run("scancel", blocker)

    def test_preempted_without_and_with_requeue(self):
        for requeue in (False, True):
            run = Run(self, "echo rate 1$SLURM_RESTART_COUNT; [ -n \"$SLURM_RESTART_COUNT\" ] || sleep 600",
                      benchmark=f"preempted_{requeue}", options={"nodelist": "n3", "exclusive": True},
                      requeue=requeue)
            self.await_state(run, "RUNNING")
            urgent = self.cluster.run("sbatch", "--parsable", "-p", "urgent", "-n1", "-o", "/dev/null",
                                      "--wrap=sleep 1")
            if requeue:
                result = run.finish()
                self.assertTrue(result.done, result)
                self.assertEqual(result.values("rate"), [11], "the last attempt, and only that")
            else:
                self.assert_ends(run, 75, "preempted")
            self.cluster.wait("urgent is over", lambda: urgent not in self.cluster.run("squeue", "-h", "-o", "%A"))

    def test_own_limit_of_outstanding_jobs(self):
        first = Run(self, "sleep 600", benchmark="outstanding", options={"nodelist": "n1"})
        self.await_state(first, "RUNNING")
        self.assert_ends(Run(self, "echo rate 1", max_outstanding=1), 75, r"no slot: \d+ benchmark jobs")
        first.process.send_signal(signal.SIGTERM)

    def test_wrong_parameters(self):
        self.assert_ends(Run(self, "echo rate 1", options={"partition": "nope"}), 78, "partition")
        self.assert_ends(Run(self, "echo {{speed}}"), 78, "script:1: no parameter 'speed'")
        self.assert_ends(Run(self, "#SBATCH --array=1-3\necho"), 78, "one job")

    def is_full(self):
        """Adds a held job; whether the controller has no room for it. sbatch says so and waits for minutes."""
        try:
            self.cluster.run("sbatch", "--job-name=held", "--hold", "-o", "/dev/null", "--wrap=true", timeout=3)
        except subprocess.TimeoutExpired as late:
            return b"unable to accept job" in (late.stderr or b"")
        return False

    def test_y_submit_limit_of_the_cluster(self):
        self.addCleanup(self.cluster.run, "scancel", "--name=held")
        self.cluster.wait("held jobs fill the controller", self.is_full, 120)
        self.assert_ends(Run(self, "echo rate 1", submit_timeout=2), 75, "no slot: .*unable to accept job")

    def test_z_controller_killed(self):
        go = self.folder / "go"
        run = Run(self, f"while [ ! -e {go} ]; do sleep 0.1; done; echo rate 5", options={"nodelist": "n1"})
        self.await_state(run, "RUNNING")
        began = time.time()
        self.cluster.run("sbatch", "--hold", "-o", "/dev/null", "--wrap=true")  # makes it save what it has
        saved = self.folder / "state/job_state"
        self.cluster.wait("slurmctld has saved that it runs", lambda: saved.exists() and saved.stat().st_mtime > began,
                          30)
        controller = self.cluster.processes.pop("slurmctld")
        controller.kill()
        controller.wait()
        refused = Run(self, "echo rate 1", benchmark="refused")
        result = refused.finish()
        self.assertEqual(result.status, 75, result)
        self.assertRegex(refused.reason, "Slurm can't be asked now: .*[Uu]nable to contact")
        self.cluster.wait("the outage is noticed", lambda: any("does not answer" in line for line in run.seen), 60)
        self.cluster.start_controller()
        go.touch()
        result = run.finish()
        self.assertTrue(result.done, result)
        self.assertEqual(result.values("rate"), [5])


if __name__ == "__main__":
    unittest.main(verbosity=2)
