"""How exposed systemd finds the units, and that what the agent's leaves open is explained."""

import json
import os
import pathlib
import shutil
import subprocess
import unittest

SOURCE = pathlib.Path(os.environ["FM_SOURCE_DIR"])


def security(unit):
    done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--json=short", str(unit)],
                          capture_output=True, text=True)
    return json.loads(done.stdout)


def open_options(unit):
    """The options that count against the unit, by systemd's names, which have a bracket too many in one place."""
    return {o["json_field"].rstrip(")") for o in security(unit) if float(o["exposure"] or 0) > 0}


def within(unit, threshold):
    return subprocess.run(["systemd-analyze", "security", "--offline=true", f"--threshold={threshold}", str(unit)],
                          capture_output=True).returncode == 0


@unittest.skipUnless(shutil.which("systemd-analyze"), "no systemd here")
class UnitsTest(unittest.TestCase):
    def test_collector_is_confined(self):
        unit = SOURCE / "deploy/systemd/fleetmark-collector.service"
        self.assertTrue(within(unit, 20))
        self.assertFalse(within(unit, 5))  # the threshold is looked at

    def test_what_the_agent_leaves_open_is_explained(self):
        left_open = open_options(SOURCE / "deploy/systemd/fleetmark-agent.service")
        self.assertGreater(len(left_open), 10)
        page = (SOURCE / "docs/hardening.md").read_text()
        self.assertEqual([o for o in sorted(left_open) if f"`{o}`" not in page], [])


if __name__ == "__main__":
    unittest.main()
