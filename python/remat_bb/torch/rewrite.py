"""Forward and backward graphs of a plan.

Steps up to the first computation of the last forward call make the forward graph, the others the
backward graph. What the latter reads before it computes it is saved. Nothing is freed explicitly:
code that fx generates lets go of a value after its last reader.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from . import _compat
from ._compat import fx
from .instance import END
from .partition import Call, Joint, repeated

if TYPE_CHECKING:
    from .reorder import OrderReport

Step = tuple[str, Call, fx.Node | None]


def program(joint: Joint, steps: Iterable[tuple[Any, ...]]) -> tuple[list[Step], list[Step]]:
    """The computations of a plan, split in forward and backward graph.

    Args:
        steps: Statements of the plan (:attr:`remat_bb.Plan.steps`).

    Returns:
        Two lists of ``("call", call, None)``, a run of an operator, and ``("take", call, value)``,
        from where on a by-product of the latest run is the one to read.
    """
    named: dict[str, tuple[Call, fx.Node | None]] = {}
    for call in joint.calls:
        named[call.name] = (call, None)
        for value in call.values[1:]:
            named[value.name] = (call, value)
    out: list[Step] = []
    for step in steps:
        if step[0] == "compute" and step[1] != END:
            call, value = named[step[1]]
            if call.node.op != "placeholder":
                out.append(("call" if value is None else "take", call, value))
    # A forward call's first computation is always before those of later calls, so the forward
    # graph ends where the last of these is.
    end = 0
    seen: set[tuple[Call, fx.Node | None]] = set()
    first = set(joint.calls[: joint.forward])
    for place, (_, call, value) in enumerate(out):
        if call in first and (call, value) not in seen:
            seen.add((call, value))
            end = place + 1
    return out[:end], out[end:]


class Emitter:
    """Writer of one graph: values are read in their latest incarnation, views are made anew.

    Args:
        joint: The joint graph.
        random_again: Random calls that run more than once.
        ran: Calls that another graph has run before.
    """

    def __init__(self, joint: Joint, random_again: set[Call], ran: set[Call] | None = None) -> None:
        self.joint = joint
        self.graph = fx.Graph()
        self.random_again = random_again
        self.ran: set[Call] = ran or set()
        self.values: dict[fx.Node, fx.Node] = {}
        # Views by the value that they belong to.
        self.views: dict[fx.Node, dict[fx.Node, fx.Node]] = {}
        self.pending: dict[fx.Node, fx.Node] = {}
        self.states: dict[Call, fx.Node] = {}
        self.picked: list[fx.Node] = []
        self.calls: dict[fx.Node, Call] = {}

    def input(self, node: fx.Node) -> None:
        """Declares a value that comes from outside."""
        made = self.graph.placeholder(node.name)
        made.meta = node.meta
        self.values[node] = made

    def state(self, call: Call) -> None:
        """Declares the state of the generator that a random call started from."""
        made = self.graph.placeholder(f"generator_of_{call.node.name}")
        made.meta["val"] = state_value(call.node)
        self.states[call] = made

    def read(self, node: fx.Node) -> fx.Node:
        """The node of this graph that stands for one of the joint graph."""
        if node.op == "get_attr" and node not in self.values:
            self.values[node] = self.graph.node_copy(node)
        base = self.joint.base[node]
        if base is node:
            return self.values[node]
        if node in self.joint.call_of and self.joint.call_of[node].node is node:
            return self.values[node] if node in self.values else self.read(base)
        views = self.views.setdefault(base, {})
        if node not in views:
            if _compat.is_getitem(node) and base.op == "call_function" and _twin(node, base):
                return self.read(base)
            views[node] = self.graph.node_copy(node, self.read)
        return views[node]

    def write(self, value: fx.Node, made: fx.Node) -> None:
        """Makes a node the latest incarnation of a value."""
        self.values[value] = made
        self.views.pop(value, None)

    def run(self, call: Call) -> None:
        """Emits a call with its outputs."""
        node = call.node
        made = self._random(call) if call in self.random_again else None
        if made is None:
            target, arguments = repeated(node)
            if call in self.ran and target is not node.target:
                arguments = fx.map_arg(arguments, self.read)
                made = self.graph.create_node("call_function", target, arguments, name=node.name)
                made.meta = node.meta.copy()
            else:
                made = self.graph.node_copy(node, self.read)
            self.calls[made] = call
        self.ran.add(call)
        if not call.values:
            self.values[node] = made
            return
        for value in call.values:
            part = made
            if value is not node:
                arguments = (made, value.args[1])
                part = self.graph.create_node(
                    "call_function", operator.getitem, arguments, name=value.name
                )
                part.meta = value.meta.copy()
                self.picked.append(part)
            if value is call.values[0]:
                self.write(value, part)
            else:
                self.pending[value] = part

    def take(self, value: fx.Node) -> None:
        """Makes the by-product of the latest run the one to read."""
        self.write(value, self.pending.pop(value))

    def _random(self, call: Call) -> fx.Node:
        """Emits a random call that is run with the same numbers each time."""
        node = call.node
        arguments = tuple(fx.map_arg(node.args, self.read))
        options = fx.map_arg(dict(node.kwargs), self.read)
        if call in self.states:
            operands = (self.states[call], node.target, *arguments)
            made = self.graph.call_function(_compat.run_with_rng_state, operands, options)
            self.calls[made] = call
            made.meta = node.meta.copy()
            return made
        both = self.graph.call_function(
            _compat.run_and_save_rng_state, (node.target, *arguments), options
        )
        self.calls[both] = call
        state = self.graph.call_function(operator.getitem, (both, 0))
        state.meta["val"] = state_value(node)
        made = self.graph.call_function(operator.getitem, (both, 1))
        made.meta = node.meta.copy()
        both.meta["val"] = (state.meta["val"], node.meta.get("val"))
        self.states[call] = state
        return made

    def finish(self, outputs: list[Any], descriptors: list[Any]) -> fx.Graph:
        """Ends the graph, without picks that nobody reads."""
        result = self.graph.output(tuple(outputs))
        result.meta["desc"] = descriptors
        for node in reversed(self.picked):
            if not node.users:
                self.graph.erase_node(node)
        self.graph.lint()
        return self.graph


@dataclass
class Rewritten:
    """A plan as two graphs.

    Attributes:
        forward, backward: The graphs.
        calls: The call of the joint graph that a node of theirs runs.
        outputs: Number of outputs of the forward graph that are the model's; saved ones follow.
        reordered: What was found for both graphs where they were reordered.
    """

    forward: fx.GraphModule
    backward: fx.GraphModule
    calls: dict[fx.Node, Call]
    outputs: int
    reordered: list[OrderReport] = field(default_factory=list)


def rewrite(joint: Joint, steps: Iterable[tuple[Any, ...]]) -> Rewritten:
    """The forward and the backward graph of a plan, as AOTAutograd wants them: the forward graph
    returns the outputs of the model, then saved tensors; the backward graph takes saved tensors,
    then tangents."""
    before, after = program(joint, steps)
    runs: dict[Call, int] = {}
    for kind, call, _ in before + after:
        if kind == "call":
            runs[call] = runs.get(call, 0) + 1
    again = {
        call
        for call, count in runs.items()
        if count > 1 and call.random and not fixed_generator(call.node)
    }
    first = Emitter(joint, again)
    for node in joint.primals:
        first.input(node)
    _emit(first, before)
    saved, states = _saved(joint, after, first)
    no_check = sum(not n.meta.get("saved_tensor_with_no_vc_check", False) for n in saved)
    outputs = [first.read(n) if isinstance(n, fx.Node) else n for n in joint.forward_outputs]
    kept = saved[:no_check], saved[no_check:]
    order = [first.values[v] for v in kept[0]] + [first.states[c] for c in states]
    no_check += len(states)
    order += [first.values[v] for v in kept[1]]
    descriptors = _compat.output_descriptors(order, no_check)
    forward = first.finish(outputs + order, joint.forward_descriptors + descriptors)

    second = Emitter(joint, again, first.ran)
    for node in kept[0]:
        second.input(node)
    for call in states:
        second.state(call)
    for node in (*kept[1], *joint.tangents):
        second.input(node)
    _emit(second, after)
    gradients = [second.read(n) if isinstance(n, fx.Node) else n for n in joint.backward_outputs]
    backward = second.finish(gradients, joint.backward_descriptors)
    modules = [_compat.make_graph_module(joint.module, g) for g in (forward, backward)]
    calls = first.calls | second.calls
    # A module owns a copy of its graph.
    for module, graph in zip(modules, (forward, backward)):
        if module.graph is not graph:
            calls |= {
                copy: calls[node]
                for node, copy in zip(graph.nodes, module.graph.nodes)
                if node in calls
            }
    return Rewritten(modules[0], modules[1], calls, len(joint.forward_outputs))


def _emit(emitter: Emitter, steps: list[Step]) -> None:
    for kind, call, value in steps:
        if kind == "call":
            emitter.run(call)
        elif value is not None:
            emitter.take(value)


def _saved(joint: Joint, steps: list[Step], first: Emitter) -> tuple[list[fx.Node], list[Call]]:
    """Values and states of generators that the backward graph reads before it makes them, in the
    order of the joint graph; those without version counter check last."""
    made: set[fx.Node] = set(joint.tangents)
    found: dict[fx.Node, None] = {}
    states: dict[Call, None] = {}

    def read(node: fx.Node) -> None:
        base = joint.base[node]
        if base.op != "get_attr" and base not in made:
            found[base] = None

    for kind, call, value in steps:
        if kind == "call":
            if call in first.ran:
                fx.map_arg(repeated(call.node)[1], read)
                fx.map_arg(call.node.kwargs, read)
            else:
                for node in call.node.all_input_nodes:
                    read(node)
            if call in first.states:
                states[call] = None
            made.update(call.values[:1])
        elif value is not None:
            made.add(value)
    for node in joint.backward_outputs:
        if isinstance(node, fx.Node):
            read(node)
    places = {node: k for k, node in enumerate(joint.module.graph.nodes)}
    unchecked = "saved_tensor_with_no_vc_check"
    ordered = sorted(found, key=lambda n: (bool(n.meta.get(unchecked)), places[n]))
    return ordered, list(states)


def _twin(node: fx.Node, base: fx.Node) -> bool:
    return _compat.is_getitem(base) and node.args == base.args


def fixed_generator(node: fx.Node) -> bool:
    """Returns true for attention without dropout, which carries the mark of randomness."""
    if "attention" not in str(node.target):
        return False
    for argument in node.target._schema.arguments:
        if argument.name == "dropout_p":
            place = [a.name for a in node.target._schema.arguments].index("dropout_p")
            default = argument.default_value
            given = node.args[place] if place < len(node.args) else default
            return node.kwargs.get("dropout_p", given) == 0.0
    return False


def state_value(node: fx.Node) -> torch.Tensor:
    """A fake tensor like the state of the generator that a call draws from."""
    from torch._guards import detect_fake_mode

    value = node.meta.get("val")
    tensors = value if isinstance(value, (tuple, list)) else (value,)
    cuda = next((t.device for t in tensors if getattr(t, "is_cuda", False)), None)
    mode = detect_fake_mode()
    if mode is None:
        mode = next(t.fake_mode for t in tensors if isinstance(t, _compat.FakeTensor))
    with _compat.unset_fake_temporarily():
        real = torch.cuda.get_rng_state(cuda) if cuda is not None else torch.get_rng_state()
    with mode:
        return mode.from_tensor(real)
