"""Whatever a plugin does, its run gets the right outcome and ending, the agent stays as it was, and nothing is left."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))

from harness import BIN, SOURCE, EndToEndTest, cli, wait_for  # noqa: E402

MIB = 1 << 20
AGENT_PSS_BYTES = 96 * MIB
SHORTLY = 10  # seconds
CPU_CGROUPS = pathlib.Path("/sys/fs/cgroup/cpu")  # of version 1, where it is

# What the plugin does: outcome, ending, a piece of the reason. A trailing number is the benchmark's timeout.
CASES = {
    "behave": ("OK", "DONE", ""),
    "shows_itself": ("OK", "DONE", ""),
    "never_reads": ("OK", "DONE", ""),
    "daemonises": ("OK", "DONE", ""),
    "binary": ("OK", "DONE", ""),
    "not_utf8": ("OK", "DONE", ""),
    "ignores_term": ("TIMEOUT", "TIMEOUT", "time limit of 1s"),
    "closes_stdout": ("TIMEOUT", "TIMEOUT", "time limit of 1s"),
    "gigabyte": ("FAILED", "OVER_LIMIT", "16MiB"),
    "endless_line": ("FAILED", "OVER_LIMIT", "64KiB"),
    "ten_thousand_labels": ("FAILED", "OVER_LIMIT", "more than 1000"),
    "fills_folder": ("FAILED", "OVER_LIMIT", "working folder exceeds 64MiB"),
    "many_files": ("FAILED", "OVER_LIMIT", "100,000 entries"),
    "deep_tree": ("FAILED", "OVER_LIMIT", "64 levels"),
    "read_only_tree": ("OK", "DONE", ""),
    "nan": ("INVALID", "INVALID", "finite"),
    "too_large": ("INVALID", "INVALID", "not finite"),
    "quoted": ("INVALID", "INVALID", "without quotes"),
    "twice": ("INVALID", "INVALID", "came twice"),
}
WITH_CGROUP = {
    "fills_without_a_name": ("FAILED", "OVER_LIMIT", "working folder exceeds 64MiB"),
    "fork_bomb": ("FAILED", "OVER_LIMIT", "more than 64 processes"),
    "fills_memory": ("FAILED", "OUT_OF_MEMORY", "its limit of 256MiB"),
    "child_fills_memory": ("FAILED", "OUT_OF_MEMORY", "its limit of 256MiB"),
}
# Those whose default is to end a process; STOP only stops it.
ENDING_SIGNALS = [n for n in range(1, 32) if n not in (17, 18, 19, 20, 21, 22, 23, 28)]
SHORT = {"ignores_term": "1s", "closes_stdout": "1s", "signal_19": "1s"}


def processes_of(folder):
    """Those that were started for a plugin below `folder`, by their environment."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and f"FLEETMARK_PLUGIN_DIR={folder}".encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            pass
    return found


def run_cgroups(run_id):
    try:
        return subprocess.run(["find", "/sys/fs/cgroup", "-type", "d", "-name", run_id], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60).stdout.split()
    except FileNotFoundError:
        return []


def pss(pid):
    for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no Pss")


class HostilePluginsTest(EndToEndTest):
    def start(self, names, user="", prefix=()):
        self.folder.chmod(0o711)
        self.plugins = self.folder / "plugins"
        shutil.copytree(SOURCE / "tests/data/hostile", self.plugins)
        self.fleet = self.collector()
        benchmarks = [{"name": name, "plugin": "hostile", "params": {"what": name}, "schedule": "every 24h",
                       "timeout": SHORT.get(name, "30s")} for name in names]
        extra = f"plugins: {{memory_max: 256MiB, max_processes: 64, work_dir_max_bytes: 64MiB{user}}}\n"
        self.node = self.agent("node-0", [f"127.0.0.1:{self.fleet.grpc_port}"], benchmarks,
                               plugin_paths=[self.plugins], extra=extra).start(prefix)
        wait_for("the agent is connected", lambda: [
            n for n in self.fleet.all("nodes", "nodes") if n["state"] == "NODE_STATE_CONNECTED"])

    def run_one(self, name):
        begin = time.monotonic()
        done = cli(self.fleet, "run", "node-0", name, check=False)
        print(f"{name}: {time.monotonic() - begin:.1f} s")

        def stored():
            return [r["run"] for r in self.fleet.all("runs", "runs", f"&benchmark={name}")]

        return wait_for(f"{name} is stored; the command line said {done.stdout}{done.stderr}", stored)[0]

    def check(self, name, outcome, ending, reason):
        run = self.run_one(name)
        said = f"{name}: {run}"
        self.assertEqual(run["outcome"], "OUTCOME_" + outcome, said)
        self.assertEqual(run["ending"], "ENDING_" + ending, said)
        self.assertIn(reason, run.get("reason", ""), said)
        self.check_nothing_left(name, run)
        return run

    def check_nothing_left(self, name, run):
        self.assertIsNone(self.node.process.popen.poll(), f"after {name} the agent is gone")
        with urllib.request.urlopen(f"http://127.0.0.1:{self.node.http_port}/healthz", timeout=10) as answer:
            self.assertEqual(answer.status, 200)
        self.assertLess(pss(self.node.process.pid), AGENT_PSS_BYTES, name)
        self.assertEqual(processes_of(self.plugins), [], name)
        self.assertEqual(list((self.node.folder / "data/runs").iterdir()), [], name)
        self.assertEqual(run_cgroups(run["run_id"]), [], name)
        self.assertNotIn(run["run_id"], pathlib.Path("/proc/mounts").read_text(), name)
        self.assertEqual([w for w in run.get("warnings", []) if "could not be killed" in w or "remove" in w], [])

    def has_cgroups(self):
        return "runs get cgroups" in self.node.process.text()

    def test_each(self):
        self.start([*CASES, *WITH_CGROUP])
        cases = dict(CASES)
        if self.has_cgroups():
            cases.update(WITH_CGROUP)
        for name, expected in cases.items():
            with self.subTest(name):
                run = self.check(name, *expected)
                if name == "shows_itself":
                    self.check_what_it_is_given(self.fleet.get(f"runs/{run['run_id']}"))
        self.assertEqual(self.node.process.stop(), 0)
        self.assertEqual(subprocess.run(
            ["find", "/sys/fs/cgroup", "-type", "d", "-name", "fleetmark-runs-*", "-newer", self.node.config],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60).stdout, "")

    def check_what_it_is_given(self, answer):
        log = answer["run"]["run"]["log_tail"]
        self.assertIn("oom=800", log)
        self.assertIn("core=0", log)
        if os.geteuid() == 0:
            self.assertNotIn("uid=0", log)
        if self.has_cgroups():
            self.assertIn("fleetmark-runs-", log)

    def test_each_signal(self):
        self.start([f"signal_{n}" for n in [*ENDING_SIGNALS, signal.SIGSTOP]])
        for number in ENDING_SIGNALS:
            with self.subTest(number):
                run = self.check(f"signal_{number}", "FAILED", "SIGNAL", f"signal {number} ")
                self.assertEqual(run["signal"], number)
        self.check("signal_19", "TIMEOUT", "TIMEOUT", "time limit")

    def test_one_with_the_rights_of_the_agent(self):
        """What only a plugin of the agent's own user can do."""
        self.start(["changes_itself", "behave", "kills_its_parent"], ", user: root" if os.geteuid() == 0 else "")
        self.check("kills_its_parent", "FAILED", "SIGNAL", "watched over the run")
        # Its program is open while it runs, so it is only caught at the next start, of whichever benchmark.
        self.check("changes_itself", "OK", "DONE", "")
        self.check("behave", "FAILED", "NOT_STARTED", "files changed since the agent loaded them")
        self.node.process.popen.send_signal(signal.SIGHUP)
        wait_for("the changed plugin is taken over", lambda: "benchmarks reloaded" in self.node.process.text())
        self.run_one("behave")
        runs = [r["run"] for r in self.fleet.all("runs", "runs", "&benchmark=behave")]
        self.assertEqual(sorted(r["ending"] for r in runs), ["ENDING_DONE", "ENDING_NOT_STARTED"])

    def test_throttled_by_a_quota_above_the_agent(self):
        group = CPU_CGROUPS / f"fleetmark-test-{os.getpid()}"
        try:
            group.mkdir()
            self.addCleanup(group.rmdir)
            (group / "cpu.cfs_quota_us").write_text("50000")  # of a period of 100 ms
        except OSError as e:
            self.skipTest(f"no CPU quota can be set here: {e}")
        self.start(["burns"], prefix=["sh", "-c", 'echo $$ >"$0" && exec "$@"', group / "cgroup.procs"])
        self.addCleanup(self.node.process.stop)  # before the group goes
        self.check("burns", "INVALID", "THROTTLED", f"by the CPU quota of {group}")

    def test_killed_agent_leaves_nothing_for_long(self):
        self.start(["ignores_term", "behave"])
        client = subprocess.Popen(self.run_command("ignores_term"), stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(client.wait)
        self.addCleanup(client.kill)
        wait_for("the run is there", lambda: processes_of(self.plugins))
        run_id = next((self.node.folder / "data/runs").iterdir()).name
        self.node.process.kill()
        wait_for("its processes are gone", lambda: not processes_of(self.plugins), SHORTLY)
        self.node.start()
        wait_for("its folder is gone", lambda: not (self.node.folder / "data/runs" / run_id).exists(), SHORTLY)
        wait_for("its cgroup is gone", lambda: not run_cgroups(run_id), SHORTLY)

    def run_command(self, name):
        return [BIN / "fleetmark", "--collector", f"127.0.0.1:{self.fleet.grpc_port}", "run", "node-0", name]


if __name__ == "__main__":
    unittest.main()
