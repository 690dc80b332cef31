"""Solves with a log and with partial starts."""

from __future__ import annotations

import math
import sys
import time
from contextlib import contextmanager
from typing import IO, Any, Iterator

from .._native import Answer, Program, ProgramProgress, __version__
from .options import Settings, switch

LINE_SECONDS = 1.0
"""Least time between two lines of a log."""

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


class Log:
    """A log of a solve on a stream; without a stream its lines are dropped."""

    def __init__(self, stream: IO[str] | None) -> None:
        self.stream = stream
        self._last = -math.inf

    def line(self, text: str) -> None:
        """Writes a line at once."""
        if self.stream is not None:
            self.stream.write(text + "\n")
            self.stream.flush()

    def progress(self, look: ProgramProgress) -> None:
        """Writes the state of the search, at most once in ``LINE_SECONDS``."""
        if time.monotonic() - self._last < LINE_SECONDS:
            return
        self._last = time.monotonic()
        best = "-" if look.objective is None else f"{look.objective:.10g}"
        self.line(
            f"{look.seconds:9.1f} s  nodes {look.nodes:>8}  open {look.open:>7}"
            f"  bound {look.bound:.10g}  best {best}"
        )


@contextmanager
def opened(settings: Settings) -> Iterator[Log]:
    """The log of the settings: a file, standard output, or a log without a stream."""
    if settings.log_path:
        with open(settings.log_path, "w", encoding="utf-8") as file:
            yield Log(file)
    else:
        yield Log(sys.stdout if switch(settings.verbose) else None)


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
    log.line(
        f"remat-bb {__version__}: {program.num_rows} rows, {program.num_cols} columns, "
        f"{program.num_nonzeros} entries" + (", integers" if program.has_integers else "")
    )
    begun = time.monotonic()
    if start is not None and program.has_integers:
        point = completed(program, start, arguments)
        if point is not None:
            arguments["starts"] = [point]
        if isinstance(arguments.get("time_limit"), float):
            left = arguments["time_limit"] - (time.monotonic() - begun)
            arguments["time_limit"] = max(0.0, left)
    if log.stream is not None:
        arguments["on_progress"] = log.progress
    answer = program.solve(**arguments)
    best = "no solution" if answer.objective is None else f"objective {answer.objective:.12g}"
    log.line(
        f"{answer.status}: {best}, bound {answer.bound:.12g}, nodes {answer.nodes}, "
        f"iterations {answer.lp_iterations}, {answer.seconds:.2f} s"
    )
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
