"""Training with lengths that change at random: plans, compilations and seconds.

    python python/bench/dynamic.py [--steps N] [--out FILE.csv]

A small Llama of transformers trains on random lengths, multiples of 8 from 40 to 128, in order:
``each`` compiles without a plan for each length (backend ``aot_eager``, ``dynamic=False``);
``each planned`` plans for each length (``buckets=None``); the others plan for buckets. The budget
is 75% of the peak of the longest batch. ``compile s`` sums up steps that compiled, without the
median of the other steps of their way. ``step ms`` is this median. ``peak`` is the largest measured
peak, and ``equal`` counts the steps whose loss and gradients equal those of ``each`` in every bit.
"""

from __future__ import annotations

import argparse
import csv
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from measuring import header
from torch import nn

import remat_bb.torch as rt

BATCH, LONGEST, SHARE = 4, 128, 0.75
WAYS: dict[str, Any] = {
    "each": None,
    "each planned": {"buckets": None},
    "powers of two": {"buckets": "powers of two"},
    "ratio 1.25": {"buckets": 1.25},
}
FIELDS = ("way", "steps", "lengths", "plans", "compilations", "compile s", "step ms", "all s")
FIELDS += ("peak", "budget", "equal")
OUT = Path(__file__).parents[2] / "bench" / "results" / "dynamic.csv"


class Model(nn.Module):
    """A Llama that returns its loss."""

    def __init__(self) -> None:
        super().__init__()
        from transformers import LlamaConfig, LlamaForCausalLM

        torch.manual_seed(0)
        heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 2}
        sizes = {"hidden_size": 128, "intermediate_size": 256, "vocab_size": 512}
        self.model = LlamaForCausalLM(LlamaConfig(**heads, **sizes))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.model(input_ids=tokens, labels=tokens, use_cache=False).loss


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    choice = random.Random(7)
    lengths = [8 * choice.randint(5, LONGEST // 8) for _ in range(given.steps)]
    torch.manual_seed(1)
    batches = [torch.randint(0, 512, (BATCH, length)) for length in lengths]
    longest = torch.randint(0, 512, (BATCH, LONGEST))
    budget = int(rt.export(Model(), (longest,)).peak_memory_bytes * SHARE)
    sums: list[Any] = []
    with given.out.open("w", newline="") as file:
        file.write(header())
        rows = csv.DictWriter(file, FIELDS, lineterminator="\n")
        rows.writeheader()
        for way, options in WAYS.items():
            row = run(way, options, batches, budget, sums)
            row |= {"lengths": len(set(lengths)), "budget": budget}
            rows.writerow(row)
            file.flush()
            print(row, flush=True)


def run(
    way: str, options: dict[str, Any] | None, batches: list[torch.Tensor], budget: int, sums: Any
) -> dict[str, Any]:
    """Trains one way.

    Args:
        options: Options of the plan; ``None`` without a plan.
        sums: Results of each step without a plan, which that way fills.
    """
    torch._dynamo.reset()
    torch._dynamo.config.recompile_limit = 1000
    model, reports, compiled = Model(), [], 0
    step: Callable[..., Any]
    if options is None:
        step = torch.compile(model, backend="aot_eager", dynamic=False)
    else:
        step = rt.compile(model, budget=budget, costs="roofline", plan_cache=False, **options)
        reports = step.reports
    times: list[tuple[float, bool]] = []
    equal = 0
    for place, batch in enumerate(batches):
        before = torch._dynamo.utils.counters["stats"]["unique_graphs"]
        start = time.perf_counter()
        loss = step(batch)
        loss.backward()
        spent = time.perf_counter() - start
        new = torch._dynamo.utils.counters["stats"]["unique_graphs"] > before
        compiled += new
        times.append((spent, new))
        found = [loss.detach(), *(p.grad.clone() for p in model.parameters())]
        if options is None:
            sums.append(found)
        equal += all(map(torch.equal, found, sums[place]))
        model.zero_grad()
    usual = statistics.median(spent for spent, new in times if not new)
    extra = sum(spent - usual for spent, new in times if new)
    peaks = [report.measured_bytes or 0 for report in reports]
    return {
        "way": way,
        "steps": len(batches),
        "plans": len(reports),
        "compilations": compiled,
        "compile s": f"{extra:.1f}",
        "step ms": f"{1000 * usual:.1f}",
        "all s": f"{sum(spent for spent, _ in times):.1f}",
        "peak": max(peaks, default=""),
        "equal": f"{equal}/{len(batches)}",
    }


if __name__ == "__main__":
    main()
