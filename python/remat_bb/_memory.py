"""Execution orders of graphs, addresses of buffers, and both together."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Union

from . import _native
from ._native import MemoryPlan, Order, OrderBaseline, PlaceBaseline, Placement
from ._types import Budget, InstanceSource

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._types import LimitOptions

#: A table of lives (CSV), or buffers as tuples: begin and end of the life, size, and alignment.
LivesSource = Union[
    str,
    "os.PathLike[str]",
    Iterable[Union[tuple[int, int, int], tuple[int, int, int, int]]],
]


def order(
    graph: InstanceSource,
    *,
    variant: str = "sound+rng",
    budget: Budget | None = None,
    **options: Unpack[LimitOptions],
) -> Order:
    """Finds an execution order of a graph with the least peak memory, and a lower bound for all
    orders. Each operator runs once.

    >>> import remat_bb
    >>> found = remat_bb.order("zoo:unet?batch=2")
    >>> found.status, found.peak_memory_bytes == found.bound
    ('optimal', True)

    Args:
        graph: a ``remat-order/1`` file or dictionary, or any source of an :class:`Instance`.
        variant: the edges that orders respect: ``free``, ``sound``, ``sound+rng`` or ``ctl``.
        budget: memory at which the search stops with the first order that fits; a share is of the
            peak of the program's own order.
        options: :class:`LimitOptions`: ``time_limit``, ``threads``, ``seed``.

    Raises:
        InvalidInstance: for a graph that cannot be read.
        InvalidArgument: for an unknown variant, or one whose edges form a cycle.
    """
    return _native.order(graph, variant=variant, budget=budget, **options)


def plan_memory(
    graph: InstanceSource,
    *,
    variant: str = "sound+rng",
    **options: Unpack[LimitOptions],
) -> MemoryPlan:
    """Finds an execution order, an address for each buffer, and a lower bound for both. An arena as
    high as the bound of all orders is optimal among all orders and addresses.

    >>> import remat_bb
    >>> plan = remat_bb.plan_memory("zoo:unet?batch=2")
    >>> plan.status, plan.base_memory_bytes + plan.height_bytes == plan.bound
    ('optimal', True)

    The arguments and exceptions are the same as for :func:`order`.
    """
    return _native.plan_memory(graph, variant=variant, **options)


def place(
    lives: LivesSource,
    *,
    capacity: Budget | None = None,
    **options: Unpack[LimitOptions],
) -> Placement:
    """Finds addresses of buffers with given lives, with the least height or within a capacity.

    >>> import remat_bb
    >>> placed = remat_bb.place([(0, 2, 4), (1, 3, 8), (2, 4, 4)])
    >>> placed.status, placed.height_bytes, placed.bound
    ('optimal', 12, 12)

    Args:
        lives: a table in MiniMalloc's format, or tuples ``(begin, end, bytes)`` or ``(begin, end,
            bytes, alignment)``; a life begins at ``begin`` and ends before ``end``.
        capacity: height at which the search stops with the first placement that fits; a share is of
            the load.

    Raises:
        InvalidArgument: for lives that cannot be read or placed.
    """
    return _native.place(lives, capacity=capacity, **options)


def order_baselines(graph: InstanceSource, *, variant: str = "sound+rng") -> list[OrderBaseline]:
    """Orders a graph by known rules: the program's own order, breadth first, depth first, least
    memory first, and others.

    >>> import remat_bb
    >>> rules = remat_bb.order_baselines("zoo:unet?batch=2")
    >>> best = remat_bb.order("zoo:unet?batch=2").peak_memory_bytes
    >>> all(rule.peak_memory_bytes >= best for rule in rules)
    True

    The arguments and exceptions are the same as for :func:`order`.
    """
    return _native.order_baselines(graph, variant=variant)


def place_baselines(lives: LivesSource, *, seed: int = 0) -> list[PlaceBaseline]:
    """Places buffers by known methods: first fit, best fit, and the methods of XLA, TVM and OLLA.

    >>> import remat_bb
    >>> ways = remat_bb.place_baselines([(0, 2, 4), (1, 3, 8), (2, 4, 4)])
    >>> min(way.height_bytes for way in ways)
    12

    Args:
        lives: as for :func:`place`.
        seed: seed of the method that draws random numbers.

    Raises:
        InvalidArgument: for lives that cannot be read or placed.
    """
    return _native.place_baselines(lives, seed=seed)
