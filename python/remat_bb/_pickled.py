"""Objects out of pickles."""

from __future__ import annotations

from typing import Any

from . import _native


def restore(kind: str, state: tuple[Any, ...]) -> Any:
    """The object of a native class, by its name, with its state."""
    return getattr(_native, kind).__restored__(*state)
