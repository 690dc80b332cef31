"""Ways to compile: a backend for ``torch.compile``, a context for Inductor, and whole steps."""

from __future__ import annotations

import functools
import gc
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch.utils._pytree import tree_map

from .. import _native
from ..errors import InfeasibleBudget, InvalidArgument, LimitReached, RematError
from . import _compat, replanning
from .accumulate import Given
from .bounded import bounds_of
from .cost import Costs, peak_bytes
from .decisions import on_device, without_trials
from .exclusions import check_class, check_in_flight, no_copies
from .fusion import SLACK, FusionPlanner
from .generated import Generated
from .kept import Kept
from .kernel_order import planned_order
from .link import Link
from .planner import Planned, Planner, Settings
from .region import Region
from .reorder_plan import reorder_inference
from .report import Report
from .scalars import settle
from .sharded import lowered
from .size_buckets import POWERS, Rules
from .stage_schedule import StageSchedule
from .step import Step, step_of
from .updates import check_optimizer, check_updates, states_kept, updater
from .variants import Variant, Variants
from .watch import Watch


def backend(
    budget: int | str,
    inner: str = "eager",
    *,
    costs: str | Costs = "measured",
    time_limit: float | str | None = "auto",
    extra_bytes: int | None = None,
    threads: int | None = None,
    agree: bool = False,
    cache: bool = False,
    tags: str = "plan",
    plan_cache: bool | str = True,
    strict: bool = False,
    reorder: bool = False,
    offload: str | Link | None = None,
    host_memory: int | str | None = None,
    offload_phase: str = "any",
    accumulate: bool | None = None,
    plan_class: str | None = None,
    optimizer: Any = None,
    in_flight: int | StageSchedule = 1,
    buckets: Any = POWERS,
) -> Callable[..., Any]:
    """A backend for ``torch.compile(model, backend=...)`` that trains within a budget.

    Args:
        budget: Memory of the whole step: bytes, an amount such as ``"6GiB"``, a share of the peak
            without recomputation such as ``"80%"``, or ``"device"``.
        inner: ``"eager"`` runs operators as eager torch does; ``"inductor"`` compiles the two
            graphs and measures their peak, which can exceed the prediction.
        costs, time_limit, extra_bytes, threads, agree, cache, tags, plan_cache, reorder, offload,
            host_memory, offload_phase, accumulate, plan_class, optimizer, in_flight,
            buckets: as in :class:`Settings`.
        strict: True if a step whose measured peak exceeds the budget raises in its backward pass;
            false if it warns. The first, second, fourth, ... step is measured, and the first step
            that adds to gradients of earlier ones.

    Returns:
        The backend; its ``reports`` describe the compiled graphs.

    Raises:
        InvalidArgument: for an unknown ``inner``, and for copies that it does not support; while
            compiling, for unknown ``tags``.
        RematError: while compiling, if a graph break ends a training graph.
    """
    settings = Settings(
        budget,
        costs,
        time_limit,
        extra_bytes,
        threads,
        agree,
        cache,
        tags,
        plan_cache,
        reorder,
        offload,
        host_memory,
        offload_phase,
        accumulate,
        plan_class,
        optimizer,
        in_flight,
        buckets,
    )
    return _backend(_planner(settings, inner), inner, strict)


def _planner(settings: Settings, inner: str) -> Planner:
    check_class(settings)
    check_in_flight(settings, inner)
    check_updates(settings, inner)
    Rules(settings.buckets)
    if settings.copying() is not None and inner == "inductor" and settings.cache:
        raise InvalidArgument(
            "cache: compiled graphs of an earlier process have no host memory for copies",
            remedy="leave out cache, or offload",
        )
    if inner == "inductor" and settings.reorder:
        raise InvalidArgument(
            "reorder: Inductor orders its kernels itself",
            remedy='inner="eager", or remat_bb.torch.ReorderPass among Inductor\'s passes',
        )
    return FusionPlanner(settings, replays=True) if inner == "inductor" else Planner(settings)


def _backend(
    planner: Planner, inner: str, strict: bool | None, region: Region | None = None
) -> Callable[..., Any]:
    """A backend.

    Args:
        strict: As for :func:`backend`; ``None`` if steps are not watched.
        region: The calls of its functions; ``None`` for a region of its own.
    """
    watches: dict[int, Watch] = {}
    region = Region() if region is None else region

    def over(run: Any, is_backward: bool) -> Any:
        report = planner.latest
        if report is not None and report.without_trials:
            run = without_trials(run)
        if report is not None and report.gpu is not None:
            run = on_device(run, report.gpu)
        if report is None or strict is None:
            return run
        if is_backward:
            # Later graphs without gradients have no report.
            planner.latest = None
        return watches.setdefault(id(report), Watch(report, strict)).over(run, is_backward)

    def inference(module: Any, inputs: Any) -> Any:
        if planner.settings.reorder:
            reorder_inference(module, planner.settings.threads)
        return _compat.boxed_nop(module, inputs)

    if inner == "eager":
        made = _compat.aot_autograd(
            fw_compiler=lambda module, inputs: over(_compat.boxed_nop(module, inputs), False),
            bw_compiler=lambda module, inputs: over(_compat.boxed_nop(module, inputs), True),
            inference_compiler=lambda module, inputs: over(inference(module, inputs), False),
            partition_fn=planner,
            keep_inference_input_mutations=True,
        )

        def run(module: Any, inputs: Any, options: Any) -> Any:
            return made(module, inputs, **options)
    elif inner == "inductor":

        def once(module: Any, inputs: Any, options: Any) -> Any:
            generated = Generated()
            before = len(planner.reports)
            with _compat.backward_at_once(), planned_order(planner.settings.offload is not None):
                found = _compat.compile_fx(
                    module,
                    inputs,
                    inner_compile=_compat.watched_inductor(over, generated.note),
                    config_patches={"custom_partitioner_fn": planner},
                    **options,
                )
            if len(planner.reports) > before and isinstance(planner, FusionPlanner):
                planner.replay(planner.reports[-1], generated)
            return found

        def run(module: Any, inputs: Any, options: Any) -> Any:
            if not isinstance(planner, FusionPlanner):
                return once(module, inputs, options)
            return replanning.compiled(lambda: once(module, inputs, options), planner, strict)
    else:
        raise InvalidArgument(f"inner: {inner!r} is no compiler", remedy='"eager" or "inductor"')

    def compiled(module: Any, inputs: Any, **options: Any) -> Any:
        bounds = bounds_of(module, Rules(planner.settings.buckets))
        settle(module, bounds.keeps if bounds is not None else lambda size: False)
        broken, arguments = _compat.break_in(module), _compat.call_inputs(module)
        shards = lowered(module, inputs)
        planner.compilations += 1

        def planned(inputs: Sequence[Any]) -> Variant:
            before = len(planner.reports)
            planner.broken, planner.latest, planner.changed = broken, None, None
            planner.given, planner.bounds = Given.of(inputs, arguments), bounds
            given = inputs if shards is None else shards.traced(inputs)
            compiler = run if bounds is None else functools.partial(bounds.traced, run)
            graph = compiler(module, given, options)
            report = planner.reports[-1] if len(planner.reports) > before else None
            return Variant(graph, report, planner.changed, bounds)

        if shards is None:
            return region.counted(Variants(planned, inputs, planner, bool(strict)))
        graphs = Variants(planned, shards.given(inputs), planner, bool(strict))
        return region.counted(lambda *inputs: graphs(*shards.given(inputs)))

    compiled.reports = planner.reports  # type: ignore[attr-defined]
    compiled.remat_bb_region = region  # type: ignore[attr-defined]
    return compiled


def _maker(inner: str, strict: bool | None = None) -> Callable[[Planner], Callable[..., Any]]:
    """A picklable function that makes the backend of a planner."""
    return functools.partial(_backend, inner=inner, strict=strict)


@contextmanager
def budget(amount: int | str, **options: Any) -> Iterator[list[Report]]:
    """Makes Inductor plan every training graph compiled in the block, for scripts that call
    ``torch.compile`` themselves. The first call compiles, so it belongs in the block, like the
    first call with another size.

    Args:
        amount: The budget, as for :func:`backend`.
        options: As for :func:`backend`, without ``inner``.

    Yields:
        Reports of the graphs compiled so far.
    """
    settings = Settings(amount, **options)
    if settings.copying() is not None:
        raise no_copies("budget blocks")
    planner = FusionPlanner(settings)
    with (
        _compat.dynamo_for_plans(automatic_dynamic_shapes=False),
        _compat.inductor_config.patch(custom_partitioner_fn=planner),
    ):
        yield planner.reports


def compile(
    function: Callable[..., Any],
    *,
    budget: int | str,
    inner: str = "eager",
    costs: str | Costs = "measured",
    time_limit: float | str | None = "auto",
    extra_bytes: int | None = None,
    threads: int | None = None,
    agree: bool = False,
    cache: bool = False,
    tags: str = "plan",
    plan_cache: bool | str = True,
    strict: bool = False,
    reorder: bool = False,
    offload: str | Link | None = None,
    host_memory: int | str | None = None,
    offload_phase: str = "any",
    accumulate: bool | None = None,
    plan_class: str | None = None,
    optimizer: Any = None,
    in_flight: int | StageSchedule = 1,
    buckets: Any = POWERS,
    updates: str | None = None,
) -> Step:
    """Compiles a function or module such that its training step keeps a memory budget.

    The first call makes the plan. Results equal the step without recomputation, bit by bit with
    ``inner="eager"``.

    Args:
        function: Returns the loss. The plan does not cover computations outside of it.
        budget, inner, costs, time_limit, extra_bytes, threads, agree, cache, tags,
            plan_cache, strict, reorder, offload, host_memory, offload_phase, accumulate,
            plan_class, optimizer, in_flight, buckets: as for :func:`backend`.
        updates: As in :class:`Settings`.

    Raises:
        InfeasibleBudget: at the first call; the error names the operator that does not fit.
        UnsupportedGraph: at the first call; the error names the node that cannot be planned.
        RematError: at the first call, if the function breaks into several graphs.
    """
    settings = Settings(
        budget,
        costs,
        time_limit,
        extra_bytes,
        threads,
        agree,
        cache,
        tags,
        plan_cache,
        reorder,
        offload,
        host_memory,
        offload_phase,
        accumulate,
        plan_class,
        optimizer,
        in_flight,
        buckets,
        updates,
    )
    planner = _planner(settings, inner)
    check_optimizer(settings)
    return step_of(function, planner, _maker(inner, strict))


ATTEMPTS = 4
"""Plans at most that :func:`compile_with_budget` measures."""
KERNEL_ATTEMPTS = 2
"""Steps of plans of kernels among them, under Inductor; where both need more than the budget, the
others are plans of operators, whose order Inductor changes less."""


def compile_with_budget(
    function: Callable[..., Any],
    inputs: Sequence[Any],
    budget: int | str,
    *,
    strict: bool = True,
    inner: str = "eager",
    **options: Any,
) -> Step:
    """Compiles and runs a function or module until its measured peak keeps the budget.

    If compiled code exceeds the budget, the next plan gets a smaller one. If the code leaves memory
    unused but recomputes operators, one more plan gets a larger budget. That plan is taken if it
    keeps the budget and is faster.

    Args:
        inputs: Arguments of a call. Gradients, buffers and random numbers are restored afterwards.
        budget, inner, options: as for :func:`compile`.
        strict: False returns the step of least peak, with a warning, if no step keeps the budget.

    Raises:
        RematError: the measured peak still exceeds the budget.
    """
    best: Step | None = None
    least: Step | None = None
    wanted, limit, found = budget, 0, 0
    # This function measures the peak, so the planner's steps are not watched.
    planners = Settings(budget, **options)
    for attempt in range(ATTEMPTS):
        copies = planners.offload is not None
        by_operators = inner == "inductor" and attempt >= KERNEL_ATTEMPTS and not copies
        if by_operators and attempt == KERNEL_ATTEMPTS and best is None:
            wanted = limit
        settings = replace(planners, budget=wanted)
        planner = Planner(settings) if by_operators else _planner(settings, inner)
        step = step_of(function, planner, _maker(inner))
        try:
            found = _measured(step, inputs, 1, hides=settings.accumulate is False)[0]
        except (InfeasibleBudget, LimitReached):
            if best is None and (strict or least is None):
                raise
            break
        report = step.report
        limit = limit if attempt else report.budget_bytes
        unused = limit - found
        # A plan for slightly less may need as much, so later budgets shrink faster.
        tries = attempt - KERNEL_ATTEMPTS if by_operators else attempt
        wanted = report.budget_bytes + (unused << tries if unused < 0 else unused)
        if unused < 0:
            # The next budget is below the limit by at least this compilation's excess over its
            # prediction.
            wanted = min(wanted, limit - (found - report.predicted_bytes))
        report.budget_bytes = limit
        refined = best is not None
        if least is None or found < (least.report.measured_bytes or 0):
            least = step
        if unused >= 0 and (best is None or report.overhead < best.report.overhead):
            best = step
        exact = inner != "inductor" or unused <= SLACK * limit
        if unused >= 0 and (exact or not report.plan.recomputed) or refined:
            break
    if best is None and least is not None:
        words = f"the step took {least.report.measured_bytes} bytes, above the budget of {limit}"
        if strict:
            raise RematError(words, remedy='give a smaller budget, or inner="eager"')
        warnings.warn(words, stacklevel=2)
        return least
    assert best is not None
    return best


def traced(
    function: Callable[..., Any], inputs: Sequence[Any], planner: Planner, inner: str = "eager"
) -> Any:
    """The outcome of a compilation that ends with a plan."""
    step = step_of(function, planner, _maker(inner))
    fake = next((x.fake_mode for x in inputs if isinstance(x, _compat.FakeTensor)), None)
    try:
        if fake is not None:
            with fake:
                step(*inputs)
        else:
            # A step without gradients runs before its lack of gradients is known.
            with _kept(step):
                step(*inputs)
    except Planned as planned:
        return planned.outcome
    raise RematError("nothing in it needs gradients", remedy="give a function that returns a loss")


def plan(
    function: Callable[..., Any], inputs: Sequence[Any], budget: int | str, **options: Any
) -> _native.Plan:
    """Plans a training step without running it, and without allocating memory on the device.

    Args:
        function: As for :func:`compile`. Parameters and inputs may be fake tensors
            (``FakeTensorMode``).
        inputs: Its arguments.
        budget, options: as for :func:`compile`; costs are ``"static"`` by default.
    """
    settings = Settings(budget, **{"costs": "static", **options})
    check_updates(settings, "eager")
    return traced(function, inputs, Planner(settings, stop="plan")).plan


def export(function: Callable[..., Any], inputs: Sequence[Any], **options: Any) -> _native.Instance:
    """The training step as an instance, to be saved, viewed or solved.

    Args:
        function, inputs: As for :func:`plan`.
        options: ``costs``, ``extra_bytes``, ``optimizer``, ``updates``, and the options of copies,
            as for :func:`compile`. With ``updates`` each update is right behind its gradient.
    """
    settings = Settings(1, **{"costs": "static", **options})
    check_updates(settings, "eager")
    return traced(function, inputs, Planner(settings, stop="instance"))


def measure(step: Callable[..., Any], *arguments: Any, repeats: int = 3) -> tuple[int, float]:
    """Runs a training step, forward and backward, and measures it.

    Gradients, buffers and random numbers are restored afterwards. Present gradients count; set them
    to ``None`` to leave them out. A plan that includes gradients of earlier backward passes is
    measured with them. Hooks after the accumulation of gradients do not run, because they may step
    an optimizer.

    Args:
        step: A :class:`Step`, or any function that returns a loss. The sum of its output is
            differentiated.
        repeats: Number of timed runs, after one run for the memory.

    Returns:
        The peak in bytes with memory held before (on the processor: the inputs of the graph, if the
        step is a :class:`Step`), and the least time in seconds. The report of a :class:`Step`
        stores both as well.
    """
    return _measured(step, arguments, repeats)


def _measured(
    step: Callable[..., Any], arguments: Sequence[Any], repeats: int, hides: bool = False
) -> tuple[int, float]:
    """Peak and time of a step; see :func:`measure`.

    Args:
        hides: True if present gradients do not count.
    """
    arguments = tree_map(_detached, arguments)
    report: Report | None = None
    with _kept(step, hides) as kept:

        def run(noted: bool = True) -> None:
            output = step(*arguments)
            if isinstance(output, torch.Tensor) and output.requires_grad:
                if not noted:
                    kept.note_leaves(output)
                (output if output.numel() == 1 else output.sum()).backward()

        run(noted=False)
        report = step._planner.ran if isinstance(step, Step) else None
        if report is None or not report.accumulated_bytes:
            kept.restore_gradients()
        present = kept.gradient_bytes()
        device = next((d for d in kept.devices if d.type == "cuda"), None)
        if device is not None:
            torch.cuda.synchronize(device)
            torch.cuda.reset_peak_memory_stats(device)
            run()
            found = torch.cuda.max_memory_allocated(device)
        else:
            # Collects garbage now, so that the step does not free it.
            gc.collect()
            with _compat.traced_memory() as events:
                run()
            found = peak_bytes(events)
            if report is not None:
                found += report.held_bytes - report.accumulated_bytes + present
        best = float("inf")
        for _ in range(repeats):
            kept.restore_gradients()
            if device is not None:
                torch.cuda.synchronize(device)
            start = time.perf_counter()
            run()
            if device is not None:
                torch.cuda.synchronize(device)
            best = min(best, time.perf_counter() - start)
    if report is not None:
        report.measured_bytes, report.measured_seconds = found, best
    return found, best


@contextmanager
def _kept(step: Callable[..., Any], hides: bool = False) -> Iterator[Kept]:
    """Saves state that a step changes, and restores it at the end of the block."""
    planner = step._planner if isinstance(step, Step) else None
    optimizer = None if planner is None else updater(planner.settings)
    with states_kept(optimizer), Kept(compiled=planner is not None, hides=hides) as kept:
        if planner is None:
            yield kept
            return
        before, planner.kept = planner.kept, kept
        try:
            yield kept
        finally:
            planner.kept = before


def _detached(value: Any) -> Any:
    """A leaf with the data of a tensor. The history of a tensor allows only one backward pass."""
    if isinstance(value, torch.Tensor) and not value.is_leaf:
        return value.detach().requires_grad_(value.requires_grad)
    return value
