"""Buckets of sizes: ranges of a changing size that share one plan, made for the largest size."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import InvalidArgument

POWERS = "powers of two"
"""Bounds 2, 4, 8, ..."""

Rule = str | float | Sequence[int] | None
"""Bounds of buckets: :data:`POWERS`, the ratio of successive bounds, or the bounds; ``None``: each
size is a bucket."""


@dataclass(frozen=True)
class Bucket:
    """Sizes with one plan.

    Attributes:
        name: The size, such as ``"dimension 1 of input_ids"``.
        least, most: The smallest and the largest size. The plan is made for the largest.
        reason: Why the bucket is smaller than the rule says; empty if it is not.
    """

    name: str
    least: int
    most: int
    reason: str = ""

    def __str__(self) -> str:
        ends = f"{self.least} to {self.most}" if self.least < self.most else f"{self.most}"
        return f"{self.name}: {ends}" + (f" ({self.reason})" if self.reason else "")


class Rules:
    """Bounds of buckets by dimension.

    Args:
        given: A :data:`Rule` for all dimensions, or a mapping from dimensions of inputs to rules.
            Each size of other dimensions is a bucket.

    Raises:
        InvalidArgument: for other values.
    """

    def __init__(self, given: Rule | Mapping[int, Rule]) -> None:
        self._of: dict[int, Rule] = {}
        self._all: Rule = None
        if isinstance(given, Mapping):
            for dimension, rule in given.items():
                if not isinstance(dimension, int) or dimension < 0:
                    raise InvalidArgument(
                        f"buckets: {dimension!r} is no dimension",
                        remedy="name dimensions of inputs: {1: [512, 1024]}",
                    )
                self._of[dimension] = _checked(rule)
        else:
            self._all = _checked(given)

    def bounds(self, size: int, dimensions: Collection[int]) -> tuple[int, int] | None:
        """The ends of a size's bucket: the last size below it and its largest size. ``None`` if
        the size is alone in it.

        Args:
            dimensions: Dimensions of inputs that have this size.
        """
        for dimension in sorted(dimensions):
            if dimension in self._of:
                return _ends(self._of[dimension], size)
        return _ends(self._all, size)


def _checked(rule: Any) -> Rule:
    if rule is None or rule == POWERS:
        return rule  # type: ignore[no-any-return]
    if isinstance(rule, (int, float)) and not isinstance(rule, bool) and 1 < rule < math.inf:
        return float(rule)
    if isinstance(rule, Sequence) and not isinstance(rule, str) and rule:
        if all(isinstance(n, int) and not isinstance(n, bool) and n > 0 for n in rule):
            return sorted(set(rule))
    raise InvalidArgument(
        f"buckets: {rule!r} does not say which sizes share a plan",
        remedy=f'"{POWERS}", bounds such as [128, 512, 1024], the ratio of bounds such as 1.25, '
        "None, or a dictionary of these by dimension",
    )


def _ends(rule: Rule, size: int) -> tuple[int, int] | None:
    if rule is None:
        return None
    if isinstance(rule, str):
        most = 1 << max(0, size - 1).bit_length()
        return most // 2, most
    if isinstance(rule, (int, float)):
        below, most = 0, 1
        while most < size:
            below, most = most, max(most + 1, int(most * rule))
        return below, most
    place = bisect_left(rule, size)
    if place == len(rule):
        return None
    return (rule[place - 1] if place else 0), rule[place]
