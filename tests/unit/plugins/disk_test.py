"""The disk plugin: what it writes, what it leaves behind, and how it reads fio."""

import os
import signal
import sys
import tempfile
import time
import unittest

from harness import Plugin, plugins_dir

sys.path.insert(0, os.path.join(plugins_dir(), "disk"))
import disk  # noqa: E402

MIB = 1 << 20


def job(name, read=0, write=0, error=0):
    def side(size):
        return {"io_bytes": size, "bw_bytes": size, "total_ios": size // 4096, "iops": size / 4096,
                "clat_ns": {"mean": 2000.0}}
    return {"jobname": name, "error": error, "read": side(read), "write": side(write)}


def report(**changes):
    jobs = {name: job(name, read=8192 if "read" in name else 0, write=8192 if "write" in name else 0)
            for name in (j.name for j in disk.JOBS)}
    jobs.update(changes)
    return {"jobs": list(jobs.values())}


class Pure(unittest.TestCase):
    def test_jobs_write_no_more_than_allowed(self):
        for size in (8 * MIB, 9 * MIB, 64 * MIB):
            budget = 0
            for argument in disk.fio_command("f", size, 1):
                if argument.startswith("--rw="):
                    writes = "write" in argument
                if argument.startswith("--io_size=") and writes:
                    budget += int(argument.split("=")[1])
            self.assertLessEqual(budget, size)
            self.assertGreater(budget, size * 0.99)

    def test_reads_the_report(self):
        metrics, written = disk.read_report(report())
        self.assertEqual(written, 3 * 8192)
        self.assertEqual(dict((name, (value, unit)) for name, value, unit in metrics)["random_read_latency"],
                         (2.0, "us"))

    def test_a_job_that_failed_or_did_nothing_is_an_error(self):
        with self.assertRaisesRegex(ValueError, "read failed: Input/output error"):
            disk.read_report(report(read=job("read", error=5)))
        with self.assertRaisesRegex(ValueError, "random_write did nothing"):
            disk.read_report(report(random_write=job("random_write")))
        with self.assertRaises(KeyError):
            disk.read_report({"jobs": [job("write", write=8192)]})


def processes_with(path):
    """Ids of processes whose command line holds `path`'s run folder as their working folder."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink("/proc/%s/cwd" % pid) == path:
                found.append(int(pid))
        except OSError:
            pass
    return found


class Real(unittest.TestCase):
    def test_leaves_no_file_and_writes_within_its_volume(self):
        with tempfile.TemporaryDirectory() as directory:
            plugin = Plugin("disk")
            result = plugin.run({"size": 8 * MIB, "directory": directory})
            plugin.check_metrics(result)
            self.assertEqual(os.listdir(directory), [])
            written = int(result.of("log")[-1]["message"].split()[0])
            self.assertGreater(written, 7 * MIB)
            self.assertLessEqual(written, 8 * MIB)

    def test_without_fio_it_is_skipped(self):
        with tempfile.TemporaryDirectory() as empty:
            os.symlink(sys.executable, os.path.join(empty, "python3"))
            result = Plugin("disk").run(env={"PATH": empty})
            self.assertEqual(result.status, 77, result)
            self.assertEqual(result.log.splitlines()[-1], "fio is not installed")

    def test_a_signal_leaves_neither_file_nor_process(self):
        for number in (signal.SIGTERM, signal.SIGKILL):
            with tempfile.TemporaryDirectory() as work, tempfile.TemporaryDirectory() as directory:
                work = os.path.realpath(work)
                child = Plugin("disk").start(work, {"size": 4096 * MIB, "directory": directory})
                limit = time.monotonic() + 30
                while len(processes_with(work)) < 2 and time.monotonic() < limit:
                    time.sleep(0.02)
                running = processes_with(work)
                self.assertGreaterEqual(len(running), 2)
                child.send_signal(number)
                if number == signal.SIGKILL:  # then the agent kills what is left
                    for pid in running:
                        if pid != child.pid:
                            os.kill(pid, signal.SIGKILL)
                child.communicate()
                self.assertNotEqual(child.returncode, 0)
                while processes_with(work) and time.monotonic() < limit:
                    time.sleep(0.02)
                self.assertEqual(processes_with(work), [])
                self.assertEqual(os.listdir(directory), [])


if __name__ == "__main__":
    unittest.main()
