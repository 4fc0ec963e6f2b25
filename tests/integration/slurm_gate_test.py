"""The gate's Slurm source against a real cluster of several nodes on this machine."""

import os
import pathlib
import subprocess
import threading
import time
import unittest

import slurm_cluster

PROBE = pathlib.Path(os.environ["FM_BIN_DIR"]) / "gate_probe"
NODES = ("n1", "n2", "n3", "n4")


class Probe:
    """gate_probe for one node; `ask` is a question before a run, `changes` what a watch during a run said."""

    def __init__(self, cluster, node, mode="before", job="", extra=""):
        self.config = cluster.folder / f"{node}.yaml"
        self.config.write_text(
            "gate:\n  pressure: {enabled: false}\n"
            f"  slurm: {{mode: on, node: {node}, slurm_conf: {cluster.conf}, timeout: 5s, cache: 0s{extra}}}\n")
        self.process = subprocess.Popen([str(PROBE), "--config", str(self.config), "slurm", mode, job],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.changes = []
        self.queries = 0
        if mode == "during":
            threading.Thread(target=self._collect, daemon=True).start()

    def _collect(self):
        for line in self.process.stdout:
            at, state, reason, _ = line.rstrip("\n").split("\t")
            self.changes.append((float(at), state, reason))

    @property
    def last(self):
        """(seconds since boot, state, reason) of the newest change."""
        return self.changes[-1] if self.changes else (0, "", "")

    def ask(self):
        self.process.stdin.write("\n")
        _, state, reason, queries = self.process.stdout.readline().rstrip("\n").split("\t")
        self.queries = int(queries.removeprefix("queries="))
        return state, reason

    def close(self):
        self.process.stdin.close()
        self.process.wait(10)
        self.process.stdout.close()


@unittest.skipUnless(os.geteuid() == 0, "slurmd needs root")
class SlurmGateTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        begin = time.monotonic()
        cls.cluster = slurm_cluster.start_for(cls, NODES)
        cls.folder = cls.cluster.folder
        print(f"cluster of {len(NODES)} nodes idle after {time.monotonic() - begin:.1f} s")

    def probe(self, *args, **kwargs):
        probe = Probe(self.cluster, *args, **kwargs)
        self.addCleanup(probe.close)
        return probe

    def asked(self, probe, state, reason):
        got = probe.ask()
        print(f"  {self._testMethodName}: {got}")
        self.assertEqual(got[0], state, got)
        self.assertRegex(got[1], reason)

    def cancelled(self, job, node, state="IDLE"):
        self.cluster.run("scancel", job)
        self.cluster.wait_state(node, state)

    def test_a_running_job_and_draining(self):
        before, other = self.probe("n1"), self.probe("n2")
        self.asked(before, "free", "^$")
        job = self.cluster.submit("n1")
        self.cluster.wait_state("n1", "MIXED")
        self.cluster.wait("a step", lambda: any(self.folder.glob(f"spool.n1/n1_{job}.*")))
        asked = before.queries
        self.asked(before, "busy", f"job {job} runs on this node")
        self.assertEqual(before.queries, asked, "a job that is seen here needs no question to the controller")
        self.asked(other, "free", "^$")
        self.cluster.drain("n1")
        self.cluster.wait_state("n1", "MIXED+DRAIN")
        self.asked(before, "busy", f"job {job}")
        self.cancelled(job, "n1", "IDLE+DRAIN")
        self.asked(before, "free", "^$")
        self.cluster.resume("n1")
        self.cluster.wait_state("n1", "IDLE")

    def test_a_starting_job_is_seen_during_a_run(self):
        during = self.probe("n2", "during")
        self.cluster.wait("a first answer", lambda: during.changes)
        job = self.cluster.submit("n2")
        spool = self.folder / "spool.n2"
        self.cluster.wait("a step", lambda: any(spool.glob(f"n2_{job}.*")))
        there = time.clock_gettime(time.CLOCK_BOOTTIME)
        self.cluster.wait("busy", lambda: len(during.changes) > 1)
        at, state, reason = during.changes[1]
        print(f"  seen {at - there:+.3f} s after its first step: {reason}")
        self.assertEqual(state, "busy")
        self.assertLess(at - there, 1)
        self.assertIn(job, reason)
        self.cancelled(job, "n2")
        self.cluster.wait("free again", lambda: during.last[1] == "free")

    def test_prolog_and_epilog(self):
        before, during = self.probe("n3"), self.probe("n3", "during")
        self.cluster.hold("prolog", "n3")
        self.cluster.hold("epilog", "n3")
        job = self.cluster.submit("n3")
        self.cluster.wait("prolog seen", lambda: f"the prolog of job {job}" in during.last[2])
        self.asked(before, "busy", f"the prolog of job {job}")
        self.cluster.release("prolog", "n3")
        self.cluster.wait("step seen", lambda: during.last[2] == f"job {job} runs on this node")
        print("  from prolog to step:", [change[1] for change in during.changes])
        self.cluster.run("scancel", job)
        self.cluster.wait("epilog seen", lambda: f"the epilog of job {job}" in during.last[2])
        self.cluster.wait_state("n3", "IDLE+COMPLETING")
        self.asked(before, "busy", f"the epilog of job {job}")
        # The job's own epilog asks for a run: by the job's name, and found by its epilog.
        self.asked(self.probe("n3", "epilog", job), "free", "^$")
        self.asked(self.probe("n3", "epilog"), "free", "^$")
        self.asked(self.probe("n3", "epilog", "99999"), "busy", f"the epilog of job {job}")
        self.cluster.release("epilog", "n3")
        self.cluster.wait_state("n3", "IDLE")
        self.asked(before, "free", "^$")

    def test_reservations(self):
        before = self.probe("n4")
        self.cluster.reserve("m", "n4", "maint,ignore_jobs")
        self.cluster.wait("maintenance", lambda: "MAINT" in self.cluster.state("n4"))
        print("  state:", self.cluster.state("n4"))
        self.asked(before, "free", "^$")
        self.cluster.run("scontrol", "delete", "reservationname=m")
        self.cluster.wait_state("n4", "IDLE")
        self.cluster.reserve("u", "n4", "ignore_jobs")
        self.cluster.wait("reserved", lambda: "RESERVED" in self.cluster.state("n4"))
        print("  state:", self.cluster.state("n4"))
        self.asked(before, "busy", "reserved")
        self.asked(self.probe("n4", extra=", allow_reserved: true"), "free", "^$")
        self.cluster.run("scontrol", "delete", "reservationname=u")
        self.cluster.wait_state("n4", "IDLE")

    def test_stale_sockets_are_told_from_jobs(self):
        before = self.probe("n4")
        job = self.cluster.submit("n4")
        sockets = self.folder / "spool.n4"
        self.cluster.wait("a step", lambda: any(sockets.glob(f"n4_{job}.*")))
        path = next(sockets.glob(f"n4_{job}.*"))
        kept = self.folder / "kept"
        os.link(path, kept)
        self.cancelled(job, "n4")
        os.rename(kept, path)  # as a slurmstepd that was killed leaves it
        self.asked(before, "free", "^$")
        path.unlink()

    def test_z_controller_gone(self):
        before = self.probe("n1")
        self.asked(before, "free", "^$")
        self.cluster.stop("slurmctld")
        asked = before.queries
        self.asked(before, "unknown", "slurmctld")
        begin = time.monotonic()
        answers = {before.ask()[0] for _ in range(200)}
        self.assertEqual(answers, {"unknown"})
        print(f"  200 more questions in {time.monotonic() - begin:.2f} s, {before.queries - asked} queries")
        self.assertLessEqual(before.queries - asked, 2)
        self.cluster.start_controller()
        self.cluster.wait_state("n1", "IDLE", 60)
        self.cluster.wait("free again", lambda: before.ask()[0] == "free", 30)
        self.assertLessEqual(before.queries - asked, 6)


if __name__ == "__main__":
    unittest.main(verbosity=2)
