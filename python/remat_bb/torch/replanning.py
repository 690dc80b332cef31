"""Two plans at most under Inductor: the second gets the budget corrected by what the code of the
first one needs.

Only the generated code says what a plan needs, because Inductor fuses and orders kernels itself.
Its replay (:mod:`remat_bb.torch.generated`) is exact, so two compilations decide without a run.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from .. import _native
from ..errors import InfeasibleBudget, LimitReached
from . import latest
from .fusion import SLACK, FusionPlanner
from .report import Report

OVERSHOOT = 1.1
"""Factor on the bytes that the first code is above the budget, because the second plan is the
last."""


def compiled(run: Callable[[], Any], planner: FusionPlanner, strict: bool | None) -> Any:
    """Compiles a graph once or twice, and returns the better result.

    The better one keeps the budget, or is nearest to it; among those that keep it, it is the faster
    one.

    Args:
        run: Compiles the graph; the planner's latest report is then that of its plan.
        strict: True raises an error if neither keeps the budget, false warns; ``None`` does
            neither.

    Raises:
        InfeasibleBudget: the code of both plans needs more than the budget.
    """
    count = len(planner.reports)
    found = run()
    if len(planner.reports) == count:
        return found
    report = planner.reports[-1]
    allowed = _second_budget(report) if planner.replans and report.replayed else None
    if allowed is not None and not planner.settings.agree:
        other = _again(run, planner, report.budget_bytes, allowed)
        report.solves = 2
        if other is not None:
            second = planner.reports.pop()
            second.solves = 2
            worse = second
            if _worth(second) < _worth(report):
                found, worse, report = other, report, second
                planner.reports[-1] = report
            latest.drop(worse)
    if report.replayed and strict is not None and planner.replans:
        _judge(report, strict)
    return found


def _second_budget(report: Report) -> int | None:
    """The budget for the second plan; ``None`` if the first one will do."""
    unused = report.budget_bytes - report.predicted_bytes
    if unused < 0:
        # The next plan must need less than this one.
        return report.plan.peak_memory_bytes + round(OVERSHOOT * unused)
    if report.plan.recomputed and unused > SLACK * report.budget_bytes:
        return report.budget_bytes + unused
    return None


def _again(run: Callable[[], Any], planner: FusionPlanner, budget: int, allowed: int) -> Any:
    """The result for another plan; ``None`` if there is none."""
    planner.corrected = budget, allowed
    try:
        return run()
    except (InfeasibleBudget, LimitReached):
        return None
    finally:
        planner.corrected = None


def _worth(report: Report) -> tuple[int, float]:
    return max(0, report.predicted_bytes - report.budget_bytes), report.overhead


def _judge(report: Report, strict: bool) -> None:
    """Warns of code that exceeds the budget, or raises an error."""
    if report.predicted_bytes <= report.budget_bytes:
        return
    size = _native.format_bytes
    plans = "both plans" if report.solves == 2 else "the plan"
    words = (
        f"the code that Inductor makes of {plans} needs {size(report.predicted_bytes)} at "
        f"{report.predicted_at}, above the budget of {size(report.budget_bytes)}"
    )
    remedy = f"give {report.predicted_bytes} bytes, or call compile_with_budget, which tries more"
    if strict:
        raise InfeasibleBudget(
            words,
            remedy=remedy,
            budget_bytes=report.budget_bytes,
            needed_bytes=report.predicted_bytes,
            node=report.predicted_at,
        )
    warnings.warn(f"{words}: {remedy}", stacklevel=2)
