"""Each query of each dashboard in configs/grafana is answered with data: those over results by the collector's Prometheus
API, those over Fleetmark itself by a real Prometheus that scrapes collector and agent."""

import json
import math
import os
import pathlib
import re
import sys
import time
import unittest

import prometheus_server

sys.path.insert(0, str(pathlib.Path(os.environ["FM_SOURCE_DIR"]) / "tests/e2e"))
import harness  # noqa: E402  (the folder above)

DASHBOARDS = sorted((harness.SOURCE / "configs/grafana/dashboards").glob("*.json"))
PROVISIONING = harness.SOURCE / "configs/grafana/provisioning"
# What "All" means, and what a person chooses.
ALL = {"node": ".+", "benchmark": ".+", "instance": ".+"}
CHOSEN = {"node": "n1", "benchmark": "stream", "metric": "fleetmark_stream_triad_gigabytes_per_second"}
DAYS = 8


def fill(expression):
    return re.sub(r'(=~?)"\$(\w+)"',
                  lambda m: f'{m[1]}"{(ALL if m[1] == "=~" else CHOSEN)[m[2]]}"', expression)


def panels(dashboard):
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            yield panel, target


def has_data(answer):
    status, body = answer
    if status != 200:
        raise AssertionError(f"{status}: {body}")
    data = body["data"]
    values = [v for s in data["result"] for v in (s.get("values") or [s["value"]])] if isinstance(data, dict) else data
    return any(not isinstance(v, list) or math.isfinite(float(v[1])) for v in values)


@unittest.skipIf(prometheus_server.missing_programs(), "needs Debian's package prometheus")
class DashboardsTest(harness.EndToEndTest):
    def prometheus(self, collector, agent):
        config = self.folder / "prometheus.yml"
        config.write_text(json.dumps({
            "global": {"scrape_interval": "1s"}, "scrape_configs": [
                {"job_name": "fleetmark-collector", "static_configs": [{"targets": [f"127.0.0.1:{collector.http_port}"]}]},
                {"job_name": "fleetmark-agent", "static_configs": [{"targets": [f"127.0.0.1:{agent.http_port}"]}]}]}))
        port = prometheus_server.free_port()
        server = prometheus_server.Server(
            ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={self.folder}/prometheus",
             f"--web.listen-address=127.0.0.1:{port}"], port, "/-/ready", self.folder / "prometheus.log")
        self.addCleanup(server.stop)
        return server

    def answers(self, port, target):
        now = time.time()
        expression = fill(target["expr"])
        if target.get("instant"):
            return has_data(prometheus_server.request(port, "/api/v1/query", [("query", expression), ("time", now)], form=True))
        return has_data(prometheus_server.request(
            port, "/api/v1/query_range",
            [("query", expression), ("start", now - 120), ("end", now), ("step", 5)], form=True))

    def variable_values(self, port, query):
        match = re.fullmatch(r"label_values\((?:(.+), )?(\w+)\)", query)
        params = [("match[]", fill(match[1]))] if match[1] else []
        return prometheus_server.request(port, f"/api/v1/label/{match[2]}/values", params)[1]["data"]

    def history(self, collector):
        """Two metrics of four nodes, hourly."""
        file = self.folder / "history.csv"
        begin = int(time.time()) - DAYS * 86400
        file.write_text("time,node,benchmark,metric,value,unit\n" + "".join(
            f"{begin + 3600 * hour},n{n},stream,{metric},{value + n + (hour * 7 + n) % 5},GB/s\n"
            for hour in range(24 * DAYS) for n in range(1, 5) for metric, value in (("triad", 180), ("copy", 170))))
        harness.wait_for("the history is in", lambda: harness.cli(
            collector, "import", "csv", str(file), check=False).returncode == 0)

    def test_every_panel_has_data(self):
        collector = self.collector()
        self.history(collector)
        agent = self.agent("n1", [f"127.0.0.1:{collector.grpc_port}"],
                           [{"name": "tick", "plugin": "tick", "schedule": "every 1s"}]).start()
        prometheus = self.prometheus(collector, agent)
        ports = {"fleetmark": collector.http_port, "prometheus": prometheus.port}
        asked = 0
        for path in DASHBOARDS:
            dashboard = json.loads(path.read_text())
            for panel, target in panels(dashboard):
                what = f"{path.name}: {panel['title']}: {fill(target['expr'])}"
                self.assertNotIn("$", re.sub(r'"\$1"', "", fill(target["expr"])), what)
                port = ports[target["datasource"]["uid"]]
                harness.wait_for(what, lambda p=port, t=target: self.answers(p, t), 30)
                asked += 1
            for variable in dashboard["templating"]["list"]:
                port = ports[variable["datasource"]["uid"]]
                harness.wait_for(f"{path.name}: ${variable['name']}",
                                 lambda p=port, v=variable: self.variable_values(p, v["definition"]), 30)
        self.assertGreater(asked, 40)
        print(f"{asked} queries of {len(DASHBOARDS)} dashboards have data")
        self.assertFalse(self.answers(collector.http_port, {"expr": "fleetmark_nothing"}))

    def test_dashboards_are_whole(self):
        self.assertGreaterEqual(len(DASHBOARDS), 4)
        sources = {re.search(r"uid: (\w+)", p.read_text())[1] for p in (PROVISIONING / "datasources").glob("*.yaml")}
        for path in DASHBOARDS:
            dashboard = json.loads(path.read_text())
            self.assertEqual(dashboard["uid"], path.stem)
            self.assertEqual(len({p["id"] for p in dashboard["panels"]}), len(dashboard["panels"]))
            taken = set()
            for p in dashboard["panels"]:
                at = p["gridPos"]
                cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
                self.assertFalse(cells & taken, f"{path.name}: {p['title']} lies on another panel")
                self.assertLessEqual(at["x"] + at["w"], 24)
                taken |= cells
            for panel, target in panels(dashboard):
                self.assertIn(target["datasource"]["uid"], sources)
            known = {v["name"] for v in dashboard["templating"]["list"]}
            used = {v for _, t in panels(dashboard) for v in re.findall(r'"\$([a-z]+)"', t["expr"])}
            self.assertLessEqual(used, known, path.name)


if __name__ == "__main__":
    unittest.main()
