"""Memory of the graphs of a plan: allocations and releases of the generated code, counted statement
by statement."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from . import _compat, opaque
from ._compat import fx
from .bounded import is_size
from .cost import Costs
from .partition import Call, Joint, storage_bytes
from .rewrite import ADDED, TICKET, Rewritten, fixed_generator, state_value


@dataclass(frozen=True)
class Peak:
    """Peak of memory.

    Attributes:
        bytes: Memory in bytes, without inputs of the step.
        at: The operator that runs at the peak.
    """

    bytes: int
    at: str


class Tally:
    """Storages of one graph: their owners, sizes and last uses.

    Args:
        graph: The graph.
        kept: Names of the inputs of the step.
        adds: Numbers of the inputs with present gradients, to which the graph adds its own.
    """

    def __init__(self, graph: fx.Graph, kept: set[str], adds: Set[int] = frozenset()) -> None:
        self.nodes = list(graph.nodes)
        self.adds = adds
        self.owner: dict[fx.Node, tuple[fx.Node, ...]] = {}
        self.size: dict[fx.Node, int] = {}
        for node in self.nodes:
            self._own(node, kept)
        self.last: dict[fx.Node, int] = {}
        for place, node in enumerate(self.nodes):
            for storage in self.owner[node]:
                self.last[storage] = place
            for argument in node.all_input_nodes:
                for storage in self.owner[argument]:
                    self.last[storage] = place

    def _own(self, node: fx.Node, kept: set[str]) -> None:
        value = node.meta.get("val")
        self.owner[node] = (node,)
        if node.meta.get(TICKET):
            self.size[node] = 0
        elif ADDED in node.meta:
            # Without a present gradient the sum is the new gradient itself.
            if node.meta[ADDED] in self.adds:
                self.size[node] = 0
            else:
                self.owner[node] = self.owner[node.args[1]]
        elif node.op == "placeholder":
            # Inputs of the step stay in memory and do not count.
            self.size[node] = 0 if node.name in kept else storage_bytes(value)
        elif _compat.is_getitem(node) and node.args[0] in self.owner:
            source = node.args[0]
            many = isinstance(source.meta.get("val"), (tuple, list))
            if many and _compat.is_getitem(source) and not _keeps_state(source.args[0]):
                # A group of tensors has one owner.
                self.owner[node] = self.owner[source]
            elif many and not _compat.is_view(source):
                group = isinstance(value, (tuple, list)) and _keeps_state(source)
                self.size[node] = 0 if group else storage_bytes(value)
            else:
                self.owner[node] = self.owner[source]
        elif _compat.is_view(node) or opaque.changes(node):
            first = next(a for a in node.args if isinstance(a, fx.Node))
            self.owner[node] = self.owner[first]
        elif node.op == "call_function" and not isinstance(value, (tuple, list)):
            self.size[node] = storage_bytes(value)
        else:
            self.size[node] = 0


def _keeps_state(node: fx.Node) -> bool:
    return node.target is _compat.run_and_save_rng_state


STATE_COPIES = 2
"""Copies of a generator's state that a random call with given state takes while it runs."""


def peak(
    rewritten: Rewritten, costs: Costs, inputs: set[str], adds: Set[int] = frozenset()
) -> Peak:
    """Replays both graphs of a plan.

    Args:
        costs: Workspaces of calls.
        inputs: Names of the inputs of the step.
        adds: Numbers of the inputs with present gradients, to which the backward graph adds its
            own. Present gradients are not counted.
    """
    return max(side_peaks(rewritten, costs, inputs, adds), key=lambda each: each.bytes)


def side_peaks(
    rewritten: Rewritten, costs: Costs, inputs: set[str], adds: Set[int] = frozenset()
) -> list[Peak]:
    """Peaks of the forward and of the backward graph; see :func:`peak`."""
    return [
        _replay(tally, kept, base, rewritten.calls, costs)
        for tally, kept, base in sides(rewritten, inputs, adds)
    ]


def sides(
    rewritten: Rewritten, inputs: set[str], adds: Set[int] = frozenset()
) -> list[tuple[Tally, set[fx.Node], int]]:
    """For the forward and the backward graph: its storages, the ones that are never freed, and
    further bytes held during its run.

    Args:
        inputs: Names of the inputs of the step.
        adds: As for :func:`peak`.
    """
    forward = Tally(rewritten.forward.graph, inputs)
    outputs = forward.nodes[-1].args[0]
    count = rewritten.outputs
    held = {s for a in outputs[:count] if isinstance(a, fx.Node) for s in forward.owner[a]}
    # Sizes come last here, but first in the backward graph.
    out = [a for a in outputs[count:] if not is_size(a)]
    saved = {s for a in out for s in forward.owner[a]}

    backward = Tally(rewritten.backward.graph, inputs, adds)
    gradients = backward.nodes[-1].all_input_nodes
    kept = {s for a in gradients for s in backward.owner[a]}
    # Saved tensors come first, in the order of the forward graph's outputs. Saved user outputs stay
    # in memory, like all user outputs.
    places = [n for n in backward.nodes if n.op == "placeholder" and not is_size(n)]
    # Tangents follow; the caller of the backward pass holds them.
    kept.update(places[len(out) :])
    for value, place in zip(out, places):
        if not held.isdisjoint(forward.owner[value]):
            backward.size[place] = 0
    base = sum(forward.size[s] for s in held)
    return [(forward, held | saved, 0), (backward, kept, base)]


def waiting_bytes(rewritten: Rewritten, inputs: set[str]) -> int:
    """Memory of a step between its two passes, in bytes: outputs and saved tensors.

    Args:
        inputs: Names of the inputs of the step.
    """
    _, (backward, kept, base) = sides(rewritten, inputs)
    saved = (n for n in backward.nodes if n.op == "placeholder" and n not in kept)
    return base + sum(backward.size[node] for node in saved)


def _replay(
    tally: Tally, kept: set[fx.Node], base: int, calls: dict[fx.Node, Call], costs: Costs
) -> Peak:
    """Peak of one graph, with ``base`` bytes held and the storages ``kept`` never freed."""
    most = Peak(0, "")
    live = base + sum(tally.size[n] for n in tally.nodes if n.op == "placeholder")
    for place, node in enumerate(tally.nodes):
        if node.op != "call_function":
            continue
        if not _compat.is_getitem(node):
            call = calls.get(node)
            made, extra = _made(node, tally, call, costs)
            if live + made + extra > most.bytes:
                most = Peak(live + made + extra, call.name if call else node.name)
            live += made
        reads = (s for a in (*node.all_input_nodes, node) for s in tally.owner[a])
        for storage in dict.fromkeys(reads):
            if tally.last[storage] == place and storage not in kept:
                live -= tally.size[storage]
    return most


def _made(node: fx.Node, tally: Tally, call: Call | None, costs: Costs) -> tuple[int, int]:
    """Bytes of a call's read outputs, and of all other memory during its run."""
    if node not in tally.size:
        return 0, 0
    picks = [u for u in node.users if _compat.is_getitem(u) and u in tally.size]
    # A random call that saves the state of the generator returns it with its own outputs.
    picks += [p for q in picks for p in q.users if _compat.is_getitem(p) and p in tally.size]
    made = tally.size[node] + sum(tally.size[p] for p in picks)
    if call is None:
        return made, 0
    whole = sum(storage_bytes(v.meta.get("val")) for v in call.values) + call.unused_bytes
    workspace = costs.workspace_bytes(call)
    if node.target in (_compat.run_and_save_rng_state, _compat.run_with_rng_state):
        saves = _keeps_state(node)
        state = storage_bytes(node.meta["val"][0] if saves else node.args[0].meta["val"])
        workspace += STATE_COPIES * state
        whole += state if saves else 0
    return made, workspace + max(0, whole - made)


def state_bytes(joint: Joint) -> int:
    """Memory of the states of generators if every random call runs again."""
    random = [c for c in joint.calls if c.random and not c.once and not fixed_generator(c.node)]
    if not random:
        return 0
    return (len(random) + STATE_COPIES) * storage_bytes(state_value(random[0].node))
