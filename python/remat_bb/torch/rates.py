"""Rates of devices: what large kernels reach, by device and type of the numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from .._traced import Device
from ..errors import InvalidArgument

FULL, TENSOR_FLOAT, HALF = "float32", "tf32", "half"


@dataclass(frozen=True)
class Rates:
    """Rates of a device.

    Attributes:
        products: Floating point operations a second of products and convolutions, by the type of
            their numbers: ``float32``, ``tf32`` and ``half`` (float16 and bfloat16).
        other: Floating point operations a second of all other operators.
        bytes_per_second: Traffic with memory.
        launch_ns: Launch time of a call in nanoseconds.
    """

    products: Mapping[str, float]
    other: float
    bytes_per_second: float
    launch_ns: int

    def of(self, dtype: torch.dtype | None, is_product: bool) -> Device:
        """The rates for a call.

        Args:
            dtype: Type of its result; ``None`` if it has none.
            is_product: True for products and convolutions.
        """
        flops = self.products[_kind(dtype)] if is_product else self.other
        return Device(flops, self.bytes_per_second, self.launch_ns)


def _kind(dtype: torch.dtype | None) -> str:
    if dtype in (torch.float16, torch.bfloat16):
        return HALF
    if dtype == torch.float32 and torch.backends.cuda.matmul.allow_tf32:
        return TENSOR_FLOAT
    return FULL


def _gpu(full: float, tensor_float: float, half: float, bandwidth: float, launch: int) -> Rates:
    """Rates from peaks in TFLOP/s and TB/s: products reach 70% of the peak in float32 and half of
    the others, traffic reaches 85%."""
    products = {FULL: 7e11 * full, TENSOR_FLOAT: 5e11 * tensor_float, HALF: 5e11 * half}
    return Rates(products, 1e12 * full, 8.5e11 * bandwidth, launch)


CPU = Rates({FULL: 1e11, TENSOR_FLOAT: 1e11, HALF: 1e11}, 1e11, 2e10, 2000)
"""A processor of some cores."""
KNOWN: dict[str, Rates] = {
    "h200": _gpu(67, 495, 989, 4.8, 4000),
    "h100": _gpu(67, 495, 989, 3.35, 4000),
    "a100": _gpu(19.5, 156, 312, 2.0, 5000),
    "l40s": _gpu(91.6, 183, 362, 0.86, 4000),
    "rtx4090": _gpu(82.6, 82.6, 165, 1.0, 4000),
    "cpu": CPU,
}
"""Rates by name. Peaks are those of NVIDIA's data sheets, without sparsity."""
OTHER = "a100"
"""The name whose rates stand for an unknown GPU."""


def named(name: str) -> Rates:
    """The rates of a name.

    Raises:
        InvalidArgument: the name is unknown.
    """
    if name not in KNOWN:
        raise InvalidArgument(
            f"device: {name!r} has no known rates", remedy=f"one of {', '.join(KNOWN)}"
        )
    return KNOWN[name]


def rates_of(device: torch.device | None) -> Rates:
    """The rates of a device; those of :data:`OTHER` for a GPU without known ones, and for a fake
    one on a machine without GPUs."""
    if device is None or device.type != "cuda":
        return CPU
    if not torch.cuda.is_available():
        return KNOWN[OTHER]
    word = torch.cuda.get_device_name(device).lower().replace(" ", "")
    return next((rates for name, rates in KNOWN.items() if name in word), KNOWN[OTHER])
