"""Prometheus' and Alertmanager's own tools accept what configs/ gives them, and every rule fires when it should."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import yaml

SOURCE = pathlib.Path(os.environ["FM_SOURCE_DIR"])
CONFIGS = SOURCE / "configs/prometheus"
COLLECTOR = '{job="fleetmark-collector", instance="c:9412"%s}'
AGENT = '{job="fleetmark-agent", instance="n1:9411"%s}'


def of(metric, values, labels="", where=COLLECTOR):
    return {"series": metric + where % (f", {labels}" if labels else ""), "values": values}


# What makes each alert fire at 4 h, with a value every minute; and what all is well looks like.
BAD = {
    "FleetmarkCollectorDown": [of("up", "0x300")],
    "FleetmarkNoAgents": [of("fleetmark_ingest_streams", "0x300")],
    "FleetmarkAgentsLost": [of("fleetmark_ingest_streams", "100x210 80x90")],
    "FleetmarkCommitFailures": [of("fleetmark_ingest_commit_failures_total", "0+1x300")],
    "FleetmarkCommitsSlow": [of("fleetmark_ingest_commit_seconds_bucket", "0+0x300", 'le="0.5"'),
                             of("fleetmark_ingest_commit_seconds_bucket", "0+9x300", 'le="2"'),
                             of("fleetmark_ingest_commit_seconds_bucket", "0+9x300", 'le="+Inf"')],
    "FleetmarkRecordsRefused": [of("fleetmark_ingest_records_refused_total", "0+1x300", 'reason="future"')],
    "FleetmarkSeriesLimit": [of("fleetmark_ingest_samples_over_series_limit_total", "0+1x300")],
    "FleetmarkNoResults": [of("fleetmark_ingest_streams", "9x300"),
                           of("fleetmark_ingest_runs_total", "7x300", 'outcome="ok"')],
    "FleetmarkDetectionErrors": [of("fleetmark_detect_errors_total", "0+1x300")],
    "FleetmarkFindings": [of("fleetmark_detect_findings_opened_total", "0+1x300")],
    "FleetmarkAgentDisconnected": [of("fleetmark_agent_connected", "0x300", where=AGENT)],
    "FleetmarkSpoolDrops": [of("fleetmark_agent_spool_dropped_total", "0+1x300", where=AGENT)],
    "FleetmarkRunsFail": [of("fleetmark_agent_runs_total", "0+1x300", 'outcome="failed"', where=AGENT)],
}
GOOD = [
    of("up", "1x300"), of("fleetmark_ingest_streams", "100x210 99x90"),
    of("fleetmark_ingest_commit_failures_total", "0x300"),
    of("fleetmark_ingest_commit_seconds_bucket", "0+9x300", 'le="0.5"'),
    of("fleetmark_ingest_commit_seconds_bucket", "0+9x300", 'le="+Inf"'),
    of("fleetmark_ingest_records_refused_total", "5x300", 'reason="future"'),
    of("fleetmark_ingest_samples_over_series_limit_total", "0x300"),
    of("fleetmark_ingest_runs_total", "0+1x300", 'outcome="ok"'), of("fleetmark_detect_errors_total", "2x300"),
    of("fleetmark_detect_findings_opened_total", "3x300"), of("fleetmark_agent_connected", "1x300", where=AGENT),
    of("fleetmark_agent_spool_dropped_total", "0x300", where=AGENT),
    of("fleetmark_agent_runs_total", "1x300", 'outcome="failed"', where=AGENT),
]


def run(*argv):
    return subprocess.run([str(a) for a in argv], capture_output=True, text=True, timeout=60)


@unittest.skipUnless(shutil.which("promtool") and shutil.which("amtool"), "needs prometheus and prometheus-alertmanager")
class MonitoringTest(unittest.TestCase):
    def accept(self, *argv):
        done = run(*argv)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_files_are_accepted(self):
        self.accept("promtool", "check", "rules", CONFIGS / "fleetmark.rules.yml")
        self.accept("promtool", "check", "config", CONFIGS / "prometheus.yml")
        self.accept("amtool", "check-config", CONFIGS / "alertmanager.yml")

    def test_every_alert_fires_and_none_without_cause(self):
        groups = yaml.safe_load((CONFIGS / "fleetmark.rules.yml").read_text())["groups"]
        names = [rule["alert"] for group in groups for rule in group["rules"]]
        self.assertEqual(sorted(names), sorted(BAD))
        # promtool prints what it got where it expected nothing.
        with tempfile.TemporaryDirectory() as folder:
            for name in names:
                for series, fires in ((BAD[name], True), (GOOD, False)):
                    test = {"rule_files": [str(CONFIGS / "fleetmark.rules.yml")], "evaluation_interval": "1m", "tests": [
                        {"interval": "1m", "input_series": series,
                         "alert_rule_test": [{"eval_time": "4h", "alertname": name, "exp_alerts": []}]}]}
                    file = pathlib.Path(folder) / "test.yml"
                    file.write_text(json.dumps(test))
                    done = run("promtool", "test", "rules", file)
                    got = done.stdout + done.stderr
                    self.assertEqual(done.returncode != 0, fires, f"{name}: {got}")
                    if fires:
                        self.assertIn(f'alertname="{name}"', got)

    def test_routes(self):
        for severity in ("critical", "info"):
            done = run("amtool", "config", "routes", "test", f"--config.file={CONFIGS / 'alertmanager.yml'}",
                       f"severity={severity}")
            self.assertEqual(done.stdout.strip(), "operators")


if __name__ == "__main__":
    unittest.main()
