"""Steps of two processes on gloo: peaks of each rank, and gradients against the eager wrapped step.

    python python/bench/ranks.py --out bench/results/ranks.csv

Wrappers are DistributedDataParallel within a step and ``fully_shard`` on blocks or on the root. The
peak is measured by events of torch's allocator in the step's graphs.
"""

from __future__ import annotations

import argparse
import copy
import csv
import os
import socket
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import torch
from torch import distributed, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.multiprocessing import spawn
from torch.nn.parallel import DistributedDataParallel

import remat_bb.torch as rt

RANKS = 2
LAYERS, WIDTH, HEADS, LENGTH, BATCH = 6, 192, 4, 128, 8
BUDGETS = ("100%", "80%", "65%")
WRAPPERS = ("ddp", "fsdp2-blocks", "fsdp2-root")
FIELDS = (
    "wrapper,model,torch,rank,budget,budget_bytes,predicted,measured,recomputed,gathers,"
    "bits_equal,seconds,digest"
)


class Model(nn.Module):
    """An encoder of transformer blocks that returns its loss."""

    def __init__(self) -> None:
        super().__init__()
        options = {"dropout": 0.1, "batch_first": True, "norm_first": True}
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, **options) for _ in range(LAYERS)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        return x.square().mean()


def wrapped(model: nn.Module, wrapper: str) -> nn.Module:
    """The model in a wrapper."""
    if wrapper == "ddp":
        return DistributedDataParallel(model)
    mesh = init_device_mesh("cpu", (RANKS,))
    if wrapper == "fsdp2-blocks":
        for block in model.blocks:
            fully_shard(block, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def local(gradient: Any) -> torch.Tensor:
    """This rank's part of a gradient."""
    return gradient.to_local() if hasattr(gradient, "to_local") else gradient


def measured(rank: int, wrapper: str, budget: str) -> dict[str, Any]:
    """One row: two steps with a plan and two without."""
    torch.manual_seed(0)
    model = Model()
    plain, planned = wrapped(copy.deepcopy(model), wrapper), wrapped(model, wrapper)
    step = rt.compile(
        lambda batch: planned(batch),
        budget=budget,
        agree=True,
        costs="roofline",
        plan_cache=False,
    )
    torch.manual_seed(rank + 1)
    batch = torch.randn(BATCH, LENGTH, WIDTH)
    equal, seconds = True, 0.0
    for _ in range(2):
        for run, of in ((plain, plain), (step, planned)):
            of.zero_grad()
            torch.manual_seed(rank + 7)
            start = time.perf_counter()
            run(batch).backward()
            seconds = time.perf_counter() - start
        pairs = zip(plain.parameters(), planned.parameters(), strict=True)
        equal &= all(torch.equal(local(a.grad), local(b.grad)) for a, b in pairs)
    report = step.report
    again = report.plan.recomputed
    return {
        "wrapper": wrapper,
        "model": f"transformer {LAYERS}x{WIDTH}",
        "torch": torch.__version__.partition("+")[0],
        "rank": rank,
        "budget": budget,
        "budget_bytes": report.budget_bytes,
        "predicted": report.predicted_bytes,
        "measured": report.measured_bytes,
        "recomputed": len(again),
        "gathers": sum("all_gather" in name for name in again),
        "bits_equal": equal,
        "seconds": f"{seconds:.3f}",
        "digest": (report.digest or "")[:12],
    }


def process(rank: int, port: int, folder: str) -> None:
    """One of the processes."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    distributed.init_process_group("gloo", rank=rank, world_size=RANKS)
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    rows = [measured(rank, wrapper, budget) for wrapper in WRAPPERS for budget in BUDGETS]
    torch.save(rows, Path(folder, str(rank)))
    distributed.destroy_process_group()


def main() -> None:
    """Runs all wrappers and budgets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        spawn(process, (port, folder), nprocs=RANKS)
        found = [torch.load(Path(folder, str(rank))) for rank in range(RANKS)]
    with out.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS.split(","))
        writer.writeheader()
        for rows in zip(*found, strict=True):
            writer.writerows(rows)


if __name__ == "__main__":
    main()
