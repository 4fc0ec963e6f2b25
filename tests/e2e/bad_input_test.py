"""Bad input of each sort ends in one clear line and a documented exit status (docs/operations.md)."""

import json
import shutil
import socket
import subprocess
import unittest

from harness import BIN, SOURCE, Agent, Collector, EndToEndTest, cli, free_port, wait_for

TICK = {"name": "tick", "plugin": "tick", "schedule": "every 1s"}


class BadInputTest(EndToEndTest):
    def run_program(self, program, *args):
        # A program that is not ours keeps its own path.
        path = str(BIN / program) if (BIN / program).exists() else program
        done = subprocess.run([path, *map(str, args)], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60)
        return done.returncode, [line for line in (done.stdout + done.stderr).splitlines() if line]

    def agent_ends(self, agent):
        return self.run_program("fleetmark-agent", "--config", agent.config)

    def a(self, benchmarks, **kwargs):
        return Agent(self.folder / "agent", "node-0", ["127.0.0.1:1"], benchmarks, **kwargs)

    def test_typo_in_yaml(self):
        agent = self.a([TICK])
        agent.config.write_text(agent.config.read_text().replace("data_dir", "data_dri"))
        status, lines = self.agent_ends(agent)
        self.assertEqual(status, 3)
        self.assertIn(f"fleetmark-agent: {agent.config}:4:1: unknown key 'data_dri'; did you mean 'data_dir'?", lines)

    def test_typo_in_a_benchmark(self):
        status, lines = self.agent_ends(self.a([{**TICK, "shedule": "every 1s"}]))
        self.assertEqual(status, 3)
        self.assertIn("unknown key 'shedule'; did you mean 'schedule'?", lines[0])

    def test_wrong_schedule(self):
        status, lines = self.agent_ends(self.a([{**TICK, "schedule": "every sometimes"}]))
        self.assertEqual((status, len(lines)), (3, 1), lines)
        self.assertIn("schedule: 'sometimes' is not a duration", lines[0])
        self.assertIn("agent.yaml:7", lines[0])

    def test_unknown_plugin(self):
        status, lines = self.agent_ends(self.a([{**TICK, "plugin": "tik"}]))
        self.assertEqual((status, len(lines)), (3, 1), lines)
        self.assertIn("agent.yaml:7", lines[0])
        self.assertIn("'tik'", lines[0])
        self.assertIn("did you mean 'tick'?", lines[0])

    def test_wrong_parameter(self):
        status, lines = self.agent_ends(self.a([{**TICK, "params": {"valeu": 3}}]))
        self.assertEqual((status, len(lines)), (3, 1), lines)
        self.assertIn("did you mean 'value'?", lines[0])

    def test_manifest_without_command(self):
        broken = self.folder / "plugins" / "tick"
        shutil.copytree(SOURCE / "tests/data/plugins/tick", broken)
        text = (broken / "manifest.yaml").read_text()
        (broken / "manifest.yaml").write_text(text.replace("command: [./tick.sh]\n", ""))
        status, lines = self.agent_ends(self.a([TICK], plugin_paths=[broken.parent]))
        self.assertEqual(status, 3, lines)
        self.assertTrue(any("manifest.yaml:1:1: command: is missing" in line for line in lines), lines)
        status, lines = self.run_program("fleetmark", "plugin", "check", broken)
        self.assertEqual(status, 1)
        self.assertTrue(any("command: is missing" in line for line in lines), lines)

    def test_wrong_unit_in_manifest_and_in_reference(self):
        broken = self.folder / "plugins" / "tick"
        shutil.copytree(SOURCE / "tests/data/plugins/tick", broken)
        text = (broken / "manifest.yaml").read_text()
        (broken / "manifest.yaml").write_text(text.replace('unit: "1", better: higher', 'unit: GB/sec, better: higher'))
        status, lines = self.run_program("fleetmark", "plugin", "check", broken)
        self.assertEqual(status, 1)
        self.assertTrue(any("unit 'GB/sec' is not known; did you mean 'GB/s'?" in line for line in lines), lines)

        collector = Collector(self.folder / "c", extra=(
            "references:\n  - {benchmark: b, metric: m, value: 1, unit: GB/sec, lower: -0.1}\n"))
        status, lines = self.run_program("fleetmark-collector", "--config", collector.config)
        self.assertEqual((status, len(lines)), (3, 1), lines)
        self.assertIn("collector.yaml:6", lines[0])
        self.assertIn("did you mean 'GB/s'?", lines[0])

    def test_data_folder_that_cannot_be_used(self):
        agent = self.a([TICK])
        (agent.folder / "data").write_text("in the way")
        status, lines = self.agent_ends(agent)
        self.assertEqual((status, len(lines)), (4, 1), lines)
        collector = Collector(self.folder / "c")
        (collector.folder / "data").write_text("in the way")
        status, lines = self.run_program("fleetmark-collector", "--config", collector.config)
        self.assertEqual((status, len(lines)), (4, 1), lines)
        self.assertIn("Not a directory", lines[0])

    def test_read_only_data_folder(self):
        agent = self.a([TICK])
        (agent.folder / "data").mkdir()
        # In a mount namespace of its own, which goes with the agent.
        status, lines = self.run_program(
            "unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o ro none "$0" && exec "$@"', agent.folder / "data",
            BIN / "fleetmark-agent", "--config", agent.config)
        if any("unshare" in line or "mount:" in line for line in lines):
            self.skipTest(f"no mounts can be made here: {lines}")
        self.assertEqual((status, len(lines)), (4, 1), lines)
        self.assertIn("Read-only file system", lines[0])

    def test_data_folder_in_use(self):
        collector = self.collector()
        text = collector.config.read_text()
        other = self.folder / "other.yaml"
        other.write_text(text.replace(str(collector.grpc_port), str(free_port())).replace(
            str(collector.http_port), str(free_port())))
        status, lines = self.run_program("fleetmark-collector", "--config", other)
        self.assertEqual(status, 4, lines)

    def test_folder_of_the_page_is_missing(self):
        collector = Collector(self.folder / "c", extra=f"web_dir: {self.folder}/none\n")
        status, lines = self.run_program("fleetmark-collector", "--config", collector.config)
        self.assertEqual((status, len(lines)), (3, 1), lines)
        self.assertIn(f"{self.folder}/none", lines[0])

    def test_port_in_use(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            collector = Collector(self.folder / "c")
            for own in (collector.grpc_port, collector.http_port):
                text = collector.config.read_text()
                config = self.folder / "taken.yaml"
                config.write_text(text.replace(str(own), str(port)))
                status, lines = self.run_program("fleetmark-collector", "--config", config)
                self.assertEqual(status, 5, lines)
                self.assertTrue(any(str(port) in line and "in use" in line for line in lines), lines)
            agent = self.a([TICK])
            agent.config.write_text(agent.config.read_text().replace(str(agent.http_port), str(port)))
            status, lines = self.agent_ends(agent)
            self.assertEqual(status, 5, lines)

    def test_check_config_says_all_is_well(self):
        status, lines = self.run_program("fleetmark-agent", "--check_config", "--config", self.a([TICK]).config)
        self.assertEqual(status, 0, lines)

    def test_unreachable_collector(self):
        status, lines = self.run_program("fleetmark", "--collector", f"127.0.0.1:{free_port()}", "status")
        self.assertEqual((status, len(lines)), (3, 1), lines)

    def test_full_spool_drops_the_oldest_and_says_so(self):
        port = free_port()
        benchmarks = [{"name": f"tick{i}", "plugin": "tick", "schedule": "every 1s", "params": {"log_bytes": 16384}}
                      for i in range(12)]
        agent = self.agent("node-0", [f"127.0.0.1:{port}"], benchmarks, extra="spool: {max_bytes: 1MiB}\n").start()
        wait_for("the agent says that it drops", lambda: "dropped" in agent.process.text(), 60)
        self.assertIn("fleetmark_agent_spool_dropped_total", agent.metrics())
        collector = Collector(self.folder / "c")
        self.started.append(collector)
        collector.config.write_text(collector.config.read_text().replace(str(collector.grpc_port), str(port)))
        collector.grpc_port = port
        collector.start()
        events = wait_for("the loss is told", lambda: [
            e for e in collector.all("events", "events") if e["kind"] == "KIND_RECORDS_DROPPED"], 90)
        self.assertGreater(int(events[0]["new_value"]), 0)
        self.assertIn("drop", json.dumps(json.loads(cli(collector, "-o", "json", "events").stdout)))


if __name__ == "__main__":
    unittest.main(verbosity=2)
