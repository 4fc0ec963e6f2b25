"""A backup made under load is taken back with everything that was acknowledged before it."""

import random
import subprocess
import time
import unittest

from harness import BIN, EndToEndTest, Load, cli, wait_for

TICKS = [{"name": "tick", "plugin": "tick", "schedule": "every 1s"}]


class BackupTest(EndToEndTest):
    def collector_with_backups(self):
        self.backups = self.folder / "backups"
        return self.collector(store=f"reserve_bytes: 0, write_buffer_bytes: 1MiB, backup_dir: {self.backups}, "
                                    "backups_kept: 2")

    def backup(self, collector):
        return cli(collector, "backup").stdout.split("backup made: ")[1].split(" (")[0]

    def test_restored_under_load(self):
        collector = self.collector_with_backups()
        agent = self.agent("node-0", [f"127.0.0.1:{collector.grpc_port}"], TICKS).start()
        before = Load(collector, prefix="before", nodes=2)
        during = Load(collector, prefix="during", nodes=2, per_second=2000)
        self.addCleanup(before.kill)
        self.addCleanup(during.kill)
        wait_for("runs of the agent", lambda: len(collector.all("runs", "runs", "&node=node-0")) >= 2)
        before.finish()
        for _ in range(3):
            folder = self.backup(collector)
        self.assertEqual(len(list(self.backups.iterdir())), 2)
        wait_for("runs after the backup", lambda n=len(agent.completed_runs()): len(agent.completed_runs()) > n)
        totals = during.finish()
        agent.process.stop()
        kept = set(self.stored_runs(collector))

        status, output = collector.command("restore", folder)
        self.assertEqual(status, 4, output)
        self.assertIn("open in another process", output)
        collector.process.stop()
        status, output = collector.command("restore", folder)
        self.assertEqual(status, 4, output)
        self.assertIn("--move_aside", output)
        status, output = collector.command("restore", "--move_aside", folder)
        self.assertEqual(status, 0, output)
        collector.start()
        before.verify()
        # Of the others what had come by then, without a hole.
        nodes = len(totals["sent"])
        self.assertGreater(during.verify({"acked": [0] * nodes, "sent": totals["sent"]}), 0)
        self.assertLess(len(self.stored_runs(collector)), len(kept))
        # The agent goes on from where the backup was.
        agent.start()
        wait_for("new runs of the agent", lambda n=len(agent.completed_runs()): all(
            run in self.stored_runs(collector) for run in agent.completed_runs()[n:]) and
            len(agent.completed_runs()) > n)

    def test_killed_restore_is_finished_by_the_next(self):
        collector = self.collector_with_backups()
        load = Load(collector, per_second=3000)
        self.addCleanup(load.kill)
        wait_for("something stored", lambda: int(collector.get("status")["samples"]) > 20_000)
        load.finish()
        folder = self.backup(collector)
        collector.process.stop()
        dice = random.Random(5)
        for _ in range(8):
            restore = subprocess.Popen([BIN / "fleetmark-collector", "--config", collector.config, "restore",
                                        "--move_aside", folder], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            time.sleep(dice.uniform(0, 0.15))
            restore.kill()
            restore.wait()
        status, output = collector.command("restore", "--move_aside", folder)
        self.assertEqual(status, 0, output)
        collector.start()
        load.verify()

    def test_says_why_there_is_none(self):
        done = cli(self.collector(), "backup", check=False)
        self.assertEqual(done.returncode, 5)
        self.assertIn("store.backup_dir is not set", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
