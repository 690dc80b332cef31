"""Restoring of pickled objects."""

from __future__ import annotations

from typing import Any

from . import _native


def restore(kind: str, state: tuple[Any, ...]) -> Any:
    """An object of the native class ``kind`` with the given state."""
    return getattr(_native, kind).__restored__(*state)
