"""Operators whose results vary between two runs, and decisions behind them.

Some kernels of GPUs add in an order that changes from run to run, so the last bits of a recomputed
value may differ. Gradients then differ by as little. A comparison or an index behind such a value
may differ as a whole: such decisions are taken once, and kept.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from ._compat import fx

aten = torch.ops.aten
NAMES = (
    "bincount cumsum embedding_bag _embedding_bag grid_sampler_2d grid_sampler_3d histc index_add "
    "index_put index_reduce kthvalue median put scatter_add scatter_reduce upsample_bicubic2d "
    "upsample_bilinear2d"
).split()
VARYING = frozenset(getattr(aten, name) for name in NAMES if hasattr(aten, name))
"""Operators without a deterministic kernel on GPUs (torch,
``use_deterministic_algorithms``)."""


def _results(node: fx.Node) -> list[torch.Tensor]:
    """The tensors among the results of a call."""
    return [x for x in tree_leaves(node.meta.get("val")) if isinstance(x, torch.Tensor)]


def varies(node: fx.Node) -> bool:
    """Returns true if a second run of a call may return other bits."""
    if torch.are_deterministic_algorithms_enabled():
        return False
    tensors = _results(node)
    is_on_gpu = any(x.device.type == "cuda" for x in tensors)
    return is_on_gpu and getattr(node.target, "overloadpacket", None) in VARYING


def is_decision(node: fx.Node) -> bool:
    """Returns true for a call whose results are integers or truth values."""
    tensors = _results(node)
    return bool(tensors) and not any(
        x.dtype.is_floating_point or x.dtype.is_complex for x in tensors
    )


class Varying:
    """Values of a graph that may differ in a second run."""

    def __init__(self) -> None:
        self._values: set[fx.Node] = set()

    def decides(self, node: fx.Node, sources: list[fx.Node]) -> bool:
        """Notes a call, and returns true if it must run once.

        Args:
            sources: The values that it reads.
        """
        is_behind = not self._values.isdisjoint(sources)
        if is_behind and is_decision(node):
            return True
        if is_behind or varies(node):
            self._values.add(node)
        return False


def draws_elsewhere(node: fx.Node, device: torch.device) -> bool:
    """Returns true for a call that draws from the generator of another GPU. Torch saves the state
    of the current GPU's generator, which is the one of the step."""
    tensors = _results(node)
    return any(x.device.type == "cuda" and x.device != device for x in tensors)


def on_device(run: Any, device: torch.device) -> Any:
    """The pass of a graph with a GPU as the current one. States of generators are those of the
    current GPU, and a model may lie on another one."""

    def there(arguments: Any) -> Any:
        with torch.cuda.device(device):
            return run(arguments)

    there._boxed_call = True  # type: ignore[attr-defined]
    return there


CONVOLUTIONS = frozenset((aten.convolution, aten.convolution_backward))


def chooses_by_time(node: fx.Node) -> bool:
    """Returns true for a convolution whose kernel cuDNN chooses by trials (``benchmark``). Trials
    are per thread, so a second run may take another kernel."""
    tensors = _results(node)
    is_on_gpu = any(x.device.type == "cuda" for x in tensors)
    packet = getattr(node.target, "overloadpacket", None)
    return torch.backends.cudnn.benchmark and is_on_gpu and packet in CONVOLUTIONS


def without_trials(run: Any) -> Any:
    """The pass of a graph with cuDNN's trials off."""

    def calm(arguments: Any) -> Any:
        before = torch.backends.cudnn.benchmark
        torch.backends.cudnn.benchmark = False
        try:
            return run(arguments)
        finally:
            torch.backends.cudnn.benchmark = before

    calm._boxed_call = True  # type: ignore[attr-defined]
    return calm
