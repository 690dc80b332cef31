"""The report of a compilation: plan, predicted peak, and measurements."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import torch
from torch.utils._pytree import tree_leaves

from .. import _native
from .bounded import Sized
from .host import CopyUse, Host
from .partition import distinct_bytes
from .reorder import OrderReport
from .stage_schedule import StageBytes


@dataclass
class Report(Sized):
    """Results of one compilation, and later measurements.

    Attributes:
        instance: The training step as an instance for the solver.
        plan: The plan.
        budget_bytes: The budget.
        predicted_bytes: Peak of the generated graphs, inputs and ``extra_bytes`` included.
        predicted_at: The operator that runs at that peak.
        fixed_bytes: Memory held before the step.
        accumulated_bytes: Gradients of earlier backward passes in ``fixed_bytes``.
        accumulating_bytes: Peak of the generated graphs if all leaves have gradients from earlier
            backward passes, these included.
        counts_workspaces: False if workspaces of operators are unknown, as with static costs. Steps
            may then need more memory than predicted.
        measured_bytes: Peak measured by :func:`remat_bb.torch.measure`; ``None`` before.
        requested_bytes: The most memory that tensors asked for in watched steps on a GPU;
            ``measured_bytes`` also has what torch's allocator rounds up. ``None`` elsewhere.
        measured_seconds: Measured time of a step.
        reordered: Reports of the reordering of the forward and the backward graph.
        host: Host memory for the copies of the plan; ``None`` without copies.
        estimated: Operators whose costs are estimates because a measurement failed, each with the
            reason.
        digest: Digest of graph, plan and code that all ranks have compared; ``None`` if this
            process planned on its own.
        gpu: The GPU on which both graphs run; ``None`` on the processor.
        waiting_bytes: Memory of the other micro-batches in flight, part of ``predicted_bytes``.
        stage: Memory of a stage of a pipeline; ``None`` without a :class:`StageSchedule`.
        replayed: True if the prediction is the peak of Inductor's code.
        solves: Number of plans made.
        without_trials: True if both graphs run with ``torch.backends.cudnn.benchmark`` off.
        states_bytes: States of the optimizer in ``fixed_bytes``, with ``optimizer=``.
        optimizer: The optimizer whose updates are in the backward pass; ``None`` for others.
        marked: Operators marked by ``torch.utils.checkpoint`` (``gradient_checkpointing_enable()``)
            whose marks the plan replaces.
    """

    instance: _native.Instance
    plan: _native.Plan
    budget_bytes: int
    predicted_bytes: int
    predicted_at: str
    fixed_bytes: int
    accumulated_bytes: int = 0
    accumulating_bytes: int = 0
    counts_workspaces: bool = True
    measured_bytes: int | None = None
    measured_seconds: float | None = None
    requested_bytes: int | None = None
    reordered: list[OrderReport] = field(default_factory=list)
    host: Host | None = None
    estimated: dict[str, str] = field(default_factory=dict)
    digest: str | None = None
    marked: int = 0
    gpu: torch.device | None = None
    waiting_bytes: int = 0
    stage: StageBytes | None = None
    replayed: bool = False
    solves: int = 1
    without_trials: bool = False
    states_bytes: int = 0
    optimizer: torch.optim.Optimizer | None = None

    @property
    def unmade_bytes(self) -> int:
        """States that the next backward pass makes, with updates in it."""
        if self.optimizer is None:
            return 0
        leaves = tree_leaves([*self.optimizer.state.values()])
        present = distinct_bytes(x for x in leaves if isinstance(x, torch.Tensor))
        return max(0, self.states_bytes - present)

    @property
    def offloaded(self) -> list[str]:
        """Names of the tensors that are copied to the host, in the order of their copies."""
        return list(dict.fromkeys(name for name, to_host, *_ in self.plan.copies if to_host))

    @property
    def copy_use(self) -> CopyUse | None:
        """Counted copies of the latest step; ``None`` without copies."""
        return None if self.host is None else self.host.latest

    @property
    def overhead(self) -> float:
        """Extra cost over the step without recomputation, as a fraction."""
        return self.plan.overhead

    def svg(self) -> str:
        """The memory of the step over time, with and without recomputation, as SVG text."""
        return self.plan.memory_svg()

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str | None:
        """The step as one HTML page that needs no network: its text, or ``None`` once written to a
        file. The page shows memory over time, all operators with the causes of recomputations and
        copies, and the tensors in memory at each one."""
        return self.plan.to_html(path)

    def _repr_svg_(self) -> str:
        return self.svg()

    def __str__(self) -> str:
        size = _native.format_bytes
        words = (
            f"peak {size(self.predicted_bytes)} of {size(self.budget_bytes)} at "
            f"{self.predicted_at} (without recomputation "
            f"{size(self.instance.peak_memory_bytes)}), {len(self.plan.recomputed)} operators "
            f"computed again, {self.overhead:.2%} more time"
            f"{', better of two plans' * (self.solves > 1)}"
        )
        if self.host is not None:
            count = len(self.offloaded)
            words += (
                f", {count} tensor{'' if count == 1 else 's'} "
                f"({size(self.plan.to_host_bytes)}) to the host, which holds "
                f"{size(self.plan.host_peak_bytes)} at most"
            )
        if self.sizes:
            words += f"; for {', '.join(map(str, self.sizes))}; compilation {self.compilation}"
        if self.waiting_bytes:
            words += f"; other micro-batches hold {size(self.waiting_bytes)}"
        if self.states_bytes:
            words += f"; {size(self.states_bytes)} of optimizer states"
        if self.optimizer is not None:
            words += "; updates are in the backward pass"
        if self.accumulated_bytes:
            words += f"; added to {size(self.accumulated_bytes)} of gradients"
        if not self.counts_workspaces:
            words += "; workspaces of operators are not counted"
        if self.measured_bytes is not None:
            words += f"; measured {size(self.measured_bytes)}"
        if self.marked:
            words += f"; {self.marked} marks of torch.utils.checkpoint are replaced by the plan"
        if self.estimated:
            words += f"; costs are estimates for {', '.join(sorted(self.estimated))}"
        return words
