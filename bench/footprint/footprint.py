#!/usr/bin/env python3
"""What an agent costs its node, beside Prometheus' node exporter, collectd and a bare gRPC TLS stream.

All run at the same time on this machine: a collector with TLS, an agent whose benchmarks are not due, one that
runs 20 benchmarks an hour, a client that only holds a TLS stream to the same collector
(bench/footprint/bare_stream.cc, linked like the agent), node exporter, scraped every 15 s as Prometheus does, and
collectd with its usual plugins, which sends to a port where nobody listens. Then, over the window:

  memory    proportional set size and private dirty memory, from smaps_rollup, at the end; the highest
            proportional set size of a look every 15 s
  CPU       user and system time of the process; the benchmarks' own time, children's, is not in it
  wake-ups  voluntary and involuntary context switches of all threads, a second

Usage: footprint.py [--bin-dir build/release] [--seconds 1800] [--json FILE]
"""

import argparse
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def make_certificates(folder):
    """An authority and one certificate for loopback."""
    def openssl(*args):
        subprocess.run(["openssl", *args], check=True, cwd=folder, capture_output=True)
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=footprint authority")
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "node.key",
            "-out", "node.csr", "-subj", "/CN=localhost")
    (folder / "ext").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    openssl("x509", "-req", "-in", "node.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
            "-extfile", "ext", "-out", "node.pem")


COLLECTD = """
Hostname "footprint"
BaseDir "{folder}"
PIDFile "{folder}/collectd.pid"
Interval 10
LoadPlugin cpu
LoadPlugin df
LoadPlugin disk
LoadPlugin interface
LoadPlugin load
LoadPlugin memory
LoadPlugin network
<Plugin network>
  Server "127.0.0.1" "{port}"
</Plugin>
"""

# Short and small, but all of a run: gate, conditions, child, record.
PARAMS = "{sizes: '16KiB,4MiB', loads: 200000, repetitions: 3}"

AGENTS = {
    "agent at rest": "0 0 1 1 *",
    "agent, 20 runs an hour": "every 3m",
}


class Subject:
    def __init__(self, name, argv, log):
        self.name = name
        self.highest_pss = 0
        self.process = subprocess.Popen([str(a) for a in argv], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                        start_new_session=True)
        self.pid = self.process.pid

    def cpu_seconds(self):
        # clock_getcpuclockid(3) of another process; counts nanoseconds, where /proc counts hundredths.
        return time.clock_gettime((~self.pid << 3) | 2)

    def switches(self):
        total = 0
        for task in pathlib.Path(f"/proc/{self.pid}/task").iterdir():
            for line in (task / "status").read_text().splitlines():
                if "ctxt_switches" in line:
                    total += int(line.split()[1])
        return total

    def memory(self):
        fields = {}
        for line in pathlib.Path(f"/proc/{self.pid}/smaps_rollup").read_text().splitlines()[1:]:
            name, value = line.split(":")
            fields[name] = int(value.split()[0]) * 1024
        return fields

    def threads(self):
        return len(list(pathlib.Path(f"/proc/{self.pid}/task").iterdir()))


def wait_until(what, condition, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.1)
    sys.exit(f"footprint.py: {what} did not come about within {seconds} s")


def scrape(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
            return len(answer.read())
    except OSError:
        return 0


def nodes_connected(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/fleetmark/v1/status", timeout=5) as answer:
            return int(json.load(answer)["nodes_connected"])
    except OSError:
        return 0


def private_copy(folder, build):
    """Of the agent and what is beside it, so that two agents share no page, as on two nodes."""
    folder.mkdir()
    for program in ("fleetmark-agent", "fleetmark-launch", "fleetmark-gpu-probe"):
        shutil.copy(build / "bin" / program, folder / program)
    return folder / "fleetmark-agent"


def agent_config(folder, name, schedule, grpc, tls, build):
    # In a folder that runs may pass through, as they are another user's; no pressure gate, as the machine
    # is not at rest while it is being measured.
    path = folder / f"{name.replace(' ', '_').replace(',', '')}.yaml"
    path.write_text(
        f"node: {{name: '{path.stem}'}}\ncollectors: ['localhost:{grpc}']\nplugin_paths: [{build}/plugins]\n"
        f"data_dir: {folder}/{path.stem}\nhttp: {{listen: '127.0.0.1:{free_port()}'}}\n{tls}"
        "gate: {pressure: {enabled: false}}\nbudget: {share: 1}\nbenchmarks:\n"
        f"  - {{name: latency, plugin: mem_latency, schedule: '{schedule}', params: {PARAMS}}}\n"
        "  - {name: stream, plugin: mem_bandwidth, schedule: '0 0 1 1 *'}\n"
        "  - {name: gemm, plugin: gemm, schedule: '0 0 1 1 *'}\n")
    return path


def start_all(folder, build, log, started):
    make_certificates(folder)
    tls = f"tls: {{ca: {folder}/ca.pem, certificate: {folder}/node.pem, key: {folder}/node.key}}\n"
    shared = "node_certificates: ['dns:localhost']\n"
    grpc, http, exporter = free_port(), free_port(), free_port()
    (folder / "collector.yaml").write_text(
        f"data_dir: {folder}/collector\ngrpc: {{listen: '127.0.0.1:{grpc}'}}\n"
        f"http: {{listen: '127.0.0.1:{http}'}}\n{tls}{shared}")

    def start(name, *argv):
        started.append(Subject(name, argv, log))

    start("collector", build / "bin/fleetmark-collector", "--config", folder / "collector.yaml")
    wait_until("the collector", lambda: scrape(http) > 0)
    for i, (name, schedule) in enumerate(AGENTS.items()):
        start(name, private_copy(folder / f"bin{i}", build), "--config",
              agent_config(folder, name, schedule, grpc, tls, build))
    start("bare gRPC TLS stream", build / "bench/bare_stream", f"localhost:{grpc}", folder / "ca.pem",
          folder / "node.pem", folder / "node.key", "bare")
    if shutil.which("prometheus-node-exporter"):
        start("node exporter", "prometheus-node-exporter", f"--web.listen-address=127.0.0.1:{exporter}")
        wait_until("node exporter", lambda: scrape(exporter) > 0)
    if shutil.which("collectd"):
        (folder / "collectd.conf").write_text(COLLECTD.format(folder=folder, port=free_port()))
        start("collectd", shutil.which("collectd"), "-f", "-C", folder / "collectd.conf")
    wait_until("the streams", lambda: nodes_connected(http) == len(AGENTS) + 1)
    return exporter


def measure(subjects, exporter, seconds):
    # The agent's start (facts, plugin digests) is not its rest.
    time.sleep(min(10, seconds / 4))
    begin = {s.name: (s.cpu_seconds(), s.switches()) for s in subjects}
    start = time.monotonic()
    while (left := start + seconds - time.monotonic()) > 0:
        time.sleep(min(15, left))
        scrape(exporter)
        for s in subjects:
            s.highest_pss = max(s.highest_pss, s.memory()["Pss"])
    elapsed = time.monotonic() - start
    rows = {}
    for s in subjects:
        memory = s.memory()
        rows[s.name] = {
            "pss_bytes": memory["Pss"], "highest_pss_bytes": s.highest_pss, "rss_bytes": memory["Rss"],
            "private_dirty_bytes": memory["Private_Dirty"],
            "cpu_ms_per_minute": (s.cpu_seconds() - begin[s.name][0]) * 60000 / elapsed,
            "wakeups_per_second": (s.switches() - begin[s.name][1]) / elapsed, "threads": s.threads()}
    return elapsed, rows


def report(elapsed, rows):
    print(f"over {elapsed:.0f} s, {os.cpu_count()} cores:")
    print(f"{'':24}{'PSS MB':>8}{'highest':>9}{'RSS MB':>8}{'dirty MB':>10}{'CPU ms/min':>12}{'wake-ups/s':>12}"
          f"{'threads':>9}")
    for name, r in rows.items():
        print(f"{name:24}{r['pss_bytes'] / 1e6:8.1f}{r['highest_pss_bytes'] / 1e6:9.1f}{r['rss_bytes'] / 1e6:8.1f}"
              f"{r['private_dirty_bytes'] / 1e6:10.1f}{r['cpu_ms_per_minute']:12.1f}"
              f"{r['wakeups_per_second']:12.2f}{r['threads']:9}")
    bare = rows["bare gRPC TLS stream"]
    for name in AGENTS:
        line = f"{name}: {(rows[name]['pss_bytes'] - bare['pss_bytes']) / 1e6:.1f} MB above the bare stream"
        if "node exporter" in rows:
            exporter = rows["node exporter"]
            line += (f"; {rows[name]['pss_bytes'] / exporter['pss_bytes']:.2f} of node exporter's memory, "
                     f"{rows[name]['cpu_ms_per_minute'] / exporter['cpu_ms_per_minute']:.2f} of its CPU")
        print(line)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin-dir", default="build/release", type=pathlib.Path)
    parser.add_argument("--seconds", default=1800, type=float)
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="fleetmark-footprint-"))
    folder.chmod(0o755)
    started = []
    try:
        with open(folder / "log", "ab") as log:
            exporter = start_all(folder, args.bin_dir.resolve(), log, started)
            elapsed, rows = measure(started[1:], exporter, args.seconds)
    finally:
        for s in started:
            s.process.terminate()
            s.process.wait()
        shutil.rmtree(folder, ignore_errors=True)
    report(elapsed, rows)
    if args.json:
        args.json.write_text(json.dumps({"seconds": elapsed, "subjects": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
