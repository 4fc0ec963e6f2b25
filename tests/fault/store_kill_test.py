#!/usr/bin/env python3
"""The collector is killed again and again while it takes results in, compacts, drops what is old and is backed up.

Every run that it acknowledged is there once, bit for bit; its store is whole, and so is its last backup.

    FM_BIN_DIR=build/release/bin FM_SOURCE_DIR=. tests/fault/store_kill_test.py [--kills N] [--seed N]
"""

import argparse
import pathlib
import random
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
from harness import BIN, EndToEndTest, Load, cli, wait_for  # noqa: E402

KILLS = 20
SEED = 1
DAY_NS = 86_400 * 10**9


class BackupAgainAndAgain(threading.Thread):
    def __init__(self, collector):
        super().__init__()
        self.collector = collector
        self.ending = threading.Event()
        self.made = 0

    def run(self):
        while not self.ending.wait(0.1):
            self.made += cli(self.collector, "backup", check=False).returncode == 0

    def stop(self):
        self.ending.set()
        self.join()


class StoreKillTest(EndToEndTest):
    def test_what_was_acknowledged_is_there(self):
        dice = random.Random(SEED)
        backups = self.folder / "backups"
        # Small buffers, so that flushes and compactions are under way at any time.
        collector = self.collector(store=f"reserve_bytes: 0, write_buffer_bytes: 1MiB, cache_bytes: 1MiB, "
                                         f"backup_dir: {backups}, backups_kept: 2, keep: {{samples: 1d, runs: 1d}}")
        began = time.monotonic()
        load = Load(collector, per_second=300)
        # This node's runs pass the age at which they are dropped as the test goes on; each start drops some.
        old = Load(collector, prefix="old", nodes=1, per_second=50, step_ns=20_000_000,
                   t0_ns=time.time_ns() - DAY_NS + 10 * 10**9)
        self.addCleanup(load.kill)
        self.addCleanup(old.kill)
        backing = BackupAgainAndAgain(collector)
        backing.start()
        try:
            compactions = self.kill_repeatedly(collector, dice, (load, old))
        finally:
            backing.stop()
        totals, old_totals = load.finish(), old.finish()
        samples = load.verify()
        # A chunk goes as a whole once its last sample is too old, a sample at once where it comes too old.
        old_samples = old.verify(oldest_ns=time.time_ns() - DAY_NS + 5 * 10**9)
        self.assertLess(old_samples, 5 * old_totals["acked"][0] + 1)
        self.assertEqual(collector.process.stop(), 0)
        status, output = collector.command("check")
        self.assertEqual(status, 0, output)
        names = sorted(p.name for p in backups.iterdir() if not p.name.endswith(".unfinished"))
        self.assertGreater(backing.made, 0)
        self.assertEqual(collector.command("restore", "--move_aside", backups / names[-1])[0], 0)
        print(f"{KILLS} kills of the collector in {time.monotonic() - began:.0f} s (seed {SEED}), "
              f"{compactions} of `compact`, {backing.made} backups: {sum(totals['acked'])} runs acknowledged, "
              f"{samples} samples there once and right; {old_totals['acked'][0]} runs acknowledged while old ones are "
              f"dropped, {old_samples // 5} of them there; {totals['reconnects']} reconnections")

    def kill_repeatedly(self, collector, dice, loads):
        compactions = 0
        for _ in range(KILLS):
            # Short lives hit the start, long ones compaction and backups.
            time.sleep(dice.choice([dice.uniform(0, 0.3), dice.uniform(0.3, 1.5)]))
            for load in loads:
                load.check()
            self.assertIsNone(collector.process.popen.poll(), "the collector ended by itself")
            collector.process.kill()
            if dice.random() < 0.2:
                self.kill_compact(collector, dice)
                compactions += 1
            collector.start()
        return compactions

    def kill_compact(self, collector, dice):
        compact = subprocess.Popen([BIN / "fleetmark-collector", "--config", collector.config, "compact"],
                                   stdin=subprocess.DEVNULL)
        try:
            self.assertEqual(compact.wait(dice.uniform(0, 0.5)), 0)
        except subprocess.TimeoutExpired:
            compact.kill()
            compact.wait()


def main():
    global KILLS, SEED
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()
    KILLS, SEED = options.kills, options.seed
    program = unittest.main(argv=[sys.argv[0]], verbosity=2, exit=False)
    return 0 if program.result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
