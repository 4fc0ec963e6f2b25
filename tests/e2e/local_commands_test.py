"""The commands that people and health checks run on the node itself: health, plan, run."""

import os
import pathlib
import signal
import stat
import subprocess
import unittest

from harness import BIN, EndToEndTest, free_port, wait_for

TICK = {"name": "tick", "plugin": "tick", "schedule": "every 1h"}
LATER = {"name": "later", "plugin": "tick", "schedule": "0 3 * * *", "enabled": False}
BROKEN = {"name": "broken", "plugin": "tick", "params": {"sleep_ms": 5000}, "timeout": "1s", "schedule": "every 24h"}


SERVING, NOT_SERVING = 1, 2


def grpc_health(port):
    """The status that grpc.health.v1's Check answers, asked by hand: one frame there, one back."""
    answer = subprocess.run(
        ["curl", "-sS", "--http2-prior-knowledge", "--max-time", "10", "-H", "content-type: application/grpc",
         "-H", "te: trailers", "--data-binary", "@-", f"http://127.0.0.1:{port}/grpc.health.v1.Health/Check"],
        input=bytes(5), capture_output=True, check=True).stdout
    assert answer[:6] == b"\0\0\0\0\2\x08", answer  # not compressed, 2 bytes, field 1
    return answer[6]


class LocalCommandsTest(EndToEndTest):
    def command(self, agent, *args):
        return subprocess.run([str(BIN / "fleetmark-agent"), "--config", str(agent.config), *args],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)

    def test_with_an_agent_that_runs(self):
        collector = self.collector()
        port = free_port()
        agent = self.agent("node-0", [f"127.0.0.1:{collector.grpc_port}"], [TICK, LATER, BROKEN],
                           extra=f"health: {{grpc_listen: '127.0.0.1:{port}'}}\n").start()
        socket = agent.folder / "data/agent.sock"
        wait_for("the socket", socket.exists)
        self.assertEqual(stat.S_IMODE(os.stat(socket).st_mode), 0o600)
        wait_for("the connection", lambda: "connected to" in self.command(agent, "health").stdout)

        self.assertEqual(grpc_health(port), SERVING)
        done = self.command(agent, "run", "tick")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"^tick: ok in [0-9.e-]+ s\n")
        self.assertIn("value 100 1\n", done.stdout)
        run = wait_for("the run is stored", lambda: collector.all("runs", "runs"))[0]["run"]
        self.assertEqual(run["trigger"], "TRIGGER_MANUAL")
        health = self.command(agent, "health")
        self.assertEqual(health.returncode, 0)
        self.assertRegex(health.stdout, r"^ok: 3 benchmarks, last tick ok \d+s ago, connected to 127.0.0.1:\d+\n$")

        plan = self.command(agent, "plan")
        self.assertEqual(plan.returncode, 0)
        lines = plan.stdout.splitlines()
        self.assertEqual(lines[1].split(), ["BENCHMARK", "NEXT", "IN", "TAKES", "STATE"])
        self.assertRegex(plan.stdout, r"\ntick +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d +\S+ +1s\n")
        self.assertRegex(plan.stdout, r"\nlater +- +- +10s  only on request\n")

        self.assertEqual(self.command(agent, "run", "tick", "epilog").returncode, 0)
        wait_for("the epilog's run is stored", lambda: [
            r for r in collector.all("runs", "runs") if r["run"]["trigger"] == "TRIGGER_EPILOG"])

        for _ in range(3):
            failed = self.command(agent, "run", "broken")
            self.assertEqual(failed.returncode, 1)
            self.assertIn("broken: timeout in 1", failed.stdout)
        sick = self.command(agent, "health")
        self.assertEqual(sick.returncode, 1)
        self.assertEqual(grpc_health(port), NOT_SERVING)
        self.assertEqual(grpc_health(collector.grpc_port), SERVING)
        self.assertEqual(sick.stdout, "unhealthy: broken failed 3 times in a row: reached its time limit of 1s\n")

        unknown = self.command(agent, "run", "tok")
        self.assertEqual(unknown.returncode, 1)
        self.assertIn("no benchmark 'tok' is configured", unknown.stderr)

    def test_without_an_agent(self):
        collector = self.collector()
        agent = self.agent("node-0", [f"127.0.0.1:{collector.grpc_port}"], [TICK])
        health = self.command(agent, "health")
        self.assertEqual(health.returncode, 6)
        self.assertIn("no agent answers", health.stdout)
        self.assertIn("No agent runs; this is what one would do.", self.command(agent, "plan").stdout)
        done = self.command(agent, "run", "tick")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("tick: ok", done.stdout)
        self.assertEqual(len(wait_for("the run is stored", lambda: collector.all("runs", "runs"))), 1)

    def test_a_hung_agent_is_noticed(self):
        agent = self.agent("node-0", ["127.0.0.1:1"], [TICK]).start()
        wait_for("it is healthy", lambda: self.command(agent, "health").returncode == 0)
        agent.process.popen.send_signal(signal.SIGSTOP)
        wait_for("every thread stands still", lambda: self.stands_still(agent.process.popen.pid))
        try:
            health = self.command(agent, "health")
        finally:
            agent.process.popen.send_signal(signal.SIGCONT)
        self.assertEqual(health.returncode, 6)
        self.assertIn("no answer within 2s", health.stdout)

    @staticmethod
    def stands_still(pid):
        states = set()
        for stat in pathlib.Path(f"/proc/{pid}/task").glob("*/stat"):
            states.add(stat.read_text().rpartition(")")[2].split()[0])
        return states == {"T"}

    def test_wrong_commands(self):
        agent = self.agent("node-0", ["127.0.0.1:1"], [TICK])
        for args in (["helth"], ["run"], ["run", "tick", "prolog", "x"], ["health", "now"]):
            done = self.command(agent, *args)
            self.assertEqual(done.returncode, 2, args)
            self.assertIn("there are: health, plan, run BENCHMARK [epilog]", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
