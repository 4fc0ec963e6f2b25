"""The Debian packages as files: lintian finds no error, the version comes from one place, each has its bill of materials.
What they do to a machine is tried by tests/deploy/tree/run.sh packages_in_tree."""

import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["FM_SOURCE_DIR"])
BIN = pathlib.Path(os.environ["FM_BIN_DIR"])
NAMES = {"fleetmark", "fleetmark-agent", "fleetmark-collector", "fleetmark-plugins"}


def output_of(*argv):
    done = subprocess.run([str(a) for a in argv], capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise AssertionError(f"{argv} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


@unittest.skipUnless(shutil.which("dpkg-shlibdeps"), "needs dpkg-dev")
class PackagesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="fleetmark-packages-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        # The revision is remembered by CMake.
        cls.addClassCleanup(output_of, "cmake", "-DCPACK_DEBIAN_PACKAGE_RELEASE=1", BIN.parent)
        output_of(SOURCE / "deploy/package.sh", "--no-build", "--revision", "7", "--output", cls.folder)
        cls.packages = {p.name.split("_")[0]: p for p in cls.folder.glob("*.deb")}

    def field(self, name, field):
        return output_of("dpkg-deb", "--field", self.packages[name], field).strip()

    @unittest.skipUnless(shutil.which("lintian"), "needs lintian")
    def test_lintian_finds_no_error(self):
        done = subprocess.run(["lintian", "--allow-root", "--fail-on=error", *self.packages.values()], capture_output=True,
                              text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_one_version(self):
        self.assertEqual(set(self.packages), NAMES)
        version = re.search(r"^project\(fleetmark VERSION (\S+) ", (SOURCE / "CMakeLists.txt").read_text(), re.M)[1]
        for name in NAMES:
            self.assertEqual(self.field(name, "Version"), f"{version}-7")
        for program in ("fleetmark", "fleetmark-agent", "fleetmark-collector"):
            self.assertRegex(output_of(BIN / program, "--version"), rf"\b{re.escape(version)}\b")
        tree = self.folder / "tree"
        output_of("dpkg-deb", "--extract", self.packages["fleetmark-agent"], tree)
        log = gzip.decompress((tree / "usr/share/doc/fleetmark-agent/changelog.Debian.gz").read_bytes()).decode()
        self.assertTrue(log.startswith(f"fleetmark-agent ({version}-7) "), log)

    def test_configuration_is_the_administrators(self):
        for name, package in self.packages.items():
            listed = {line.split()[-1].lstrip(".") for line in output_of("dpkg-deb", "--contents", package).splitlines()}
            configs = {p for p in listed if p.startswith("/etc/") and not p.endswith("/")}
            kept = set(subprocess.run(["dpkg-deb", "--info", package, "conffiles"], capture_output=True,
                                      text=True).stdout.split())
            self.assertEqual(configs, kept, name)

    def test_bills_of_materials(self):
        for name, package in self.packages.items():
            bill = json.loads(package.with_suffix(".spdx.json").read_text())
            self.assertEqual(bill["spdxVersion"], "SPDX-2.3")
            parts = {p["SPDXID"]: p for p in bill["packages"]}
            self.assertEqual(len(parts), len(bill["packages"]), "an id twice")
            self.assertTrue(all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", i) for i in parts))
            for r in bill["relationships"]:
                self.assertLessEqual({r["spdxElementId"], r["relatedSpdxElement"]}, {*parts, "SPDXRef-DOCUMENT"})
            me = next(p for p in parts.values() if p["name"] == name)
            self.assertEqual(me["checksums"][0]["checksumValue"], output_of("sha256sum", package).split()[0])

            def related(kind, bill=bill, parts=parts):
                return {parts[r["relatedSpdxElement"]]["name"] for r in bill["relationships"]
                        if r["relationshipType"] == kind}

            # What the control file says; of alternatives the one that is there counts, and who provides a name stands for it.
            named = related("DEPENDS_ON")
            provides = output_of("dpkg-query", "-W", "-f", "${Provides} ", *named) if named else ""
            named |= set(re.findall(r"[a-z0-9][a-z0-9.+-]+", re.sub(r"\([^)]*\)", "", provides)))
            for term in self.field(name, "Depends").split(","):
                wanted = {re.sub(r"[:\s(].*", "", a.strip()) for a in term.split("|")}
                self.assertTrue(wanted & named, f"{name}: {term}")
            if name == "fleetmark-collector":
                self.assertEqual(related("CONTAINS"), {"preact", "uplot"})

    def test_linked_archives_are_listed(self):
        """Each archive that the agent is linked from belongs to a package that its bill names."""
        bill = json.loads(self.packages["fleetmark-agent"].with_suffix(".spdx.json").read_text())
        listed = {p["name"] for p in bill["packages"]}
        names = re.search(r"foreach\(name (.*)\)", (SOURCE / "cmake/fm_static.cmake").read_text())[1].split()
        folder = pathlib.Path(f"/usr/lib/{output_of('dpkg-architecture', '-qDEB_HOST_MULTIARCH').strip()}")
        for archive in [f"lib{n}.a" for n in names] + ["libabsl_base.a"]:
            owner = output_of("dpkg", "--search", folder / archive).split(":")[0]
            self.assertIn(owner, listed, archive)


if __name__ == "__main__":
    unittest.main()
