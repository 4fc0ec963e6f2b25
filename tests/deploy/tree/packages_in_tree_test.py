"""The Debian packages in a clean Debian 12 under its own systemd: first install, services, upgrade from the previous
version with data, removal, coming back, purge. The tree is kept in the build folder; the first run needs Debian's archive.

By hand, since it takes minutes the first time and needs root, systemd-nspawn and mmdebstrap:

    tests/deploy/tree/run.sh packages_in_tree [--previous DIR]

The previous version is DIR's packages, else these packages with a lower version and another default configuration.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import debian_tree

BUILD = pathlib.Path(os.environ["FM_BUILD_DIR"])
NAMES = ("fleetmark-agent", "fleetmark-plugins", "fleetmark-collector", "fleetmark")
UNITS = ("fleetmark-collector", "fleetmark-agent")
PREVIOUS = os.environ.get("FM_PREVIOUS_PACKAGES")


def packages(folder):
    """The newest package of each name."""
    return {name: max(pathlib.Path(folder).glob(f"{name}_*_*.deb"), key=lambda p: p.stat().st_mtime) for name in NAMES}


def older(package, folder):
    """The package as if it were an older version with another default configuration."""
    tree = folder / package.name
    subprocess.run(["dpkg-deb", "--raw-extract", package, tree], check=True)
    control = tree / "DEBIAN/control"
    control.write_text(re.sub(r"(?m)^Version: .*", "Version: 0.0.9-1", control.read_text()))
    for config in tree.glob("etc/fleetmark/*.yaml"):
        config.write_text(config.read_text() + "\n# the default of an older version\n")
    made = folder / f"{package.name.split('_')[0]}_0.0.9-1_amd64.deb"
    subprocess.run(["dpkg-deb", "--build", "--root-owner-group", "-Znone", tree, made], check=True, stdout=subprocess.DEVNULL)
    return made


@unittest.skipIf(debian_tree.missing(), debian_tree.missing())
class PackagesTest(unittest.TestCase):
    def setUp(self):
        self.new = packages(BUILD / "packages")
        folder = tempfile.TemporaryDirectory(prefix="fleetmark-packages-")
        self.addCleanup(folder.cleanup)
        self.old = (packages(PREVIOUS) if PREVIOUS else
                    {name: older(deb, pathlib.Path(folder.name)) for name, deb in self.new.items()})
        needed = debian_tree.dependencies([*self.new.values(), *self.old.values()])
        self.machine = debian_tree.Machine(debian_tree.archive(BUILD / "debian-trees", [*debian_tree.BOOT, *needed]))
        self.addCleanup(self.machine.stop)

    def dpkg(self, *argv):
        return self.machine.run("dpkg", "--force-confdef", "--force-confold", *argv, timeout=300).stdout

    def install(self, debs):
        for deb in debs.values():
            self.machine.put(f"/var/tmp/{deb.name}", source=deb)
        return self.dpkg("--install", *[f"/var/tmp/{deb.name}" for deb in debs.values()])

    def state(self, unit, what="is-active"):
        return self.machine.run("systemctl", what, unit, check=False).stdout.strip()

    def main_pid(self, unit):
        return self.machine.run("systemctl", "show", "--value", "--property=MainPID", unit).stdout.strip()

    def exists(self, path):
        return self.machine.run("test", "-e", path, check=False).returncode == 0

    def run_ids(self):
        done = self.machine.run("fleetmark", "runs", "-o", "json", check=False)
        return {r["run"]["run_id"] for r in json.loads(done.stdout)["runs"]} if done.returncode == 0 else set()

    def measure(self):
        """One more run in the collector; the ids of all that it has."""
        before = self.run_ids()
        self.machine.run("fleetmark-agent", "--config", "/etc/fleetmark/agent.yaml", "--expires=60s", "run", "mem_latency")
        return self.machine.wait_for("the run is stored", lambda: (now := self.run_ids()) > before and now)

    def give_limits(self):
        """A machine that may not raise its own limits gives a unit no more than it has."""
        for unit in UNITS:
            self.machine.put(f"/etc/systemd/system/{unit}.service.d/limits.conf",
                             "[Service]\nLimitNOFILE=4096\nLimitMEMLOCK=64K\n")
        self.machine.run("systemctl", "daemon-reload")

    def test_life_of_an_installation(self):
        before = self.machine.run("sh", "-c", "find / -xdev -iname '*fleetmark*' -not -path '/proc/*'").stdout
        self.install(self.old)
        for unit in UNITS:  # its configuration has to be written first
            self.assertEqual((self.state(unit), self.state(unit, "is-enabled")), ("inactive", "disabled"))
        owner = self.machine.run("stat", "-c", "%U %a", "/var/lib/fleetmark/collector", "/var/lib/fleetmark/agent").stdout
        self.assertEqual(owner.split(), ["fleetmark", "750", "root", "711"])

        # What an operator does; the change to the configuration is one that an upgrade must leave alone.
        self.give_limits()
        config = "/etc/fleetmark/agent.yaml"
        self.machine.run("sed", "-i", "s/^    enabled: true  *# false: do not look/    enabled: false/", config)
        self.machine.run("sh", "-c", f"echo '# ours' >>{config}")
        self.machine.run("systemctl", "enable", "--now", *UNITS)
        for unit in UNITS:
            self.assertEqual((self.state(unit), self.state(unit, "is-enabled")), ("active", "enabled"))
        runs = self.measure()
        pids = {unit: self.main_pid(unit) for unit in UNITS}

        with self.subTest("upgrade"):
            self.install(self.new)
            for unit in UNITS:
                self.machine.wait_for(f"{unit} is active", lambda u=unit: self.state(u) == "active")
                self.assertNotEqual(self.main_pid(unit), pids[unit], f"{unit} was not started anew")
            self.assertTrue(self.machine.run("cat", config).stdout.endswith("# ours\n"))
            collector = self.machine.run("cat", "/etc/fleetmark/collector.yaml").stdout
            self.assertNotIn("an older version", collector, "an untouched file takes the new default")
            self.machine.wait_for("what was stored is there", lambda: self.run_ids() >= runs)
            runs = self.measure()
            version = self.machine.run("fleetmark-collector", "--version").stdout
            self.assertIn(subprocess.run(["dpkg-deb", "--field", self.new["fleetmark-collector"], "Version"], text=True,
                                         capture_output=True).stdout.split("-")[0], version)
            faults = self.machine.run("journalctl", "-u", "fleetmark-collector", "-q", "-p", "err").stdout
            self.assertEqual(faults, "")

        with self.subTest("removal keeps data and configuration"):
            self.dpkg("--remove", *NAMES)
            for unit in UNITS:
                self.assertEqual(self.state(unit), "inactive")
            self.assertFalse(self.exists("/usr/bin/fleetmark-agent"))
            self.assertTrue(self.exists(config) and self.exists("/var/lib/fleetmark/collector"))

        with self.subTest("it comes back as it was"):
            self.install(self.new)
            self.assertEqual([self.state(u, "is-enabled") for u in UNITS], ["enabled", "enabled"])
            self.machine.run("systemctl", "start", *UNITS)
            self.machine.wait_for("what was stored is there", lambda: self.run_ids() >= runs)

        with self.subTest("purge leaves nothing"):
            self.dpkg("--purge", *NAMES)
            left = self.machine.run("sh", "-c", "rm -rf /var/tmp/fleetmark*.deb /etc/systemd/system/fleetmark-*.service.d; "
                                    "systemctl daemon-reload; find / -xdev -iname '*fleetmark*' -not -path '/proc/*' "
                                    "-not -path '/sys/*' -not -path '/var/tmp/systemd-private-*'").stdout
            self.assertEqual(left, before, self.machine.run("ls", "-lA", "/var/lib/fleetmark", check=False).stdout)
            passwd = self.machine.run("cat", "/etc/passwd").stdout  # files elsewhere may be theirs
            self.assertIn("fleetmark-run", passwd)
            self.assertEqual(self.machine.run("dpkg", "--audit").stdout, "")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
