"""Display of a solve in progress: a ``tqdm`` bar in a terminal or notebook, or lines on standard
error if ``tqdm`` is not installed."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from ._native import Instance, Progress, parse_seconds

Callback = Callable[[Progress], object]
# Least number of seconds between two lines.
_SILENCE = 2.0
# Seconds after which a bar shows the time again.
_REDRAW = 1.0


@contextmanager
def shown(
    instance: Instance, on_progress: Callback | None, progress: bool, limit: Any = None
) -> Iterator[Callback | None]:
    """The callback for a solve: updates the bar, if one is wanted, and then calls the user's
    callback.

    With a time limit for the whole solve the bar shows elapsed time.
    """
    if not progress:
        yield on_progress
        return
    display = _display(instance, None if limit is None else parse_seconds(limit))

    def both(look: Progress) -> None:
        display.update(look)
        if on_progress is not None:
            on_progress(look)

    try:
        yield both
    finally:
        display.close()


def words(instance: Instance, look: Progress) -> str:
    """The state of a solve as text."""
    text = f"budget {min(look.done + 1, look.total)} of {look.total}, " if look.total > 1 else ""
    if look.objective is None:
        text += "no plan yet"
    else:
        text += f"best {instance.format_cost(look.objective)}"
    text += f", bound {instance.format_cost(look.bound)}"
    return text if look.gap is None else f"{text}, gap {look.gap:.2%}"


def _display(instance: Instance, limit: float | None) -> _Bar | _Lines:
    try:
        tqdm = import_module("tqdm.auto").tqdm
    except ImportError:
        return _Lines(instance)
    return _Bar(instance, tqdm, limit)


class _Bar:
    """A bar that counts the budgets of a frontier or the time of a solve. Without a time limit a
    solve has only text."""

    def __init__(self, instance: Instance, tqdm: Any, limit: float | None) -> None:
        self._instance = instance
        self._limit = limit
        self._tqdm = tqdm
        self._bar: Any = None
        self._shown = ("", 0.0)

    def update(self, look: Progress) -> None:
        many = look.total > 1
        if self._bar is None:
            total = look.total if many else self._limit
            count = "{n_fmt}/{total_fmt}, " if many else ""
            full = f"{{l_bar}}{{bar}}| {count}{{elapsed}}{{postfix}}"
            self._bar = self._tqdm(
                desc=self._instance.name,
                total=total,
                bar_format=full if total else "{desc}: {elapsed}{postfix}",
            )
        if many:
            self._bar.n = look.done
        elif self._limit:
            self._bar.n = min(look.seconds, self._limit)
        text, now = words(self._instance, look), time.monotonic()
        if text != self._shown[0] or now - self._shown[1] >= _REDRAW:
            self._shown = (text, now)
            self._bar.set_postfix_str(text)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


class _Lines:
    """A line on standard error for each change, at most one in ``_SILENCE`` seconds."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._last = float("-inf")
        self._unsaid: str | None = None
        self._said: str | None = None

    def update(self, look: Progress) -> None:
        line = words(self._instance, look)
        self._unsaid = None if line == self._said else f"{look.seconds:8.1f} s  {line}"
        if self._unsaid is not None and time.monotonic() - self._last >= _SILENCE:
            self._say(line)

    def close(self) -> None:
        self._say(None)

    def _say(self, line: str | None) -> None:
        if self._unsaid is not None:
            sys.stderr.write(f"{self._unsaid}\n")
            self._last, self._said, self._unsaid = time.monotonic(), line, None
