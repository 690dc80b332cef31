"""Policies for selective activation checkpointing without ``torch.compile``.

A plan determines the saved tensors of each block. A policy of ``torch.utils.checkpoint`` expresses
the same by operator and by the place among its calls in the block. The policy is coarser: a block
computes all unsaved tensors again at once, and inputs of blocks are kept.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from typing import Any

import torch
from torch.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    create_selective_checkpoint_contexts,
)

from .._amounts import amount
from ..errors import InfeasibleBudget, InvalidArgument, LimitReached
from . import _compat
from .backend import measure, traced
from .exclusions import no_copies
from .modules import paths_of
from .partition import Joint
from .planner import Planner, Settings
from .purity import is_known

Place = tuple[Any, int]
"""An operator, and which of its calls in a block it is."""

SHARES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5)
"""Shares of the budget that plans are asked for in turn, until the policies' own peak keeps it."""


@dataclass
class Policies:
    """Operators that each block saves.

    Attributes:
        saved: For each block, by its name in the model, the places whose outputs are saved.
        measured_bytes: Peak of a step with the policies, measured by
            :func:`remat_bb.torch.measure`, with parameters, buffers and inputs.
    """

    saved: dict[str, frozenset[Place]]
    measured_bytes: int = 0
    _undo: list[Callable[[], None]] = field(default_factory=list, repr=False)

    def context(self, block: str) -> Callable[[], Any]:
        """The ``context_fn`` for ``checkpoint`` of a block."""
        saved = self.saved[block]

        def contexts() -> Any:
            # Forward pass and recomputation have separate counts, because either may end early.
            counts: dict[bool, Counter[Any]] = {False: Counter(), True: Counter()}

            def policy(ctx: Any, op: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
                count = counts[bool(ctx.is_recompute)]
                place = (op, count[op])
                count[op] += 1
                # An operator that may have a hidden state runs once.
                keep = place in saved or not is_known(op)
                return CheckpointPolicy.MUST_SAVE if keep else CheckpointPolicy.PREFER_RECOMPUTE

            return create_selective_checkpoint_contexts(policy)

        return contexts

    def apply(self, model: torch.nn.Module) -> None:
        """Wraps the blocks of a model; :meth:`remove` undoes it."""
        for name in self.saved:
            block = model.get_submodule(name)
            block.forward = functools.partial(
                checkpoint, block.forward, use_reentrant=False, context_fn=self.context(name)
            )
            self._undo.append(functools.partial(_restore, block))

    def remove(self) -> None:
        """Removes the wrapping from all models."""
        while self._undo:
            self._undo.pop()()


def _restore(block: torch.nn.Module) -> None:
    del block.forward


def checkpoint_policies(
    model: torch.nn.Module,
    inputs: Sequence[Any],
    budget: int | str,
    blocks: str,
    **options: Any,
) -> Policies:
    """Finds policies of selective checkpointing with which the measured peak of an eager step keeps
    a budget.

    Args:
        model: Returns the loss. Its gradients are ``None`` afterwards.
        inputs: Its arguments.
        budget: Bytes or an amount such as ``"6GiB"``.
        blocks: Names of the blocks in the model, such as ``"layers.*"``; nested blocks are left
            out.
        options: ``costs`` and ``time_limit`` as for :func:`remat_bb.torch.compile`.

    Returns:
        The policies, not applied yet.

    Raises:
        InvalidArgument: no block has such a name, or no policies were found that keep the budget;
            the message then has the least measured peak.
    """
    allowed = amount(budget)
    if Settings(allowed, **options).copying() is not None:
        raise no_copies("policies")
    names = block_names(model, blocks)
    least: int | None = None
    for share in SHARES:
        planner = Planner(Settings(int(allowed * share), **options), stop="policies")
        try:
            joint, report, graphs = traced(model, inputs, planner)
        except (InfeasibleBudget, LimitReached):
            break
        taken = graphs.backward.graph.find_nodes(op="placeholder")
        policies = Policies(_saved(joint, {node.name for node in taken}, names))
        policies.apply(model)
        try:
            model.zero_grad()
            found = measure(model, *inputs, repeats=0)[0]
            if not any(x.is_cuda for x in model.parameters()):
                found += report.fixed_bytes
        finally:
            policies.remove()
            model.zero_grad()
        policies.measured_bytes = found
        if found <= allowed:
            return policies
        least = found if least is None else min(least, found)
    reached = "nothing fits into it" if least is None else f"the least peak was {least} bytes"
    raise InvalidArgument(
        f"budget: no policies over these blocks keep {allowed} bytes: {reached}",
        remedy="give more, smaller blocks, or compile the step",
    )


def block_names(model: torch.nn.Module, blocks: str) -> list[str]:
    """Names of the blocks of a model that match a pattern, without nested ones.

    Raises:
        InvalidArgument: no name matches.
    """
    names = [name for name, _ in model.named_modules() if name and fnmatch(name, blocks)]
    names = [n for n in names if not any(n != m and n.startswith(m + ".") for m in names)]
    if not names:
        raise InvalidArgument(
            f"blocks: no module of the model is called {blocks!r}",
            remedy="give a pattern of names such as 'layers.*'",
        )
    return names


def _saved(joint: Joint, kept: set[str], names: list[str]) -> dict[str, frozenset[Place]]:
    """Places of each block whose values are inputs of the backward graph."""
    saved: dict[str, set[Place]] = {name: set() for name in names}
    counts: dict[str, Counter[Any]] = {name: Counter() for name in names}
    for node in joint.module.graph.nodes:
        if node.op != "call_function" or _compat.is_getitem(node) or _compat.is_backward(node):
            continue
        block = _block_of(node, names)
        if block is None:
            continue
        place = (node.target, counts[block][node.target])
        counts[block][node.target] += 1
        call = joint.call_of.get(node)
        # Redundant clones were removed from the graph, so the places of clones are unknown.
        if call is None or node.target is torch.ops.aten.clone.default:
            continue
        if any(value.name in kept for value in call.values):
            saved[block].add(place)
    return {name: frozenset(places) for name, places in saved.items()}


def _block_of(node: Any, names: list[str]) -> str | None:
    """The block whose call made a node."""
    for path in paths_of(node):
        if path in names:
            return path
    return None
