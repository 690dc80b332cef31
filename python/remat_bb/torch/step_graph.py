"""Reading of a whole training step in one graph: forward pass, loss and backward pass.

``make_fx`` traces such graphs, and torchtitan's graph trainer runs them. Nodes of the backward pass
carry ``meta["autograd_backward"]``, and nodes carry the name of their module in
``meta["custom"]["module_fqn"]``. :class:`StepGraph` holds what the simulator of tags needs as lists
of numbers, by the place of a node in the graph.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from . import _compat
from ._compat import fx
from .calls import arguments_of, hinted_bytes, nodes_in, storage_key
from .cost import Costs
from .link import Link
from .opaque import UnsupportedGraph
from .partition import Call
from .purity import is_known

NO_LAYER = -1
"""Layer of nodes outside ``layers.<N>``."""
HEAD = ("lm_head", "loss")
"""Modules whose nodes carry no tags: torchtitan's executor recomputes behind their backward
pass."""
LEAST_OFFLOAD_BYTES = 4096
"""Size in bytes below which torchtitan offloads nothing."""
VIEWS = frozenset(
    "t transpose view _unsafe_view reshape unsqueeze squeeze slice select expand permute "
    "as_strided alias split narrow unfold detach".split()
)
"""Operators of ``aten`` that torchtitan's offload pass knows as views."""
REPEATABLE_NAMESPACES = ("torchtitan", "_c10d_functional")
"""Namespaces besides torch's own whose operators torchtitan recomputes: every rank runs the same
graph, so a repeated collective meets its partners."""
REPEATABLE_BODIES = ("flex_attention",)
"""Operators with bodies that may run again."""

Slot = tuple[int, int]
"""Storage of a part of a value: bytes of a new one as ``(-1, bytes)``, or part ``j`` of the
argument at place ``i`` as ``(i, j)``."""


class StepGraph:
    """A step in one graph, read for tags.

    Attributes:
        nodes: Nodes in execution order.
        place: Their places.
        backward: For each node, true in the backward pass.
        module: Name of its module, or an empty text.
        layer: Number of its layer, or :data:`NO_LAYER`.
        inputs: Places of the nodes that it reads, each once, in the order of its arguments.
        users: Places of its readers, in the order of the graph's lists.
        slots: Storages of the parts of its value.
        view: True if torchtitan's offload pass knows it as a view.
        aliases: True if it makes no storage: views, picks of outputs, changes in place.
        tensor: True if its value is one tensor.
        cost_ns: Time of one run.
        taggable: True if a policy may tag it.
        once: Reason why it must not run again; an empty text if it may.
        together: Nodes that are tagged alike: a maker of a storage and the changes in place to it.
        may_offload: True if it may be offloaded.
        resident_bytes: Bytes of inputs and constants.

    Raises:
        UnsupportedGraph: for sizes that depend on data, and graphs without a backward pass.
    """

    def __init__(self, graph: fx.Graph, costs: Costs) -> None:
        self.nodes = list(graph.nodes)
        self.place = {node: k for k, node in enumerate(self.nodes)}
        self.backward = [bool(n.meta.get("autograd_backward", False)) for n in self.nodes]
        if not any(self.backward):
            raise UnsupportedGraph(
                "the graph has no backward pass: no node carries autograd_backward",
                remedy="trace torch.autograd.grad with make_fx, as torchtitan does",
            )
        self.module = [module_of(node) for node in self.nodes]
        self.layer = [layer_of(name) for name in self.module]
        self.inputs = [tuple(self.place[s] for s in n.all_input_nodes) for n in self.nodes]
        self.users = [[self.place[u] for u in n.users] for n in self.nodes]
        self.is_call = [n.op == "call_function" for n in self.nodes]
        self.getitem = [_compat.is_getitem(n) for n in self.nodes]
        self.tensor = [isinstance(n.meta.get("val"), torch.Tensor) for n in self.nodes]
        self.view = [_is_listed_view(n) for n in self.nodes]
        self.body = [_is_body(n) for n in self.nodes]
        self.resident_bytes = 0
        self.slots: list[tuple[Slot, ...]] = []
        self._read_storages()
        self.aliases = [
            bool(slots) and all(i >= 0 for i, _ in slots) and self.is_call[k]
            for k, slots in enumerate(self.slots)
        ]
        self.cost_ns = [self._cost(k, costs) for k in range(len(self.nodes))]
        self.region = self._region()
        self.taggable = [self._is_taggable(k) for k in range(len(self.nodes))]
        self.once = [self._why_once(k) for k in range(len(self.nodes))]
        self.together: list[list[int]] = []
        self._read_changes()
        self._protect_other_regions()
        self._draw_consequences()
        self.may_offload = [self._may_offload(k) for k in range(len(self.nodes))]
        self.last_reader = {k: self._last_reader(k) for k in self.offloadable()}

    def offloadable(self) -> list[int]:
        """Places of nodes that may be offloaded."""
        return [k for k, allowed in enumerate(self.may_offload) if allowed]

    def bytes(self, k: int) -> int:
        """Bytes of the storages that a node makes."""
        return sum(size for owner, size in self.slots[k] if owner < 0)

    def inherits(self, k: int) -> bool:
        """Returns true for picks of outputs and waits, which take the tag of their source."""
        return self.getitem[k] or _is_wait(self.nodes[k])

    # Storages.

    def _read_storages(self) -> None:
        known: dict[int, tuple[int, int]] = {}
        keep: list[Any] = []
        held: list[list[int | None]] = []
        for k, node in enumerate(self.nodes):
            leaves = tree_leaves(node.meta.get("val")) if node.op != "output" else []
            keys = [_key(leaf) for leaf in leaves]
            keep.append(leaves)
            if node.op in ("placeholder", "get_attr"):
                fresh = {key: leaf for key, leaf in zip(keys, leaves) if key is not None}
                self.resident_bytes += sum(
                    self._size(node, leaf) for key, leaf in fresh.items() if key not in known
                )
                known.update({key: (k, j) for j, key in enumerate(keys) if key is not None})
                self.slots.append(tuple((-1, 0) for _ in leaves))
                held.append(keys)
                continue
            own: dict[int, Slot] = {}
            for i, source in enumerate(self.inputs[k]):
                for j, key in enumerate(held[source]):
                    if key is not None:
                        own.setdefault(key, (i, j))
            slots: list[Slot] = []
            if self.getitem[k]:
                slots = self._picked(node, len(leaves))
            else:
                for leaf, key in zip(leaves, keys):
                    if key is None:
                        slots.append((-1, 0))
                    else:
                        slots.append(own.get(key) or (-1, self._size(node, leaf)))
            self.slots.append(tuple(slots))
            held.append(keys)

    def _picked(self, node: fx.Node, count: int) -> list[Slot]:
        """Slots of a pick from a list of outputs."""
        source, index = node.args[0], node.args[1]
        value = source.meta.get("val")
        if not isinstance(value, (tuple, list)) or not isinstance(index, int):
            return [(0, 0)] * count
        before = sum(len(tree_leaves(part)) for part in value[: index % len(value)])
        return [(0, before + j) for j in range(count)]

    def _size(self, node: fx.Node, value: torch.Tensor) -> int:
        size, _ = hinted_bytes(value)
        if size is None:
            raise UnsupportedGraph(
                f"{node.target} ({node.name}) has a size that depends on data",
                place=node.name,
                remedy="choose one of torchtitan's own memory policies for this model",
            )
        return size

    def _cost(self, k: int, costs: Costs) -> int:
        node = self.nodes[k]
        if not self.is_call[k] or self.getitem[k] or not self.slots[k]:
            return 0
        changes = _is_change(node)
        if self.aliases[k] and not changes:
            return 0
        return int(costs.nanoseconds(Call(node, values=[node])))

    # Tags.

    def _region(self) -> set[int]:
        """Places of the backward nodes in front of which the executor recomputes: the longest run
        of them behind the last node of the loss or the head."""
        start = 0
        for k, name in enumerate(self.module):
            if name in HEAD:
                start = k + 1
        runs: list[list[int]] = [[]]
        for k in range(start, len(self.nodes)):
            if self.backward[k]:
                runs[-1].append(k)
            elif runs[-1]:
                runs.append([])
        longest = max(runs, key=len)
        return set(longest)

    def _is_taggable(self, k: int) -> bool:
        return self.is_call[k] and not self.backward[k] and not self.module[k].startswith(HEAD)

    def _why_once(self, k: int) -> str:
        node = self.nodes[k]
        if not self.taggable[k]:
            return "it carries no tag"
        if self.getitem[k]:
            return ""
        if isinstance(node.meta.get("val"), torch.SymInt):
            return "it is a size"
        if self.body[k]:
            return "" if node.target.name() in REPEATABLE_BODIES else "its body is not known"
        if not isinstance(node.target, _compat.OpOverload):
            return "it is no operator"
        if _draws(node) or _compat.has_own_generator(node):
            return "it draws random numbers"
        if _compat.is_effect(node.target):
            return "it has an effect"
        known = is_known(node.target) or node.target.namespace in REPEATABLE_NAMESPACES
        return "" if known else "whether it has a state is not known"

    def _read_changes(self) -> None:
        """Finds changes in place. A change to an input runs once, and so do all readers of this
        input. A change to a made tensor runs again together with the maker, if nothing else reads
        the tensor before the last change."""
        roots = self.roots()
        written: dict[tuple[int, int], list[int]] = {}
        for k, node in enumerate(self.nodes):
            if not self.is_call[k] or not isinstance(node.target, _compat.OpOverload):
                continue
            for argument, given in arguments_of(node):
                if argument.alias_info is not None and argument.alias_info.is_write:
                    for part in nodes_in(given):
                        for root in roots[self.place[part]]:
                            written.setdefault(root, []).append(k)
        for root, writers in written.items():
            holders = [k for k, own in enumerate(roots) if root in own]
            chain = set(self._up(writers[-1], root, roots)) | {root[0]}
            resident = not self.is_call[root[0]]
            early = any(user not in chain for k in chain - {writers[-1]} for user in self.users[k])
            if resident or early or any(self.backward[w] for w in writers):
                for k in holders:
                    self.once[k] = self.once[k] or "it is changed in place"
                    for user in self.users[k]:
                        self.once[user] = self.once[user] or "it reads what is changed in place"
                continue
            self.together.append(sorted(k for k in chain if self.is_call[k]))

    def roots(self) -> list[list[tuple[int, int]]]:
        """For each node the storages of its value: maker and part."""
        found: list[list[tuple[int, int]]] = []
        for k, slots in enumerate(self.slots):
            own = []
            for j, (i, part) in enumerate(slots):
                own.append((k, j) if i < 0 else found[self.inputs[k][i]][part])
            found.append(own)
        return found

    def _up(self, k: int, root: tuple[int, int], roots: list[list[tuple[int, int]]]) -> list[int]:
        """Holders of a storage from a node up to its maker."""
        chain = [k]
        while chain[-1] != root[0]:
            above = [i for i in self.inputs[chain[-1]] if root in roots[i]]
            if not above:
                break
            chain.append(above[0])
        return chain

    def _protect_other_regions(self) -> None:
        """Nodes that another part of the backward pass reads keep their values: the executor
        recomputes in one region alone, and would redirect these readers as well."""
        for k, users in enumerate(self.users):
            if any(self.backward[u] and u not in self.region for u in users):
                self.once[k] = self.once[k] or "the backward pass of the loss reads it"

    def _draw_consequences(self) -> None:
        """Parts of one decision run once if one of them does. Picks of outputs and waits follow
        their source, and the source of a pick that runs once does so too."""
        for _ in range(3):
            for k in range(len(self.nodes)):
                if self.inherits(k):
                    source = self.inputs[k][0]
                    why = self.once[source] or (self.once[k] if self.taggable[k] else "")
                    self.once[k] = self.once[k] or why
                    if self.taggable[source]:
                        self.once[source] = self.once[source] or why
            for parts in self.together:
                why = next((self.once[k] for k in parts if self.once[k]), "")
                for k in parts:
                    self.once[k] = self.once[k] or why

    # Offloading, as torchtitan's cpu_offload.py judges.

    def _may_offload(self, k: int) -> bool:
        node = self.nodes[k]
        value = node.meta.get("val")
        if not self.taggable[k] or self.view[k] or not isinstance(value, torch.Tensor):
            return False
        if getattr(node.target, "namespace", "") == "_c10d_functional" or self.body[k]:
            return False
        if self.aliases[k] and not self.getitem[k] or any(k in each for each in self.together):
            return False
        if not value.is_contiguous() or self.slot_bytes(k) < LEAST_OFFLOAD_BYTES:
            return False
        chain = self.view_chain(k)
        holders = [v for v, own in enumerate(self.roots_of()) if self.roots_of()[k][0] in own]
        known = {k, *chain} | ({self.inputs[k][0]} if self.getitem[k] else set())
        if any(h not in known and not self.backward[h] for h in holders):
            return False
        # A result of the step stays on the device, and views are made again from the copy.
        if any(not self.is_call[u] for h in holders for u in self.users[h]):
            return False
        if any(self.once[v] for v in chain):
            return False
        return any(self.backward[u] for v in (k, *chain) for u in self.users[v])

    def slot_bytes(self, k: int) -> int:
        """Bytes of the elements of a tensor."""
        value = self.nodes[k].meta.get("val")
        size, _ = hinted_bytes(value)
        return size or 0

    def roots_of(self) -> list[list[tuple[int, int]]]:
        """As :meth:`roots`, found once."""
        if not hasattr(self, "_roots"):
            self._roots = self.roots()
        return self._roots

    def view_chain(self, k: int) -> list[int]:
        """Forward views of a node, in the order in which the offload pass finds them."""
        found: list[int] = []

        def walk(n: int) -> None:
            for user in self.users[n]:
                forward = self.is_call[user] and not self.backward[user]
                if forward and self.view[user] and user not in found:
                    found.append(user)
                    walk(user)

        walk(k)
        return found

    def _last_reader(self, k: int) -> tuple[int, int | None]:
        """The last forward reader of a node's storage, through views, and the tensor that stands
        for it in ``ao.wait_tensor``."""
        last = k
        for n in (k, *self.view_chain(k)):
            for user in self.users[n]:
                if self.is_call[user] and not self.backward[user]:
                    last = max(last, user)
        if self.tensor[last]:
            return last, last
        tensors = (u for u in self.users[last] if self.is_call[u] and self.tensor[u])
        return last, next(tensors, None)


def copy_ns(link: Link, size: int, to_host: bool) -> int:
    """Time of a copy in nanoseconds."""
    speed = link.to_host_bytes_per_second if to_host else link.from_host_bytes_per_second
    return link.latency_ns + (size * 10**9 // speed if speed else 0)


def module_of(node: fx.Node) -> str:
    """Name of a node's module; empty if unknown."""
    return str(node.meta.get("custom", {}).get("module_fqn", ""))


def layer_of(module: str) -> int:
    """Number of a layer, from the name of a module."""
    parts = module.split(".")
    if parts[0] == "layers" and len(parts) >= 2 and parts[1].isdigit():
        return int(parts[1])
    return NO_LAYER


def _key(leaf: Any) -> int | None:
    return storage_key(leaf) if isinstance(leaf, torch.Tensor) else None


def _is_wait(node: fx.Node) -> bool:
    target = node.target
    return (
        isinstance(target, _compat.OpOverload)
        and target.namespace == "_c10d_functional"
        and target._schema.name.endswith("::wait_tensor")
    )


def _is_listed_view(node: fx.Node) -> bool:
    target = node.target
    if not isinstance(target, _compat.OpOverload) or target.namespace != "aten":
        return False
    return target._schema.name.rpartition("::")[2] in VIEWS


def _draws(node: fx.Node) -> bool:
    """Returns true for a random operator; attention without dropout draws nothing."""
    if not _compat.is_random(node):
        return False
    given = {argument.name: value for argument, value in arguments_of(node)}
    names = {argument.name for argument in node.target._schema.arguments}
    return "dropout_p" not in names or given.get("dropout_p", 0.0) != 0.0


def _is_body(node: fx.Node) -> bool:
    return isinstance(node.target, _compat.HigherOrderOperator)


def _is_change(node: fx.Node) -> bool:
    return isinstance(node.target, _compat.OpOverload) and node.target._schema.is_mutable


def name_gradient_sums(graph: fx.Graph) -> int:
    """Takes the name of the loss or the head from backward nodes behind those of another module.

    torch 2.15 gives the sums of gradients the number of the last forward node. torchtitan 0.3.0
    therefore names them after the loss, and its executor, which recomputes behind the last node of
    the loss, finds nothing to do. The backward pass of the loss always precedes all others.

    Returns:
        The number of nodes that were renamed.
    """
    renamed = 0
    behind = False
    for node in graph.nodes:
        if not node.meta.get("autograd_backward", False):
            continue
        module = module_of(node)
        behind = behind or (module != "" and module not in HEAD)
        if behind and module in HEAD:
            custom = dict(node.meta["custom"])
            del custom["module_fqn"]
            node.meta["custom"] = custom
            renamed += 1
    return renamed
