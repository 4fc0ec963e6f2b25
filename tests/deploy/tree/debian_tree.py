"""A clean Debian 12 in a folder, made by mmdebstrap once and kept as an archive, and booted with its own systemd by
systemd-nspawn without a network. Needs root.

The tree has what the packages under test depend on, by their own control files, and nothing else for their sake: what
a package forgot to name is missing.
"""

import hashlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

PROGRAMS = ("mmdebstrap", "systemd-nspawn", "nsenter", "dpkg-deb")
BOOT = ("systemd", "systemd-sysv", "dbus")
CGROUPS = pathlib.Path("/sys/fs/cgroup")


def missing():
    """What this machine lacks for all this, or nothing."""
    if os.geteuid() != 0:
        return "needs root"
    lacking = [p for p in PROGRAMS if not shutil.which(p)]
    return f"needs {', '.join(lacking)}: apt-get install mmdebstrap systemd-container" if lacking else ""


def dependencies(packages):
    """The names that the packages depend on, but for those among themselves; of alternatives the first."""
    wanted, own = set(), set()
    for package in packages:
        fields = subprocess.run(["dpkg-deb", "--field", package, "Package", "Depends"], check=True, text=True,
                                capture_output=True).stdout
        own.add(re.search(r"^Package: (\S+)", fields, re.M)[1])
        depends = re.search(r"^Depends: (.*)", fields, re.M)
        wanted |= {d.split("|")[0].split()[0].partition(":")[0] for d in depends[1].split(",")} if depends else set()
    return sorted(wanted - own)


def archive(folder, include, variant="minbase"):
    """A tar file of a Debian tree with the packages `include`, made in `folder` if it is not there yet."""
    name = hashlib.sha256(" ".join([variant, *sorted(include)]).encode()).hexdigest()[:16]
    kept = pathlib.Path(folder) / f"debian-12-{name}.tar"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        unfinished = kept.with_suffix(".unfinished.tar")
        subprocess.run(["mmdebstrap", "--quiet", f"--variant={variant}", "--mode=root", "--dpkgopt=force-unsafe-io",
                        "--dpkgopt=path-exclude=/usr/share/locale/*", "--dpkgopt=path-exclude=/usr/share/man/*",
                        f"--include={','.join(include)}", "bookworm", str(unfinished)], check=True, timeout=1800)
        unfinished.rename(kept)
    return kept


def _children(pid):
    return [int(p) for p in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


class Machine:
    """A booted tree. `run` runs a program in it as root."""

    def __init__(self, tar):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="fleetmark-tree-", dir="/var/tmp"))
        self.root = self.folder / "root"
        self.root.mkdir()
        subprocess.run(["tar", "-C", self.root, "-xf", tar], check=True)
        self.name = self.folder.name
        # What would wait for devices or a network; and no console logins.
        for unit in ("systemd-logind", "systemd-timesyncd", "console-getty", "systemd-networkd-wait-online"):
            (self.root / f"etc/systemd/system/{unit}.service").symlink_to("/dev/null")
        self.log = open(self.folder / "console", "wb")
        self.nspawn = subprocess.Popen(
            ["systemd-nspawn", "--directory", self.root, "--boot", "--register=no", "--keep-unit", "--private-network",
             f"--machine={self.name}", "--console=pipe"], stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
            start_new_session=True)
        try:
            self.wait_for("the machine runs", lambda: self.run("systemctl", "is-system-running", check=False).stdout.strip()
                          in ("running", "degraded"), 120)
        except BaseException:
            self.stop()
            raise

    def leader(self):
        if self.nspawn.poll() is not None:
            raise AssertionError(f"systemd-nspawn ended:\n{(self.folder / 'console').read_text(errors='replace')}")
        # The first child is the tree's init, or on its way to become it.
        return next(iter(_children(self.nspawn.pid)), None)

    def run(self, *argv, check=True, stdin="", timeout=120):
        leader = self.leader()
        enter = ["nsenter", "-t", str(leader), "-m", "-u", "-i", "-n", "-p", "-C", "-r", "-w", "env", "-i",
                 "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive", *map(str, argv)]
        done = subprocess.run(enter, input=stdin, capture_output=True, text=True, timeout=timeout)
        if check and done.returncode != 0:
            raise AssertionError(f"{argv} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done

    def wait_for(self, what, condition, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.leader() and (last := condition()):
                return last
            time.sleep(0.2)
        raise AssertionError(f"after {seconds} s still not: {what}")

    def put(self, file, text=None, source=None):
        """Writes a file of the tree, from a text or a file of this machine."""
        path = self.root / str(file).lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        if source:
            shutil.copy(source, path)
        else:
            path.write_text(text)

    def stop(self):
        if self.nspawn.poll() is None:
            self.nspawn.send_signal(signal.SIGTERM)
            try:
                self.nspawn.wait(60)
            except subprocess.TimeoutExpired:
                self.nspawn.kill()
                self.nspawn.wait()
        self.log.close()
        for tree in ("systemd", "unified"):
            for group in ("payload", "supervisor"):
                for where, _, _ in os.walk(CGROUPS / tree / group, topdown=False):
                    try:
                        os.rmdir(where)
                    except OSError:
                        pass  # another machine's
        shutil.rmtree(self.folder, ignore_errors=True)
