"""Two network namespaces joined by a slow link that a test can break, and the real programs inside them.

Needs root, `ip`, `ethtool` and `nft`; `missing()` says what is not there. Whatever was made is removed by `close`.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
from harness import BIN, BUILD, Agent, Collector, Process, wait_for  # noqa: E402

AGENT_ADDRESS, COLLECTOR_ADDRESS = "10.77.0.1", "10.77.0.2"
LOSS_TABLE = "fleetmark_test"


def missing():
    """Why namespaces can't be made here; empty if they can."""
    if os.geteuid() != 0:
        return "needs root"
    for program in ("ip", "ethtool", "nft"):
        if shutil.which(program) is None:
            return f"needs {program}"
    probe = subprocess.run(["unshare", "--net", "true"], capture_output=True, text=True, check=False)
    return "" if probe.returncode == 0 else f"no network namespaces: {probe.stderr.strip()}"


def run(*argv, stdin=None):
    done = subprocess.run(argv, input=stdin, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(argv)} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


class Link:
    """The namespaces `agent_side` and `collector_side`, with one address each, and between them one in which
    tests/fault/link_emulator.cc hands the frames on."""

    def __init__(self, folder, delay_ms):
        self.agent_side, self.middle, self.collector_side = (f"fmt{os.getpid()}{side}" for side in "amc")
        self.made = []
        self.emulator = None
        try:
            for space in (self.agent_side, self.middle, self.collector_side):
                run("ip", "netns", "add", space)
                self.made.append(space)
                run("ip", "-n", space, "link", "set", "lo", "up")
            self._end(self.agent_side, AGENT_ADDRESS, "left")
            self._end(self.collector_side, COLLECTOR_ADDRESS, "right")
            self.emulator = Process(["ip", "netns", "exec", self.middle, BUILD / "tests" / "link_emulator", "left",
                                     "right", delay_ms, delay_ms / 4, 0], pathlib.Path(folder) / "link.log")
            wait_for("the link carries packets", self._carries)
        except BaseException:
            self.close()
            raise

    def _end(self, space, address, peer):
        run("ip", "-n", space, "link", "add", "wire", "type", "veth", "peer", "name", peer, "netns", self.middle)
        run("ip", "-n", space, "addr", "add", f"{address}/24", "dev", "wire")
        # The emulator sees what the interface was given: whole frames with their checksums.
        run("ip", "netns", "exec", space, "ethtool", "-K", "wire", "tx", "off", "tso", "off", "gso", "off", "gro", "off")
        run("ip", "-n", space, "link", "set", "wire", "up")
        run("ip", "-n", self.middle, "link", "set", peer, "up")

    def _carries(self):
        """A TCP connection that is refused has been there and back."""
        probe = ("import socket, sys\n"
                 f"sys.exit(socket.socket().connect_ex(('{COLLECTOR_ADDRESS}', 1)) != 111)")
        return subprocess.run(["ip", "netns", "exec", self.agent_side, "timeout", "2", sys.executable, "-c", probe],
                              capture_output=True, check=False).returncode == 0

    def cut(self):
        run("ip", "-n", self.collector_side, "link", "set", "wire", "down")

    def join(self):
        run("ip", "-n", self.collector_side, "link", "set", "wire", "up")

    def lose(self, percent):
        """Drops this share of the packets, each way."""
        self.lose_nothing()
        rules = (f"table inet {LOSS_TABLE} {{ chain in {{ type filter hook input priority 0; "
                 f"iifname wire numgen random mod 100 < {percent} counter drop; }}; }}")
        for space in (self.agent_side, self.collector_side):
            run("ip", "netns", "exec", space, "nft", "-f", "-", stdin=rules)

    def lose_nothing(self):
        for space in (self.agent_side, self.collector_side):
            tables = run("ip", "netns", "exec", space, "nft", "list", "tables")
            if LOSS_TABLE in tables:
                run("ip", "netns", "exec", space, "nft", "delete", "table", "inet", LOSS_TABLE)

    def heal(self):
        self.join()
        self.lose_nothing()

    def close(self):
        if self.emulator is not None:
            self.emulator.kill()
            self.emulator = None
        while self.made:
            subprocess.run(["ip", "netns", "del", self.made.pop()], capture_output=True, check=False)


class FarCollector(Collector):
    """A collector in the namespace at the link's end."""

    def __init__(self, folder, link):
        super().__init__(folder)
        self.link = link
        self.config.write_text(
            f"data_dir: {self.folder}/data\nallow_plaintext: true\n"
            f"grpc: {{listen: '{COLLECTOR_ADDRESS}:{self.grpc_port}'}}\n"
            f"http: {{listen: '127.0.0.1:{self.http_port}'}}\nstore: {{reserve_bytes: 0}}\n")

    @property
    def address(self):
        return f"{COLLECTOR_ADDRESS}:{self.grpc_port}"

    def start(self):
        # `ip netns exec` becomes the program, so that the process id is the program's.
        self.process = Process(["ip", "netns", "exec", self.link.collector_side, BIN / "fleetmark-collector",
                                "--config", self.config], self.folder / "log")
        wait_for("collector ready", self.ready)
        return self

    def http(self, path, parse=True):
        url = f"http://127.0.0.1:{self.http_port}{path}"
        done = subprocess.run(["ip", "netns", "exec", self.link.collector_side, "curl", "-sS", "-f", "-m", "20", url],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ConnectionError(done.stderr.strip())
        return json.loads(done.stdout) if parse else done.stdout


class FarAgent(Agent):
    """An agent in the namespace at the link's other end."""

    def __init__(self, folder, name, link, collector, benchmarks):
        super().__init__(folder, name, [collector.address], benchmarks, extra="allow_plaintext: true\n")
        self.link = link

    def start(self, prefix=()):
        return super().start(["ip", "netns", "exec", self.link.agent_side, *prefix])
