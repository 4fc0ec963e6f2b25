"""The container images: built without a network from a base that mmdebstrap made before, run with a read-only root and no
capabilities, told well and unwell by their health checks, and small.

By hand: needs root, buildah, podman, runc and mmdebstrap, and Debian's archive the first time:

    tests/deploy/tree/run.sh images
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE = pathlib.Path(os.environ["FM_SOURCE_DIR"])
BUILD = pathlib.Path(os.environ["FM_BUILD_DIR"])
BIN = pathlib.Path(os.environ["FM_BIN_DIR"])
MISSING = [p for p in ("buildah", "podman", "runc", "mmdebstrap") if not shutil.which(p)]
# Machines that may not raise limits, or have cgroups of both versions, need these; others lose nothing by them.
CONTAINERS = """
[containers]
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
[engine]
cgroup_manager = "cgroupfs"
runtime = "runc"
events_logger = "file"
"""
AGENT = """
node: {name: '@NODE_NAME@'}
collectors: ['127.0.0.1:9410']
plugin_paths: [/usr/lib/fleetmark/plugins]
data_dir: /var/lib/fleetmark/agent
plugins: {user: root, cgroup: none}
gate: {pressure: {enabled: false}}
benchmarks:
  - {name: mem_latency, plugin: mem_latency, schedule: every 1h}
"""


@unittest.skipIf(os.geteuid() != 0 or MISSING, f"needs root and {', '.join(MISSING)}")
class ImagesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="fleetmark-images-", dir="/var/tmp"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        (cls.folder / "containers.conf").write_text(CONTAINERS)
        # A storage of its own: nothing of the machine's is seen or left behind.
        (cls.folder / "storage.conf").write_text(
            f'[storage]\ndriver = "overlay"\nrunroot = "{cls.folder}/run"\ngraphroot = "{cls.folder}/graph"\n')
        cls.env = {**os.environ, "CONTAINERS_CONF": str(cls.folder / "containers.conf"),
                   "CONTAINERS_STORAGE_CONF": str(cls.folder / "storage.conf")}
        build = [SOURCE / "deploy/container/build.sh", "--from-debootstrap"]
        cls.run_program(*build, timeout=1800)
        cls.built = cls.run_program("unshare", "--net", *build, timeout=600).stdout
        print(cls.built)
        cls.addClassCleanup(cls.podman, "system", "reset", "--force", check=False)

    @classmethod
    def run_program(cls, *argv, check=True, timeout=120):
        done = subprocess.run([str(a) for a in argv], env=cls.env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=timeout)
        if check and done.returncode != 0:
            raise AssertionError(f"{argv} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done

    @classmethod
    def podman(cls, *argv, check=True, timeout=120):
        return cls.run_program("podman", *argv, check=check, timeout=timeout)

    def wait_for(self, what, condition, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if last := condition():
                return last
            time.sleep(0.3)
        logs = "".join(self.podman("logs", name, check=False).stderr for name in ("collector", "agent"))
        raise AssertionError(f"after {seconds} s still not: {what}\n{logs}")

    def start(self, name, image, *options):
        self.addCleanup(self.podman, "rm", "--force", name, check=False)
        self.podman("run", "--detach", "--name", name, "--read-only", "--cap-drop=all",
                    "--security-opt=no-new-privileges", *options, image)

    def healthy(self, name):
        return self.podman("healthcheck", "run", name, check=False).returncode == 0

    def version(self):
        return re.search(r"fleetmark-agent:(\S+)", self.built)[1]

    def test_sizes(self):
        sizes = {name: float(packed) for name, packed in re.findall(r"(fleetmark-\w+):\S+ +([0-9.]+) MB packed", self.built)}
        self.assertEqual(set(sizes), {"fleetmark-agent", "fleetmark-collector"})
        self.assertLess(sizes["fleetmark-agent"], 80)
        self.assertLess(sizes["fleetmark-collector"], 80)

    def test_they_run_and_tell_how_they_are(self):
        data = self.folder / "data"
        data.mkdir()
        os.chown(data, 64410, 64410)
        (self.folder / "agent.yaml").write_text(AGENT)
        version = self.version()
        self.start("collector", f"localhost/fleetmark-collector:{version}", "--network=none",
                   f"--volume={data}:/var/lib/fleetmark/collector")
        self.wait_for("the collector is healthy", lambda: self.healthy("collector"))
        self.assertEqual(self.podman("exec", "collector", "id", "-u").stdout.strip(), "64410")
        self.start("agent", f"localhost/fleetmark-agent:{version}", "--network=container:collector", "--env=NODE_NAME=n7",
                   "--env=FLEETMARK_CONFIG=/config/agent.yaml", f"--volume={self.folder}/agent.yaml:/config/agent.yaml:ro",
                   "--tmpfs=/run/fleetmark", "--tmpfs=/var/lib/fleetmark/agent", "--tmpfs=/tmp")
        self.wait_for("the agent is healthy", lambda: self.healthy("agent"))
        measured = self.podman("exec", "agent", "fleetmark-agent", "--config", "/run/fleetmark/agent.yaml",
                               "run", "mem_latency", check=False)
        self.assertEqual(measured.returncode, 0, measured.stdout + measured.stderr)
        pid = self.podman("inspect", "--format", "{{.State.Pid}}", "collector").stdout.strip()
        cli = ("nsenter", "--net", "--target", pid, BIN / "fleetmark", "runs", "-o", "json")
        runs = self.wait_for("the run is stored", lambda: json.loads(self.run_program(*cli).stdout)["runs"])
        self.assertEqual((runs[0]["node"], runs[0]["run"]["benchmark"]), ("n7", "mem_latency"))

        # A stopped program is unwell.
        agent = self.podman("inspect", "--format", "{{.State.Pid}}", "agent").stdout.strip()
        os.kill(int(agent), 19)
        self.addCleanup(lambda: os.kill(int(agent), 18))
        self.assertFalse(self.healthy("agent"))
        self.assertTrue(self.healthy("collector"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
