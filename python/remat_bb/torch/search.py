"""Plans of an instance, from an earlier process, the solver, or a known strategy."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING, Any

import torch

from .. import _native
from .._solve import solve
from ..errors import LimitReached
from . import plan_cache
from .cost import Measured

if TYPE_CHECKING:
    from .planner import Settings


def searched(
    settings: Settings,
    device: torch.device | None,
    instance: _native.Instance,
    budget: int,
    share: float,
    options: dict[str, Any],
) -> _native.Plan:
    """A plan of an earlier process that was proven optimal, or a new one, which is stored.

    Args:
        device: The GPU that the step runs on; ``None`` for the processor.
        share: The share of the solver's time.
        options: Arguments of the solver.

    Raises:
        InfeasibleBudget, LimitReached: as the solver does.
    """
    if options["starts"]:
        return _solved(instance, budget, options)
    place = _entry(settings, device, instance, budget, share)
    entry = None if place is None else plan_cache.load(place, instance)
    if entry is not None and entry.plan.peak_memory_bytes > budget:
        entry = None
    if entry is not None and entry.is_answer:
        return entry.plan
    searches = 0
    if entry is not None:
        # The next search differs from earlier ones. Solves with copies take no starts.
        searches = entry.searches
        starts = [entry.plan] if settings.offload is None else []
        options = {**options, "seed": searches, "starts": starts}
    plan = _solved(instance, budget, options)
    if entry is not None and entry.plan.objective < plan.objective:
        plan = entry.plan
    if place is not None:
        plan_cache.store(place, plan, searches + 1)
    return plan


def keep(
    settings: Settings,
    device: torch.device | None,
    budget: int,
    share: float,
    plan: _native.Plan,
) -> None:
    """Stores a plan in place of the result of :func:`searched`."""
    place = _entry(settings, device, plan.instance, budget, share)
    if place is not None:
        plan_cache.store(place, plan, 2)


def _entry(
    settings: Settings,
    device: torch.device | None,
    instance: _native.Instance,
    budget: int,
    share: float,
) -> pathlib.Path | None:
    """Path of a plan in the cache; ``None`` without a cache."""
    folder = plan_cache.folder(settings.plan_cache)
    if folder is None:
        return None
    costs = settings.costs
    measured = costs == "measured" or isinstance(costs, Measured) and costs.repeats > 0
    model = costs if isinstance(costs, str) else type(costs).__name__
    effort = sorted(settings.effort(instance).items())
    words: tuple[Any, ...] = (budget, share, model, effort, plan_cache.machine(device))
    if (copying := settings.copying()) is not None:
        # The link is part of the instance.
        words += (copying.phase,)
    if settings.plan_class is not None:
        words += (settings.plan_class,)
    return folder / f"{plan_cache.key(instance, measured, *words)}.json"


def _solved(instance: _native.Instance, budget: int, options: dict[str, Any]) -> _native.Plan:
    """A plan of the solver within its limits, or else of a known strategy.

    Raises:
        LimitReached: neither finds a plan.
    """
    try:
        return solve(instance, budget, formulation="checkmate", **options)
    except LimitReached:
        names = ("threads", "offload", "offload_phase")
        given = {name: options[name] for name in names if name in options}
        known = _native.baselines(instance, budget, formulation="checkmate", **given)
        plan = next((each.plan for each in known if each.fits), None)
        if plan is None:
            raise
        return plan
