"""Plans of one block: the best ones that keep a limit on saved bytes and on the peak.

The instance of a block has gradients from outside (tangents) between its forward and its backward
pass. A workspace of the first tangent limits the memory that is in use there: the saved bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .. import _native
from .._solve import solve
from ..errors import InfeasibleBudget, InvalidArgument, LimitReached
from .planner import Settings

SAVED = (0.7, 0.45, 0.25, 0.12, 0.0)
"""Limits on saved bytes, as shares of the bytes that could be saved."""
PEAKS = (1.0, 0.7)
"""Limits on the peak of a block, as shares of its peak without recomputation."""


@dataclass(frozen=True)
class BlockPlan:
    """A plan of a block.

    Attributes:
        plan: The plan.
        saved_bytes: Bytes in use between the block's forward and backward pass, besides the inputs
            of the block.
        peak_bytes: Peak of the block, besides its inputs.
        cost: Cost of the block's step in nanoseconds.
    """

    plan: _native.Plan
    saved_bytes: int
    peak_bytes: int
    cost: int


def plan_within(
    instance: _native.Instance, saved_bytes: int, peak_bytes: int, options: dict[str, Any]
) -> BlockPlan:
    """A plan of a block within limits.

    Args:
        instance: The block's step.
        saved_bytes, peak_bytes: The limits, besides inputs of the block.
        options: Arguments of the solver.

    Raises:
        InfeasibleBudget, LimitReached: no plan keeps them, or none was found.
    """
    document = instance.to_dict()
    fixed = document.get("fixed_bytes", 0)
    tangent = _first_tangent(document)
    room = peak_bytes - tangent.get("output_bytes", 0) - saved_bytes
    tangent["workspace_bytes"] = max(0, room)
    limited = _native.Instance(document)
    found = solve(limited, fixed + peak_bytes, formulation="checkmate", **options)
    return _measured(instance, _native.Plan.load(instance, found.to_dict()))


def without_recomputation(instance: _native.Instance, options: dict[str, Any]) -> BlockPlan:
    """The plan of a block that saves all it needs."""
    found = solve(instance, instance.peak_memory_bytes, formulation="checkmate", **options)
    return _measured(instance, found)


def choices(instance: _native.Instance, settings: Settings) -> Iterator[BlockPlan]:
    """Plans of a block, from many saved bytes to few."""
    options = {"threads": settings.threads, **settings.effort(instance)}
    whole = without_recomputation(instance, options)
    yield whole
    for share in SAVED:
        for height in PEAKS:
            saved = int(share * whole.saved_bytes)
            try:
                yield plan_within(instance, saved, int(height * whole.peak_bytes), options)
            except (InfeasibleBudget, LimitReached):
                continue


def _first_tangent(document: dict[str, Any]) -> dict[str, Any]:
    for node in document["nodes"]:
        if node.get("op") == "input" and node.get("kind") == "backward":
            return node
    raise InvalidArgument(
        "blocks: a block has no gradient from outside, so it holds the loss",
        remedy="leave the loss out of the blocks",
    )


def _measured(instance: _native.Instance, plan: _native.Plan) -> BlockPlan:
    document = instance.to_dict()
    bytes_of = dict(sizes(instance))
    boundary = _first_tangent(document)["name"]
    live: dict[int, str] = {}
    for step in plan.steps:
        if step[0] == "allocate":
            live[step[1]] = step[2]
        elif step[0] == "deallocate":
            live.pop(step[1], None)
        elif step[0] == "compute" and step[1] == boundary:
            break
    saved = sum(bytes_of[name] for name in set(live.values()) if name != boundary)
    peak = plan.peak_memory_bytes - document.get("fixed_bytes", 0)
    return BlockPlan(plan, saved, peak, int(plan.objective))


def sizes(instance: _native.Instance) -> list[tuple[str, int]]:
    """Names and bytes of all nodes, and the bytes of the inputs: the graph of a block, apart from
    costs."""
    document = instance.to_dict()
    found = [(node["name"], node.get("output_bytes", 0)) for node in document["nodes"]]
    return [("", document.get("fixed_bytes", 0)), *found]
