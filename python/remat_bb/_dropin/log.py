"""The log of a solve: the text that ``remat-bb mip`` shows, for every modelling library."""

from __future__ import annotations

import inspect
import sys
import time
from contextlib import contextmanager
from typing import IO, Any, Callable, Iterator

from .._native import Answer, Program, ProgramProgress, SearchLog
from .options import Settings, switch

ROW_SECONDS = 1.0
"""Least time between two rows without a better point."""

NOT_SETTINGS = frozenset(
    ("self", "starts", "hints", "objectives", "stop", "on_progress", "on_point", "separate")
    + ("suggest", "lazy_rows", "at_nodes")
)
"""Arguments of :meth:`remat_bb.Program.solve` that a log does not mention."""

DEFAULTS: dict[str, Any] = {
    name: argument.default
    for name, argument in inspect.signature(Program.solve).parameters.items()
    if name not in NOT_SETTINGS
}
"""Arguments of :meth:`remat_bb.Program.solve` that a log mentions, with their defaults."""


def differing(arguments: dict[str, Any]) -> list[tuple[str, str]]:
    """Names and values of the arguments of a solve that differ from their defaults."""
    return [
        (name, str(arguments[name]))
        for name, default in DEFAULTS.items()
        if arguments.get(name) is not None and arguments[name] != default
    ]


class Log:
    """A log of one solve; without a function that writes, nothing is written.

    Args:
        write: Takes text with line ends.
        seconds: Least time between two rows without a better point.
    """

    def __init__(
        self, write: Callable[[str], Any] | None, seconds: Callable[[], float] = lambda: ROW_SECONDS
    ) -> None:
        self._write, self._seconds = write, seconds
        self._text = SearchLog()
        self._last = time.monotonic()
        self._best: float | None = None

    @classmethod
    def to(cls, stream: IO[str] | None) -> Log:
        """A log on a stream, which is flushed after each text."""
        if stream is None:
            return cls(None)

        def write(text: str) -> None:
            stream.write(text)
            stream.flush()

        return cls(write)

    @property
    def is_on(self) -> bool:
        """True if text is written."""
        return self._write is not None

    def begin(self, program: Program, settings: list[tuple[str, str]]) -> None:
        """Writes the size of a program and the settings that differ from their defaults."""
        if self._write is not None:
            self._write(self._text.head(program, settings))

    def progress(self, snapshot: ProgramProgress) -> None:
        """Writes the state of the search, if a better point was found or the time has come."""
        is_due = time.monotonic() - self._last >= self._seconds()
        if self._write is None or not (is_due or snapshot.objective != self._best):
            return
        self._last, self._best = time.monotonic(), snapshot.objective
        self._write(self._text.row(snapshot))

    def end(self, answer: Answer) -> None:
        """Writes the status, the best objective, the bound and the work."""
        if self._write is not None:
            self._write(self._text.ending(answer))


@contextmanager
def opened(settings: Settings) -> Iterator[Log]:
    """The log of settings: in a file, on standard output, or off."""
    if settings.log_path:
        with open(settings.log_path, "w", encoding="utf-8") as file:
            yield Log.to(file)
    else:
        yield Log.to(sys.stdout if switch(settings.verbose) else None)
