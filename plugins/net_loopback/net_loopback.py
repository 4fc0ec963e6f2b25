#!/usr/bin/env -S python3 -B
"""TCP throughput from this node to itself over the loop-back device, measured by iperf3.

It says nothing of a network card; it shows that the network stack, and what hooks into it, is as fast as
it was.
"""

import json
import shutil
import signal
import socket
import subprocess
import sys

from fleetmark_plugin import Plugin

ADDRESS = "127.0.0.1"
ATTEMPTS = 3  # another program may take the free port before the server does


def free_port():
    with socket.socket() as probe:
        probe.bind((ADDRESS, 0))
        return probe.getsockname()[1]


def start_server():
    """(process, port) of a server that listens and serves one test; None if it could not."""
    for _ in range(ATTEMPTS):
        port = free_port()
        server = subprocess.Popen(
            ["iperf3", "--server", "--one-off", "--bind", ADDRESS, "--port", str(port), "--forceflush"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
            errors="replace")
        for line in server.stdout:
            if "Server listening" in line:
                return server, port
            sys.stderr.write(line)
        server.wait()
    return None


def stop(process):
    if process.poll() is None:
        process.kill()
    process.wait()


def run_client(port, seconds, streams):
    """iperf3's report as text. Its first second is left out."""
    client = subprocess.Popen(
        ["iperf3", "--client", ADDRESS, "--port", str(port), "--json", "--omit", "1", "--time", str(seconds),
         "--parallel", str(streams)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    try:
        return client.communicate()[0].decode("utf-8", "replace")
    finally:
        stop(client)


def read_report(text, seconds):
    """(bits a second received, retransmits) from iperf3's JSON. Raises ValueError."""
    report = json.loads(text)
    if "error" in report:
        raise ValueError(report["error"])
    received = report["end"]["sum_received"]
    sent = report["end"]["sum_sent"]
    rate = received["bits_per_second"]
    if not rate > 0:
        raise ValueError("nothing was received")
    if abs(received["bytes"] * 8 / received["seconds"] - rate) > 0.01 * rate:
        raise ValueError("the rate is not bytes divided by time")
    if abs(received["seconds"] - seconds) > 0.5 + 0.1 * seconds:
        raise ValueError("it took %.1f s instead of %d" % (received["seconds"], seconds))
    return rate, sent["retransmits"]


def measure(plugin):
    seconds = round(plugin.params["duration"])
    if seconds < 1:
        plugin.bad_parameter("duration", "must be at least 1s")
    if shutil.which("iperf3") is None:
        plugin.skip("iperf3 is not installed")
    started = start_server()
    if started is None:
        plugin.try_later("iperf3 found no port to listen on")
    server, port = started
    try:
        text = run_client(port, seconds, int(plugin.params["streams"]))
    finally:
        stop(server)
    try:
        rate, retransmits = read_report(text, seconds)
    except (ValueError, KeyError) as error:
        plugin.fail("iperf3's report can't be used: %s" % error)
    plugin.metric("throughput", rate / 1e9, "Gbit/s")
    plugin.metric("retransmits", retransmits, "count")


def main():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda signum, _: sys.exit(128 + signum))  # measure then stops both programs
    plugin = Plugin()
    measure(plugin)
    plugin.done()


if __name__ == "__main__":
    main()
