"""Reading of a graph for ordering: operators, storages, edges, and nodes placed with operators.

:class:`Flow` takes any graph of operators of ``torch.ops``: joint graphs, forward and backward
graphs, inference graphs, with changes in place and symbolic sizes.

* A *storage* is memory allocated by an operator or held by an input. Views, and results of changes
  in place, hold the storage of another tensor. The storage lives until the last reader of any of
  them.
* An *operator* is a call that allocates memory, or whose place matters. Picks of its outputs follow
  directly; views directly precede their first reader.
* *Edges* order operators in addition to data. An operator that changes a storage runs after its
  earlier readers and before its later ones. Effects, collectives and random numbers keep their
  order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten

from . import _compat
from ._compat import fx
from .calls import (
    arguments_of,
    constant,
    device_of,
    draws,
    has_effect,
    hinted_bytes,
    is_closed,
    is_light,
    kind_of,
    let_go,
    nodes_in,
    returns_values,
    storage_key,
)
from .opaque import UnsupportedGraph

INPUTS = "inputs"
"""Name of the operator that brings the inputs that are let go of."""


STATISTICS = frozenset(
    "batch_norm native_batch_norm cudnn_batch_norm miopen_batch_norm instance_norm "
    "_batch_norm_impl_index".split()
)
"""Operators that change their running statistics although their schemas do not say so."""

RESHAPING = frozenset("resize_ resize_as_ set_ resize_storage_bytes_ swap_".split())
"""Operators that change the storage of a tensor itself."""


@dataclass(eq=False)
class Storage:
    """Memory of one or several tensors.

    Attributes:
        node: The first node that holds it.
        name: Its name.
        bytes: Its size in the allocator.
        maker: Place of the operator that allocates it; ``None`` for an input or a constant.
        resident: True if it is in memory before and after the graph.
        result: True if an output of the graph holds it.
        readers: Places of operators that read it.
    """

    node: fx.Node
    name: str
    bytes: int
    maker: int | None = None
    resident: bool = False
    result: bool = False
    readers: dict[int, None] = field(default_factory=dict)


@dataclass(eq=False)
class Operator:
    """A call whose place in the order is searched for.

    Attributes:
        node: Its node.
        reads: Storages that it reads or changes, each once.
        writes: Storages that it changes.
        makes: Storages that it allocates.
        waits: Places of operators that it needs without reading their storages.
    """

    node: fx.Node
    reads: list[Storage]
    writes: list[Storage]
    makes: list[Storage] = field(default_factory=list)
    waits: set[int] = field(default_factory=set)


Edge = tuple[int, int]


class Flow:
    """A graph, read for ordering.

    Args:
        graph: Its nodes have fake values (``meta["val"]``), as AOTAutograd, ``make_fx`` and
            ``torch.export`` leave them.
        freeable: Names of inputs that the caller of the graph frees. By default, inputs of a
            backward graph that are neither inputs of the model nor tangents.

    Attributes:
        operators: Operators in the order of the graph.
        storages: All storages, resident ones among them.
        edges: Edges of every variant, from values that are not tensors.
        sound_edges: Edges from changes in place, effects, collectives, and opaque calls.
        random_edges: Edges between consecutive operators that draw random numbers.
        symbolic: True if sizes are symbolic and come from the traced example.

    Raises:
        UnsupportedGraph: for nodes that are no operators or have no fake value, sizes that depend
            on data, and operators that change the storage of a tensor.
    """

    def __init__(self, graph: fx.Graph, freeable: Iterable[str] | None = None) -> None:
        self.graph = graph
        self.operators: list[Operator] = []
        self.storages: list[Storage] = []
        self.edges: list[Edge] = []
        self.sound_edges: list[Edge] = []
        self.random_edges: list[Edge] = []
        self.symbolic = False
        # Storages held by the value of a node, in the structure of the value.
        self._held: dict[fx.Node, Any] = {}
        # Places of operators that have to run before a node can.
        self._waits: dict[fx.Node, frozenset[int]] = {}
        self._place: dict[fx.Node, int] = {}
        self._views: set[fx.Node] = set()
        # Storages by the storage of their fake value.
        self._known: dict[int, Storage] = {}
        # Keeps fake values alive, because their storages are keys.
        self._values: list[Any] = []
        self._effect: int | None = None
        self._random: dict[str, int] = {}
        self._barrier: int | None = None
        self._writer: dict[Storage, int] = {}
        self._since: dict[Storage, list[int]] = {}
        nodes = list(graph.nodes)
        self.placeholders = [n for n in nodes if n.op == "placeholder"]
        if freeable is None:
            backward = any(n.name.startswith("tangents") for n in self.placeholders)
            self._freeable = {n.name for n in self.placeholders if backward and let_go(n.name)}
        else:
            self._freeable = set(freeable)
            known = {n.name for n in self.placeholders}
            if unknown := sorted(self._freeable - known):
                raise UnsupportedGraph(
                    f"freeable: the graph has no input {unknown[0]!r}",
                    place=unknown[0],
                    remedy=f"one of {', '.join(sorted(known)) or 'none: it has no inputs'}",
                )
        for node in nodes:
            self._read(node)
        self._finish()

    @property
    def base_bytes(self) -> int:
        """Resident memory: bytes held before, during and after the run of the graph."""
        return sum(s.bytes for s in self.storages if s.resident)

    @property
    def inputs(self) -> list[Storage]:
        """Storages of inputs that are freed."""
        return [s for s in self.storages if s.maker is None and not s.resident]

    def held(self, node: fx.Node) -> list[Storage]:
        """Storages held by the value of a node, each once."""
        return list(dict.fromkeys(_storages(self._held.get(node))))

    def places(self, nodes: Iterable[str]) -> list[int]:
        """Places of operators by their names."""
        place = {operator.node.name: k for k, operator in enumerate(self.operators)}
        return [place[name] for name in nodes]

    # Reading.

    def _read(self, node: fx.Node) -> None:
        if node.op == "placeholder":
            self._held[node] = self._input(node, node.meta.get("val"))
            self._waits[node] = frozenset()
        elif node.op == "get_attr":
            value = node.meta.get("val")
            self._held[node] = self._input(node, constant(node) if value is None else value)
            self._waits[node] = frozenset()
            self._views.add(node)
        elif node.op == "output":
            for storage in _storages(tree_map(self._held_by, (node.args, node.kwargs))):
                storage.result = True
        elif node.op == "call_function":
            self._read_call(node)
        else:
            raise UnsupportedGraph(
                f"node {node.name} is a {node.op}: what it does cannot be seen",
                place=node.name,
                remedy="give a graph of operators of torch.ops: remat_bb.torch.order_graph traces "
                "one, and so do torch.export and make_fx",
            )

    def _held_by(self, part: Any) -> Any:
        return self._held.get(part) if isinstance(part, fx.Node) else None

    def _input(self, node: fx.Node, value: Any) -> Any:
        """Storages of an input or a constant."""

        def storage(part: Any) -> Storage | None:
            if not isinstance(part, torch.Tensor):
                return None
            found = self._same(part)
            if found is None:
                found = self._new(node, node.name, part)
                found.resident = node.name not in self._freeable
            # Tensors with a common storage keep it resident if one of them is not freed.
            found.resident |= node.name not in self._freeable
            return found

        return tree_map(storage, value)

    def _new(self, node: fx.Node, name: str, value: torch.Tensor) -> Storage:
        storage = Storage(node, name, self._bytes(node, value))
        self.storages.append(storage)
        key = storage_key(value)
        if key is not None:
            self._known[key] = storage
            self._values.append(value)
        return storage

    def _same(self, value: torch.Tensor) -> Storage | None:
        """The storage of a tensor if an earlier tensor shares it."""
        key = storage_key(value)
        return None if key is None else self._known.get(key)

    def _bytes(self, node: fx.Node, value: torch.Tensor) -> int:
        size, symbolic = hinted_bytes(value)
        self.symbolic |= symbolic
        if size is None:
            raise UnsupportedGraph(
                f"{node.target} ({node.name}) has a size that depends on data",
                place=node.name,
                remedy="avoid operators such as nonzero in what is ordered",
            )
        return size

    def _read_call(self, node: fx.Node) -> None:
        sources = list(node.all_input_nodes)
        waits = frozenset().union(*(self._waits[s] for s in sources))
        if _compat.is_getitem(node):
            self._held[node] = _picked(self._held[node.args[0]], node.args[1])
            view = node.args[0] in self._views
            if not view or node.users:
                self._waits[node] = waits
                if view:
                    self._views.add(node)
                return
            shared = _leaves(self._held[node])
            writes: list[Storage] = []
        elif is_light(node):
            self._held[node] = None
            self._waits[node] = waits
            return
        else:
            self._check(node)
            shared = self._shared(node)
            writes = self._written(node)
            # An unread view holds its storage at its own place, so it is an operator.
            if _only_views(node, shared) and not writes and node.users:
                self._held[node] = _built(node, shared)
                self._waits[node] = waits
                self._views.add(node)
                return
        place = len(self.operators)
        reads = list(dict.fromkeys(s for source in sources for s in self.held(source)))
        operator = Operator(node, reads, writes)
        self.operators.append(operator)
        self._place[node] = place
        self._held[node] = _built(node, self._made(operator, place, shared))
        self._waits[node] = frozenset((place,))
        operator.waits = set(waits) - {s.maker for s in reads if s.maker is not None}
        self._order(node, operator, place)

    def _check(self, node: fx.Node) -> None:
        target = node.target
        if "val" not in node.meta and returns_values(node):
            raise UnsupportedGraph(
                f"{target} ({node.name}) has no fake value: its size is not known",
                place=node.name,
                remedy="trace with make_fx(..., tracing_mode='fake') or remat_bb.torch.order_graph",
            )
        if not isinstance(target, _compat.OpOverload):
            return
        name = target._schema.name.rpartition("::")[2]
        inplace_view = torch.Tag.inplace_view in target.tags
        if inplace_view or name in RESHAPING:
            raise UnsupportedGraph(
                f"{target} ({node.name}) changes the shape or the storage of a tensor in place",
                place=node.name,
                remedy="functionalise the graph: AOTAutograd does, and make_fx over "
                "torch.func.functionalize",
            )

    def _shared(self, node: fx.Node) -> list[Storage | None]:
        """For each part of a call's value the storage of an argument that it holds, by the fake
        value and by the schema of the operator. ``None`` for a new storage."""
        value = node.meta.get("val")
        own = {s for source in node.all_input_nodes for s in self.held(source)}
        found: list[Storage | None] = []
        for part in tree_leaves(value):
            same = self._same(part) if isinstance(part, torch.Tensor) else None
            found.append(same if same in own else None)
        if not isinstance(node.target, _compat.OpOverload):
            return found
        returns = node.target._schema.returns
        many = len(returns) > 1 and isinstance(value, (tuple, list))
        values = list(value) if many else [value]
        told: list[Storage | None] = []
        for returned, own_value in zip(returns, values):
            storage = self._by_schema(node, returned)
            if storage is None and _compat.is_view(node):
                held = (s for source in node.all_input_nodes for s in self.held(source))
                storage = next(held, None)
            tensors = (isinstance(part, torch.Tensor) for part in tree_leaves(own_value))
            told += [storage if tensor else None for tensor in tensors]
        if len(told) != len(found):
            return found
        return [known if known is not None else same for known, same in zip(told, found)]

    def _by_schema(self, node: fx.Node, returned: Any) -> Storage | None:
        """The storage of the argument that a result aliases by the schema; ``None`` if it is not
        unique."""
        info = returned.alias_info
        if info is None:
            return None
        names = set(info.before_set) | set(info.after_set)
        for argument, given in arguments_of(node):
            own = argument.alias_info
            if own is not None and names & set(own.before_set):
                found = [s for part in nodes_in(given) for s in self.held(part)]
                return found[0] if len(set(found)) == 1 else None
        return None

    def _written(self, node: fx.Node) -> list[Storage]:
        """Storages that a call changes."""
        if not isinstance(node.target, _compat.OpOverload):
            return []
        found: dict[Storage, None] = {}
        hidden = node.target._schema.name.rpartition("::")[2] in STATISTICS
        for argument, given in arguments_of(node):
            info = argument.alias_info
            running = hidden and argument.name in ("running_mean", "running_var")
            if running or (info is not None and info.is_write):
                for part in nodes_in(given):
                    found.update(dict.fromkeys(self.held(part)))
        return list(found)

    def _made(
        self, operator: Operator, place: int, shared: list[Storage | None]
    ) -> list[Storage | None]:
        """Storages of the parts of a call's value: shared ones, and newly allocated ones."""
        node = operator.node
        new: dict[int, Storage] = {}
        found: list[Storage | None] = []
        for part, known in zip(tree_leaves(node.meta.get("val")), shared):
            if known is not None or not isinstance(part, torch.Tensor):
                found.append(known)
                continue
            key = storage_key(part)
            storage = None if key is None else new.get(key)
            if storage is None:
                count = len(operator.makes)
                storage = self._new(node, f"{node.name}.{count}" if count else node.name, part)
                storage.maker = place
                operator.makes.append(storage)
                if key is not None:
                    new[key] = storage
            found.append(storage)
        return found

    # Edges.

    def _order(self, node: fx.Node, operator: Operator, place: int) -> None:
        self.edges += [(before, place) for before in sorted(operator.waits)]
        for storage in operator.reads:
            storage.readers[place] = None
        sound: dict[Edge, None] = {}
        for storage in operator.reads:
            writer = self._writer.get(storage)
            if writer is not None:
                sound[writer, place] = None
        for storage in operator.writes:
            for reader in self._since.get(storage, ()):
                if reader != place:
                    sound[reader, place] = None
            self._writer[storage] = place
            self._since[storage] = []
        for storage in operator.reads:
            if storage not in operator.writes:
                self._since.setdefault(storage, []).append(place)
        closed = is_closed(node)
        if closed and self._barrier is not None:
            sound[self._barrier, place] = None
        if not closed:
            first = 0 if self._barrier is None else self._barrier
            sound.update(dict.fromkeys((before, place) for before in range(first, place)))
            self._barrier = place
        elif has_effect(node):
            if self._effect is not None:
                sound[self._effect, place] = None
            self._effect = place
        if closed and draws(node):
            device = device_of(node)
            if device in self._random:
                self.random_edges.append((self._random[device], place))
            self._random[device] = place
        self.sound_edges += sound

    def _finish(self) -> None:
        """Makes further inputs resident: unread inputs and inputs that are results."""
        for storage in self.storages:
            if storage.maker is None:
                storage.resident |= storage.result or not storage.readers

    # Results.

    def document(
        self, name: str, workspace_bytes: Callable[[Operator], int] | None = None
    ) -> dict[str, Any]:
        """The graph as a ``remat-order/1`` document: one tensor for each storage.

        Unread outputs are part of their operator's workspace. A first operator makes the inputs
        that are freed.

        Args:
            name: Name of the graph.
            workspace_bytes: Further memory that an operator takes while it runs.
        """
        inputs = self.inputs
        shift = 1 if inputs else 0
        kept = [s for s in self.storages if s.resident or s.result or s.readers]
        number = {storage: k for k, storage in enumerate(kept)}
        tensors: list[dict[str, Any]] = []
        for storage in kept:
            tensor: dict[str, Any] = {"id": len(tensors), "name": storage.name}
            tensor["bytes"] = storage.bytes
            if storage.resident:
                tensor["resident"] = True
            elif storage.result:
                tensor["result"] = True
            tensors.append(tensor)
        operators: list[dict[str, Any]] = []
        if inputs:
            entry = {"id": 0, "name": INPUTS, "kind": INPUTS, "inputs": []}
            operators.append({**entry, "outputs": [number[s] for s in inputs]})
        for operator in self.operators:
            entry = {
                "id": len(operators),
                "name": operator.node.name,
                "kind": kind_of(operator.node),
                "inputs": [number[s] for s in operator.reads],
                "outputs": [number[s] for s in operator.makes if s in number],
            }
            if operator.writes:
                entry["writes"] = [number[s] for s in operator.writes]
            workspace = sum(s.bytes for s in operator.makes if s not in number)
            if workspace_bytes is not None:
                workspace += workspace_bytes(operator)
            if workspace:
                entry["workspace_bytes"] = workspace
            operators.append(entry)

        def shifted(edges: Iterable[Edge]) -> list[list[int]]:
            return [[a + shift, b + shift] for a, b in dict.fromkeys(edges)]

        edges = shifted(self.edges)
        if inputs:
            # Operators without another predecessor wait for the inputs.
            behind = {b for _, b in self.edges}
            for place, operator in enumerate(self.operators):
                made = any(s.maker is not None or not s.resident for s in operator.reads)
                if not made and place not in behind:
                    edges.append([0, place + shift])
        return {
            "schema": "remat-order/1",
            "name": name,
            "base_bytes": self.base_bytes,
            "operators": operators,
            "tensors": tensors,
            "order_edges": edges,
            "sound_order_edges": shifted(self.sound_edges),
            "rng_order_edges": shifted(self.random_edges),
        }

    def relink(self, order: Iterable[int]) -> None:
        """Puts the nodes of the graph into an order of its operators. Inputs come first, views
        directly before their first reader, picks and numbers directly after their operators."""
        nodes = list(self.graph.nodes)
        placed: set[fx.Node] = set()
        after = self.graph._root
        done: set[int] = set()
        # Number of operators that a node still waits for.
        missing: dict[fx.Node, int] = {}
        ready: list[fx.Node] = []
        behind: dict[int, list[fx.Node]] = {}
        for node in nodes:
            if node.op in ("placeholder", "output") or node in self._place:
                continue
            if node in self._views and node.users:
                continue
            missing[node] = len(self._waits[node])
            if not missing[node]:
                ready.append(node)
            for place in self._waits[node]:
                behind.setdefault(place, []).append(node)

        def put(node: fx.Node) -> None:
            nonlocal after
            if after._next is not node:
                after.append(node)
            placed.add(node)
            after = node

        def emit(node: fx.Node) -> None:
            """Places a node after the views and sizes that it reads."""
            stack = [node]
            while stack:
                top = stack[-1]
                wanted = [a for a in top.all_input_nodes if a not in placed]
                if wanted:
                    stack.extend(reversed(wanted))
                    continue
                stack.pop()
                if top not in placed:
                    put(top)

        for node in self.placeholders:
            put(node)
        for node in ready:
            emit(node)
        for place in order:
            emit(self.operators[place].node)
            done.add(place)
            for node in behind.get(place, ()):
                missing[node] -= 1
                if not missing[node]:
                    emit(node)
        for node in nodes:
            if node not in placed:
                emit(node)
        self.graph.lint()


def _leaves(held: Any) -> list[Storage | None]:
    return [part if isinstance(part, Storage) else None for part in tree_leaves(held)]


def _storages(held: Any) -> list[Storage]:
    return [part for part in tree_leaves(held) if isinstance(part, Storage)]


def _picked(held: Any, key: Any) -> Any:
    if isinstance(held, (tuple, list)) and isinstance(key, int):
        return held[key] if -len(held) <= key < len(held) else None
    return held.get(key) if isinstance(held, dict) else held


def _only_views(node: fx.Node, shared: list[Storage | None]) -> bool:
    """Returns true if all tensors of a call's value are views of one argument."""
    if not isinstance(node.target, _compat.OpOverload) or node.target._schema.is_mutable:
        return False
    if _compat.is_collective(node) or _compat.is_effect(node.target) or _compat.is_random(node):
        return False
    return len(set(shared)) == 1 and shared[0] is not None


def _built(node: fx.Node, parts: list[Storage | None]) -> Any:
    """Storages in the structure of a call's value."""
    return tree_unflatten(parts, tree_flatten(node.meta.get("val"))[1])
