#!/usr/bin/env python3
"""The collector's disk fills up under load.

It refuses results and says so, goes on answering questions, agents keep what they measure, and once there is space
everything goes on by itself with nothing lost.

    FM_BIN_DIR=build/release/bin FM_SOURCE_DIR=. tests/fault/store_disk_full_test.py

Exit status: 0 passed, 1 failed, 77 can't be run here.
"""

import os
import pathlib
import subprocess
import sys
import unittest
import urllib.error

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
from harness import EndToEndTest, Load, cli, wait_for  # noqa: E402

TICKS = [{"name": "tick", "plugin": "tick", "schedule": "every 1s"}]
MIB = 1 << 20


class StoreDiskFullTest(EndToEndTest):
    def setUp(self):
        super().setUp()
        self.disk = self.folder / "disk"
        self.disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=160m", "tmpfs", self.disk]).returncode != 0:
            self.skipTest("may not mount here")
        self.addCleanup(subprocess.run, ["umount", "-l", self.disk])

    def ready_status(self, collector):
        try:
            collector.http("/readyz", parse=False)
            return 200
        except urllib.error.HTTPError as e:
            return e.code

    def runs_of(self, agent, collector):
        return [r["run"]["run_id"] for r in collector.all("runs", "runs", f"&node={agent.name}")]

    def fill(self, but_bytes):
        with open(self.disk / "ballast", "wb") as ballast:
            fs = os.statvfs(self.disk)
            os.posix_fallocate(ballast.fileno(), 0, fs.f_bavail * fs.f_frsize - but_bytes)

    def test_refuses_reads_and_goes_on_by_itself(self):
        collector = self.collector(
            store=f"reserve_bytes: 48MiB, write_buffer_bytes: 1MiB, backup_dir: {self.disk}/backups",
            data_dir=self.disk / "data")
        agent = self.agent("node-0", [f"127.0.0.1:{collector.grpc_port}"], TICKS).start()
        load = Load(collector, nodes=2, per_second=1000)
        self.addCleanup(load.kill)
        wait_for("runs of the agent", lambda: len(self.runs_of(agent, collector)) >= 2)
        self.fill(but_bytes=40 * MIB)
        wait_for("the collector refuses", lambda: self.ready_status(collector) == 503)
        full = len(agent.completed_runs())
        problems = collector.get("status")["problems"]
        self.assertTrue(any("remain free" in p for p in problems), problems)
        self.assertIn("a backup needs 48 MiB free", cli(collector, "backup", check=False).stderr)
        wait_for("the agent measures on", lambda: len(agent.completed_runs()) >= full + 5, seconds=60)
        self.assertGreater(len(set(agent.completed_runs()) - set(self.runs_of(agent, collector))), 3,
                           "was not full in between")
        self.assertIsNone(collector.process.popen.poll(), "the collector ended")
        load.check()
        (self.disk / "ballast").unlink()
        wait_for("ready again", lambda: self.ready_status(collector) == 200)
        totals = load.finish()
        samples = load.verify()
        kept = set(agent.completed_runs())
        wait_for("what the agent kept arrives", lambda: kept <= set(self.runs_of(agent, collector)), seconds=60)
        agent.process.stop()
        runs = self.runs_of(agent, collector)
        self.assertEqual(set(agent.completed_runs()) - set(runs), set())
        self.assertEqual(len(runs), len(set(runs)))
        self.assertEqual(collector.process.stop(), 0)
        status, output = collector.command("check")
        self.assertEqual(status, 0, output)
        print(f"{sum(totals['acked'])} runs acknowledged around a full disk, {samples} samples there once and right")


def main():
    program = unittest.main(argv=[sys.argv[0]], verbosity=2, exit=False)
    if program.result.skipped:
        return 77
    return 0 if program.result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
