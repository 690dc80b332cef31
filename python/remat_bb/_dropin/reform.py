"""Exact reformulations with binary columns: ordered sets, semicontinuous columns.

Both need finite bounds. A missing bound comes from the linear relaxation: the extreme value of the
column there bounds the column at every point of the program.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .._native import Program

SAFETY = 1e-6
"""Relative margin of bounds that a linear program proved, which holds within its tolerances."""

BOUND_SECONDS = 30.0
"""Longest time that the search for a missing bound may take."""

INF = math.inf


@dataclass(frozen=True)
class Switched:
    """A column that is 0 if all its switches are 0, and else within its bounds."""

    col: int
    switches: tuple[int, ...]
    low: float = -INF
    high: float = INF


def snap(x: Any, switched: Iterable[Switched]) -> Any:
    """A point whose columns obey their switches exactly, not only within a tolerance."""
    for entry in switched:
        on = any(x[switch] != 0.0 for switch in entry.switches)
        x[entry.col] = min(max(x[entry.col], entry.low), entry.high) if on else 0.0
    return x


class Unbounded(ValueError):
    """A column without a needed bound, neither its own nor one implied by the rows."""


def finite_bounds(program: Program, col: int, name: str) -> tuple[float, float]:
    """Finite bounds of a column, its own or proven by the linear relaxation.

    Raises:
        Unbounded: a bound is missing; the message names the column.
    """
    low, high = program.bounds(col)
    if math.isfinite(low) and math.isfinite(high):
        return low, high
    costs = {k: program.cost(k) for k in program.cols if program.cost(k) != 0.0}
    kinds = {k: program.kind(k) for k in program.cols if program.kind(k) != "C"}
    maximise = program.maximise
    try:
        for k in costs:
            program.set_cost(k, 0.0)
        for k in kinds:
            low_k, high_k = program.bounds(k)
            if kinds[k] == "B":
                program.set_bounds(k, max(low_k, 0.0), min(high_k, 1.0))
            program.set_kind(k, "C")
        program.set_cost(col, 1.0)
        found = []
        for upwards, own in ((False, low), (True, high)):
            value = own
            if not math.isfinite(own):
                program.maximise = upwards
                answer = program.solve(time_limit=BOUND_SECONDS)
                if answer.status == "infeasible":
                    value = 0.0
                elif answer.status == "optimal" and answer.objective is not None:
                    value = answer.objective - program.offset
                    margin = SAFETY * max(1.0, abs(value))
                    value += margin if upwards else -margin
                else:
                    side = "upper" if upwards else "lower"
                    raise Unbounded(
                        f"{name} is in an ordered set or is semicontinuous and has no {side} "
                        "bound, of its own or from the rows; give it one"
                    )
            found.append(value)
    finally:
        program.set_cost(col, 0.0)
        for k, cost in costs.items():
            program.set_cost(k, cost)
        for k, kind in kinds.items():
            program.set_kind(k, kind)
        program.maximise = maximise
    return found[0], found[1]


def _switched(program: Program, col: int, switches: list[int], name: str) -> None:
    """Adds rows ``low * sum(switches) <= x <= high * sum(switches)``: ``x`` is 0 if all switches
    are 0."""
    low, high = finite_bounds(program, col, name)
    count = len(switches)
    program.add_rows(
        [-INF], [0.0], [0, count + 1], [col, *switches], [1.0, *([-max(high, 0.0)] * count)]
    )
    program.add_rows(
        [0.0], [INF], [0, count + 1], [col, *switches], [1.0, *([-min(low, 0.0)] * count)]
    )


def _binaries(program: Program, count: int) -> list[int]:
    first = program.add_cols([0.0] * count, [1.0] * count, [0.0] * count, "B" * count)
    return list(range(first, first + count))


def add_sos(
    program: Program, kind: int, cols: Sequence[int], names: Sequence[str]
) -> list[Switched]:
    """Adds an ordered set. Of its columns, in this order, one (kind 1) or two neighbours (kind 2)
    may differ from 0.

    Returns:
        The columns with their switches, for :func:`snap`.

    Raises:
        Unbounded: a column without bounds.
    """
    if kind not in (1, 2):
        raise ValueError(f"ordered sets are of kind 1 or 2, not {kind}")
    count = len(cols)
    if count <= kind:
        return []
    if kind == 1:
        switches = _binaries(program, count)
        groups = [[switch] for switch in switches]
    else:
        switches = _binaries(program, count - 1)
        groups = [switches[max(0, k - 1) : k + 1] for k in range(count)]
    for col, group, name in zip(cols, groups, names):
        _switched(program, col, group, name)
    program.add_rows([-INF], [1.0], [0, len(switches)], switches, [1.0] * len(switches))
    return [Switched(col, tuple(group)) for col, group in zip(cols, groups)]


def make_semicontinuous(program: Program, col: int, name: str) -> list[Switched]:
    """Lets a column be 0 or within its bounds. Its bounds are widened to include 0.

    Returns:
        The column with its switch, for :func:`snap`; empty if 0 is within its bounds.

    Raises:
        Unbounded: a column without bounds.
    """
    low, high = program.bounds(col)
    if low <= 0.0 <= high:
        return []
    if low > 0.0:
        program.set_bounds(col, 0.0, high)
    else:
        program.set_bounds(col, low, 0.0)
    if not (math.isfinite(low) and math.isfinite(high)):
        proven_low, proven_high = finite_bounds(program, col, name)
        low, high = max(low, proven_low), min(high, proven_high)
    (switch,) = _binaries(program, 1)
    program.add_rows([-INF], [0.0], [0, 2], [col, switch], [1.0, -high])
    program.add_rows([0.0], [INF], [0, 2], [col, switch], [1.0, -low])
    return [Switched(col, (switch,), low, high)]
