#!/usr/bin/env python3
"""Does a plugin measure the same under the agent as by itself?

A collector and an agent that is connected to it run, with every source of the gate that finds something here. The
agent runs a benchmark on request (`fleetmark-agent run`), and the same plugin with the same parameters is
started by hand, in turns, so that both see the same machine: other load changes from pair to pair, and hits
either side alike. The figure is the median of the ratios, agent to bare, of the pairs. Ends with 1 when it is
further from 1 than the tolerance.

The agent's gate only looks: whatever else runs here keeps nothing off. Both sides run as the same user and with
the same environment.

Usage: perturbation.py [--bin-dir build/release] [--pairs 30] [--json FILE]
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

BENCH = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(BENCH / "plugins"), str(BENCH / "footprint")]
import compare  # noqa: E402
import footprint  # noqa: E402

# CPU-bound, on one CPU: mem_latency's walks stay in the first cache.
CASES = (
    {"plugin": "mem_latency", "unit": "ns", "metrics": ("latency",),
     "params": lambda a: {"sizes": "16KiB", "loads": a.loads, "repetitions": a.repetitions}},
    {"plugin": "gemm", "unit": "GFLOP/s", "metrics": ("dgemm", "sgemm"),
     "params": lambda a: {"n": a.n, "repetitions": a.repetitions, "threads": 1}},
)
METRIC = re.compile(r"^(\w+)(?:\{[^}]*\})? (\S+) \S+$", re.M)


def run_by_agent(agent, config, case):
    done = subprocess.run([str(agent), "--config", str(config), "run", case["plugin"]], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.exit(f"perturbation.py: the agent did not run {case['plugin']}: {done.stdout}{done.stderr}")
    return {name: float(value) for name, value in METRIC.findall(done.stdout)}


def write_configs(folder, build, grpc, http, args):
    (folder / "collector.yaml").write_text(
        f"data_dir: {folder}/collector\ngrpc: {{listen: '127.0.0.1:{grpc}'}}\nhttp: {{listen: '127.0.0.1:{http}'}}\n"
        "store: {reserve_bytes: 0}\n")
    lines = [f"node: {{name: node}}\ncollectors: ['127.0.0.1:{grpc}']\nplugin_paths: [{build}/plugins]",
             f"data_dir: {folder}/agent\nhttp: {{listen: '127.0.0.1:{footprint.free_port()}'}}\nbudget: {{share: 1}}",
             "gate: {cool_down: 0s, pressure: {cpu_busy: 1, memory: 1, io: 1}}"]
    if os.geteuid() == 0:
        lines.append("plugins: {user: root}")
    lines.append("benchmarks:")
    for case in CASES:
        params = ", ".join(f"{name}: '{value}'" if isinstance(value, str) else f"{name}: {value}"
                           for name, value in case["params"](args).items())
        lines.append(f"  - {{name: {case['plugin']}, plugin: {case['plugin']}, params: {{{params}}}, "
                     "schedule: '0 0 1 1 *'}")
    (folder / "agent.yaml").write_text("\n".join(lines) + "\n")


def measure(folder, log, started, args):
    build = args.bin_dir.resolve()
    grpc, http = footprint.free_port(), footprint.free_port()
    write_configs(folder, build, grpc, http, args)
    for name in ("collector", "agent"):
        started.append(footprint.Subject(name, [build / f"bin/fleetmark-{name}", "--config", folder / f"{name}.yaml"],
                                         log))
        if name == "collector":
            footprint.wait_until("the collector", lambda: footprint.scrape(http) > 0)
    footprint.wait_until("the agent's stream", lambda: footprint.nodes_connected(http) == 1)
    rows = []
    for case in CASES:
        by_agent = lambda: run_by_agent(build / "bin/fleetmark-agent", folder / "agent.yaml", case)  # noqa: E731
        bare = lambda: compare.run_plugin(str(build), case, args)  # noqa: E731
        rows += compare.rows_of(case["metrics"], case["unit"], compare.in_turns(bare, by_agent, args.pairs), "agent")
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin-dir", default="build/release", type=pathlib.Path)
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--tolerance", type=float, default=0.005)
    parser.add_argument("--loads", type=int, default=2_000_000, help="of one walk (default %(default)s)")
    parser.add_argument("--n", type=int, default=512, help="size of the matrices (default %(default)s)")
    parser.add_argument("--repetitions", type=int, default=100, help="in each run (default %(default)s)")
    parser.add_argument("--json", metavar="FILE")
    args = parser.parse_args()
    # The agent gives a run a clean environment. Variables of this shell, such as OPENBLAS_CORETYPE, would make the
    # other side another program.
    os.environ.clear()
    os.environ["PATH"] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    folder = pathlib.Path(tempfile.mkdtemp(prefix="fleetmark-perturbation-"))
    folder.chmod(0o755)
    started = []
    try:
        with open(folder / "log", "ab") as log:
            rows = measure(folder, log, started, args)
    finally:
        for s in reversed(started):
            s.process.terminate()
            s.process.wait()
        shutil.rmtree(folder, ignore_errors=True)
    return compare.report(rows, args.tolerance, args.pairs, args.json, ("bare", "agent"))


if __name__ == "__main__":
    sys.exit(main())
