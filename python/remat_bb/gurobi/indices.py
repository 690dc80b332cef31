"""Keys of variables and constraints: products of index sets, and loops of generators."""

from __future__ import annotations

import dis
import itertools
from collections.abc import Generator, Iterable
from types import CodeType
from typing import Any

from .constants import GRB
from .errors import GurobiError


def _set(index: Any) -> list[Any]:
    """Members of an index set; an integer stands for a range."""
    if isinstance(index, bool):
        raise GurobiError(GRB.Error.INVALID_ARGUMENT, f"addVars: {index!r} is no index set")
    if hasattr(index, "__index__"):
        return list(range(int(index)))
    if isinstance(index, str):
        return [index]
    if isinstance(index, Iterable):
        return list(index)
    return [index]


def product(indices: tuple[Any, ...]) -> list[Any]:
    """Keys of index sets: tuples for several sets, members for a single set."""
    if not indices:
        raise GurobiError(GRB.Error.INVALID_ARGUMENT, "addVars: no index set is given")
    sets = [_set(index) for index in indices]
    if len(sets) == 1:
        return sets[0]
    flat = any(isinstance(member, tuple) for members in sets for member in members)
    if not flat:
        return list(itertools.product(*sets))
    keys = []
    for parts in itertools.product(*sets):
        key: list[Any] = []
        for part in parts:
            key.extend(part if isinstance(part, tuple) else (part,))
        keys.append(tuple(key))
    return keys


def label(name: str, key: Any) -> str:
    """Name of a member: ``x[1,2]``."""
    inner = ",".join(map(str, key)) if isinstance(key, tuple) else str(key)
    return f"{name}[{inner}]"


def labels(name: Any, keys: list[Any]) -> list[str] | None:
    """Names of members, from a common name, a list in order, or a dictionary by key."""
    if name is None or (isinstance(name, str) and not name):
        return None
    if isinstance(name, str):
        return [label(name, key) for key in keys]
    return [str(one) for one in each(name, keys, "")]


def each(values: Any, keys: list[Any], default: Any) -> list[Any]:
    """Values of members, given in order, or by key with a default."""
    if hasattr(values, "keys"):
        return [values[key] if key in values else default for key in keys]
    found = list(values.flat) if hasattr(values, "flat") else list(values)
    if len(found) != len(keys):
        raise GurobiError(
            GRB.Error.INVALID_ARGUMENT, f"{len(found)} values are given for {len(keys)} members"
        )
    return found


_STORES: dict[CodeType, list[str]] = {}


def _loop_variables(code: CodeType) -> list[str]:
    """Names of the loop variables of a generator expression, outermost first."""
    if code not in _STORES:
        names = (
            instruction.argval
            for instruction in dis.get_instructions(code)
            if instruction.opname.startswith(("STORE_FAST", "STORE_DEREF"))
        )
        flat = (part for name in names for part in (name if isinstance(name, tuple) else (name,)))
        _STORES[code] = list(dict.fromkeys(flat))
    return _STORES[code]


def keyed(generator: Generator[Any, None, None]) -> Iterable[tuple[Any, Any]]:
    """Members of a generator expression, each keyed by the values of its loop variables.

    Raises:
        GurobiError: the argument is not a generator expression.
    """
    frame = getattr(generator, "gi_frame", None)
    if frame is None:
        raise GurobiError(
            GRB.Error.INVALID_ARGUMENT, "addConstrs: a generator expression is needed"
        )
    names = _loop_variables(frame.f_code)
    for member in generator:
        local = frame.f_locals
        parts = tuple(local[name] for name in names if name in local)
        yield (parts[0] if len(parts) == 1 else parts), member
