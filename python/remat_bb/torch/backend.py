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

from .. import _native
from ..errors import InfeasibleBudget, InvalidArgument, LimitReached, RematError
from . import _compat
from .cost import Costs, peak_bytes
from .fusion import SLACK, FusionPlanner
from .link import Link
from .planner import Planned, Planner, Report, Settings, no_copies
from .reorder_plan import reorder_inference
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
) -> Callable[..., Any]:
    """A backend for ``torch.compile(model, backend=...)`` that trains within a budget.

    Args:
        budget: Memory of the whole step: bytes, an amount such as ``"6GiB"``, a share of the peak
            without recomputation such as ``"80%"``, or ``"device"``.
        inner: ``"eager"`` runs operators as eager torch does; ``"inductor"`` compiles the two
            graphs, whose peak is measured: it can be above the prediction.
        costs, time_limit, extra_bytes, threads, agree, cache, tags, plan_cache, reorder, offload,
            host_memory, offload_phase: as in :class:`Settings`.
        strict: True if a first step whose measured peak is above the budget raises, in its backward
            pass; false if it warns.

    Returns:
        The backend; ``reports`` are the reports of what it has compiled.

    Raises:
        InvalidArgument: for an unknown ``inner``, and copies that are not to be had with it; while
            compiling, for unknown ``tags``.
        RematError: while compiling, for a training graph that a graph break ends.
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
    )
    return _backend(_planner(settings, inner), inner, strict)


def _planner(settings: Settings, inner: str) -> Planner:
    if settings.copying() is not None and inner == "inductor":
        raise no_copies("Inductor's kernels")
    if inner == "inductor" and settings.reorder:
        raise InvalidArgument(
            "reorder: Inductor orders its kernels itself",
            remedy='inner="eager", or remat_bb.torch.ReorderPass among Inductor\'s passes',
        )
    return FusionPlanner(settings) if inner == "inductor" else Planner(settings)


def _backend(planner: Planner, inner: str, strict: bool | None) -> Callable[..., Any]:
    """A backend.

    Args:
        strict: As for :func:`backend`; ``None`` if first steps are not watched.
    """
    watches: dict[int, Watch] = {}

    def over(run: Any, is_backward: bool) -> Any:
        report = planner.latest
        if report is None or strict is None:
            return run
        if is_backward:
            # Graphs without gradients that are compiled next are nobody's.
            planner.latest = None
        return watches.setdefault(id(report), Watch(report, strict)).over(run, is_backward)

    def inference(module: Any, inputs: Any) -> Any:
        if planner.settings.reorder:
            reorder_inference(module, planner.settings.threads)
        return _compat.boxed_nop(module, inputs)

    if inner == "eager":
        made = _compat.aot_autograd(
            fw_compiler=lambda module, inputs: over(_compat.boxed_nop(module, inputs), False),
            bw_compiler=lambda module, inputs: over(_backward(module, inputs), True),
            inference_compiler=lambda module, inputs: over(inference(module, inputs), False),
            partition_fn=planner,
            keep_inference_input_mutations=True,
        )

        def run(module: Any, inputs: Any, options: Any) -> Any:
            return made(module, inputs, **options)
    elif inner == "inductor":

        def run(module: Any, inputs: Any, options: Any) -> Any:
            return _compat.compile_fx(
                module,
                inputs,
                inner_compile=_compat.watched_inductor(over),
                config_patches={"custom_partitioner_fn": planner},
                **options,
            )
    else:
        raise InvalidArgument(f"inner: {inner!r} is no compiler", remedy='"eager" or "inductor"')

    def compiled(module: Any, inputs: Any, **options: Any) -> Any:
        planner.broken, planner.latest = _compat.break_in(module), None
        return run(module, inputs, options)

    compiled.reports = planner.reports  # type: ignore[attr-defined]
    return compiled


def _backward(module: Any, inputs: Any) -> Callable[..., Any]:
    """A compiler for the backward graph: it runs as it is, unless its graph is to be kept."""
    run = _compat.boxed_nop(module, inputs)

    def checked(arguments: Any) -> Any:
        if _compat.keeps_graph():
            raise RematError(
                "backward(retain_graph=True): saved tensors of a planned step are let go of one by "
                "one, which the plan counts on",
                remedy="call the step again for a second backward pass",
            )
        return run(arguments)

    checked._boxed_call = True  # type: ignore[attr-defined]
    return checked


@contextmanager
def budget(amount: int | str, **options: Any) -> Iterator[list[Report]]:
    """Makes Inductor plan every training graph that is compiled in the block: for scripts that call
    ``torch.compile`` themselves. The first call compiles, so it belongs in the block.

    Args:
        amount: The budget, as for :func:`backend`.
        options: As for :func:`backend`, without ``inner``.

    Yields:
        Reports of the graphs compiled so far.
    """
    settings = Settings(amount, **options)
    if settings.copying() is not None:
        raise no_copies("Inductor's kernels")
    planner = FusionPlanner(settings)
    with _compat.inductor_config.patch(custom_partitioner_fn=planner):
        yield planner.reports


class Step:
    """A compiled function or module: call it as the original. :func:`compile` makes one."""

    def __init__(
        self,
        function: Callable[..., Any],
        planner: Planner,
        inner: str,
        strict: bool | None = None,
    ) -> None:
        functools.update_wrapper(self, function, updated=())
        self.function = function
        self._planner = planner
        self._compiled = torch.compile(
            function, backend=_backend(planner, inner, strict), fullgraph=True, dynamic=False
        )

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        with plain_errors(), _compat.logs_skipped():
            return self._compiled(*arguments, **options)

    @property
    def reports(self) -> list[Report]:
        """Reports of all compilations: one for each set of shapes."""
        return self._planner.reports

    @property
    def report(self) -> Report:
        """Report of the latest compilation.

        Raises:
            RematError: it was not called yet, or only without gradients.
        """
        if not self.reports:
            raise RematError(
                "report: nothing was compiled for training yet", remedy="call the step once"
            )
        return self.reports[-1]


@contextmanager
def plain_errors() -> Iterator[None]:
    """Raises errors of this package as they are, and says what a graph break means."""
    try:
        yield
    except _compat.BackendCompilerFailed as error:
        inner = getattr(error, "inner_exception", None)
        if isinstance(inner, (RematError, Planned)):
            raise inner from None
        raise
    except _compat.Unsupported as error:
        raise RematError(
            f"the step breaks into several graphs, and a budget holds for one: {error}",
            remedy="take what breaks it out of the step",
        ) from error


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
) -> Step:
    """Compiles a function or module such that its training step keeps a memory budget.

    The plan is made at the first call. Results are those of the same step without recomputation, in
    every bit with ``inner="eager"``.

    Args:
        function: Returns the loss; what is computed outside is outside of the plan.
        budget, inner, costs, time_limit, extra_bytes, threads, agree, cache, tags,
            plan_cache, strict, reorder, offload, host_memory, offload_phase: as for
            :func:`backend`.

    Raises:
        InfeasibleBudget: at the first call, names the operator that does not fit.
        UnsupportedGraph: at the first call, names the node that cannot be planned.
        RematError: at the first call, where the function breaks into several graphs.
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
    )
    return Step(function, _planner(settings, inner), inner, strict)


ATTEMPTS = 4
"""Plans at most that :func:`compile_with_budget` measures."""
KERNEL_ATTEMPTS = 2
"""Plans of kernels among them, under Inductor; where both need more than the budget, the others are
plans of operators, whose order Inductor changes less."""


def compile_with_budget(
    function: Callable[..., Any],
    inputs: Sequence[Any],
    budget: int | str,
    *,
    strict: bool = True,
    inner: str = "eager",
    **options: Any,
) -> Step:
    """Compiles a function or module now, and runs it, until the measured peak keeps the budget.

    Where compiled code needs more than the budget, the next plan is made for less.
    Where it leaves some unused and computes operators again, one more plan is made for more, and is
    taken if it keeps the budget for less time.

    Args:
        inputs: Arguments of a call. Gradients, buffers and random numbers are afterwards what they
            were before.
        budget, inner, options: as for :func:`compile`.
        strict: False if the step of least peak is returned, with a warning, where none keeps the
            budget.

    Raises:
        RematError: the measured peak is above the budget still.
    """
    best: Step | None = None
    least: Step | None = None
    wanted, limit, found = budget, 0, 0
    # The peak is measured here.
    planners = Settings(budget, **options)
    for attempt in range(ATTEMPTS):
        by_operators = inner == "inductor" and attempt >= KERNEL_ATTEMPTS
        if by_operators and attempt == KERNEL_ATTEMPTS and best is None:
            wanted = limit
        settings = replace(planners, budget=wanted)
        planner = Planner(settings) if by_operators else _planner(settings, inner)
        step = Step(function, planner, inner)
        try:
            found = _tried(step, inputs)
        except (InfeasibleBudget, LimitReached):
            if best is None and (strict or least is None):
                raise
            break
        report = step.report
        limit = limit if attempt else report.budget_bytes
        unused = limit - found
        # Plans for a little less may need as much: later ones are made for less and less.
        tries = attempt - KERNEL_ATTEMPTS if by_operators else attempt
        wanted = report.budget_bytes + (unused << tries if unused < 0 else unused)
        if unused < 0:
            # At least as much less than the limit as this compilation took more than it was to.
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


def _tried(step: Step, inputs: Sequence[Any]) -> int:
    """Peak of a first step that leaves gradients, buffers and random numbers as they were."""
    module = step.function if isinstance(step.function, torch.nn.Module) else None
    buffers = [] if module is None else [(b, b.clone()) for b in module.buffers()]
    before = [(p, p.grad) for p in _parameters(step)]
    for parameter, _ in before:
        parameter.grad = None
    devices = {p.device for p, _ in before if p.is_cuda}
    try:
        with torch.random.fork_rng(devices=sorted(devices, key=str)):
            return measure(step, *inputs, repeats=1)[0]
    finally:
        with torch.no_grad():
            for buffer, value in buffers:
                buffer.copy_(value)
        for parameter, gradient in before:
            parameter.grad = gradient


def traced(
    function: Callable[..., Any], inputs: Sequence[Any], planner: Planner, inner: str = "eager"
) -> Any:
    """The outcome of a compilation that ends with a plan."""
    step = Step(function, planner, inner)
    fake = next((x.fake_mode for x in inputs if isinstance(x, _compat.FakeTensor)), None)
    try:
        if fake is not None:
            with fake:
                step(*inputs)
        else:
            step(*inputs)
    except Planned as planned:
        return planned.outcome
    raise RematError("nothing in it needs gradients", remedy="give a function that returns a loss")


def plan(
    function: Callable[..., Any], inputs: Sequence[Any], budget: int | str, **options: Any
) -> _native.Plan:
    """Plans a training step without running it: nothing is allocated on the device.

    Args:
        function: As for :func:`compile`. Fake tensors (``FakeTensorMode``) will do, as parameters
            and as inputs.
        inputs: Its arguments.
        budget, options: as for :func:`compile`; costs are ``"static"`` by default.
    """
    options = {"costs": "static", **options}
    return traced(function, inputs, Planner(Settings(budget, **options), stop="plan")).plan


def export(function: Callable[..., Any], inputs: Sequence[Any], **options: Any) -> _native.Instance:
    """The training step as an instance: save it, look at it, solve it.

    Args:
        function, inputs: As for :func:`plan`.
        options: ``costs``, ``extra_bytes``, and what is copied to the host, as for
            :func:`compile`.
    """
    options = {"costs": "static", **options}
    return traced(function, inputs, Planner(Settings(1, **options), stop="instance"))


def measure(step: Callable[..., Any], *arguments: Any, repeats: int = 3) -> tuple[int, float]:
    """Runs a training step, forward and backward, and measures it.

    Gradients are afterwards what they were before: set them to ``None`` if they are not to count.
    Buffers change, as they do in training.

    Args:
        step: A :class:`Step`, or any function that returns a loss; the sum of its output is
            differentiated.
        repeats: Runs whose time is taken, after one for the memory.

    Returns:
        The peak in bytes with what was there before (on the processor: the inputs of the graph,
        where the step is a :class:`Step`), and the least time in seconds. They are put in the
        report of a :class:`Step` as well.
    """
    parameters = _parameters(step)
    # Gradients that are there are added to in place.
    saved = [(p, p.grad, None if p.grad is None else p.grad.clone()) for p in parameters]

    def restore() -> None:
        for parameter, gradient, value in saved:
            parameter.grad = gradient
            if gradient is not None and value is not None:
                gradient.copy_(value)

    def run() -> None:
        restore()
        output = step(*arguments)
        if isinstance(output, torch.Tensor) and output.requires_grad:
            (output if output.numel() == 1 else output.sum()).backward()

    run()
    report = step.report if isinstance(step, Step) and step.reports else None
    device = next((p.device for p in parameters if p.is_cuda), None)
    if device is not None:
        torch.cuda.synchronize(device)
        torch.cuda.reset_peak_memory_stats(device)
        run()
        found = torch.cuda.max_memory_allocated(device)
    else:
        restore()
        # What is garbage before the step is not to be let go of in it.
        gc.collect()
        with _compat.traced_memory() as events:
            run()
        found = peak_bytes(events) + (report.fixed_bytes if report else 0)
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        if device is not None:
            torch.cuda.synchronize(device)
        best = min(best, time.perf_counter() - start)
    restore()
    if report is not None:
        report.measured_bytes, report.measured_seconds = found, best
    return found, best


def _parameters(step: Any) -> list[torch.nn.Parameter]:
    """Parameters of the module that a step is, or whose method it is, or that it encloses."""
    function = step.function if isinstance(step, Step) else step
    owners = [function, getattr(function, "__self__", None)]
    cells = getattr(function, "__closure__", None) or ()
    owners += [cell.cell_contents for cell in cells]
    found: dict[torch.nn.Parameter, None] = {}
    for owner in owners:
        if isinstance(owner, torch.nn.Module):
            found.update(dict.fromkeys(owner.parameters()))
    return list(found)
