"""Times of operator calls and of traffic with memory, on the processor and on GPUs."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

from . import _compat

FLUSH_BYTES = 1 << 28
"""Bytes of the buffer that is cleared before each run on a GPU. They replace what the caches hold,
and keep the GPU busy while the processor issues the call."""
WARM_SECONDS = 0.3
"""Seconds of products before the first measurement on a GPU, whose clocks are low when it idles."""
WARM_SIZE = 2048
"""Rows of the matrices of these products."""
TRAFFIC_BYTES = {"cpu": 1 << 24, "cuda": 1 << 30}
"""Bytes of the tensor whose negation measures the traffic with memory, by kind of device. On a GPU
it exceeds the caches."""

_WARM: set[int] = set()
_FLUSH: dict[int, torch.Tensor] = {}


def on_processor(run: Callable[[], Any], repeats: int) -> int:
    """The least time of some runs in nanoseconds; 0 for no runs."""
    best = math.inf
    for _ in range(repeats):
        start = time.perf_counter_ns()
        result = run()
        best = min(best, time.perf_counter_ns() - start)
        del result
    return int(best) if repeats else 0


def on_gpu(run: Callable[[], Any], repeats: int, device: torch.device) -> tuple[int, int]:
    """The median times of some runs on a GPU in nanoseconds: of the kernels, and of the processor
    that issues them. Both are 0 for no runs.

    The caches are cold, as they are for most calls of a step, and the queue is not empty.
    """
    if not repeats:
        return 0, 0
    with torch.cuda.device(device):
        _warm(device)
        marks, issued = [], []
        for _ in range(repeats):
            _flush(device)
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            begun = time.perf_counter_ns()
            result = run()
            issued.append(time.perf_counter_ns() - begun)
            end.record()
            del result
            marks.append((start, end))
        torch.cuda.synchronize(device)
        kernels = [1e6 * start.elapsed_time(end) for start, end in marks]
    return int(statistics.median(kernels)), int(statistics.median(issued))


def forget(device: torch.device) -> None:
    """Frees the buffer of :func:`on_gpu`, and cached memory of measured calls."""
    _FLUSH.pop(device_number(device), None)
    torch.cuda.empty_cache()


def measured_traffic(device: torch.device) -> float:
    """Bytes a second that an element-wise operator reads and writes."""
    size = TRAFFIC_BYTES["cuda" if device.type == "cuda" else "cpu"]
    with _compat.unset_fake_temporarily(), torch.no_grad():
        source = torch.zeros(size // 4, device=device)
        target = torch.empty_like(source)

        def run() -> None:
            torch.neg(source, out=target)

        if device.type == "cuda":
            nanoseconds = on_gpu(run, 5, device)[0]
        else:
            nanoseconds = on_processor(run, 5)
    return 2e9 * size / max(1, nanoseconds)


def kernel_settings() -> tuple[str, ...]:
    """Names of torch's settings that are on and choose other kernels of a GPU."""
    settings = {
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "tf32": torch.backends.cuda.matmul.allow_tf32,
        "cudnn tf32": torch.backends.cudnn.allow_tf32,
        "benchmark": torch.backends.cudnn.benchmark,
    }
    return tuple(name for name, is_on in settings.items() if is_on)


def device_number(device: torch.device) -> int:
    """The number of a GPU; the current one's if the device names none."""
    return torch.cuda.current_device() if device.index is None else device.index


def _flush(device: torch.device) -> None:
    number = device_number(device)
    if number not in _FLUSH:
        _FLUSH[number] = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device=device)
    _FLUSH[number].zero_()


def _warm(device: torch.device) -> None:
    """Raises the clocks of a GPU that idled."""
    if device_number(device) in _WARM:
        return
    _WARM.add(device_number(device))
    matrix = torch.ones(WARM_SIZE, WARM_SIZE, device=device)
    end = time.perf_counter() + WARM_SECONDS
    while time.perf_counter() < end:
        torch.mm(matrix, matrix)
        torch.cuda.synchronize(device)
