"""History from other tools: ReFrame's reports, logs and posts, SuperBench, Google Benchmark, into a real collector."""

import json
import tempfile
import time
import unittest
import urllib.error
import urllib.request

from harness import Collector, cli

TIME = int(time.time()) - 30 * 86400 + 0.5
STAMP = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(TIME))
HEADER = ("result|job_completion_time|environ|job_completion_time_unix|job_exitcode|job_nodelist|name|partition|"
          "bw_value|bw_unit|bw_ref|bw_lower_thres|bw_upper_thres|short_name|system\n")


def row(value, seconds):
    return f"pass|{STAMP}|gnu|{seconds}|0|n02|Bw|cpu|{value}|MB/s|100|-0.05|None|Bw|sys\n"


def case(name, values, nodes=("n01",), result="pass", at=TIME):
    return {"display_name": name, "name": name, "unique_name": name, "system": "sys", "partition": "cpu", "environ": "gnu",
            "job_nodelist": list(nodes), "job_completion_time_unix": at, "job_exitcode": 0, "result": result,
            "perfvalues": values}


def record(metrics, **more):
    """What ReFrame's httpjson handler posts."""
    body = {"check_name": "Live %n=2", "check_display_name": "Live %n=2", "check_system": "sys", "check_partition": "cpu",
            "check_environ": "gnu", "check_job_nodelist": ["n03"], "check_job_completion_time_unix": TIME,
            "check_job_completion_time": STAMP + "+00:00", "check_job_exitcode": 0, "check_result": "pass",
            "check_fail_phase": None, "check_fail_reason": None, "check_info": "Live %n=2 @sys:cpu+gnu",
            "check_perf_var": None, "check_perf_value": None, "check_tags": [], "check_num_tasks": 1, "hostname": "login",
            "osuser": "bench", "version": "4.10.1"}
    for name, (value, low, high) in metrics.items():
        base = f"check_perf_{name}_"
        body |= {base + "value": value, base + "ref": 100, base + "lower_thres": low, base + "upper_thres": high,
                 base + "unit": "MB/s", base + "result": "pass"}
    return json.dumps(body | more).encode()


class ImportTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.collector = Collector(f"{scratch.name}/c", "import: {reframe: true}\n").start()
        self.addCleanup(self.collector.process.stop)
        self.folder = self.collector.folder / "history"
        (self.folder / "perflogs/sys/cpu").mkdir(parents=True)
        self.outputs = self.folder / "outputs" / time.strftime("%Y-%m-%d_%H-%M-%S", time.gmtime(TIME))
        self.outputs.mkdir(parents=True)

    def series(self):
        return {(s["key"]["node"], s["key"]["benchmark"], s["key"]["metric"]): s
                for s in self.collector.all("series", "series")}

    def post(self, body, content_type="application/json"):
        request = urllib.request.Request(f"http://127.0.0.1:{self.collector.http_port}/api/v1/reframe", data=body,
                                         headers={"Content-Type": content_type})
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def test_a_folder_of_reframes_files_is_imported_once(self):
        report = {"session_info": {"data_version": "4.2", "time_end_unix": TIME}, "runs": [{"run_index": 0, "testcases": [
            case("Bw", {"sys:cpu:bw": [99.0, 100, -0.05, None, "MB/s", "pass"]}),
            case("Lat", {"sys:cpu:lat": [float("nan"), 1, None, 0.1, "us", "fail"]}, result="fail"),
            case("Many", {"sys:cpu:bw": [7.0, 0, None, None, "GB/s", "pass"]}, nodes=("n01", "n02"))]}]}
        (self.folder / "run-report-1.json").write_text(json.dumps(report))
        (self.folder / "latest.json").symlink_to(self.folder / "run-report-1.json")
        (self.folder / "perflogs/sys/cpu/Bw.log").write_text(
            HEADER + row(98, TIME) + "pass|cut off\n" + row(97, TIME + 3600))
        references = self.folder / "references.yaml"

        first = cli(self.collector, "import", "reframe", str(self.folder), "--references", str(references), check=False)
        self.assertEqual(first.returncode, 1, first.stdout + first.stderr)  # one row is broken
        self.assertIn("4 runs imported, 0 were there already, 1 faults", first.stdout + first.stderr)
        self.assertIn("perflogs/sys/cpu/Bw.log:3: ", first.stderr)
        self.assertIn("1 tests had failed", first.stderr)
        self.assertIn("lower: -0.05", references.read_text())
        again = cli(self.collector, "import", "reframe", str(self.folder), check=False)
        self.assertIn("0 runs imported, 4 were there already", again.stdout + again.stderr)

        found = self.series()
        self.assertEqual(set(found), {("n01", "Bw", "bw"), ("n02", "Bw", "bw"), ("sys", "Many", "bw")})
        samples = self.collector.get(f"series/{found['n02', 'Bw', 'bw']['series_id']}/samples")["samples"]
        self.assertEqual(sorted(s["value"] for s in samples), [97, 98])

        # What the store would drop is not said to be stored.
        (self.folder / "run-report-1.json").write_text(json.dumps(
            {"session_info": {"data_version": "4.2"}, "runs": [{"testcases": [
                case("Bw", {"sys:cpu:bw": [99.0, 100, -0.05, None, "MB/s", "pass"]}, at=TIME - 100 * 86400)]}]}))
        old = cli(self.collector, "import", "reframe", str(self.folder / "run-report-1.json"), check=False)
        self.assertIn("0 runs imported", old.stdout + old.stderr)
        self.assertIn("store.keep.samples", old.stderr)

        # The written references are configuration.
        self.collector.config.write_text(self.collector.config.read_text() + references.read_text())
        self.assertEqual(self.collector.process.stop(), 0)
        self.collector.start()
        self.addCleanup(self.collector.process.stop)

    def test_other_tools_files_of_several_folders(self):
        summary = self.outputs / "results-summary.jsonl"
        summary.write_text(json.dumps({"node": "g1", "gemm-flops/fp64:0": 9000.5}) + '\n{"node": "g3", "gemm-flops/fp64:0": \n' +
                           json.dumps({"node": "g2", "gemm-flops/fp64:0": 8999.5}) + "\n")
        done = cli(self.collector, "import", "superbench", str(self.folder), check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("results-summary.jsonl:2: ", done.stderr)
        one, two = self.folder / "a.json", self.folder / "b.json"
        for path, value, later in ((one, 12.5, 0), (two, 13.5, 60)):
            date = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(TIME + later))
            path.write_text(json.dumps({
                "context": {"date": date, "host_name": "d1", "executable": "./mem"},
                "benchmarks": [{"name": "BM/8", "run_name": "BM/8", "run_type": "iteration", "iterations": 1,
                                "real_time": value, "cpu_time": value, "time_unit": "ns"}]}))
        cli(self.collector, "import", "googlebenchmark", str(one), str(two))
        found = self.series()
        self.assertIn(("g1", "gemm-flops", "fp64"), found)
        self.assertIn(("g2", "gemm-flops", "fp64"), found)
        samples = self.collector.get(f"series/{found['d1', 'mem', 'real_time']['series_id']}/samples")["samples"]
        self.assertEqual([s["value"] for s in samples], [12.5, 13.5])

    def test_what_reframe_posts_becomes_history(self):
        body = record({"bw": (99.5, -0.05, None)})
        self.assertEqual(self.post(body)[0], 204)
        self.assertEqual(self.post(body)[0], 204)  # a retry of ReFrame's
        later = record({}, check_job_completion_time_unix=TIME + 60, check_perf_var="bw", check_perf_value=98.5,
                       check_perf_unit="MB/s", check_perf_ref=100, check_perf_lower_thres=-0.05,
                       check_perf_upper_thres=None)
        self.assertEqual(self.post(later)[0], 204)
        failed = record({"bw": (None, -0.05, None)}, check_result="fail", check_fail_phase="sanity")
        self.assertEqual(self.post(failed)[0], 204)
        self.assertEqual(self.post(b"hello")[0], 400)
        self.assertEqual(self.post(body, "text/plain")[0], 400)
        self.assertEqual(self.post(b"[" * 100_000 + b"{")[0], 400)
        series = self.series()["n03", "Live", "bw"]
        samples = self.collector.get(f"series/{series['series_id']}/samples")["samples"]
        self.assertEqual([s["value"] for s in samples], [99.5, 98.5])


if __name__ == "__main__":
    unittest.main(verbosity=2)
