#!/usr/bin/env python3
"""A plugin that misbehaves: each function below is one way. FLEETMARK_PARAM_WHAT names it."""

import ctypes
import os
import resource
import signal
import sys
import time

RATE = '{"type":"metric","name":"value","value":%s,"unit":"1"}\n'
DONE = '{"type":"done"}\n'


def say(text):
    os.write(1, text if isinstance(text, bytes) else text.encode())


def ignore_signals():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def hang():
    while True:
        time.sleep(3600)


def behave():
    say(RATE % 1 + DONE)


def never_reads():
    os.close(0)
    behave()


def ignores_term():
    ignore_signals()
    hang()


def daemonises():
    """Twice, into sessions of their own, which keep the pipes; the parent goes."""
    for _ in range(3):
        if os.fork() == 0:
            os.setsid()
            if os.fork() != 0:
                os._exit(0)
            os.setsid()
            ignore_signals()
            hang()
    behave()


def fork_bomb():
    ignore_signals()
    while True:
        try:
            os.fork()
        except OSError:
            pass


def fills_memory():
    kept = []
    while True:
        kept.append(bytearray(os.urandom(1 << 16)) * 256)


def child_fills_memory():
    """The parent outlives its child and says that all is well."""
    pid = os.fork()
    if pid == 0:
        fills_memory()
    os.waitpid(pid, 0)
    behave()


def gigabyte():
    line = b"x" * 1000 + b"\n"
    for _ in range(1 << 20):
        say(line)


def endless_line():
    while True:
        say(b"x" * 65536)


def binary():
    say(os.urandom(200_000).replace(b"\n", b"").replace(b"{", b"")[:60_000] + b"\n")
    behave()


def not_utf8():
    say(b"caf\xe9 \xff\xfe \xc0\x80 \xed\xa0\x80\n")
    say(b'{"type":"event","message":"\xff\xfe"}\n')
    behave()


def nan():
    say(RATE % "NaN" + DONE)


def too_large():
    say(RATE % "1e999" + DONE)


def quoted():
    say(RATE % '"1.5"' + DONE)


def twice():
    say(RATE % 1 + RATE % 2 + DONE)


def ten_thousand_labels():
    for i in range(10_000):
        say('{"type":"metric","name":"value","value":1,"unit":"1","labels":{"n":"%d"}}\n' % i)
    say(DONE)


def closes_stdout():
    os.close(1)
    os.close(2)
    hang()


def fills_folder():
    with open("big", "wb") as file:
        while True:
            file.write(b"x" * (1 << 20))


def fills_without_a_name():
    with open("big", "wb") as file:
        os.unlink("big")
        while True:
            file.write(b"x" * (1 << 20))


def many_files():
    for i in range(1_000_000):
        open(f"f{i}", "w").close()
    hang()


def deep_tree():
    """Deeper than a path can be, with folders that nobody may write to; then well-behaved."""
    for _ in range(3000):
        os.mkdir("d")
        os.chdir("d")
    for name in ("locked", "locked/in"):
        os.makedirs(name, exist_ok=True)
        open(name + "/file", "w").close()
    os.chmod("locked/in", 0)
    os.chmod("locked", 0o500)
    behave()


def read_only_tree():
    os.makedirs("locked/in")
    open("locked/in/file", "w").close()
    os.chmod("locked/in", 0)
    os.chmod("locked", 0o500)
    behave()


def changes_itself():
    with open(os.environ["FLEETMARK_PLUGIN_DIR"] + "/hostile.py", "a") as file:
        file.write("# changed\n")
    behave()


def kills_its_parent():
    os.kill(os.getppid(), signal.SIGKILL)
    hang()


def burns():
    """Half a second of computing, as a benchmark would."""
    end = time.process_time() + 0.5
    while time.process_time() < end:
        pass
    behave()


def io_class():
    """ioprio_get(2) of this process: 1 real-time, 2 best effort, 3 idle."""
    number = {"x86_64": 252, "aarch64": 31}[os.uname().machine]
    return ctypes.CDLL(None, use_errno=True).syscall(number, 1, 0) >> 13


def shows_itself():
    """What it was given, as log lines."""
    say("uid=%d nice=%d groups=%r\n" % (os.getuid(), os.nice(0), os.getgroups()))
    say("io=%s\n" % io_class())
    say("".join(line for line in open("/proc/self/status") if line.startswith("NoNewPrivs")))
    say("environment=%s\n" % " ".join(sorted(os.environ)))
    say("oom=%s\n" % open("/proc/self/oom_score_adj").read().strip())
    say("files=%d core=%d\n" % (resource.getrlimit(resource.RLIMIT_NOFILE)[0],
                              resource.getrlimit(resource.RLIMIT_CORE)[1]))
    say(open("/proc/self/cgroup").read())
    behave()


def main():
    what = os.environ["FLEETMARK_PARAM_WHAT"]
    if what.startswith("signal_"):
        number = int(what[len("signal_"):])
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        hang()
    globals()[what]()


if __name__ == "__main__":
    sys.exit(main())
