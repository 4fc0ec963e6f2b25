"""The loop-back plugin: how it reads iperf3, and that it stops what it starts."""

import json
import os
import sys
import tempfile
import unittest

from harness import Plugin, plugins_dir

sys.path.insert(0, os.path.join(plugins_dir(), "net_loopback"))
import net_loopback  # noqa: E402


def report(rate=8e9, seconds=3.0, size=3e9):
    return json.dumps({"end": {"sum_sent": {"retransmits": 2},
                               "sum_received": {"bits_per_second": rate, "seconds": seconds, "bytes": size}}})


class Pure(unittest.TestCase):
    def test_reads_the_report(self):
        self.assertEqual(net_loopback.read_report(report(), 3), (8e9, 2))

    def test_rejects_what_does_not_add_up(self):
        for text, word in ((report(rate=9e9), "divided by time"), (report(rate=0, size=0), "nothing"),
                           (report(seconds=30, size=30e9), "instead of 3"), ('{"error": "refused"}', "refused"),
                           ("not json", "")):
            with self.assertRaisesRegex(ValueError, word):
                net_loopback.read_report(text, 3)


class Real(unittest.TestCase):
    def test_measures_and_stops_the_server(self):
        plugin = Plugin("net_loopback")
        result = plugin.run({"duration": 1, "streams": 2})
        plugin.check_metrics(result)
        self.assertGreater(result.values("throughput")[0], 0.01)

    def test_a_server_that_is_not_used_is_stopped(self):
        server, port = net_loopback.start_server()
        self.assertGreater(port, 1023)
        net_loopback.stop(server)
        server.stdout.close()
        self.assertIsNotNone(server.returncode)

    def test_without_iperf3_it_is_skipped(self):
        with tempfile.TemporaryDirectory() as empty:
            os.symlink(sys.executable, os.path.join(empty, "python3"))
            result = Plugin("net_loopback").run(env={"PATH": empty})
            self.assertEqual(result.status, 77, result)
            self.assertEqual(result.log.splitlines()[-1], "iperf3 is not installed")


if __name__ == "__main__":
    unittest.main()
