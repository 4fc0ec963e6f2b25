"""A real Slurm cluster on this machine, for tests: munged, slurmctld and several slurmd on loopback ports, all
in one private folder. Nothing in /etc is read or written. Needs root and Debian's Slurm packages."""

import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = ("munged", "mungekey", "slurmctld", "slurmd", "scontrol", "sinfo", "srun", "sbatch", "scancel")
# The hook waits for as long as a file "<hook>.<node>" is there.
HOOK = """#!/bin/sh
while [ -e {folder}/{hook}.$SLURMD_NODENAME ]; do sleep 0.05; done
exit 0
"""


def missing_programs():
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    return [p for p in PROGRAMS if shutil.which(p, path=path) is None]


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def start_for(test_class, *args):
    """A started cluster for all tests of a class, gone after them. `args` are a Cluster's after its folder."""
    missing = missing_programs()
    if missing:
        raise AssertionError(f"deploy/install-deps.sh --dev installs what is missing: {missing}")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="fm-slurm-"))
    test_class.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
    cluster = Cluster(folder, *args)
    test_class.addClassCleanup(cluster.stop_all)
    cluster.start()
    return cluster


class Cluster:
    """`settings` replace those of slurm.conf.in or are added; `partitions` are lines besides that of "main"."""

    def __init__(self, folder, nodes, settings=None, partitions=()):
        self.folder = pathlib.Path(folder)
        self.nodes = nodes
        self.settings = settings or {}
        self.partitions = partitions
        self.processes = {}
        self.conf = self.folder / "slurm.conf"
        self.env = {**os.environ, "SLURM_CONF": str(self.conf),
                    "PATH": os.environ.get("PATH", "") + ":/usr/sbin:/sbin"}

    def write_files(self):
        host = socket.gethostname().split(".")[0]
        ports = free_ports(1 + len(self.nodes))
        for name in ("munge", "state"):
            (self.folder / name).mkdir(mode=0o755, exist_ok=True)
        self.folder.chmod(0o755)
        text = (HERE / "slurm/slurm.conf.in").read_text()
        for key, value in (("DIR", self.folder), ("HOST", host), ("PORT", ports[0])):
            text = text.replace(f"@{key}@", str(value))
        lines = [line for line in text.splitlines() if line.partition("=")[0] not in self.settings]
        text = "".join(f"{line}\n" for line in lines + [f"{k}={v}" for k, v in self.settings.items()])
        text = text.replace("@DIR@", str(self.folder))
        for node, port in zip(self.nodes, ports[1:]):
            (self.folder / f"spool.{node}").mkdir(exist_ok=True)
            text += (f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=2 CoresPerSocket=2 "
                     "RealMemory=2000 State=UNKNOWN\n")
        text += f"PartitionName=main Nodes={','.join(self.nodes)} Default=YES MaxTime=INFINITE State=UP\n"
        text += "".join(f"PartitionName={line}\n" for line in self.partitions)
        self.conf.write_text(text)
        for hook in ("prolog", "epilog"):
            script = self.folder / f"{hook}.sh"
            script.write_text(HOOK.format(folder=self.folder, hook=hook))
            script.chmod(0o755)
        subprocess.run(["mungekey", "-c", "-k", str(self.folder / "munge.key")], check=True, env=self.env)

    def spawn(self, name, *argv):
        with open(self.folder / f"{name}.out", "ab") as out:
            self.processes[name] = subprocess.Popen(
                [str(a) for a in argv], stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True,
                env=self.env, cwd=self.folder)

    def start(self):
        self.write_files()
        munge = self.folder / "munge"
        self.spawn("munged", "munged", "--foreground", f"--key-file={self.folder}/munge.key",
                   f"--socket={munge}/munge.socket.2", f"--pid-file={munge}/munged.pid",
                   f"--log-file={munge}/munged.log", f"--seed-file={munge}/munged.seed", "--num-threads=2")
        self.wait("munged's socket", (munge / "munge.socket.2").exists)
        self.start_controller()
        for node in self.nodes:
            self.spawn(f"slurmd.{node}", "slurmd", "-D", "-N", node)
        for node in self.nodes:
            self.wait_state(node, "IDLE", 60)

    def start_controller(self):
        self.spawn("slurmctld", "slurmctld", "-D", "-i")

    def stop(self, name):
        process = self.processes.pop(name)
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def stop_all(self):
        with contextlib.suppress(Exception):
            self.run("scancel", "--full", "--state=RUNNING")
            self.run("scancel", "--state=PENDING")
        for hook in ("prolog", "epilog"):
            for node in self.nodes:
                self.release(hook, node)
        for name in sorted(self.processes, key=lambda n: not n.startswith("slurmd.")):
            self.stop(name)
        self.kill_step_daemons()

    def kill_step_daemons(self):
        """slurmstepd leaves its parent's session; those of this cluster are told by their environment."""
        mark = f"SLURM_CONF={self.conf}".encode()
        for entry in pathlib.Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and (entry / "comm").read_text().strip() == "slurmstepd" and (
                        mark in (entry / "environ").read_bytes().split(b"\0")):
                    os.kill(int(entry.name), signal.SIGKILL)

    def run(self, *argv, check=True, timeout=30):
        return subprocess.run([str(a) for a in argv], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=timeout, env=self.env, check=check, cwd=self.folder).stdout.strip()

    def state(self, node):
        for field in self.run("scontrol", "show", "node", "-o", node, check=False).split():
            if field.startswith("State="):
                return field[len("State="):]
        return ""

    def wait_state(self, node, state, seconds=20):
        return self.wait(f"{node} {state}", lambda: self.state(node) == state, seconds,
                         lambda: self.state(node))

    @staticmethod
    def wait(what, condition, seconds=20, last=lambda: ""):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if condition():
                return
            time.sleep(0.05)
        raise AssertionError(f"after {seconds} s still not: {what} {last()}")

    def hold(self, hook, node):
        (self.folder / f"{hook}.{node}").touch()

    def release(self, hook, node):
        (self.folder / f"{hook}.{node}").unlink(missing_ok=True)

    def submit(self, node, command="sleep 600"):
        return self.run("sbatch", "--parsable", "-w", node, "-n1", "-o", "/dev/null", f"--wrap={command}")

    def drain(self, node):
        self.run("scontrol", "update", f"nodename={node}", "state=drain", "reason=test")

    def resume(self, node):
        self.run("scontrol", "update", f"nodename={node}", "state=resume")

    def reserve(self, name, node, flags):
        self.run("scontrol", "create", "reservation", f"reservationname={name}", "starttime=now", "duration=10",
                 f"nodes={node}", "users=root", f"flags={flags}")
