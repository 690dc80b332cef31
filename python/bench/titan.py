"""torchtitan's graph trainer: tags of ``remat_bb`` against its own policies, at equal peaks.

    python python/bench/titan.py [--only WORD ...] [--budgets N] [--out FILE.csv]

Needs torch 2.15 and torchtitan 0.3.0, without a GPU. Rows ``run``: torchtitan's own trainer runs
debug models on the processor; the peak is counted in the run, and ``bits`` says whether loss and
gradients equal those without a policy. ``as installed`` is torchtitan without this package: torch
2.15 names the sums of gradients after the loss, so its executor recomputes nothing.

Rows ``plan``: steps are traced only, with parameters in bfloat16 that are never touched, and times
come from a roofline of a GPU. Peaks and times are those of the replay of torchtitan's executor. For
each budget between the least known peak and the peak without tags, ``best of torchtitan`` is its
cheapest policy that fits, with the same repair of names.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from measuring import header
from torch import Tensor

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "torch"))

from titan_models import Run, measured, quiet, run_of, traced  # noqa: E402
from torchtitan.components.loss import CrossEntropyLoss  # noqa: E402
from torchtitan.distributed.utils import get_spmd_context  # noqa: E402
from torchtitan.experiments.graph_trainer.common_utils import annotate_module_fqns  # noqa: E402
from torchtitan.experiments.graph_trainer.make_fx_tracer import minimal_fx_tracer  # noqa: E402
from torchtitan.experiments.graph_trainer.remove_noop_passes import (  # noqa: E402
    canonicalize_graph_pass,
    eliminate_dead_code_pass,
)
from torchtitan.experiments.graph_trainer.trainer import make_fwd_bwd_step  # noqa: E402

from remat_bb.errors import InfeasibleBudget  # noqa: E402
from remat_bb.torch import titan  # noqa: E402
from remat_bb.torch.link import Link  # noqa: E402
from remat_bb.torch.step_graph import StepGraph, name_gradient_sums  # noqa: E402
from remat_bb.torch.tag_search import TagSearch, Tuning  # noqa: E402

COLUMNS = (
    "kind,model,words,policy,budget_bytes,peak_bytes,added_percent,host_bytes,recomputed,bits"
).split(",")
RUNS = ("llama3", "qwen3", "deepseek_v3")
PLANS = (
    ("llama3", "debugmodel", 4, 1024),
    ("deepseek_v3", "debugmodel", 4, 1024),
    ("llama3", "8B", 1, 8192),
)
"""Model, size, texts and words of each."""
SHARES = ("90%", "80%")
"""Budgets of runs."""
LINK = "pcie5"


def outcome(run: Run) -> tuple[Tensor, list[Tensor]]:
    loss, gradients = run.step()
    return loss, [g.clone() for g in gradients]


def same(a: tuple[Tensor, list[Tensor]], b: tuple[Tensor, list[Tensor]]) -> str:
    equal = torch.equal(a[0], b[0]) and all(torch.equal(x, y) for x, y in zip(a[1], b[1]))
    return "equal" if equal else "differ"


def run_rows(kind: str) -> list[dict[str, Any]]:
    """Rows of a debug model that runs."""
    size = {"length": 256, "batch": 2}
    plain = run_of(kind, enable_passes=False, **size)
    expected = outcome(plain)
    module, inputs = traced(plain)
    rows = [_run_row(kind, "no policy", "", measured(module, inputs)[1], 0, "")]
    cases = [(f"{name}, as installed", {"memory_policy": name}, "") for name in titan.RIVALS[:3]]
    cases += [("remat_bb", {"memory_budget": share}, share) for share in SHARES]
    for name, options, share in cases:
        run = run_of(kind, **options, **size)
        try:
            got = outcome(run)
        except InfeasibleBudget as error:
            rows.append(_run_row(kind, name, share, error.known_bytes, "", "no tags found"))
            continue
        made = run.trainer._traced_step.gm
        again = sum(n.name.endswith("_recomputed") for n in made.graph.nodes)
        _, inputs = traced(run)
        rows.append(
            _run_row(kind, name, share, measured(made, inputs)[1], again, same(got, expected))
        )
    return rows


def _run_row(
    kind: str, policy: str, budget: str, peak: Any, again: Any, bits: str
) -> dict[str, Any]:
    return {
        "kind": "run",
        "model": f"{kind} debugmodel",
        "words": "2x256",
        "policy": policy,
        "budget_bytes": budget,
        "peak_bytes": peak,
        "recomputed": again,
        "bits": bits,
    }


def graph_of(kind: str, flavor: str, batch: int, length: int) -> Any:
    """The graph of a step of a model whose parameters are never touched."""
    home = importlib.import_module(f"torchtitan.experiments.graph_trainer.{kind}")
    spec = home.model_registry(flavor, attn_backend="sdpa")
    with torch.device("meta"):
        model = spec.model.build()
    for parameter in model.parameters():
        parameter.data = parameter.data.to(torch.bfloat16)
    model.to_empty(device="cpu")
    annotate_module_fqns(model)
    loss = CrossEntropyLoss.Config(global_vocab_size=2048).build()
    words = torch.zeros(batch, length, dtype=torch.long)
    places = torch.arange(length, dtype=torch.int32)[None].expand(batch, length)
    with get_spmd_context()():
        made = minimal_fx_tracer(make_fwd_bwd_step(model, loss), module=model)(
            words, words, torch.tensor(1.0), {"positions": places}
        )
    gm = canonicalize_graph_pass(eliminate_dead_code_pass(made.gm))
    name_gradient_sums(gm.graph)
    return gm


def plan_rows(
    kind: str, flavor: str, batch: int, length: int, budgets: int, replays: int
) -> list[dict[str, Any]]:
    """Rows of a step that is only traced."""
    gm = graph_of(kind, flavor, batch, length)
    step = StepGraph(gm.graph, titan.GPU)
    config = SimpleNamespace(
        compile=SimpleNamespace(cpu_offload_budget_gb=100.0),
        parallelism=SimpleNamespace(
            fsdp_reshard_after_forward="default", pipeline_parallel_degree=1
        ),
    )
    search = TagSearch(
        step,
        Link.of(LINK),
        policies=titan.rivals(gm, step, config),
        tuning=Tuning(replays=replays),
    )
    rows = []

    def add(policy: str, budget: Any, executed: Any) -> None:
        rows.append(
            {
                "kind": "plan",
                "model": f"{kind} {flavor}",
                "words": f"{batch}x{length}",
                "policy": policy,
                "budget_bytes": budget,
                "peak_bytes": executed.peak_bytes,
                "added_percent": f"{titan.added_percent(search, executed.time_ns):.3f}",
                "host_bytes": executed.host_bytes,
            }
        )

    add("no policy", "", search.unplanned)
    theirs = [start for start in search.starts if start.name in titan.RIVALS]
    for start in theirs:
        add(start.name, "", start.executed)
    low, high = search.least_bytes, search.unplanned.peak_bytes
    for k in range(budgets):
        budget = low + (high - low) * k // max(1, budgets - 1)
        found = search.best(budget).executed
        add("remat_bb", budget, found)
        fits = [s.executed for s in theirs if s.executed.peak_bytes <= budget]
        if fits:
            best = min(fits, key=lambda e: e.time_ns)
            add("best of torchtitan", budget, best)
            assert found.time_ns <= best.time_ns
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--budgets", type=int, default=20)
    parser.add_argument("--replays", type=int, default=150)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    quiet()
    out = options.out.open("w") if options.out else sys.stdout
    out.write(header() + f"# link {LINK}; {options.replays} replays a descent\n")
    table = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    table.writeheader()

    def wanted(words: str) -> bool:
        return not options.only or any(word in words for word in options.only)

    for kind in RUNS:
        if wanted(f"run {kind}"):
            table.writerows(run_rows(kind))
            out.flush()
    for plan in PLANS:
        if wanted(f"plan {plan[0]} {plan[1]}"):
            table.writerows(plan_rows(*plan, options.budgets, options.replays))
            out.flush()


if __name__ == "__main__":
    main()
