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


def in_turns(reference, other, pairs):
    """What both gave, pair by pair; each is as often the first of a pair as the second."""
    results = []
    for i in range(pairs):
        order = (reference, other) if i % 2 == 0 else (other, reference)
        given = {side: side() for side in order}
        results.append((given[reference], given[other]))
    return results


def rows_of(metrics, unit, pairs, side="plugin"):
    """One row for each metric of `pairs`, as in_turns gives them."""
    for name in metrics:
        ratios = [other[name] / reference[name] for reference, other in pairs]
        yield {"metric": name, "unit": unit, "reference": max(r[name] for r, _ in pairs),
               side: max(o[name] for _, o in pairs),
               "ratio": statistics.median(ratios), "least_ratio": min(ratios), "largest_ratio": max(ratios)}


def report(rows, tolerance, pairs, json_file, sides=("reference", "plugin")):
    """Prints the rows, writes them where asked, and returns the exit status."""
    print("%-8s %-8s %10s %10s %8s   %s" % ("metric", "unit", *sides, "ratio", "of the pairs"))
    for row in rows:
        row["within"] = abs(row["ratio"] - 1) <= tolerance
        print("%-8s %-8s %10.3f %10.3f %8.4f   %.3f to %.3f%s" % (
            row["metric"], row["unit"], row["reference"], row[sides[1]], row["ratio"], row["least_ratio"],
            row["largest_ratio"], "" if row["within"] else "   OUTSIDE"))
    within = all(row["within"] for row in rows)
    if json_file:
        with open(json_file, "w", encoding="utf-8") as file:
            json.dump({"pairs": pairs, "tolerance": tolerance, "within": within, "rows": rows}, file, indent=1)
    return 0 if within else 1


def compare(case, args):
    pairs = in_turns(lambda: run_reference(args.bin_dir, case, args), lambda: run_plugin(args.bin_dir, case, args),
                     args.pairs)
    return rows_of(case["metrics"], case["unit"], pairs)


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
    return report(rows, args.tolerance, args.pairs, args.json)


if __name__ == "__main__":
    sys.exit(main())
