"""The functions of the package."""

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
    """The instance, with a warning where the program that suits it leaves out what it offers."""
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
    """Finds a plan within a memory budget, as cheap as it can, and a lower bound on such costs.

    The search releases the interpreter's lock. Same instance, budget, seed and arguments, same
    plan, on any number of threads; with a time limit that depends on the machine's speed as well.

    Ctrl-C (``KeyboardInterrupt``) ends the search soon: the best plan so far is returned, with
    ``plan.interrupted`` true and, unless it is already proven best, the status ``"interrupted"``.
    Where there is no plan yet, or Ctrl-C comes twice, ``KeyboardInterrupt`` is raised. This is so
    in the main thread, where Python handles signals.

    Args:
        instance: An :class:`Instance`, or anything that makes one.
        budget: Memory of the whole step, fixed memory (parameters, input, parameter gradients)
            included: bytes, an amount such as ``"6GiB"``, or a share of the peak without
            recomputation such as ``"60%"``.
        starts: Plans to start from. With ``offload`` they may copy as well, over whatever link they
            were made for.
        on_progress: Called with a :class:`Progress` about ten times a second, in the calling
            thread, and once with the plan that is returned. An exception of it ends the search and
            is raised here.
        progress: True for a bar (``tqdm``, if installed) or lines on standard error.
        options: :class:`SolveOptions`: ``time_limit``, ``threads``, ``seed``, ``gap``, ``effort``,
            ``lanes``, ``formulation``, ``offload`` and the options of the link, ``reorder``,
            ``addresses``, ``alignment``. With ``offload`` the cost of the plan is its makespan; it
            does not go together with ``reorder``.

    Returns:
        The plan, replayed, with cost, peak, status, bound and gap.

    Raises:
        InfeasibleBudget: it is proven that no stage schedule in the order of the instance fits.
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
    """Puts the steps of a plan in a better order, and leaves out recomputations that it then has
    room for. The plan that is returned is never worse.

    Args:
        instance: An :class:`Instance`, or anything that makes one.
        plan: A :class:`Plan`, the path of a plan or schedule, or a dictionary of one.
        budget: Memory that the plan may use; by default the budget that the plan records. Without
            any the peak comes first, then the cost.
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
    """Solves one budget after another: cost against memory, with lower bounds.

    Budgets help each other: a plan for less memory fits into more, a bound for more memory holds
    for less. In the result neither costs nor bounds rise with the budget.

    Args:
        budgets: Budgets as for :func:`solve`, or text: ``"FROM..TO:COUNT"`` such as
            ``"40%..100%:20"``, or a list such as ``"5GiB,6GiB"``.
        on_progress: As for :func:`solve`; ``done`` and ``total`` count budgets.
        options: :class:`FrontierOptions`, as for :func:`solve`; ``time_limit`` is for each budget.
            With ``offload`` costs are makespans of plans that may copy to the host.

    The other arguments, the ways to give an instance, and errors are those of :func:`solve`, but a
    budget that nothing fits, or for which nothing was found, is a point without a plan. Ctrl-C ends
    with the budgets done so far and ``interrupted`` true; ``KeyboardInterrupt`` is raised where
    none has a plan.

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

    With ``offload`` those that copy to the host come beside them, where the graph is a chain of
    blocks: ``pofo`` (Beaumont et al., NeurIPS 2021), ``offload-only``, ``opportunist``,
    ``autocapper``, ``greedy`` and ``layer-fractions`` (torchtitan's planner), each as a plan with
    every copy made at once.

    The search of :func:`solve`, whose arguments and errors these are, is not among them. Ctrl-C is
    raised once the strategies are done.

    Returns:
        One entry for each strategy: those that fit by cost, then those that do not by peak, then
        those without a plan.
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
    """Searches for the largest batch that can be trained within a budget.

    The question is Checkmate's (Jain et al., MLSys 2020, section 5.3, equations 7 and 8).

    Args:
        model: A model of the zoo such as ``"zoo:unet"`` (solved with the first implementation of
            every operator), or a function from a batch size to an instance or what makes one.
        budget: Bytes or an amount; no share, as that depends on the batch.
        overhead: What recomputation may cost, in forward passes: the step may cost each operator
            once and so many further forward passes.
        start: Batch size with which the search begins.
        most: Largest batch size to be considered.
        options: :class:`MaxBatchOptions`, as for :func:`solve`. ``time_limit`` is for each batch
            size, 30 seconds by default; one that is undecided then counts as too large, but not as
            proven. With ``offload`` plans may copy to the host, and waiting for copies costs as
            recomputation does.

    That what can be trained with a larger batch can be trained with a smaller one is taken for
    granted. Errors are those of :func:`solve`; Ctrl-C raises
    ``KeyboardInterrupt``.
    """
    options.setdefault("time_limit", 30.0)
    return _native.max_batch(model, budget, overhead=overhead, start=start, most=most, **options)


def verify(instance: InstanceSource, plan: PlanSource, *, budget: Budget | None = None) -> Verified:
    """Replays a plan or schedule step by step, and checks what it claims.

    Args:
        instance: The instance, as for :func:`solve`.
        plan: A :class:`Plan`, a path to a ``remat-plan/1`` or ``remat-schedule/1`` file, or a
            dictionary of either.
        budget: The budget to be kept; that which the plan records by default.

    Returns:
        The findings of the replay, where they confirm all claims.

    Raises:
        PlanRefuted: it cannot be executed, costs or needs something else than it records, or
            exceeds the budget.
        InvalidPlan: it cannot be read, or is of another instance.
    """
    return _native.verify(instance, plan, budget=budget)


def explain(plan: Plan, *, all: bool = False) -> str:
    """Tells a plan in words: what is dropped and computed again, for what, and whether the budget
    forced it.

    Args:
        all: True to tell of all tensors that are computed again; else of the dearest twelve.
    """
    return plan.explain(all=all)
