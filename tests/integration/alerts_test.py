"""Alerts from a result that is outside its reference to those who are told: a real Alertmanager, which is killed and
comes back, and webhooks that fail, hang, and say nothing; the collector is killed in between."""

import json
import os
import pathlib
import random
import sys
import tempfile
import time
import unittest

import alert_receivers
import prometheus_server

sys.path.insert(0, str(pathlib.Path(os.environ["FM_SOURCE_DIR"]) / "tests/e2e"))
import harness  # noqa: E402

GOOD, BAD = 200, 150
CONFIG = """
references:
  - {{benchmark: stream, metric: triad, value: 200, unit: GB/s, lower: -0.1}}
alerts:
  wait: 0s
  resolve_after: 1s
  external_url: 'http://fleet.example/'
  receivers:
{receivers}"""


class AlertsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "secret").write_bytes(alert_receivers.SECRET + b"\n")
        self.samples = 0

    def webhook(self):
        hook = alert_receivers.Webhook()
        self.addCleanup(hook.close)
        return hook

    def hook_config(self, name, hook, timeout="2s"):
        return (f"    - {{name: {name}, webhook: {{url: '{hook.url}', secret_file: '{self.folder}/secret', "
                f"timeout: {timeout}}}}}\n")

    def collector(self, name, receivers):
        collector = harness.Collector(self.folder / name, CONFIG.format(receivers=receivers))
        collector.start()
        self.addCleanup(lambda: collector.process.stop())
        return collector

    def measure(self, value, nodes, *collectors):
        self.samples += 1
        file = self.folder / f"{self.samples}.csv"
        # Newer than the ones before, whatever the clock's resolution.
        stamp = f"{time.time() - 600 + self.samples:.3f}"
        file.write_text("time,node,benchmark,metric,value,unit\n" +
                        "".join(f"{stamp},{node},stream,triad,{value},GB/s\n" for node in nodes))
        for collector in collectors:
            harness.cli(collector, "import", "csv", str(file))

    def states(self, collector):
        return {a["subject"]: a["life"]["state"] for a in collector.get("alerts?all=true")["alerts"]}

    @unittest.skipIf(prometheus_server.missing_programs(("prometheus-alertmanager",)),
                     "needs Debian's package prometheus-alertmanager")
    def test_alertmanager_is_told_kept_up_to_date_and_may_be_away(self):
        told = self.webhook()  # by Alertmanager
        am = alert_receivers.Alertmanager(self.folder / "am", told.url).start()
        self.addCleanup(am.stop)
        config = f"    - {{name: am, alertmanager: {{url: 'http://127.0.0.1:{am.port}', resend: 2s}}}}\n"
        first, second = self.collector("first", config), self.collector("second", config)
        self.measure(GOOD, ["n1"], first, second)
        self.measure(BAD, ["n1"], first, second)

        # Appears, once, though two collectors tell of it.
        for collector in (first, second):
            harness.wait_for("firing", lambda: self.states(collector).get("node n1") == "STATE_FIRING", 150)
        alert = harness.wait_for("in Alertmanager", am.alerts)[0]
        self.assertEqual(alert["labels"]["alertname"], "FleetmarkSlow")
        self.assertEqual(alert["labels"]["node"], "n1")
        self.assertIn("25.0 % lower, 200 to 150 GB/s", alert["annotations"]["summary"])
        self.assertIn("fleetmark alerts ack", alert["annotations"]["description"])
        harness.wait_for("Alertmanager tells of it", told.events)
        self.assertEqual(len(am.alerts()), 1)

        # Is updated.
        alert_id = first.get("alerts")["alerts"][0]["alert_id"]
        harness.cli(first, "alerts", "ack", alert_id[-6:], "--note", "on it")
        self.assertEqual(self.states(first)["node n1"], "STATE_ACKNOWLEDGED")

        # Outlives what Alertmanager would take for its end, four times the resend, by being sent again.
        time.sleep(10)
        self.assertEqual([a["status"]["state"] for a in am.alerts()], ["active"])
        self.assertEqual([e["status"] for e in told.events()], ["firing"])

        # Comes back after Alertmanager was killed and has forgotten everything.
        am.kill()
        am.start()
        harness.wait_for("again in Alertmanager", am.alerts)

        # Ends while Alertmanager is away: it hears of that when it is back. Stopped, not killed: a killed one forgets whom
        # it told, and tells nobody of the end of what it never told.
        am.stop()
        self.measure(GOOD, ["n1"], first, second)
        for collector in (first, second):
            harness.wait_for("resolved", lambda: self.states(collector).get("node n1") == "STATE_RESOLVED", 150)
        am.start()
        harness.wait_for("Alertmanager tells of the end",
                         lambda: [e["status"] for e in told.events()][-1] == "resolved", 60)
        harness.wait_for("no alert any more", lambda: not am.alerts(), 60)
        # Killed, Alertmanager forgets whom it told, and tells again that it fires; that it has ended it tells once.
        self.assertEqual([e["status"] for e in told.events()].count("resolved"), 1)

    def test_webhooks_in_trouble_hold_nobody_up_and_lose_nothing(self):
        good, bad, hanging, half_open = (self.webhook() for _ in range(4))
        silent = alert_receivers.HangingPort()
        self.addCleanup(silent.close)
        bad.mode, hanging.mode, half_open.mode = "fail", "hang", "half_open"
        collector = self.collector(
            "c", self.hook_config("good", good) + self.hook_config("bad", bad) + self.hook_config("hanging", hanging) +
            self.hook_config("half_open", half_open) +
            f"    - {{name: mute_mail, mail: {{server: 'smtp://127.0.0.1:{silent.port}', starttls: false, timeout: 2s, "
            "from: a@example.org, to: [b@example.org]}}\n")
        self.measure(BAD, ["n1", "n2"], collector)
        harness.wait_for("the good one is told of both", lambda: len(good.events()) == 2, 150)
        for receiver in collector.get("receivers")["receivers"]:
            if receiver["name"] != "good":
                harness.wait_for(f"{receiver['name']} is in trouble",
                                 lambda: self.receiver(collector, receiver["name"])["trouble"], 30)
                self.assertEqual(self.receiver(collector, receiver["name"])["waiting"], "2")
        self.measure(GOOD, ["n1", "n2"], collector)
        harness.wait_for("the good one hears of the end", lambda: len(good.events()) == 4, 150)

        # They recover, and are told everything once, each alert's in its order.
        for hook in (bad, hanging, half_open):
            hook.mode = "ok"
            hook.released.set()
        for hook in (bad, hanging, half_open):
            harness.wait_for("all four", lambda: len(hook.events()) >= 4, 120)
        for hook in (good, bad, hanging, half_open):
            events = hook.events()
            self.assertEqual(len({e["id"] for e in events}), 4)
            self.assertEqual(len(events), 4)
            self.assertTrue(hook.signed())
            for subject in {e["subject"] for e in events}:
                self.assertEqual([e["data"]["reason"] for e in events if e["subject"] == subject],
                                 ["firing", "resolved"])

        # What is refused for good is given up and counted, and the next one is sent.
        bad.mode = "refuse"
        self.measure(BAD, ["n3"], collector)
        harness.wait_for("given up", lambda: self.receiver(collector, "bad")["dead"] == "1", 150)
        history = json.loads(harness.cli(collector, "-o", "json", "alerts", "history", self.alert_of(collector, "n3")).stdout)
        self.assertIn("KIND_DEAD", [change["kind"] for change in history["history"]])
        self.assertNotIn(alert_receivers.SECRET.decode(), collector.process.text())

    def receiver(self, collector, name):
        return next(r for r in collector.get("receivers")["receivers"] if r["name"] == name)

    def alert_of(self, collector, node):
        return next(a["alert_id"] for a in collector.get("alerts")["alerts"] if a["subject"] == f"node {node}")

    def test_a_collector_that_is_killed_loses_and_doubles_no_notice(self):
        rng = random.Random(int(os.environ.get("FM_SEED", "1")))
        hook = self.webhook()
        collector = self.collector("c", self.hook_config("hook", hook))
        nodes = [f"n{i}" for i in range(40)]
        self.measure(BAD, nodes, collector)
        harness.wait_for("the first is told", hook.events, 150)
        kills = 0
        while len({e["subject"] for e in hook.events()}) < len(nodes):
            collector.process.kill()
            kills += 1
            collector.start()
            time.sleep(rng.uniform(0, 0.6))
            self.assertLess(kills, 200)
        collector.process.kill()
        collector.start()
        harness.wait_for("nothing waits", lambda: self.receiver(collector, "hook")["waiting"] == "0", 60)
        by_alert = {}
        for event in hook.events():
            by_alert.setdefault(event["subject"], set()).add(event["id"])
        # The same notice may come again after a kill; it then has the same id, by which the receiver knows it.
        self.assertEqual(len(by_alert), len(nodes))
        self.assertTrue(all(len(ids) == 1 for ids in by_alert.values()), by_alert)
        print(f"{kills} kills, {len(hook.events())} posts of {len(nodes)} notices")


if __name__ == "__main__":
    unittest.main(verbosity=2)
