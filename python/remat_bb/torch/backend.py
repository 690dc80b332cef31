"""Ways to compile: a backend for ``torch.compile``, a context for Inductor, and whole steps."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from .. import _native
from ..errors import InvalidArgument, RematError
from . import _compat
from .cost import Costs, peak_bytes
from .planner import Planned, Planner, Report, Settings


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
) -> Callable[..., Any]:
    """A backend for ``torch.compile(model, backend=...)`` that trains within a budget.

    Args:
        budget: Memory of the whole step: bytes, an amount such as ``"6GiB"``, a share of the peak
            without recomputation such as ``"80%"``, or ``"device"``.
        inner: ``"eager"`` runs operators as eager torch does; ``"inductor"`` compiles the two
            graphs, whose peak is measured: it can be above the prediction.
        costs, time_limit, extra_bytes, threads, agree, cache: as in :class:`Settings`.

    Returns:
        The backend; ``reports`` are the reports of what it has compiled.

    Raises:
        InvalidArgument: for an unknown ``inner``.
    """
    settings = Settings(budget, costs, time_limit, extra_bytes, threads, agree, cache)
    return _backend(Planner(settings), inner)


def _backend(planner: Planner, inner: str) -> Callable[..., Any]:
    if inner == "eager":
        made = _compat.aot_autograd(
            fw_compiler=_compat.boxed_nop,
            bw_compiler=_backward,
            partition_fn=planner,
            keep_inference_input_mutations=True,
        )

        def eager(module: Any, inputs: Any, **options: Any) -> Any:
            return made(module, inputs, **options)

        eager.reports = planner.reports  # type: ignore[attr-defined]
        return eager
    if inner == "inductor":

        def inductor(module: Any, inputs: Any, **options: Any) -> Any:
            changes = {"custom_partitioner_fn": planner}
            return _compat.compile_fx(module, inputs, config_patches=changes, **options)

        inductor.reports = planner.reports  # type: ignore[attr-defined]
        return inductor
    raise InvalidArgument(f"inner: {inner!r} is no compiler", remedy='"eager" or "inductor"')


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
    planner = Planner(Settings(amount, **options))
    with _compat.inductor_config.patch(custom_partitioner_fn=planner):
        yield planner.reports


class Step:
    """A compiled function or module: call it as the original. :func:`compile` makes one."""

    def __init__(self, function: Callable[..., Any], planner: Planner, inner: str) -> None:
        functools.update_wrapper(self, function, updated=())
        self.function = function
        self._planner = planner
        self._compiled = torch.compile(
            function, backend=_backend(planner, inner), fullgraph=True, dynamic=False
        )

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        with _plain_errors(), _compat.logs_skipped():
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
def _plain_errors() -> Iterator[None]:
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
) -> Step:
    """Compiles a function or module such that its training step keeps a memory budget.

    The plan is made at the first call. Results are those of the same step without recomputation, in
    every bit with ``inner="eager"``.

    Args:
        function: Returns the loss; what is computed outside is outside of the plan.
        budget, inner, costs, time_limit, extra_bytes, threads, agree, cache: as for
            :func:`backend`.

    Raises:
        InfeasibleBudget: at the first call, names the operator that does not fit.
        UnsupportedGraph: at the first call, names the node that cannot be planned.
        RematError: at the first call, where the function breaks into several graphs.
    """
    planner = Planner(Settings(budget, costs, time_limit, extra_bytes, threads, agree, cache))
    return Step(function, planner, inner)


ATTEMPTS = 3
"""Plans that :func:`compile_with_budget` measures, each for less than the one before, which needed
more than it was to: so it can be under Inductor."""


def compile_with_budget(
    function: Callable[..., Any], inputs: Sequence[Any], budget: int | str, **options: Any
) -> Step:
    """Compiles a function or module now, and runs it, until the measured peak keeps the budget.

    Args:
        inputs: Arguments of a call. Gradients, buffers and random numbers are afterwards what they
            were before.
        budget, options: as for :func:`compile`.

    Raises:
        RematError: the measured peak is above the budget still.
    """
    wanted, limit = budget, None
    for _ in range(ATTEMPTS):
        step = compile(function, budget=wanted, **options)
        found = _tried(step, inputs)
        report = step.report
        limit = report.budget_bytes if limit is None else limit
        # As much less than the limit as this compilation took more than it was to.
        wanted = limit - (found - report.predicted_bytes)
        report.budget_bytes = limit
        if found <= limit:
            return step
    raise RematError(
        f"the step took {found} bytes, above the budget of {limit}",
        remedy='give a smaller budget, or inner="eager"',
    )


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


def traced(function: Callable[..., Any], inputs: Sequence[Any], planner: Planner) -> Any:
    """The outcome of a compilation that ends with a plan."""
    step = Step(function, planner, "eager")
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
        options: ``costs`` and ``extra_bytes`` as for :func:`compile`.
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
        with _compat.traced_memory() as events:
            run()
        found = peak_bytes(events) + (report.fixed_bytes if report else 0)
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        run()
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
