"""Steps, peaks, times and deviations, for the benchmarks of this folder."""

from __future__ import annotations

import copy
import platform
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

import remat_bb
import remat_bb.torch as rt

SEED = 7
"""Seed of the random numbers that every compared step draws."""
PROBES = 5
"""Budgets tried by :func:`least_budget`."""
PROBE_SECONDS = 3.0
"""Time limit of the solver for each of them."""

Step = Callable[..., Tensor]


@dataclass
class Outcome:
    """Loss, gradients and buffers of a model after one step."""

    loss: Tensor
    gradients: dict[str, Tensor]
    buffers: dict[str, Tensor]

    def differences(self, other: Outcome) -> list[str]:
        """Names of what is not the same in every bit."""
        found = [] if torch.equal(self.loss, other.loss) else ["loss"]
        for mine, theirs in ((self.gradients, other.gradients), (self.buffers, other.buffers)):
            for name in dict.fromkeys((*mine, *theirs)):
                both = name in mine and name in theirs
                if not (both and torch.equal(mine[name], theirs[name])):
                    found.append(name)
        return found

    def deviation(self, other: Outcome) -> float:
        """Distance of all gradients from the other's, over the length of these."""
        pairs = [(self.gradients[name], value) for name, value in other.gradients.items()]
        distance = sum(float((a.double() - b.double()).square().sum()) for a, b in pairs)
        length = sum(float(b.double().square().sum()) for _, b in pairs)
        return (distance / length) ** 0.5 if length else distance**0.5


def outcome(model: nn.Module, step: Step, batch: Sequence[Any]) -> Outcome:
    """The outcome of a step from :data:`SEED`; the state of the model is afterwards as before."""
    before = copy.deepcopy(model.state_dict())
    model.zero_grad()
    torch.manual_seed(SEED)
    loss = step(*batch)
    loss.backward()
    found = Outcome(
        loss.detach().clone(),
        {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None},
        {name: b.clone() for name, b in model.named_buffers()},
    )
    model.load_state_dict(before)
    model.zero_grad()
    return found


def peak(model: nn.Module, step: Step, batch: Sequence[Any], fixed_bytes: int) -> int:
    """The peak of a step in bytes, ``fixed_bytes`` for parameters, buffers and batch included; the
    state of the model is afterwards as before."""
    before = copy.deepcopy(model.state_dict())
    model.zero_grad()
    found, _ = rt.measure(step, *batch, repeats=0)
    model.load_state_dict(before)
    # The measurement of a planned step has them already.
    planned = isinstance(step, rt.Step) and bool(step.reports)
    return found if planned else found + fixed_bytes


def times(
    model: nn.Module, steps: Sequence[Step], batch: Sequence[Any], rounds: int
) -> list[tuple[float, float]]:
    """Least and median processor time in milliseconds of several steps of a model.

    Each round runs every step once, in turn, and in the other order the next time, so that they see
    the same machine.
    """
    found: list[list[float]] = [[] for _ in steps]
    for turn in range(rounds + 1):
        for place, step in list(enumerate(steps))[:: -1 if turn % 2 else 1]:
            model.zero_grad()
            start = time.process_time_ns()
            step(*batch).backward()
            spent = time.process_time_ns() - start
            # The first round warms up.
            if turn:
                found[place].append(spent / 1e6)
    return [(min(each), statistics.median(each)) for each in found]


def least_budget(instance: remat_bb.Instance, known: int) -> int:
    """A budget near the least for which the solver finds a plan in :data:`PROBE_SECONDS`.

    Args:
        instance: The training step.
        known: A budget for which there is a plan.
    """
    low, high = instance.fixed_bytes, known
    for _ in range(PROBES):
        middle = (low + high) // 2
        try:
            options: dict[str, Any] = {"time_limit": PROBE_SECONDS}
            plan = remat_bb.solve(instance, middle, formulation="checkmate", **options)
            high = min(high, plan.peak_memory_bytes)
        except (remat_bb.InfeasibleBudget, remat_bb.LimitReached) as error:
            needed = getattr(error, "needed_bytes", None)
            low = max(low, middle, (needed or 0) - 1)
        if low >= high:
            break
    return high


def header() -> str:
    """Machine, commit and versions, as comment lines of a CSV file."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    ).stdout.strip()
    names = [line for line in open("/proc/cpuinfo") if line.startswith("model name")]
    machine = names[0].partition(":")[2].strip() if names else platform.machine()
    return (
        f"# machine: {machine}, {len(names)} virtual cores, 1 thread used\n"
        f"# commit: {commit}; torch {torch.__version__}; Python {platform.python_version()}\n"
    )
