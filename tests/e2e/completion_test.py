"""The completion scripts in the shells themselves, with names from a collector, and the manual page."""

import contextlib
import os
import pathlib
import pty
import re
import select
import shlex
import subprocess
import time
import unittest

from harness import BIN, BUILD, EndToEndTest, cli, free_port

ROWS = "time,node,benchmark,metric,value,unit\n" + "".join(
    f"{time.time() - 3600 + i},node-{i % 3},stream,triad,{100 + i},GB/s\n" for i in range(6))


def zsh_line(script, typed, env, seconds=30):
    """What zsh has made of the typed characters, a tab among them."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execvpe("zsh", ["zsh", "-f", "-i"], {**env, "TERM": "dumb", "PS1": "> "})
    seen = b""

    def until(mark):
        nonlocal seen
        end = time.monotonic() + seconds
        while mark not in seen:
            if time.monotonic() > end or not select.select([fd], [], [], 1)[0] and time.monotonic() > end:
                raise AssertionError(f"zsh never printed {mark!r}: {seen[-2000:]!r}")
            with contextlib.suppress(BlockingIOError):
                if select.select([fd], [], [], 0.1)[0]:
                    seen += os.read(fd, 65536)

    try:
        os.write(fd, f"autoload -Uz compinit && compinit -u -D; source {shlex.quote(str(script))}; "
                     "echo rea''dy\n".encode())
        until(b"ready")
        # The line is shown, not run: its beginning becomes an echo. What is echoed while it is typed holds
        # quotes where the result has none.
        os.write(fd, typed.encode() + b"\x01echo s''o: \x05 en''d\n")
        until(b"so: fleetmark")
        until(b" end\r\n")
        return seen.decode(errors="replace").rsplit("so: ", 1)[1].split(" end")[0]
    finally:
        os.close(fd)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, 9)
        os.waitpid(pid, 0)


class CompletionTest(EndToEndTest):
    def setUp(self):
        super().setUp()
        running = self.collector()
        rows = self.folder / "rows.csv"
        rows.write_text(ROWS)
        cli(running, "import", "csv", str(rows))
        self.env = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}",
                    "FLEETMARK_COLLECTOR": f"127.0.0.1:{running.grpc_port}"}
        self.scripts = BUILD / "completion"

    def bash(self, line, **env):
        script = (f"source {self.scripts}/fleetmark; COMP_LINE=$1 COMP_POINT=${{#1}} COMP_WORDS=(fleetmark)\n"
                  '_fleetmark; printf "%s\\n" "${COMPREPLY[@]}"')
        done = subprocess.run(["bash", "-c", script, "bash", line], env={**self.env, **env}, capture_output=True,
                              text=True, timeout=60, check=True)
        return done.stdout.split()

    def test_bash(self):
        self.assertEqual(self.bash("fleetmark no"), ["nodes", "note"])
        self.assertEqual(self.bash("fleetmark nodes "), ["node-0", "node-1", "node-2"])
        self.assertEqual(self.bash("fleetmark series --node=node-1"), ["node-1"])
        self.assertEqual(self.bash("fleetmark -o j"), ["json"])
        self.assertIn(str(self.folder / "rows.csv"), self.bash(f"fleetmark import csv {self.folder}/ro"))
        begin = time.monotonic()
        self.assertEqual(self.bash("fleetmark nodes ", FLEETMARK_COLLECTOR=f"127.0.0.1:{free_port()}"), [])
        self.assertLess(time.monotonic() - begin, 20)  # a limit of its own, not that of a call

    def test_fish(self):
        def fish(line):
            done = subprocess.run(
                ["fish", "-N", "-c", f"source {self.scripts}/fleetmark.fish; complete -C {shlex.quote(line)}"],
                env=self.env, capture_output=True, text=True, timeout=60, check=True)
            return [candidate.split("\t")[0] for candidate in done.stdout.splitlines()]

        self.assertEqual(fish("fleetmark no"), ["nodes", "note"])
        self.assertEqual(fish("fleetmark nodes "), ["node-0", "node-1", "node-2"])
        self.assertIn(str(self.folder / "rows.csv"), fish(f"fleetmark import csv {self.folder}/ro"))

    def test_zsh(self):
        self.assertEqual(zsh_line(self.scripts / "_fleetmark", "fleetmark nod\t", self.env).split(),
                         ["fleetmark", "nodes"])
        # What all three have in common.
        self.assertEqual(zsh_line(self.scripts / "_fleetmark", "fleetmark nodes no\t", self.env).split()[-1], "node-")

    def test_manual_page(self):
        page = pathlib.Path(BUILD / "man/fleetmark.1")
        done = subprocess.run(["groff", "-man", "-Kutf8", "-Tutf8", "-ww", str(page)], capture_output=True, text=True,
                              timeout=60, check=True)
        self.assertEqual(done.stderr, "")
        self.assertIn("EXIT STATUS", re.sub(".\b", "", done.stdout))  # bold is a letter struck twice
        helped = subprocess.run([BIN / "fleetmark", "--help"], capture_output=True, text=True, timeout=60).stdout
        commands = [line.split()[0] for line in helped.split("Commands:\n")[1].split("\n\n")[0].splitlines()
                    if line.startswith("  ") and not line.startswith("    ")]
        self.assertGreater(len(commands), 10)
        text = page.read_text()
        for command in commands:
            self.assertIn(f'.SS "fleetmark {command}', text)


if __name__ == "__main__":
    unittest.main()
