"""What a GPU shows in ten minutes: one line of JSON for each figure, as it is found.

    python python/bench/on_gpu.py facts | costs | compare [BUDGET] | cap [BUDGET] [--small]

| command | figures |
|---|---|
| facts | versions, rate of products, issue time of a call, workspaces of cuBLAS |
| costs | operators of 1 to 256 MiB: time alone in a warm cache, and as plans count it |
| compare | GPT-2 in bfloat16: plain, checkpointed, planned at BUDGET and at checkpointing's peak |
| cap | the least hard limit of memory under which a plan of BUDGET runs, as a share of the budget |

`--small` takes a tiny model, for a trial on the processor. `scripts/exec-gpu.sh` calls all.
"""

from __future__ import annotations

import argparse
import functools
import gc
import json
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("REMAT_BB_PLAN_CACHE", "0")
import torch
from torch.utils.checkpoint import checkpoint

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "torch"))

from models import Gpt  # noqa: E402

import remat_bb.torch as rt  # noqa: E402
from remat_bb.torch import clock  # noqa: E402

HAS_GPU = torch.cuda.is_available()
DEVICE = torch.device("cuda" if HAS_GPU else "cpu")
TURNS, WARM_UP = 9, 3
SOLVER_SECONDS = 5.0
CAPS = 7
"""Hard limits that are tried."""


def say(**found: Any) -> None:
    """One line of JSON."""
    rounded = {k: round(v, 5) if isinstance(v, float) else v for k, v in found.items()}
    print(json.dumps(rounded), flush=True)


def wait() -> None:
    """Waits for the GPU."""
    if HAS_GPU:
        torch.cuda.synchronize()


def memory() -> dict[str, int]:
    """Peaks of memory in bytes: allocated, requested, reserved."""
    if not HAS_GPU:
        return {}
    stats = torch.cuda.memory_stats()
    kinds = ("allocated_bytes", "requested_bytes", "reserved_bytes")
    return {kind: stats[f"{kind}.all.peak"] for kind in kinds}


def made(small: bool) -> tuple[torch.nn.Module, tuple[Any, ...]]:
    """GPT-2 medium in bfloat16 with dropout, or a tiny one, and a batch."""
    width, depth, words, length, batch = 1024, 24, 50257, 1024, 8
    if small:
        width, depth, words, length, batch = 64, 2, 101, 64, 8
    torch.manual_seed(0)
    with DEVICE:
        model = Gpt(True, 0.1, width=width, depth=depth, words=words, length=length)
        return model.to(torch.bfloat16), (torch.randint(0, words, (batch, length)),)


def checkpointed(small: bool) -> tuple[torch.nn.Module, tuple[Any, ...]]:
    """The model with a checkpoint around each block."""
    model, batch = made(small)
    for block in model.blocks:
        block.forward = functools.partial(checkpoint, block.forward, use_reentrant=False)
    return model, batch


def measured(model: torch.nn.Module, step: Callable[..., Any], batch: Any) -> dict[str, Any]:
    """Peaks, and median seconds of a step: in all, and to issue it."""
    for _ in range(WARM_UP):
        model.zero_grad()
        step(*batch).backward()
    model.zero_grad()
    gc.collect()
    wait()
    if HAS_GPU:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    whole, issued = [], []
    for _ in range(TURNS):
        model.zero_grad()
        wait()
        start = time.perf_counter()
        step(*batch).backward()
        issued.append(time.perf_counter() - start)
        wait()
        whole.append(time.perf_counter() - start)
    found = {"seconds": statistics.median(whole), "issue_seconds": statistics.median(issued)}
    return found | memory()


def facts(options: Any) -> None:
    """Facts that other figures depend on."""
    gpu = torch.cuda.get_device_name() if HAS_GPU else "none"
    say(what="versions", torch=torch.__version__, gpu=gpu, python=sys.version.split()[0])
    side = 256 if options.small else 8192
    a, b = (torch.randn(side, side, device=DEVICE, dtype=torch.bfloat16) for _ in range(2))
    before = torch.cuda.memory_allocated() if HAS_GPU else 0
    found = a @ b
    wait()
    after = torch.cuda.memory_allocated() if HAS_GPU else 0
    a.requires_grad_()
    (a @ b).sum().backward()
    a.grad = None
    wait()
    both = torch.cuda.memory_allocated() if HAS_GPU else 0
    say(
        what="workspaces of products, bytes",
        forward=after - before - found.nbytes if HAS_GPU else 0,
        backward=both - after,
    )
    runs = 2 if options.small else 20
    for turn in range(4):
        start = time.perf_counter()
        for _ in range(runs):
            torch.mm(a.detach(), b, out=found)
        wait()
        rate = 2e-12 * side**3 * runs / (time.perf_counter() - start)
        say(what="products in bfloat16, TFLOP/s", turn=turn, value=rate)
    small = torch.randn(1024, device=DEVICE)
    start = time.perf_counter()
    for _ in range(2000):
        torch.ops.aten.add.Tensor(small, small)
    say(what="issue of a call, us", value=1e6 * (time.perf_counter() - start) / 2000)
    say(what="traffic, TB/s", value=1e-12 * clock.measured_traffic(DEVICE))
    if HAS_GPU:
        say(what="link", value=str(rt.measure_link()))


def costs(options: Any) -> None:
    """Times of calls alone, and as plans count them."""
    aten = torch.ops.aten
    for mebibytes in (1,) if options.small else (1, 4, 16, 64, 256):
        x = torch.randn(mebibytes << 9, 1024, device=DEVICE, dtype=torch.bfloat16)
        square = torch.randn(1024, 1024, device=DEVICE, dtype=torch.bfloat16)
        one = torch.ones(1024, device=DEVICE, dtype=torch.bfloat16)
        calls: dict[str, Callable[[], Any]] = {
            "add": functools.partial(aten.add.Tensor, x, x),
            "gelu": functools.partial(aten.gelu.default, x),
            "layer norm": functools.partial(
                aten.native_layer_norm.default, x, [1024], one, one, 1e-5
            ),
            "dropout": functools.partial(aten.native_dropout.default, x, 0.1, True),
            "product": functools.partial(aten.mm.default, x, square),
        }
        for name, run in calls.items():
            alone = []
            for _ in range(5):
                wait()
                start = time.perf_counter()
                run()
                wait()
                alone.append(time.perf_counter() - start)
            counted = clock.on_gpu(run, 5, DEVICE)[0] if HAS_GPU else clock.on_processor(run, 5)
            say(
                what="cost, us",
                operator=name,
                mebibytes=mebibytes,
                alone=1e6 * min(alone),
                counted=1e-3 * counted,
            )


def compare(options: Any) -> None:
    """Plans beside plain steps and checkpoints."""
    model, batch = made(options.small)
    plain = measured(model, model, batch)
    say(what="step", method="plain", **plain)
    del model
    other, batch = checkpointed(options.small)
    kept = measured(other, other, batch)
    say(what="step", method="checkpoint of blocks", **kept)
    peak = kept.get("allocated_bytes", 0)
    del other
    base = None
    for budget in ("100%", options.budget, *([peak] if peak else [])):
        gc.collect()
        model, batch = made(options.small)
        step = rt.compile(model, budget=budget, time_limit=SOLVER_SECONDS)
        found = measured(model, step, batch)
        base = found["seconds"] if base is None else base
        report = step.report
        say(
            what="step",
            method=f"plan of {budget}",
            predicted_overhead=report.overhead,
            measured_overhead=found["seconds"] / base - 1,
            over_plain=found["seconds"] / plain["seconds"] - 1,
            predicted_bytes=report.predicted_bytes,
            watched_bytes=report.measured_bytes,
            budget_bytes=report.budget_bytes,
            again=len(report.plan.recomputed),
            **found,
        )
        del model, step


def cap(options: Any) -> None:
    """The least hard limit under which a plan runs."""
    model, batch = made(options.small)
    step = rt.compile(model, budget=options.budget, time_limit=SOLVER_SECONDS)
    measured(model, step, batch)
    budget = step.report.budget_bytes
    if not HAS_GPU:
        say(what="cap", budget_bytes=budget, least_share=None)
        return
    total = torch.cuda.get_device_properties(DEVICE).total_memory
    low, high = 0.9, 1.3
    for _ in range(CAPS):
        share = (low + high) / 2
        model.zero_grad()
        torch.cuda.empty_cache()
        torch.cuda.set_per_process_memory_fraction(min(1.0, share * budget / total))
        try:
            for _ in range(2):
                model.zero_grad()
                step(*batch).backward()
            wait()
            high = share
        except torch.OutOfMemoryError:
            low = share
        finally:
            torch.cuda.set_per_process_memory_fraction(1.0)
    say(what="cap", budget_bytes=budget, least_share=high)


COMMANDS = {"facts": facts, "costs": costs, "compare": compare, "cap": cap}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("budget", nargs="?", default="60%")
    parser.add_argument("--small", action="store_true", help="a tiny model")
    options = parser.parse_args()
    if options.budget.isdigit():
        options.budget = int(options.budget)
    warnings.filterwarnings("ignore")
    COMMANDS[options.command](options)


if __name__ == "__main__":
    main()
