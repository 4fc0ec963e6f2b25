#!/usr/bin/env python3
"""The agent's wall clock is set forth and back by hours and days, by libfaketime, while benchmarks are due.

No run storm, no lost schedule, nothing lost, and no time in the store that is ahead of the collector's.

    FM_BIN_DIR=build/release/bin FM_SOURCE_DIR=. tests/fault/clock_test.py [--window SECONDS]

Exit status: 0 passed, 1 failed, 77 can't be run here.
"""

import argparse
import glob
import os
import pathlib
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
from harness import EndToEndTest, wait_for  # noqa: E402

WINDOW = 8
INTERVAL = 2
HOUR, DAY = 3600, 86400
STEPS = [0, DAY, 0, -DAY, 0, 3 * HOUR, -3 * HOUR, 0]  # the offset of the agent's clock in each window
SKEW = 900  # limits::kClockSkewSeconds
LIBRARIES = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")


class SteppedClock:
    """What the agent's wall clock is ahead of the real one; the monotonic clock is left alone."""

    def __init__(self, path):
        self.path = path
        self.set(0)

    def set(self, seconds):
        new = self.path.with_suffix(".new")
        new.write_text(f"{seconds:+d}\n")
        os.replace(new, self.path)

    def prefix(self):
        return ["env", f"LD_PRELOAD={LIBRARIES[0]}", f"FAKETIME_TIMESTAMP_FILE={self.path}",
                "FAKETIME_DONT_FAKE_MONOTONIC=1", "FAKETIME_NO_CACHE=1"]


class ClockTest(EndToEndTest):
    def test_steps_of_the_wall_clock(self):
        collector = self.collector()
        clock = SteppedClock(self.folder / "faketime")
        agent = self.agent("node-0", [f"127.0.0.1:{collector.grpc_port}"], [
            {"name": "tick", "plugin": "tick", "schedule": f"every {INTERVAL}s"},
            # Steps cross the hour and the day, which must not make these run.
            {"name": "yearly", "plugin": "tick", "schedule": "0 0 1 1 *", "splay": "0s"}]).start(clock.prefix())
        wait_for("runs", lambda: len(agent.completed_runs()) >= 2)
        windows = [self.window(agent, clock, offset) for offset in STEPS]
        self.assert_exactly_once(collector, [agent])
        runs = {r["run"]["run_id"]: r["run"] for r in collector.all("runs", "runs")}
        for offset, began, ended, completed in windows:
            self.check_times(offset, began, ended, [runs[run] for run in completed])
        metrics = collector.http("/metrics", parse=False)
        self.assertIn('fleetmark_ingest_records_refused_total{reason="future"} 0', metrics)
        self.assertNotRegex(metrics, r"(?m)^fleetmark_ingest_records_moved_back_total 0$")

    def window(self, agent, clock, offset):
        """Sets the clock and waits for WINDOW seconds: the offset, begin, end, and the runs completed in it."""
        before = len(agent.completed_runs())
        began = time.time()
        clock.set(offset)
        wait_for(f"runs go on within two intervals after the clock was set to {offset:+d} s",
                 lambda: len(agent.completed_runs()) > before, 2 * INTERVAL + 1)
        end = time.monotonic() + WINDOW - (time.time() - began)
        wait_for("the window is over", lambda: time.monotonic() > end, WINDOW + 5)
        completed = agent.completed_runs()[before:]
        # One run may have been under way, and one may begin with the window.
        self.assertLessEqual(len(completed), WINDOW / INTERVAL + 1, f"a run storm at {offset:+d} s")
        self.assertGreaterEqual(len(completed), WINDOW // INTERVAL - 2, f"lost schedules at {offset:+d} s")
        print(f"clock {offset:+7d} s: {len(completed)} runs in {WINDOW} s", flush=True)
        return offset, began, time.time(), completed

    def check_times(self, offset, began, ended, runs):
        for run in runs:
            started = int(run["started_unix_ns"]) / 1e9
            self.assertLessEqual(started, ended, run)
            self.assertLess(float(run["duration_seconds"]), 10, run)
            self.assertEqual(run["benchmark"], "tick")
        # The first may have started before the step.
        for run in runs[1:]:
            started = int(run["started_unix_ns"]) / 1e9
            warned = any("moved back" in w for w in run.get("warnings", []))
            self.assertEqual(warned, offset > SKEW, run)
            true = started - (0 if offset > SKEW else offset)
            self.assertGreater(true, began - 1, run)
            self.assertLess(true, ended + 1, run)


def main():
    global WINDOW
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--window", type=int, default=WINDOW)
    WINDOW = parser.parse_args().window
    if not LIBRARIES:
        print("skipped: needs Debian's package libfaketime")
        return 77
    program = unittest.main(argv=[sys.argv[0]], verbosity=2, exit=False)
    return 0 if program.result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
