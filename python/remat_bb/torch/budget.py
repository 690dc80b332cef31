"""Budgets of steps in bytes."""

from __future__ import annotations

import torch

from .. import _native
from .._amounts import amount
from ..errors import InvalidBudget
from .partition import Joint


def cuda_device(joint: Joint) -> torch.device | None:
    """The GPU of a graph's inputs; ``None`` on the processor."""
    values = (node.meta.get("val") for node in joint.primals)
    return next((v.device for v in values if getattr(v, "is_cuda", False)), None)


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
        free, total = torch.cuda.mem_get_info(device)
        return free + torch.cuda.memory_allocated(device) - total // 50
    if isinstance(budget, str) and budget.strip().endswith("%"):
        try:
            share = float(budget.strip()[:-1])
        except ValueError as error:
            raise InvalidBudget(f"budget: {budget!r} is no percentage", remedy="80%") from error
        return int(instance.peak_memory_bytes * share / 100)
    return amount(budget)
