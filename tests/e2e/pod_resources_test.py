"""The agent beside a kubelet's PodResources API and two GPUs: what a pod holds is not measured, the rest is."""

import json
import os
import pathlib
import shutil
import signal
import unittest

from harness import BUILD, SOURCE, EndToEndTest, Process, wait_for

GPUS = {"gpu0": "GPU-aaaa", "gpu1": "GPU-bbbb"}
NVML = ("count 2\ndriver 570.86.15\n"
        "0.bus 0x3b\n0.name A\n0.uuid GPU-aaaa\n0.pids \n0.utilization 0\n"
        "1.bus 0xb1\n1.name A\n1.uuid GPU-bbbb\n1.pids \n1.utilization 0\n")
BENCHMARKS = [
    {"name": "on-gpu0", "plugin": "on_gpu", "devices": ["gpu0"], "schedule": "every 24h"},
    {"name": "on-gpu1", "plugin": "on_gpu", "devices": ["gpu1"], "schedule": "every 24h"},
    {"name": "long-gpu1", "plugin": "on_gpu", "devices": ["gpu1"], "params": {"sleep_ms": 30000}, "timeout": "60s",
     "schedule": "every 24h"},
    {"name": "on-cpu", "plugin": "tick", "schedule": "every 24h"},
]


class Kubelet:
    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        self.socket, self.answer = folder / "kubelet.sock", folder / "answer.json"
        self.process = None
        self.hold({})

    def start(self):
        self.process = Process([BUILD / "tests/fake_kubelet", self.socket, self.answer], self.folder / "log")
        wait_for("the kubelet's socket", self.socket.exists)

    def hold(self, pods):
        """`pods`: the GPUs that each holds."""
        new = self.answer.with_suffix(".new")
        new.write_text(json.dumps({"podResources": [
            {"name": pod, "namespace": "ml", "containers": [
                {"name": "main", "devices": [{"resourceName": "nvidia.com/gpu", "deviceIds": devices}]}]}
            for pod, devices in pods.items()]}))
        os.replace(new, self.answer)

    def kill(self):
        self.process.kill()
        self.socket.unlink(missing_ok=True)


class PodResourcesTest(EndToEndTest):
    def setUp(self):
        super().setUp()
        self.kubelet = Kubelet(self.folder / "kubelet")
        self.started.append(self.kubelet)
        self.kubelet.start()
        self.c = self.collector()
        gate = ("{cool_down: 0s, retry: 1s, pressure: {enabled: false}, slurm: {mode: 'off'}, "
                f"kubernetes: {{socket: {self.kubelet.socket}}}}}")
        self.node = self.agent("node-0", [f"127.0.0.1:{self.c.grpc_port}"], BENCHMARKS, gate=gate,
                               plugin_paths=[self.plugins()])
        self.node.start(["env", f"LD_LIBRARY_PATH={self.driver()}"])
        wait_for("the agent is connected", lambda: self.c.all("nodes", "nodes"))

    def driver(self):
        """A folder with the driver's library and, beside it, what it answers."""
        folder = self.folder / "driver"
        folder.mkdir()
        shutil.copy(BUILD / "tests/fake_nvml/libnvidia-ml.so.1", folder)
        (folder / "fake_nvml.txt").write_text(NVML)
        return folder

    def plugins(self):
        folder = self.folder / "plugins"
        shutil.copytree(SOURCE / "tests/data/plugins/tick", folder / "tick")
        shutil.copytree(SOURCE / "tests/data/plugins/tick", folder / "on_gpu")
        manifest = folder / "on_gpu/manifest.yaml"
        manifest.write_text(manifest.read_text().replace("name: tick", "name: on_gpu", 1) +
                            "resources: {gpu: exclusive}\n")
        return folder

    def assert_runs(self, *benchmarks):
        for benchmark in benchmarks:
            status, text = self.node.command("run", benchmark, expires=30)
            self.assertEqual(status, 0, text)

    def assert_kept_off(self, benchmark, reason):
        status, text = self.node.command("run", benchmark, expires=3)
        self.assertEqual(status, 75, text)
        self.assertIn(reason, text)

    def test_pods_and_their_devices(self):
        self.assert_runs("on-gpu0", "on-gpu1", "on-cpu")
        self.kubelet.hold({"train-0": ["GPU-aaaa"]})
        self.assert_kept_off("on-gpu0", "pod ml/train-0 has gpu0 (GPU-aaaa)")
        self.assert_runs("on-gpu1", "on-cpu")
        self.kubelet.hold({"train-0": ["GPU-aaaa", "GPU-bbbb"]})
        self.assert_kept_off("on-gpu1", "pod ml/train-0 has gpu1 (GPU-bbbb)")
        self.assert_runs("on-cpu")
        self.kubelet.hold({})
        self.assert_runs("on-gpu0", "on-gpu1")

    def test_a_pod_that_comes_ends_a_run_on_its_device(self):
        command = self.node.command_in_background("run", "long-gpu1")
        self.addCleanup(command.wait)
        self.addCleanup(command.kill)
        wait_for("the run has begun", lambda: list(pathlib.Path(self.node.folder / "data/runs").iterdir()))
        # One that gets the other device is no reason.
        self.kubelet.hold({"train-0": ["GPU-aaaa"]})
        self.assert_kept_off("on-gpu0", "pod ml/train-0 has gpu0")
        self.assertIsNone(command.poll())
        self.kubelet.hold({"train-0": ["GPU-aaaa", "GPU-bbbb"]})
        run = wait_for("the run is recorded", lambda: [
            r["run"] for r in self.c.all("runs", "runs", "&benchmark=long-gpu1")])[0]
        self.assertEqual((run["outcome"], run["ending"]), ("OUTCOME_CANCELLED", "ENDING_GATE"), run)
        self.assertIn("pod ml/train-0 has gpu1", run["reason"])

    def test_a_kubelet_that_is_away_slow_or_broken(self):
        self.kubelet.kill()
        self.assert_kept_off("on-gpu0", f"kubelet at {self.kubelet.socket}")
        self.assert_runs("on-cpu")  # shares the CPUs, so no pod is in its way
        self.kubelet.start()
        self.assert_runs("on-gpu0")

        self.kubelet.process.popen.send_signal(signal.SIGSTOP)
        self.assert_kept_off("on-gpu0", f"kubelet at {self.kubelet.socket}")
        self.kubelet.process.popen.send_signal(signal.SIGCONT)
        self.assert_runs("on-gpu0")

        self.kubelet.answer.unlink()
        self.assert_kept_off("on-gpu0", "device manager broken")
        self.kubelet.hold({})
        self.assert_runs("on-gpu0")


if __name__ == "__main__":
    unittest.main()
