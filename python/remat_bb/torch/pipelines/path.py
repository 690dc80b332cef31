"""The cut of least objective: stages as a path through positions.

A step of a pipeline takes ``sum_s T_s + (n - 1) * max_s T_s`` (Zheng et al., OSDI 2022, equation
1). For each bound on the maximum, the least sum is a shortest path over intervals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Times = Callable[[int, int, int], "int | None"]
"""Time of the interval from one position to another on a stage; ``None`` if it does not fit."""


@dataclass(frozen=True)
class Objective:
    """Time of a step from the times of its stages.

    Args:
        microbatches: Micro-batches of one step.
        chunks: Stages on each device. With several, a device alternates between its stages, so a
            step takes ``sum_s T_s / chunks + (n * chunks - 1) * max_s T_s`` (Narayanan et al., SC
            2021, section 2.2, for stages of equal times).
    """

    microbatches: int
    chunks: int = 1

    def of(self, total: int, most: int) -> float:
        """Time of a step from the sum and the maximum of the stages' times."""
        return total / self.chunks + (self.microbatches * self.chunks - 1) * most


@dataclass(frozen=True)
class Path:
    """A cut.

    Attributes:
        cuts: Positions at which the stages begin, and the end.
        value: Its objective.
    """

    cuts: tuple[int, ...]
    value: float

    def intervals(self) -> list[tuple[int, int, int]]:
        """Stages with begin and end."""
        ends = zip(self.cuts, self.cuts[1:], strict=False)
        return [(stage, begin, end) for stage, (begin, end) in enumerate(ends)]


def intervals(stages: int, positions: int) -> list[tuple[int, int, int]]:
    """Stages with begin and end, in cuts of ``positions`` pieces into stages of at least one."""
    found = []
    for stage in range(stages):
        after = stages - 1 - stage
        for begin in range(stage, positions - after) if stage else [0]:
            ends = range(begin + 1, positions - after + 1) if after else [positions]
            found += [(stage, begin, end) for end in ends if end > begin]
    return found


def shortest(stages: int, positions: int, times: Times, objective: Objective) -> Path | None:
    """The cut of least objective; ``None`` if no cut fits.

    Args:
        stages: Number of stages.
        positions: Number of pieces between them.
    """
    found = ((each, times(*each)) for each in intervals(stages, positions))
    table = {each: time for each, time in found if time is not None}
    bounds = sorted(set(table.values()))
    free = _least_sum(stages, positions, table, None)
    if free is None:
        return None
    low, high = 0, len(bounds) - 1
    while low < high:
        # The least bound that admits a cut.
        middle = (low + high) // 2
        if _least_sum(stages, positions, table, bounds[middle]) is None:
            low = middle + 1
        else:
            high = middle
    best: Path | None = None
    for bound in bounds[low:]:
        if best is not None and objective.of(free[0], bound) >= best.value:
            break
        found_path = _least_sum(stages, positions, table, bound)
        assert found_path is not None
        total, cuts = found_path
        most = max(table[each] for each in Path(cuts, 0.0).intervals())
        value = objective.of(total, most)
        if best is None or value < best.value:
            best = Path(cuts, value)
    return best


def _least_sum(
    stages: int, positions: int, table: dict[tuple[int, int, int], int], bound: int | None
) -> tuple[int, tuple[int, ...]] | None:
    """The cut of least total time whose intervals take at most ``bound``."""
    reached: dict[int, tuple[int, tuple[int, ...]]] = {0: (0, (0,))}
    ways: list[list[tuple[int, int, int]]] = [[] for _ in range(stages)]
    for (stage, begin, end), time in table.items():
        if bound is None or time <= bound:
            ways[stage].append((begin, end, time))
    for stage in range(stages):
        after: dict[int, tuple[int, tuple[int, ...]]] = {}
        for begin, end, time in ways[stage]:
            if begin in reached:
                total, cuts = reached[begin]
                if end not in after or total + time < after[end][0]:
                    after[end] = (total + time, (*cuts, end))
        reached = after
    return reached.get(positions)
