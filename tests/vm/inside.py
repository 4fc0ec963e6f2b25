#!/usr/bin/env python3
"""Runs inside the guest of cgroup_v2_test.sh: makes the agent run hostile plugins, and says what came of it."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import traceback
import urllib.request

UNIT = "fleetmark-agent.service"
GROUP = pathlib.Path("/sys/fs/cgroup/system.slice") / UNIT
WHATS = ["behave", "fills_memory", "child_fills_memory", "fork_bomb", "burns", "ignores_term"]
TIMEOUT = {"ignores_term": "10m"}


def write_config(folder):
    (folder / "collector.yaml").write_text(
        "data_dir: /var/lib/fleetmark/collector\ngrpc: {listen: '127.0.0.1:9410'}\nhttp: {listen: '127.0.0.1:9412'}\n"
        "store: {reserve_bytes: 0}\n")
    benchmarks = "".join(
        f"  - {{name: {w}, plugin: hostile, params: {{what: {w}}}, schedule: every 24h, timeout: {TIMEOUT.get(w, '2m')}}}\n"
        for w in WHATS)
    (folder / "agent.yaml").write_text(
        "node: {name: vm}\ncollectors: ['127.0.0.1:9410']\nplugin_paths: [/opt/hostile]\n"
        "data_dir: /var/lib/fleetmark/agent\nplugins: {memory_max: 48MiB, max_processes: 64}\n"
        # The guest has one slow processor, and this program asks the collector on it.
        "gate: {cool_down: 1s, pressure: {enabled: false}}\n"
        f"benchmarks:\n{benchmarks}")


def say(text):
    with open("/dev/console", "w") as console:
        console.write(f"CHECK {text}\n")


def get(what):
    with urllib.request.urlopen(f"http://127.0.0.1:9412/api/fleetmark/v1/{what}", timeout=30) as answer:
        return json.load(answer)


def wait_for(what, condition, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if value := condition():
                return value
        except OSError:
            pass
        time.sleep(0.2)
    raise AssertionError(f"after {seconds} s still not: {what}")


def show(name):
    return subprocess.run(["systemctl", "show", UNIT, "-P", name], capture_output=True, text=True,
                          check=True).stdout.strip()


def runs_of(what):
    return [r["run"] for r in get(f"runs?benchmark={what}").get("runs", [])]


def run(what, ending, reason=""):
    before = len(runs_of(what))
    subprocess.run(["fleetmark", "run", "vm", what], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    last = wait_for(f"{what} is stored", lambda: len(runs_of(what)) > before and runs_of(what)[0])
    say(f"{what}: {last['ending']} {last['reason']}")
    assert last["ending"] == f"ENDING_{ending}" and reason in last["reason"], last
    left = [p for p in GROUP.glob("fleetmark-runs-*/*") if p.is_dir()]
    assert not left, left


def connected():
    return any(n["state"] == "NODE_STATE_CONNECTED" for n in get("nodes").get("nodes", []))


def check():
    say("controllers: " + pathlib.Path("/sys/fs/cgroup/cgroup.controllers").read_text().strip())
    subprocess.run(["ip", "link", "set", "lo", "up"], check=False, stderr=subprocess.DEVNULL) if os.path.exists(
        "/sbin/ip") else None
    subprocess.run(["systemd-run", "--unit=collector", "fleetmark-collector", "--config",
                    "/etc/fleetmark/collector.yaml"], check=True)
    wait_for("the agent is connected", connected)
    log = subprocess.run(["journalctl", "-b", "-u", UNIT, "-o", "cat"], capture_output=True, text=True).stdout
    say("agent: " + next(line for line in log.splitlines() if "runs get" in line))
    assert "runs get cgroups" in log and "version 2" in log
    pid = show("MainPID")
    run("behave", "DONE")
    run("fills_memory", "OUT_OF_MEMORY", "limit of 48MiB")
    run("child_fills_memory", "OUT_OF_MEMORY", "limit of 48MiB")
    run("fork_bomb", "OVER_LIMIT", "64 processes")
    assert show("MainPID") == pid and show("NRestarts") == "0"

    subprocess.run(["systemctl", "set-property", "--runtime", UNIT, "CPUQuota=30%"], check=True)
    run("burns", "THROTTLED", str(GROUP))
    subprocess.run(["systemctl", "set-property", "--runtime", UNIT, "CPUQuota="], check=True)
    run("burns", "DONE")

    # An agent that is stopped, with a run that does not want to end.
    client = subprocess.Popen(["fleetmark", "run", "vm", "ignores_term"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for("the run is there", lambda: list(GROUP.glob("fleetmark-runs-*/*/cgroup.procs")))
    os.kill(int(pid), signal.SIGSTOP)
    wait_for("systemd starts it again", lambda: show("MainPID") not in ("0", pid) and show("NRestarts") == "1", 60)
    say(f"watchdog: restarted, result {show('Result')}")
    client.kill()
    wait_for("the new agent is connected", connected)
    run("behave", "DONE")
    subprocess.run(["systemctl", "stop", UNIT], check=True)
    assert not GROUP.exists() or not list(GROUP.glob("fleetmark-*"))


def main():
    if sys.argv[1:2] == ["--write-config"]:
        return write_config(pathlib.Path(sys.argv[2]))
    try:
        check()
        say("all is well")
    except Exception:
        say("failed: " + traceback.format_exc().replace("\n", "\nCHECK "))
        log = subprocess.run(["journalctl", "--no-pager", "-n", "80"], capture_output=True, text=True).stdout
        with open("/dev/console", "w") as console:
            console.write(log)
    os.sync()
    subprocess.run(["systemctl", "poweroff", "-f", "-f"], check=False)


if __name__ == "__main__":
    main()
