"""The system_health plugin: what it makes of trees that stand for machines, well and ill."""

import os
import pathlib
import sys
import tempfile
import unittest

from harness import Plugin, plugins_dir

sys.path.insert(0, os.path.join(plugins_dir(), "system_health"))
import readings  # noqa: E402

GPU = "sys/devices/pci0000:00/0000:00:01.0/0000:17:00.0"


class Tree:
    """A folder that stands for a machine's /."""

    def __init__(self, folder):
        self.root = pathlib.Path(folder) / "root"
        self.write({"proc/self/mounts": f"/dev/sda1 / ext4 rw 0 0\nproc /proc proc rw 0 0\n{self.root} /data\\040set xfs rw 0 0\n"})
        (self.root / "data set").mkdir(parents=True)

    def write(self, files):
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{text}\n")

    def healthy(self):
        self.write({
            "sys/devices/system/edac/mc/mc0/ce_count": 4, "sys/devices/system/edac/mc/mc0/ue_count": 0,
            "sys/class/drm/card0/device/ras/umc_err_count": "ue: 0\nce: 2", "sys/class/drm/card0/device/ras/gfx_err_count": "ue: 0\nce: 1",
            "sys/devices/pci0000:00/0000:00:01.0/current_link_width": 16, "sys/devices/pci0000:00/0000:00:01.0/max_link_width": 16,
            "sys/devices/pci0000:00/0000:00:01.0/current_link_speed": "16.0 GT/s PCIe",
            "sys/devices/pci0000:00/0000:00:01.0/max_link_speed": "16.0 GT/s PCIe",
            f"{GPU}/class": "0x030200", f"{GPU}/current_link_width": 16, f"{GPU}/max_link_width": 16,
            f"{GPU}/current_link_speed": "16.0 GT/s PCIe", f"{GPU}/max_link_speed": "32.0 GT/s PCIe",
            "sys/class/net/eth0/speed": 100000, "sys/class/net/eth0/operstate": "up",
            "sys/class/net/eth1/speed": -1, "sys/class/net/eth1/operstate": "up",
            "sys/class/infiniband/mlx5_0/ports/1/rate": "200 Gb/sec (4X HDR)", "sys/class/infiniband/mlx5_0/ports/1/state": "4: ACTIVE",
            "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc",
            "sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc hpet acpi_pm",
            "sys/devices/system/cpu/vulnerabilities/meltdown": "Mitigation: PTI",
            "sys/devices/system/cpu/vulnerabilities/l1tf": "Not affected"})
        devices = self.root / "sys/bus/pci/devices"
        devices.mkdir(parents=True)
        (devices / "0000:17:00.0").symlink_to(self.root / GPU)
        return self


class SystemHealth(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name
        self.tree = Tree(scratch.name)

    def run_plugin(self, **params):
        return Plugin("system_health").run({"root": str(self.tree.root), "max_use": 1.0, **params})

    def values(self, result):
        return {(line["name"], *line.get("labels", {}).values()): line["value"] for line in result.of("metric")}

    def test_a_healthy_machine_has_no_problem(self):
        self.tree.healthy()
        result = self.run_plugin(filesystems=["/data set"], network_speeds={"eth0": 100000})
        self.assertTrue(result.done, result)
        values = self.values(result)
        self.assertEqual(values["problems",], 0, result.of("event"))
        self.assertEqual(values["ecc_corrected", "mc0"], 4)
        self.assertEqual(values["ecc_corrected", "gpu_card0"], 3)
        self.assertEqual(values["pcie_width", "0000:17:00.0"], 16)
        self.assertEqual(values["pcie_speed_share", "0000:17:00.0"], 1)  # the slot bounds the card
        self.assertEqual(values["network_speed", "eth0"], 100000)
        self.assertEqual(values["network_speed", "mlx5_0/1"], 200000)
        self.assertNotIn(("network_speed", "eth1"), values)
        self.assertEqual(values["clock_source_expected",], 1)
        self.assertEqual(values["cpu_mitigated",], 1)
        self.assertEqual(values["filesystem_mounted", "/data set"], 1)
        self.assertIn(("space_use", "/data set"), values)
        self.assertNotIn(("space_use", "/proc"), values)

    def test_each_fault_is_a_problem_with_its_words(self):
        self.tree.healthy()
        self.tree.write({"sys/devices/system/edac/mc/mc0/ue_count": 1, f"{GPU}/current_link_width": 4,
                         "sys/class/net/eth0/speed": 1000,
                         "sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet",
                         "sys/devices/system/cpu/vulnerabilities/meltdown": "Vulnerable"})
        result = self.run_plugin(filesystems=["/scratch"], network_speeds={"eth0": 100000}, max_use=0.0)
        self.assertTrue(result.done, result)
        told = "\n".join(line["message"] for line in result.of("event"))
        for words in ("mc0: 1 uncorrected", "0000:17:00.0 runs at x4 of x16", "eth0 runs at 1000 of 100000",
                      "clock source is hpet, not tsc", "/scratch is not mounted", "/data set: "):
            self.assertIn(words, told)
        values = self.values(result)
        self.assertEqual(values["problems",], len(result.of("event")))
        self.assertEqual(values["pcie_width_share", "0000:17:00.0"], 0.25)
        self.assertEqual(values["cpu_vulnerable",], 1)
        self.assertEqual(values["filesystem_mounted", "/scratch"], 0)

    def test_a_machine_that_says_nothing_and_files_of_garbage_are_no_error(self):
        (self.tree.root / "sys").mkdir()
        self.assertEqual(self.values(self.run_plugin())["problems",], 0)
        self.tree.healthy()
        for path in self.tree.root.glob("sys/**/*"):
            if path.is_file():
                path.write_bytes(b"\xff-garbage 9e99\n")
        result = self.run_plugin(clock_source="tsc")
        self.assertTrue(result.done, result)

    def test_wrong_parameters_are_said(self):
        (self.tree.root / "sys").mkdir()
        self.assertEqual(self.run_plugin(root="/nowhere").status, 78)
        self.assertEqual(self.run_plugin(filesystems=["scratch"]).status, 78)
        self.assertEqual(self.run_plugin(network_speeds={"eth0": 0}).status, 78)

    def test_nvidias_counts(self):
        found = list(readings.nvidia_counts("0, 3, 0\n1, [N/A], [N/A]\n2, [Not Supported], 1\nERR!\n"))
        self.assertEqual(found, [readings.EccCount("gpu0", 3, 0), readings.EccCount("gpu2", None, 1)])


if __name__ == "__main__":
    unittest.main()
