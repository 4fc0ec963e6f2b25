"""The gate against a real Slurm: benchmarks keep off nodes with jobs, and make way for them."""

import sys
import time
import unittest

from harness import SOURCE, EndToEndTest, wait_for

sys.path.insert(0, str(SOURCE / "tests/integration"))
from slurm_cluster import Cluster  # noqa: E402

LONG = {"name": "long", "plugin": "tick", "params": {"sleep_ms": 30000}, "timeout": "60s", "schedule": "every 24h"}
TICK = {"name": "tick", "plugin": "tick", "schedule": "every 24h"}


class SlurmTest(EndToEndTest):
    def setUp(self):
        super().setUp()
        self.folder.chmod(0o755)  # munged refuses a socket that others could not reach
        (self.folder / "slurm").mkdir()
        self.slurm = Cluster(self.folder / "slurm", ["n1", "n2"])
        self.addCleanup(self.slurm.stop_all)
        self.slurm.start()
        self.c = self.collector()
        gate = ("{cool_down: 0s, retry: 1s, pressure: {enabled: false}, slurm: {mode: on, node: n1, cache: 0s, "
                f"slurm_conf: {self.slurm.conf}}}}}")
        self.node = self.agent("n1", [f"127.0.0.1:{self.c.grpc_port}"], [LONG, TICK], gate=gate).start()
        wait_for("the agent is connected", lambda: self.c.all("nodes", "nodes"))

    def ask(self, benchmark, seconds=5, trigger=()):
        """Runs a benchmark by the agent's own command; returns (exit status, what it printed)."""
        return self.node.command("run", benchmark, *trigger, expires=seconds)

    def assert_runs(self):
        status, text = self.ask("tick", 30)
        self.assertEqual(status, 0, text)

    def assert_kept_off(self, *reasons):
        status, text = self.ask("tick", 3)
        self.assertEqual(status, 75, text)
        self.assertTrue(any(r in text for r in reasons), text)

    def test_jobs_and_states(self):
        slurm = self.slurm
        self.assert_runs()

        # A job that runs keeps benchmarks off; on another node it does not.
        slurm.submit("n2")
        slurm.wait_state("n2", "MIXED")
        self.assert_runs()
        job = slurm.submit("n1")
        wait_for("the step", lambda: list((slurm.folder / "spool.n1").glob(f"n1_{job}.*")))
        self.assert_kept_off(f"slurm: job {job} runs on this node")

        # Draining with the job: still its own. Drained: nobody can come.
        slurm.drain("n1")
        self.assert_kept_off(f"slurm: job {job} runs on this node")
        slurm.run("scancel", job)
        slurm.wait_state("n1", "IDLE+DRAIN")
        self.assert_runs()
        slurm.resume("n1")
        slurm.wait_state("n1", "IDLE")

        # Reserved for somebody's jobs, and for maintenance.
        slurm.reserve("theirs", "n1", "ignore_jobs")
        slurm.wait_state("n1", "IDLE+RESERVED")
        self.assert_kept_off("the node is reserved")
        slurm.run("scontrol", "delete", "reservation=theirs")
        slurm.reserve("ours", "n1", "maint,ignore_jobs")
        wait_for("maintenance", lambda: "MAINT" in slurm.state("n1"))
        self.assert_runs()
        slurm.run("scontrol", "delete", "reservation=ours")

    def test_a_job_ends_a_benchmark(self):
        slurm = self.slurm
        running = self.node.command_in_background("run", "long")
        wait_for("it runs", lambda: [p.name for p in (self.node.folder / "data/runs").glob("*")], 20)
        job = slurm.submit("n1")
        wait_for("the step", lambda: list((slurm.folder / "spool.n1").glob(f"n1_{job}.*")))
        # The step's folder is there before the step runs, and a look every 50 ms is soon enough.
        began = time.monotonic()
        wait_for("the benchmark is gone", lambda: not list((self.node.folder / "data/runs").glob("*")), 20)
        took = time.monotonic() - began
        print(f"gone {took:.2f} s after the job's step began")
        self.assertEqual(running.wait(20), 75)
        run = wait_for("the record", lambda: self.c.all("runs", "runs"))[0]["run"]
        self.assertEqual((run["outcome"], run["ending"]), ("OUTCOME_CANCELLED", "ENDING_GATE"))
        self.assertRegex(run["reason"], f"^slurm: (the prolog of )?job {job} runs on this node$")
        self.assertLess(took, 1)

    def test_prolog_and_epilog(self):
        slurm = self.slurm
        for hook in ("prolog", "epilog"):
            slurm.hold(hook, "n1")
        slurm.submit("n1", "true")
        wait_for("the prolog", lambda: "the prolog of job 1 runs on this node" in self.ask("tick", 1)[1], 30)
        self.assert_kept_off("slurm: the prolog of job 1 runs on this node")
        slurm.release("prolog", "n1")
        wait_for("the epilog", lambda: "the epilog of job 1 runs on this node" in self.ask("tick", 1)[1], 30)
        self.assert_kept_off("slurm: the epilog of job 1 runs on this node")
        # What the epilog itself asks for is not kept off by it.
        status, text = self.ask("tick", 5, ["epilog"])
        self.assertEqual(status, 0, text)
        slurm.release("epilog", "n1")
        self.assert_runs()

    def test_controller_down(self):
        self.slurm.stop("slurmctld")
        status, text = self.ask("tick", 4)
        self.assertEqual(status, 75)
        # scontrol tries for as long as slurm.conf's MessageTimeout, which is longer than the gate waits for it.
        self.assertRegex(text, "^not started: not started within 4s: slurm: slurmctld did not answer within 5s")
        self.slurm.start_controller()
        wait_for("it runs again", lambda: self.ask("tick", 10)[0] == 0, 90)


if __name__ == "__main__":
    unittest.main(verbosity=2)
