"""Each plugin's self check runs, quickly, and gives what its manifest promises."""

import os
import unittest

from harness import Plugin, plugins_dir

# What these measure is elsewhere, and where it is not there they say so.
NEED = {"cerebras": "Cerebras", "graphcore": "Graphcore", "kubernetes_job": "Kubernetes", "ml_train": "PyTorch",
        "reframe": "ReFrame", "slurm_job": "Slurm", "torch_gemm": "PyTorch"}


class SelfCheck(unittest.TestCase):
    def test_every_plugin(self):
        names = sorted(os.listdir(plugins_dir()))
        self.assertGreaterEqual(len(names), 6)
        for name in names:
            with self.subTest(plugin=name):
                plugin = Plugin(name)
                self.assertEqual(plugin.manifest["name"], name)
                result = plugin.run(plugin.manifest["self_check"]["params"])
                self.assertLess(result.seconds, 30)  # 5 on an idle machine
                if result.status in (75, 77) and name in NEED:
                    self.assertIn(NEED[name], result.log)
                    continue
                if plugin.manifest.get("dynamic_metrics"):
                    self.assertTrue(result.done and result.of("metric"), result)
                else:
                    plugin.check_metrics(result)

    def test_each_numa_node_alone(self):
        result = Plugin("mem_bandwidth").run({"per_node": True, "repetitions": 2, "array_bytes": 8 << 20})
        self.assertTrue(result.done, result)
        self.assertTrue(all(line["labels"]["numa_node"].isdigit() for line in result.of("metric")), result)

    def test_latency_of_each_numa_node(self):
        result = Plugin("mem_latency").run({"per_node": True, "sizes": "16KiB", "loads": 100000, "repetitions": 2})
        self.assertTrue(result.done and result.of("metric"), result)
        self.assertTrue(all(line["labels"]["numa_node"].isdigit() for line in result.of("metric")), result)
        self.assertNotIn("numa_node", Plugin("mem_latency").run(
            {"sizes": "16KiB", "loads": 100000, "repetitions": 2}).of("metric")[0]["labels"])

    def test_parameters_out_of_range_end_with_78(self):
        for name, params, word in (
                ("mem_bandwidth", {"repetitions": 1}, "repetitions"),
                ("gemm", {"n": 0}, "'n'"),
                ("mem_latency", {"sizes": "16KB"}, "sizes"),
                ("disk", {"size": 1000}, "size"),
                ("disk", {"directory": "/no/such/folder"}, "directory"),
                ("net_loopback", {"duration": 0.1}, "duration")):
            with self.subTest(plugin=name, params=params):
                result = Plugin(name).run(params)
                self.assertEqual(result.status, 78, result)
                self.assertIn(word, result.log.splitlines()[-1])

    def test_arrays_beyond_memory_are_put_off(self):
        result = Plugin("mem_bandwidth").run({"array_bytes": 1 << 50})
        self.assertEqual(result.status, 75, result)
        self.assertIn("available memory", result.log.splitlines()[-1])


if __name__ == "__main__":
    unittest.main()
