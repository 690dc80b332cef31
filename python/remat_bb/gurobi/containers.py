"""Dictionaries and lists of keys with patterns: ``tupledict``, ``tuplelist``, ``multidict``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .._native import LinExpr, quicksum
from .constants import GRB
from .errors import GurobiError


def _matching(pattern: tuple[Any, ...]) -> Callable[[Any], bool]:
    """A test of keys by a pattern: ``"*"`` and ``None`` match anything, a list, set or range
    matches any of its members."""
    tests = []
    for place, part in enumerate(pattern):
        if part is None or (isinstance(part, str) and part == "*"):
            continue
        if isinstance(part, (list, set, frozenset, range, tuplelist)):
            tests.append((place, frozenset(part)))
        else:
            tests.append((place, frozenset((part,))))
    width = len(pattern)

    def fits(key: Any) -> bool:
        parts = key if isinstance(key, tuple) else (key,)
        return len(parts) == width and all(parts[place] in among for place, among in tests)

    return fits


class tuplelist(list[Any]):  # noqa: N801
    """A list of tuples that patterns select."""

    def select(self, *pattern: Any) -> tuplelist:
        """Tuples that match a pattern: ``"*"`` matches anything."""
        if not pattern:
            return tuplelist(self)
        fits = _matching(pattern)
        return tuplelist(key for key in self if fits(key))

    def clean(self) -> None:
        """Has no effect: there is no index to clear."""

    def __add__(self, other: Any) -> tuplelist:
        return tuplelist([*self, *other])


class tupledict(dict[Any, Any]):  # noqa: N801
    """A dictionary of variables or other values, selected and summed by patterns of its keys."""

    def _selected(self, pattern: tuple[Any, ...]) -> Iterable[Any]:
        if not pattern or all(isinstance(p, str) and p == "*" for p in pattern):
            return self.values()
        one = pattern[0] if len(pattern) == 1 else pattern
        try:
            if one in self:
                return [self[one]]
        except TypeError:
            pass  # One of the parts is a list.
        fits = _matching(pattern)
        return [value for key, value in self.items() if fits(key)]

    def select(self, *pattern: Any) -> list[Any]:
        """Values whose keys match a pattern."""
        return list(self._selected(pattern))

    def sum(self, *pattern: Any) -> Any:
        """The sum of the values whose keys match a pattern."""
        return quicksum(list(self._selected(pattern)))

    def prod(self, coeff: Any, *pattern: Any) -> LinExpr:
        """The sum of products of values and coefficients over their common keys."""
        fits = _matching(pattern) if pattern else None
        factors: list[float] = []
        values: list[Any] = []
        for key, value in self.items():
            if fits is None or fits(key):
                factor = coeff.get(key) if isinstance(coeff, Mapping) else coeff[key]
                if factor is not None:
                    factors.append(factor)
                    values.append(value)
        return LinExpr(factors, values)

    def keys(self) -> Any:
        """Keys as a :class:`tuplelist`."""
        return tuplelist(super().keys())

    def copy(self) -> tupledict:
        """A copy."""
        return tupledict(self)

    def clean(self) -> None:
        """Has no effect: there is no index to clear."""


def multidict(data: Mapping[Any, Any]) -> list[Any]:
    """Splits a dictionary whose values are lists into its keys and a tupledict for each
    position."""
    keys = list(data)
    values = [v if isinstance(v, (list, tuple)) else (v,) for v in data.values()]
    widths = {len(v) for v in values}
    if len(widths) > 1:
        raise GurobiError(GRB.Error.INVALID_ARGUMENT, "multidict: the values are not of one length")
    joined = tuplelist(keys) if keys and isinstance(keys[0], tuple) else keys
    width = widths.pop() if widths else 0
    parts = [tupledict(zip(keys, (v[k] for v in values))) for k in range(width)]
    return [joined, *parts]
