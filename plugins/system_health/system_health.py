#!/usr/bin/env -S python3 -B
"""The node's health as its kernel tells it: each figure, and how many are not as they should be."""

import shutil
import subprocess
import sys
from pathlib import Path

import readings
from fleetmark_plugin import Plugin

NVIDIA_QUERY = ["nvidia-smi", "--query-gpu=index,ecc.errors.corrected.volatile.total,ecc.errors.uncorrected.volatile.total",
                "--format=csv,noheader"]
# A driver or server that hangs must not hang the run.
PATIENCE_SECONDS = 8
# Asks in a process of its own, which can be left behind.
STATVFS = "import os, sys; s = os.statvfs(sys.argv[1]); print(s.f_blocks, s.f_bavail, s.f_bfree, s.f_files, s.f_ffree)"


class Examination:
    def __init__(self, plugin, root):
        self.plugin, self.root, self.problems = plugin, root, 0

    def problem(self, message):
        self.problems += 1
        self.plugin.event(message)

    def memory_errors(self, limit):
        counts = list(readings.ecc_counts(self.root))
        if self.root == Path("/") and shutil.which(NVIDIA_QUERY[0]):
            counts += readings.nvidia_counts(output_of(NVIDIA_QUERY) or "")
        for count in counts:
            labels = {"device": count.device}
            if count.corrected is not None:
                self.plugin.metric("ecc_corrected", count.corrected, "count", labels)
            if count.uncorrected is not None:
                self.plugin.metric("ecc_uncorrected", count.uncorrected, "count", labels)
                if count.uncorrected > limit:
                    self.problem("%s: %d uncorrected memory errors" % (count.device, count.uncorrected))

    def pcie(self):
        for link in readings.pcie_links(self.root):
            labels = {"device": link.device}
            self.plugin.metric("pcie_width", link.width, "count", labels)
            self.plugin.metric("pcie_width_share", link.width / link.max_width, "1", labels)
            self.plugin.metric("pcie_speed_share", link.speed / link.max_speed, "1", labels)
            if link.width < link.max_width:
                self.problem("PCIe device %s runs at x%d of x%d" % (link.device, link.width, link.max_width))

    def network(self, expected):
        speeds = dict(readings.network_speeds(self.root))
        for interface, speed in speeds.items():
            self.plugin.metric("network_speed", speed, "Mbit/s", {"interface": interface})
        for interface, speed in expected.items():
            if isinstance(speed, bool) or not isinstance(speed, (int, float)) or speed <= 0:
                self.plugin.bad_parameter("network_speeds", "must give Mbit/s above 0 for %s" % interface)
            now = speeds.get(interface, 0)
            self.plugin.metric("network_speed_share", now / speed, "1", {"interface": interface})
            if now < speed:
                self.problem("interface %s runs at %g of %g Mbit/s" % (interface, now, speed))

    def clock(self, expected):
        now, offered = readings.clock_source(self.root)
        if now is None:
            return
        expected = expected or (offered[0] if offered else now)
        self.plugin.metric("clock_source_expected", 1 if now == expected else 0, "1")
        if now != expected:
            self.problem("the clock source is %s, not %s" % (now, expected))

    def mitigations(self):
        found = readings.vulnerabilities(self.root)
        if not found:
            return
        bad = sorted(name for name, text in found.items() if text.startswith("Vulnerable"))
        self.plugin.metric("cpu_vulnerable", len(bad), "count")
        self.plugin.metric("cpu_mitigated", sum(text.startswith("Mitigation") for text in found.values()), "count")
        if bad:
            self.plugin.log("not mitigated: %s" % ", ".join(bad))

    def filesystems(self, expected, most):
        mounts = readings.mounts(self.root)
        present = {mount.path for mount in mounts}
        for path in expected:
            if not isinstance(path, str) or not path.startswith("/"):
                self.plugin.bad_parameter("filesystems", "must be mount points such as /scratch, not %r" % (path,))
            there = path.rstrip("/") in present or path in present
            self.plugin.metric("filesystem_mounted", 1 if there else 0, "1", {"mount": path[:256]})
            if not there:
                self.problem("%s is not mounted" % path)
        for mount in [each for each in mounts if readings.is_storage(each)][:readings.MAX_DEVICES]:
            self.use_of(mount, most)

    def use_of(self, mount, most):
        use = use_of_filesystem(str(self.root) + mount.path if self.root != Path("/") else mount.path)
        if use is None:
            if readings.is_remote(mount):
                self.problem("%s does not answer" % mount.path)
            return
        labels = {"mount": mount.path[:256]}
        for name, share in zip(("space_use", "inode_use"), use):
            if share is None:
                continue
            self.plugin.metric(name, share, "1", labels)
            if share > most:
                what = "space is" if name == "space_use" else "inodes are"
                self.problem("%s: %.0f %% of its %s taken" % (mount.path, share * 100, what))


def output_of(command):
    """What it printed, or None when it failed or did not end in time."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              timeout=PATIENCE_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "replace")


def use_of_filesystem(path):
    """(share of the space, share of the inodes); a share is None where the file system has no such number."""
    answer = output_of([sys.executable, "-I", "-S", "-c", STATVFS, path])
    if answer is None:
        return None
    blocks, available, free, files, free_files = map(int, answer.split())
    taken = blocks - free
    space = taken / (taken + available) if taken + available > 0 else None
    return space, (files - free_files) / files if files > 0 else None


def examine(plugin):
    root = Path(plugin.params["root"] or "/")
    if not (root / "sys").is_dir():
        plugin.bad_parameter("root", "must be a folder with sys in it, not %s" % root)
    examination = Examination(plugin, root)
    examination.memory_errors(int(plugin.params["max_uncorrected"]))
    examination.pcie()
    examination.network(plugin.params["network_speeds"])
    examination.clock(plugin.params["clock_source"])
    examination.mitigations()
    examination.filesystems(plugin.params["filesystems"], float(plugin.params["max_use"]))
    plugin.metric("problems", examination.problems, "count")


def main():
    plugin = Plugin()
    examine(plugin)
    plugin.done()


if __name__ == "__main__":
    main()
