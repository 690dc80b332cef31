"""Properties of single calls of a graph that restrict their order."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from . import _compat
from ._compat import fx
from .purity import is_known
from .rewrite import fixed_generator

HELD_INPUTS = ("primals_", "tangents", "arg", "fwd_rng_state", "bwd_rng_state")
"""Beginnings of the names of inputs that whoever calls holds, as Inductor knows them."""


CLOSED = frozenset(
    "auto_functionalized auto_functionalized_v2 triton_kernel_wrapper_functional "
    "run_with_rng_state with_effects".split()
)
"""Operators with bodies that read their arguments and make their results, nothing else."""


NUMBERS = (int, float, bool, torch.SymInt, torch.SymFloat, torch.SymBool)
"""Types of values that take no memory."""


def hinted_bytes(value: torch.Tensor) -> tuple[int | None, bool]:
    """Bytes that the allocator takes for a tensor's storage, and true if the size is symbolic and
    comes from the traced example. ``None`` for a size that depends on data."""
    try:
        size = value.untyped_storage().nbytes()
    except (NotImplementedError, RuntimeError):
        # Sparse and other tensors have no single storage.
        size = value.numel() * value.element_size()
    symbolic = isinstance(size, torch.SymInt)
    if symbolic:
        if not size.node.has_hint():
            return None, True
        size = int(size.node.hint)
    size = int(size)
    return (-(-size // 512) * 512 if value.device.type == "cuda" else size), symbolic


def let_go(name: str) -> bool:
    return not name.startswith(HELD_INPUTS)


def storage_key(value: torch.Tensor) -> int | None:
    """Identity of the storage of a fake value."""
    try:
        return int(value.untyped_storage()._cdata)
    except (NotImplementedError, RuntimeError):
        return None


def constant(node: fx.Node) -> Any:
    """The constant that a node names, if it is a tensor."""
    found: Any = node.graph.owning_module
    for part in str(node.target).split("."):
        found = getattr(found, part, None)
    return found if isinstance(found, torch.Tensor) else None


def nodes_in(given: Any) -> list[fx.Node]:
    return [part for part in tree_leaves(given) if isinstance(part, fx.Node)]


def arguments_of(node: fx.Node) -> list[tuple[Any, Any]]:
    """Arguments of an operator's schema with their values in the call."""
    found = []
    for place, argument in enumerate(node.target._schema.arguments):
        if argument.name in node.kwargs:
            found.append((argument, node.kwargs[argument.name]))
        elif place < len(node.args) and not argument.kwarg_only:
            found.append((argument, node.args[place]))
    return found


def returns_values(node: fx.Node) -> bool:
    """Returns true if a call returns values."""
    if isinstance(node.target, _compat.OpOverload):
        return bool(node.target._schema.returns)
    return bool(node.users)


def is_light(node: fx.Node) -> bool:
    """Returns true for a call that computes with numbers, such as sizes."""
    target = node.target
    if isinstance(target, (_compat.OpOverload, _compat.HigherOrderOperator)):
        return False
    if _compat.is_effect(target):
        return False
    values = [node, *node.all_input_nodes]
    return all(
        isinstance(part, NUMBERS) for each in values for part in tree_leaves(each.meta.get("val"))
    )


def is_closed(node: fx.Node) -> bool:
    """Returns true if the schema of a call's operator declares all its effects."""
    if isinstance(node.target, _compat.OpOverload) or _compat.is_getitem(node):
        return True
    if node.target is _compat.run_and_save_rng_state:
        return True
    return isinstance(node.target, _compat.HigherOrderOperator) and node.target.name() in CLOSED


def has_effect(node: fx.Node) -> bool:
    """Returns true for a call with effects besides its results, such as a hidden state. Such calls
    keep their order."""
    if _compat.is_effect(node.target) or _compat.is_collective(node):
        return True
    if not isinstance(node.target, _compat.OpOverload):
        return False
    return not node.target._schema.returns or not is_known(node.target)


def draws(node: fx.Node) -> bool:
    """Returns true if a call advances a generator, or may do so."""
    if node.target is _compat.run_and_save_rng_state:
        return True
    if isinstance(node.target, _compat.OpOverload) and not is_known(node.target):
        return True
    return _compat.is_random(node) and not fixed_generator(node)


def device_of(node: fx.Node) -> str:
    """The device whose generator a random call draws from; empty if unknown."""
    values = [node.meta.get("val"), *(a.meta.get("val") for a in node.all_input_nodes)]
    parts = (part for value in values for part in tree_leaves(value))
    return next((str(p.device) for p in parts if isinstance(p, torch.Tensor)), "")


def kind_of(node: fx.Node) -> str:
    target = node.target
    return (
        str(target)
        if isinstance(target, _compat.OpOverload)
        else str(getattr(target, "__name__", target))
    )
