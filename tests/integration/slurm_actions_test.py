"""Actions on the nodes of a real Slurm cluster: drained with a reason within the cap, resumed after recovery, and nothing
done to a node that a person drained, resumed or rebooted meanwhile; the switch holds over a killed collector."""

import json
import os
import pathlib
import re
import sys
import tempfile
import time
import unittest

import slurm_cluster

sys.path.insert(0, str(pathlib.Path(os.environ["FM_SOURCE_DIR"]) / "tests/e2e"))
import harness  # noqa: E402

NODES = tuple(f"n{i}" for i in range(1, 13))
SLOW = NODES[:5]  # more than 40 %
BY_PERSON, ONE_BENCHMARK = "n6", "n7"
CAP = 4
GOOD, BAD = 200, 150
CONFIG = """
references:
  - {{benchmark: stream, metric: triad, value: 200, unit: GB/s, lower: -0.1}}
  - {{benchmark: gemm, metric: dgemm, value: 200, unit: GFLOP/s, lower: -0.1}}
alerts: {{wait: 0s, resolve_after: 1s}}
actions:
  enabled: true
  dry_run: false
  settle: 0s
  recover_after: 1s
  interval: 1s
  limits: {{max_nodes: {cap}, max_share: 0.5, min_healthy: 0.3}}
  slurm: {{slurm_conf: {conf}}}
  rules:
    - {{name: drain, do: slurm_drain, match: {{class: slow}}}}
"""


@unittest.skipUnless(os.geteuid() == 0, "slurmd needs root")
class SlurmActionsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = slurm_cluster.start_for(cls, NODES, {"RebootProgram": "/bin/true"})

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.samples = 0
        config = CONFIG.format(cap=CAP, conf=self.cluster.conf)
        self.collector = harness.Collector(self.folder / "collector", config)
        self.collector.start()
        self.addCleanup(lambda: self.collector.process.stop())

    def measure(self, value, nodes, benchmarks=(("stream", "triad", "GB/s"), ("gemm", "dgemm", "GFLOP/s"))):
        self.samples += 1
        file = self.folder / f"{self.samples}.csv"
        stamp = f"{time.time() - 600 + self.samples:.3f}"
        file.write_text("time,node,benchmark,metric,value,unit\n" + "".join(
            f"{stamp},{node},{benchmark},{metric},{value},{unit}\n"
            for node in nodes for benchmark, metric, unit in benchmarks))
        harness.cli(self.collector, "import", "csv", str(file))

    def actions(self, *args):
        return json.loads(harness.cli(self.collector, "-o", "json", "actions", "list", *args).stdout)

    def states(self):
        return {a["node"]: a["state"] for a in self.actions("--all").get("actions", [])}

    def reason(self, node):
        """As Slurm has it, with who and when; empty for a node without."""
        found = re.search(r"^\s*Reason=(.*)$", self.cluster.run("scontrol", "show", "node", node), re.M)
        return found.group(1) if found else ""

    def drained(self):
        return [n for n in NODES if "DRAIN" in self.cluster.state(n)]

    def test_drains_within_the_cap_resumes_its_own_and_leaves_people_theirs(self):
        self.measure(GOOD, NODES)
        self.cluster.run("scontrol", "update", f"nodename={BY_PERSON}", "state=drain", "reason=disk is dying")
        self.measure(BAD, SLOW + (BY_PERSON,))
        self.measure(BAD, [ONE_BENCHMARK], [("stream", "triad", "GB/s")])

        # Drained, with a reason that leads on; the cap holds, a person's node is left, one benchmark is no evidence.
        held = harness.wait_for("as many drained as the cap allows",
                                lambda: [n for n, s in self.states().items() if s == "STATE_HELD"][CAP - 1:] and
                                sorted(n for n, s in self.states().items() if s == "STATE_HELD"), 150)
        harness.wait_for("the person's node is left", lambda: self.states().get(BY_PERSON) == "STATE_LEFT", 30)
        self.assertEqual(len(held), CAP)
        self.assertTrue(set(held) <= set(SLOW), held)
        time.sleep(3)  # a few looks more
        self.assertEqual(sorted(self.drained()), sorted(held + [BY_PERSON]))
        for node in held:
            self.assertRegex(self.reason(node), r"^fleetmark [0-9A-Z]{26}: .*; finding [0-9A-Z]{26} \[root@")
        self.assertIn("disk is dying", self.reason(BY_PERSON))
        listed = self.actions()
        why = {entry["node"]: entry["why"] for entry in listed["held_back"]}
        (over,) = set(SLOW) - set(held)
        self.assertIn("limits.max_nodes: 4 nodes are held", why[over])
        self.assertIn("evidence: shown by 1 benchmark, stream", why[ONE_BENCHMARK])

        # People meanwhile: one resumed, one drained anew, one rebooted.
        ours, resumed, redrained, rebooted = held
        self.cluster.run("scontrol", "update", f"nodename={resumed}", "state=undrain")
        self.cluster.run("scontrol", "update", f"nodename={redrained}", "state=drain", "reason=waiting for a part")
        self.cluster.run("scontrol", "reboot", rebooted)
        for node in (resumed, redrained, rebooted):
            harness.wait_for(f"{node} is left", lambda node=node: self.states()[node] == "STATE_LEFT", 30)
        self.assertEqual(self.states()[ours], "STATE_HELD")
        self.assertNotIn("DRAIN", self.cluster.state(resumed))

        # Stopped: not even what is well again is resumed, by the next process neither.
        harness.cli(self.collector, "actions", "stop", "--note", "power work")
        self.measure(GOOD, NODES)
        harness.wait_for("all alerts are over", lambda: not self.collector.get("alerts").get("alerts"), 150)
        self.collector.process.kill()
        self.collector.start()
        time.sleep(4)
        self.assertEqual(self.states()[ours], "STATE_HELD")
        self.assertIn("DRAIN", self.cluster.state(ours))
        self.assertIn("power work", harness.cli(self.collector, "actions").stdout +
                      harness.cli(self.collector, "actions").stderr)

        # Going on: its own node is resumed, the others stay as people left them.
        harness.cli(self.collector, "actions", "resume")
        harness.wait_for("resumed", lambda: self.states()[ours] == "STATE_UNDONE", 30)
        self.assertNotIn("DRAIN", self.cluster.state(ours))
        time.sleep(3)
        self.assertNotIn("DRAIN", self.cluster.state(resumed))
        self.assertIn("waiting for a part", self.reason(redrained))
        self.assertIn("DRAIN", self.cluster.state(redrained))
        self.assertIn("disk is dying", self.reason(BY_PERSON))
        self.assertIn("DRAIN", self.cluster.state(BY_PERSON))
        history = harness.cli(self.collector, "actions", "show", [
            a["action_id"] for a in self.actions("--all")["actions"] if a["node"] == ours][0][-6:]).stdout
        for text in ("shown by 2 benchmarks: gemm, stream", "drained", "resumed"):
            self.assertIn(text, history)


if __name__ == "__main__":
    unittest.main(verbosity=2)
