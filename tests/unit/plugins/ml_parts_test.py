"""The parts of the machine-learning plugins that need no PyTorch."""

import io
import json
import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

from harness import plugins_dir

sys.path.insert(0, os.path.join(plugins_dir(), "ml_train"))
import fleetmark_torch  # noqa: E402
import ml_train  # noqa: E402
import power  # noqa: E402
from mllog import MlLog  # noqa: E402


def program(folder, name, body):
    path = os.path.join(folder, name)
    pathlib.Path(path).write_text("#!/bin/sh\n" + body + "\n", "utf-8")
    os.chmod(path, 0o755)
    return path


class TorchTest(unittest.TestCase):
    def test_the_python_that_has_it_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            without = program(folder, "a", "exit 1")
            cpu = program(folder, "b", "echo '[\"1.13\", 0, \"\", true]'")
            gpu = program(folder, "c", "echo '[\"2.4\", 2, \"H100\", true]'")
            for candidates, found in (((without,), None), ((without, cpu), cpu), ((cpu, gpu), gpu), ((), None),
                                      ((program(folder, "d", "echo nonsense"), "/no/such"), None)):
                with mock.patch.object(fleetmark_torch, "CANDIDATES", candidates):
                    torch = fleetmark_torch.find_torch()
                    self.assertEqual(torch and torch.python, found)

    def test_gpus_by_the_agents_names(self):
        self.assertEqual(ml_train.gpu_numbers(["gpu0", "gpu12", "nic0", "gpux"]), [0, 12])


class MlLogTest(unittest.TestCase):
    def test_records(self):
        file = io.StringIO()
        log = MlLog(file)
        log.start("run_start")
        log.point("tracked_stats", {"throughput": 3.5}, epoch_num=1)
        log.stop("run_stop", status="success")
        lines = file.getvalue().splitlines()
        self.assertTrue(all(line.startswith(":::MLLOG {") for line in lines), lines)
        records = [json.loads(line[len(":::MLLOG "):]) for line in lines]
        for record in records:
            self.assertEqual(list(record), ["namespace", "time_ms", "event_type", "key", "value", "metadata"])
        self.assertEqual([r["event_type"] for r in records], ["INTERVAL_START", "POINT_IN_TIME", "INTERVAL_END"])
        self.assertEqual(records[2]["metadata"]["status"], "success")
        with self.assertRaises(ValueError):
            log.point("loss", float("nan"))
        MlLog(None).start("run_start")


class PowerTest(unittest.TestCase):
    def test_energy_counters_wrap(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, used in (("intel-rapl:0", 900), ("intel-rapl:1", 0), ("intel-rapl:0:0", 7)):
                (root / name).mkdir()
                (root / name / "max_energy_range_uj").write_text("1000")
                (root / name / "energy_uj").write_text(str(used))
            energy = power.PackageEnergy(root)
            (root / "intel-rapl:0/energy_uj").write_text("100")
            (root / "intel-rapl:1/energy_uj").write_text("50")
            self.assertAlmostEqual(energy.joules(), 250e-6)
            self.assertAlmostEqual(energy.joules(), 0)

    def test_what_can_not_be_read_is_left_out(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertIsNone(power.PackageEnergy(pathlib.Path(folder)).joules())
            meter = power.PowerMeter([], pathlib.Path(folder))
            meter.begin()
            self.assertEqual(meter.end(), {})

    def test_nvidia_smi(self):
        for body, expected in (("echo '300.5, 90'; echo '100.5, 70'", (401.0, 80.0)), ("echo '[N/A], 90'", None),
                               ("exit 9", None), ("true", None)):
            with tempfile.TemporaryDirectory() as folder:
                program(folder, "nvidia-smi", body)
                with mock.patch.dict(os.environ, {"PATH": folder + ":" + os.environ["PATH"]}):
                    self.assertEqual(power.read_nvidia([0, 1]), expected)


if __name__ == "__main__":
    unittest.main()
