"""Pinned host memory of exact size.

Torch's allocator of pinned memory rounds up to a power of two, which may take twice the bytes. The
memory here is ordinary memory that CUDA has been told to keep in place.
"""

from __future__ import annotations

import weakref
from typing import Any

import torch

from .. import _native
from ..errors import RematError

SHARE = 0.9
"""Share of the host's available memory that may be pinned: a machine without pageable memory
stops."""


def pinned(size: int) -> torch.Tensor:
    """Pinned memory of a size in bytes, zeroed; it is unpinned when it is freed.

    Raises:
        RematError: the host lacks the memory, or CUDA does not pin it.
    """
    available = available_bytes()
    if available is not None and size > SHARE * available:
        words = _native.format_bytes
        raise RematError(
            f"copies need {words(size)} of pinned host memory, and {words(available)} are "
            "available",
            remedy="limit them: host_memory=",
        )
    # Filling maps the pages before they are pinned.
    arena = torch.zeros(max(1, size), dtype=torch.uint8, device="cpu")
    runtime = torch.cuda.cudart()
    code = _number(runtime.cudaHostRegister(arena.data_ptr(), arena.numel(), 0))
    if code != 0:
        raise RematError(
            f"CUDA does not pin {size} bytes of host memory (error {code})",
            remedy="raise the limit of locked memory (ulimit -l), or limit copies: host_memory=",
        )
    end = weakref.finalize(arena.untyped_storage(), runtime.cudaHostUnregister, arena.data_ptr())
    end.atexit = False
    return arena


def available_bytes() -> int | None:
    """Memory of the host that programs can still take; ``None`` if unknown."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return 1024 * int(line.split()[1])
    except (OSError, ValueError, IndexError):
        pass
    return None


def _number(code: Any) -> int:
    return int(getattr(code, "value", code))
