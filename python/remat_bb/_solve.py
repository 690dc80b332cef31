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
        Budget,
        Duration,
        InstanceSource,
        LinkOptions,
        PlanSource,
        SolveLinkOptions,
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
    time_limit: Duration | None = None,
    effort: str = "full",
    formulation: str | None = None,
    threads: int | None = None,
    seed: int = 0,
    gap: float | str | None = None,
    starts: Iterable[Plan] = (),
    reorder: bool = False,
    on_progress: Callback | None = None,
    progress: bool = False,
    addresses: bool = False,
    alignment: int | None = None,
    **link: Unpack[SolveLinkOptions],
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
        time_limit: Seconds, a time such as ``"10m"``, or a ``timedelta``, after which the search
            ends with the best plan so far. Without it the work is fixed.
        effort: Work where there is no time limit: ``"full"`` takes minutes, ``"quick"`` seconds for
            graphs of some hundred nodes. It ends with the root of the tree, whose bound may leave a
            gap.
        formulation: ``"checkmate"`` (one implementation of each operator; Jain et al., MLSys 2020)
            or ``"monet"`` (implementations, masks and in-place operators are chosen too; Shah et
            al., ICLR 2021). By default ``"monet"`` where the instance offers such choices and has a
            loss.
        threads: Worker threads; one per core by default. Changes the time, not the plan.
        seed: Seed of all random choices.
        gap: Relative gap ``(objective - bound) / objective`` at which a plan counts as optimal and
            the search ends: a fraction or text such as ``"1%"``. 0.0001 by default; with a time
            limit the search then goes on for a while.
        starts: Plans to start from.
        reorder: True chooses the order of first computations, too, where the graph leaves a choice;
            ``bound_scope`` tells what the bound is over. Without a time limit the work is up to
            three times that of a solve, beside the search of orders.
        on_progress: Called with a :class:`Progress` about ten times a second, in the calling
            thread, and once with the plan that is returned. What it raises ends the search and is
            raised here.
        progress: True for a bar (``tqdm``, if installed) or lines on standard error.
        addresses: True to give everything that the plan takes an offset in one arena
            (``plan.addresses``, ``plan.arena_bytes``), as :meth:`Plan.place` does; the last tenth
            of the time limit is for that.
        alignment: Number of bytes that offsets are multiples of, a power of two; by default as the
            sizes suggest. Implies ``addresses``.
        link: A link for copies to host memory, and how it is used: :class:`SolveLinkOptions`. The
            cost of the plan is then its makespan. ``starts`` may copy as well, over whatever link
            they were made for. Not together with ``reorder``.

    Returns:
        The plan, replayed, with cost, peak, status, bound and gap.

    Raises:
        InfeasibleBudget: it is proven that no stage schedule in the order of the instance fits.
        LimitReached: no plan was found within the limits.
        InvalidInstance, InvalidBudget, InvalidPlan, InvalidArgument, FileError: for arguments.
        KeyboardInterrupt: see above.
    """
    subject = _subject(instance, formulation)
    with shown(subject, on_progress, progress, time_limit) as callback:
        return _native.solve(
            subject,
            budget,
            time_limit=time_limit,
            effort=effort,
            formulation=formulation,
            threads=threads,
            seed=seed,
            gap=gap,
            starts=starts,
            reorder=reorder,
            on_progress=callback,
            addresses=addresses,
            alignment=alignment,
            **link,
        )


def improve(
    instance: InstanceSource,
    plan: PlanSource,
    *,
    budget: Budget | None = None,
    time_limit: Duration | None = None,
    threads: int | None = None,
    seed: int = 0,
) -> Plan:
    """Puts the steps of a plan in a better order, and leaves out recomputations that it then has
    room for. The plan that is returned is never worse.

    Args:
        instance: An :class:`Instance`, or anything that makes one.
        plan: A :class:`Plan`, the path of a plan or schedule, or a dictionary of one.
        budget: Memory that the plan may use; by default the budget that the plan records. Without
            any the peak comes first, then the cost.
        time_limit: As for :func:`solve`; without it the work is fixed.
        threads: Worker threads; one per core by default. Changes the time, not the plan.
        seed: Seed of all random choices.

    Raises:
        InvalidInstance, InvalidPlan, InvalidBudget, InvalidArgument, FileError: for arguments.
        PlanRefuted: the plan cannot be executed.
    """
    return _native.improve(
        instance, plan, budget=budget, time_limit=time_limit, threads=threads, seed=seed
    )


def frontier(
    instance: InstanceSource,
    budgets: str | Iterable[Budget],
    *,
    time_limit: Duration | None = None,
    formulation: str | None = None,
    threads: int | None = None,
    seed: int = 0,
    gap: float | str | None = None,
    on_progress: Callback | None = None,
    progress: bool = False,
    **link: Unpack[LinkOptions],
) -> Frontier:
    """Solves one budget after another: cost against memory, with lower bounds.

    Budgets help each other: a plan for less memory fits into more, a bound for more memory holds
    for less. In the result neither costs nor bounds rise with the budget.

    Args:
        budgets: Budgets as for :func:`solve`, or text: ``"FROM..TO:COUNT"`` such as
            ``"40%..100%:20"``, or a list such as ``"5GiB,6GiB"``.
        time_limit: Time for each budget.
        link: As for :func:`solve`: costs are makespans of plans that
            may copy to the host.
        on_progress: As for :func:`solve`; ``done`` and ``total`` count budgets.

    The other arguments, the ways to give an instance, and errors are those of :func:`solve`, but a
    budget that nothing fits, or for which nothing was found, is a point without a plan. Ctrl-C ends
    with the budgets done so far and ``interrupted`` true; ``KeyboardInterrupt`` is raised where
    none has a plan.

    Returns:
        The points in ascending order of budgets, each budget once.
    """
    subject = _subject(instance, formulation)
    with shown(subject, on_progress, progress) as callback:
        return _native.frontier(
            subject,
            budgets,
            time_limit=time_limit,
            formulation=formulation,
            threads=threads,
            seed=seed,
            gap=gap,
            on_progress=callback,
            **link,
        )


def baselines(
    instance: InstanceSource,
    budget: Budget,
    *,
    formulation: str | None = None,
    threads: int | None = None,
    **link: Unpack[LinkOptions],
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
    return _native.baselines(
        instance,
        budget,
        formulation=formulation,
        threads=threads,
        **link,
    )


def max_batch(
    model: str | Callable[[int], Any],
    budget: Budget,
    *,
    overhead: float = 1.0,
    start: int = 32,
    most: int = 65536,
    time_limit: Duration | None = 30.0,
    threads: int | None = None,
    seed: int = 0,
    **link: Unpack[LinkOptions],
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
        time_limit: Time for each batch size; one that is undecided then counts as too large, but
            not as proven.
        link: As for :func:`solve`: plans may copy to the host, and
            waiting for copies costs as recomputation does.

    That what can be trained with a larger batch can be trained with a smaller one is taken for
    granted. ``threads``, ``seed`` and errors are those of :func:`solve`; Ctrl-C raises
    ``KeyboardInterrupt``.
    """
    return _native.max_batch(
        model,
        budget,
        overhead=overhead,
        start=start,
        most=most,
        time_limit=time_limit,
        threads=threads,
        seed=seed,
        **link,
    )


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
