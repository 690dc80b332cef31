"""Inductor's own orders and estimates for the operators of a graph.

Inductor orders its kernels for least peak memory by three rules, and takes the order with the least
estimate (``torch/_inductor/memory.py``, ``reorder_for_peak_memory``). Here its functions get the
operators of a graph instead of kernels, with the same storages, readers and edges as the search.
The module follows torch 2.9, 2.11 and 2.15.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from . import _compat
from .flow import Flow, Storage


@dataclasses.dataclass(frozen=True)
class InductorEstimates:
    """Inductor's estimates for a graph of operators.

    Attributes:
        peaks: Estimated peak in bytes by rule: ``program``, ``lpmf``, ``bfs`` and ``dfs``. It
            includes resident memory, which Inductor leaves out.
        replayed: Replayed peak of each order in bytes. In torch 2.11 estimates omit outputs of the
            graph.
        rule: Inductor's choice: the rule with the least estimate.
        order: The order of that rule: places of operators.
    """

    peaks: dict[str, int]
    replayed: dict[str, int]
    rule: str
    order: list[int]

    @property
    def bytes(self) -> int:
        """Replayed peak of Inductor's choice."""
        return self.replayed[self.rule]


class _Dependency:
    def __init__(self, name: str) -> None:
        self.name = name


class _Buffer:
    """A storage in the form of Inductor's buffers."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.mpi_buffer: Any = None

    def get_name(self) -> str:
        return self.name


class _Kernel:
    """An operator in the form of a node of Inductor's scheduler."""

    def __init__(self, place: int) -> None:
        self.place = place
        self.outputs: list[_Buffer] = []
        self.unmet_dependencies: list[_Dependency] = []
        self.mpi_node: Any = None

    def get_name(self) -> str:
        return f"op{self.place}"

    def get_outputs(self) -> list[_Buffer]:
        return self.outputs

    def get_buffer_names(self) -> list[str]:
        return [buffer.name for buffer in self.outputs]


def estimates(
    flow: Flow, variant: str, replay: Callable[[list[int]], int]
) -> InductorEstimates | None:
    """Inductor's estimates for the operators of a graph, and its choice of order.

    Args:
        flow: The graph.
        variant: Edges that orders respect, as for :func:`remat_bb.order`.
        replay: Peak of an order of the operators.

    Returns:
        The estimates. ``None`` if the installed torch has these functions under other names or with
        other arguments, and for a graph without operators.
    """
    try:
        from torch._inductor import memory
    except ImportError:
        return None
    if not flow.operators:
        return None
    try:
        return _estimates(memory, flow, variant, replay)
    except (AttributeError, TypeError, KeyError):
        return None


def _estimates(
    memory: Any, flow: Flow, variant: str, replay: Callable[[list[int]], int]
) -> InductorEstimates:
    kernels = [_Kernel(place) for place in range(len(flow.operators))]
    before: list[dict[int, None]] = [{} for _ in kernels]
    for a, b in _edges(flow, variant):
        before[b][a] = None
    after: list[dict[int, None]] = [{} for _ in kernels]
    for place, waits in enumerate(before):
        for k in waits:
            after[k][place] = None
    pairs = memory.MemoryPlanningInfoForBuffer.__dataclass_fields__

    def information(size: int, free: int, readers: Any) -> Any:
        options = {"size_alloc": size, "size_free": free, "succ_nodes": _set(readers)}
        if "succ_nodes_for_ordering" in pairs:
            options["succ_nodes_for_ordering"] = _set(readers)
        return memory.MemoryPlanningInfoForBuffer(**options)

    buffers: dict[str, _Buffer] = {}
    inputs: dict[str, Any] = {}
    outputs: dict[str, None] = {}
    of: dict[Storage, Any] = {}
    for number, storage in enumerate(s for s in flow.storages if not s.resident):
        name = f"buf{number}"
        readers = [kernels[place] for place in storage.readers]
        size = storage.bytes
        if storage.result:
            outputs[name] = None
        if storage.maker is None:
            of[storage] = memory.FreeableInputBuffer(name, information(0, size, readers))
            inputs[name] = of[storage]
        else:
            of[storage] = buffers[name] = _Buffer(name)
            buffers[name].mpi_buffer = information(size, size, readers)
            kernels[storage.maker].outputs.append(buffers[name])
    for kernel in kernels:
        # An edge without data becomes a buffer of size 0.
        token = _Buffer(f"token{kernel.place}")
        token.mpi_buffer = information(0, 0, [kernels[k] for k in after[kernel.place]])
        kernel.outputs.append(token)
        buffers[token.name] = token
    for kernel, operator in zip(kernels, flow.operators):
        waits = before[kernel.place]
        kernel.unmet_dependencies = [_Dependency(f"token{k}") for k in waits]
        read = [of[s] for s in operator.reads if s in of]
        kernel.mpi_node = memory.MemoryPlanningInfoForNode(
            index=kernel.place,
            size=sum(s.bytes for s in operator.makes),
            pred_buffers=_set(read),
            pred_nodes=_set([kernels[k] for k in waits]),
            succ_nodes=_set([kernels[k] for k in after[kernel.place]]),
        )
    names = _set(list(outputs))
    found = {
        "program": kernels,
        "lpmf": memory.topological_sort_lpmf(kernels, inputs, buffers, names),
        "bfs": memory.topological_sort_bfs(kernels),
        "dfs": memory.topological_sort_dfs(kernels),
    }
    peaks = {
        rule: int(memory.estimate_peak_memory(order, inputs, names)[0]) + flow.base_bytes
        for rule, order in found.items()
    }
    rule = min(peaks, key=peaks.__getitem__)
    orders = {rule: [kernel.place for kernel in order] for rule, order in found.items()}
    counted = {rule: replay(order) for rule, order in orders.items()}
    return InductorEstimates(peaks, counted, rule, orders[rule])


def _edges(flow: Flow, variant: str) -> list[tuple[int, int]]:
    """Pairs of operators with a fixed order, by data or by edges."""
    found = [
        (storage.maker, place)
        for storage in flow.storages
        if storage.maker is not None
        for place in storage.readers
    ]
    found += flow.edges
    if variant != "free":
        found += flow.sound_edges
    if variant == "sound+rng":
        found += flow.random_edges
    return found


def _set(items: list[Any]) -> Any:
    return _compat.OrderedSet(items)
