"""PromQL of the collector against a real Prometheus: the same samples, the same expressions, the same results
within 1e-12, at single times and over ranges."""

import math
import unittest

import prometheus_server
from promql_expressions import EXPRESSIONS, ORDERED, WRONG
from promql_samples import BEGIN, start_servers

TOLERANCE = 1e-12
TIMES = (BEGIN + 3 * 3600, BEGIN + 4 * 3600 + 17.5, BEGIN + 5 * 3600 + 59)
RANGES = ((BEGIN + 2 * 3600, BEGIN + 5 * 3600, 300), (BEGIN + 3 * 3600 + 7, BEGIN + 3 * 3600 + 900, 13))


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
        start_servers(cls)

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
