"""Results of an estimate: the peak of a step, its parts, and the answer to a budget."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import torch

from .. import _native
from ..errors import InvalidBudget
from .amounts import amount
from .timeline import BACKWARD, BEFORE, FIRST, FORWARD, OPTIMIZER, Life, Timeline

PARTS = (
    "parameters",
    "buffers",
    "inputs",
    "gradients",
    "optimizer states",
    "activations",
    "temporaries",
    "workspaces",
)
"""Entries of a breakdown in their order in tables."""
ROWS = 12
"""Modules that a table lists at most."""


class Estimate:
    """The memory of an eager training step.

    Attributes:
        device: The device of the step.
        peak_bytes: Peak of all steps of a training run, in bytes.
        peaks: Peak of each phase of a later step: ``forward``, ``backward`` and ``optimizer``, with
            states of the optimizer; ``first optimizer step``, which allocates these states.
        phase: The phase with the peak.
        operator: The operator that makes the storage with which the peak is reached.
        module: Full name of the module that runs this operator, or in the backward pass whose
            gradient it computes; empty outside of modules.
        breakdown: Bytes at the peak by kind, one of :data:`PARTS` each; their sum is the peak.
        activations: Bytes of activations at the peak by module. A module of a list stands for all
            modules in it (``layers.0``).
        before_bytes: Memory held before the step, in bytes, without states of the optimizer.
        states_bytes: Bytes of the states of the optimizer.
    """

    def __init__(self, line: Timeline, device: torch.device) -> None:
        self.device = device
        found = line.peaks()
        fresh = [
            life
            for life, size in line.events
            if size >= 0 and life.phase == FIRST and life.kind == "optimizer states"
        ]
        held = [life for life, size in line.events if size >= 0 and life.phase == BEFORE]
        added = sum(life.size for life in fresh)
        self.states_bytes = added + sum(x.size for x in held if x.kind == "optimizer states")
        self.before_bytes = found[BEFORE].bytes - (self.states_bytes - added)
        self.peaks = {
            phase: found[phase].bytes + (added if phase in (FORWARD, BACKWARD) else 0)
            for phase in (FORWARD, BACKWARD, FIRST, OPTIMIZER)
            if phase in found
        }
        self.phase = max(self.peaks, key=lambda phase: self.peaks[phase])
        self.peak_bytes = self.peaks[self.phase]
        time = found[self.phase].time
        live = line.live(time)
        if self.phase in (FORWARD, BACKWARD):
            live += fresh
        at = line.events[time][0] if time >= 0 else None
        self.operator = at.operator if at is not None else ""
        self.module = at.module if at is not None else ""
        self.breakdown = {
            part: sum(life.size for life in live if life.kind == part) for part in PARTS
        }
        self.activations = _by_module([x for x in live if x.kind == "activations"])

    def fits(self, budget: int | str | torch.device) -> Fit:
        """The answer if the step fits into an amount of memory.

        Args:
            budget: Bytes, an amount such as ``"24GiB"``, or a GPU of this machine, whose total
                memory counts (``"cuda"``).

        Raises:
            InvalidBudget: the budget cannot be read.
        """
        return Fit(self, bytes_of(budget))

    def to_dict(self) -> dict[str, Any]:
        """All figures as values of JSON."""
        return {
            "device": str(self.device),
            "peak_memory_bytes": self.peak_bytes,
            "phase": self.phase,
            "operator": self.operator,
            "module": self.module,
            "peaks": dict(self.peaks),
            "breakdown": dict(self.breakdown),
            "activations": dict(self.activations),
            "before_bytes": self.before_bytes,
            "states_bytes": self.states_bytes,
        }

    def to_json(self) -> str:
        """The figures of :meth:`to_dict` as JSON text."""
        return json.dumps(self.to_dict())

    def __repr__(self) -> str:
        return f"Estimate({_native.format_bytes(self.peak_bytes)} in {self.phase})"

    def __str__(self) -> str:
        size = _native.format_bytes
        where = f" of {self.module}" if self.module else ""
        at = f", at {self.operator}{where}" if self.operator else ""
        lines = [f"peak {size(self.peak_bytes)} in the phase {self.phase!r}{at}"]
        rows = [(part, value) for part, value in self.breakdown.items() if value]
        most = sorted(self.activations.items(), key=lambda row: -row[1])
        shown: list[tuple[str, int]] = []
        for part, value in rows:
            shown.append((part, value))
            if part == "activations":
                shown += [(f"  {name or 'outside of modules'}", n) for name, n in most[:ROWS]]
                rest = sum(n for _, n in most[ROWS:])
                if rest:
                    shown.append((f"  {len(most) - ROWS} other modules", rest))
        width = max(len(name) for name, _ in shown) if shown else 0
        for name, value in shown:
            lines.append(f"  {name:<{width}}  {size(value):>10}  {value / self.peak_bytes:6.1%}")
        phases = ", ".join(f"{phase} {size(value)}" for phase, value in self.peaks.items())
        lines.append(f"peaks by phase: {phases}")
        if self.device.type != "cpu":
            lines.append("memory inside of kernels is not counted")
        return "\n".join(lines)


@dataclass(frozen=True)
class Fit:
    """The answer if a step fits; true if it does.

    Attributes:
        estimate: The estimate of the step.
        budget_bytes: The memory it is to fit into.
    """

    estimate: Estimate
    budget_bytes: int

    def __bool__(self) -> bool:
        return self.spare_bytes >= 0

    @property
    def spare_bytes(self) -> int:
        """Bytes of the budget beside the peak; negative if the step exceeds it."""
        return self.budget_bytes - self.estimate.peak_bytes

    def __str__(self) -> str:
        size = _native.format_bytes
        found, budget = self.estimate, size(self.budget_bytes)
        if self:
            return f"fits: {size(found.peak_bytes)} of {budget}, {size(self.spare_bytes)} are free"
        words = (
            f"does not fit: {size(found.peak_bytes)} exceed {budget} by {size(-self.spare_bytes)}"
        )
        outside = found.breakdown["activations"] + found.breakdown["temporaries"]
        fixed = found.peak_bytes - outside
        if fixed > self.budget_bytes:
            return (
                f"{words}; recomputation frees activations only, and the rest of the peak takes "
                f"{size(fixed)}"
            )
        if found.phase not in (FORWARD, BACKWARD):
            return f"{words} in the optimizer's step, in which recomputation frees no memory"
        return f"{words}; remat_bb.torch.plan finds out if recomputation makes it fit"


def bytes_of(budget: int | str | torch.device) -> int:
    """Bytes of a budget: an amount, or the total memory of a GPU.

    Raises:
        InvalidBudget: for another device, or an amount that cannot be read.
    """
    word = str(budget)
    if isinstance(budget, torch.device) or word.partition(":")[0] in ("cuda", "cpu", "meta"):
        if not word.startswith("cuda") or not torch.cuda.is_available():
            raise InvalidBudget(
                f"budget: {word!r} is no GPU of this machine", remedy='give bytes, or "24GiB"'
            )
        return int(torch.cuda.get_device_properties(budget).total_memory)
    try:
        return amount(budget)
    except InvalidBudget as error:
        raise InvalidBudget(
            f"budget: {budget!r} is no amount of memory", remedy='give bytes, "24GiB" or "cuda"'
        ) from error


GROUP = re.compile(r"^(.*?\.\d+|\d+)(?:\.|$)")


def _by_module(lives: list[Life]) -> dict[str, int]:
    found: dict[str, int] = {}
    for life in lives:
        match = GROUP.match(life.module)
        name = match[1] if match else life.module
        found[name] = found.get(name, 0) + life.size
    return found
