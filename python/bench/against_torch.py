"""Compares plans with torch's own ways to save memory, at equal measured peaks.

    python python/bench/against_torch.py [--models WORD ...] [--out FILE.csv] [--inner inductor]

For each budget of torch's partitioner (`activation_memory_budget` from 1 to 0), for checkpointing
of whole blocks, and for a policy by operators (torchtitan's: products and attention are saved,
every second product of a linear layer is not), the peak of a step is measured. Then a plan is made
for that very peak. The two steps run in turn, and their processor times are compared: the least
and the median of several rounds, on one thread. Gradients are compared with those of the step
without recomputation: deviation 0 is equality in every bit. Budgets that give torch the same graphs
share a row. The last row of a model is a plan near the least budget.

Random numbers are seeded. Plans depend on measured costs, and on a time limit of the solver.
"""

from __future__ import annotations

import argparse
import copy
import csv
import functools
import hashlib
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import other_models
import torch
from measuring import Outcome, Step, header, least_budget, outcome, peak, times
from torch import nn
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.backends.debugging import boxed_nop
from torch._functorch import config
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    create_selective_checkpoint_contexts,
)

import remat_bb
import remat_bb.torch as rt

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "torch"))

import models  # noqa: E402

BUDGETS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0)
SOLVER_SECONDS = 8.0
CLOSE = 1.01
"""Ratio of times up to which a row is counted as close: what repeated runs differ by."""
COLUMNS = (
    "model,method,torch budget,peak bytes,predicted bytes,min ms,median ms,gradient deviation,"
    "plan overhead,gap,note"
).split(",")


@dataclass(frozen=True)
class Case:
    """A model to compare on: how it and its batch are made, and its blocks by name."""

    make: Callable[[], nn.Module]
    batch: Callable[[], tuple[Any, ...]]
    blocks: str | None = None


def stages(counts: Sequence[int], width: int) -> list[tuple[int, int, int]]:
    """Blocks of a residual network: each stage doubles the width and halves the size."""
    found, last = [], width
    for stage, count in enumerate(counts):
        for place in range(count):
            wide = width << stage
            found.append((last, wide, 2 if stage and not place else 1))
            last = wide
    return found


def _tokens(batch: int, length: int) -> tuple[torch.Tensor]:
    return (torch.randint(0, 101, (batch, length)),)


def _pictures(batch: int, size: int) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(batch, 3, size, size), torch.randint(0, 10, (batch,))


def _gpt(fused: bool, dropout: float) -> Case:
    return Case(
        lambda: models.Gpt(fused, dropout, width=128, depth=4, length=64),
        lambda: _tokens(8, 64),
        "blocks",
    )


CASES = {
    "mlp": Case(lambda: models.Mlp(256, 8, 0.0), lambda: (torch.randn(2048, 256),)),
    "mlp dropout": Case(lambda: models.Mlp(256, 8, 0.1), lambda: (torch.randn(2048, 256),)),
    "gpt": _gpt(False, 0.0),
    "gpt dropout": _gpt(False, 0.1),
    "gpt sdpa": _gpt(True, 0.0),
    "llama": Case(lambda: models.Llama(4, 128), lambda: (torch.randn(8, 64, 128),), "blocks"),
    "vit": Case(lambda: models.Vit(128, 4), lambda: _pictures(8, 32), "encoder.layers"),
    "resnet18": Case(
        lambda: models.Resnet(stages((2, 2, 2, 2), 16)), lambda: _pictures(16, 32), "blocks"
    ),
    "resnet50": Case(
        lambda: models.Resnet(stages((3, 4, 6, 3), 32), models.Bottleneck),
        lambda: _pictures(16, 32),
        "blocks",
    ),
    "unet": Case(lambda: models.Unet(16), lambda: (torch.randn(8, 3, 64, 64),)),
    "mobilenet": Case(lambda: models.Separable(16, 4), lambda: (torch.randn(8, 3, 32, 32),)),
}


def _other(make: Callable[[], other_models.Made]) -> Case:
    """A model of another package."""
    return Case(lambda: make()[0], lambda: make()[1])


OTHERS = {
    "opt": _other(
        other_models.words(
            "opt",
            hidden_size=128,
            num_hidden_layers=6,
            num_attention_heads=4,
            vocab_size=other_models.WORDS,
            ffn_dim=512,
            word_embed_proj_dim=128,
            max_position_embeddings=64,
            dropout=0.0,
        )
    ),
    "gmixer": _other(other_models.timm("gmixer_12_224", img_size=64)),
    "shufflenet": _other(other_models.torchvision("shufflenet_v2_x1_0")),
}
"""Models of transformers, timm and torchvision, only if they are named."""
CASES |= OTHERS


class Bench:
    """One model: its reference without recomputation, and the rows found so far."""

    def __init__(self, name: str, inner: str, rounds: int) -> None:
        self.name, self.inner, self.rounds = name, inner, rounds
        torch.manual_seed(0)
        self.case = CASES[name]
        self.model = self.case.make()
        self.batch = self.case.batch()
        self.lines: list[dict[str, Any]] = []
        self.reference: Outcome = outcome(self.model, self.model, self.batch)
        self.instance = rt.export(self.model, self.batch, costs="roofline")

    def torch_step(self, budget: float) -> tuple[Step, str]:
        """A step of torch's partitioner, compiled, and a key of its graphs."""
        torch._dynamo.reset()
        code: list[str] = []

        def seen(module: Any, inputs: Any) -> Any:
            code.append(module.code)
            return boxed_nop(module, inputs)

        # That of "aot_eager", with a look at the graphs.
        made: Any = aot_autograd(
            fw_compiler=seen,
            bw_compiler=seen,
            partition_fn=min_cut_rematerialization_partition,
            keep_inference_input_mutations=True,
        )
        backend = "inductor" if self.inner == "inductor" else made
        step = torch.compile(self.model, backend=backend, fullgraph=True, dynamic=False)
        with config.patch(activation_memory_budget=budget):
            # The first call compiles.
            outcome(self.model, step, self.batch)
        return step, hashlib.sha256("".join(code).encode()).hexdigest() if code else str(budget)

    def planned_step(self, budget: int) -> rt.Step:
        """A step planned for a budget in bytes, compiled."""
        options: dict[str, Any] = {"time_limit": SOLVER_SECONDS, "inner": self.inner}
        if self.inner == "inductor":
            return rt.compile_with_budget(self.model, self.batch, budget, **options)
        return rt.compile(self.model, budget=budget, **options)

    def peak(self, step: Step) -> int:
        return peak(self.model, step, self.batch, self.instance.fixed_bytes)

    def compare(self, method: str, budget: str, theirs: Step) -> None:
        """Adds a row of a step, and one of a plan for its measured peak."""
        found = outcome(self.model, theirs, self.batch)
        theirs_peak = self.peak(theirs)
        line = {
            "model": self.name,
            "method": method,
            "torch budget": budget,
            "peak bytes": theirs_peak,
            "gradient deviation": f"{found.deviation(self.reference):.2g}",
        }
        self.lines.append(line)
        try:
            step = self.planned_step(theirs_peak)
            own = self.planned_line(step, f"remat-bb for {method}", budget)
        except remat_bb.RematError as error:
            words = " ".join(str(error).split())[:200]
            own = {"model": self.name, "method": f"remat-bb for {method}", "note": words}
            line |= _time(*times(self.model, [theirs], self.batch, self.rounds))
        else:
            first, second = times(self.model, [theirs, step], self.batch, self.rounds)
            line |= _time(first)
            own |= _time(second)
        self.lines.append(own | {"torch budget": budget})

    def planned_line(self, step: rt.Step, method: str, budget: str) -> dict[str, Any]:
        """The row of a planned step, without its times."""
        found = outcome(self.model, step, self.batch)
        plan = step.report.plan
        return {
            "model": self.name,
            "method": method,
            "torch budget": budget,
            "peak bytes": self.peak(step),
            "predicted bytes": step.report.predicted_bytes,
            "gradient deviation": f"{found.deviation(self.reference):.2g}",
            "plan overhead": f"{plan.overhead:.4f}",
            "gap": "" if plan.gap is None else f"{plan.gap:.4f}",
        }

    def budgets(self) -> None:
        """Rows of torch's budgets; equal graphs share one."""
        groups: dict[str, list[float]] = {}
        for budget in BUDGETS:
            groups.setdefault(self.torch_step(budget)[1], []).append(budget)
        for alike in groups.values():
            step, _ = self.torch_step(alike[0])
            self.compare("torch budget", " ".join(f"{b:g}" for b in alike), step)

    def blocks(self) -> None:
        """Rows of checkpointing, of whole blocks and by operators, in eager mode."""
        if self.case.blocks is None or self.inner != "eager":
            return
        for method, contexts in (("checkpoint", None), ("operator policy", by_operator)):
            torch._dynamo.reset()
            twin = copy.deepcopy(self.model)
            twin.load_state_dict(self.model.state_dict())
            for block in twin.get_submodule(self.case.blocks).children():
                options: dict[str, Any] = {} if contexts is None else {"context_fn": contexts}
                block.forward = functools.partial(
                    checkpoint, block.forward, use_reentrant=False, **options
                )
            # Gradients and buffers of the model itself are those that are looked at.
            for own, other in zip(self.model.modules(), twin.modules(), strict=True):
                other._parameters, other._buffers = own._parameters, own._buffers
            self.compare(method, "", twin)

    def least(self) -> None:
        """The row of a plan near the least budget."""
        torch._dynamo.reset()
        known = min(x["peak bytes"] for x in self.lines if "peak bytes" in x)
        low = least_budget(self.instance, known)
        try:
            step = self.planned_step(low + (known - low) // 20)
            line = self.planned_line(step, "remat-bb least", "")
        except remat_bb.RematError as error:
            words = " ".join(str(error).split())[:200]
            self.lines.append({"model": self.name, "method": "remat-bb least", "note": words})
            return
        self.lines.append(line | _time(*times(self.model, [step], self.batch, self.rounds)))


SAVED = {
    torch.ops.aten.mm.default,
    torch.ops.aten.addmm.default,
    torch.ops.aten.bmm.default,
    torch.ops.aten.convolution.default,
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default,
}
PRODUCTS = {torch.ops.aten.mm.default, torch.ops.aten.addmm.default}


def by_operator() -> Any:
    """Contexts of the policy: :data:`SAVED` is saved, every second of :data:`PRODUCTS` is not."""
    counts = {False: 0, True: 0}

    def policy(ctx: Any, op: Any, *args: Any, **options: Any) -> CheckpointPolicy:
        skip = False
        if op in PRODUCTS:
            counts[bool(ctx.is_recompute)] += 1
            skip = counts[bool(ctx.is_recompute)] % 2 == 0
        keep = op in SAVED and not skip
        return CheckpointPolicy.MUST_SAVE if keep else CheckpointPolicy.PREFER_RECOMPUTE

    return create_selective_checkpoint_contexts(policy)


def _time(found: tuple[float, float]) -> dict[str, str]:
    return {"min ms": f"{found[0]:.2f}", "median ms": f"{found[1]:.2f}"}


def summary(lines: list[dict[str, Any]]) -> str:
    """Words and a table on all rows: times at equal peaks, deviations, lowest peaks."""
    pairs = [
        (a, b) for a, b in zip(lines, lines[1:]) if b["method"] == f"remat-bb for {a['method']}"
    ]
    both = [(a, b) for a, b in pairs if b.get("min ms")]
    ratios = [float(b["min ms"]) / float(a["min ms"]) for a, b in both]
    equal = sum(r <= 1 for r in ratios)
    close = sum(r <= CLOSE for r in ratios)
    own = [x for x in lines if x["method"].startswith("remat-bb") and x.get("gradient deviation")]
    theirs = [x for x in lines if not x["method"].startswith("remat-bb")]
    kept = sum(int(b["peak bytes"]) <= int(a["peak bytes"]) for a, b in both)
    text = [
        f"time lower or equal at equal measured peak: {equal} of {len(both)} rows "
        f"(within {CLOSE - 1:.0%}: {close}; without a plan: {len(pairs) - len(both)})",
        f"peak at most the other's: {kept} of {len(both)} rows",
        f"gradients that deviate: torch {sum(float(x['gradient deviation']) > 0 for x in theirs)} "
        f"of {len(theirs)}, remat-bb {sum(float(x['gradient deviation']) > 0 for x in own)} "
        f"of {len(own)} rows",
        f"{'model':<14}{'lowest, torch':>15}{'remat-bb':>12}{'ratio':>8}",
    ]
    for name in dict.fromkeys(x["model"] for x in lines):
        first = min(int(x["peak bytes"]) for x in theirs if x["model"] == name)
        second = min(int(x["peak bytes"]) for x in own if x["model"] == name)
        text.append(f"{name:<14}{first:>15}{second:>12}{second / first:>8.3f}")
    return "\n".join(text)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    own = [name for name in CASES if name not in OTHERS]
    parser.add_argument("--models", nargs="+", choices=CASES, default=own)
    parser.add_argument("--out", type=Path, help="CSV file; rows of other models in it stay")
    parser.add_argument("--inner", choices=("eager", "inductor"), default="eager")
    parser.add_argument("--rounds", type=int, default=15, help="runs of each step (15)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    lines: list[dict[str, Any]] = []
    if options.out and options.out.exists():
        with open(options.out, newline="") as file:
            lines = list(csv.DictReader(x for x in file if not x.startswith("#")))
    for name in options.models:
        bench = Bench(name, options.inner, options.rounds)
        bench.budgets()
        bench.blocks()
        bench.least()
        for line in bench.lines:
            print(",".join(str(line.get(c, "")) for c in COLUMNS), flush=True)
        lines = [x for x in lines if x["model"] != name] + bench.lines
        lines.sort(key=lambda x: list(CASES).index(x["model"]))
        if options.out:
            with open(options.out, "w", newline="") as file:
                file.write(header())
                table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
                table.writeheader()
                table.writerows(lines)
    print(summary(lines))


if __name__ == "__main__":
    main()
