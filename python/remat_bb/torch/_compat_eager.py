"""Private names of torch that only the estimate of an eager step needs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensorMode,
    UnsupportedFakeTensorException,
    UnsupportedOperatorException,
)
from torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)
from torch.utils import _foreach_utils

from . import _compat

__all__ = [
    "FakeTensorMode",
    "NEEDS_VALUES",
    "NO_FAKE",
    "foreach_of_fakes",
    "is_dense",
    "next_sequence",
    "references",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "running_sequence",
    "uncompiled",
]

NEEDS_VALUES = (DataDependentOutputException, DynamicOutputShapeException)
"""Errors of operators whose result depends on the values of tensors."""
NO_FAKE = (UnsupportedOperatorException, UnsupportedFakeTensorException)
"""Errors of operators and tensors without a fake form."""


def is_dense(tensor: torch.Tensor) -> bool:
    """Returns true if the elements of a tensor fill its memory, each place once."""
    expected = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape)):
        if size > 1 and stride != expected:
            return False
        expected *= size
    return True


def references(tensor: torch.Tensor) -> tuple[int, int]:
    """Numbers of references to a tensor and to its storage."""
    return tensor._use_count(), torch._C._storage_Use_Count(tensor.untyped_storage()._cdata)


def next_sequence() -> int:
    """The number that the next node of autograd's graph gets."""
    return int(torch._C._autograd._get_sequence_nr())


def running_sequence() -> int | None:
    """The number of the running node of autograd's graph; ``None`` outside of backward passes."""
    node = _compat.running_node()
    number = getattr(node, "_sequence_nr", None)
    return None if number is None else number()


@contextmanager
def foreach_of_fakes() -> Iterator[None]:
    """Makes optimizers choose their kernels for fake parameters as for parameters in the block."""
    from torch.optim import optimizer

    types = (
        _foreach_utils._foreach_supported_types
        if hasattr(_foreach_utils, "_foreach_supported_types")
        else optimizer._foreach_supported_types
    )
    types.append(_compat.FakeTensor)
    try:
        yield
    finally:
        types.remove(_compat.FakeTensor)


def uncompiled(model: Any) -> Any:
    """The module or function behind one that ``torch.compile`` has made."""
    for name in ("_orig_mod", "_torchdynamo_orig_callable"):
        model = vars(model).get(name, model) if hasattr(model, "__dict__") else model
        if isinstance(model, torch.nn.Module) and name in model._modules:
            model = model._modules[name]
    return model
