"""Communication in graphs: which calls may run again, and their memory.

A functional collective starts a transfer, and ``wait_tensor`` ends it. The wait returns its
argument, so in plans it is a view of the collective's result. Generated code waits directly behind
the collective, because the transfer holds its arguments until then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from . import _compat, _compat_ranks
from ._compat import fx

if TYPE_CHECKING:
    from .partition import Joint

ESTIMATED = "it communicates, so no rank can measure it alone"
"""The reason why costs of collectives are estimates."""


def allow_gathers(joint: Joint) -> None:
    """Lets a plan repeat all-gathers. All ranks must use one plan."""
    for call in joint.calls:
        if _compat_ranks.is_gather(call.node):
            call.once = False


def waits_of(node: fx.Node) -> list[fx.Node]:
    """The waits behind a collective."""
    if not _compat.is_collective(node):
        return []
    return [user for user in node.users if _compat_ranks.is_wait(user)]


def workspace_bytes(node: fx.Node) -> int:
    """Memory of a collective besides arguments and results. On the processor gloo copies the whole
    tensor of an all-gather or reduce-scatter once; NCCL takes none from torch's allocator."""
    if not _compat.is_collective(node):
        return 0
    values = [node.meta.get("val"), *(a.meta.get("val") for a in node.all_input_nodes)]
    sizes = [
        value.untyped_storage().nbytes()
        for value in values
        if isinstance(value, torch.Tensor) and value.device.type == "cpu"
    ]
    return max(sizes, default=0)
