"""Handling of the tags of ``torch.utils.checkpoint`` in a joint graph.

With ``tags="plan"`` the plan chooses all recomputations. With ``tags="keep"`` it chooses only among
untagged values. Values that a policy must save are never recomputed, and values that a region
recomputes are not kept from the forward to the backward pass. The graph expresses that: readers in
the backward pass read a copy of the operator within the backward pass.
"""

from __future__ import annotations

from torch.utils.checkpoint import CheckpointPolicy

from ..errors import InvalidArgument
from . import _compat
from ._compat import fx
from .purity import may_run_again

CHOICES = ("plan", "keep")
"""Words for what becomes of tags."""

AGAIN = "remat_again"
"""Key in the metadata of copies that stand for a computation in the backward pass."""


def check(choice: str) -> None:
    """Checks an option.

    Raises:
        InvalidArgument: the option is not one of :data:`CHOICES`.
    """
    if choice not in CHOICES:
        raise InvalidArgument(
            f"tags: {choice!r} is no way to treat them", remedy=f"one of {', '.join(CHOICES)}"
        )


def marked(module: fx.GraphModule, choice: str) -> int:
    """Number of operators whose marks a plan replaces; 0 if it obeys them."""
    if choice != "plan":
        return 0
    calls = (n for n in module.graph.nodes if n.op == "call_function" and not _compat.is_getitem(n))
    return sum(_compat.must_recompute(node) or must_save(node) for node in calls)


def must_save(node: fx.Node) -> bool:
    """Returns true if a policy saves an operator's outputs."""
    return node.meta.get("recompute") is CheckpointPolicy.MUST_SAVE


def split(module: fx.GraphModule) -> None:
    """Gives readers in the backward pass copies of operators that checkpointed regions recompute.

    As in torch, the last value of a region that another region reads is saved instead. Operators
    that draw random numbers are not copied: the plan decides whether they run again, with the same
    numbers. Operators that communicate, change tensors or are not known to be pure are not copied
    either.
    """
    _compat.cleanup_recompute_tags(module, is_default_partition=False)
    backward: set[fx.Node] = set()
    for node in module.graph.nodes:
        if node.op == "call_function" and (
            _compat.is_backward(node)
            or any(_compat.is_tangent(a) or a in backward for a in node.all_input_nodes)
        ):
            backward.add(node)
    readers = [node for node in module.graph.nodes if node in backward]
    copies: dict[fx.Node, fx.Node] = {}
    if not readers:
        return

    def copied(node: fx.Node) -> fx.Node:
        if node in backward or not _is_repeated(node):
            return node
        if node not in copies:
            # Arguments are copied first, so they come before the copy.
            parts = {argument: copied(argument) for argument in node.all_input_nodes}
            with module.graph.inserting_before(readers[0]):
                copy = module.graph.node_copy(node, parts.__getitem__)
            copy.meta = {**node.meta, AGAIN: True, "partitioner_tag": "is_backward"}
            copies[node] = copy
        return copies[node]

    for reader in readers:
        for argument in reader.all_input_nodes:
            if (other := copied(argument)) is not argument:
                reader.replace_input_with(argument, other)
    module.graph.lint()


def _is_repeated(node: fx.Node) -> bool:
    """Returns true for a node that a region recomputes."""
    if node.op != "call_function":
        return False
    if _compat.is_getitem(node):
        (source,) = node.all_input_nodes
        return _is_repeated(source)
    return _compat.must_recompute(node) and may_run_again(node) and not _compat.is_random(node)
