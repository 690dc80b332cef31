"""Orders of graphs, addresses of buffers, and both together."""

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
    """Finds the order of a graph's operators in which its peak memory is least, and a bound that no
    order is below. Nothing is computed twice.

    >>> import remat_bb
    >>> found = remat_bb.order("zoo:unet?batch=2")
    >>> found.status, found.peak_memory_bytes == found.bound
    ('optimal', True)

    Args:
        graph: a ``remat-order/1`` file or dictionary, or whatever an instance is made of.
        variant: the edges that orders respect: ``free``, ``sound``, ``sound+rng`` or ``ctl``.
        budget: memory within which any order will do; a share is of the program order's peak.
        options: :class:`LimitOptions`: ``time_limit``, ``threads``, ``seed``.

    Raises:
        InvalidInstance: for a graph that cannot be read.
        InvalidArgument: for a variant that is unknown, or whose edges go round.
    """
    return _native.order(graph, variant=variant, budget=budget, **options)


def plan_memory(
    graph: InstanceSource,
    *,
    variant: str = "sound+rng",
    **options: Unpack[LimitOptions],
) -> MemoryPlan:
    """Finds an order and an address for everything that it takes, and a bound for both: an arena as
    high as the bound of all orders is optimal among all orders and addresses.

    >>> import remat_bb
    >>> plan = remat_bb.plan_memory("zoo:unet?batch=2")
    >>> plan.status, plan.base_memory_bytes + plan.height_bytes == plan.bound
    ('optimal', True)

    Args and exceptions are those of :func:`order`.
    """
    return _native.plan_memory(graph, variant=variant, **options)


def place(
    lives: LivesSource,
    *,
    capacity: Budget | None = None,
    **options: Unpack[LimitOptions],
) -> Placement:
    """Finds addresses of buffers with given lives, as low as possible or within a capacity.

    >>> import remat_bb
    >>> placed = remat_bb.place([(0, 2, 4), (1, 3, 8), (2, 4, 4)])
    >>> placed.status, placed.height_bytes, placed.bound
    ('optimal', 12, 12)

    Args:
        lives: a table as MiniMalloc reads them, or tuples ``(begin, end, bytes)`` or
            ``(begin, end, bytes, alignment)``; a life is from ``begin`` to before ``end``.
        capacity: bytes within which any placement will do; a share is of the load.

    Raises:
        InvalidArgument: for lives that cannot be read or placed.
    """
    return _native.place(lives, capacity=capacity, **options)


def order_baselines(graph: InstanceSource, *, variant: str = "sound+rng") -> list[OrderBaseline]:
    """Orders a graph by the known rules: the program's own order, breadth first, depth first, least
    memory first, and others.

    >>> import remat_bb
    >>> rules = remat_bb.order_baselines("zoo:unet?batch=2")
    >>> best = remat_bb.order("zoo:unet?batch=2").peak_memory_bytes
    >>> all(rule.peak_memory_bytes >= best for rule in rules)
    True

    Args and exceptions are those of :func:`order`.
    """
    return _native.order_baselines(graph, variant=variant)


def place_baselines(lives: LivesSource, *, seed: int = 0) -> list[PlaceBaseline]:
    """Places buffers the known ways: first fit, best fit, and those of XLA, TVM and OLLA.

    >>> import remat_bb
    >>> ways = remat_bb.place_baselines([(0, 2, 4), (1, 3, 8), (2, 4, 4)])
    >>> min(way.height_bytes for way in ways)
    12

    Args:
        lives: as of :func:`place`.
        seed: for the way that draws.

    Raises:
        InvalidArgument: for lives that cannot be.
    """
    return _native.place_baselines(lives, seed=seed)
