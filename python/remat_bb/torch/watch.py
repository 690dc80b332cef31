"""First steps of compiled graphs, watched: their measured peak against the budget."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable
from typing import Any

import torch

from .. import _native
from ..errors import RematError
from . import _compat
from .cost import peak_bytes
from .planner import Report

Run = Callable[[Any], Any]


class Watch:
    """A watch on the first forward and the first backward pass of one plan.

    On the processor the allocator's events are recorded, on a GPU the counter of its peak is set
    back once. Later passes run as they were compiled.

    Args:
        report: The plan's report: its ``measured_bytes`` are set.
        strict: True if a peak above the budget is an error, false if it is a warning.
    """

    def __init__(self, report: Report, strict: bool) -> None:
        self.report = report
        self.strict = strict
        self.seen: dict[bool, bool] = {False: False, True: False}
        self.device: torch.device | None = None
        self.peak = 0
        self.held: int | None = None

    def over(self, run: Run, is_backward: bool) -> Run:
        """A pass that is watched the first time that it runs."""

        def watched(arguments: Any) -> Any:
            # A pass within another one, or beside a profiler of the user's, is not measured.
            if self.seen[is_backward] or _compat.is_profiled():
                return run(arguments)
            self.seen[is_backward] = True
            return self._backward(run, arguments) if is_backward else self._forward(run, arguments)

        watched._boxed_call = True  # type: ignore[attr-defined]
        return watched

    def _forward(self, run: Run, arguments: Any) -> Any:
        tensors = [x for x in arguments if isinstance(x, torch.Tensor)]
        self.device = next((x.device for x in tensors if x.is_cuda), None)
        del tensors
        if self.device is not None:
            torch.cuda.reset_peak_memory_stats(self.device)
            self.held = 0
            return run(arguments)
        # What is garbage before the step is not to be let go of in it.
        gc.collect()
        with _compat.traced_memory() as events:
            found = run(arguments)
        self.peak = peak_bytes(events)
        self.held = sum(size for _, _, size in events)
        return found

    def _backward(self, run: Run, arguments: Any) -> Any:
        if self.held is None:
            return run(arguments)
        if self.device is not None:
            found = run(arguments)
            self._judge(torch.cuda.max_memory_allocated(self.device))
            return found
        with _compat.traced_memory() as events:
            found = run(arguments)
        peak = max(self.peak, self.held + peak_bytes(events))
        self._judge(peak + self.report.fixed_bytes)
        return found

    def _judge(self, measured: int) -> None:
        report = self.report
        report.measured_bytes = measured
        if measured <= report.budget_bytes:
            return
        size = _native.format_bytes
        words = (
            f"the first step took {size(measured)} ({measured} bytes), above the budget of "
            f"{size(report.budget_bytes)}; {size(report.predicted_bytes)} were predicted"
        )
        remedy = "compile_with_budget measures, and plans for less until the budget is kept"
        if self.strict:
            raise RematError(words, remedy=remedy)
        warnings.warn(f"{words}: {remedy}", stacklevel=2)
