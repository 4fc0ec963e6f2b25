"""A benchmark that is left alone gives no finding; slowed by a real cause on the machine, it gives one, with
the right direction and about the right size."""

import subprocess
import sys
import unittest

from harness import EndToEndTest, wait_for

# What the cause alone can move: the share of a core. The clean phase is judged by it, since a rate such as gemm's
# also follows the host's clocks, and a machine that really changes by 5 % is rightly reported.
SHARE = {"name": "core_share", "plugin": "core_share", "schedule": "every 1s"}
GEMM = {"name": "gemm", "plugin": "gemm", "schedule": "every 1s",
        "params": {"n": 768, "repetitions": 4, "threads": 1}}
CLEAN_RUNS = 60
SLOW_RUNS = 12


class CompetingLoad:
    """Another process of the same weight on the one core of the agent. No CPU quota: a run that one holds back is
    invalid, and shows nothing."""

    def __init__(self):
        self.burner = None

    def slow(self):
        self.burner = subprocess.Popen(["taskset", "-c", "0", sys.executable, "-c", "while True: pass"])
        return 0.5

    def close(self):
        if self.burner:
            self.burner.kill()
            self.burner.wait()


class SlowdownTest(EndToEndTest):
    def samples(self, series):
        return self.c.get(f"series/{series['series_id']}/samples?limit=100000")["samples"]

    def series_of(self, metric):
        found = [s for s in self.c.all("series", "series") if s["key"]["metric"] == metric]
        return found[0] if found else None

    def findings_of(self, metric):
        """Those of a slow-down by a tenth or more: a machine that others use too may really change by a little."""
        return [f for f in self.c.all("findings", "findings") if f["series"]["metric"] == metric and f["change"] < -0.1]

    def assert_explains(self, finding, expected, slowed_from):
        print("finding:", finding["explanation"])
        self.assertEqual(finding["kind"], "KIND_CHANGE")
        self.assertEqual(finding["direction"], "DIRECTION_WORSE")
        self.assertEqual(finding["state"], "STATE_OPEN")
        self.assertAlmostEqual(1 + finding["change"], expected, delta=0.15)
        self.assertLessEqual(finding["change_low"], finding["change"])
        self.assertGreaterEqual(finding["change_high"], finding["change"])
        late = (int(finding["onset_latest_unix_ns"]) - slowed_from) / 1e9
        self.assertLess(abs(late), 15, "onset is within a few runs of the cause")

    def test_clean_then_slowed(self):
        cause = CompetingLoad()
        self.c = self.collector()
        # On the one core that the cause is on.
        agent = self.agent("node-0", [f"127.0.0.1:{self.c.grpc_port}"], [SHARE, GEMM]).start(["taskset", "-c", "0"])
        self.addCleanup(cause.close)
        self.addCleanup(agent.process.stop)

        share = wait_for("the series", lambda: self.series_of("share"))
        dgemm = wait_for("the series", lambda: self.series_of("dgemm"))
        wait_for("clean runs", lambda: len(self.samples(share)) >= CLEAN_RUNS, 240)
        self.assertEqual(self.findings_of("share"), [], "a benchmark left alone must give no finding")

        expected = cause.slow()
        slowed_from = int(self.samples(share)[-1]["time_unix_ns"])
        for series in (share, dgemm):
            before = len(self.samples(series))
            wait_for("slow runs", lambda: len(self.samples(series)) >= before + SLOW_RUNS, 180)

        found = wait_for("a finding", lambda: self.findings_of("share"), 20)
        self.assertEqual(len(found), 1, found)
        self.assert_explains(found[0], expected, slowed_from)
        # A real benchmark shows it too, whatever the host's clocks did before.
        worst = wait_for("a finding of gemm", lambda: [f for f in self.findings_of("dgemm") if f["change"] < -0.3], 20)
        self.assert_explains(worst[0], expected, slowed_from)


if __name__ == "__main__":
    unittest.main(verbosity=2)
