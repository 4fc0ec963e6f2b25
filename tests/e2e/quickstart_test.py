"""The quick start as a new user runs it: start, start again, stop, start on the same data."""

import json
import re
import subprocess
import unittest
import urllib.request

from harness import SOURCE, EndToEndTest

BENCHMARKS = ("mem_bandwidth", "gemm", "mem_latency", "disk", "net_loopback")


class QuickstartTest(EndToEndTest):
    def quickstart(self, *args):
        done = subprocess.run([str(SOURCE / "deploy/quickstart.sh"), "--data", str(self.folder / "data"), *args],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)
        return done.returncode, done.stdout + done.stderr

    def assert_measured(self, output):
        for benchmark in BENCHMARKS:
            self.assertRegex(output, rf"(?m)^ *\d+ +\S+ +{benchmark} ", output[-3000:])

    def test_start_stop_and_start_again(self):
        self.addCleanup(self.quickstart, "--stop")
        status, output = self.quickstart()
        self.assertEqual(status, 0, output[-3000:])
        self.assert_measured(output)
        first = re.search(r"Dashboard +(\S+)", output).group(1)

        status, output = self.quickstart("--status")
        self.assertEqual(status, 0, output)

        status, output = self.quickstart("--stop")
        self.assertEqual(status, 0, output)
        self.assertEqual(self.quickstart("--status")[0], 3)

        # On the same data: both come up again, and the series go on.
        status, output = self.quickstart()
        self.assertEqual(status, 0, output[-3000:])
        self.assert_measured(output)
        self.assertIn(first, output)
        samples = int(re.search(r"triad .*higher +(\d+) ", output).group(1))
        self.assertGreaterEqual(samples, 2)  # the agent measures on its own too

    def test_a_simulated_fleet_says_that_it_is_one(self):
        self.addCleanup(self.quickstart, "--stop")
        status, output = self.quickstart("--demo-fleet", "12")
        self.assertEqual(status, 0, output[-3000:])
        self.assertIn("THIS FLEET IS SIMULATED", output)
        page = re.search(r"Dashboard +(\S+)", output).group(1)
        with urllib.request.urlopen(f"{page}api/fleetmark/v1/fleet", timeout=30) as answer:
            fleet = json.load(answer)
        self.assertEqual(len(fleet["names"]), 12)
        simulated = next(label for label in fleet["labels"] if label["name"] == "simulated")
        self.assertEqual((simulated["values"], set(simulated["index"])), (["yes"], {0}))
        with urllib.request.urlopen(page, timeout=30) as answer:
            self.assertIn(b"Fleetmark", answer.read())
        self.assertEqual(self.quickstart("--demo-fleet", "0")[0], 2)

        status, output = self.quickstart("--stop")
        self.assertIn("demo: stopped", output)


if __name__ == "__main__":
    unittest.main(verbosity=2)
