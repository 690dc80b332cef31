"""The choice of one plan for each block of a model, such that the step keeps a budget.

Blocks run in order, and their backward passes in the opposite order. While a block's backward pass
runs, values saved by earlier blocks and gradients of later ones are in memory. A table over
the bytes saved so far gives the cheapest choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .block_plans import BlockPlan

CELLS = 1024
"""Cells of the table: saved bytes are rounded up to this part of the room."""


@dataclass(frozen=True)
class Place:
    """A block in the order of the forward pass.

    Attributes:
        plans: The plans to choose from.
        gradient_bytes: Bytes of the gradients of its parameters.
    """

    plans: Sequence[BlockPlan]
    gradient_bytes: int


def chosen(places: Sequence[Place], room: int, head: int) -> list[int] | None:
    """The cheapest choice.

    Args:
        room: Bytes for saved values, gradients and workspaces of all blocks.
        head: Bytes that the rest of the model needs behind the last block, such as the loss.

    Returns:
        The number of a plan for each place; ``None`` if no choice keeps the room.
    """
    if room <= 0:
        return None
    unit = -(-room // CELLS)
    after = sum(place.gradient_bytes for place in places)
    # For each number of cells in use: cost, and the choices so far.
    best: dict[int, tuple[int, tuple[int, ...]]] = {0: (0, ())}
    for place in places:
        after -= place.gradient_bytes
        following: dict[int, tuple[int, tuple[int, ...]]] = {}
        for cells, (cost, taken) in best.items():
            for number, plan in enumerate(place.plans):
                if cells * unit + plan.peak_bytes + after > room:
                    continue
                used = cells + -(-plan.saved_bytes // unit)
                entry = cost + plan.cost, (*taken, number)
                if used * unit <= room and (used not in following or entry < following[used]):
                    following[used] = entry
        best = following
    fitting = [entry for cells, entry in best.items() if cells * unit + head <= room]
    return list(min(fitting)[1]) if fitting else None
