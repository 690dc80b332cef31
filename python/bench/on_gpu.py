"""Plans on a GPU: peaks, times and bits beside plain training, checkpointing and torch's budgets.

    python python/bench/on_gpu.py [--models WORD ...] [--budgets 80,60,40] [--out FILE.csv]

Each model trains plainly, with checkpointing of its blocks, and by plans: without recomputation,
for shares of the plain peak, for the peak that checkpointing takes, with copies to the host over
the link as it is measured, and under Inductor for the peaks of torch's `activation_memory_budget`.
Peaks are allocated bytes of torch's allocator over the whole step with all that stays; times are
the median of several steps, forward and backward, with the GPU idle before and after. Deviations
are those of all gradients from the same graphs' without a plan: with `--deterministic`, which is
slower, 0 is equality in every bit.

Models are in bfloat16 (the convolutional ones in float32 with TF32). Seeds are fixed; plans depend
on measured costs.
"""

from __future__ import annotations

import argparse
import copy
import csv
import functools
import gc
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Products of matrices have the same bits each time with a workspace of fixed size alone.
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

import against_torch  # noqa: E402
import torch  # noqa: E402
from against_torch import stages  # noqa: E402
from measuring import Outcome, Step, header, outcome  # noqa: E402
from torch._functorch import config  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

import remat_bb  # noqa: E402
import remat_bb.torch as rt  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "torch"))

import models  # noqa: E402

COLUMNS = (
    "model,method,budget bytes,predicted bytes,peak bytes,median ms,gradient deviation,"
    "plan overhead,gap,to host bytes,compile s,note"
).split(",")


@dataclass(frozen=True)
class Case(against_torch.Case):
    """A model with its batch, its blocks by name, and its type of elements."""

    dtype: torch.dtype = torch.bfloat16


def _pictures(batch: int, size: int, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(batch, 3, size, size, dtype=dtype), torch.randint(0, 10, (batch,))


def _words(batch: int, length: int) -> tuple[torch.Tensor]:
    return (torch.randint(0, 50257, (batch, length)),)


CASES = {
    "gpt2 medium": Case(
        lambda: models.Gpt(True, 0.1, width=1024, depth=24, words=50257, length=1024),
        lambda: _words(8, 1024),
        "blocks",
    ),
    "gpt, attention written out": Case(
        lambda: models.Gpt(False, 0.1, width=1024, depth=8, words=50257, length=1024),
        lambda: _words(8, 1024),
        "blocks",
    ),
    "llama": Case(
        lambda: models.Llama(16, 2048),
        lambda: (torch.randn(4, 2048, 2048, dtype=torch.bfloat16),),
        "blocks",
    ),
    "vit": Case(
        lambda: models.Vit(768, 12), lambda: _pictures(16, 128, torch.bfloat16), "encoder.layers"
    ),
    "resnet50": Case(
        lambda: models.Resnet(stages((3, 4, 6, 3), 256), models.Bottleneck),
        lambda: _pictures(32, 64, torch.float32),
        "blocks",
        torch.float32,
    ),
    "unet": Case(
        lambda: models.Unet(64),
        lambda: (torch.randn(16, 3, 256, 256),),
        None,
        torch.float32,
    ),
}


class Bench:
    """One model, and the rows found so far."""

    def __init__(self, name: str, arguments: argparse.Namespace) -> None:
        self.name, self.arguments = name, arguments
        torch._dynamo.reset()
        torch.manual_seed(0)
        # Before anything is compiled: torch would compile it again. One model has an operator
        # without such an algorithm.
        torch.use_deterministic_algorithms(arguments.deterministic, warn_only=name == "unet")
        self.case = CASES[name]
        # Not as the default device, whose hook costs every call time.
        with torch.device("cuda"):
            self.model = self.case.make().to(self.case.dtype)
            self.batch = self.case.batch()
        self.lines: list[dict[str, Any]] = []
        # What the graphs are without recomputation: eager torch has other kernels for batch norms.
        step = rt.compile(self.model, budget="100%", costs="roofline", time_limit=3.0)
        step(*self.batch).backward()
        self.model.zero_grad()
        self.reference: Outcome = outcome(self.model, step, self.batch)

    def peak(self, step: Step) -> int:
        """Allocated bytes of a step at most, with what was there before it."""
        self.model.zero_grad()
        gc.collect()
        return rt.measure(step, *self.batch, repeats=0)[0]

    def milliseconds(self, step: Step) -> float:
        """Median time of a step."""
        found = []
        for turn in range(self.arguments.repeats + 1):
            self.model.zero_grad()
            torch.cuda.synchronize()
            start = time.perf_counter()
            step(*self.batch).backward()
            torch.cuda.synchronize()
            # The first one warms up.
            if turn:
                found.append(1e3 * (time.perf_counter() - start))
        self.model.zero_grad()
        return statistics.median(found)

    def add(self, method: str, make: Callable[[], Step], **cells: Any) -> dict[str, Any]:
        """Adds the row of a step, which says so where there is none."""
        torch._dynamo.reset()
        line: dict[str, Any] = {"model": self.name, "method": method, **cells}
        start = time.perf_counter()
        try:
            step = make()
            # Compiled and planned with nothing on the GPU but what stays.
            step(*self.batch).backward()
            self.model.zero_grad()
            line["compile s"] = f"{time.perf_counter() - start:.1f}"
            found = outcome(self.model, step, self.batch)
            line["gradient deviation"] = f"{found.deviation(self.reference):.2g}"
            del found
            line["peak bytes"] = self.peak(step)
            line["median ms"] = f"{self.milliseconds(step):.2f}"
            if isinstance(step, rt.Step):
                report = step.report
                line["predicted bytes"] = report.predicted_bytes
                line["plan overhead"] = f"{report.plan.overhead:.4f}"
                line["gap"] = "" if report.plan.gap is None else f"{report.plan.gap:.4f}"
                if report.host is not None:
                    line["to host bytes"] = report.copy_use.to_host_bytes
        except (remat_bb.RematError, RuntimeError) as error:
            line["note"] = f"{type(error).__name__}: " + " ".join(str(error).split())[:300]
        self.lines.append(line)
        print(",".join(str(line.get(c, "")).replace(",", ";") for c in COLUMNS), flush=True)
        return line

    def planned(self, method: str, budget: int | str, **options: Any) -> None:
        """Adds the row of a plan."""
        options = {"time_limit": self.arguments.time_limit, **options}
        self.add(
            method,
            lambda: rt.compile(self.model, budget=budget, **options),
            **{"budget bytes": budget},
        )

    def checkpointed(self) -> Step:
        """The model with all its blocks under torch's checkpoint, on the same parameters."""
        twin = copy.deepcopy(self.model)
        assert self.case.blocks is not None
        for block in twin.get_submodule(self.case.blocks).children():
            block.forward = functools.partial(checkpoint, block.forward, use_reentrant=False)
        for own, other in zip(self.model.modules(), twin.modules(), strict=True):
            other._parameters, other._buffers = own._parameters, own._buffers
        return twin

    def eager(self, shares: Sequence[float], link: rt.Link) -> None:
        """Rows of plain training, checkpointing, plans, and plans that copy."""
        plain = self.add("plain", lambda: self.model)["peak bytes"]
        peaks = [(f"remat-bb {share:g}%", int(plain * share / 100)) for share in shares]
        self.planned("remat-bb 100%", "100%")
        if self.case.blocks is not None:
            found = self.add("checkpoint", self.checkpointed).get("peak bytes")
            if found is not None:
                peaks.append(("remat-bb for checkpoint", found))
        for method, budget in peaks:
            self.planned(method, budget)
        for method, budget in peaks[-2:]:
            self.planned(f"{method}, copies", budget, offload=link)

    def inductor(self, shares: Sequence[float]) -> None:
        """Rows of torch's budgets under Inductor, and of plans for the same peaks."""
        for share in shares:
            with config.patch(activation_memory_budget=share):
                line = self.add(
                    f"torch budget {share:g}",
                    lambda: torch.compile(self.model, fullgraph=True, dynamic=False),
                )
            budget = line.get("peak bytes")
            if budget is None:
                continue
            self.add(
                f"remat-bb for torch budget {share:g}",
                lambda: rt.compile_with_budget(
                    self.model,
                    self.batch,
                    budget,
                    inner="inductor",
                    time_limit=self.arguments.time_limit,
                ),
                **{"budget bytes": budget},
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument(
        "--budgets", default="80,60,40", help="shares of the plain peak, in per cent"
    )
    parser.add_argument("--torch-budgets", default="0.7,0.4,0.1", help="shares for torch's budgets")
    parser.add_argument("--time-limit", type=float, default=5.0, help="of the solver, in seconds")
    parser.add_argument("--repeats", type=int, default=7, help="measured steps of each row")
    parser.add_argument("--inner", choices=("eager", "inductor", "both"), default="both")
    parser.add_argument("--deterministic", action="store_true", help="the same bits each time")
    parser.add_argument("--out", type=Path, help="CSV file")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.utils.deterministic.fill_uninitialized_memory = False
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    link = rt.measure_link()
    print(f"# {torch.cuda.get_device_name()}, {link}", flush=True)
    lines: list[dict[str, Any]] = []
    for name in arguments.models:
        bench = Bench(name, arguments)
        if arguments.inner != "inductor":
            bench.eager([float(x) for x in arguments.budgets.split(",")], link)
        if arguments.inner != "eager":
            bench.inductor([float(x) for x in arguments.torch_budgets.split(",")])
        lines += bench.lines
        del bench
        gc.collect()
        torch.cuda.empty_cache()
        if arguments.out:
            with open(arguments.out, "w", newline="") as file:
                file.write(header().replace("1 thread used", torch.cuda.get_device_name()))
                file.write(f"# {link}\n")
                table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
                table.writeheader()
                table.writerows(lines)


if __name__ == "__main__":
    main()
