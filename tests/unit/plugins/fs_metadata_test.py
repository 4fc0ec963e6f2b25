"""The fs_metadata plugin: bounded, right, and gone without a trace, also when it is stopped."""

import os
import pathlib
import signal
import sys
import tempfile
import time
import unittest

from harness import Plugin, plugins_dir

sys.path.insert(0, os.path.join(plugins_dir(), "fs_metadata"))
import fs_metadata  # noqa: E402


class FsMetadata(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def test_all_rates_and_nothing_left(self):
        (self.folder / "theirs").write_text("x")
        result = Plugin("fs_metadata").run({"directory": str(self.folder), "files": 100, "repetitions": 2})
        self.assertTrue(result.done, result)
        for name in ("create_rate", "stat_rate", "rename_rate", "unlink_rate"):
            self.assertEqual(len(result.values(name)), 2)
            self.assertTrue(all(value > 0 for value in result.values(name)))
        self.assertEqual([path.name for path in self.folder.iterdir()], ["theirs"])

    def test_stopped_in_the_middle_it_cleans_up(self):
        with tempfile.TemporaryDirectory() as work:
            child = Plugin("fs_metadata").start(
                work, {"directory": str(self.folder), "files": 1000, "repetitions": 100, "pause": 0.05})
            end = time.monotonic() + 20
            while not any(self.folder.glob(".fleetmark-metadata-*/f*")) and time.monotonic() < end:
                time.sleep(0.01)
            child.send_signal(signal.SIGTERM)
            self.assertEqual(child.wait(20), 128 + signal.SIGTERM)
            child.stdout.close()
            child.stderr.close()
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_what_the_file_system_lost_is_noticed(self):
        (self.folder / "a").write_text("")
        with self.assertRaisesRegex(ValueError, "1 names are missing and 1 are too many"):
            fs_metadata.expect(str(self.folder), {"b"}, "creating")

    def test_wrong_parameters_are_said(self):
        for params in ({"directory": "/no/such/folder"}, {"files": 10}, {"files": 1_000_000}):
            self.assertEqual(Plugin("fs_metadata").run(params).status, 78)


if __name__ == "__main__":
    unittest.main()
