"""Messages of torch on standard error that say nothing to whoever trains: hushed where this package
is the reason for them."""

from __future__ import annotations

import ctypes
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

ERRORS = 2
"""Level of torch's log in C++ from which on errors are written, and warnings are not."""


@contextmanager
def quiet_import(name: str) -> Iterator[None]:
    """Leaves out what a module of torch writes to its log while it is imported in the block."""
    log = logging.getLogger(name)
    before = log.disabled
    log.disabled = True
    try:
        yield
    finally:
        log.disabled = before


@contextmanager
def quiet_profiler() -> Iterator[None]:
    """Leaves out that no GPU is there, and that memory is freed which is older than the profiler.

    Levels that the environment names (``KINETO_LOG_LEVEL``, ``TORCH_CPP_LOG_LEVEL``) stay.
    """
    # Read when the first profiler starts.
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")
    level = None if "TORCH_CPP_LOG_LEVEL" in os.environ else _log_level()
    before = 0 if level is None else level.value
    if level is not None:
        level.value = max(before, ERRORS)
    try:
        yield
    finally:
        if level is not None:
            level.value = before


def _log_level() -> ctypes.c_int | None:
    """The level of torch's log in C++; ``None`` in builds that have another log."""
    library = Path(torch.__file__).parent / "lib" / "libc10.so"
    try:
        return ctypes.c_int.in_dll(ctypes.CDLL(str(library)), "FLAGS_caffe2_log_level")
    except (OSError, ValueError):
        return None
