#!/usr/bin/env -S python3 -B
"""Rates of a file system's metadata operations, in a folder of its own that is gone afterwards.

Safe on a file system that others use: one process, one operation at a time, empty files, a fixed number of them, a
bounded time, and rests where the operator asks for them. Removed is only what this run made, by its names.
"""

import os
import signal
import stat
import sys
import tempfile
import time

from fleetmark_plugin import Plugin

BETWEEN_RESTS = 100


class Ended(Exception):
    """The time is over, or the run is to stop."""


def timed(names, operation, pause):
    """Operations a second over all names; the rests don't count."""
    taken = 0.0
    for begin in range(0, len(names), BETWEEN_RESTS):
        some = names[begin:begin + BETWEEN_RESTS]
        started = time.perf_counter()
        for name in some:
            operation(name)
        taken += time.perf_counter() - started
        if pause:
            time.sleep(pause)
    return len(names) / taken


def create(name):
    os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))


def look_up(name):
    if not stat.S_ISREG(os.stat(name, follow_symlinks=False).st_mode):
        raise OSError("%s is no file any more" % name)


def repetition(folder, files, pause):
    """(metric, rate) of each kind; ValueError when the folder does not hold what it should."""
    old = [os.path.join(folder, "f%06d" % i) for i in range(files)]
    new = {name: name + ".renamed" for name in old}
    rates = [("create_rate", timed(old, create, pause))]
    expect(folder, {os.path.basename(name) for name in old}, "creating")
    rates.append(("stat_rate", timed(old, look_up, pause)))
    rates.append(("rename_rate", timed(old, lambda name: os.rename(name, new[name]), pause)))
    expect(folder, {os.path.basename(name) for name in new.values()}, "renaming")
    rates.append(("unlink_rate", timed(list(new.values()), os.unlink, pause)))
    expect(folder, set(), "removing")
    return rates


def expect(folder, names, after):
    found = set(os.listdir(folder))
    if found != names:
        raise ValueError("after %s, %d names are missing and %d are too many" % (
            after, len(names - found), len(found - names)))


def clean_up(folder, files):
    for i in range(files):
        for ending in ("", ".renamed"):
            try:
                os.unlink(os.path.join(folder, "f%06d%s" % (i, ending)))
            except OSError:
                pass
    try:
        os.rmdir(folder)
    except OSError as error:
        print("%s stays behind: %s" % (folder, error), file=sys.stderr)


def check_room(plugin, directory, files):
    """Leaves a twentieth of the inodes free."""
    room = os.statvfs(directory)
    if room.f_files and room.f_favail - files < room.f_files // 20:
        plugin.skip("%s has too few free inodes for %d files" % (directory, files))


def measure(plugin, folder, files):
    pause, until = float(plugin.params["pause"]), time.monotonic() + float(plugin.params["max_time"])
    count = int(plugin.params["repetitions"])
    for i in range(count):
        if i > 0 and time.monotonic() > until:
            plugin.log("%d of %d repetitions fit into max_time" % (i, count))
            break
        for name, rate in repetition(folder, files, pause):
            plugin.sample(name, rate, "1/s")
        plugin.progress((i + 1) / count)


def stop(signum, _):
    raise Ended(signum)


def main():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)
    plugin = Plugin()
    files = int(plugin.params["files"])
    if not 100 <= files <= 50000:
        plugin.bad_parameter("files", "must be 100 to 50000")
    directory = plugin.params["directory"] or plugin.request["work_dir"]
    try:
        check_room(plugin, directory, files)
        folder = tempfile.mkdtemp(prefix=".fleetmark-metadata-", dir=directory)
    except OSError as error:
        plugin.bad_parameter("directory", "can't be used: %s" % error)
    try:
        measure(plugin, folder, files)
    except ValueError as error:
        plugin.invalid("%s: %s" % (directory, error))
    except Ended as end:
        sys.exit(128 + end.args[0])
    except OSError as error:
        plugin.fail("the file system refuses: %s" % error)
    finally:
        clean_up(folder, files)
    plugin.done()


if __name__ == "__main__":
    main()
