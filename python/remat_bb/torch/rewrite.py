"""Forward and backward graphs of a plan.

Steps up to the first computation of the last forward call make the forward graph, the others the
backward graph. What the latter reads before it computes it is saved. Nothing is freed explicitly:
code that fx generates lets go of a value after its last reader. Copies of the plan are calls of
:class:`remat_bb.torch.host.Host`; what is on the host between the two graphs is not saved.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._pytree import tree_leaves

from . import _compat
from . import host as operators
from ._compat import fx
from .accumulate import add
from .copies import Numbered, Statement
from .host import Host
from .instance import END
from .partition import Call, Joint, is_running_statistic, repeated

if TYPE_CHECKING:
    from .reorder import OrderReport


ADDED = "remat_added"
"""Mark of sums of gradients with those that are there: the number of the input."""
TICKET = "remat_ticket"
"""Mark of nodes that are tickets: they take no memory of the device."""


def program(
    joint: Joint, steps: Iterable[tuple[Any, ...]]
) -> tuple[list[Statement], list[Statement], Host | None]:
    """The statements of a plan, split in forward and backward graph, and host memory for its
    copies.

    Args:
        steps: Statements of the plan (:attr:`remat_bb.Plan.steps`).
    """
    named: dict[str, tuple[Call, fx.Node | None]] = {}
    for call in joint.calls:
        named[call.name] = (call, None)
        for value in call.values[1:]:
            named[value.name] = (call, value)
    out: list[Statement] = []
    numbered = Numbered()
    for step in steps:
        if step[0] != "compute":
            out += numbered.statement(step)
        elif step[1] == END:
            out.append(Statement("end"))
        else:
            call, part = named[step[1]]
            register = step[2] if len(step) > 2 else -1
            numbered.fill(register, part or (call.values[0] if call.values else None))
            if call.node.op != "placeholder":
                out.append(Statement("call" if part is None else "take", call, part, register))
    # A forward call's first computation is always before those of later calls, so the forward
    # graph ends where the last of these is. What is waited for right behind it is not saved.
    end = 0
    seen: set[tuple[Call, fx.Node | None]] = set()
    first = set(joint.calls[: joint.forward])
    for place, each in enumerate(out):
        if each.call in first and (each.call, each.value) not in seen:
            seen.add((each.call, each.value))
            end = place + 1
    while end < len(out) and out[end].kind in ("offload", "wait", "release"):
        end += 1
    return out[:end], out[end:], numbered.host()


class Emitter:
    """Writer of one graph: values are read in their latest incarnation, views are made anew.

    Args:
        joint: The joint graph.
        random_again: Random calls that run more than once.
        host: Host memory of the plan.
        ran: Calls that another graph has run before.

    Attributes:
        registers: The latest tensor of each register of the plan.
        arriving: Tensors that are fetched and that nothing has waited for, with the number of the
            copy.
        ticket: The ticket of the run of host memory.
    """

    def __init__(
        self,
        joint: Joint,
        random_again: set[Call],
        host: Host | None = None,
        ran: set[Call] | None = None,
    ) -> None:
        self.joint = joint
        self.host = host
        self.graph = fx.Graph()
        self.random_again = random_again
        self.ran: set[Call] = ran or set()
        self.values: dict[fx.Node, fx.Node] = {}
        # Views by the value that they belong to.
        self.views: dict[fx.Node, dict[fx.Node, fx.Node]] = {}
        self.pending: dict[fx.Node, fx.Node] = {}
        # Running statistics of batch norms: a later run does not make them.
        self.statistics: dict[fx.Node, fx.Node] = {}
        self.states: dict[Call, fx.Node] = {}
        self.picked: list[fx.Node] = []
        self.calls: dict[fx.Node, Call] = {}
        self.sums: dict[int, fx.Node] = {}
        self.registers: dict[int, fx.Node] = {}
        self.arriving: dict[fx.Node, int] = {}
        self.ticket: fx.Node | None = None

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
        once: set[fx.Node] = set()
        if made is None:
            target, arguments = repeated(node)
            if target is not node.target:
                once = {value for value in call.values if is_running_statistic(value)}
            if call in self.ran and target is not node.target:
                arguments = fx.map_arg(arguments, self.read)
                made = self.graph.create_node("call_function", target, arguments, name=node.name)
                made.meta = node.meta.copy()
            else:
                made = self.graph.node_copy(node, self.read)
            self.calls[made] = call
        if not call.values:
            self.ran.add(call)
            self.values[node] = made
            return
        for value in call.values:
            part = made
            if value in once and call in self.ran:
                if value not in self.statistics:
                    # The graph that ran before has changed the buffers.
                    continue
                part = self.statistics[value]
            elif value is not node:
                arguments = (made, value.args[1])
                part = self.graph.create_node(
                    "call_function", operator.getitem, arguments, name=value.name
                )
                part.meta = value.meta.copy()
                self.picked.append(part)
            if value in once:
                self.statistics[value] = part
            if value is call.values[0]:
                self.write(value, part)
            else:
                self.pending[value] = part
        self.ran.add(call)

    def add(self, call: Call, gradients: Gradients) -> None:
        """Emits the sums of the gradients that the latest run of a call has made with those that
        are there already."""
        for value in call.values:
            if value not in gradients:
                continue
            before = self.values.get(value), self.views.get(value)
            if value in self.pending:
                self.write(value, self.pending[value])
            for place, node in gradients[value]:
                self.sum(place, node)
            if value in self.pending:
                # The one to read is the other one still.
                self.values.pop(value)
                self.views.pop(value, None)
                if before[0] is not None:
                    self.values[value] = before[0]
                if before[1] is not None:
                    self.views[value] = before[1]

    def sum(self, place: int, node: fx.Node) -> None:
        """Emits the sum of a gradient with that which is there already."""
        number = self.joint.tensor_number(place)
        made = self.graph.call_function(add, (number, self.read(node)))
        made.meta = {**node.meta, ADDED: place}
        self.sums[place] = made

    def take(self, value: fx.Node) -> None:
        """Makes the by-product of the latest run the one to read; nobody reads running statistics
        that a later run did not make."""
        if value in self.pending:
            self.write(value, self.pending.pop(value))

    def arrive(self, values: Iterable[fx.Node]) -> None:
        """Waits for those of some values that are being fetched."""
        for value in values:
            made = self.values.get(value)
            if made in self.arriving:
                self._copy(operators.arrive, made, self.arriving.pop(made))

    def copy(self, step: Statement) -> None:
        """Emits a statement about a copy."""
        value, number = step.value, step.copy
        assert value is not None
        if step.kind == "prefetch":
            made = self._copy(operators.prefetch, number, step.fetch)
            made.meta = value.meta.copy()
            self.write(value, made)
            self.registers[step.register] = made
            self.arriving[made] = step.fetch
        elif step.kind == "release":
            self._copy(operators.release, number)
        else:
            source = self.registers[step.register]
            if source in self.arriving:
                self._copy(operators.arrive, source, self.arriving.pop(source))
            operator = operators.offload if step.kind == "offload" else operators.wait
            self._copy(operator, source, number)

    def _copy(self, target: Callable[..., Any], *arguments: Any) -> fx.Node:
        if self.ticket is None:
            assert self.host is not None
            self.ticket = self.graph.call_function(self.host.begin)
            self.ticket.meta["val"] = ticket_value(self.joint.module.graph)
            self.ticket.meta[TICKET] = True
        return self.graph.call_function(target, (self.ticket, *arguments))

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
        host: Host memory for the copies of the plan.
        reordered: What was found for both graphs where they were reordered.
    """

    forward: fx.GraphModule
    backward: fx.GraphModule
    calls: dict[fx.Node, Call]
    outputs: int
    host: Host | None = None
    reordered: list[OrderReport] = field(default_factory=list)


def rewrite(joint: Joint, steps: Iterable[tuple[Any, ...]]) -> Rewritten:
    """The forward and the backward graph of a plan, as AOTAutograd wants them: the forward graph
    returns the outputs of the model, then saved tensors; the backward graph takes saved tensors,
    then tangents."""
    before, after, host = program(joint, steps)
    runs: dict[Call, int] = {}
    for step in before + after:
        if step.kind == "call" and step.call is not None:
            runs[step.call] = runs.get(step.call, 0) + 1
    again = {
        call
        for call, count in runs.items()
        if count > 1 and call.random and not fixed_generator(call.node)
    }
    first = Emitter(joint, again, host)
    for node in joint.primals:
        first.input(node)
    _emit(first, before)
    saved, states = _saved(joint, after, first)
    copied = [first.registers[register] for register in _leaving(after, first, saved)]
    no_check = sum(not n.meta.get("saved_tensor_with_no_vc_check", False) for n in saved)
    outputs = [first.read(n) if isinstance(n, fx.Node) else n for n in joint.forward_outputs]
    kept = saved[:no_check], saved[no_check:]
    order = [first.values[v] for v in kept[0]] + copied + [first.states[c] for c in states]
    copies = any(step.copy >= 0 for step in after)
    if first.ticket is not None and (copies or first.arriving):
        order.append(first.ticket)
    no_check = len(order)
    order += [first.values[v] for v in kept[1]]
    descriptors = _compat.output_descriptors(order, no_check)
    forward = first.finish(outputs + order, joint.forward_descriptors + descriptors)

    second = Emitter(joint, again, host, first.ran)
    for node in kept[0]:
        second.input(node)
    taken = {first.values[node]: second.values[node] for node in kept[0]}
    for node in copied:
        taken[node] = second.graph.placeholder(f"{node.name}_leaving")
        taken[node].meta = node.meta
    for call in states:
        second.state(call)
    if first.ticket is not None and first.ticket in order:
        second.ticket = second.graph.placeholder("ticket")
        second.ticket.meta = first.ticket.meta
    for node in (*kept[1], *joint.tangents):
        second.input(node)
    taken |= {first.values[node]: second.values[node] for node in kept[1]}
    second.registers = {r: taken[n] for r, n in first.registers.items() if n in taken}
    second.arriving = {taken[n]: fetch for n, fetch in first.arriving.items()}
    _emit(second, after, _last_gradients(joint, after) if joint.in_place else {})
    if joint.in_place:
        for place, node in joint.gradients():
            if place not in second.sums:
                second.sum(place, node)
    gradients = [
        second.sums.get(place) or second.read(node) if isinstance(node, fx.Node) else node
        for place, node in enumerate(joint.backward_outputs)
    ]
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
    return Rewritten(modules[0], modules[1], calls, len(joint.forward_outputs), host)


Gradients = dict[fx.Node, list[tuple[int, fx.Node]]]
"""Gradients of inputs, each with the number of its input, by the value that they belong to."""


def _last_gradients(joint: Joint, steps: list[Statement]) -> dict[int, Gradients]:
    """Gradients that a statement is the last one to make, by its place."""
    found: dict[int, Gradients] = {}
    last = {step.call: place for place, step in enumerate(steps) if step.kind == "call"}
    for number, node in joint.gradients():
        base = joint.base[node]
        place = last.get(joint.call_of.get(base))
        if place is not None and joint.is_made_backward(base):
            found.setdefault(place, {}).setdefault(base, []).append((number, node))
    return found


def _emit(
    emitter: Emitter, steps: list[Statement], gradients: dict[int, Gradients] | None = None
) -> None:
    for place, step in enumerate(steps):
        if step.kind == "call" and step.call is not None:
            emitter.arrive(step.call.needs)
            emitter.run(step.call)
            if gradients and place in gradients:
                emitter.add(step.call, gradients[place])
            if step.call.values:
                emitter.registers[step.register] = emitter.values[step.call.values[0]]
        elif step.kind == "take" and step.call is not None and step.value is not None:
            # In a plan a by-product reads its operator: what holds that may go from here on.
            emitter.arrive(step.call.values[:1])
            emitter.take(step.value)
            if step.value in emitter.values:
                emitter.registers[step.register] = emitter.values[step.value]
        elif step.kind == "end":
            values = (value for call in emitter.joint.calls for value in call.values)
            emitter.arrive(value for value in values if value in emitter.joint.results)
        else:
            emitter.copy(step)


def _leaving(steps: list[Statement], first: Emitter, saved: list[fx.Node]) -> list[int]:
    """Registers of the forward graph that the backward graph copies from or waits for, beside those
    of saved values."""
    filled: set[int] = set()
    known = {first.values[value] for value in saved}
    found: dict[int, None] = {}
    for step in steps:
        if step.kind in ("call", "take", "prefetch"):
            filled.add(step.register)
        elif step.kind in ("offload", "wait") and step.register not in filled:
            if first.registers[step.register] not in known:
                found[step.register] = None
    return list(found)


def _saved(
    joint: Joint, steps: list[Statement], first: Emitter
) -> tuple[list[fx.Node], list[Call]]:
    """Values and states of generators that the backward graph reads before it makes them, in the
    order of the joint graph; those without version counter check last."""
    made: set[fx.Node] = set(joint.tangents)
    found: dict[fx.Node, None] = {}
    states: dict[Call, None] = {}

    def read(node: fx.Node) -> None:
        base = joint.base[node]
        if base.op != "get_attr" and base not in made:
            found[base] = None

    for step in steps:
        if step.kind == "call" and (call := step.call) is not None:
            if call in first.ran:
                fx.map_arg(repeated(call.node)[1], read)
                fx.map_arg(call.node.kwargs, read)
            else:
                for node in call.node.all_input_nodes:
                    read(node)
            if call in first.states:
                states[call] = None
            made.update(call.values[:1])
        elif step.kind in ("take", "prefetch") and step.value is not None:
            made.add(step.value)
    # Gradients that are added in place are read where they are made.
    ran = {step.call for step in steps if step.kind == "call"}
    added = {node for _, node in joint.gradients()} if joint.in_place else set()
    for node in joint.backward_outputs:
        if isinstance(node, fx.Node):
            if node not in added or joint.call_of.get(joint.base[node]) not in ran:
                read(node)
    places = {node: k for k, node in enumerate(joint.module.graph.nodes)}
    unchecked = "saved_tensor_with_no_vc_check"
    ordered = sorted(found, key=lambda n: (bool(n.meta.get(unchecked)), places[n]))
    return ordered, list(states)


def _twin(node: fx.Node, base: fx.Node) -> bool:
    return _compat.is_getitem(base) and node.args == base.args


def fixed_generator(node: fx.Node) -> bool:
    """Returns true for attention without dropout, which carries the mark of randomness."""
    if node.target.namespace != "aten" or "attention" not in str(node.target):
        return False
    for argument in node.target._schema.arguments:
        if argument.name == "dropout_p":
            place = [a.name for a in node.target._schema.arguments].index("dropout_p")
            default = argument.default_value
            given = node.args[place] if place < len(node.args) else default
            return node.kwargs.get("dropout_p", given) == 0.0
    return False


def ticket_value(graph: fx.Graph) -> torch.Tensor:
    """A fake tensor like the ticket of a run of host memory."""
    values = (part for node in graph.nodes for part in tree_leaves(node.meta.get("val")))
    mode = next(value.fake_mode for value in values if isinstance(value, _compat.FakeTensor))
    with mode:
        return torch.empty(1, dtype=torch.int64, device="cpu")


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
