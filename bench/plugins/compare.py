#!/usr/bin/env python3
"""Compares the mem_bandwidth and gemm plugins with programs that measure the same directly.

Reference and plugin run in turns, with the same array size, matrix size and threads, so that both see the
same machine. The figure of a metric is the median of the ratios, plugin to reference, of the pairs: other
load on the machine changes from pair to pair, and hits either side alike. Many short pairs say more than few
long ones. Ends with 1 if a figure is outside the tolerance.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys

CASES = (
    {"plugin": "mem_bandwidth", "unit": "GB/s", "reference": "stream_reference",
     "metrics": ("copy", "scale", "add", "triad"),
     "arguments": lambda a: [a.array_mib * (1 << 20) // 8, a.repetitions],
     "params": lambda a: {"array_bytes": a.array_mib << 20, "repetitions": a.repetitions, "per_node": "false"}},
    {"plugin": "gemm", "unit": "GFLOP/s", "reference": "gemm_reference", "metrics": ("dgemm", "sgemm"),
     "arguments": lambda a: [a.n, a.repetitions],
     "params": lambda a: {"n": a.n, "repetitions": a.repetitions, "threads": 0}},
)


def run(command, env=None):
    return subprocess.run([str(part) for part in command], check=True, env={**os.environ, **(env or {})},
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8").stdout


def run_reference(bin_dir, case, args):
    cpus = str(len(os.sched_getaffinity(0)))
    output = run([os.path.join(bin_dir, "bench", case["reference"]), *case["arguments"](args)],
                 {"OMP_PROC_BIND": "true", "OMP_NUM_THREADS": cpus, "OPENBLAS_NUM_THREADS": cpus})
    return {name: float(value) for name, value in (line.split() for line in output.splitlines())}


def run_plugin(bin_dir, case, args):
    env = {"FLEETMARK_PARAM_" + name.upper(): str(value) for name, value in case["params"](args).items()}
    name = case["plugin"]
    lines = [json.loads(line) for line in run([os.path.join(bin_dir, "plugins", name, name)], env).splitlines()]
    if lines[-1]["type"] != "done" or any(line["type"] == "invalid" for line in lines):
        sys.exit("%s: the run is not valid: %s" % (name, lines))
    return {line["name"]: line["value"] for line in lines if line["type"] == "metric"}


def compare(case, args):
    """One row for each metric."""
    pairs = []
    for i in range(args.pairs):
        order = (run_reference, run_plugin) if i % 2 == 0 else (run_plugin, run_reference)
        results = {side: side(args.bin_dir, case, args) for side in order}
        pairs.append((results[run_reference], results[run_plugin]))
    for name in case["metrics"]:
        ratios = [plugin[name] / reference[name] for reference, plugin in pairs]
        yield {"metric": name, "unit": case["unit"], "reference": max(r[name] for r, _ in pairs),
               "plugin": max(p[name] for _, p in pairs),
               "ratio": statistics.median(ratios), "least_ratio": min(ratios), "largest_ratio": max(ratios)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin-dir", default="build/release", help="the build tree (default %(default)s)")
    parser.add_argument("--json", metavar="FILE", help="write the figures there, too")
    parser.add_argument("--pairs", type=int, default=21, help="runs of each side (default %(default)s)")
    parser.add_argument("--array-mib", type=int, default=128, help="one array of STREAM (default %(default)s)")
    parser.add_argument("--n", type=int, default=1024, help="size of the matrices (default %(default)s)")
    parser.add_argument("--repetitions", type=int, default=5, help="in each run (default %(default)s)")
    parser.add_argument("--tolerance", type=float, default=0.05)
    parser.add_argument("--only", choices=[case["plugin"] for case in CASES])
    args = parser.parse_args()
    rows = [row for case in CASES if args.only in (None, case["plugin"]) for row in compare(case, args)]
    print("%-8s %-8s %10s %10s %8s   %s" % ("metric", "unit", "reference", "plugin", "ratio", "of the pairs"))
    for row in rows:
        row["within"] = abs(row["ratio"] - 1) <= args.tolerance
        print("%-8s %-8s %10.2f %10.2f %8.3f   %.3f to %.3f%s" % (
            row["metric"], row["unit"], row["reference"], row["plugin"], row["ratio"], row["least_ratio"],
            row["largest_ratio"], "" if row["within"] else "   OUTSIDE"))
    within = all(row["within"] for row in rows)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump({"pairs": args.pairs, "tolerance": args.tolerance, "within": within, "rows": rows}, file,
                      indent=1)
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
