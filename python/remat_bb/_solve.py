"""Functions of the package: solving, improving, comparing and verifying plans."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from . import _native
from ._native import Baseline, Frontier, Instance, MaxBatch, Plan, Verified
from ._progress import Callback, shown

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._types import (
        BaselinesOptions,
        Budget,
        FrontierOptions,
        InstanceSource,
        LimitOptions,
        MaxBatchOptions,
        PlanSource,
        SolveOptions,
    )


def _subject(source: InstanceSource, formulation: str | None) -> Instance:
    """The instance; warns if the program that suits it ignores choices of the instance."""
    instance = Instance(source)
    if formulation is None and instance.has_implementations and instance.formulation == "checkmate":
        warnings.warn(
            f"{instance.name!r} offers implementations, masks or in-place operators, but has no "
            "loss, which the formulation that uses them (monet) needs: checkmate is solved with "
            "the first implementation of every operator",
            stacklevel=3,
        )
    return instance


def solve(
    instance: InstanceSource,
    budget: Budget,
    *,
    starts: Iterable[Plan] = (),
    on_progress: Callback | None = None,
    progress: bool = False,
    **options: Unpack[SolveOptions],
) -> Plan:
    """Finds a cheap plan within a memory budget, and a lower bound on the cost of all plans.

    The search releases the interpreter's lock. The same instance, budget, seed and arguments give
    the same plan on any number of threads. With a time limit the plan depends on the machine's
    speed as well.

    Ctrl-C (``KeyboardInterrupt``) ends the search soon and returns the best plan so far. Then
    ``plan.interrupted`` is true, and the status is ``"interrupted"`` unless the plan is proven
    optimal. Without a plan, or after a second Ctrl-C, ``KeyboardInterrupt`` is raised. This holds
    in the main thread, where Python handles signals.

    Args:
        instance: An :class:`Instance`, or anything that makes one.
        budget: Memory of the whole step with fixed memory (parameters, input, parameter gradients):
            bytes, an amount such as ``"6GiB"``, or a share of the peak without recomputation such
            as ``"60%"``. ``"least"`` searches the least budget with a plan first.
        starts: Plans to start from. With ``offload`` they may copy as well, and their link may
            differ.
        on_progress: Called with a :class:`Progress` about ten times a second, in the calling
            thread, and once for the returned plan. Its exceptions end the search and are raised
            here.
        progress: True for a bar (``tqdm``, if installed) or lines on standard error.
        options: :class:`SolveOptions`: ``time_limit``, ``threads``, ``seed``, ``gap``, ``effort``,
            ``lanes``, ``formulation``, ``plan_class``, ``offload`` and the options of the link,
            ``reorder``, ``addresses``, ``alignment``. With ``offload`` the cost of the plan is its
            makespan. ``plan_class`` excludes ``offload`` and ``reorder``.

    Returns:
        The plan, replayed, with cost, peak, status, bound and gap.

    Raises:
        InfeasibleBudget: no stage schedule in the order of the instance fits (proven).
        LimitReached: no plan was found within the limits.
        InvalidInstance, InvalidBudget, InvalidPlan, InvalidArgument, FileError: for arguments.
        KeyboardInterrupt: see above.
    """
    subject = _subject(instance, options.get("formulation"))
    with shown(subject, on_progress, progress, options.get("time_limit")) as callback:
        return _native.solve(subject, budget, starts=starts, on_progress=callback, **options)


def improve(
    instance: InstanceSource,
    plan: PlanSource,
    *,
    budget: Budget | None = None,
    **options: Unpack[LimitOptions],
) -> Plan:
    """Puts the steps of a plan in a better order, and keeps tensors that then fit instead of
    recomputing them. The returned plan is never worse.

    Args:
        instance: An :class:`Instance`, or anything that makes one.
        plan: A :class:`Plan`, or a plan or schedule as a path or dictionary.
        budget: Memory that the plan may use; by default the budget recorded in the plan. Without a
            budget the search minimises the peak first, then the cost.
        options: :class:`LimitOptions`: ``time_limit``, ``threads``, ``seed``.

    Raises:
        InvalidInstance, InvalidPlan, InvalidBudget, InvalidArgument, FileError: for arguments.
        PlanRefuted: the plan cannot be executed.
    """
    return _native.improve(instance, plan, budget=budget, **options)


def frontier(
    instance: InstanceSource,
    budgets: str | Iterable[Budget],
    *,
    on_progress: Callback | None = None,
    progress: bool = False,
    **options: Unpack[FrontierOptions],
) -> Frontier:
    """Solves a series of budgets: cost against memory, with lower bounds.

    Budgets share results: a plan for less memory fits into more, and a bound for more memory holds
    for less. In the result costs and bounds never rise with the budget.

    Args:
        budgets: Budgets as for :func:`solve`, or text: ``"FROM..TO:COUNT"`` such as
            ``"40%..100%:20"``, or a list such as ``"5GiB,6GiB"``.
        on_progress: As for :func:`solve`; ``done`` and ``total`` count budgets.
        options: :class:`FrontierOptions`, as for :func:`solve`; ``time_limit`` is for each budget.
            With ``offload`` costs are makespans of plans that may copy to the host.

    The other arguments, sources of an instance and errors are the same as for :func:`solve`. But a
    budget that is infeasible or remains without a plan becomes a point without a plan. Ctrl-C
    returns the budgets solved so far, with ``interrupted`` true; ``KeyboardInterrupt`` is raised if
    no budget has a plan.

    Returns:
        The points in ascending order of budgets, each budget once.
    """
    subject = _subject(instance, options.get("formulation"))
    with shown(subject, on_progress, progress) as callback:
        return _native.frontier(subject, budgets, on_progress=callback, **options)


def baselines(
    instance: InstanceSource,
    budget: Budget,
    **options: Unpack[BaselinesOptions],
) -> list[Baseline]:
    """Runs the known strategies (Chen's, REVOLVE, PyTorch's, DTR, ...) at a budget.

    With ``offload``, graphs that are chains of blocks get further strategies that copy to the host:
    ``pofo`` (Beaumont et al., NeurIPS 2021), ``offload-only``, ``opportunist``, ``autocapper``,
    ``greedy`` and ``layer-fractions`` (torchtitan's planner). Each becomes a plan with every copy
    made at once.

    The arguments and errors are the same as for :func:`solve`, whose search is not among the
    strategies. Ctrl-C is raised after the strategies end.

    Returns:
        One entry for each strategy: first plans that fit, by cost; then plans that do not, by peak;
            then strategies without a plan.
    """
    return _native.baselines(instance, budget, **options)


def max_batch(
    model: str | Callable[[int], Any],
    budget: Budget,
    *,
    overhead: float = 1.0,
    start: int = 32,
    most: int = 65536,
    **options: Unpack[MaxBatchOptions],
) -> MaxBatch:
    """Searches for the largest batch size that can be trained within a budget.

    The question is Checkmate's (Jain et al., MLSys 2020, section 5.3, equations 7 and 8).

    Args:
        model: A model of the zoo such as ``"zoo:unet"`` (solved with the first implementation of
            every operator), or a function from a batch size to an instance or a source of one.
        budget: Bytes or an amount. Shares are refused because they depend on the batch.
        overhead: Allowed cost of recomputation in forward passes: the step may cost each operator
            once and this number of further forward passes.
        start: First batch size of the search.
        most: Largest batch size of the search.
        options: :class:`MaxBatchOptions`, as for :func:`solve`. ``time_limit`` is for each batch
            size, 30 seconds by default. A batch that is undecided after that counts as too large,
            but not as proven. With ``offload`` plans may copy to the host, and waiting for copies
            counts as cost.

    The search assumes that a smaller batch can be trained if a larger one can. Errors are the same
    as for :func:`solve`; Ctrl-C raises ``KeyboardInterrupt``.
    """
    options.setdefault("time_limit", 30.0)
    return _native.max_batch(model, budget, overhead=overhead, start=start, most=most, **options)


def verify(instance: InstanceSource, plan: PlanSource, *, budget: Budget | None = None) -> Verified:
    """Replays a plan or schedule step by step, and checks its recorded figures.

    Args:
        instance: The instance, as for :func:`solve`.
        plan: A :class:`Plan`, a path to a ``remat-plan/1`` or ``remat-schedule/1`` file, or a
            dictionary of either.
        budget: The budget to be kept; by default the budget recorded in the plan.

    Returns:
        The figures of the replay, if they confirm all recorded figures.

    Raises:
        PlanRefuted: it cannot be executed, its cost or memory differs from the recorded figures, or
            it exceeds the budget.
        InvalidPlan: it cannot be read, or belongs to another instance.
    """
    return _native.verify(instance, plan, budget=budget)


def explain(plan: Plan, *, all: bool = False) -> str:
    """Describes a plan as text: dropped and recomputed tensors, their readers, and whether the
    budget forced the recomputation.

    Args:
        all: True to list all recomputed tensors, False for the twelve most expensive.
    """
    return plan.explain(all=all)
