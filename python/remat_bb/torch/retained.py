"""Results that hold more memory than their elements: the storage of their sources.

A trace gives them a storage of their own size. Losses that torch reduces within the storage of
their terms keep that storage, and ``copy`` into a view keeps the view's whole storage. Measurements
of costs find other cases.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from . import _compat
from ._compat import fx

REDUCED_IN_PLACE = frozenset(
    getattr(torch.ops.aten, name).default
    for name in ("mse_loss", "smooth_l1_loss", "binary_cross_entropy", "soft_margin_loss")
)
"""Losses whose sum or mean lies in the storage of their terms (torch, ``Loss.cpp``,
``BinaryOps.cpp``)."""


def storages(results: Any, inputs: Iterable[Any]) -> list[int]:
    """Bytes of the storage of each result of a call that was run; 0 for other values, and for
    storages of inputs and earlier results."""
    seen = {x.untyped_storage()._cdata for x in inputs if _has_storage(x)}
    found = []
    for result in results if isinstance(results, (tuple, list)) else (results,):
        size = 0
        if _has_storage(result) and (storage := result.untyped_storage())._cdata not in seen:
            seen.add(storage._cdata)
            size = int(storage.nbytes())
        found.append(size)
    return found


def _has_storage(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.layout == torch.strided


def widen(node: fx.Node, sizes: list[int] | None = None) -> None:
    """Enlarges the storages of a call's results in a trace to their sizes in a run.

    Args:
        node: The call.
        sizes: Bytes of the storages in a run; ``None`` if the call was not run.
    """
    value = node.meta.get("val")
    if isinstance(value, torch.Tensor):
        size = max([_terms_bytes(node, value) or _cloned_bytes(node), *(sizes or ())][:2])
        node.meta["val"] = _widened(value, size)
    elif isinstance(value, (tuple, list)) and sizes is not None and len(sizes) == len(value):
        parts = [
            _widened(v, size) if isinstance(v, torch.Tensor) else v for v, size in zip(value, sizes)
        ]
        node.meta["val"] = type(value)(parts)
        for user in node.users:
            if _compat.is_getitem(user) and user.args[0] is node:
                user.meta["val"] = parts[user.args[1]]


def _terms_bytes(node: fx.Node, value: torch.Tensor) -> int:
    """Bytes of the terms of a loss that torch reduces in their own storage."""
    if node.target not in REDUCED_IN_PLACE or value.dim() > 0:
        return 0
    terms = [
        part.meta["val"]
        for part in tree_leaves(node.args[:2])
        if isinstance(part, fx.Node) and isinstance(part.meta.get("val"), torch.Tensor)
    ]
    # Without a dimension to reduce, the result is the term.
    return torch.broadcast_shapes(*(t.shape for t in terms)).numel() * value.element_size()


def _cloned_bytes(node: fx.Node) -> int:
    """Bytes of the storage that ``copy`` clones: the whole storage of the changed view (torch,
    ``clone_preserve_strides``)."""
    if node.target is not torch.ops.aten.copy.default or not isinstance(node.args[0], fx.Node):
        return 0
    changed = node.args[0].meta.get("val")
    return int(changed.untyped_storage().nbytes()) if _has_storage(changed) else 0


def _widened(value: torch.Tensor, size: int) -> torch.Tensor:
    """A fake tensor like another one, in a storage of at least ``size`` bytes."""
    if not isinstance(value, _compat.FakeTensor) or value.layout != torch.strided:
        return value
    if not isinstance(value.untyped_storage().nbytes(), int):
        return value
    if size <= value.untyped_storage().nbytes() or value.storage_offset() != 0:
        return value
    count = -(-size // value.element_size())
    with _compat.with_dispatch(), value.fake_mode:
        base = torch.empty(count, dtype=value.dtype, device=value.device)
        return base.as_strided(value.shape, value.stride())
