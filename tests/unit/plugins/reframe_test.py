"""The plugin reframe: ReFrame's references to the letter, its reports, and a program in ReFrame's place."""

import json
import os
import pathlib
import sys
import tempfile
import unittest

import yaml

from harness import Plugin, Result, plugins_dir

sys.path.insert(0, os.path.join(plugins_dir(), "reframe"))
import reframe_report  # noqa: E402
from reframe_report import make_reference, read_report  # noqa: E402


def case(name, result="pass", perfvalues=None, **more):
    return {"name": name, "display_name": name, "unique_name": name, "system": "arc", "partition": "cpu", "environ": "gnu",
            "job_nodelist": ["n1"], "result": result, "perfvalues": perfvalues or {}, "fail_phase": None, **more}


def report(*runs, version="4.2"):
    return {"session_info": {"data_version": version}, "runs": [{"testcases": list(cases)} for cases in runs]}


class ReferenceTest(unittest.TestCase):
    def test_bounds(self):
        for triple, inside, outside in (
                ((100, -0.05, None), (95, 1e9), (94.9,)), ((100, None, 0.1), (110, -5), (110.1,)),
                ((-100, -0.1, 0.2), (-110, -80), (-110.1, -79.9)), ((0, -0.1, 0.4), (-0.1, 0.4), (-0.11, 0.5)),
                ((0.1, -1.0, None), (0.0,), (-0.001,))):
            reference = make_reference(*triple)
            for value in inside:
                self.assertTrue(reference.holds(value), (triple, value))
            for value in outside + (float("nan"),):
                self.assertFalse(reference.holds(value), (triple, value))

    def test_what_is_no_reference(self):
        for triple in ((0, None, None), (None, None, None), (5, None, None), (5, 0.1, None), (5, None, -0.1), (5, -2, None),
                       ("x", -0.1, 0.1), (float("nan"), -0.1, 0.1)):
            self.assertIsNone(make_reference(*triple), triple)

    def test_direction(self):
        self.assertEqual([make_reference(*t).better for t in ((1, -0.1, None), (1, None, 0.1), (1, -0.1, 0.1))],
                         ["higher", "lower", "none"])

    def test_names(self):
        self.assertEqual([reframe_report.metric_name(n) for n in ("Total IO Time", "bw", "4K-read", "é")],
                         ["total_io_time", "bw", "m_4k_read", "m_"])
        self.assertEqual([reframe_report.unit_name(u) for u in ("inputs/s", "GFlops", "furlongs", None)],
                         ["samples/s", "GFLOP/s", "1", "1"])


class ReportTest(unittest.TestCase):
    def read(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "r.json")
            path.write_text(text if isinstance(text, str) else json.dumps(text), "utf-8")
            return read_report(path)

    def test_the_last_try_counts(self):
        found = self.read(report([case("A", "fail"), case("B")], [case("A", "pass", {"arc:cpu:bw": [5, 0, None, None, "MB/s",
                                                                                                    "pass"]})]))
        self.assertEqual([(c.test, c.result, c.tries) for c in found.cases], [("A", "pass", 2), ("B", "pass", 1)])

    def test_older_families(self):
        old = {"name": "A", "system": "arc:cpu", "environment": "gnu", "nodelist": ["n1"], "result": "success", "perfvars": [
            {"name": "bw", "reference": 4, "thres_lower": -0.1, "thres_upper": None, "unit": "GB/s", "value": 4.2}]}
        found = self.read(report([old], version="3.1")).cases[0]
        self.assertEqual((found.labels["partition"], found.environ, found.metrics[0].value), ("arc:cpu", "gnu", 4.2))
        self.assertEqual(self.read(report([{**old, "perfvars": None}], version="2.0")).cases[0].metrics, ())

    def test_nan_and_five_elements(self):
        text = json.dumps(report([case("A", "fail", {"arc:cpu:a": [float("nan"), 5, -0.1, None, "s"],
                                                     "arc:cpu:b": [None, 0, None, None, "s", None]})]))
        self.assertIn("NaN", text)
        self.assertEqual([m.value for m in self.read(text).cases[0].metrics], [None, None])

    def test_generated_parameters_make_no_test_of_their_own(self):
        found = self.read(report([case("x", display_name="Stream %size=4 %.repeat_no=2 %.nid=n1")]))
        self.assertEqual(found.cases[0].test, "Stream %size=4")

    def test_what_is_no_report(self):
        for text, words in (("[]", "no run report"), ("{", "no run report"), (report(version="5.0"), "5.0"),
                            ({"session_info": {}}, "no run report")):
            with self.assertRaisesRegex(reframe_report.ReportError, words):
                self.read(text)
        self.assertEqual(self.read(report([None, 3, {}])).odd, 3)


class RunTest(unittest.TestCase):
    def run_plugin(self, content, status=0, **params):
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as work:
            path = pathlib.Path(folder, "reframe")
            pathlib.Path(folder, "content").write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
            path.write_text(f"""#!/bin/sh
for a; do case $a in --report-file=*) [ -s {folder}/content ] && cp {folder}/content "${{a#*=}}";; esac; done
echo "$@" > {folder}/arguments; echo running; exit {status}
""")
            path.chmod(0o755)
            child = Plugin("reframe").start(work, {"checks": [folder], **params},
                                            {"PATH": folder + ":" + os.environ["PATH"]}, "suite")
            stdout, log = child.communicate(timeout=60)
            self.arguments = pathlib.Path(folder, "arguments").read_text().split()
            file = pathlib.Path(work, "references.yaml")
            self.references = yaml.safe_load(file.read_text()) if file.exists() else None
            return Result(child.returncode, stdout.decode(), log.decode(), 0)

    def test_takes_over_values_results_and_references(self):
        result = self.run_plugin(report([
            case("Good", "pass", {"arc:cpu:bw": [105, 100, -0.05, None, "MB/s", "pass"]}),
            case("Slow", "fail", {"arc:cpu:bw": [80, 100, -0.05, None, "MB/s", "fail"],
                                  "arc:cpu:t": [1, 0, None, None, "s", "pass"]}, fail_phase="performance",
                 fail_reason="t=1, expected 0"),
            case("Broken", "fail", {"arc:cpu:bw": [None, 100, -0.05, None, "MB/s", None]}, fail_phase="sanity"),
            case("Left", "skip")]), status=1, tags=["daily"], names=["Stream"], config="site.py")
        self.assertTrue(result.done, result)
        values = [(s["labels"]["test"], s["name"], s["value"], s.get("better")) for s in result.of("sample")]
        self.assertEqual(values, [
            ("Good", "bw", 105, "higher"), ("Good", "passed", 1, "higher"), ("Slow", "bw", 80, "higher"),
            ("Slow", "t", 1, None), ("Slow", "passed", 0, "higher"), ("Broken", "passed", 0, "higher")])
        self.assertEqual(result.of("sample")[0]["labels"],
                         {"test": "Good", "partition": "arc:cpu", "environ": "gnu", "host": "n1"})
        events = [e["message"] for e in result.of("event")]
        self.assertIn("Slow: bw is 80, outside of 95 to inf", events)
        self.assertIn("Broken: fail in sanity", events)
        self.assertEqual(self.references["references"][0], {
            "benchmark": "suite", "metric": "bw", "value": 100, "unit": "MB/s", "lower": -0.05,
            "labels": {"test": "Good", "partition": "arc:cpu", "environ": "gnu", "host": "n1"}})
        self.assertTrue({"--tag=daily", "--name=Stream", "--config-file=site.py", "--run"} <= set(self.arguments))

    def test_no_report_fails_and_nothing_run_is_skipped(self):
        result = self.run_plugin("", status=1)
        self.assertEqual(result.status, 1, result)
        self.assertRegex(result.log, "(?s)running.*status 1 and without a report")
        self.assertEqual(self.run_plugin(report([case("A", "skip")])).status, 77)
        self.assertEqual(self.run_plugin("{").status, 1)

    def test_missing(self):
        self.assertEqual(Plugin("reframe").run({"reframe": "no-such-program", "checks": []}).status, 77)


if __name__ == "__main__":
    unittest.main()
