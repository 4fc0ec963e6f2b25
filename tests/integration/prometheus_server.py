"""A real Prometheus on this machine, for tests: on a loopback port, in a private folder, over samples that are
made into blocks beforehand or sent by remote write. Needs Debian's package prometheus."""

import gzip
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

PROGRAMS = ("prometheus", "promtool")


def missing_programs(programs=PROGRAMS):
    return [p for p in programs if shutil.which(p) is None]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def owns_port(pid, port):
    """Whether the process itself listens there: another program must not answer in its place."""
    wanted = f"0100007F:{port:04X}"
    table = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()]
    inodes = {fields[9] for fields in table if fields[1] == wanted and fields[3] == "0A"}
    try:
        links = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
    except OSError:
        return False
    return any(link == f"socket:[{inode}]" for link in links for inode in inodes)


def body_of(answer):
    body = answer.read()
    return gzip.decompress(body) if answer.headers.get("Content-Encoding") == "gzip" else body


def request(port, path, params=(), form=False, headers=None):
    """(HTTP status, parsed JSON) of Prometheus' API; with `form` the parameters are posted."""
    text = urllib.parse.urlencode(list(params))
    url = f"http://127.0.0.1:{port}{path}"
    data = text.encode() if form else None
    if text and not form:
        url += "?" + text
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, headers or {}), timeout=60) as answer:
            return answer.status, json.loads(body_of(answer))
    except urllib.error.HTTPError as e:
        body = body_of(e)
        try:
            return e.code, json.loads(body)
        except json.JSONDecodeError:
            return e.code, {"status": "error", "error": body.decode(errors="replace")}


class Server:
    """A program that listens on one port; ended by its process id."""

    def __init__(self, argv, port, ready_path, log, cwd=None):
        self.port = port
        self.log = pathlib.Path(log)
        with open(self.log, "ab") as out:
            self.process = subprocess.Popen([str(a) for a in argv], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                            start_new_session=True, cwd=cwd)
        end = time.monotonic() + 60
        while not self.is_ready(ready_path):
            if self.process.poll() is not None or time.monotonic() > end:
                text = self.log.read_text(errors="replace")[-2000:]
                self.stop()
                raise AssertionError(f"{argv[0]} does not get ready:\n{text}")
            time.sleep(0.05)

    def is_ready(self, path):
        if not owns_port(self.process.pid, self.port):
            return False
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
                return answer.status == 200
        except (urllib.error.URLError, ConnectionError):
            return False

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def make_blocks(openmetrics, folder):
    subprocess.run(["promtool", "tsdb", "create-blocks-from", "openmetrics", str(openmetrics), str(folder)],
                   check=True, stdin=subprocess.DEVNULL, capture_output=True)


def prometheus(folder, *flags):
    """Over the blocks in `folder`/data, if any."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "prometheus.yml"
    config.write_text("global: {scrape_interval: 1m, evaluation_interval: 1m}\n")
    port = free_port()
    return Server(["prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder}/data",
                   "--storage.tsdb.retention.time=100y", f"--web.listen-address=127.0.0.1:{port}", *flags],
                  port, "/-/ready", folder / "log")
