#!/usr/bin/env python3
"""Fleetmark's store beside VictoriaMetrics and Prometheus, on the same load, in the same run.

    compare.py BIN_DIR [--nodes N] [--steps N] [--history N] [--peers victoria-metrics,prometheus]
               [--jitter] [--repeat N] [--json FILE]

Each server is started empty, on this machine, and given the same samples by store_load: 20 metrics of N nodes
for --steps steps of 15 minutes, once in messages of one run (20 samples), once in messages of 2,000 samples (for
Fleetmark 100 runs, of one node). Then sizes after compaction, memory, and the time of three reads, for which one
metric has --history steps more. CPU is the server's, from /proc, until it has come to rest.

A peer acknowledges before its data is on disk; Fleetmark acknowledges after fdatasync. Fleetmark's reads are timed
in its process, the peers' over HTTP with their JSON.
"""

import argparse
import http.client
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time
import urllib.parse

TICK = os.sysconf("SC_CLK_TCK")
STEP_MS = 900_000
PORTS = {"fleetmark": 19510, "victoria-metrics": 19528, "prometheus": 19590}


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def machine_busy_seconds():
    fields = [int(f) for f in open("/proc/stat").readline().split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / TICK


def memory_mb(pid, what):
    for line in open(f"/proc/{pid}/status"):
        if line.startswith(what):
            return int(line.split()[1]) / 1024
    return 0


def folder_bytes(folder):
    return sum(f.stat().st_blocks * 512 for f in pathlib.Path(folder).rglob("*") if f.is_file())


def settle(pid, longest=60):
    """Until the server used less than 5 % of a core for 3 seconds."""
    for _ in range(longest // 3):
        before = cpu_seconds(pid)
        time.sleep(3)
        if cpu_seconds(pid) - before < 0.15:
            return


class Server:
    def __init__(self, name, bin_dir, folder):
        self.name, self.folder, self.port = name, folder, PORTS[name]
        self.log = open(folder + ".log", "w")
        if name == "fleetmark":
            command = [f"{bin_dir}/store_server", folder, str(self.port)]
        elif name == "victoria-metrics":
            command = ["victoria-metrics", f"-storageDataPath={folder}", f"-httpListenAddr=127.0.0.1:{self.port}",
                       "-retentionPeriod=120", "-search.maxStalenessInterval=20m", "-search.disableCache=true",
                       "-search.maxSamplesPerQuery=200000000", "-search.maxQueryDuration=120s",
                       "-search.maxUniqueTimeseries=300000"]
        else:
            config = folder + ".yml"
            pathlib.Path(config).write_text("global: {scrape_interval: 15m}\n")
            command = ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder}",
                       f"--web.listen-address=127.0.0.1:{self.port}", "--web.enable-remote-write-receiver",
                       "--storage.tsdb.retention.time=10y", "--query.lookback-delta=20m",
                       "--query.max-samples=200000000", "--query.timeout=5m"]
        pipe = subprocess.PIPE if name == "fleetmark" else subprocess.DEVNULL
        self.process = subprocess.Popen(command, stdin=pipe, stderr=self.log, text=True,
                                        stdout=pipe if name == "fleetmark" else self.log)
        self.pid = self.process.pid
        if name == "fleetmark":
            self.opened = json.loads(self.process.stdout.readline())
        else:
            self.await_http()

    def await_http(self):
        path = "/-/ready" if self.name == "prometheus" else "/health"
        for _ in range(300):
            try:
                if self.get(path)[0] == 200:
                    return
            except OSError:
                pass
            time.sleep(0.1)
        raise SystemExit(f"{self.name} did not start; see {self.folder}.log")

    def get(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, body

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def compact(self):
        """What a server says of its sizes, if it does."""
        if self.name == "fleetmark":
            self.sizes = self.ask("compact")
        elif self.name == "victoria-metrics":
            self.get("/internal/force_flush")
            self.get("/internal/force_merge")
        settle(self.pid)

    def stop(self):
        if self.name == "fleetmark":
            self.process.stdin.write("quit\n")
            self.process.stdin.flush()
        else:
            self.process.terminate()
        self.process.wait(60)
        self.log.close()


class Load:
    def __init__(self, options, server):
        self.options, self.server = options, server

    def send(self, metrics, first_step, steps, samples_per_request, connections):
        to = "fleetmark" if self.server.name == "fleetmark" else "remote_write"
        cpu, busy, began = cpu_seconds(self.server.pid), machine_busy_seconds(), time.monotonic()
        command = [f"{self.options.bin_dir}/store_load", "--to", to, "--port", self.server.port, "--nodes",
                   self.options.nodes, "--metrics", metrics, "--first_step", first_step, "--steps", steps, "--t0_ms",
                   self.options.t0_ms, "--samples_per_request", samples_per_request, "--connections", connections,
                   "--jitter_ms", 60_000 if self.options.jitter else 0]
        sent = json.loads(subprocess.run([str(c) for c in command], check=True, capture_output=True).stdout)
        settle(self.server.pid)
        used = cpu_seconds(self.server.pid) - cpu
        elapsed = time.monotonic() - began
        foreign = machine_busy_seconds() - busy - used - sent["client_cpu_seconds"]
        return {"samples": sent["samples"], "samples_per_second": sent["samples"] / sent["seconds"],
                "cpu_us_per_sample": 1e6 * used / sent["samples"],
                "foreign_cpu_share": max(0, foreign) / elapsed / os.cpu_count(),
                "peak_mb": memory_mb(self.server.pid, "VmHWM")}


def time_queries(server, options, last_step):
    if server.name == "fleetmark":
        answer = server.ask("query")
        return {"one_series_ms": answer.get("one_series_ms"), "latest_ms": answer.get("latest_ms"),
                "class_medians_ms": answer.get("class_medians_ms")}
    end = (options.t0_ms + last_step * STEP_MS) / 1000
    start = end - 30 * 86400 + 900
    quote = urllib.parse.quote

    def timed(path, times):
        took = []
        for _ in range(times):
            began = time.monotonic()
            status, body = server.get(path)
            took.append(1e3 * (time.monotonic() - began))
            if status != 200:
                raise SystemExit(f"{server.name}: {body[:200]}")
        return statistics.median(took)

    def of_range(query):
        return f"/api/v1/query_range?query={quote(query)}&start={start}&end={end}&step=900&nocache=1"

    node = f"node-{options.nodes // 2:05d}"
    return {"one_series_ms": timed(of_range(f'bench_m00{{node="{node}"}}'), 31),
            "latest_ms": timed(f"/api/v1/query?query=bench_m00&time={end}&nocache=1", 11),
            "class_medians_ms": timed(of_range("quantile by (group) (0.5, bench_m00)"), 3)}


def measure(name, options, folder):
    """One server's figures: an empty one for each way of sending."""
    result = {}
    for way, samples, connections in (("run", 20, 16), ("bulk", 2000, 4)):
        where = f"{folder}/{name}-{way}"
        server = Server(name, options.bin_dir, where)
        load = Load(options, server)
        result[way] = load.send(20, options.history, options.steps, samples, connections)
        if way == "bulk":
            server.compact()
            result["disk_bytes_per_sample"] = folder_bytes(where) / result[way]["samples"]
            result["sample_bytes_per_sample"] = result["disk_bytes_per_sample"]
            if name == "fleetmark":
                parts = sum(server.sizes[f] for f in ("chunks", "rows", "groups", "group_stats", "tier_days"))
                result["sample_bytes_per_sample"] = parts / result[way]["samples"]
                result["families"] = server.sizes
            if options.history:
                load.send(1, 0, options.history, 2000, 4)
                server.compact()
                result["queries"] = time_queries(server, options, options.history + options.steps - 1)
            result["peak_mb_with_queries"] = memory_mb(server.pid, "VmHWM")
        server.stop()
        shutil.rmtree(where, ignore_errors=True)
    return result


def figure(result, path):
    for part in path.split("."):
        result = (result or {}).get(part)
    return result


ROWS = (("CPU per sample, messages of one run, us", "run.cpu_us_per_sample"),
        ("CPU per sample, messages of 2,000 samples, us", "bulk.cpu_us_per_sample"),
        ("samples per second, messages of one run", "run.samples_per_second"),
        ("samples per second, messages of 2,000 samples", "bulk.samples_per_second"),
        ("bytes per sample, samples and their index", "sample_bytes_per_sample"),
        ("bytes per sample, all files (ours: runs too)", "disk_bytes_per_sample"),
        ("peak memory while loading, MB", "bulk.peak_mb"),
        ("one series over 30 days, ms", "queries.one_series_ms"),
        ("newest of one metric on every node, ms", "queries.latest_ms"),
        ("median by class over 30 days, ms", "queries.class_medians_ms"),
        ("share of the machine used by others", "bulk.foreign_cpu_share"))


def print_table(results):
    names = list(results)
    print(f"{'':50s}" + "".join(f"{n:>20s}" for n in names) + "".join(f"{'/ ' + n:>20s}" for n in names[1:]))
    for title, path in ROWS:
        values = {}
        for name in names:
            found = [v for v in (figure(r, path) for r in results[name]) if v is not None]
            if found:
                values[name] = (statistics.median(found), min(found), max(found))
        cells = "".join(f"{values[n][0]:20.3f}" if n in values else f"{'-':>20s}" for n in names)
        for peer in names[1:]:
            if peer in values and names[0] in values and values[peer][0]:
                cells += f"{values[names[0]][0] / values[peer][0]:20.3f}"
            else:
                cells += f"{'-':>20s}"
        print(f"{title:50s}{cells}")
        if any(low != high for _, low, high in values.values()):
            print(f"{'   from … to':50s}" + "".join(
                f"{values[n][1]:10.3f}…{values[n][2]:<9.3f}" if n in values else f"{'-':>20s}" for n in names))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin_dir")
    parser.add_argument("--nodes", type=int, default=500)
    parser.add_argument("--steps", type=int, default=32, help="of 20 metrics on each node")
    parser.add_argument("--history", type=int, default=0, help="steps before those, of one metric")
    parser.add_argument("--peers", default="victoria-metrics,prometheus")
    parser.add_argument("--jitter", action="store_true", help="up to a minute on each run's time")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--folder", help="for the servers' data; default: a temporary one")
    parser.add_argument("--json")
    options = parser.parse_args()
    last = int(time.time()) // 900 * 900
    options.t0_ms = (last - (options.history + options.steps - 1) * 900) * 1000
    names = ["fleetmark"] + [p for p in options.peers.split(",") if p]
    for peer in names[1:]:
        if shutil.which(peer) is None:
            raise SystemExit(f"{peer} is not installed (apt-get install {peer})")
    results = {name: [] for name in names}
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for _ in range(options.repeat):
            for name in names:
                results[name].append(measure(name, options, folder))
    print_table(results)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
