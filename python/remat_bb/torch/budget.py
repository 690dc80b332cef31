"""Budgets of steps in bytes."""

from __future__ import annotations

import os

import torch

from .. import _native
from .._amounts import share_or_amount
from ..errors import InvalidBudget
from . import _compat
from .clock import device_number
from .partition import Joint


def cuda_device(joint: Joint) -> torch.device | None:
    """The GPU of a graph's inputs; ``None`` on the processor."""
    values = (node.meta.get("val") for node in joint.primals)
    return next((v.device for v in values if getattr(v, "is_cuda", False)), None)


MARGINS = {False: 1 / 50, True: 1 / 200}
"""Shares of a GPU's memory that are left to fragmentation, without and with expandable segments."""
_LEARNT: dict[int, int] = {}
"""The most bytes that fragmentation took in watched steps, by GPU."""
_WARM: set[int] = set()


def device_bytes(device: torch.device) -> int:
    """Memory of a GPU that this process can use: what is free, and what torch has reserved, less a
    margin for fragmentation. Watched steps raise the margin (:func:`learn`)."""
    free, total = torch.cuda.mem_get_info(device)
    margin = int(total * MARGINS[has_expandable_segments()])
    margin = max(margin, _LEARNT.get(device_number(device), 0))
    return max(1, free + torch.cuda.memory_reserved(device) - margin)


def learn(device: torch.device, before: int) -> None:
    """Notes the fragmentation of a step that needed more segments: the most memory that torch has
    reserved above the most that it has allocated, since the peak counters were reset.

    Args:
        before: Memory that torch had reserved before the step. If that was enough, fragmentation
            is unknown.
    """
    reserved = torch.cuda.max_memory_reserved(device)
    if reserved > before:
        most = reserved - torch.cuda.max_memory_allocated(device)
        _LEARNT[device_number(device)] = max(most, _LEARNT.get(device_number(device), 0))


def has_expandable_segments() -> bool:
    """Returns true if the allocator maps memory in pages, which leaves little of it unused."""
    names = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")
    words = ",".join(os.environ.get(name, "") for name in names)
    return "expandable_segments:true" in words.replace(" ", "").lower()


def warm_up(device: torch.device) -> None:
    """Runs one small product in this thread and one in autograd's, once for each GPU. cuBLAS
    allocates a workspace in each thread, which stays."""
    if device_number(device) in _WARM:
        return
    _WARM.add(device_number(device))
    with _compat.unset_fake_temporarily(), torch.enable_grad():
        matrix = torch.ones(16, 16, device=device, requires_grad=True)
        torch.mm(matrix, matrix).sum().backward()


def budget_bytes(budget: int | str, instance: _native.Instance, joint: Joint | None) -> int:
    """A budget in bytes.

    Raises:
        InvalidBudget: the budget cannot be read, or ``"device"`` is given without a GPU.
    """
    if budget == "device":
        device = cuda_device(joint) if joint is not None else None
        if device is None:
            raise InvalidBudget(
                "budget: 'device' is the memory that is free on a GPU, and the step runs on none",
                remedy="give bytes",
            )
        return device_bytes(device)
    return share_or_amount(budget, instance.peak_memory_bytes)
