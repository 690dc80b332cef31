"""Instances of steps in one graph, and tags from what a solver decides for their values.

The instance has a node for each value, as :mod:`remat_bb.torch.instance` writes them: any solver of
``remat_bb.solve`` reads it, with plans freer than tags. A solver that plans tags gives each forward
value a state, which :func:`tags_of` puts on the graph's nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._compat import fx
from .cost import Costs
from .instance import document
from .link import Copying
from .partition import Call
from .step_graph import StepGraph
from .tag_replay import SAVED
from .tag_units import Units


class StepUnits:
    """Calls of a step, for the writer of instances.

    Attributes:
        calls: Calls in execution order. A change in place belongs to the call that makes the
            tensor.
        forward: Number of the calls before the first one of the backward pass.
        results: Values that are outputs of the graph.
        held: Values that the caller holds.
    """

    def __init__(self, step: StepGraph) -> None:
        self.calls: list[Call] = []
        self.forward = 0
        self.results: set[fx.Node] = set()
        self.held: set[fx.Node] = set()
        self.cost_ns: dict[fx.Node, int] = {}
        self._step = step
        self._roots = step.roots()
        self._values = self._value_nodes()
        changes = {k: parts[0] for parts in step.together for k in parts[1:]}
        call_of: dict[int, Call] = {}
        started = False
        for k, node in enumerate(step.nodes):
            if node.op == "output":
                self.results = {v for v in self._read(k, call_of)[0]}
            if not step.is_call[k] or step.getitem[k]:
                continue
            started = started or step.backward[k]
            maker = call_of.get(changes.get(k, -1))
            if maker is not None:
                self.cost_ns[maker.node] += step.cost_ns[k]
                self._need(maker, k, call_of)
                call_of[k] = maker
                continue
            if step.aliases[k] and not step.cost_ns[k]:
                continue
            call = self._call(k)
            call_of[k] = call
            self._need(call, k, call_of)
            self.cost_ns[node] = step.cost_ns[k]
            self.calls.append(call)
            self.forward += not started

    def _value_nodes(self) -> dict[tuple[int, int], fx.Node]:
        """The node that stands for each made storage: the call, or the pick of its output."""
        step = self._step
        found: dict[tuple[int, int], fx.Node] = {}
        for k, slots in enumerate(step.slots):
            if not step.is_call[k]:
                continue
            if step.getitem[k]:
                for root in self._roots[k]:
                    if root[0] == step.inputs[k][0]:
                        found.setdefault(root, step.nodes[k])
            elif step.tensor[k]:
                for j, (owner, size) in enumerate(slots):
                    if owner < 0 and size:
                        found[(k, j)] = step.nodes[k]
        return found

    def _call(self, k: int) -> Call:
        step = self._step
        made = [
            ((k, j), size) for j, (owner, size) in enumerate(step.slots[k]) if owner < 0 and size
        ]
        values = [self._values[root] for root, _ in made if root in self._values]
        unused = sum(size for root, size in made if root not in self._values)
        once = bool(step.once[k]) or step.backward[k]
        return Call(step.nodes[k], list(dict.fromkeys(values)), unused_bytes=unused, once=once)

    def _read(self, k: int, call_of: dict[int, Call]) -> tuple[list[fx.Node], list[fx.Node]]:
        """Values and inputs of the graph that a node reads."""
        values: dict[fx.Node, None] = {}
        inputs: dict[fx.Node, None] = {}
        for source in self._step.inputs[k]:
            for root in self._roots[source]:
                if root in self._values and root[0] in call_of:
                    values[self._values[root]] = None
                elif self._step.nodes[root[0]].op == "placeholder":
                    inputs[self._step.nodes[root[0]]] = None
        return list(values), list(inputs)

    def _need(self, call: Call, k: int, call_of: dict[int, Call]) -> None:
        values, inputs = self._read(k, call_of)
        call.needs += [v for v in values if v not in call.values and v not in call.needs]
        call.inputs += [i for i in inputs if i not in call.inputs]


class _Known(Costs):
    def __init__(self, cost_ns: dict[fx.Node, int]) -> None:
        self._cost_ns = cost_ns

    def nanoseconds(self, call: Call) -> int:
        return self._cost_ns[call.node]

    def workspace_bytes(self, call: Call) -> int:
        return 0


def step_document(step: StepGraph, name: str, copying: Copying | None = None) -> dict[str, Any]:
    """The ``remat-instance/1`` document of a step.

    Args:
        name: Name of the instance.
        copying: Copies to the host that plans may make.
    """
    units = StepUnits(step)
    return document(units, _Known(units.cost_ns), step.resident_bytes, name, copying)


def tags_of(units: Units, states: Mapping[str, str]) -> dict[int, str]:
    """Tags of a solver's decisions.

    Args:
        units: Decisions of the step.
        states: ``"saved"``, ``"recomputed"`` or ``"offloaded"`` by the name of a value in the
            document; a value without one is saved.
    """
    found = []
    for unit in units.units:
        names = [units.step.nodes[k].name for k in unit.members]
        given = next((states[name] for name in names if name in states), SAVED)
        found.append(given if given in unit.states else SAVED)
    return units.tags(found)
