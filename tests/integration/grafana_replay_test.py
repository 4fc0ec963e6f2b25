"""What Grafana's Prometheus data source asks, in the way it asks: the health check, the label browser and query
builder, panels. The collector's answers have the same shape as a real Prometheus', and lists the same content."""

import os
import pathlib
import re
import unittest

import prometheus_server
from promql_samples import BEGIN, start_servers

SOURCE = pathlib.Path(os.environ["FM_SOURCE_DIR"])
NOW = BEGIN + 5 * 3600
SPAN = [("start", BEGIN + 3600), ("end", NOW)]
HEADERS = {"User-Agent": "Grafana/10.4.2", "Accept-Encoding": "gzip", "X-Datasource-Uid": "fleetmark",
           "X-Grafana-Org-Id": "1", "X-Panel-Id": "2", "X-Dashboard-Uid": "abc"}


class Call:
    def __init__(self, what, path, params=(), form=False, content=False):
        self.what, self.path, self.params, self.form = what, path, list(params), form
        self.content = content  # whether the data must be equal, not just alike


CALLS = [
    Call("health check", "/api/v1/query", [("query", "1+1"), ("time", NOW)], form=True, content=True),
    Call("which version", "/api/v1/status/buildinfo"),
    Call("recording rules", "/api/v1/rules", content=True),
    Call("metric names", "/api/v1/label/__name__/values", SPAN, content=True),
    Call("metric names by prefix", "/api/v1/label/__name__/values",
         SPAN + [("match[]", '{__name__=~".*band.*"}')], content=True),
    Call("label names", "/api/v1/labels", SPAN, content=True),
    Call("label names of a metric, posted", "/api/v1/labels", SPAN + [("match[]", "bandwidth")], form=True,
         content=True),
    Call("values of a label", "/api/v1/label/node/values", SPAN, content=True),
    Call("values of a label of a metric", "/api/v1/label/node/values", SPAN + [("match[]", 'bandwidth{rack="r1"}')],
         content=True),
    Call("values of a label that nothing has", "/api/v1/label/nothing/values", SPAN, content=True),
    Call("series of a selector", "/api/v1/series", SPAN + [("match[]", 'bandwidth{node="n1"}')], content=True),
    Call("series, posted, two selectors", "/api/v1/series",
         SPAN + [("match[]", "temp"), ("match[]", 'hourly{node=~"n[12]"}')], form=True, content=True),
    Call("series of nothing", "/api/v1/series", SPAN + [("match[]", "nothing")], content=True),
    Call("metadata", "/api/v1/metadata"),
    Call("metadata, limited", "/api/v1/metadata", [("limit", 1)]),
    Call("a time series panel", "/api/v1/query_range",
         [("query", "bandwidth"), ("start", BEGIN + 3600), ("end", NOW), ("step", 60)], form=True, content=True),
    Call("a panel with an alternation of many nodes", "/api/v1/query_range",
         [("query", 'avg by (rack) (bandwidth{node=~"%s"})' % "|".join(f"n{i}" for i in range(2000))),
          ("start", BEGIN + 3600), ("end", NOW), ("step", 900)], form=True),
    Call("a panel without data", "/api/v1/query_range",
         [("query", "nothing"), ("start", BEGIN + 3600), ("end", NOW), ("step", 60)], form=True, content=True),
    Call("a table panel", "/api/v1/query", [("query", "topk(3, bandwidth)"), ("time", NOW)], form=True),
    Call("a stat panel", "/api/v1/query", [("query", "count(bandwidth)"), ("time", NOW + 0.25)], form=True,
         content=True),
    Call("a raw range", "/api/v1/query", [("query", "hourly[3h]"), ("time", NOW)], form=True),
    Call("exemplars", "/api/v1/query_exemplars",
         [("query", "bandwidth"), ("start", BEGIN + 3600), ("end", NOW)], form=True, content=True),
    Call("a wrong query", "/api/v1/query_range",
         [("query", "sum("), ("start", BEGIN + 3600), ("end", NOW), ("step", 60)], form=True),
    Call("a query that can't be executed", "/api/v1/query",
         [("query", "bandwidth + on(node) temp"), ("time", NOW)], form=True),
    Call("a step that is too fine", "/api/v1/query_range",
         [("query", "bandwidth"), ("start", BEGIN), ("end", NOW), ("step", 0.1)], form=True),
    Call("no step", "/api/v1/query_range", [("query", "bandwidth"), ("start", BEGIN), ("end", NOW)], form=True),
    Call("a selector that is none", "/api/v1/series", SPAN + [("match[]", "{")]),
    Call("no selector", "/api/v1/series", SPAN),
    Call("a query formatted", "/api/v1/format_query", [("query", "sum(rate(foo[5m]))by(a)")], content=False),
]
# What Fleetmark says beyond Prometheus' answer, and what a map's keys are.
ADDED = {"application", "applicationVersion"}
# Only in Prometheus, and optional there.
ABSENT = {"infos", "warnings"}


def shape(value, path=""):
    """The value with its leaves replaced by their kinds. Of a list, the shape of its elements, all alike."""
    if isinstance(value, dict):
        if path.endswith("metadata.data"):  # metrics' names: the shape is that of the entries
            return {"*": [shape(v, "entry") for v in list(value.values())[:1]]}
        return {k: shape(v, f"{path}.{k}") for k, v in sorted(value.items()) if k not in ADDED | ABSENT}
    if isinstance(value, list):
        if len(value) == 2 and isinstance(value[0], (int, float)) and isinstance(value[1], str):
            return ["time", "value"]
        shapes = {repr(shape(v, path + "[]")): shape(v, path + "[]") for v in value}
        return [shapes[k] for k in sorted(shapes)]
    return "number" if isinstance(value, (int, float)) and not isinstance(value, bool) else type(value).__name__


def normal(data):
    """Lists of series in one order."""
    if isinstance(data, list):
        return sorted((normal(d) for d in data), key=repr) if not (
            len(data) == 2 and isinstance(data[0], (int, float))) else data
    return {k: normal(v) for k, v in data.items()} if isinstance(data, dict) else data


@unittest.skipIf(prometheus_server.missing_programs(), "needs Debian's package prometheus")
class GrafanaReplayTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        start_servers(cls)

    def test_calls(self):
        for call in CALLS:
            with self.subTest(call.what):
                ours, theirs = (prometheus_server.request(port, call.path, call.params, call.form, HEADERS)
                                for port in (self.ours, self.theirs))
                self.assertEqual(ours[0], theirs[0], f"{ours[1]} instead of {theirs[1]}")
                if "metadata" in call.path:
                    # Blocks hold no metadata: Prometheus has none to tell. Its form is documented as here.
                    self.assertEqual(theirs[1], {"status": "success", "data": {}})
                    self.assertEqual(shape(ours[1], "metadata"),
                                     {"status": "str", "data": {"*": [[{"help": "str", "type": "str", "unit": "str"}]]}})
                    continue
                self.assertEqual(shape(ours[1]), shape(theirs[1]))
                if ours[1]["status"] == "error":
                    self.assertEqual(ours[1]["errorType"], theirs[1]["errorType"])
                elif call.content:
                    self.assertEqual(normal(ours[1]["data"]), normal(theirs[1]["data"]))

    def test_the_comparison_sees_shapes(self):
        self.assertNotEqual(shape({"a": [1, "2"]}), shape({"a": ["1", "2"]}))
        self.assertNotEqual(shape([{"metric": {}, "value": [1, "1"]}]), shape([{"metric": {}, "values": [[1, "1"]]}]))
        self.assertEqual(shape({"version": "1", "application": "x"}), shape({"version": "2"}))

    def test_data_source_definition(self):
        text = (SOURCE / "configs/grafana/provisioning/datasources/fleetmark.yaml").read_text()
        self.assertIn("type: prometheus", text)
        default = (SOURCE / "configs/collector.yaml").read_text()
        port = re.search(r"^http:\n  listen: 127\.0\.0\.1:(\d+)", default, re.M).group(1)
        self.assertIn(f"url: http://127.0.0.1:{port}", text)
        self.assertIn("httpMethod: POST", text)


if __name__ == "__main__":
    unittest.main()
