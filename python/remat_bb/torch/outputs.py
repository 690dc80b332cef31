"""Outputs of a step beside its loss.

Models of transformers return logits with the loss. Both need gradients, so the backward graph would
take a gradient of the logits: a tensor of zeros of their size. A step of
:func:`remat_bb.torch.attach` detaches these outputs within its graph. Their values stay, and a
backward pass through them raises an error.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

from ..errors import RematError

if TYPE_CHECKING:
    from .partition import Joint


def detached_beside_loss(outputs: Any) -> tuple[Any, tuple[bool, ...]]:
    """Detaches the tensors that a step returns beside its loss; part of the traced step.

    Args:
        outputs: Tensors in tuples, dictionaries or outputs of transformers. A scalar that needs
            gradients is a loss. Outputs without a loss stay as they are.

    Returns:
        The outputs, and for each leaf of theirs whether it is detached now.
    """
    leaves, spec = tree_flatten(outputs)
    has_loss = False
    for leaf in leaves:
        has_loss = has_loss or (_needs_gradient(leaf) and leaf.numel() == 1)
    if not has_loss:
        return outputs, ()
    beside = tuple(_needs_gradient(leaf) and leaf.numel() > 1 for leaf in leaves)
    leaves = [leaf.detach() if cut else leaf for leaf, cut in zip(leaves, beside)]
    return tree_unflatten(leaves, spec), beside


def guarded(outputs: Any, beside: tuple[bool, ...]) -> Any:
    """The outputs of a traced step, whose detached tensors refuse a backward pass."""
    if not any(beside):
        return outputs
    flags = iter(beside)
    return tree_map(lambda leaf: _refusing(leaf) if next(flags) else leaf, outputs)


def warn_of_outside_loss(joint: Joint) -> None:
    """Warns of a graph that returns other tensors than losses which need gradients."""
    large = [t for t in joint.tangents if t.meta["val"].numel() > 1]
    if large:
        shapes = ", ".join(str(list(t.meta["val"].shape)) for t in large)
        warnings.warn(
            f"the compiled part returns tensors of shape {shapes} that need gradients: what turns "
            "them into a loss runs outside of the plan, and its memory is not counted; compile the "
            "loss in",
            stacklevel=3,
        )


def _needs_gradient(leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor) and leaf.requires_grad


def _refusing(tensor: torch.Tensor) -> torch.Tensor:
    anchor = torch.empty(0, requires_grad=True)
    return _Refusing.apply(tensor, anchor)  # type: ignore[no-any-return]


class _Refusing(torch.autograd.Function):
    """A tensor with the same values and storage, whose backward pass raises an error."""

    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor, anchor: torch.Tensor) -> torch.Tensor:
        return tensor.view_as(tensor)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise RematError(
            "a backward pass reaches an output beside the loss, such as the logits: the plan ends "
            "at the loss, so their gradient would be lost",
            remedy="compute this loss within the attached method: attach(model, method=...) with "
            "a method that returns the whole loss",
        )
