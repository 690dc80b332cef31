"""Memory that kernels of the processor take besides their results and free at their end.

Kernels are not run. The rules reproduce allocations that were measured in single-threaded steps of
small networks on a processor with AVX-512. Other processors, and shapes beyond these, may take
other amounts. Operators without a rule count as 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

aten = torch.ops.aten
BLOCK = 16
"""Channels of a block of oneDNN's layouts; numbers of channels are rounded up to it."""
PLAIN_CHANNELS = 4
"""Channels of an input up to which oneDNN leaves it as it is."""

Rule = Callable[[Any, Any], int]


def workspace_bytes(function: Any, arguments: Any, results: Any) -> int:
    """Peak of a call on the processor beyond its results, in bytes; 0 for operators without a
    rule."""
    rule = RULES.get(function)
    return 0 if rule is None else rule(arguments, results)


def _bytes(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.element_size()


def _copied(tensor: torch.Tensor) -> int:
    """Bytes of a contiguous copy; 0 for a contiguous tensor."""
    return 0 if tensor.is_contiguous() else _bytes(tensor)


def _layer_norm(arguments: Any, results: Any) -> int:
    return _copied(arguments[0])


def _layer_norm_backward(arguments: Any, results: Any) -> int:
    gradient, x, shape = arguments[:3]
    return _copied(gradient) + _copied(x) + 2 * math.prod(shape) * x.element_size()


def _batch_norm_backward(arguments: Any, results: Any) -> int:
    gradient, x = arguments[:2]
    made = arguments[-1][0]
    for form in (torch.contiguous_format, torch.channels_last, torch.channels_last_3d):
        fits = form is torch.contiguous_format or x.dim() == (
            4 if form is torch.channels_last else 5
        )
        if fits and x.is_contiguous(memory_format=form):
            if gradient.is_contiguous(memory_format=form):
                return _bytes(x) if made else 2 * x.shape[1] * x.element_size()
    return x.shape[1] * x.element_size()


def _roll(arguments: Any, results: Any) -> int:
    dims = arguments[2] if len(arguments) > 2 else ()
    return _bytes(arguments[0]) if len(dims) > 1 else 0


def _blocked(tensor: torch.Tensor, dims: tuple[int, ...], groups: int) -> int:
    """Bytes of a tensor whose channel dimensions are rounded up to blocks."""
    sizes = list(tensor.shape)
    for dim in dims if groups == 1 else ():
        sizes[dim] = -(-sizes[dim] // BLOCK) * BLOCK
    return math.prod(sizes) * tensor.element_size()


def _is_blocked(tensor: torch.Tensor) -> bool:
    """Returns true for inputs that oneDNN copies into a blocked layout."""
    spread = math.prod(tensor.shape[2:]) > 1
    return spread and tensor.is_contiguous() and tensor.dtype == torch.float32


def _convolution(arguments: Any, results: Any) -> int:
    x, weight, groups = arguments[0], arguments[1], arguments[8]
    if arguments[6] or not _is_blocked(x):
        return _blocked(weight, (0, 1), groups)
    kernel = _blocked(weight, (0, 1), groups)
    inner = 0 if x.shape[1] <= PLAIN_CHANNELS else _blocked(x, (1,), groups)
    outer = _blocked(results, (1,), groups)
    # The result is copied back after input and weight are freed.
    return max(inner + kernel + outer, outer + _bytes(results)) - _bytes(results)


def _convolution_backward(arguments: Any, results: Any) -> int:
    gradient, x, weight = arguments[:3]
    groups, mask = arguments[9], arguments[10]
    made = sum(_bytes(part) for part in results if part is not None)
    kernel = _blocked(weight, (0, 1), groups)
    if arguments[7] or not _is_blocked(x):
        # With other layouts, weights of one channel for each group are spread over whole blocks.
        alone = groups > 1 and weight.shape[1] == 1 and math.prod(weight.shape[2:]) > 1
        bias = weight.shape[0] * weight.element_size()
        return BLOCK * BLOCK * _bytes(weight) + _bytes(weight) + bias if alone else kernel
    own = _bytes(x) if mask[0] else 0
    outer = _blocked(gradient, (1,), groups)
    inner = 0 if x.shape[1] <= PLAIN_CHANNELS else _blocked(x, (1,), groups)
    peak = made
    if mask[0]:
        peak = max(peak, inner + outer + kernel, inner + own)
    if mask[1]:
        peak = max(peak, own + inner + outer + kernel, own + kernel + _bytes(weight))
    return peak - made


RULES: dict[Any, Rule] = {
    aten.convolution.default: _convolution,
    aten.convolution_backward.default: _convolution_backward,
    aten.native_batch_norm_backward.default: _batch_norm_backward,
    aten.native_layer_norm.default: _layer_norm,
    aten.native_layer_norm_backward.default: _layer_norm_backward,
    aten.roll.default: _roll,
}
