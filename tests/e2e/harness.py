"""Starts the real programs on loopback with free ports and private folders, and waits for states.

Nothing here sleeps for a fixed time: `wait_for` polls a condition up to a bound and fails with what it last
saw. Every process is started in its own session and stopped by its process id.
"""

import collections
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request

BIN = pathlib.Path(os.environ["FM_BIN_DIR"])
SOURCE = pathlib.Path(os.environ["FM_SOURCE_DIR"])
BUILD = BIN.parent


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for(what, condition, seconds=30):
    """Returns the first true value of `condition`; fails when `seconds` have passed."""
    end = time.monotonic() + seconds
    last = None
    while time.monotonic() < end:
        try:
            last = condition()
            if last:
                return last
        except (urllib.error.URLError, ConnectionError, json.JSONDecodeError) as e:
            last = e
        time.sleep(0.05)
    raise AssertionError(f"after {seconds} s still not: {what}; last seen: {last!r}")


class Process:
    """A program with its output in a file."""

    def __init__(self, argv, log, env=None):
        self.log = pathlib.Path(log)
        self.file = open(self.log, "ab")
        self.popen = subprocess.Popen(
            [str(a) for a in argv], stdin=subprocess.DEVNULL, stdout=self.file, stderr=self.file,
            start_new_session=True, env=env)

    @property
    def pid(self):
        return self.popen.pid

    def text(self):
        return self.log.read_text(errors="replace")

    def kill(self):
        self.popen.kill()
        self.popen.wait()
        self.file.close()

    def stop(self, seconds=30):
        """SIGTERM; returns the exit status."""
        if self.popen.poll() is None:
            self.popen.send_signal(signal.SIGTERM)
        try:
            return self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"did not stop within {seconds} s; log:\n{self.text()[-3000:]}")
        finally:
            self.file.close()


class Collector:
    def __init__(self, folder, extra="", store="reserve_bytes: 0", data_dir=None):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.data_dir = pathlib.Path(data_dir or self.folder / "data")
        self.grpc_port, self.http_port = free_port(), free_port()
        self.config = self.folder / "collector.yaml"
        self.config.write_text(
            f"data_dir: {self.data_dir}\n"
            f"grpc: {{listen: '127.0.0.1:{self.grpc_port}'}}\n"
            f"http: {{listen: '127.0.0.1:{self.http_port}'}}\n"
            f"store: {{{store}}}\n{extra}")
        self.process = None

    def start(self):
        self.process = Process([BIN / "fleetmark-collector", "--config", self.config], self.folder / "log")
        wait_for("collector ready", self.ready)
        return self

    def ready(self):
        if self.process.popen.poll() is not None:
            raise AssertionError(f"collector ended:\n{self.process.text()[-3000:]}")
        return self.http("/readyz", parse=False) is not None

    def command(self, *args, timeout=300):
        """A command on the store, for which no collector may run: (exit status, output)."""
        done = subprocess.run([str(BIN / "fleetmark-collector"), "--config", str(self.config), *map(str, args)],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=timeout)
        return done.returncode, done.stdout

    def http(self, path, parse=True):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.http_port}{path}", timeout=10) as answer:
            body = answer.read().decode()
        return json.loads(body) if parse else body

    def get(self, what):
        return self.http(f"/api/fleetmark/v1/{what}")

    def all(self, what, key, query=""):
        """Every page of a listing."""
        items, token = [], ""
        while True:
            page = self.get(f"{what}?limit=1000{query}&page_token={token}")
            items += page.get(key, [])
            token = page.get("next_page_token", "")
            if not token:
                return items


class Agent:
    # Other processes of a test, and other tests, must not keep its benchmarks off.
    GATE = "{cool_down: 0s, retry: 1s, pressure: {enabled: false}}"

    def __init__(self, folder, name, collectors, benchmarks, plugin_paths=None, share=1, gate=GATE, extra=""):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.name = name
        self.http_port = free_port()
        paths = plugin_paths or [SOURCE / "tests/data/plugins", BUILD / "plugins"]
        lines = [
            f"node: {{name: {name}, labels: {{rack: r1}}}}",
            "collectors: [" + ", ".join(f"'{c}'" for c in collectors) + "]",
            "plugin_paths: [" + ", ".join(str(p) for p in paths) + "]",
            f"data_dir: {self.folder}/data",
            f"http: {{listen: '127.0.0.1:{self.http_port}'}}",
            "benchmarks:"]
        lines += [f"  - {json.dumps(b)}" for b in benchmarks]
        lines += [f"budget: {{share: {share}}}", f"gate: {gate}"]
        # The default user may not be able to enter the folders above the plugins under test.
        if os.geteuid() == 0 and "plugins:" not in extra:
            lines.append("plugins: {user: root}")
        self.config = self.folder / "agent.yaml"
        self.config.write_text("\n".join(lines) + "\n" + extra)
        self.process = None

    def start(self, prefix=()):
        self.process = Process([*prefix, BIN / "fleetmark-agent", "--config", self.config], self.folder / "log")
        return self

    def command(self, *args, expires=60):
        """Runs a command of fleetmark-agent with this agent's configuration: (exit status, output)."""
        done = subprocess.run(
            [str(BIN / "fleetmark-agent"), "--config", str(self.config), f"--expires={expires}s", *args],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
        return done.returncode, done.stdout

    def command_in_background(self, *args):
        return subprocess.Popen([str(BIN / "fleetmark-agent"), "--config", str(self.config), *args],
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def completed_runs(self):
        """Run ids that the agent has said are complete, which it does once they are on disk."""
        return re.findall(r"run finished .*?run=([0-9A-Z]{26})", self.process.text())

    def metrics(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.http_port}/metrics", timeout=10) as answer:
            return answer.read().decode()


def cli(collector, *args, check=True):
    """Runs the command line; returns the finished process."""
    done = subprocess.run(
        [str(BIN / "fleetmark"), "--collector", f"127.0.0.1:{collector.grpc_port}", *args],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    if check and done.returncode != 0:
        raise AssertionError(f"fleetmark {args} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done


class Load:
    """Runs of known content from a few nodes that are not real (tests/fault/ingest_load.cc), sent until `finish`
    through whatever happens to the collector."""

    def __init__(self, collector, prefix="load", nodes=4, per_second=400, t0_ns=None, step_ns=1_000_000):
        t0_ns = t0_ns if t0_ns is not None else time.time_ns() - 6 * 3600 * 10**9
        self.place = ["--port", str(collector.grpc_port), "--prefix", prefix, "--nodes", str(nodes), "--t0_ns",
                      str(t0_ns), "--step_ns", str(step_ns)]
        self.errors = tempfile.TemporaryFile("w+")
        self.popen = subprocess.Popen([BUILD / "tests/ingest_load", "send", *self.place, "--per_second",
                                       str(per_second)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=self.errors, text=True)

    def _error(self):
        self.errors.seek(0)
        return self.errors.read()

    def check(self):
        if self.popen.poll() is not None:
            raise AssertionError(f"the load ended: {self._error()}")

    def finish(self, seconds=60):
        """Stops sending and waits for what is under way."""
        out, _ = self.popen.communicate(timeout=seconds)
        if self.popen.returncode != 0:
            raise AssertionError(f"the load failed: {self._error()}")
        self.totals = json.loads(out)
        return self.totals

    def kill(self):
        self.popen.kill()
        self.popen.communicate()
        self.errors.close()

    def verify(self, totals=None, oldest_ns=None):
        """Everything acknowledged is there once, bit for bit; how many samples."""
        totals = totals or self.totals
        numbers = [a for key in ("acked", "sent") for a in (f"--{key}", ",".join(map(str, totals[key])))]
        oldest = [] if oldest_ns is None else ["--oldest_ns", str(oldest_ns)]
        done = subprocess.run([BUILD / "tests/ingest_load", "verify", *self.place, *numbers, *oldest],
                              capture_output=True, text=True, timeout=600)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        return json.loads(done.stdout)["samples"]


class Proxy:
    """A TCP relay on loopback whose connections a test can cut, as a network does."""

    def __init__(self, target_port):
        self.target_port = target_port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.open = []
        self.refusing = False
        self.lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            if self.refusing:
                client.close()
                continue
            try:
                server = socket.create_connection(("127.0.0.1", self.target_port), timeout=5)
            except OSError:
                client.close()
                continue
            with self.lock:
                self.open += [client, server]
            for a, b in ((client, server), (server, client)):
                threading.Thread(target=self._pump, args=(a, b), daemon=True).start()

    @staticmethod
    def _pump(source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        for s in (source, sink):
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)

    def cut(self, refuse=False):
        self.refusing = refuse
        with self.lock:
            for s in self.open:
                with contextlib.suppress(OSError):
                    s.shutdown(socket.SHUT_RDWR)
                s.close()
            self.open = []

    def close(self):
        self.cut(refuse=True)
        self.listener.close()


class EndToEndTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="fleetmark-e2e-"))
        self.started = []
        self.addCleanup(self._clean_up)

    def collector(self, name="collector", **kwargs):
        c = Collector(self.folder / name, **kwargs)
        self.started.append(c)
        return c.start()

    def agent(self, name, collectors, benchmarks, **kwargs):
        a = Agent(self.folder / name, name, collectors, benchmarks, **kwargs)
        self.started.append(a)
        return a

    def stored_runs(self, collector):
        return [r["run"]["run_id"] for r in collector.all("runs", "runs")]

    def assert_exactly_once(self, collector, agents, seconds=60):
        """Every run that an agent said it completed is stored, nothing is stored twice. How many were completed
        when this began, and how many are stored."""
        completed = set()
        for agent in agents:
            completed.update(agent.completed_runs())
        self.assertGreater(len(completed), 0)

        def missing():
            return completed - set(self.stored_runs(collector))

        wait_for("every completed run is stored", lambda: not missing(), seconds)
        runs = collector.all("runs", "runs")
        counts = collections.Counter(r["run"]["run_id"] for r in runs)
        self.assertEqual([run for run, n in counts.items() if n != 1], [])
        # A sample for each value of each OK run: nothing was stored twice under another name either.
        ok = {r["run"]["run_id"]: (r["node"], r["run"]["benchmark"]) for r in runs
              if r["run"]["outcome"] == "OUTCOME_OK"}
        sampled = collections.Counter()
        for series in collector.all("series", "series"):
            if series["key"]["metric"] != "value":
                continue
            samples = collector.get(f"series/{series['series_id']}/samples?limit=100000")["samples"]
            # Runs that ended since the listing are not in it.
            sampled.update(s["run_id"] for s in samples if s["run_id"] in ok)
        self.assertEqual([run for run in ok if sampled[run] != 1], [])
        return len(completed), len(runs)

    def _clean_up(self):
        failed = any(error for _, error in getattr(self._outcome, "errors", []) or []) or (
            hasattr(self._outcome, "result") and self._outcome.result and
            (self._outcome.result.failures or self._outcome.result.errors))
        for item in self.started:
            if item.process is not None:
                if failed:
                    print(f"--- end of the log of {item.folder.name} ---\n{item.process.text()[-4000:]}")
                with contextlib.suppress(AssertionError):
                    item.process.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
