"""Samples into the collector and out of it, with real programs at both ends: files by the command line, a Prometheus
that sends its own scrapes by remote write, and VictoriaMetrics, to which the collector sends everything on."""

import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

import prometheus_server

sys.path.insert(0, str(pathlib.Path(os.environ["FM_SOURCE_DIR"]) / "tests/e2e"))
import harness  # noqa: E402

BEGIN = int(time.time()) - 20 * 86400
TIMES = [BEGIN + 900 * i for i in range(300)]
NODES = ["n1", "n2", "n3"]
NAME = "fleetmark_stream_triad_gigabytes_per_second"


def value(node, i):
    return round(180 + 5 * NODES.index(node) + (i * 7919 % 100) / 50, 2)


def victoria(folder):
    port = prometheus_server.free_port()
    return prometheus_server.Server(
        ["victoria-metrics", f"-storageDataPath={folder}/vm", f"-httpListenAddr=127.0.0.1:{port}", "-retentionPeriod=1y",
         "-search.latencyOffset=0s", "-search.disableCache", "-loggerLevel=ERROR"], port, "/health", folder / "vm.log")


def run_cli(collector, *args):
    done = subprocess.run([str(harness.BIN / "fleetmark"), "--collector", f"127.0.0.1:{collector.grpc_port}", *args],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


@unittest.skipIf(prometheus_server.missing_programs(("prometheus", "victoria-metrics")),
                 "needs Debian's packages prometheus and victoria-metrics")
class RemoteWriteTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.vm = victoria(self.folder)
        self.addCleanup(lambda: self.vm.stop())
        self.collector = harness.Collector(
            self.folder / "collector",
            f"remote_write: {{url: 'http://127.0.0.1:{self.vm.port}/api/v1/write'}}\nimport: {{remote_write: true}}\n")
        self.collector.start()
        self.addCleanup(lambda: self.collector.process.stop())

    def csv(self, name, rows):
        file = self.folder / name
        file.write_text("time,node,benchmark,metric,value,unit,kernel\n" + "".join(row + "\n" for row in rows))
        return str(file)

    def rows(self, nodes=NODES, times=TIMES):
        return [f"{t},{node},stream,triad,{value(node, TIMES.index(t))},GB/s,avx2" for t in times for node in nodes]

    def vm_count(self):
        _, answer = prometheus_server.request(
            self.vm.port, "/api/v1/query",
            [("query", f"sum(count_over_time({NAME}[30d]))"), ("time", BEGIN + 21 * 86400), ("nocache", 1)])
        result = answer.get("data", {}).get("result", [])
        return int(result[0]["value"][1]) if result else 0

    def flush(self):
        # VictoriaMetrics shows what it took after a while, or when asked to.
        with urllib.request.urlopen(f"http://127.0.0.1:{self.vm.port}/internal/force_flush", timeout=30) as answer:
            answer.read()

    def wait_for_vm(self, count):
        def arrived():
            self.flush()
            return self.vm_count() >= count
        harness.wait_for(f"{count} samples in VictoriaMetrics", arrived, 180)
        self.assertEqual(self.vm_count(), count)

    def test_a_file_goes_in_once_and_on_to_the_other_store(self):
        file = self.csv("all.csv", self.rows())
        code, out, err = run_cli(self.collector, "import", "csv", file)
        self.assertEqual((code, err), (0, ""))
        self.assertIn(f"{len(TIMES) * len(NODES)} runs imported, 0 were there already, 0 faults", out)
        code, out, _ = run_cli(self.collector, "import", "csv", file)
        self.assertEqual(code, 0)
        self.assertIn(f"0 runs imported, {len(TIMES) * len(NODES)} were there already, 0 faults", out)
        self.wait_for_vm(len(TIMES) * len(NODES))
        # Both say the same, and what the file says.
        for node in NODES:
            params = [("query", f'{NAME}{{node="{node}"}}[30d]'), ("time", BEGIN + 21 * 86400), ("nocache", 1)]
            answers = [prometheus_server.request(port, "/api/v1/query", params)[1]["data"]["result"]
                       for port in (self.collector.http_port, self.vm.port)]
            self.assertEqual(len(answers[0]), 1)
            self.assertEqual(answers[0][0]["metric"], answers[1][0]["metric"])
            self.assertEqual(answers[0][0]["metric"]["kernel"], "avx2")
            expected = [[t, value(node, i)] for i, t in enumerate(TIMES)]
            for answer in answers:
                self.assertEqual([[t, float(v)] for t, v in answer[0]["values"]], expected)

    def test_what_was_not_sent_is_sent_after_a_crash(self):
        self.vm.stop()
        run_cli(self.collector, "import", "csv", self.csv("first.csv", self.rows(times=TIMES[:100])))
        self.collector.process.kill()
        self.collector.start()
        run_cli(self.collector, "import", "csv", self.csv("second.csv", self.rows(times=TIMES[100:150])))
        port = self.vm.port
        self.vm = prometheus_server.Server(
            ["victoria-metrics", f"-storageDataPath={self.folder}/vm", f"-httpListenAddr=127.0.0.1:{port}",
             "-retentionPeriod=1y", "-search.latencyOffset=0s", "-search.disableCache", "-loggerLevel=ERROR"], port,
            "/health", self.folder / "vm.log")
        self.wait_for_vm(150 * len(NODES))

    def test_broken_rows_are_told_and_the_rest_goes_in(self):
        rows = self.rows(nodes=["n1"], times=TIMES[:3])
        rows.insert(1, "yesterday,n1,stream,triad,1,GB/s,")
        rows.insert(3, f"{TIMES[5]},n1,stream,triad,fast,GB/s,")
        rows.append(f"{TIMES[6]},n1,stream,triad,1,furlongs,")
        rows.append(f"{int(time.time()) + 86400},n1,stream,triad,1,GB/s,")
        file = self.csv("broken.csv", rows)
        code, out, err = run_cli(self.collector, "import", "csv", file)
        self.assertEqual(code, 1)
        self.assertIn("3 runs imported, 0 were there already, 4 faults", out)
        self.assertIn(f"{file}:3: time 'yesterday' is neither", err)
        self.assertIn(f"{file}:5: value 'fast' is no number", err)
        self.assertIn(f"{file}:7: ", err)
        self.assertIn(f"{file}:8: started_unix_ns is in the future", err)
        code, _, err = run_cli(self.collector, "import", "csv", str(self.folder / "missing.csv"))
        self.assertEqual(code, 4, err)

    def test_openmetrics_by_its_labels(self):
        file = self.folder / "exported.om"
        file.write_text("# TYPE disk_read_seconds gauge\n# UNIT disk_read_seconds seconds\n"
                        + "".join(f'disk_read_seconds{{instance="h7:9100",job="disks",device="sda"}} {i} {t}\n'
                                  for i, t in enumerate(TIMES[:10])) + "nonsense{ 1\n# EOF\n")
        code, out, err = run_cli(self.collector, "import", "openmetrics", str(file))
        self.assertEqual(code, 1)
        self.assertIn("10 runs imported", out)
        self.assertIn("exported.om:13: ", err)
        _, answer = prometheus_server.request(
            self.collector.http_port, "/api/v1/query",
            [("query", 'count_over_time({node="h7",benchmark="disks",device="sda"}[30d])'),
             ("time", BEGIN + 21 * 86400)])
        self.assertEqual(answer["data"]["result"][0]["value"][1], "10")

    def test_a_prometheus_sends_what_it_scrapes(self):
        folder = self.folder / "prometheus"
        folder.mkdir()
        port = prometheus_server.free_port()
        (folder / "prometheus.yml").write_text(
            "global: {scrape_interval: 1s}\n"
            f"scrape_configs: [{{job_name: self, static_configs: [{{targets: ['127.0.0.1:{port}']}}]}}]\n"
            f"remote_write: [{{url: 'http://127.0.0.1:{self.collector.http_port}/api/v1/write', "
            "queue_config: {max_samples_per_send: 1000, batch_send_deadline: 1s}}]\n")
        server = prometheus_server.Server(
            ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
             f"--web.listen-address=127.0.0.1:{port}"], port, "/-/ready", folder / "log")
        self.addCleanup(server.stop)

        def there():
            _, answer = prometheus_server.request(
                self.collector.http_port, "/api/v1/query",
                [("query", 'sum_over_time({__name__=~"fleetmark_self_up_.*",node="127.0.0.1"}[5m])')])
            result = answer.get("data", {}).get("result", [])
            return result and float(result[0]["value"][1]) >= 2
        harness.wait_for("two scrapes in the collector", there, 60)


if __name__ == "__main__":
    unittest.main()
