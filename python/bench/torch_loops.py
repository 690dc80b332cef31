"""Peaks of training loops: ten steps of AdamW with two micro-batches each, of changing sizes.

    python python/bench/torch_loops.py [--only WORD ...]

Models are those of the tests. Each forward and backward pass is measured by the allocator's events
(``tests/torch/tracked.py``) with parameters, gradients that are there, buffers and batch; losses
and parameters are compared with those of eager torch in every bit. Plans are made in a first run of
the loop: they take memory of their own. ``eager`` is the peak of eager torch in the same loop.
"""

from __future__ import annotations

import argparse
import copy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from measuring import header

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "torch"))

from models import MODELS
from tracked import step_peak

import remat_bb.torch as rt

STEPS, MICRO_BATCHES = 10, 2
SHARES = (1.0, 0.75, 0.5)
"""Sizes of batches, as shares of the model's own."""


def loop(run: Any, model: Any, batches: list[Any], seen: Callable[..., None]) -> list[float]:
    """Losses of a loop; ``seen`` runs each forward and backward pass."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses: list[float] = []
    torch.manual_seed(7)
    for number in range(STEPS):
        optimizer.zero_grad()
        for micro in range(MICRO_BATCHES):
            batch = batches[(number + micro) % len(batches)]

            def turn(batch: Any = batch) -> None:
                loss = run(*batch) / MICRO_BATCHES
                loss.backward()
                losses.append(loss.item())

            seen(model, batch, turn)
        optimizer.step()
    return losses


def row(name: str) -> str:
    """The line of a model."""
    make, batch_of, budget = MODELS[name]
    model, whole = make(), batch_of()
    batches = [[x[: max(1, int(share * len(x)))] for x in whole] for share in SHARES]
    start, twin = copy.deepcopy(model.state_dict()), copy.deepcopy(model)
    eager: list[int] = []
    expected = loop(twin, twin, batches, lambda *args: eager.append(step_peak(*args)))
    share = float(budget.rstrip("%")) / 100
    limit = int(share * max(eager))
    step = rt.compile(model, budget=limit, costs="roofline", plan_cache=False, strict=True)
    loop(step, model, batches, lambda _model, _batch, turn: turn())
    model.load_state_dict(start)
    peaks: list[int] = []
    found = loop(step, model, batches, lambda *args: peaks.append(step_peak(*args)))
    same = found == expected and all(map(torch.equal, model.parameters(), twin.parameters()))
    again = sum(bool(report.plan.recomputed) for report in step.reports)
    words = " ".join(f"{peak / 1e6:.2f}" for peak in peaks)
    return (
        f"{name:12} {max(eager) / 1e6:7.2f} {limit / 1e6:7.2f} {max(peaks) / 1e6:7.2f} "
        f"{len(step.reports):5} {again:9} {'yes' if same else 'NO':>5}  {words}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=list(MODELS), help="words in names of models")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(header())
    print("model          eager  budget    most plans recompute equal  peaks of all passes (MB)")
    for name in MODELS:
        if any(word in name for word in options.only):
            print(row(name), flush=True)


if __name__ == "__main__":
    main()
