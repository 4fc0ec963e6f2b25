"""PromQL of the collector against a real Prometheus: the same samples, the same expressions, the same results
within 1e-12, at single times and over ranges."""

import math
import os
import pathlib
import subprocess
import tempfile
import unittest

import prometheus_server
from promql_expressions import EXPRESSIONS, ORDERED, WRONG

BIN = pathlib.Path(os.environ["FM_BIN_DIR"])
BEGIN = 1_790_000_000
HOURS = 6
LOOKBACK = "20m"
TOLERANCE = 1e-12
TIMES = (BEGIN + 3 * 3600, BEGIN + 4 * 3600 + 17.5, BEGIN + 5 * 3600 + 59)
RANGES = ((BEGIN + 2 * 3600, BEGIN + 5 * 3600, 300), (BEGIN + 3 * 3600 + 7, BEGIN + 3 * 3600 + 900, 13))


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


def same(a, b):
    x, y = float(a), float(b)
    if math.isnan(x) or math.isnan(y):
        return math.isnan(x) and math.isnan(y)
    if math.isinf(x) or math.isinf(y):
        return x == y
    return abs(x - y) <= TOLERANCE * max(1.0, abs(x), abs(y))


def points_of(one):
    return one.get("values") or [one["value"]]


def difference(ours, theirs, ordered):
    """What differs between two answers, or None."""
    if (ours[0], ours[1]["status"], ours[1].get("errorType")) != (
            theirs[0], theirs[1]["status"], theirs[1].get("errorType")):
        return f"answers {ours[0]} {str(ours[1])[:300]}, Prometheus {theirs[0]} {str(theirs[1])[:300]}"
    if theirs[1]["status"] != "success":
        return None
    a, b = ours[1]["data"], theirs[1]["data"]
    if a["resultType"] != b["resultType"]:
        return f"resultType {a['resultType']} instead of {b['resultType']}"
    if a["resultType"] in ("scalar", "string"):
        equal = a["result"][0] == b["result"][0] and (
            a["result"][1] == b["result"][1] if a["resultType"] == "string" else same(a["result"][1], b["result"][1]))
        return None if equal else f"{a['result']} instead of {b['result']}"
    key = (lambda s: 0) if ordered else (lambda s: sorted(s["metric"].items()))
    left, right = sorted(a["result"], key=key), sorted(b["result"], key=key)
    if [s["metric"] for s in left] != [s["metric"] for s in right]:
        extra, missing = ([s["metric"] for s in a if s["metric"] not in [o["metric"] for o in b]][:3]
                          for a, b in ((left, right), (right, left)))
        return f"{len(left)} series instead of {len(right)}; only here {extra}, only there {missing}"
    for l, r in zip(left, right):
        lp, rp = points_of(l), points_of(r)
        if [p[0] for p in lp] != [p[0] for p in rp]:
            return f"{l['metric']}: times {[p[0] for p in lp][:5]}… instead of {[p[0] for p in rp][:5]}…"
        for (t, x), (_, y) in zip(lp, rp):
            if not same(x, y):
                return f"{l['metric']} at {t}: {x} instead of {y}"
    return None


@unittest.skipIf(prometheus_server.missing_programs(), "needs Debian's package prometheus")
class ConformanceTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        text = pathlib.Path(folder.name) / "samples.om"
        text.write_text("\n".join(samples()) + "\n# EOF\n")
        cls.probe = subprocess.Popen([str(BIN / "promql_probe"), str(text), LOOKBACK], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, text=True)
        cls.addClassCleanup(cls.end_probe)
        cls.ours = int(cls.probe.stdout.readline())
        prometheus_server.make_blocks(text, pathlib.Path(folder.name) / "data")
        server = prometheus_server.prometheus(folder.name, f"--query.lookback-delta={LOOKBACK}")
        cls.addClassCleanup(server.stop)
        cls.theirs = server.port

    @classmethod
    def end_probe(cls):
        cls.probe.stdin.close()
        cls.probe.stdout.close()
        cls.probe.wait()

    def compare(self, path, params, ordered=False):
        ours, theirs = (prometheus_server.request(port, path, params) for port in (self.ours, self.theirs))
        found = difference(ours, theirs, ordered)
        return [] if found is None else [f"{params[0][1]} {dict(params[1:])}: {found}"]

    def test_enough_expressions(self):
        self.assertGreaterEqual(len(set(EXPRESSIONS + ORDERED)), 150)

    def test_at_single_times(self):
        problems, answers = [], 0
        for expression in EXPRESSIONS + ORDERED:
            for time in TIMES:
                params = [("query", expression), ("time", time)]
                problems += self.compare("/api/v1/query", params, ordered=expression in ORDERED)
                answers += 1
        print(f"{answers} instant queries compared")
        self.assertEqual(problems, [], f"{len(problems)} differ:\n" + "\n".join(problems))

    def test_over_ranges(self):
        problems, answers = [], 0
        for expression in EXPRESSIONS + ORDERED:
            for start, end, step in RANGES:
                params = [("query", expression), ("start", start), ("end", end), ("step", step)]
                problems += self.compare("/api/v1/query_range", params)
                answers += 1
        print(f"{answers} range queries compared")
        self.assertEqual(problems, [], f"{len(problems)} differ:\n" + "\n".join(problems))

    def test_wrong_queries(self):
        problems = []
        for expression in WRONG:
            problems += self.compare("/api/v1/query", [("query", expression), ("time", TIMES[0])])
            status, answer = prometheus_server.request(
                self.theirs, "/api/v1/query", [("query", expression), ("time", TIMES[0])])
            self.assertEqual(answer["status"], "error", f"Prometheus takes {expression}")
        self.assertEqual(problems, [], "\n" + "\n".join(problems))

    def test_the_comparison_sees_differences(self):
        good = (200, {"status": "success", "data": {"resultType": "vector", "result": [
            {"metric": {"a": "b"}, "value": [1, "1"]}]}})
        other = (200, {"status": "success", "data": {"resultType": "vector", "result": [
            {"metric": {"a": "b"}, "value": [1, "1.00000000001"]}]}})
        self.assertIsNone(difference(good, good, False))
        self.assertIn("instead of", difference(good, other, False))
        self.assertIn("answers", difference(good, (400, {"status": "error", "errorType": "bad_data"}), False))


if __name__ == "__main__":
    unittest.main()
