"""Accumulation of gradients: the backward graph adds to present gradients in place, as eager torch
does.

Autograd adds the results of a backward graph after its end, so a second set of gradients is in
memory until then. A planned backward graph passes each new gradient to :func:`add` at once. If the
leaf has a gradient, :func:`add` adds in place and returns ``None``.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from . import _compat
from .partition import Joint, distinct_bytes


class Pending:
    """Forward passes with a pending backward pass.

    If several of them make gradients for a leaf in one backward pass, autograd sums these up before
    it adds the sum to the present gradient. Adding them one by one would round differently.
    """

    def __init__(self) -> None:
        self._nodes: weakref.WeakSet[Any] = weakref.WeakSet()
        # Leaves shared with another pass, by node.
        self._shared: weakref.WeakKeyDictionary[Any, set[int]] = weakref.WeakKeyDictionary()

    def note(self, outputs: Any) -> None:
        """Notes a forward pass by its outputs."""
        for output in tree_leaves(outputs):
            if isinstance(output, torch.Tensor):
                node = _compat.compiled_node(output.grad_fn)
                if node is not None:
                    self._nodes.add(node)

    def made(self, tensors: Iterable[Any]) -> bool:
        """Returns true if the forward pass of a pending one made one of some tensors."""
        grown = (x for x in tensors if isinstance(x, torch.Tensor) and x.grad_fn is not None)
        return any(_compat.compiled_node(x.grad_fn) in self._nodes for x in grown)

    def shares(self, node: Any, leaf: torch.Tensor) -> bool:
        """Returns true if the backward pass of another forward pass may also make a gradient of a
        leaf.

        Args:
            node: The running backward pass.
        """
        if node in self._nodes:
            self._nodes.discard(node)
            own = _compat.leaf_numbers(node)
            for other in list(self._nodes):
                if common := own & _compat.leaf_numbers(other):
                    self._shared.setdefault(node, set()).update(common)
                    self._shared.setdefault(other, set()).update(common)
        return id(leaf) in self._shared.get(node, ())


_PENDING = Pending()
note_pending = _PENDING.note
reads_planned = _PENDING.made
shares_pending = _PENDING.shares


def add(place: int, gradient: torch.Tensor) -> torch.Tensor | None:
    """Adds a gradient in place to the present gradient of its leaf.

    Args:
        place: Number of the gradient's input among the graph's tensor inputs.
        gradient: The gradient.

    Returns:
        ``None`` if the gradient was added. Otherwise the gradient, for autograd: the leaf has no
            gradient or has hooks, or the backward pass does not accumulate into it.
    """
    node = _compat.running_node()
    leaf = None if node is None else _compat.accumulating_leaf(node, place)
    if leaf is None or not _takes(leaf, gradient) or _PENDING.shares(node, leaf):
        return gradient
    with torch.no_grad():
        leaf.grad.add_(gradient)
    return None


def _takes(leaf: torch.Tensor, gradient: torch.Tensor) -> bool:
    """Returns true if a plain sum with a leaf's gradient equals autograd's result and no hook reads
    the new gradient."""
    present = leaf.grad
    if present is None or present.requires_grad or torch.is_grad_enabled():
        return False
    if leaf._backward_hooks or leaf._post_accumulate_grad_hooks:
        return False
    if type(present) is not torch.Tensor or type(gradient) is not torch.Tensor:
        return False
    return (
        present.layout == gradient.layout == torch.strided
        and present.shape == gradient.shape
        and present.dtype == gradient.dtype
        and present.device == gradient.device
    )


def present_bytes(tensors: Iterable[Any]) -> int:
    """Bytes of the present gradients of some inputs of a graph; each storage counts once."""
    leaves = (x for x in tensors if isinstance(x, torch.Tensor) and x.is_leaf and x.requires_grad)
    present = (leaf.grad for leaf in leaves)
    return distinct_bytes(g for g in present if g is not None and g.layout == torch.strided)


@dataclass(frozen=True)
class Given:
    """Inputs of a graph of Dynamo at compile time.

    Attributes:
        leaves: Numbers of the inputs whose gradients autograd accumulates.
        gradient_bytes: Bytes of their present gradients.
        arguments: Numbers of the inputs that are arguments of the call.
    """

    leaves: frozenset[int]
    gradient_bytes: int
    arguments: frozenset[int] = frozenset()

    @property
    def present(self) -> bool:
        """True if one of the inputs has a gradient."""
        return self.gradient_bytes > 0

    @staticmethod
    def of(inputs: Sequence[Any], arguments: frozenset[int] = frozenset()) -> Given:
        """Findings for some inputs."""
        leaves = {
            place
            for place, each in enumerate(inputs)
            if isinstance(each, torch.Tensor) and each.is_leaf and each.requires_grad
        }
        return Given(frozenset(leaves), present_bytes(inputs), arguments)


@dataclass(frozen=True)
class Accumulation:
    """Gradients of a joint graph that steps add to present ones.

    Attributes:
        places: Numbers of their inputs in the graph: its leaves.
        bytes: Their bytes.
        counted: Bytes of present gradients that the plan counts: ``bytes`` or 0.
    """

    places: frozenset[int]
    bytes: int
    counted: int


def accumulation(
    joint: Joint, given: Given | None, counts: bool, without: Set[int] = frozenset()
) -> Accumulation:
    """Gradients of the leaves of a joint graph.

    Args:
        given: The inputs; ``None`` if unknown: all count as leaves.
        counts: True if the gradients are in memory before the planned step.
        without: Inputs of the joint graph whose gradients do not accumulate.
    """
    places: set[int] = set()
    size = 0
    for place, node in joint.gradients():
        number = _compat.input_number(joint.primals[place])
        if place not in without and (given is None or number in given.leaves):
            places.add(place)
            size += _dense_bytes(node.meta.get("val"))
    return Accumulation(frozenset(places), size, size if counts else 0)


def _dense_bytes(value: Any) -> int:
    """Bytes that the allocator takes for a dense tensor with the shape of another one."""
    if not isinstance(value, torch.Tensor):
        return 0
    size = value.numel() * value.element_size()
    return -(-size // 512) * 512 if value.device.type == "cuda" else size
