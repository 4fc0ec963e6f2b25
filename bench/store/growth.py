#!/usr/bin/env python3
"""How the store's cost grows with the number of series: the same load at several sizes, one row each.

    growth.py BIN_DIR [--series 20000,200000] [--steps N] [--json FILE]
    growth.py BIN_DIR --series 2000000            # some 10 GB of memory and disk, and half an hour

For each size an empty store_server is given --steps steps of 20 metrics of (series / 20) nodes, in messages of 2,000
samples, killed with SIGKILL while its last runs are in the log alone, and started again. Each figure is also given as
a multiple of the first size's, beside how many times more series there are: a cost for each sample must not grow, a
read of all nodes and a start may grow as the series do.
"""

import argparse
import json
import pathlib
import tempfile
import time

from compare import Load, Server, figure, folder_bytes, memory_mb

METRICS = 20
ROWS = (("CPU per sample, us", "load.cpu_us_per_sample"),
        ("samples per second", "load.samples_per_second"),
        ("bytes per sample, all files", "bytes_per_sample"),
        ("peak memory while loading, MB", "load.peak_mb"),
        ("memory after the start, MB", "memory_mb"),
        ("start after SIGKILL, s", "start_seconds"),
        ("one series, ms", "queries.one_series_ms"),
        ("newest of one metric on every node, ms", "queries.latest_ms"),
        ("median by class of all samples of a metric, ms", "queries.class_medians_ms"),
        ("share of the machine used by others", "load.foreign_cpu_share"))


def measure(series, options, folder):
    where = f"{folder}/{series}"
    options.nodes = series // METRICS
    server = Server("fleetmark", options.bin_dir, where)
    result = {"series": series, "load": Load(options, server).send(METRICS, 0, options.steps, 2000, 4)}
    server.process.kill()
    server.process.wait()
    began = time.monotonic()
    server = Server("fleetmark", options.bin_dir, where)
    result["start_seconds"] = time.monotonic() - began
    result["memory_mb"] = memory_mb(server.pid, "VmRSS")
    result["queries"] = server.ask("query")
    sizes = server.ask("compact")
    # Each sample that was acknowledged before the kill.
    if sizes["samples"] != result["load"]["samples"] or sizes["series"] != series:
        raise SystemExit(f"of {result['load']['samples']:.0f} samples of {series} series there are {sizes}")
    result["bytes_per_sample"] = folder_bytes(where) / sizes["samples"]
    server.stop()
    return result


def print_table(results):
    print(f"{'':50s}" + "".join(f"{r['series']:>16,d}" for r in results)
          + "".join(f"{'x ' + format(r['series'] / results[0]['series'], 'g'):>12s}" for r in results[1:]))
    for title, path in ROWS:
        values = [figure(r, path) for r in results]
        print(f"{title:50s}" + "".join(f"{v:16.3f}" for v in values)
              + "".join(f"{v / values[0]:12.2f}" if values[0] else f"{'-':>12s}" for v in values[1:]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin_dir")
    parser.add_argument("--series", default="20000,200000")
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--folder", help="for the data; default: a temporary one")
    parser.add_argument("--json")
    options = parser.parse_args()
    options.jitter = False
    last = int(time.time()) // 900 * 900
    options.t0_ms = (last - (options.steps - 1) * 900) * 1000
    results = []
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for series in options.series.split(","):
            results.append(measure(int(series), options, folder))
    print_table(results)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
