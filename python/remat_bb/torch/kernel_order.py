"""Order of Inductor's kernels in graphs that copy to the host.

Inductor orders kernels for least peak memory. Copies would move: a wait to its copy, a fetch to its
reader, and nothing would run beside them. In these graphs the kernels keep the order of the plan.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from .host_operators import is_copy


def planned_order(copies: bool) -> Any:
    """A context in which Inductor keeps the order of the plan in graphs with copies.

    Args:
        copies: False leaves Inductor as it is.
    """
    return _replaced() if copies else nullcontext()


@contextmanager
def _replaced() -> Iterator[None]:
    from torch._inductor import memory

    original = memory.reorder_for_peak_memory

    def reorder(nodes: list[Any], *arguments: Any, **options: Any) -> list[Any]:
        if not any(map(_copies, nodes)):
            return original(nodes, *arguments, **options)
        # Sets the nodes' predecessors and successors.
        memory.prepare_planning_info(nodes, *arguments[:4])
        return _by_number(nodes)

    memory.reorder_for_peak_memory = reorder
    try:
        yield
    finally:
        memory.reorder_for_peak_memory = original


def _copies(node: Any) -> bool:
    return is_copy(getattr(node.node, "op_overload", None))


def _numbers(node: Any) -> list[int]:
    """Places of a kernel's operations in Inductor's graph."""
    return [int(part.get_name()[2:]) for part in node.get_nodes()]


def _by_number(nodes: list[Any]) -> list[Any]:
    """Kernels in the order of their first operations, each after its predecessors."""
    key: Callable[[Any], tuple[int, int]]
    places = {node: place for place, node in enumerate(nodes)}
    key = lambda node: (min(_numbers(node)), places[node])  # noqa: E731
    missing = {node: len(node.mpi_node.pred_nodes) for node in nodes}
    ready = [key(node) for node in nodes if not missing[node]]
    heapq.heapify(ready)
    order: list[Any] = []
    while ready:
        node = nodes[heapq.heappop(ready)[1]]
        order.append(node)
        for later in node.mpi_node.succ_nodes:
            missing[later] -= 1
            if not missing[later]:
                heapq.heappush(ready, key(later))
    return order
