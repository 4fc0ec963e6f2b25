"""Matrix products in PyTorch for one precision; prints one JSON line for each repetition.

    gemm_worker.py '{"n": 4096, "precision": "bf16", "device": "cuda", "gpu": 0, "repetitions": 10, "threads": 0}'

A repetition is as many products as last about 0.2 s together, so that the clock's grain and the start of a
product do not count. The product of the first repetition is checked: the rows that are compared were computed
in double precision, and may differ by what the precision's rounding allows over a sum of n terms.
"""

from __future__ import annotations

import json
import sys
import time

import torch

DTYPES = {"fp32": torch.float32, "tf32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
EPSILON = {"fp32": 2**-24, "tf32": 2**-11, "fp16": 2**-11, "bf16": 2**-8}
REPETITION_SECONDS = 0.2
CHECKED_ROWS = 8


def check(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, precision: str) -> None:
    """Raises ValueError when the product is wrong."""
    exact = a[:CHECKED_ROWS].double().cpu() @ b.double().cpu()
    # Terms are below 1/4 in size; errors of a sum add up like a random walk, rounding of the result comes on top.
    n = a.shape[1]
    allowed = EPSILON[precision] * (4 * n**0.5 + 4 * exact.abs().max().item())
    worst = (c[:CHECKED_ROWS].double().cpu() - exact).abs().max().item()
    if not worst <= allowed:
        raise ValueError("%s: the product differs by %.3g, %.3g is allowed" % (precision, worst, allowed))


def main() -> None:
    options = json.loads(sys.argv[1])
    n, precision, cuda = options["n"], options["precision"], options["device"] == "cuda"
    device = torch.device("cuda", 0) if cuda else torch.device("cpu")
    if options["threads"]:
        torch.set_num_threads(options["threads"])
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    torch.manual_seed(1)
    a, b = ((torch.rand(n, n, device=device) - 0.5).to(DTYPES[precision]) for _ in range(2))

    def seconds(count: int) -> float:
        if cuda:
            torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(count):
            torch.matmul(a, b)
        if cuda:
            torch.cuda.synchronize()
        return time.perf_counter() - began

    check(a, b, torch.matmul(a, b), precision)
    count = max(1, round(REPETITION_SECONDS / max(seconds(1), 1e-6)))
    seconds(count)  # warms up
    for _ in range(options["repetitions"]):
        print(json.dumps({"rate": 2 * n**3 * count / seconds(count) / 1e9}), flush=True)


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:
        print(error, file=sys.stderr)
        sys.exit(3)
