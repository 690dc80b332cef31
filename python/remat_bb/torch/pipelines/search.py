"""Outer problem: the cut of least objective, with a bound.

Bounds of all intervals give an optimistic cut. Its intervals are solved, which raises bounds, until
all intervals of the optimistic cut have plans. Its value is then a bound of every cut.
"""

from __future__ import annotations

from dataclasses import dataclass

from .intervals import Intervals
from .path import Objective, Path, shortest

GAP = 0.001
"""Proven gap that ends the search."""


@dataclass(frozen=True)
class Found:
    """The result of the search.

    Attributes:
        path: The best cut; ``None`` if no cut has plans for all stages.
        bound: A lower bound of the objective of every cut; ``None`` if no cut fits.
    """

    path: Path | None
    bound: float | None


def search(intervals: Intervals, objective: Objective) -> Found:
    """The best cut of a model.

    Args:
        intervals: Plans of intervals, with the budget of each stage.
    """
    stages, positions = len(intervals.places), len(intervals.pieces)

    def upper(stage: int, begin: int, end: int) -> int | None:
        known = intervals.known.get((stage, begin, end))
        return intervals.lower(stage, begin, end) if known is None else known.time

    def solved_only(stage: int, begin: int, end: int) -> int | None:
        known = intervals.known.get((stage, begin, end))
        return None if known is None else known.time

    while True:
        optimistic = shortest(stages, positions, intervals.lower, objective)
        if optimistic is None:
            return Found(None, None)
        best = shortest(stages, positions, solved_only, objective)
        if best is not None and best.value - optimistic.value <= GAP * best.value:
            return Found(best, optimistic.value)
        # Plans may exceed their bounds, so the next cut to solve mixes both.
        hopeful = shortest(stages, positions, upper, objective)
        open_intervals = [
            each
            for path in (optimistic, hopeful)
            if path is not None
            for each in path.intervals()
            if each not in intervals.known
        ]
        if not open_intervals:
            return Found(best, optimistic.value)
        intervals.solve(*open_intervals[0])
