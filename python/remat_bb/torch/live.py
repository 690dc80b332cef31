"""Runs of a graph that free each value after its last reader and count live bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from . import _compat
from ._compat import fx
from .partition import storage_bytes


class Live(_compat.TorchDispatchMode):
    """Counter of the bytes of live storages that operators make in the block.

    Args:
        held: Tensors from before the block; they count until they are freed.

    Attributes:
        peak_bytes: Largest number of live bytes after an operator, with its inputs and outputs.
    """

    def __init__(self, held: Sequence[torch.Tensor] = ()) -> None:
        super().__init__()
        self._storages: dict[int, tuple[Any, int]] = {}
        for tensor in held:
            self._add(tensor)
        self.peak_bytes = self.live_bytes()

    def live_bytes(self) -> int:
        """Number of live bytes."""
        gone = [key for key, (storage, _) in self._storages.items() if storage.expired()]
        for key in gone:
            del self._storages[key]
        return sum(size for _, size in self._storages.values())

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for part in tree_leaves((args, kwargs, result)):
            if isinstance(part, torch.Tensor):
                self._add(part)
        self.peak_bytes = max(self.peak_bytes, self.live_bytes())
        return result

    def _add(self, tensor: torch.Tensor) -> None:
        storage = tensor.untyped_storage()
        known = self._storages.get(storage._cdata)
        if known is None or known[0].expired():
            reference = _compat.StorageWeakRef(storage)
            self._storages[storage._cdata] = (reference, storage_bytes(tensor))


class _Frugal(fx.Interpreter):
    """An interpreter that frees unread values as well."""

    def __init__(self, module: fx.GraphModule) -> None:
        super().__init__(module)
        for node in module.graph.nodes:
            if node.op not in ("placeholder", "output") and not node.users:
                self.user_to_last_uses.setdefault(node, []).append(node)


def measure_graph(module: fx.GraphModule, inputs: list[Any]) -> tuple[Any, int]:
    """Runs a graph operator by operator, and counts live storages.

    Args:
        module: The graph.
        inputs: Values of its inputs. The list is emptied, so that values without another holder are
            freed after their last reader.

    Returns:
        The outputs, and the peak in bytes: inputs, constants, values and outputs, without
            workspaces of kernels.
    """
    constants = [*module.parameters(), *module.buffers()]
    named = {node.target for node in module.graph.nodes if node.op == "get_attr"}
    for target in sorted(named, key=str):
        value: Any = module
        for part in str(target).split("."):
            value = getattr(value, part, None)
        constants.append(value)
    held = [part for part in (*inputs, *constants) if isinstance(part, torch.Tensor)]
    run = _Frugal(module)
    counted = Live(held)
    del held, constants
    with torch.no_grad(), counted:
        outputs = run.boxed_run(inputs)
    return outputs, counted.peak_bytes
