#!/usr/bin/env -S python3 -B
"""Disk bandwidth, operations a second and latency, measured by fio within a fixed volume of writes."""

import collections
import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

from fleetmark_plugin import Plugin

MIB = 1 << 20
BLOCK = 4096
# A slow disk's job ends after this time, with what it has done until then.
JOB_SECONDS = 8

Job = collections.namedtuple("Job", "name rw block_size queue_depth share")
# Shares are of the allowed volume. Those of the jobs that write add up to one.
JOBS = (
    Job("write", "write", MIB, 4, 0.5),
    Job("read", "read", MIB, 4, 0.5),
    Job("random_read", "randread", BLOCK, 16, 0.25),
    Job("random_write", "randwrite", BLOCK, 16, 0.25),
    Job("random_read_qd1", "randread", BLOCK, 1, 0.125),
    Job("random_write_qd1", "randwrite", BLOCK, 1, 0.25),
)


def fio_command(file_name, size, direct):
    """fio's command line. The file must already have half of `size`, or fio would lay it out itself."""
    command = [
        "fio", "--output-format=json", "--filename=" + file_name, "--size=%d" % (size // 2),
        "--allow_file_create=0", "--fallocate=none", "--direct=%d" % direct, "--ioengine=libaio",
        "--randrepeat=1", "--runtime=%d" % JOB_SECONDS, "--end_fsync=1", "--thread",
    ]
    for job in JOBS:
        command += [
            "--name=" + job.name, "--stonewall", "--rw=" + job.rw, "--bs=%d" % job.block_size,
            "--iodepth=%d" % job.queue_depth, "--io_size=%d" % (int(size * job.share) // BLOCK * BLOCK),
        ]
    return command


def read_report(report):
    """(metrics as (name, value, unit), bytes written) from fio's JSON. Raises ValueError."""
    jobs = {job["jobname"]: job for job in report["jobs"]}
    for job in jobs.values():
        if job["error"] != 0:
            raise ValueError("fio's job %s failed: %s" % (job["jobname"], os.strerror(job["error"])))
    written = sum(job["write"]["io_bytes"] for job in jobs.values())

    def direction(name):
        side = jobs[name]["read" if "read" in name else "write"]
        if side["total_ios"] == 0:
            raise ValueError("fio's job %s did nothing" % name)
        return side

    metrics = []
    for name in ("write", "read"):
        metrics.append((name + "_bandwidth", direction(name)["bw_bytes"] / 1e6, "MB/s"))
    for name in ("random_read", "random_write"):
        metrics.append((name + "_rate", direction(name)["iops"], "IOPS"))
        metrics.append((name + "_latency", direction(name + "_qd1")["clat_ns"]["mean"] / 1e3, "us"))
    return metrics, written


def supports_direct(fd):
    """Does the file system open the file of `fd` past its page cache?"""
    try:
        os.close(os.open("/proc/self/fd/%d" % fd, os.O_RDWR | os.O_DIRECT))
    except OSError as error:
        if error.errno == errno.EINVAL:
            return False
        raise
    return True


def open_nameless_file(directory, size):
    """A file that has no name any more: whatever happens to this process, the space is free afterwards."""
    fd, path = tempfile.mkstemp(prefix=".fleetmark-disk-", dir=directory)
    os.unlink(path)
    os.ftruncate(fd, size)
    return fd


def run_fio(plugin, fd, size, direct):
    command = fio_command("/proc/self/fd/%d" % fd, size, direct)
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=sys.stderr,
                             pass_fds=[fd])
    try:
        output = child.communicate()[0]
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()
    if child.returncode != 0:
        plugin.fail("fio ended with status %d" % child.returncode)
    return json.loads(output[output.index(b"{"):].decode())


def check_space(plugin, directory, size):
    """Leaves a twentieth of the file system free, as full ones become slow and harm others."""
    stat = os.statvfs(directory)
    spare = stat.f_bavail * stat.f_frsize - size
    if spare < stat.f_blocks * stat.f_frsize // 20:
        plugin.skip("%s has too little free space for a file of %d MiB" % (directory, size // MIB))


def measure(plugin):
    size = int(plugin.params["size"]) // MIB * MIB
    if size < 8 * MIB:
        plugin.bad_parameter("size", "must be at least 8MiB")
    directory = plugin.params["directory"] or plugin.request["work_dir"]
    if shutil.which("fio") is None:
        plugin.skip("fio is not installed")
    try:
        check_space(plugin, directory, size // 2)
        fd = open_nameless_file(directory, size // 2)
        direct = supports_direct(fd)
    except OSError as error:
        plugin.bad_parameter("directory", "can't be used: %s" % error)
    if not direct:
        plugin.log("%s has no direct I/O: what is measured includes the page cache" % directory)
    try:
        metrics, written = read_report(run_fio(plugin, fd, size, direct))
    except (ValueError, KeyError) as error:
        plugin.fail("fio's report can't be used: %s" % error)
    if written > size:
        plugin.invalid("fio wrote %d bytes although only %d are allowed" % (written, size))
    for name, value, unit in metrics:
        plugin.metric(name, value, unit)
    plugin.log("%d bytes written" % written)


def main():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda signum, _: sys.exit(128 + signum))  # run_fio then stops fio
    plugin = Plugin()
    measure(plugin)
    plugin.done()


if __name__ == "__main__":
    main()
