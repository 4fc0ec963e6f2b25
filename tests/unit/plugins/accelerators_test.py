"""The plugins cerebras and graphcore, with programs in place of the vendors' that say what those are known to say."""

import os
import pathlib
import signal
import sys
import tempfile
import time
import unittest

from harness import Plugin, Result, plugins_dir

sys.path[:0] = [os.path.join(plugins_dir(), "cerebras"), os.path.join(plugins_dir(), "graphcore")]
import csctl  # noqa: E402
import graphcore  # noqa: E402
import ipu_monitor  # noqa: E402
from cerebras_log import TrainingLog  # noqa: E402
from fleetmark_output import OutputError  # noqa: E402

STEPS = """\
INFO: Execute job id: wsjob-compile1, remote log path: /n1/wsjob/workdir/wsjob-compile1
INFO: Execute job id: wsjob-train2, remote log path: /n1/wsjob/workdir/wsjob-train2
INFO: | Train Device=CSX, Step=50, Loss=8.31250, Rate=69.37 samples/sec, GlobalRate=69.10 samples/sec
INFO: | Train Device=CSX, Step=100, Loss=7.25000, Rate=68.41 samples/sec, GlobalRate=68.56 samples/sec
"""
COMPLETED = "INFO: Training completed successfully!\n"


class FakeHost(unittest.TestCase):
    """A folder of programs that comes first in PATH."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.env = {"PATH": "%s:%s" % (self.folder, os.environ["PATH"])}

    def program(self, name, body):
        path = self.folder / name
        path.write_text("#!/bin/sh\n" + body + "\n", "utf-8")
        path.chmod(0o755)

    def text(self, name, text):
        (self.folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return self.folder / name


class CerebrasTest(FakeHost):
    def run_training(self, log, status=0, phase="SUCCEEDED", before="", **params):
        path = self.text("log", log)
        self.program("cszoo", f'echo "$@" > {self.folder}/arguments; cat {path}; {before}\nexit {status}')
        self.program("csctl", f'echo "$@" >> {self.folder}/csctl.log\n[ "$1" = get ] && [ -n "{phase}" ] || [ "$1" = cancel ] '
                              f'|| exit 1\necho \'{{"status":{{"phase":"{phase}"}}}}\'')
        config = self.text("params.yaml", "trainer: {}\n")
        return Plugin("cerebras").run({"config": str(config), **params}, self.env)

    def said_to_csctl(self):
        path = self.folder / "csctl.log"
        return path.read_text().splitlines() if path.exists() else []

    def test_a_training(self):
        result = self.run_training(STEPS + COMPLETED, num_csx=2, arguments=["--mount_dirs", "/data"])
        Plugin("cerebras").check_metrics(result)
        self.assertEqual([(m["name"], m["value"]) for m in result.of("metric")],
                         [("throughput", 68.56), ("steps", 100), ("loss", 7.25)])
        self.assertEqual(result.of("metric")[0]["labels"], {"systems": "2"})
        arguments = (self.folder / "arguments").read_text().split()
        self.assertEqual(arguments[0], "fit")
        self.assertIn("--num_csx=2", arguments)
        self.assertEqual(arguments[-2:], ["--mount_dirs", "/data"])
        self.assertNotIn("cancel job wsjob-train2", self.said_to_csctl())

    def test_what_is_no_result(self):
        for log, words in ((STEPS, "does not say that the training completed"),
                           (STEPS.replace("68.56", "nan") + COMPLETED, "not a plain finite number"),
                           (COMPLETED, "no step line")):
            result = self.run_training(log)
            self.assertTrue(result.done and not result.of("metric"), result)
            self.assertIn(words, result.of("invalid")[0]["message"])

    def test_ends(self):
        for status, phase, outcome, words in (
                (1, "FAILED", 1, "wsjob-train2 failed .*ERROR: wafer"), (1, "", 1, "failed"), (0, "FAILED", 1, "failed"),
                (1, "CANCELLED", 75, "cancelled by somebody"), (0, "CANCELLED", 75, "cancelled by somebody"),
                (1, "QUEUED", 75, "waited in the queue"), (1, "SUCCEEDED", 1, "failed")):
            with self.subTest(status=status, phase=phase):
                result = self.run_training(STEPS + "ERROR: wafer is on fire\n", status, phase)
                self.assertEqual(result.status, outcome, result)
                self.assertRegex(result.log.splitlines()[-1], words)

    def test_a_long_queue(self):
        result = self.run_training(STEPS.splitlines(True)[0], phase="QUEUED", before="sleep 60", max_pending=0)
        self.assertEqual(result.status, 75, result)
        self.assertIn("did not start", result.log)
        self.assertIn("cancel job wsjob-compile1", self.said_to_csctl())

    def test_a_stop_cancels_the_job(self):
        path = self.text("log", STEPS)
        self.program("cszoo", f"cat {path}; touch {self.folder}/there; sleep 60")
        self.program("csctl", f'echo "$@" >> {self.folder}/csctl.log')
        with tempfile.TemporaryDirectory() as work:
            child = Plugin("cerebras").start(work, {"config": str(self.text("c.yaml", ""))}, self.env)
            limit = time.monotonic() + 20
            while not (self.folder / "there").exists() and time.monotonic() < limit:
                time.sleep(0.02)
            while "Step=100" not in pathlib.Path(work, "training.log").read_text() and time.monotonic() < limit:
                time.sleep(0.02)
            time.sleep(0.2)  # the line goes from the file to the reader
            child.send_signal(signal.SIGTERM)
            child.communicate(timeout=20)
        self.assertEqual(child.returncode, 143)
        self.assertEqual(self.said_to_csctl(), ["cancel job wsjob-train2"])

    def test_older_launchers(self):
        script = str(self.text("run.py", ""))
        for launcher, name, first in (("run_py", "python", [script, "CSX", "--mode=train"]),
                                      ("csrun", "csrun_wse", ["python", script, "--mode=train"])):
            self.program(name, f'echo "$@" > {self.folder}/arguments; cat {self.text("log", STEPS + COMPLETED)}')
            self.program("csctl", "exit 1")
            result = Plugin("cerebras").run({"launcher": launcher, "script": script, "config": script}, self.env)
            self.assertEqual(result.values("throughput"), [68.56], result)
            self.assertEqual((self.folder / "arguments").read_text().split()[:3], first)

    def test_missing(self):
        self.assertEqual(Plugin("cerebras").run({"config": "/etc/hosts"}).status, 77)
        self.assertEqual(Plugin("cerebras").run({"config": "/no/such"}).status, 78)

    def test_phases(self):
        for text, phase in (('{"status":{"phase":"SUCCEEDED"}}', "SUCCEEDED"), ('{"status":"Queued"}', "WAITING"),
                            ('{"status":{"phase":"MELTED"}}', "UNKNOWN"), ("", "UNKNOWN"), ("[]", "UNKNOWN"),
                            ("NAME          AGE  PHASE    SYSTEMS\nwsjob-a  3m   RUNNING  cs1\n", "UNKNOWN"),
                            ("NAME     AGE  PHASE    SYSTEMS\nwsjob-a  3m   RUNNING  cs1\n", "RUNNING")):
            self.assertEqual(csctl.parse_phase(text).name, phase, text)

    def test_log_with_a_prefix_and_bytes_that_are_no_text(self):
        log = TrainingLog()
        for line in STEPS.splitlines():
            log.read("2026-01-01 00:00:00,000 \ufffd " + line)
        self.assertEqual((log.jobs, log.steps, log.rate), (["wsjob-compile1", "wsjob-train2"], 100, 68.56))


GC_MONITOR = """\
+---------------+--------------+------------+-------------+
|      IPUs in vipu partition  |  Board     |             |
+---------------+--------------+------------+-------------+
|  Id  |  Clock   |  Temp    |  IPU Power  |  Utilisation |
+------+----------+----------+-------------+--------------+
|  0   |  1330MHz |  24.2 C  |  91.8 W     |  50.0 %      |
|  1   |  1330MHz |  N/A     |  88.2 W     |  70.0 %      |
|  2   |  1330MHz |  N/A     |  N/A        |  N/A         |
+------+----------+----------+-------------+--------------+
"""


class GraphcoreTest(FakeHost):
    def run_training(self, body, **params):
        self.program("gc-info", "true")
        self.program("gc-monitor", f"cat {self.text('monitor', GC_MONITOR)}")
        self.program("poprun", f'echo "$@" > {self.folder}/arguments\n' + body)
        return Plugin("graphcore").run({"command": ["train", "x"], "instances": 2, "replicas": 4, "monitor_interval": 0.1,
                                        **params}, self.env)

    def test_rates_of_the_instances_add_up_and_power_is_read(self):
        result = self.run_training("sleep 1; echo '[1,0]<stdout>:step 1 throughput: 90 samples/sec'; echo "
                                   "'[1,0]<stdout>:step 2 Throughput: 100.5 samples/sec'; "
                                   "echo '[1,1]<stdout>:step 2 throughput = 99.5 samples/s'")
        self.assertTrue(result.done, result)
        self.assertEqual([(m["name"], m["value"]) for m in result.of("metric")],
                         [("throughput", 200.0), ("ipu_power", 180.0), ("ipu_utilisation", 60.0)])
        self.assertEqual((self.folder / "arguments").read_text().split(),
                         ["--num-instances=2", "--num-replicas=4", "train", "x"])

    def test_ends(self):
        for body, status, words in (
                ("echo 'RuntimeError: poptorch_cpp_error: Failed to acquire 4 IPU(s)'; exit 1", 75, "not free"),
                ("echo nonsense; exit 3", 1, "status 3")):
            result = self.run_training(body, monitor=[])
            self.assertEqual(result.status, status, result)
            self.assertIn(words, result.log.splitlines()[-1])
        self.assertTrue(self.run_training("echo no rate", monitor=[]).of("invalid"))

    def test_own_patterns(self):
        result = self.run_training("echo rate 5", monitor=[], metrics=[
            {"name": "rate", "unit": "1/s", "better": "higher", "pattern": r"rate (\S+)"}])
        self.assertEqual(result.values("rate"), [5])

    def test_missing(self):
        self.assertEqual(Plugin("graphcore").run({"command": ["true"]}).status, 77)

    def test_tables_and_rates(self):
        self.assertEqual(ipu_monitor.parse_tables(GC_MONITOR), {"power": [91.8, 88.2], "utilisation": [50.0, 70.0]})
        self.assertEqual(ipu_monitor.parse_tables("nothing"), {"power": [], "utilisation": []})
        with self.assertRaisesRegex(OutputError, "1,234"):
            graphcore.read_rates("throughput: 1,234.5 samples/sec")


if __name__ == "__main__":
    unittest.main()
