"""The scripts that Slurm calls, with stand-ins for scontrol and the agent: none of them ever fails, the flag files come
and go, and the health check drains and resumes only what it may."""

import os
import pathlib
import subprocess
import tempfile
import unittest

SCRIPTS = pathlib.Path(os.environ["FM_SOURCE_DIR"]) / "deploy/slurm"


class SlurmScriptsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.calls = self.folder / "calls"
        self.calls.touch()
        (self.folder / "jobs").mkdir()
        self.program("logger", 'echo "logger $*" >> "$CALLS"')
        self.program("scontrol", 'echo "scontrol $*" >> "$CALLS"; [ "$1" = show ] && cat "$FOLDER/node" 2>/dev/null; exit 0')
        self.agent(0, "ok: 1 benchmarks")
        self.node("")

    def program(self, name, text):
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def agent(self, status, text):
        self.program("agent", f'echo "agent $*" >> "$CALLS"; echo "{text}"; exit {status}')

    def node(self, reason):
        (self.folder / "node").write_text(f"NodeName=n1 State=IDLE{' Reason=' + reason if reason else ''}\n")

    def run_script(self, name, **environment):
        env = {"PATH": f"{self.folder}:/usr/bin:/bin", "CALLS": str(self.calls), "FOLDER": str(self.folder),
               "SLURMD_NODENAME": "n1", "FLEETMARK_JOB_FLAGS": str(self.folder / "jobs"),
               "FLEETMARK_AGENT": str(self.folder / "agent"), "FLEETMARK_AGENT_CONFIG": "/c.yaml",
               "FLEETMARK_HEALTH_STATE": str(self.folder / "drained"), **environment}
        done = subprocess.run([str(SCRIPTS / name)], env=env, capture_output=True, text=True, timeout=30)
        self.assertEqual((done.returncode, done.stderr), (0, ""), name)
        calls = self.calls.read_text().splitlines()
        self.calls.write_text("")
        return calls

    def flags(self):
        return sorted(p.name for p in (self.folder / "jobs").iterdir())

    def updates(self, calls):
        return [c for c in calls if c.startswith("scontrol update")]

    def test_flags_come_and_go(self):
        self.run_script("prolog.sh", SLURM_JOB_ID="17")
        self.run_script("prolog.sh", SLURM_JOB_ID="18")
        self.assertEqual(self.flags(), ["17", "18"])
        self.assertEqual(self.run_script("epilog.sh", SLURM_JOB_ID="17"), [])
        self.assertEqual(self.flags(), ["18"])

    def test_odd_environments_do_no_harm(self):
        victim = self.folder / "victim"
        victim.touch()
        for job in ("", "../victim", "1 2"):
            for script in ("prolog.sh", "epilog.sh"):
                self.run_script(script, SLURM_JOB_ID=job)
        self.assertTrue(victim.exists())
        self.assertEqual(self.flags(), [])
        self.run_script("prolog.sh", SLURM_JOB_ID="1", FLEETMARK_JOB_FLAGS="/no/such/folder")

    def test_epilog_measures_when_told(self):
        calls = self.run_script("epilog.sh", SLURM_JOB_ID="17", FLEETMARK_EPILOG_BENCHMARK="gemm")
        self.assertEqual(calls, ["agent --config /c.yaml --expires=10s run gemm epilog"])
        self.agent(1, "failed")
        self.run_script("epilog.sh", SLURM_JOB_ID="17", FLEETMARK_EPILOG_BENCHMARK="gemm")

    def test_a_well_node_costs_the_controller_nothing(self):
        self.assertEqual([c for c in self.run_script("health_check.sh") if "scontrol" in c], [])

    def test_an_unhealthy_node_is_only_logged_by_default(self):
        self.agent(1, "gemm failed 3 times")
        calls = self.run_script("health_check.sh")
        self.assertEqual(self.updates(calls), [])
        self.assertTrue(any("gemm failed 3 times" in c for c in calls))

    def test_drain_and_resume(self):
        self.agent(1, "gemm failed 3 times")
        self.assertEqual(self.updates(self.run_script("health_check.sh", FLEETMARK_DRAIN="yes")),
                         ["scontrol update nodename=n1 state=drain reason=fleetmark: gemm failed 3 times"])
        self.assertEqual([c for c in self.run_script("health_check.sh", FLEETMARK_DRAIN="yes") if "scontrol" in c], [])
        self.agent(0, "ok")
        self.node("fleetmark: gemm failed 3 times [root@2026-12-03T00:00:00]")
        self.assertEqual(self.updates(self.run_script("health_check.sh")), ["scontrol update nodename=n1 state=resume"])
        self.assertEqual([c for c in self.run_script("health_check.sh") if "scontrol" in c], [])

    def test_what_others_drained_stays(self):
        self.node("broken fan [ops@2026-12-03T00:00:00]")
        self.agent(1, "gemm failed 3 times")
        self.assertEqual(self.updates(self.run_script("health_check.sh", FLEETMARK_DRAIN="yes")), [])
        # Drained by this script, then taken over by a person.
        (self.folder / "drained").touch()
        self.agent(0, "ok")
        self.assertEqual(self.updates(self.run_script("health_check.sh")), [])

    def test_an_agent_that_is_away_is_no_fault_of_the_node(self):
        self.agent(6, "no agent")
        calls = self.run_script("health_check.sh", FLEETMARK_DRAIN="yes")
        self.assertEqual(self.updates(calls), [])
        self.assertTrue(any("does not answer" in c for c in calls))


if __name__ == "__main__":
    unittest.main()
