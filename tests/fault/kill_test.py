#!/usr/bin/env python3
"""The agent is killed again and again under load, while its collector and the network come and go.

Every run that the agent has said is complete is then in the collector exactly once.

    FM_BIN_DIR=build/release/bin FM_SOURCE_DIR=. tests/fault/kill_test.py [--kills N] [--seed N] [--delay MS]

Exit status: 0 passed, 1 failed, 77 can't be run here.
"""

import argparse
import pathlib
import random
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import netns  # noqa: E402
from harness import EndToEndTest, wait_for  # noqa: E402

KILLS = 15
SEED = 1
DELAY_MS = 15  # each way

BENCHMARKS = [{"name": f"tick-{i}", "plugin": "tick", "schedule": "every 1s",
               "params": {"value": i, "sleep_ms": sleep_ms, "log_bytes": log_bytes}}
              for i, (sleep_ms, log_bytes) in enumerate([(0, 0), (0, 8192), (20, 0), (50, 100), (200, 0), (700, 0)])]


class Weather(threading.Thread):
    """Breaks the collector and the link at random, one thing at a time, until it is told to stop."""

    def __init__(self, collector, link, dice):
        super().__init__()
        self.collector, self.link, self.dice = collector, link, dice
        self.ending = threading.Event()
        self.counts = {"collector_kills": 0, "partitions": 0, "losses": 0}
        self.error = None

    def run(self):
        try:
            troubles = []
            while not self.ending.wait(self.dice.uniform(0.2, 2)):
                if not troubles:  # each kind comes as often as the others, however short the test
                    troubles = [self.kill_collector, self.partition, self.loss]
                    self.dice.shuffle(troubles)
                troubles.pop()()
        except Exception as e:  # the test's thread reports it
            self.error = e

    def kill_collector(self):
        self.counts["collector_kills"] += 1
        self.collector.process.kill()
        self.ending.wait(self.dice.uniform(0, 3))
        self.collector.start()

    def partition(self):
        self.counts["partitions"] += 1
        self.link.cut()
        self.ending.wait(self.dice.uniform(0.2, 4))
        self.link.join()

    def loss(self):
        self.counts["losses"] += 1
        self.link.lose(self.dice.choice([5, 20, 40]))
        self.ending.wait(self.dice.uniform(0.5, 5))
        self.link.lose_nothing()

    def stop(self):
        self.ending.set()
        self.join()


class KillTest(EndToEndTest):
    def test_every_completed_run_arrives_once(self):
        link = netns.Link(self.folder, DELAY_MS)
        self.addCleanup(link.close)
        collector = netns.FarCollector(self.folder / "collector", link)
        agent = netns.FarAgent(self.folder / "node-0", "node-0", link, collector, BENCHMARKS)
        self.started += [collector, agent]
        collector.start()
        agent.start()
        wait_for("a first run", agent.completed_runs)
        weather = Weather(collector, link, random.Random(SEED + 1))
        weather.start()
        began = time.monotonic()
        try:
            self.kill_repeatedly(agent, weather)
        finally:
            weather.stop()
        self.assertIsNone(weather.error)
        link.heal()
        took = time.monotonic() - began
        wait_for("runs go on", lambda n=len(agent.completed_runs()): len(agent.completed_runs()) > n)
        completed, stored = self.assert_exactly_once(collector, [agent], seconds=120)
        print(f"{KILLS} kills of the agent in {took:.0f} s (seed {SEED}), {DELAY_MS} ms of delay each way, "
              f"{weather.counts}: "
              f"{completed} runs reported complete, {stored} stored a moment later, none lost, none twice")

    def kill_repeatedly(self, agent, weather):
        dice = random.Random(SEED)
        for _ in range(KILLS):
            # Short lives hit the start, long ones the run and the upload.
            time.sleep(dice.choice([dice.uniform(0, 0.4), dice.uniform(0.4, 3)]))
            self.assertIsNone(agent.process.popen.poll(), "the agent ended by itself")
            self.assertIsNone(weather.error)
            agent.process.kill()
            agent.start()


def main():
    global KILLS, SEED, DELAY_MS
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--delay", type=float, default=DELAY_MS, help="milliseconds each way")
    options = parser.parse_args()
    KILLS, SEED, DELAY_MS = options.kills, options.seed, options.delay
    if why := netns.missing():
        print(f"skipped: {why}")
        return 77
    program = unittest.main(argv=[sys.argv[0]], verbosity=2, exit=False)
    return 0 if program.result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
