"""The scripts are clean shell, the package list is in order, and systemd accepts the units."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

import repo


class ScriptsTest(unittest.TestCase):
    def test_shellcheck(self):
        program = shutil.which("shellcheck")
        self.assertIsNotNone(program, "shellcheck is missing: deploy/install-deps.sh --dev")
        scripts = repo.tracked(".sh") + [p for p in repo.tracked() if p == ".ci/run"]
        self.assertGreater(len(scripts), 2)
        # A file without a first line "#!" is read by other scripts: it is plain POSIX shell.
        sourced = [p for p in scripts if not repo.text(p).startswith("#!")]
        for options, files in ((["-x"], [p for p in scripts if p not in sourced]), (["--shell=sh"], sourced)):
            if files:
                result = subprocess.run([program, *options, *files], cwd=repo.ROOT, capture_output=True, text=True)
                self.assertEqual(result.returncode, 0, result.stdout)

    def test_bad_arguments_are_refused(self):
        for script in ("deploy/install-deps.sh", "deploy/quickstart.sh", "deploy/package.sh",
                       "deploy/kubernetes/render.sh", "tests/run.sh", "tests/deploy/tree/run.sh",
                       "deploy/container/build.sh"):
            result = subprocess.run([str(repo.ROOT / script), "--no-such"], capture_output=True, text=True)
            self.assertEqual(result.returncode, 2, script)
            self.assertIn("--no-such", result.stderr, script)

    def test_package_list_has_no_doubles(self):
        listed = subprocess.run([str(repo.ROOT / "deploy/install-deps.sh"), "--dev", "--list"], check=True,
                                capture_output=True, text=True).stdout.split()
        self.assertGreater(len(listed), 30)
        self.assertEqual(len(listed), len(set(listed)))


@unittest.skipUnless(shutil.which("systemd-analyze"), "no systemd here")
class UnitsTest(unittest.TestCase):
    def verify(self, text):
        with tempfile.TemporaryDirectory() as folder:
            unit = pathlib.Path(folder) / "fleetmark-x.service"
            unit.write_text(text)
            return subprocess.run(["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True,
                                  text=True)

    def test_units_are_valid(self):
        for name in ("agent", "collector"):
            text = repo.text(f"deploy/systemd/fleetmark-{name}.service")
            # The programs are not installed here.
            result = self.verify(text.replace(f"/usr/bin/fleetmark-{name}", "/bin/true"))
            self.assertEqual((result.returncode, result.stderr), (0, ""), name)

    def test_a_wrong_unit_is_seen(self):
        self.assertNotEqual(self.verify("[Service]\nExecStart=/no/such/program\n").stderr, "")


if __name__ == "__main__":
    unittest.main()
