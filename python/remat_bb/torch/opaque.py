"""Opaque calls: operators with bodies, and operators that change copies of their arguments.

A higher-order operator (``cond``, ``flex_attention``, ``auto_functionalized_v2``) is one call of
the plan. Its fake value gives the sizes of its outputs, which have storages of their own. A call
whose bodies are pure may run again. All other opaque calls run once, in the order of the model.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from ..errors import RematError
from . import _compat
from ._compat import fx
from .purity import TRUSTED, may_run_again

REPEATABLE = frozenset(
    "associative_scan cond flex_attention flex_attention_backward invoke_subgraph map_impl scan "
    "while_loop".split()
)
"""Operators whose results depend on their arguments and their bodies alone."""

UNCOUNTED = frozenset(("while_loop", "while_loop_stack_output"))
"""Operators that run a body as often as their data say. Made-up data might never end them."""

ATTENTION = {"flex_attention": 4, "flex_attention_backward": 10}
"""Floating point operations for each pair of positions and each channel: two products in the
forward pass, five in the backward pass."""

INDEXING = "flex_lib"
"""Namespace of torch's own operators that bodies of attention call."""

CHOICES = frozenset(
    getattr(torch.ops.aten, packet)
    for packet in "argmax argmin bincount histc multinomial nonzero sort topk unique_consecutive "
    "_unique2 unique_dim".split()
    if hasattr(torch.ops.aten, packet)
)
"""Operators with discrete results. Scores that differ in one bit may make another choice."""


class UnsupportedGraph(RematError):
    """A graph that cannot be planned. The message names the node, the reason and a remedy."""


def is_opaque(node: fx.Node) -> bool:
    """Returns true for a call of a higher-order operator."""
    return isinstance(node.target, _compat.HigherOrderOperator)


def changes(node: fx.Node) -> bool:
    """Returns true if the schema of a call's operator says that it changes its arguments."""
    return isinstance(node.target, _compat.OpOverload) and node.target._schema.is_mutable


def body_of(node: fx.Node) -> fx.GraphModule | None:
    """The graph that a node names; ``None`` for other nodes."""
    if node.op != "get_attr":
        return None
    found: Any = node.graph.owning_module
    for part in str(node.target).split("."):
        found = getattr(found, part, None)
    return found if isinstance(found, fx.GraphModule) else None


def bodies(node: fx.Node) -> list[fx.GraphModule]:
    """Graphs among the arguments of a call."""
    parts = tree_leaves((node.args, dict(node.kwargs)))
    found = (body_of(part) for part in parts if isinstance(part, fx.Node))
    return [body for body in found if body is not None]


def _calls(body: fx.GraphModule) -> list[fx.Node]:
    return [node for node in body.graph.nodes if node.op == "call_function"]


def inner_operator(node: fx.Node) -> Any:
    """The operator that a call wraps, such as a functionalised custom operator; ``None`` without
    one."""
    return next((a for a in node.args if isinstance(a, _compat.OpOverload)), None)


def label(node: fx.Node) -> str:
    """The name of a call's operator for reports: the operator that it wraps, if there is one."""
    inner = inner_operator(node) if is_opaque(node) else None
    return str(node.target) if inner is None else str(inner)


def check(node: fx.Node) -> None:
    """Checks that an operator can be part of a plan.

    Raises:
        UnsupportedGraph: for functions that are no operators, and for changes of tensors other
            than inputs.
    """
    target = node.target
    if is_opaque(node):
        if target.name() == "triton_kernel_wrapper_mutation":
            raise UnsupportedGraph(
                f"{target} ({node.name}) changes its arguments in place",
                place=node.name,
                remedy="wrap the kernel with torch.library.triton_op",
            )
        return
    if not isinstance(target, _compat.OpOverload):
        name = getattr(target, "__name__", str(target))
        raise UnsupportedGraph(
            f"{name} ({node.name}) is no operator of torch.ops: its effects are unknown",
            place=node.name,
            remedy="keep it out of the compiled function",
        )
    if changes(node):
        destination = node.args[0] if node.args else None
        to_input = isinstance(destination, fx.Node) and destination.op == "placeholder"
        if target is not torch.ops.aten.copy_.default or not to_input:
            raise UnsupportedGraph(
                f"{target} ({node.name}) changes a tensor in place",
                place=node.name,
                remedy="register the operator as functional",
            )


def repeats(node: fx.Node) -> bool:
    """Returns true for a call that may run again with equal results.

    A call with discrete results runs once, so that a plan never chooses anew: the router of a
    mixture of experts, a sort, an index of a maximum.
    """
    if not is_opaque(node):
        return may_run_again(node) and not _chooses(node)
    if node.target.name() not in REPEATABLE:
        return False
    return all(_is_pure(each) for body in bodies(node) for each in body.graph.nodes)


def _chooses(node: fx.Node) -> bool:
    return getattr(node.target, "overloadpacket", None) in CHOICES


def _is_pure(node: fx.Node) -> bool:
    """Returns true for a node of a body without random numbers and effects."""
    if node.op != "call_function" or _compat.is_getitem(node):
        return node.op in ("placeholder", "get_attr", "output", "call_function")
    if is_opaque(node):
        return repeats(node)
    if isinstance(node.target, _compat.OpOverload):
        own = node.target.namespace == INDEXING
        return own or may_run_again(node) and not _compat.is_random(node)
    # Arithmetic with sizes.
    return isinstance(node.meta.get("val"), (int, float, torch.SymInt, torch.SymFloat))


def pass_inputs(graph: fx.Graph) -> None:
    """Gives readers of a region's output that is one of its inputs the input itself.

    Regions return inputs that their backward pass reads.
    """
    for node in list(graph.nodes):
        if not (is_opaque(node) and node.target.name() == "invoke_subgraph"):
            continue
        (body,) = bodies(node)
        places = {p: k for k, p in enumerate(body.graph.find_nodes(op="placeholder"))}
        (output,) = body.graph.find_nodes(op="output")
        for pick in [user for user in node.users if _compat.is_getitem(user)]:
            place = places.get(output.args[0][pick.args[1]])
            if place is not None:
                # Behind the body and its identifier.
                given = node.args[2 + place]
                pick.replace_all_uses_with(given, lambda user: user.op != "output")
                if not pick.users:
                    graph.erase_node(pick)


def loop_bytes(node: fx.Node) -> int:
    """Bytes of the values that one run of the bodies of a loop makes."""
    if not is_opaque(node) or node.target.name() not in UNCOUNTED:
        return 0
    values = [each.meta.get("val") for body in bodies(node) for each in _calls(body)]
    tensors = (t for t in tree_leaves(values) if isinstance(t, torch.Tensor))
    return sum(int(t.numel()) * t.element_size() for t in tensors)


def why_not_run(node: fx.Node) -> str | None:
    """The reason why a call must not run with made-up values; ``None`` if it may."""
    if not is_opaque(node):
        trusted = node.target.namespace in (*TRUSTED, INDEXING)
        return None if trusted else "it is not one of torch's own operators"
    if node.target.name() in UNCOUNTED:
        return "the number of its runs depends on data: its body counts once"
    if node.target.name() not in REPEATABLE:
        return "it is not one of torch's own operators"
    for body in bodies(node):
        for each in _calls(body):
            if isinstance(each.target, _compat.OpOverload) or is_opaque(each):
                reason = why_not_run(each)
                if reason is not None:
                    return f"{label(each)} in its body: {reason}"
    return None


def alternatives(node: fx.Node, arguments: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """Arguments of a call for each of its branches: both values of the condition of ``cond``."""
    if is_opaque(node) and node.target.name() == "cond":
        return [(torch.tensor(branch), *arguments[1:]) for branch in (True, False)]
    return [arguments]


def flops(node: fx.Node, of_operator: Callable[[fx.Node], float]) -> float:
    """Floating point operations of an opaque call: all pairs of positions of an attention, the
    most expensive branch of ``cond``, each run of a body of ``scan`` and ``map``, and otherwise the
    sum over the bodies.

    Args:
        of_operator: Floating point operations of an operator.
    """
    name = node.target.name()
    if name in ATTENTION:
        query, key, value = (node.args[k].meta["val"] for k in range(3))
        pairs = math.prod(query.shape[:-1]) * key.shape[-2]
        return float(ATTENTION[name] / 2 * pairs * (query.shape[-1] + value.shape[-1]))
    sums = [sum(of_operator(each) for each in _calls(body)) for body in bodies(node)]
    if not sums:
        tensors = tree_leaves(node.meta.get("val"))
        return float(sum(t.numel() for t in tensors if isinstance(t, torch.Tensor)))
    if name == "cond":
        return max(sums)
    return sum(sums) * _length(node)


def _length(node: fx.Node) -> int:
    """Number of runs of the body of ``map`` or ``scan``: the length of what it runs over."""
    place = {"map_impl": 1, "scan": 2, "associative_scan": 1}.get(node.target.name())
    if place is None:
        return 1
    tensors = (part.meta.get("val") for part in tree_leaves(node.args[place]))
    lengths = (int(t.shape[0]) for t in tensors if isinstance(t, torch.Tensor) and t.dim())
    return max(lengths, default=1)
