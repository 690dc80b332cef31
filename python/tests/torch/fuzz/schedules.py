"""Random schedules in place of the solver's: more operators run again, in stranger orders."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from remat_bb.torch.instance import END

AGAIN_SHARE = 0.6
"""Share of the values that a call reads, and of those that are computed for it, that are computed
anew."""
DEPTH_LIMIT = 12
"""Operators at most that are computed one for the other."""


def scheduled(joint: Any, seed: int) -> list[tuple[Any, ...]]:
    """Statements of a plan: every call in its place, and before some of them a part of what they
    read once more. Whatever a plan may compute again is computed again somewhere."""
    source = random.Random(seed)
    steps: list[tuple[Any, ...]] = []
    ran: set[Any] = set()

    def run(call: Any) -> None:
        for value in call.values or [call.node]:
            steps.append(("compute", value.name, len(steps)))
        ran.add(call)

    def again(value: Any, depth: int) -> None:
        call = joint.call_of[value]
        if call.once or depth > DEPTH_LIMIT or source.random() > AGAIN_SHARE:
            return
        for need in call.needs:
            again(need, depth + 1)
        run(call)

    # A third of the schedules computes again in the forward pass as well.
    first = 0 if source.random() < 0.3 else joint.forward
    for place, call in enumerate(joint.calls):
        if place >= first:
            for value in call.needs:
                again(value, 0)
        run(call)
    steps.append(("compute", END, len(steps)))
    return steps


@contextmanager
def random_schedules(seed: int) -> Iterator[list[int]]:
    """Writes graphs from random schedules in the block.

    Yields:
        The number of operators that each of them computes again.
    """
    module = sys.modules["remat_bb.torch.planner"]
    plain, again = module.rewrite, []

    def rewrite(joint: Any, _: Any) -> Any:
        steps = scheduled(joint, seed)
        again.append(len(steps) - len({step[1] for step in steps}))
        return plain(joint, steps)

    module.rewrite = rewrite
    try:
        yield again
    finally:
        module.rewrite = plain
