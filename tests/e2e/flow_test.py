"""Results get from agents to the collector exactly once, whatever is killed or cut in between."""

import json
import random
import signal
import subprocess
import time
import unittest

from harness import BIN, Agent, EndToEndTest, Proxy, cli, wait_for

TICKS = [{"name": "tick", "plugin": "tick", "schedule": "every 1s"},
         {"name": "tock", "plugin": "tick", "params": {"value": 50}, "schedule": "every 1s"}]


class FlowTest(EndToEndTest):
    def test_three_agents_report(self):
        collector = self.collector()
        agents = [self.agent(f"node-{i}", [f"127.0.0.1:{collector.grpc_port}"], TICKS).start() for i in range(3)]
        wait_for("each agent has 3 runs stored", lambda: all(
            len(collector.all("runs", "runs", f"&node={a.name}")) >= 3 for a in agents))
        nodes = {n["identity"]["name"]: n for n in collector.all("nodes", "nodes")}
        self.assertEqual(sorted(nodes), ["node-0", "node-1", "node-2"])
        for node in nodes.values():
            self.assertEqual(node["state"], "NODE_STATE_CONNECTED")
            self.assertEqual(node["identity"]["labels"], {"rack": "r1"})
            facts = {f["name"]: f["value"] for f in node["facts"]}
            self.assertIn("cpu.model", facts)
            self.assertIn("kernel.release", facts)
        for agent in agents:
            self.assertEqual(agent.process.stop(), 0)
        self.assert_exactly_once(collector, agents)
        self.assertEqual(collector.process.stop(), 0)

    def test_collector_killed_during_ingest(self):
        collector = self.collector()
        agents = [self.agent(f"node-{i}", [f"127.0.0.1:{collector.grpc_port}"], TICKS).start() for i in range(3)]
        dice = random.Random(1)
        for _ in range(3):
            before = sum(len(a.completed_runs()) for a in agents)
            more = dice.randint(4, 10)
            wait_for("more runs", lambda: sum(len(a.completed_runs()) for a in agents) >= before + more)
            collector.process.kill()
            down = sum(len(a.completed_runs()) for a in agents)
            wait_for("runs while the collector is down",
                     lambda: sum(len(a.completed_runs()) for a in agents) > down)
            collector.start()
        self.assert_exactly_once(collector, agents)

    def test_agent_killed(self):
        collector = self.collector()
        benchmarks = TICKS + [{"name": "long", "plugin": "tick", "params": {"sleep_ms": 700}, "schedule": "every 1s"}]
        agent = self.agent("node-0", [f"127.0.0.1:{collector.grpc_port}"], benchmarks).start()
        dice = random.Random(2)
        for _ in range(4):
            before = len(agent.completed_runs())
            more = dice.randint(2, 8)
            wait_for("more runs", lambda: len(agent.completed_runs()) >= before + more)
            agent.process.kill()
            agent.start()
        wait_for("the agent is back", lambda: collector.get("nodes/node-0")["state"] == "NODE_STATE_CONNECTED")
        self.assert_exactly_once(collector, [agent])

    def test_a_run_that_the_agent_did_not_live_to_end_is_recorded(self):
        collector = self.collector()
        slow = {"name": "slow", "plugin": "tick", "params": {"sleep_ms": 30000}, "timeout": "60s",
                "schedule": "every 1s"}
        agent = self.agent("node-0", [f"127.0.0.1:{collector.grpc_port}"], [slow]).start()
        running = wait_for("it runs", lambda: [p.name for p in (agent.folder / "data/runs").glob("*")], 20)[0]
        agent.process.kill()
        agent.start()
        run = wait_for("its record", lambda: [
            r["run"] for r in collector.all("runs", "runs") if r["run"]["run_id"] == running])[0]
        self.assertEqual(run["outcome"], "OUTCOME_CANCELLED")
        self.assertEqual(run["ending"], "ENDING_LOST")
        self.assertEqual(run["reason"], "the agent was killed during the run")

    def test_the_time_budget_bounds_what_is_scheduled(self):
        collector = self.collector()
        # A bucket of 0.0005 * 86400 / 10 = 4.3 s, which fills by 0.45 ms a second.
        slow = {"name": "slow", "plugin": "tick", "params": {"sleep_ms": 1500}, "schedule": "every 1s"}
        agent = self.agent("node-0", [f"127.0.0.1:{collector.grpc_port}"], [slow], share=0.0005).start()
        node = wait_for("the budget is spent", lambda: [
            n for n in collector.all("nodes", "nodes") if "budget" in n["heartbeat"].get("waits_for", "")], 40)[0]
        self.assertGreater(node["heartbeat"]["budget_used"], 0.5)
        runs = len(collector.all("runs", "runs"))
        self.assertIn(runs, (1, 2), "the first is guessed at ten seconds, which is more than the bucket holds")
        # A restart does not fill it, and a person does not wait for it.
        self.assertEqual(agent.process.stop(), 0)
        wait_for("it has gone", lambda: collector.get("nodes/node-0")["state"] == "NODE_STATE_GONE")
        agent.start()
        wait_for("it is back", lambda: collector.get("nodes/node-0")["state"] == "NODE_STATE_CONNECTED")
        self.assertEqual(cli(collector, "run", "node-0", "slow").returncode, 0)
        self.assertEqual(len(collector.all("runs", "runs")), runs + 1)

    def test_connection_cut(self):
        collector = self.collector()
        proxy = Proxy(collector.grpc_port)
        self.addCleanup(proxy.close)
        agent = self.agent("node-0", [f"127.0.0.1:{proxy.port}"], TICKS).start()
        for refuse in (False, True, False):
            stored = len(self.stored_runs(collector))
            wait_for("runs arrive", lambda: len(self.stored_runs(collector)) >= stored + 3)
            proxy.cut(refuse)
            if refuse:
                wait_for("the node shows as gone", lambda: collector.get("nodes/node-0")["state"] == "NODE_STATE_GONE")
                proxy.refusing = False
        self.assert_exactly_once(collector, [agent])

    def test_run_now_and_command_line(self):
        collector = self.collector()
        agent = self.agent("node-0", [f"127.0.0.1:{collector.grpc_port}"],
                           [{"name": "tick", "plugin": "tick", "schedule": "0 0 1 1 *"}]).start()
        wait_for("connected", lambda: any(n["state"] == "NODE_STATE_CONNECTED" for n in collector.all("nodes", "nodes")))
        done = cli(collector, "run", "node-0", "tick")
        self.assertIn("value", done.stdout)
        runs = json.loads(cli(collector, "-o", "json", "runs").stdout)["runs"]
        self.assertEqual([r["run"]["trigger"] for r in runs], ["TRIGGER_MANUAL"])
        status = json.loads(cli(collector, "-o", "json", "status").stdout)
        self.assertEqual(int(status["nodes_connected"]), 1)
        self.assertIn("node-0", cli(collector, "nodes").stdout)
        self.assertIn("tick", cli(collector, "series").stdout)
        self.assertEqual(cli(collector, "run", "node-9", "tick", check=False).returncode, 4)
        self.assertNotEqual(cli(collector, "run", "node-0", "nope", check=False).returncode, 0)
        self.assertIn("fleetmark_agent_runs_total", agent.metrics())
        self.assertRegex(agent.metrics(), r"(?m)^fleetmark_agent_budget_spent_seconds_total [0-9.e-]*[1-9]")
        self.assertIn('fleetmark_agent_runs_deferred_total{reason="cool_down"} 0', agent.metrics())
        self.assertIn("fleetmark_ingest_runs_total", collector.http("/metrics", parse=False))

    def test_a_request_that_expired_on_the_way_does_not_start(self):
        collector = self.collector()
        agent = self.agent("node-0", [f"127.0.0.1:{collector.grpc_port}"],
                           [{"name": "tick", "plugin": "tick", "schedule": "0 0 1 1 *"}]).start()
        wait_for("connected", lambda: any(n["state"] == "NODE_STATE_CONNECTED" for n in collector.all("nodes", "nodes")))
        agent.process.popen.send_signal(signal.SIGSTOP)
        asked = subprocess.Popen([str(BIN / "fleetmark"), "--collector", f"127.0.0.1:{collector.grpc_port}", "run",
                                  "node-0", "tick", "--expires", "2s"], stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(asked.stdout.close)
        expired = time.monotonic() + 3
        wait_for("the request has expired", lambda: time.monotonic() > expired)
        agent.process.popen.send_signal(signal.SIGCONT)
        output, _ = asked.communicate(timeout=30)
        self.assertEqual(asked.returncode, 5, output)
        self.assertIn("expired", output)
        self.assertEqual(self.stored_runs(collector), [])

    def test_reload_adds_a_benchmark(self):
        collector = self.collector()
        agent = self.agent("node-0", [f"127.0.0.1:{collector.grpc_port}"], TICKS[:1]).start()
        wait_for("a run", lambda: len(self.stored_runs(collector)) > 0)
        Agent(agent.folder, "node-0", [f"127.0.0.1:{collector.grpc_port}"], TICKS)
        agent.process.popen.send_signal(1)
        wait_for("the new benchmark reports", lambda: collector.all("runs", "runs", "&benchmark=tock"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
