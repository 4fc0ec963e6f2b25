"""Training and matrix products for real. Status 77 says that PyTorch is not here, and nothing was tested."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from harness import Plugin, Result, plugins_dir

FOLDER = os.path.join(plugins_dir(), "ml_train")
sys.path.insert(0, FOLDER)
import fleetmark_torch  # noqa: E402
import ml_train  # noqa: E402

TORCH = fleetmark_torch.find_torch()
TINY = {"size": "tiny", "device": "cpu", "epochs": 2}


def run_torch(script, *arguments, env=None, check=True):
    return subprocess.run([TORCH.python, "-c", script, *arguments], env={**os.environ, "PYTHONPATH": FOLDER, **(env or {})},
                          capture_output=True, text=True, timeout=100, check=check)


def losses(result):
    return [float(p["message"].rsplit(" ", 1)[1]) for p in result.of("progress")]


class TrainTest(unittest.TestCase):
    def test_each_model_learns_and_gives_what_it_promises(self):
        for model in ("resnet50", "deepcam", "cosmoflow"):
            with self.subTest(model=model):
                plugin = Plugin("ml_train")
                result = plugin.run({**TINY, "model": model})
                plugin.check_metrics(result)
                self.assertEqual(len(losses(result)), 3)
                self.assertLess(losses(result)[-1], losses(result)[0])
                self.assertEqual(len(result.values("throughput")), 2, "the first epoch warms up")
                self.assertEqual(result.values("communication_time"), [])

    def test_two_ranks_and_the_log(self):
        with tempfile.TemporaryDirectory() as folder:
            child = Plugin("ml_train").start(folder, {**TINY, "ranks": 2})
            stdout, log = child.communicate(timeout=100)
            result = Result(child.returncode, stdout.decode(), log.decode(), 0)
            Plugin("ml_train").check_metrics(result)
            self.assertLess(losses(result)[-1], losses(result)[0])
            for spent, whole in zip(result.values("communication_time"), result.values("epoch_time")):
                self.assertTrue(0 < spent < whole)
            lines = pathlib.Path(folder, "mlperf.log").read_text("utf-8").splitlines()
        records = [json.loads(line.removeprefix(":::MLLOG ")) for line in lines]
        keys = [record["key"] for record in records]
        for key in ("init_start", "init_stop", "run_start", "run_stop", "eval_accuracy"):
            self.assertEqual(keys.count(key), 1, key)
        self.assertEqual(keys.count("epoch_start"), 3)
        self.assertEqual(next(r["value"] for r in records if r["key"] == "global_batch_size"), 16)

    def test_gradients_are_the_mean_over_the_ranks(self):
        script = """
import os, torch
from train_worker import BUCKET_BYTES, Ranks
ranks = Ranks(torch.device("cpu"))
model = torch.nn.ModuleList([torch.nn.Linear(3, 3), torch.nn.Linear(BUCKET_BYTES // 4 // 100, 100)])
ranks.same_start(model)
print(float(sum(p.detach().double().sum() for p in model.parameters())))
for p in model.parameters():
    p.grad = torch.full_like(p, 1.0 + 2 * ranks.rank)
ranks.average_gradients(model)
print(sorted({float(v) for p in model.parameters() for v in (p.grad.min(), p.grad.max())}), ranks.seconds > 0)
ranks.close()
"""
        env = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(ml_train.free_port())}
        other = subprocess.Popen([TORCH.python, "-c", script], env={**os.environ, "PYTHONPATH": FOLDER, **env, "RANK": "1"},
                                 stdout=subprocess.PIPE, text=True)
        first = run_torch(script, env={**env, "RANK": "0"}).stdout.splitlines()
        second = other.communicate(timeout=100)[0].splitlines()
        self.assertEqual(first, second, "both ranks have the same parameters")
        self.assertEqual(first[1], "[2.0] True")

    def test_data_of_ones_own(self):
        write = """
import sys, numpy
rng = numpy.random.default_rng(1)
for i in range(2):
    y = rng.integers(0, 4, 16)
    x = (rng.integers(0, 80, (16, 3, 32, 32)) + 40 * y[:, None, None, None]).astype(numpy.uint8)
    numpy.savez(sys.argv[1] + "/%d.npz" % i, x=x, y=y)
"""
        with tempfile.TemporaryDirectory() as folder:
            run_torch(write, folder)
            result = Plugin("ml_train").run({**TINY, "data": folder, "epochs": 3})
            self.assertTrue(result.done, result)
            self.assertLess(losses(result)[-1], losses(result)[0])
            pathlib.Path(folder, "2.npz").write_bytes(b"no shard")
            result = Plugin("ml_train").run({**TINY, "data": folder})
            self.assertEqual(result.status, 1, result)
            self.assertIn(folder + "/2.npz: ", result.log)
        with tempfile.TemporaryDirectory() as folder:
            self.assertIn("has 0 shards", Plugin("ml_train").run({**TINY, "data": folder}).log)

    def test_a_loss_that_is_not_finite_fails(self):
        write = ("import sys, numpy; numpy.savez(sys.argv[1] + '/0.npz', "
                 "x=numpy.full((16, 3, 32, 32), numpy.nan, numpy.float32), y=numpy.arange(16) % 4)")
        with tempfile.TemporaryDirectory() as folder:
            run_torch(write, folder)
            result = Plugin("ml_train").run({**TINY, "data": folder})
            self.assertEqual(result.status, 1, result)
            self.assertIn("not finite", result.log)

    def test_a_stop_leaves_no_rank(self):
        with tempfile.TemporaryDirectory() as folder:
            child = Plugin("ml_train").start(folder, {**TINY, "epochs": 100, "ranks": 2})
            limit = time.monotonic() + 60
            while b"progress" not in child.stdout.readline() and time.monotonic() < limit:
                pass
            ranks = pathlib.Path("/proc/%d/task/%d/children" % (child.pid, child.pid)).read_text().split()
            self.assertEqual(len(ranks), 2)
            child.send_signal(signal.SIGTERM)
            child.communicate(timeout=20)
            self.assertEqual(child.returncode, 143)
            self.assertEqual([r for r in ranks if os.path.exists("/proc/" + r)], [])

    def test_parameters_that_do_not_fit(self):
        self.assertEqual(Plugin("ml_train").run({**TINY, "precision": "fp16"}).status, 78)
        if not TORCH.gpus:
            self.assertEqual(Plugin("ml_train").run({**TINY, "device": "cuda"}).status, 77)


class GemmTest(unittest.TestCase):
    def test_precisions(self):
        plugin = Plugin("torch_gemm")
        result = plugin.run({"n": 128, "repetitions": 2, "device": "cpu"})
        plugin.check_metrics(result)
        self.assertEqual({s["labels"]["precision"] for s in result.of("sample")}, {"bf16", "fp32"})
        self.assertEqual(len(result.of("sample")), 4)
        self.assertEqual(plugin.run({"precisions": ["fp8"]}).status, 78)

    def test_a_wrong_product_is_seen(self):
        script = """
import sys, torch
sys.path.insert(0, sys.argv[1])
from gemm_worker import check, DTYPES
for precision in ("fp32", "bf16"):
    a, b = ((torch.rand(200, 200) - 0.5).to(DTYPES[precision]) for _ in range(2))
    c = a @ b
    check(a, b, c, precision)
    c[1, 2] += 1
    try:
        check(a, b, c, precision)
        print("not seen")
    except ValueError as error:
        print("seen")
"""
        self.assertEqual(run_torch(script, os.path.join(plugins_dir(), "torch_gemm")).stdout.split(), ["seen", "seen"])


if __name__ == "__main__":
    if TORCH is None:
        print("PyTorch is not installed: deploy/install-deps.sh --with-torch")
        sys.exit(77)
    unittest.main()
