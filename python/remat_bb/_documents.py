"""Dictionaries as JSON documents."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from . import errors


def text(document: Any, what: str, class_name: str) -> str:
    """JSON text of a dictionary. Errors have the class ``class_name`` and call the dictionary
    ``what``."""
    return json.dumps(_plain(document, "", what, getattr(errors, class_name)), allow_nan=False)


def _plain(value: Any, path: str, what: str, error: type[errors.RematError]) -> Any:
    """The value in JSON's types; numbers of NumPy and similar libraries become plain numbers."""
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, Mapping):
        plain = {}
        for key, inner in value.items():
            if not isinstance(key, str):
                raise _fault(path, f"the key {key!r} is no text", "give keys as text", what, error)
            plain[key] = _plain(inner, f"{path}.{key}" if path else key, what, error)
        return plain
    if isinstance(value, (list, tuple)):
        return [_plain(inner, f"{path}[{k}]", what, error) for k, inner in enumerate(value)]
    if hasattr(value, "__index__"):
        return int(value.__index__())
    if hasattr(value, "__float__"):
        number = float(value)
        if not math.isfinite(number):
            raise _fault(
                path, f"the number {number} is not finite", "give a finite number", what, error
            )
        return number
    problem = f"an object of type {type(value).__name__} stands here, found {value!r:.60}"
    raise _fault(path, problem, "give text, a number, a list or a dictionary", what, error)


def _fault(
    path: str, problem: str, remedy: str, what: str, error: type[errors.RematError]
) -> errors.RematError:
    place = path or what
    return error(f"{place}: {problem}; {remedy}", place=place, remedy=remedy)
