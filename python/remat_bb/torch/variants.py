"""Choice of a compiled graph at run time, with the plan for the present gradients."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .. import _native
from ..errors import InfeasibleBudget, LimitReached
from .accumulate import note_pending, present_bytes
from .bounded import Bounds
from .planner import Planner
from .report import Report


@dataclass(frozen=True)
class Variant:
    """A compiled graph.

    Attributes:
        run: The graph.
        report: The report of its plan; ``None`` if no tensor needs gradients.
        changed: Numbers of the inputs that it changes; ``None`` if unknown.
        bounds: Bounds of its symbolic sizes; ``None`` if all are fixed.
    """

    run: Callable[..., Any]
    report: Report | None
    changed: set[int] | None
    bounds: Bounds | None = None


class Variants:
    """A compiled graph of Dynamo. It is compiled again for steps that add to gradients of earlier
    ones, if the plan without these would then exceed the budget.

    Args:
        compiled: Compiles the graph for some inputs.
        inputs: The inputs at compile time.
        planner: Makes its plans.
        strict: True raises an error if such steps cannot keep the budget.
    """

    def __init__(
        self,
        compiled: Callable[[Sequence[Any]], Variant],
        inputs: Sequence[Any],
        planner: Planner,
        strict: bool,
    ) -> None:
        self._compiled = compiled
        self._planner = planner
        self._strict = strict
        self._first = compiled(inputs)
        self._adding: Variant | None = None

    def __call__(self, *inputs: Any) -> Any:
        variant = self._of(inputs)
        if self._planner.kept is not None:
            self._planner.kept.note(inputs, variant.changed)
        if variant.bounds is not None and variant.report is not None:
            variant.report.smaller_bytes = variant.bounds.smaller_bytes(inputs)
        outputs = variant.run(*inputs)
        self._planner.ran = variant.report
        if variant.report is not None:
            note_pending(outputs)
        return outputs

    def _of(self, inputs: Sequence[Any]) -> Variant:
        if self._adding is None:
            report = self._first.report
            wanted = report is not None and self._planner.wants_another(report)
            if not wanted or not present_bytes(inputs):
                return self._first
            self._adding = self._planned_anew(inputs)
        return self._adding if present_bytes(inputs) else self._first

    def _planned_anew(self, inputs: Sequence[Any]) -> Variant:
        try:
            return self._compiled(inputs)
        except (InfeasibleBudget, LimitReached) as error:
            if self._strict:
                raise
            report = self._first.report
            assert report is not None
            size = _native.format_bytes
            warnings.warn(
                f"gradients of earlier backward passes are there, and the step needs "
                f"{size(report.accumulating_bytes)} with them, above the budget of "
                f"{size(report.budget_bytes)}, which no plan keeps: {error}",
                stacklevel=2,
            )
            return self._first
