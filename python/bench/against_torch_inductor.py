#!/usr/bin/env python3
"""Steps under Inductor at equal peaks: torch's activation_memory_budget against remat_bb's plans.

    python python/bench/against_torch_inductor.py [--models NAME...] [--shares 1,0.8,...]
        [--units kernels|operators] > FILE.csv

For each of torch's budgets its step is compiled and its peak is measured; then a step is compiled
with :func:`remat_bb.torch.compile_with_budget` for that very peak. Both are timed in turn, and the
least is taken. ``--units operators`` plans as for eager torch, by single operators. Peaks are bytes
of torch's allocator on the processor without inputs and parameters, times are milliseconds of the
processor, one thread. Run it in an environment with torch.
"""

from __future__ import annotations

import argparse
import copy
import csv
import pathlib
import platform
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch._functorch import config as functorch_config

TESTS = pathlib.Path(__file__).resolve().parent.parent / "tests" / "torch"
sys.path.insert(0, str(TESTS))

import models  # noqa: E402

import remat_bb.torch as rt  # noqa: E402
from remat_bb.errors import RematError  # noqa: E402
from remat_bb.torch.planner import Planner  # noqa: E402


class Llama(models.Llama):
    """One block of a width that makes kernels worth their time."""

    def __init__(self) -> None:
        nn.Module.__init__(self)
        self.blocks = nn.Sequential(models.LlamaBlock(256, 8, 4))


CASES: dict[str, tuple[Callable[[], nn.Module], Callable[[], tuple[Any, ...]]]] = {
    "mlp": (lambda: models.Mlp(512, 6, 0.0), lambda: (torch.randn(2048, 512),)),
    "gpt sdpa 2 layers": (
        lambda: models.Gpt(True, width=256),
        lambda: (torch.randint(0, 101, (64, 32)),),
    ),
    "llama block": (Llama, lambda: (torch.randn(32, 64, 256),)),
    "resnet": (models.Resnet, models.labelled),
}
HEADER = (
    "model,units,torch budget,torch peak bytes,torch ms,our peak bytes,our ms,predicted bytes,"
    "attempts,recomputed,note"
).split(",")


def milliseconds(step: Callable[..., Any], batch: tuple[Any, ...]) -> float:
    """Time of the processor for one step."""
    start = time.process_time()
    step(*batch).backward()
    return 1e3 * (time.process_time() - start)


def ours(
    model: nn.Module, batch: tuple[Any, ...], peak: int, options: dict[str, Any]
) -> tuple[Any, int]:
    """A step for a peak in bytes without inputs, and the number of steps that were measured."""
    torch._dynamo.reset()
    fixed = rt.export(model, batch).fixed_bytes
    module = sys.modules["remat_bb.torch.backend"]
    real, tries = module.measure, []  # type: ignore[attr-defined]

    def counted(*arguments: Any, **others: Any) -> Any:
        tries.append(1)
        return real(*arguments, **others)

    module.measure = counted  # type: ignore[attr-defined]
    try:
        step = rt.compile_with_budget(model, batch, peak + fixed, inner="inductor", **options)
    finally:
        module.measure = real  # type: ignore[attr-defined]
    return step, len(tries)


def compare(
    name: str, units: str, share: float, repeats: int, options: dict[str, Any]
) -> list[Any]:
    """A row of the table."""
    make, batch_of = CASES[name]
    torch.manual_seed(0)
    model, batch = make(), batch_of()
    twin = copy.deepcopy(model)
    torch._dynamo.reset()
    with functorch_config.patch(activation_memory_budget=share):
        theirs = torch.compile(model, fullgraph=True, dynamic=False)
        peak, _ = rt.measure(theirs, *batch, repeats=0)
        note = ""
        try:
            step, tries = ours(twin, batch, peak, options)
        except RematError as error:
            step, tries, note = None, 0, str(error).splitlines()[0]
        times: list[list[float]] = [[], []]
        for _ in range(repeats):
            model.zero_grad()
            times[0].append(milliseconds(theirs, batch))
            if step is not None:
                twin.zero_grad()
                times[1].append(milliseconds(step, batch))
    row: list[Any] = [name, units, share, peak, f"{min(times[0]):.2f}"]
    if step is None:
        return [*row, "", "", "", "", "", note]
    report = step.report
    row += [report.measured_bytes - report.fixed_bytes, f"{min(times[1]):.2f}"]
    row += [report.predicted_bytes - report.fixed_bytes, tries, len(report.plan.recomputed), note]
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="*", default=list(CASES))
    parser.add_argument("--shares", default="1,0.8,0.6,0.4,0.2,0")
    parser.add_argument("--units", choices=("kernels", "operators"), default="kernels")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--time-limit", type=float, default=5.0)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    options = {"costs": "measured", "time_limit": arguments.time_limit}
    if arguments.units == "operators":
        module: Any = sys.modules["remat_bb.torch.backend"]
        module._planner = lambda settings, inner: Planner(settings)
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], capture_output=True, text=True, cwd=TESTS
    )
    print(
        f"# torch {torch.__version__}, {platform.machine()}, {processor()}, one thread, commit "
        f"{commit.stdout.strip()}"
    )
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(HEADER)
    for name in arguments.models:
        for share in map(float, arguments.shares.split(",")):
            row = compare(name, arguments.units, share, arguments.repeats, options)
            table.writerow(row)
            sys.stdout.flush()


def processor() -> str:
    """Name of the processor."""
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    found = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return found[0] if found else platform.processor()


if __name__ == "__main__":
    main()
