"""Reading of a joint graph: values with storage of their own, views, order, results.

AOTAutograd traces forward and backward pass of a model into one graph of fx. :class:`Joint` reads
this graph for the solver:

* A *value* is a tensor with its own storage: the output of a call, one of several outputs, or an
  input. A view belongs to its value, and each reader makes it again.
* A *call* is an operator with its values: the main one, and by-products from the same run.
* The *order* is the execution order: calls for the forward outputs, masks, then tangents, then the
  backward pass. There, each call that needs no tangent directly precedes its first reader.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from . import _compat, opaque
from ._compat import fx
from ._compat_sizes import expression
from .bounded import is_size, traced_value
from .decisions import Varying
from .opaque import UnsupportedGraph
from .scalars import is_number, plain_numbers
from .tags import AGAIN


@dataclass(eq=False)
class Call:
    """An operator call in the joint graph, or a tangent that comes from outside.

    Attributes:
        node: The call.
        values: Its read outputs with their own storage, the main one first; empty if it only
            changes other tensors.
        needs: Values that it reads, without inputs of the graph and constants.
        inputs: Inputs of the graph that it reads.
        unused_bytes: Size of unread outputs.
        once: True if it must not be computed again.
        ends: Names of calls that must not run behind it: they read what it overwrites.
        random: True if it draws random numbers.
    """

    node: fx.Node
    values: list[fx.Node] = field(default_factory=list)
    needs: list[fx.Node] = field(default_factory=list)
    inputs: list[fx.Node] = field(default_factory=list)
    unused_bytes: int = 0
    once: bool = False
    random: bool = False
    ends: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Name of its node in the instance: the name of the main value."""
        return self.values[0].name if self.values else self.node.name


def storage_bytes(value: Any) -> int:
    """Bytes that the allocator takes for a tensor's storage, or for those of a group of tensors; 0
    for other values.

    Sizes in CUDA's caching allocator are multiples of 512.
    """
    if isinstance(value, (tuple, list)):
        return sum(map(storage_bytes, value))
    if not isinstance(value, torch.Tensor):
        return 0
    size = int(value.untyped_storage().nbytes())
    return -(-size // 512) * 512 if value.device.type == "cuda" else size


def distinct_bytes(tensors: Iterable[torch.Tensor]) -> int:
    """Bytes that the allocator takes for some tensors; each storage counts once."""
    return sum({x.untyped_storage()._cdata: storage_bytes(x) for x in tensors}.values())


class Joint:
    """A joint graph, read for planning.

    Attributes:
        module: The joint graph, after removal of redundant clones.
        calls: Calls in execution order.
        forward: Number of the first calls that make up the forward graph.
        base: For each tensor node the node that owns its storage.
        sizes_given: Symbolic sizes among its inputs, which the backward graph gets as well.
        forward_outputs, backward_outputs: Outputs of the two graphs, with ``None`` for missing
            ones.
        results: Values that are in memory at the end: user outputs, tangents and gradients.
        held: Values that the caller holds: user outputs and tangents.
        in_place: True if the backward graph adds each new gradient to the present one at once.
        added: Numbers of inputs with present gradients. Gradients added to these are not in memory
            at the end.
        updated: Numbers of the inputs that calls of the backward pass update, by call.

    Raises:
        UnsupportedGraph: for sizes that depend on data, inputs of unknown kind, and changes of
            tensors other than inputs.
    """

    def __init__(self, module: fx.GraphModule, forward_output_count: int) -> None:
        self.module = module
        plain_numbers(module.graph)
        module.graph.eliminate_dead_code()
        opaque.pass_inputs(module.graph)
        _remove_copies(module.graph)
        _remove_statistics(module.graph)
        self.varying = Varying()
        outputs = _compat.split_outputs(module, num_fwd_outputs=forward_output_count)
        self.forward_outputs, self.backward_outputs = outputs[0], outputs[1]
        self.forward_descriptors, self.backward_descriptors = outputs[2], outputs[3]
        self.placeholders = list(module.graph.find_nodes(op="placeholder"))
        self.primals = [p for p in self.placeholders if _compat.is_primal(p)]
        self.tangents = [p for p in self.placeholders if _compat.is_tangent(p)]
        self.sizes_given = [p for p in self.primals if is_size(p)]
        self._check_placeholders()
        self.base: dict[fx.Node, fx.Node] = {}
        self.call_of: dict[fx.Node, Call] = {}
        self._read_calls()
        forward, backward = self._ordered()
        self.calls = forward + backward
        self.forward = len(forward)
        self._backward = set(backward)
        self.in_place = False
        self.added: frozenset[int] = frozenset()
        self.updated: dict[Call, int] = {}
        self.results = self._results()
        self.held = set(self.tangents) | {
            self.base[node] for node in self.forward_outputs if isinstance(node, fx.Node)
        }
        self._mark_readers_of_changed_inputs()

    def gradients(self) -> list[tuple[int, fx.Node]]:
        """Gradients of inputs, each with the number of its input."""
        outputs = enumerate(self.backward_outputs[: len(self.primals)])
        return [(place, node) for place, node in outputs if isinstance(node, fx.Node)]

    def changed_inputs(self) -> set[int]:
        """Numbers of the inputs of Dynamo's graph that the step changes in place, within its graphs
        or after them."""
        nodes = self.module.graph.find_nodes(
            op="call_function", target=torch.ops.aten.copy_.default
        )
        changed = {_compat.input_number(self.base[node]) for node in nodes}
        changed |= {_compat.changed_number(each) for each in self.forward_descriptors}
        changed |= {_compat.input_number(self.primals[k]) for k in self.updated.values()}
        return {number for number in changed if number is not None}

    def tensor_number(self, place: int) -> int:
        """Number of an input among the tensor inputs."""
        values = (node.meta.get("val") for node in self.primals[:place])
        return sum(isinstance(value, torch.Tensor) for value in values)

    def is_made_backward(self, value: fx.Node) -> bool:
        """Returns true for a value that a call of the backward pass makes."""
        call = self.call_of.get(value)
        return call is not None and call.node.op != "placeholder" and call in self._backward

    def accumulate(self, places: frozenset[int]) -> None:
        """Declares that gradients of some inputs are added in place."""
        self.added = places
        self.results = self._results()

    def update(self, calls: dict[Call, int]) -> None:
        """Declares calls of the backward pass that update inputs and free their gradients."""
        self.updated = calls
        self._backward |= set(calls)
        self.accumulate(self.added | frozenset(calls.values()))

    def _results(self) -> set[fx.Node]:
        # The caller of the backward pass holds the tangents.
        outputs = (*self.forward_outputs, *self.backward_outputs)
        found = set(self.tangents)
        for place, node in enumerate(outputs, -len(self.forward_outputs)):
            if isinstance(node, fx.Node) and (base := self.base[node]) in self.call_of:
                if place not in self.added or not self.is_made_backward(base):
                    found.add(base)
        return found

    def _check_placeholders(self) -> None:
        for node in self.placeholders:
            value = node.meta.get("val")
            if node not in self.primals and node not in self.tangents:
                raise UnsupportedGraph(
                    f"input {node.name} of the traced graph is of an unknown kind",
                    place=node.name,
                    remedy="turn off what adds it (hooks in the backward pass, functional "
                    "random numbers)",
                )
            _check_storage(node)
            number = isinstance(value, torch.SymInt) and all(map(is_number, node.users))
            if _is_symbolic(value) and not number:
                raise UnsupportedGraph(
                    f"input {node.name} has a size that is not known while compiling",
                    place=node.name,
                    remedy="compile with dynamic=False, and pad to a few sizes",
                )

    def _read_calls(self) -> None:
        for node in self.module.graph.nodes:
            if node.op in ("placeholder", "get_attr"):
                self.base[node] = node
                if node in self.tangents:
                    self.call_of[node] = Call(node, values=[node], once=True)
            elif node.op == "call_function":
                self._read_node(node)
            elif node.op != "output":
                raise UnsupportedGraph(
                    f"node {node.name} is a {node.op}", place=node.name, remedy="report this"
                )

    def _read_node(self, node: fx.Node) -> None:
        if _compat.is_getitem(node):
            source = node.args[0]
            owner = self.call_of.get(source)
            if owner is None or owner.node is not source:
                self.base[node] = self.base[source]
                return
            twin = next((v for v in owner.values if v.args[1] == node.args[1]), None)
            self.base[node] = twin or node
            if twin is None:
                owner.values.append(node)
                self.call_of[node] = owner
            return
        if is_size(node):
            self.base[node] = node
            return
        opaque.check(node)
        if _compat.is_view(node):
            self.base[node] = self.base[_first_tensor(node)]
            return
        value = node.meta.get("val")
        _check_storage(node)
        if _is_symbolic(value):
            raise UnsupportedGraph(
                f"{node.target} ({node.name}) has a size that is not known while compiling",
                place=node.name,
                remedy="compile with dynamic=False, and avoid sizes that depend on data",
            )
        call = Call(node, random=_compat.is_random(node))
        # Only the forward graph reads numbers of the caller.
        runs_again = opaque.repeats(node) and not _returns_statistics(node)
        call.once = not runs_again or is_number(node)
        if opaque.changes(node):
            self.base[node] = self.base[_first_tensor(node)]
        else:
            self.base[node] = node
            if isinstance(value, torch.Tensor) and node.users:
                call.values.append(node)
        self.call_of[node] = call
        arguments = (argument for argument in node.all_input_nodes if not is_size(argument))
        sources = dict.fromkeys(self.base[argument] for argument in arguments)
        call.needs = [v for v in sources if v.op not in ("placeholder", "get_attr")]
        call.needs += [v for v in sources if v in self.tangents]
        call.inputs = [v for v in sources if v.op == "placeholder" and v not in self.tangents]
        call.once |= self.varying.decides(self.base[node], call.needs)

    def _finish_outputs(self, call: Call) -> None:
        """Puts the largest output first, and counts the bytes of unread ones."""
        value = call.node.meta.get("val")
        if not isinstance(value, (tuple, list)):
            return
        call.values.sort(key=lambda v: -storage_bytes(v.meta.get("val")))
        used = {v.args[1] for v in call.values}
        sizes = (storage_bytes(v) for k, v in enumerate(value) if k not in used)
        call.unused_bytes = sum(sizes)

    def _ordered(self) -> tuple[list[Call], list[Call]]:
        """The calls of the forward and of the backward graph, each in execution order."""
        calls = [call for node, call in self.call_of.items() if call.node is node]
        for call in calls:
            self._finish_outputs(call)
        after_tangents: set[Call] = set()
        for call in calls:
            tangent = call.node.op == "placeholder"
            if tangent or any(self.call_of[v] in after_tangents for v in call.needs):
                after_tangents.add(call)
        forward = self._needed(
            self.call_of[self.base[node]]
            for node in self.forward_outputs
            if isinstance(node, fx.Node) and self.base[node] in self.call_of
        )
        forward |= self._needed(
            call
            for call in calls
            if call not in after_tangents
            and not _compat.is_backward(call.node)
            and (call.random or call.once)
        )
        for call in calls:
            if call not in after_tangents and call not in forward and self._shrinks(call, forward):
                forward.add(call)
        if wrong := forward & after_tangents:
            name = min(call.name for call in wrong)
            raise UnsupportedGraph(f"a forward output needs a gradient, by {name}", place=name)
        first = _changes_early([call for call in calls if call in forward])
        placed = set(forward)
        last = [call for call in calls if call.node.op == "placeholder"]
        placed.update(last)

        def place(call: Call) -> None:
            stack = [call]
            while stack:
                top = stack[-1]
                missing = [self.call_of[v] for v in top.needs if self.call_of[v] not in placed]
                if missing:
                    stack.extend(reversed(missing))
                    continue
                stack.pop()
                if top not in placed:
                    placed.add(top)
                    last.append(top)

        for call in calls:
            if call in after_tangents or call.once or call.random:
                if call not in placed:
                    place(call)
        for node in self.backward_outputs:
            if isinstance(node, fx.Node) and self.base[node] in self.call_of:
                if self.call_of[self.base[node]] not in placed:
                    place(self.call_of[self.base[node]])
        return first, last

    def _needed(self, roots: Iterable[Call]) -> set[Call]:
        """Calls that some calls need, themselves included."""
        found: set[Call] = set()
        stack = list(roots)
        while stack:
            call = stack.pop()
            if call not in found:
                found.add(call)
                stack.extend(self.call_of[v] for v in call.needs)
        return found

    def _shrinks(self, call: Call, forward: set[Call]) -> bool:
        """Returns true for a mask: its output is smaller than its inputs, which are all values of
        the forward pass."""
        if not call.needs or any(self.call_of[v] not in forward for v in call.needs):
            return False
        if call.node.meta.get(AGAIN):
            return False
        made = sum(storage_bytes(v.meta.get("val")) for v in call.values)
        return made < sum(storage_bytes(v.meta.get("val")) for v in call.needs)

    def _mark_readers_of_changed_inputs(self) -> None:
        """Forbids recomputation of calls that read an input changed at the end of the forward pass.
        The change is in its graph, or after it: AOTAutograd copies an output to an input that needs
        a gradient."""
        outside = {
            descriptor.mutated_input
            for descriptor in self.forward_descriptors
            if isinstance(descriptor, _compat.InputMutationAOTOutput)
        }
        changed = {node for node in self.primals if node.meta.get("desc") in outside}
        for call in self.calls[: self.forward]:
            if call.node.target is torch.ops.aten.copy_.default:
                changed.add(self.base[call.node])
        if not changed:
            return
        for position, call in enumerate(self.calls):
            if changed.isdisjoint(call.inputs) or _ignores_statistics(call.node):
                continue
            if position >= self.forward:
                raise UnsupportedGraph(
                    f"{call.node.target} ({call.name}) reads, in the backward pass, an input that "
                    "the forward pass changes",
                    place=call.name,
                    remedy="change a copy of it",
                )
            call.once = True

    def sizes(self) -> dict[str, int]:
        """Bytes of each value, by name."""
        return {
            v.name: storage_bytes(v.meta.get("val")) for call in self.calls for v in call.values
        }

    def input_bytes(self) -> int:
        """Bytes of the graph's inputs: parameters, buffers and batch; shared storage counts
        once."""
        values = (node.meta.get("val") for node in self.primals)
        return distinct_bytes(value for value in values if isinstance(value, torch.Tensor))


def _is_symbolic(value: Any) -> bool:
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return True
    if isinstance(value, (tuple, list)):
        return any(_is_symbolic(part) for part in value)
    if isinstance(value, torch.Tensor):
        return any(not isinstance(size, int) for size in value.shape)
    return False


def _check_storage(node: fx.Node) -> None:
    """Checks that all tensors of a node's value have one storage with strides."""
    for part in tree_leaves(node.meta.get("val")):
        if isinstance(part, torch.Tensor) and part.layout != torch.strided:
            sparse = str(part.layout).startswith("torch.sparse")
            raise UnsupportedGraph(
                f"{node.target} ({node.name}) makes a tensor of layout {part.layout}: it has no "
                "storage of its own whose bytes a plan could count",
                place=node.name,
                remedy="make it dense: Embedding(sparse=False), to_dense()"
                if sparse
                else "make it strided: to_dense(), to_padded_tensor()",
            )


def _first_tensor(node: fx.Node) -> fx.Node:
    return next(argument for argument in node.args if isinstance(argument, fx.Node))


def _changes_early(calls: list[Call]) -> list[Call]:
    """Moves changes of inputs, which are traced last, directly behind the calls that they wait for:
    the maker of the new value and readers of the old one. So equal layers stay equal."""
    changes = {c.node.args[0]: c for c in calls if c.node.target is torch.ops.aten.copy_.default}
    if any(set(c.inputs) & changes.keys() - {own} for own, c in changes.items()):
        return calls
    if any(user.op != "output" for c in changes.values() for user in c.node.users):
        return calls
    # The latest call that reads or makes each tensor, except the change itself.
    latest: dict[fx.Node, Call] = {}
    for call in calls:
        if call.node.target is not torch.ops.aten.copy_.default:
            latest.update(dict.fromkeys((*call.inputs, *call.values), call))
    place_of = {call: place for place, call in enumerate(calls)}
    behind: dict[Call, list[Call]] = {}
    moved: set[Call] = set()
    for own, change in changes.items():
        waits = [latest[tensor] for tensor in (own, *change.needs) if tensor in latest]
        if waits:
            behind.setdefault(max(waits, key=place_of.__getitem__), []).append(change)
            moved.add(change)
    order: list[Call] = []
    for call in calls:
        if call not in moved:
            order += [call, *behind.get(call, ())]
    return order


def repeated(node: fx.Node) -> tuple[Any, tuple[Any, ...]]:
    """Operator and arguments of a later run of a call.

    A batch norm in training mode omits its running statistics. The first run has changed them, so
    as saved tensors they would have a newer version in the backward pass.
    """
    if node.target is torch.ops.aten._native_batch_norm_legit_functional.default:
        source, weight, bias, _, _, training, momentum, epsilon = node.args
        if training is True:
            arguments = (source, weight, bias, True, momentum, epsilon)
            return torch.ops.aten._native_batch_norm_legit.no_stats, arguments
    return node.target, node.args


def is_running_statistic(value: fx.Node) -> bool:
    """Returns true for an output of a batch norm that becomes the new value of a buffer."""
    return _compat.is_getitem(value) and value.args[1] > 2


def _returns_statistics(node: fx.Node) -> bool:
    """Returns true for a batch norm whose new running statistics have readers besides the change of
    the buffers. A later run (:func:`repeated`) does not make these statistics."""
    if node.target is not torch.ops.aten._native_batch_norm_legit_functional.default:
        return False
    statistics = [user for user in node.users if is_running_statistic(user)]
    return any(
        reader.target is not torch.ops.aten.copy_.default
        for part in statistics
        for reader in part.users
    )


def _remove_statistics(graph: fx.Graph) -> None:
    """Removes running statistics from backward calls of batch norms in training mode, which ignore
    them."""
    for node in graph.find_nodes(
        op="call_function", target=torch.ops.aten.native_batch_norm_backward.default
    ):
        if _ignores_statistics(node):
            node.args = (*node.args[:3], None, None, *node.args[5:])


def _ignores_statistics(node: fx.Node) -> bool:
    """Returns true for a batch norm in training mode: its output depends on the batch, not on the
    running statistics."""
    arguments = node.args
    if node.target is torch.ops.aten._native_batch_norm_legit_functional.default:
        return arguments[5] is True
    if node.target is torch.ops.aten.native_batch_norm_backward.default:
        return arguments[7] is True
    return False


def _layout(value: torch.Tensor) -> tuple[Any, ...]:
    """Properties that a clone may change: type, layout, strides, and the bits for conjugation and
    negation."""
    strides = tuple(map(expression, value.stride()))
    return value.dtype, value.layout, strides, value.is_conj(), value.is_neg()


def _bytes(value: torch.Tensor) -> Any:
    """Bytes of a tensor's storage, or their expression."""
    return expression(value.untyped_storage().nbytes())


def _remove_copies(graph: fx.Graph) -> None:
    """Removes redundant clones of a call's output, with equal strides and bits. Neither tensor may
    be an output of the graph or an argument of a call that changes tensors in place."""
    fixed: set[fx.Node] = set()

    def keep(node: fx.Node) -> None:
        while isinstance(node, fx.Node) and node not in fixed:
            fixed.add(node)
            if not (_compat.is_view(node) or _compat.is_getitem(node)):
                return
            node = _first_tensor(node)

    for node in graph.find_nodes(op="output"):
        for argument in node.all_input_nodes:
            keep(argument)
    for node in graph.nodes:
        if opaque.changes(node):
            for argument in node.all_input_nodes:
                keep(argument)
    for node in list(graph.nodes):
        if node.target is not torch.ops.aten.clone.default or node in fixed:
            continue
        source = node.args[0]
        old, new = traced_value(source), traced_value(node)
        origin = source
        while _compat.is_view(origin) or _compat.is_getitem(origin):
            origin = _first_tensor(origin)
        # The caller may change outputs before the backward pass.
        if origin.op != "call_function" or origin in fixed or source in fixed:
            continue
        if old is None or _layout(old) != _layout(new):
            continue
        # A clone of a part frees the whole, so it stays.
        if _bytes(old) != _bytes(new):
            continue
        node.replace_all_uses_with(source)
        graph.erase_node(node)
