"""Suppression of torch's messages on standard error that this package causes and that do not help
users."""

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
    """Disables the log of a module of torch during its import in the block."""
    log = logging.getLogger(name)
    before = log.disabled
    log.disabled = True
    try:
        yield
    finally:
        log.disabled = before


@contextmanager
def quiet_profiler() -> Iterator[None]:
    """Suppresses messages about a missing GPU and about freed memory that is older than the
    profiler.

    Levels set in the environment (``KINETO_LOG_LEVEL``, ``TORCH_CPP_LOG_LEVEL``) stay.
    """
    # The first profiler reads it at its start.
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
    """The level of torch's log in C++; ``None`` in builds with another log."""
    library = Path(torch.__file__).parent / "lib" / "libc10.so"
    try:
        return ctypes.c_int.in_dll(ctypes.CDLL(str(library)), "FLAGS_caffe2_log_level")
    except (OSError, ValueError):
        return None
