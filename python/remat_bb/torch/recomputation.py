"""The same step with recomputation: its joint graph, the least budget, and costs of budgets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

import torch

from .. import _native, _solve
from ..errors import InfeasibleBudget, LimitReached
from .backend import traced
from .eager import loss_of
from .planner import Planner, Settings
from .stand_ins import StandIns, swapped

SHARES = (0.9, 0.75, 0.6)
"""Shares of the peak without recomputation whose costs are shown."""


class Recomputation:
    """Plans of a step with recomputation, from its joint graph under fake tensors.

    The graph is traced when it is first needed. Costs come from a roofline and workspaces of
    operators are not counted, as with ``costs="static"``.

    Args:
        function, modules: The step and its modules.
        make: Makes stand-ins for a trace.
        inputs: Arguments and keyword arguments.
        loss: Makes the loss from the output; ``None`` for the default.
        extra_bytes: States of the optimizer.
        accumulate: True if gradients of earlier backward passes are there.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        modules: Mapping[str, torch.nn.Module],
        make: Callable[[], StandIns],
        inputs: tuple[tuple[Any, ...], Mapping[str, Any]],
        loss: Callable[[Any], torch.Tensor] | None,
        extra_bytes: int,
        accumulate: bool,
    ) -> None:
        self._function = function
        self._modules = modules
        self._make = make
        self._inputs = inputs
        self._loss = loss
        self._extra_bytes = extra_bytes
        self._accumulate = accumulate
        self._instance: _native.Instance | None = None
        self._least: _native.Plan | None = None
        self.refuted_bytes = -1
        """The largest budget in bytes that no stage schedule fits, of those asked for."""

    def instance(self) -> _native.Instance:
        """The step as an instance; its fixed memory has the states of the optimizer.

        Raises:
            RematError: the step cannot be traced into one graph.
        """
        if self._instance is None:
            self._instance = self._traced()
        return self._instance

    def least(self) -> _native.Plan:
        """The plan of least peak that a quick search finds."""
        if self._least is None:
            self._least = _solve.solve(self.instance(), "least", effort="quick")
        return self._least

    def within(self, budget: int) -> _native.Plan | None:
        """A plan within a budget in bytes; ``None`` if a quick search finds none."""
        try:
            return _solve.solve(self.instance(), budget, effort="quick")
        except InfeasibleBudget:
            self.refuted_bytes = max(self.refuted_bytes, budget)
            return None
        except LimitReached:
            least = self.least()
            return least if least.peak_memory_bytes <= budget else None

    def _traced(self) -> _native.Instance:
        args, kwargs = self._inputs
        names, count = list(kwargs), len(args)
        function, loss = self._function, self._loss
        stand_ins = self._make()

        def step(*values: Any) -> torch.Tensor:
            output = function(*values[:count], **dict(zip(names, values[count:])))
            return loss_of(output if loss is None else loss(output))

        settings = Settings(
            1, costs="static", extra_bytes=self._extra_bytes, accumulate=self._accumulate
        )
        with ExitStack() as stack:
            with stand_ins.mode:
                stack.enter_context(swapped(self._modules, stand_ins))
                values = [stand_ins.of(x, "an input") for x in (*args, *kwargs.values())]
            planner = Planner(settings, stop="instance")
            found: _native.Instance = traced(step, values, planner)
        return found
