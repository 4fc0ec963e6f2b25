"""Own plugins through the real agent and collector: a run of each is ok and its metrics are series."""

import unittest

import yaml

from harness import BUILD, EndToEndTest, wait_for

PLUGINS = ("system_health", "core_to_core", "fs_metadata", "mem_latency")


class PluginsTest(EndToEndTest):
    def test_each_runs_once_and_its_metrics_are_series(self):
        collector = self.collector()
        manifests = {name: yaml.safe_load((BUILD / "plugins" / name / "manifest.yaml").read_text()) for name in PLUGINS}
        benchmarks = [{"name": name, "plugin": name, "schedule": "every 24h", "params": manifests[name]["self_check"]["params"]}
                      for name in PLUGINS]
        agent = self.agent("n1", [f"127.0.0.1:{collector.grpc_port}"], benchmarks).start()
        wait_for("the node is there", lambda: collector.all("nodes", "nodes"))
        for name in PLUGINS:
            status, output = agent.command("run", name)
            self.assertIn(status, (0,), output)
        runs = wait_for("all runs are stored", lambda: (
            lambda found: found if len(found) >= len(PLUGINS) else None)(collector.all("runs", "runs")))
        self.assertEqual({run["run"]["benchmark"]: run["run"]["outcome"] for run in runs},
                         {name: "OUTCOME_OK" for name in PLUGINS})
        series = {(s["key"]["benchmark"], s["key"]["metric"]) for s in collector.all("series", "series")}
        for name in PLUGINS:
            needed = {(name, metric["name"]) for metric in manifests[name]["metrics"] if metric.get("required", True)}
            self.assertLessEqual(needed, series)


if __name__ == "__main__":
    unittest.main(verbosity=2)
