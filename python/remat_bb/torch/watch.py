"""Watching of steps of compiled graphs: the measured peak against the budget."""

from __future__ import annotations

import gc
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import torch

from .. import _native
from ..errors import RematError
from . import _compat
from .accumulate import present_bytes
from .budget import has_expandable_segments, learn
from .cost import peak_bytes
from .report import Report

Run = Callable[[Any], Any]


WARNED_AGAIN = 1.01
"""Share of the peak that was warned of beyond which a later step is warned of, too."""


class Watch:
    """A watch on steps of one plan: the first, second, fourth, eighth, ... and the first step that
    adds to gradients of earlier ones.

    On the processor it records events of the allocator, on a GPU it resets the peak counter. Other
    steps run unchanged.

    Args:
        report: The plan's report; its ``measured_bytes`` become the largest measured peak.
        strict: True raises an error for a peak above the budget, false warns.
    """

    def __init__(self, report: Report, strict: bool) -> None:
        self.report = report
        self.strict = strict
        self.steps = 0
        self.has_added = False
        self.device: torch.device | None = None
        self.peak = 0
        self.present = 0
        self.unmade = 0
        self.beside = 0
        self.reserved = 0
        self.leaves: list[weakref.ref[torch.Tensor]] = []
        # Memory left by the forward pass of a watched step; None for other steps.
        self.held: int | None = None
        self.warned = 0

    def over(self, run: Run, is_backward: bool) -> Run:
        """The pass with a watch, active only in watched steps."""

        def watched(arguments: Any) -> Any:
            return self._backward(run, arguments) if is_backward else self._forward(run, arguments)

        watched._boxed_call = True  # type: ignore[attr-defined]
        return watched

    def _is_due(self, arguments: Any) -> bool:
        # A pass within another one, or under a user's profiler, is not measured.
        if _compat.is_profiled():
            return False
        self.steps += 1
        is_new = not self.has_added and present_bytes(arguments) > 0
        self.has_added |= is_new
        return is_new or self.steps & (self.steps - 1) == 0

    def _forward(self, run: Run, arguments: Any) -> Any:
        self.held = None
        if not self._is_due(arguments):
            return run(arguments)
        self.present = present_bytes(arguments)
        self.unmade = self.report.unmade_bytes
        self.leaves = [
            weakref.ref(x)
            for x in arguments
            if isinstance(x, torch.Tensor) and x.is_leaf and x.requires_grad
        ]
        tensors = [x for x in arguments if isinstance(x, torch.Tensor)]
        self.device = next((x.device for x in tensors if x.is_cuda), None)
        del tensors
        if self.device is not None:
            torch.cuda.reset_peak_memory_stats(self.device)
            self.reserved = torch.cuda.memory_reserved(self.device)
            self.beside = torch.cuda.memory_allocated(self.device) - self._before()
            self.held = 0
            return run(arguments)
        # Collects garbage now, so that the step does not free it.
        gc.collect()
        with _compat.traced_memory() as events:
            found = run(arguments)
        self.peak = peak_bytes(events)
        self.held = sum(size for _, _, size in events)
        return found

    def _backward(self, run: Run, arguments: Any) -> Any:
        if self.held is None or _compat.is_profiled():
            return run(arguments)
        held, self.held = self.held, None
        if self.device is not None:
            found = run(arguments)
            learn(self.device, self.reserved)
            stats = torch.cuda.memory_stats(self.device)
            requested = int(stats.get("requested_bytes.all.peak", 0))
            self.report.requested_bytes = max(requested, self.report.requested_bytes or 0)
            self._judge(torch.cuda.max_memory_allocated(self.device))
            return found
        forward = self.peak + self._before()
        # Trainers may free gradients of earlier steps between the passes.
        self.present = present_bytes(leaf() for leaf in self.leaves)
        with _compat.traced_memory() as events:
            found = run(arguments)
        self._judge(max(forward, held + peak_bytes(events) + self._before()))
        return found

    def _before(self) -> int:
        """The plan's memory before the step, with the gradients that are actually present."""
        before = self.report.held_bytes - self.report.accumulated_bytes + self.present
        # Events of the allocator are those of one step; the counters of a GPU have all of them.
        beside = self.report.waiting_bytes - self.unmade
        return before + (beside if self.device is None else 0)

    def _slack(self) -> int:
        """Bytes by which rounding of torch's allocator may exceed a plan: without expandable
        segments a block above 1 MiB is divided only if more than 1 MiB is left. The memory that was
        requested shows how much that was."""
        requested = self.report.requested_bytes
        if self.device is None or not requested or has_expandable_segments():
            return 0
        return max(0, torch.cuda.max_memory_allocated(self.device) - requested)

    def _judge(self, measured: int) -> None:
        report = self.report
        report.measured_bytes = max(measured, report.measured_bytes or 0)
        if report.replayed and report.predicted_bytes > report.budget_bytes:
            # The compilation has warned of it.
            self.warned = max(self.warned, report.predicted_bytes)
        slack = self._slack()
        if measured <= report.budget_bytes + slack or measured <= WARNED_AGAIN * self.warned:
            return
        self.warned = 0 if self.strict else measured
        size = _native.format_bytes
        which = "the first step" if self.steps == 1 else f"step {self.steps}"
        words = (
            f"{which} took {size(measured)} ({measured} bytes), above the budget of "
            f"{size(report.budget_bytes)}; {size(report.predicted_bytes)} were predicted"
        )
        remedy = "compile_with_budget measures, and plans for less until the budget is kept"
        if self.present > 0 and not report.accumulated_bytes:
            words += f", without the {size(self.present)} of gradients that are there"
            remedy = "with accumulate=True the plan counts them"
        elif self.device is not None and self.beside > measured - report.budget_bytes:
            words += f"; {size(self.beside)} more are there than when it was compiled"
            remedy = "optimizer= counts its states, extra_bytes is for other memory"
        if self.strict:
            raise RematError(words, remedy=remedy)
        warnings.warn(f"{words}: {remedy}", stacklevel=2)
