"""The suites that come with Fleetmark: an agent accepts each, their parameters are what the plugins declare, and their
templates can be rendered."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import yaml

from harness import plugins_dir

ROOT = pathlib.Path(os.environ["FM_SOURCE_DIR"])
SUITES = sorted((ROOT / "configs/suites").glob("*.yaml"))
INSTALLED = "/etc/fleetmark/jobs/"
sys.path[:0] = [str(ROOT / "plugins/sdk/python"), os.path.join(plugins_dir(), "kubernetes_job")]
import kube_object  # noqa: E402
from fleetmark_output import PatternReader  # noqa: E402
from fleetmark_template import load_template  # noqa: E402

TYPES = {"bool": bool, "int": int, "float": (int, float), "string": str, "duration": str, "bytes": str, "list": list,
         "map": dict}


def benchmarks():
    for path in SUITES:
        suite = yaml.safe_load(path.read_text("utf-8"))
        for benchmark in suite["benchmarks"]:
            yield path.name, benchmark


def manifest(plugin):
    return yaml.safe_load(pathlib.Path(plugins_dir(), plugin, "manifest.yaml").read_text("utf-8"))


class SuitesTest(unittest.TestCase):
    def test_there_is_one_for_each_kind_of_fleet(self):
        self.assertLessEqual({"default", "nvidia_gpu", "amd_gpu", "slurm_cpu_cluster", "cerebras_host", "graphcore_host",
                              "kubeflow_cluster"}, {path.stem for path in SUITES})
        for path in SUITES:
            self.assertEqual(yaml.safe_load(path.read_text("utf-8"))["suite"], path.stem)

    def test_parameters_are_declared(self):
        for name, benchmark in benchmarks():
            declared = manifest(benchmark["plugin"])["params"]
            given = benchmark.get("params", {})
            for key, value in given.items():
                with self.subTest(suite=name, benchmark=benchmark["name"], parameter=key):
                    self.assertIn(key, declared)
                    self.assertIsInstance(value, TYPES[declared[key]["type"]])
                    self.assertIn(value, declared[key].get("choices", [value]))
            missing = [k for k, spec in declared.items() if "default" not in spec and k not in given]
            self.assertEqual(missing, [], (name, benchmark["name"]))

    def test_templates_and_patterns(self):
        used = set()
        for name, benchmark in benchmarks():
            params = benchmark.get("params", {})
            with self.subTest(suite=name, benchmark=benchmark["name"]):
                if benchmark["plugin"] != "command":  # its patterns are RE2's, which these are a part of
                    PatternReader.from_parameters(params.get("metrics", []), params.get("sanity", []), [])
                if "template" in params:
                    self.assertTrue(params["template"].startswith(INSTALLED))
                    path = ROOT / "configs/jobs" / params["template"].removeprefix(INSTALLED)
                    used.add(path.name)
                    text = load_template(path).render(params.get("parameters", {}))
                    if path.suffix == ".yaml":
                        made = kube_object.prepare(kube_object.parse_manifest(text, path.name), "b", "r", "q", 60)
                        self.assertTrue(list(kube_object.pod_templates(made.body["spec"])))
                    else:
                        subprocess.run(["bash", "-n"], input=text, text=True, check=True)
        self.assertEqual(used, {path.name for path in (ROOT / "configs/jobs").iterdir()}, "no template is left over")

    def test_an_agent_accepts_them(self):
        with tempfile.TemporaryDirectory() as folder:
            config = pathlib.Path(folder, "agent.yaml")
            for path in SUITES:
                labels = yaml.safe_load(path.read_text("utf-8")).get("nodes", {}).get("labels", {})
                config.write_text(yaml.safe_dump({
                    "node": {"name": "n", "labels": labels}, "collectors": ["127.0.0.1:1"], "data_dir": folder,
                    "plugin_paths": [plugins_dir()], "include": [str(path)], "allow_plaintext": True}), "utf-8")
                done = subprocess.run([os.path.join(os.environ["FM_BIN_DIR"], "fleetmark-agent"), "--check_config",
                                       "--config=%s" % config], capture_output=True, text=True, timeout=60)
                self.assertEqual(done.returncode, 0, (path.name, done.stdout, done.stderr))


if __name__ == "__main__":
    unittest.main()
