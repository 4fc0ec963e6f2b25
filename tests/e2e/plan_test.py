"""What nodes run comes from the collector's suites: by selector, over restarts, changed while running, refused."""

import signal
import unittest

from harness import EndToEndTest, cli, wait_for

SUITE = """suite: {name}
nodes: {{labels: {{rack: {rack}}}}}
benchmarks: [{benchmarks}]
"""
TICK = "{{name: {name}, plugin: tick, schedule: every 2s}}"


class PlanTest(EndToEndTest):
    def write_suite(self, name, benchmarks, rack="r1"):
        path = self.folder / f"{name}.yaml"
        path.write_text(SUITE.format(name=name, rack=rack, benchmarks=benchmarks))
        return path

    def test_suites_of_the_collector(self):
        ours = self.write_suite("ours", TICK.format(name="first"))
        others = self.write_suite("others", TICK.format(name="never"), rack="r2")
        collector = self.collector(extra=f"suites: [{ours}, {others}]\n")
        address = [f"127.0.0.1:{collector.grpc_port}"]
        agent = self.agent("planned", address, [
            {"name": "own", "plugin": "tick", "schedule": "every 2s"}]).start()
        refusing = self.agent("refusing", address, [], extra="plan: {accept: false}\n").start()

        def runs(benchmark):
            return len(collector.all("runs", "runs", f"&benchmark={benchmark}"))

        wait_for("the plan's benchmark and the node's own run", lambda: runs("first") > 0 and runs("own") > 0)
        self.assertEqual(runs("never"), 0)
        details = cli(collector, "nodes", "refusing").stdout
        self.assertIn("refused by the node", details)
        self.assertIn("plan.accept is false", details)
        self.assertEqual({r["node"] for r in collector.all("runs", "runs")}, {"planned"})

        # Changed while running. A faulty suite changes nothing; a plan with a program of its own is refused whole.
        self.write_suite("ours", TICK.format(name="second"))
        collector.process.popen.send_signal(signal.SIGHUP)
        wait_for("the new plan's benchmark runs", lambda: runs("second") > 0)
        self.write_suite("ours", "{name: bad name, plugin: tick}")
        collector.process.popen.send_signal(signal.SIGHUP)
        wait_for("the fault is told", lambda: "nothing was changed" in collector.process.text())
        self.write_suite("ours", "{name: any, plugin: command, schedule: every 1h, params: {command: [id]}}")
        collector.process.popen.send_signal(signal.SIGHUP)
        wait_for("the refusal is shown", lambda: "plan.allow_plugins" in cli(collector, "nodes", "planned").stdout)
        before = runs("second")
        wait_for("the last good plan goes on", lambda: runs("second") > before)

        # Alone, the agent runs its last plan.
        collector.process.popen.send_signal(signal.SIGKILL)
        collector.process.popen.wait()
        agent.process.stop()
        agent.start()
        wait_for("the kept plan runs without a collector", lambda: any(
            "benchmark=second" in line for line in agent.process.text().splitlines() if "run finished" in line))
        refusing.process.stop()


if __name__ == "__main__":
    unittest.main(verbosity=2)
