"""Samples for comparisons of PromQL with a real Prometheus, the same on every machine: gauges, counters that begin
anew, gaps, jitter, hourly series, and odd numbers. And the servers that hold them."""

import os
import pathlib
import subprocess
import tempfile

import prometheus_server

BIN = pathlib.Path(os.environ["FM_BIN_DIR"])
BEGIN = 1_790_000_000
HOURS = 6
LOOKBACK = "20m"


class Random:
    """The same numbers on every machine."""

    def __init__(self, seed):
        self.state = seed * 2654435761 % 2**32 + 1

    def next(self):
        self.state = (self.state * 1103515245 + 12345) % 2**31
        return self.state / 2**31


def line(name, labels, value, seconds):
    inner = ",".join(f'{k}="{v}"' for k, v in labels.items())
    return f"{name}{{{inner}}} {value} {seconds:.3f}"


def series(name, labels, every, value, jitter=0.0, skip=lambda i: False, seed=1):
    random = Random(seed)
    for i in range(HOURS * 3600 // every):
        late = random.next() * jitter
        text = value(i, random)
        if not skip(i):
            yield line(name, labels, text, BEGIN + i * every + late)


def samples():
    nodes = [("n%d" % i, "r%d" % (i % 2), "cpu" if i < 4 else "gpu") for i in range(6)]
    for i, (node, rack, kind) in enumerate(nodes):
        for k, kernel in enumerate(("copy", "triad")):
            yield from series("bandwidth", dict(node=node, rack=rack, kernel=kernel, **{"class": kind}), 60,
                              lambda t, r: round(180 + 7 * i + 3 * k + 5 * r.next(), 2), seed=10 * i + k)
        yield from series("temp", dict(node=node), 60, lambda t, r: round(-20 + i + 40 * r.next(), 3), jitter=20,
                          seed=100 + i)
        total = [0]

        def count(t, r):
            total[0] = 0 if t % 97 == 96 else total[0] + int(50 * r.next())
            return total[0]
        for code in ("200", "500"):
            total[0] = 0
            yield from series("requests_total", dict(node=node, code=code), 60, count, jitter=5, seed=200 + i)
        yield from series("hourly", dict(node=node, rack=rack), 3600, lambda t, r: 1000 + i + t, seed=300 + i)
        yield from series("gappy", dict(node=node), 60, lambda t, r: int(100 * r.next()), seed=400 + i,
                          skip=lambda t: (t // 30) % (2 + i % 3) == 1)
        yield from series("node_info", dict(node=node, model="m%d" % (i % 3)), 300, lambda t, r: 1, seed=500 + i)
        yield from series("steps", dict(node=node), 60, lambda t, r: t // 20 % 4, seed=600 + i)
    odd = ["NaN", "+Inf", "-Inf", "0", "-0", "1e300", "-1e300", "5e-308", "1", "0.1"]
    for i in range(3):
        yield from series("odd", dict(n=str(i)), 60, lambda t, r: odd[(t * (i + 1)) % len(odd)], seed=700)
    for kind, limit in (("cpu", 195.5), ("gpu", 215.25)):
        yield from series("limit", {"class": kind}, 60, lambda t, r: limit)
    yield from series("single", {}, 60, lambda t, r: 42.5)
    yield from series("first", dict(a="x", b="y"), 60, lambda t, r: t, skip=lambda t: t % 4 == 0)
    yield from series("second", dict(a="x", c="z"), 60, lambda t, r: t * 2, skip=lambda t: t % 5 == 0)


def start_servers(test_class):
    """Sets `ours`, the port of promql_probe, and `theirs`, that of Prometheus, until the class is done."""
    folder = tempfile.TemporaryDirectory()
    test_class.addClassCleanup(folder.cleanup)
    text = pathlib.Path(folder.name) / "samples.om"
    text.write_text("\n".join(samples()) + "\n# EOF\n")
    probe = subprocess.Popen([str(BIN / "promql_probe"), str(text), LOOKBACK], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)

    def end_probe():
        probe.stdin.close()
        probe.stdout.close()
        probe.wait()
    test_class.addClassCleanup(end_probe)
    test_class.ours = int(probe.stdout.readline())
    prometheus_server.make_blocks(text, pathlib.Path(folder.name) / "data")
    server = prometheus_server.prometheus(folder.name, f"--query.lookback-delta={LOOKBACK}")
    test_class.addClassCleanup(server.stop)
    test_class.theirs = server.port
