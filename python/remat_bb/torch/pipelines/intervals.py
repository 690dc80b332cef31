"""Inner problems: the plan of each interval of pieces on each stage.

Intervals with equal graphs share their trace and their plans. Bounds of intervals that no solver
has seen come from their pieces and from shorter intervals.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from ...errors import InfeasibleBudget, LimitReached, RematError
from .._compat import fx
from ..accumulate import Given
from ..partition import Joint
from ..planner import Planned, Planner, Settings
from ..stage_schedule import StageBytes, StageSchedule
from .path import Path
from .pieces import Pieces, signature
from .stage import Loss, joint_of

UNPROVEN = "every plan found"
"""Begin of the message of a budget that is too small for the graphs of all plans found."""


@dataclass(frozen=True)
class Solved:
    """The plan of an interval on a stage.

    Attributes:
        time: Forward pass, backward pass and recomputation of one micro-batch, in nanoseconds;
            ``None`` if the solver found no plan.
        bound: A lower bound of the time; ``None`` if no plan fits.
        plan: The plan as a document.
        sizes: Memory of the stage.
        base: Time without recomputation.
        recomputed: Number of operators that run again.
        needed: Memory of a plan that is known to fit, where the budget is too small.
    """

    time: int | None
    bound: int | None
    plan: dict[str, Any] | None = None
    sizes: StageBytes = StageBytes()
    base: int = 0
    recomputed: int = 0
    needed: int | None = None


@dataclass(frozen=True)
class Trace:
    """The joint graph of an interval; without one, no part of it needs gradients."""

    joint: Joint | None
    given: Given | None
    base: int


def _without_data(value: torch.Tensor) -> torch.Tensor:
    return torch.empty(value.shape, dtype=value.dtype, device="meta")


class Intervals:
    """Plans of intervals, made when asked for.

    Args:
        pieces: The model.
        example: Inputs of one micro-batch.
        target: Its target.
        loss: The loss of output and target.
        places: Each stage in the schedule.
        settings: Settings of the plans; budget and place are set for each stage.
    """

    def __init__(
        self,
        pieces: Pieces,
        example: Sequence[torch.Tensor],
        target: torch.Tensor,
        loss: Loss,
        places: Sequence[StageSchedule],
        settings: Any,
    ) -> None:
        self.pieces, self.example, self.target, self.loss = pieces, tuple(example), target, loss
        self.places, self.settings = places, settings
        self.budgets: list[int] = [1 << 62] * len(places)
        self._graphs: dict[tuple[int, int], fx.GraphModule] = {}
        self._signatures: dict[tuple[int, int], str] = {}
        self._traces: dict[str, Trace] = {}
        self._solved: dict[tuple[Any, ...], Solved] = {}
        self.known: dict[tuple[int, int, int], Solved] = {}
        # By stage: intervals that need extra time, or do not fit.
        self._limits: dict[int, list[tuple[int, int, int | None]]] = {}
        self._bases: dict[tuple[int, int], int] = {}
        self._only: set[tuple[int, int, int]] | None = None

    def restrict(self, cuts: tuple[int, ...]) -> None:
        """Leaves one cut, by its positions."""
        self._only = set(Path(cuts, 0.0).intervals())

    def loss_of(self, end: int) -> Loss | None:
        """The loss of an interval that ends with the model."""
        return self.loss if end == len(self.pieces) else None

    def graph(self, begin: int, end: int) -> fx.GraphModule:
        """The interval as a module."""
        if (begin, end) not in self._graphs:
            self._graphs[begin, end] = self.pieces.interval(begin, end)
        return self._graphs[begin, end]

    def inputs(self, begin: int, end: int) -> tuple[torch.Tensor, ...]:
        """Tensors like the inputs of an interval."""
        if begin == 0:
            found = self.example
        else:
            values = (n.meta["val"] for n in self.pieces.crossing(self.pieces.starts[begin]))
            found = tuple(
                torch.zeros(v.shape, dtype=v.dtype, device=v.device, requires_grad=True)
                for v in values
            )
        return found if self.loss_of(end) is None else (*found, self.target)

    def outputs(self, begin: int, end: int) -> list[torch.Tensor]:
        """Outputs of an interval without data; the loss counts as the output of the last one."""
        if end == len(self.pieces):
            made = [_without_data(node.meta["val"]) for node in self.pieces.outputs()]
            model_output = made[0] if len(made) == 1 else tuple(made)
            loss = self.loss(model_output, _without_data(self.target))
            return [_without_data(loss).requires_grad_()]
        values = (n.meta["val"] for n in self.pieces.crossing(self.pieces.starts[end]))
        return [_without_data(value).requires_grad_() for value in values]

    def received(self, begin: int, end: int) -> list[torch.Tensor]:
        """Inputs of an interval without data and without the target."""
        inputs = self.inputs(begin, end)
        inputs = inputs if self.loss_of(end) is None else inputs[:-1]
        return [_without_data(x).requires_grad_(x.requires_grad) for x in inputs]

    def _signature(self, begin: int, end: int) -> str:
        if (begin, end) not in self._signatures:
            graph = self.graph(begin, end)
            ends = f"{begin == 0} {end == len(self.pieces)}\n"
            self._signatures[begin, end] = ends + signature(graph.graph, graph)
        return self._signatures[begin, end]

    def trace(self, begin: int, end: int) -> Trace:
        """The joint graph of an interval, and its time without recomputation."""
        key = self._signature(begin, end)
        if key not in self._traces:
            try:
                joint, given = joint_of(
                    self.graph(begin, end), self.loss_of(end), self.inputs(begin, end)
                )
            except RematError as error:
                if "needs gradients" not in str(error):
                    raise
                self._traces[key] = Trace(None, None, 0)
            else:
                costs = self.settings.cost_model()
                costs.settle(joint.calls)
                base = sum(costs.nanoseconds(call) for call in joint.calls)
                self._traces[key] = Trace(joint, given, base)
        return self._traces[key]

    def base(self, begin: int, end: int) -> int:
        """Time of an interval without recomputation: the sum of its pieces' times, because joint
        graphs of consecutive pieces compose."""
        if (begin, end) not in self._bases:
            pieces = range(begin, end)
            self._bases[begin, end] = sum(self.trace(k, k + 1).base for k in pieces)
        return self._bases[begin, end]

    def plain_peak(self, stage: int, begin: int, end: int) -> int:
        """Peak of a stage without recomputation in bytes."""
        trace = self.trace(begin, end)
        if trace.joint is None:
            return 0
        planner = self._planner(stage, trace, 1 << 62, stop="instance")
        try:
            planner.planned(trace.joint)
        except Planned as planned:
            return int(planned.outcome.peak_memory_bytes)
        raise AssertionError("a planner that stops at the instance has ended")

    def _planner(self, stage: int, trace: Trace, budget: int, stop: str | None = None) -> Planner:
        assert trace.joint is not None
        # An earlier plan of the same graph may have added gradients in place.
        trace.joint.in_place = False
        trace.joint.accumulate(frozenset())
        planner = Planner(self.of_stage(stage, budget), stop)
        planner.given = trace.given
        return planner

    def of_stage(self, stage: int, budget: int) -> Settings:
        """Settings of the plan of a stage."""
        return replace(self.settings, budget=budget, in_flight=self.places[stage])

    def solve(self, stage: int, begin: int, end: int) -> Solved:
        """The plan of an interval on a stage."""
        budget, place = self.budgets[stage], self.places[stage]
        # Under GPipe all stages but the first and the last hold equally much.
        kind = stage if place.schedule != "gpipe" else (stage == 0, place.is_last)
        key = (self._signature(begin, end), kind, budget)
        if key not in self._solved:
            self._solved[key] = self._plan(stage, begin, end, budget)
        self.known[stage, begin, end] = found = self._solved[key]
        more = None if found.bound is None else found.bound - found.base if found.plan else 0
        if more != 0:
            self._limits.setdefault(stage, []).append((begin, end, more))
        return found

    def _plan(self, stage: int, begin: int, end: int, budget: int) -> Solved:
        trace = self.trace(begin, end)
        if trace.joint is None:
            return Solved(None, None)
        planner = self._planner(stage, trace, budget)
        planner.holds_loss = self.loss_of(end) is not None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                report, _ = planner.planned(trace.joint)
        except InfeasibleBudget as error:
            # A budget that was lowered because graphs need more than their plan proves nothing.
            proven = error.budget_bytes >= budget and not error.message.startswith(UNPROVEN)
            needed = error.known_bytes or error.needed_bytes
            return Solved(None, None if proven else trace.base, needed=needed)
        except LimitReached:
            return Solved(None, trace.base)
        plan = report.plan
        if plan.status == "optimal" or not plan.recomputed:
            bound = min(plan.objective, plan.bound if plan.recomputed and plan.bound else math.inf)
        else:
            bound = trace.base if plan.bound is None else plan.bound
        return Solved(
            plan.objective,
            int(max(bound, plan.base_cost)),
            plan.to_dict(),
            report.stage or StageBytes(),
            plan.base_cost,
            len(plan.recomputed),
        )

    def lower(self, stage: int, begin: int, end: int) -> int | None:
        """A lower bound of the time of an interval on a stage; ``None`` if it cannot fit.

        A plan of an interval contains plans of its parts that receive and send tensors of equal
        sizes. These have at least as much memory, so the interval takes at least the extra time of
        each part.
        """
        if self._only is not None and (stage, begin, end) not in self._only:
            return None
        found = self.known.get((stage, begin, end))
        if found is not None:
            return found.bound
        extra = 0
        for low, high, more in self._limits.get(stage, ()):
            if begin <= low and high <= end and self._is_like((low, high), (begin, end)):
                if more is None:
                    return None
                extra = max(extra, more)
        return self.base(begin, end) + extra

    def _is_like(self, inner: tuple[int, int], outer: tuple[int, int]) -> bool:
        """Returns true if tensors of equal sizes cross the ends of two intervals."""
        for mine, theirs in zip(inner, outer, strict=True):
            if mine != theirs:
                total = len(self.pieces)
                if min(mine, theirs) == 0 or max(mine, theirs) == total:
                    return False
                if self._shapes(mine) != self._shapes(theirs):
                    return False
        return True

    def _shapes(self, position: int) -> list[Any]:
        values = self.pieces.crossing(self.pieces.starts[position])
        return [(n.meta["val"].shape, n.meta["val"].dtype) for n in values]
