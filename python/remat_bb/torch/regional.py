"""Blocks that are compiled one by one, with one budget over all.

Equal blocks share compiled code, so a deep model compiles as fast as a few blocks. Each block gets
a plan of its own: a limited number of saved bytes, and the recomputation within the block that this
takes. A table over all blocks chooses the plans, and the measured peak of whole steps decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from .. import _native
from .._amounts import amount
from ..errors import InfeasibleBudget, InvalidArgument
from . import _compat
from .attach import PLACE
from .backend import _backend, measure
from .block_plans import BlockPlan, choices, plan_within, sizes
from .exclusions import no_copies
from .fusion import FusionPlanner
from .partition import distinct_bytes
from .planner import Planner, Settings
from .region import Region
from .report import Report
from .sac import block_names
from .shares import Place, chosen
from .step import entry, plain_errors

ATTEMPTS = 5
"""Choices at most that :func:`regional` measures."""
UNUSED = 0.03
"""Share of the budget that may stay unused before one more choice is measured."""
UNLIMITED = 1 << 60
"""Budget of a single block, whose plan comes from the choice over all blocks."""


class _Chosen:
    """Part of a planner whose plans were chosen before.

    Attributes:
        choice: The plan for graphs of its instance; ``None`` for plans without recomputation.
    """

    choice: BlockPlan | None = None

    def _solved(
        self, instance: _native.Instance, budget: int, share: float, starts: Any = ()
    ) -> tuple[_native.Plan, str | None]:
        plan = self._choice_for(instance)
        return plan, plan.status

    def _choice_for(self, instance: _native.Instance) -> _native.Plan:
        settings: Settings = self.settings  # type: ignore[attr-defined]
        options = {"threads": settings.threads, **settings.effort(instance)}
        if self.choice is None:
            return _native.solve(instance, instance.peak_memory_bytes, **options)
        known = self.choice.plan
        if sizes(known.instance) == sizes(instance):
            return _native.Plan.load(instance, known.to_dict())
        # Another size keeps the same limits in bytes.
        limits = self.choice.saved_bytes, self.choice.peak_bytes
        return plan_within(instance, *limits, options).plan


class _BlockPlanner(_Chosen, Planner):
    pass


class _FusedBlockPlanner(_Chosen, FusionPlanner):
    replans = False


class _Group:
    """Compiled code of blocks with equal plans."""

    def __init__(self, settings: Settings, inner: str, choice: BlockPlan | None) -> None:
        kind: Any = _FusedBlockPlanner if inner == "inductor" else _BlockPlanner
        self.planner = kind(settings)
        self.planner.choice, self.planner.holds_loss = choice, False
        made = _backend(self.planner, inner, None, Region(shares_budget=True))
        # The module is an argument, so that equal modules share compiled code.
        self.run = torch.compile(entry(_call), backend=made, fullgraph=True)


def _call(module: Any, *arguments: Any, **options: Any) -> Any:
    return module._call_impl(*arguments, **options)


class _Block:
    """The calls of one block, made by a group; calls without gradients run the original."""

    def __init__(self, module: torch.nn.Module, budget_bytes: int) -> None:
        self.module, self.budget_bytes = module, budget_bytes
        self.group: _Group | None = None
        self.report: Report | None = None

    @property
    def reports(self) -> list[Report]:
        return [] if self.report is None else [self.report]

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        if self.group is None or not torch.is_grad_enabled():
            return self.module._call_impl(*arguments, **options)
        with plain_errors(), _compat.logs_skipped():
            found = self.group.run(self.module, *arguments, **options)
        self.report = self.group.planner.ran
        if self.report is not None:
            self.report.budget_bytes = self.budget_bytes
        return found


@dataclass
class Regional:
    """Blocks of a model that are compiled one by one within one budget.

    Attributes:
        budget_bytes: The budget of the whole step.
        measured_bytes: Its peak, measured with parameters, buffers, inputs and gradients.
        saved_bytes: For each block, by its name, the bytes saved for its backward pass.
        overhead: Extra cost of the blocks over blocks without recomputation, as a fraction.
        graphs: Number of the different plans, each with compiled code of its own.
    """

    budget_bytes: int
    measured_bytes: int = 0
    saved_bytes: dict[str, int] = field(default_factory=dict)
    overhead: float = 0.0
    graphs: int = 0
    _blocks: dict[str, _Block] = field(default_factory=dict, repr=False)

    @property
    def reports(self) -> list[Report]:
        """The latest reports of the blocks, in the order of their names. A block's report has the
        block's own peak."""
        return [block.report for block in self._blocks.values() if block.report is not None]

    def __str__(self) -> str:
        size = _native.format_bytes
        return (
            f"measured {size(self.measured_bytes)} of {size(self.budget_bytes)}; "
            f"{len(self.saved_bytes)} blocks in {self.graphs} plans save "
            f"{size(sum(self.saved_bytes.values()))}, {self.overhead:.2%} more time in blocks"
        )

    def remove(self) -> None:
        """Gives the blocks their own calls back."""
        for block in self._blocks.values():
            if block.module.__dict__.get(PLACE) is block:
                del block.module.__dict__[PLACE]


def regional(
    model: torch.nn.Module,
    inputs: Sequence[Any] | Mapping[str, Any],
    budget: int | str,
    blocks: str,
    *,
    inner: str = "eager",
    accumulate: bool = False,
    extra_bytes: int = 0,
    **options: Any,
) -> Regional:
    """Compiles the blocks of a model one by one, such that the measured peak of the whole step
    keeps a budget.

    Args:
        model: Returns the loss, alone or among other outputs.
        inputs: Its arguments, or a dictionary of named ones. Later steps may be smaller.
        budget: Bytes or an amount such as ``"6GiB"``.
        blocks: Names of the blocks in the model, such as ``"layers.*"``; nested blocks are left
            out. The rest of the model runs as it is.
        inner: ``"eager"`` or ``"inductor"``, as for :func:`remat_bb.torch.compile`.
        accumulate: True counts gradients of earlier backward passes, to which the step adds.
        extra_bytes: Memory held during the step besides parameters, buffers, inputs and gradients,
            such as states of an optimizer that are not on a GPU yet.
        options: ``costs``, ``time_limit`` and ``threads``, as for :func:`remat_bb.torch.compile`.

    Returns:
        The blocks, compiled in place. Gradients, buffers and random numbers are as before.

    Raises:
        InvalidArgument: no block has such a name, a block is compiled already or does not run.
        InfeasibleBudget: no choice of plans keeps the budget; the message has the least peak.
    """
    allowed = amount(budget)
    settings = Settings(UNLIMITED, **{"extra_bytes": 0, "accumulate": False, **options})
    if settings.copying() is not None:
        raise no_copies("blocks compiled one by one")
    names = block_names(model, blocks)
    found = {name: _Block(model.get_submodule(name), allowed) for name in names}
    for name, block in found.items():
        if block.module.__dict__.get(PLACE) is not None:
            raise InvalidArgument(
                f"blocks: {name} is compiled already", remedy="leave out block.compile()"
            )
        block.module.__dict__[PLACE] = block
    made = Regional(allowed, _blocks=found)
    try:
        with _gradients(model, accumulate) as present:
            _Fit(made, model, inputs, settings, inner, extra_bytes + present).run()
    except BaseException:
        made.remove()
        raise
    return made


@contextmanager
def _gradients(model: torch.nn.Module, accumulate: bool) -> Iterator[int]:
    """Gives all parameters gradients in the block, if they are to be counted.

    Yields:
        Bytes of the gradients that are not on a GPU. The counter of a GPU has the others.
    """
    trained = [p for p in model.parameters() if p.requires_grad]
    lacking = [p for p in trained if p.grad is None] if accumulate else []
    for parameter in lacking:
        parameter.grad = torch.zeros_like(parameter)
    try:
        yield distinct_bytes(p.grad for p in trained if p.grad is not None and not p.is_cuda)
    finally:
        for parameter in lacking:
            parameter.grad = None


class _Fit:
    """Chooses and measures plans of blocks until the budget is kept.

    Args:
        beside: Bytes held during the step besides parameters, buffers and inputs.
    """

    def __init__(
        self,
        made: Regional,
        model: torch.nn.Module,
        inputs: Any,
        settings: Settings,
        inner: str,
        beside: int,
    ) -> None:
        self.made, self.inputs, self.settings, self.inner = made, inputs, settings, inner
        self.step = _loss_of(model)
        self.blocks = list(made._blocks.values())
        # The counter of a GPU has its tensors itself.
        on_host = (x for x in _tensors(model, inputs) if not x.is_cuda)
        self.fixed = beside + distinct_bytes(on_host)
        self.groups: dict[int, _Group] = {}

    def run(self) -> None:
        """Makes the choice.

        Raises:
            InfeasibleBudget: no choice keeps the budget.
        """
        whole = self._peak([_Group(self.settings, self.inner, None)] * len(self.blocks))
        offered = self._offered()
        places = [Place(each, _gradient_bytes(b.module)) for each, b in zip(offered, self.blocks)]
        # Memory of the rest of the model behind the last block, at most.
        head = max(0, whole - self.fixed - sum(each[0].saved_bytes for each in offered))
        room, least = self.made.budget_bytes - self.fixed, whole
        best: tuple[int, list[BlockPlan]] | None = None
        for attempt in range(ATTEMPTS):
            numbers = chosen(places, room, head)
            if numbers is None and attempt == 0:
                # The rest may need less memory once the blocks save less.
                head = 0
                numbers = chosen(places, room, head)
            if numbers is None:
                break
            plans = [each[number] for each, number in zip(offered, numbers)]
            if best is not None and _cost(plans) >= _cost(best[1]):
                break
            found = self._measured(plans)
            least = min(least, found)
            unused = self.made.budget_bytes - found
            if unused >= 0:
                best = found, plans
                if unused <= UNUSED * found or all(p is each[0] for p, each in zip(plans, offered)):
                    break
            if head:
                saved = sum(plan.saved_bytes for plan in plans)
                head = min(head, max(0, found - self.fixed - saved))
            room += unused
        if best is None:
            raise InfeasibleBudget(
                f"budget: no plans of these blocks keep {self.made.budget_bytes} bytes; the least "
                f"measured peak was {least} bytes",
                remedy="give more memory, smaller blocks, or plan the whole step with rt.compile",
                budget_bytes=self.made.budget_bytes,
                needed_bytes=least,
            )
        self._keep(*best, _cost([each[0] for each in offered]))

    def _offered(self) -> list[list[BlockPlan]]:
        """The plans to choose from, for each block. Equal blocks have the same list."""
        found: dict[int, list[BlockPlan]] = {}
        offered = []
        for name, block in self.made._blocks.items():
            if block.report is None:
                raise InvalidArgument(
                    f"blocks: {name} does not run in this step, or no tensor in it needs gradients",
                    remedy="leave it out of the names",
                )
            instance = block.report.instance
            if id(instance) not in found:
                found[id(instance)] = list(choices(instance, self.settings))
            offered.append(found[id(instance)])
        return offered

    def _peak(self, groups: list[_Group]) -> int:
        for block, group in zip(self.blocks, groups):
            block.group = group
        return measure(self.step, self.inputs, repeats=0)[0] + self.fixed

    def _grouped(self, plans: list[BlockPlan]) -> list[_Group]:
        for plan in plans:
            if id(plan) not in self.groups:
                self.groups[id(plan)] = _Group(self.settings, self.inner, plan)
        return [self.groups[id(plan)] for plan in plans]

    def _measured(self, plans: list[BlockPlan]) -> int:
        return self._peak(self._grouped(plans))

    def _keep(self, found: int, plans: list[BlockPlan], plain: int) -> None:
        """Notes the choice.

        Args:
            plain: Cost of the blocks without recomputation.
        """
        made = self.made
        made.measured_bytes = found
        for block, group in zip(self.blocks, self._grouped(plans)):
            block.group = group
        made.saved_bytes = {n: plan.saved_bytes for n, plan in zip(made._blocks, plans)}
        made.overhead = _cost(plans) / max(1, plain) - 1.0
        made.graphs = len({id(plan) for plan in plans})


def _cost(plans: list[BlockPlan]) -> int:
    return sum(plan.cost for plan in plans)


def _loss_of(model: torch.nn.Module) -> Callable[[Any], torch.Tensor]:
    def step(inputs: Any) -> torch.Tensor:
        found = model(**inputs) if isinstance(inputs, Mapping) else model(*inputs)
        for leaf in tree_leaves(found):
            if isinstance(leaf, torch.Tensor) and leaf.requires_grad and leaf.numel() == 1:
                return leaf
        raise InvalidArgument(
            "model: it returns no loss", remedy="give a model whose call returns the loss"
        )

    return step


def _tensors(model: torch.nn.Module, inputs: Any) -> list[torch.Tensor]:
    given = [leaf for leaf in tree_leaves(inputs) if isinstance(leaf, torch.Tensor)]
    return [*model.parameters(), *model.buffers(), *given]


def _gradient_bytes(module: torch.nn.Module) -> int:
    """Bytes of the gradients that a block's backward pass makes; it adds to present ones in
    place."""
    return sum(p.nbytes for p in module.parameters() if p.requires_grad and p.grad is None)
