"""A real Slurm on loopback: one controller and virtual nodes n1 to n3, all as root, nothing outside its folder."""

import os
import pathlib
import re
import socket
import subprocess

from harness import Process, free_port, wait_for

CONF = """\
ClusterName=fleetmark
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={d}/munge/munge.socket.2
CredType=cred/munge
SlurmctldPort={ctld_port}
SlurmctldPidFile={d}/slurmctld.pid
SlurmdPidFile={d}/slurmd.%n.pid
SlurmdSpoolDir={d}/spool.%n
StateSaveLocation={d}/state
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
JobContainerType=job_container/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=5,bf_interval=5,batch_sched_delay=0,sched_min_interval=100000
ReturnToService=2
SlurmdParameters=config_overrides
MessageTimeout=10
SlurmdTimeout=30
InactiveLimit=0
MinJobAge=10
KillWait=2
Waittime=0
EpilogMsgTime=100
CommunicationParameters=NoAddrCache
PrologFlags=Alloc,Contain
Prolog={d}/prolog.sh
Epilog={d}/epilog.sh
AccountingStorageType=accounting_storage/none
{nodes}
PartitionName=main Nodes=n[1-3] Default=YES MaxTime=INFINITE State=UP
"""


class SlurmCluster:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        for name in ("munge", "state", "spool.n1", "spool.n2", "spool.n3"):
            (self.folder / name).mkdir(parents=True)
        for path in (self.folder, self.folder / "munge"):
            path.chmod(0o755)
        host = socket.gethostname().split(".")[0]
        nodes = "\n".join(
            f"NodeName=n{i} NodeHostname={host} NodeAddr=127.0.0.1 Port={free_port()} CPUs=2 CoresPerSocket=2 "
            "RealMemory=2000 State=UNKNOWN" for i in (1, 2, 3))
        self.conf = self.folder / "slurm.conf"
        self.conf.write_text(CONF.format(host=host, d=self.folder, ctld_port=free_port(), nodes=nodes))
        for script in ("prolog", "epilog"):
            self.script(script, "exit 0")
        self.env = dict(os.environ, SLURM_CONF=str(self.conf))
        self.processes = []

    def script(self, name, body):
        path = self.folder / f"{name}.sh"
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)

    def _start(self, *argv):
        process = Process(argv, self.folder / (pathlib.Path(argv[0]).name + ".out"), env=self.env)
        self.processes.append(process)
        return process

    def start(self):
        key = self.folder / "munge.key"
        subprocess.run(["mungekey", "-c", "-k", key], check=True)
        m = self.folder / "munge"
        self._start("/usr/sbin/munged", "--foreground", f"--key-file={key}", f"--socket={m}/munge.socket.2",
                    f"--pid-file={m}/munged.pid", f"--log-file={m}/munged.log", f"--seed-file={m}/munged.seed",
                    "--num-threads=2")
        wait_for("munge's socket", (m / "munge.socket.2").exists)
        self.start_controller()
        for i in (1, 2, 3):
            self._start("/usr/sbin/slurmd", "-D", "-N", f"n{i}")
        wait_for("three idle nodes", lambda: self.run("sinfo", "-h", "-N", "-o", "%t", check=False).split()
                 == ["idle"] * 3, 60)
        return self

    def start_controller(self):
        self.controller = self._start("/usr/sbin/slurmctld", "-D", "-i")

    def stop_controller(self):
        self.controller.stop()

    def run(self, *argv, check=True):
        done = subprocess.run([str(a) for a in argv], env=self.env, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=60)
        if check and done.returncode != 0:
            raise AssertionError(f"{argv}: {done.stdout}{done.stderr}")
        return done.stdout

    def sbatch(self, node, seconds):
        out = self.run("sbatch", "-w", node, "-n1", "-o", "/dev/null", "--wrap", f"sleep {seconds}")
        return re.search(r"\d+", out).group()

    def state(self, node):
        return re.search(r" State=(\S+)", self.run("scontrol", "show", "node", "-o", node)).group(1)

    def await_state(self, node, *states):
        wait_for(f"{node} is one of {states}", lambda: self.state(node) in states, 30)

    def stop(self):
        # Steps are no children of slurmd, and would outlive it.
        steps = [p for i in (1, 2, 3) for p in (self.folder / f"spool.n{i}").glob("n*_*.*")]
        if steps and self.controller.popen.poll() is None:
            self.run("scancel", "--user=root", check=False)
            wait_for("no step is left", lambda: not [p for p in steps if p.exists()], 30)
        for process in reversed(self.processes):
            try:
                process.stop(20)
            except AssertionError as e:
                print(e)
