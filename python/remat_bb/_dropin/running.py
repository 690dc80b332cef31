"""Solves with a log and with partial starts."""

from __future__ import annotations

import math
import time
from typing import Any

from .._native import Answer, Program
from .log import Log, differing, opened
from .options import Settings

COMPLETION_NODES = 200
"""Nodes that the completion of a start may take."""

COMPLETION_SECONDS = 5.0
"""Longest time that the completion of a start may take without a time limit."""

LIMITS = frozenset(
    ("time limit", "node limit", "iteration limit", "memory limit", "work limit", "interrupted")
)
"""Statuses of a search that was ended from outside."""


CLOSED_GAP = 1.01e-9
"""Absolute difference of objective and bound up to which a relative gap is 0."""


TINY_DUAL = 1e-13
"""Duals and reduced costs below this are remains of the arithmetic."""


def relative_gap(answer: Answer) -> float:
    """``|objective - bound| / |objective|``, 0 where both are equal within the absolute gap."""
    if answer.objective is not None and abs(answer.objective - answer.bound) <= CLOSED_GAP:
        return 0.0
    return answer.gap


def clean(vector: Any) -> Any:
    """Sets entries of a vector of duals below ``TINY_DUAL`` to 0."""
    vector[abs(vector) < TINY_DUAL] = 0.0
    return vector


def solve(
    program: Program, settings: Settings, start: Any = None, log: Log | None = None
) -> Answer:
    """Solves a program with settings.

    Args:
        start: Values by handle, NaN for unknown ones; ``None`` for no start.
        log: Log that replaces the log of the settings.

    Raises:
        KeyboardInterrupt: Ctrl-C before a first point was found.
    """
    if log is None:
        with opened(settings) as own:
            return solve(program, settings, start, own)
    arguments = settings.arguments()
    log.begin(program, differing(arguments))
    begun = time.monotonic()
    if start is not None and program.has_integers:
        point = completed(program, start, arguments)
        if point is not None:
            arguments["starts"] = [point]
        if isinstance(arguments.get("time_limit"), float):
            left = arguments["time_limit"] - (time.monotonic() - begun)
            arguments["time_limit"] = max(0.0, left)
    if log.is_on:
        arguments["on_progress"] = log.progress
    answer = program.solve(**arguments)
    log.end(answer)
    return answer


def completed(program: Program, start: Any, arguments: dict[str, Any]) -> list[float] | None:
    """Completes a start: fixes its known integers and searches briefly for the rest.

    ``None`` if no integer is known or no point was found.
    """
    values = [float(value) for value in start]
    cols = [col for col in program.cols if col < len(values)]
    integers = [col for col in cols if program.kind(col) != "C"]
    known = [col for col in integers if math.isfinite(values[col])]
    if not known:
        return None
    for col in known:
        values[col] = float(round(values[col]))
    if len(cols) == program.num_cols and all(math.isfinite(values[col]) for col in cols):
        return values
    bounds = {col: program.bounds(col) for col in known}
    if any(not low <= values[col] <= high for col, (low, high) in bounds.items()):
        return None
    limit = arguments.get("time_limit")
    seconds = COMPLETION_SECONDS if not isinstance(limit, float) else 0.1 * limit
    try:
        for col in known:
            program.set_bounds(col, values[col], values[col])
        answer = program.solve(
            time_limit=seconds, node_limit=COMPLETION_NODES, gap=1e-2, recognise=False
        )
    finally:
        for col, (low, high) in bounds.items():
            program.set_bounds(col, low, high)
    point = answer.x()
    return None if point is None else [float(value) for value in point]
