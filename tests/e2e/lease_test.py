"""A limit across the fleet holds for real agents: their runs take turns."""

import unittest

from harness import EndToEndTest, wait_for


class LeaseTest(EndToEndTest):
    def test_one_node_of_a_rack_at_a_time(self):
        collector = self.collector(
            extra="limits: [{name: one, benchmarks: ['tic*'], max_nodes: 1, per: [rack], longest: 10s}]\n")
        agents = [self.agent(f"node-{i}", [f"127.0.0.1:{collector.grpc_port}"], [
            {"name": "tick", "plugin": "tick", "schedule": "every 2s", "lease": True, "params": {"sleep_ms": 1000}},
            {"name": "free", "plugin": "tick", "schedule": "every 5s"}]).start() for i in range(3)]

        def ticks(agent):
            return collector.all("runs", "runs", f"&node={agent.name}&benchmark=tick")

        wait_for("runs without a limit go on", lambda: len(collector.all("runs", "runs", "&benchmark=free")) > 3)
        self.assertEqual([r for a in agents for r in ticks(a) if r["run"]["outcome"] == "OUTCOME_OK"], [])
        # After the collector's start, leases of before must run out first: 10 s and a minute.
        wait_for("each node had its turn", lambda: all(
            sum(r["run"]["outcome"] == "OUTCOME_OK" for r in ticks(a)) >= 2 for a in agents), 180)
        spans = sorted((int(r["run"]["started_unix_ns"]) / 1e9,
                        int(r["run"]["started_unix_ns"]) / 1e9 + r["run"]["duration_seconds"], r["node"])
                       for a in agents for r in ticks(a) if r["run"]["outcome"] == "OUTCOME_OK")
        for before, after in zip(spans, spans[1:]):
            self.assertLessEqual(before[1], after[0], (before, after))
        print({a.name: sum(1 for s in spans if s[2] == a.name) for a in agents})
        metrics = collector.http("/metrics", parse=False)
        self.assertRegex(metrics, r'(?m)^fleetmark_lease_denied_total\{limit="one"\} [1-9]')
        self.assertRegex(agents[0].process.text(), "run deferred .*limit 'one'")


if __name__ == "__main__":
    unittest.main(verbosity=2)
