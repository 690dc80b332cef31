"""Replay of the code that Inductor generates: its allocations and releases, counted.

Inductor writes each graph as a Python function that allocates buffers, calls kernels, and drops
names after their last use. The replay runs this function with fake tensors and without kernels, and
counts live storages. The peak is exact up to memory that a kernel takes while it runs; operators of
torch count with their measured workspaces.
"""

from __future__ import annotations

import ast
import functools
import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from . import _compat
from .code_workspaces import CodeWorkspaces
from .cost import Costs
from .host_operators import BEGIN
from .memory import Peak
from .partition import storage_bytes
from .rewrite import Rewritten

_LOG = logging.getLogger(__name__)

COMPILER = "async_compile"
"""Name of the object in generated code that compiles kernels."""


@dataclass
class Code:
    """Generated code of one graph.

    Attributes:
        text: Source of the Python module with the function ``call``.
        constants: Tensors that the function reads by name.
        inputs: Example inputs.
        is_backward: True for a backward graph.
    """

    text: str
    constants: dict[str, Any]
    inputs: Sequence[Any]
    is_backward: bool


@dataclass
class Generated:
    """Generated code of the graphs of one compilation."""

    codes: list[Code] = field(default_factory=list)

    def note(self, compiled: Any, inputs: Sequence[Any], is_backward: bool) -> None:
        """Keeps the code of a compiled graph."""
        text = getattr(compiled, "source_code", None)
        if isinstance(text, str):
            constants = getattr(compiled, "constants", None) or {}
            self.codes.append(Code(text, dict(constants), list(inputs), is_backward))

    def both(self) -> tuple[Code, Code] | None:
        """Code of the forward and of the backward graph; ``None`` if one is missing."""
        forward = [code for code in self.codes if not code.is_backward]
        backward = [code for code in self.codes if code.is_backward]
        return (forward[0], backward[0]) if len(forward) == len(backward) == 1 else None


def replayed(generated: Generated, graphs: Rewritten, costs: Costs) -> Peak | None:
    """Replays generated code of a planned step.

    Args:
        graphs: The graphs that the code was generated from.
        costs: Workspaces of calls.

    Returns:
        The peak on the device, without inputs of the step. ``None`` if the code is not Python, as
        with Inductor's C++ wrapper, or if it cannot be run with fake tensors.
    """
    both = generated.both()
    if both is None:
        return None
    try:
        return _replayed(*both, graphs.outputs, CodeWorkspaces(graphs, costs))
    except Exception as error:  # noqa: BLE001
        _LOG.info("generated code was not replayed: %s: %s", type(error).__name__, error)
        return None


def _replayed(forward: Code, backward: Code, outputs: int, workspaces: CodeWorkspaces) -> Peak:
    first, second = _function(forward), _function(backward)
    mode = _compat.FakeTensorMode(allow_non_fake_inputs=True)
    with _compat.unset_fake_temporarily(), torch.no_grad(), mode:
        held = [_like(value) for value in forward.inputs]
        with Counted(held, workspaces) as counted:
            made = list(first(list(held)))
            returned, saved = made[:outputs], made[outputs:]
            del made
            tangents = [_like(value) for value in backward.inputs[len(saved) :]]
            arguments = [*saved, *tangents]
            saved.clear()
            gradients = second(arguments)
        del returned, tangents, gradients
    return Peak(counted.peak_bytes, counted.peak_at)


def _like(value: Any) -> Any:
    """A tensor with the layout of another one."""
    if not isinstance(value, torch.Tensor):
        return value
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=value.device)


class Counted(_compat.TorchDispatchMode):
    """Counter of the live bytes on the device that operators make in the block.

    Args:
        held: Inputs of the step, which do not count.
        workspaces: Workspaces of calls.

    Attributes:
        peak_bytes: Largest number of live bytes.
        peak_at: The operator at the peak.
    """

    def __init__(self, held: Sequence[Any], workspaces: CodeWorkspaces) -> None:
        super().__init__()
        self._workspaces = workspaces
        self._uncounted = [x.untyped_storage() for x in held if isinstance(x, torch.Tensor)]
        self._known = {storage._cdata for storage in self._uncounted}
        self._device: dict[int, tuple[Any, int]] = {}
        self.peak_bytes = 0
        self.peak_at = "start"

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        out = kwargs.get("out")
        result = out if out is not None else func(*args, **kwargs)
        made = [x for x in tree_leaves(result) if isinstance(x, torch.Tensor)]
        for part in made if func is not BEGIN else ():
            self._add(part)
        name, workspace = self._workspaces.of(func, args, kwargs)
        live = _live(self._device) + workspace
        if live > self.peak_bytes:
            self.peak_bytes, self.peak_at = live, name
        return result

    def _add(self, tensor: torch.Tensor) -> None:
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key in self._known or not isinstance(tensor, _compat.FakeTensor):
            return
        known = self._device
        if key not in known or known[key][0].expired():
            known[key] = _compat.StorageWeakRef(storage), storage_bytes(tensor)


def _live(storages: dict[int, tuple[Any, int]]) -> int:
    """Bytes of the storages that are still referenced; the others are removed."""
    for key in [key for key, (storage, _) in storages.items() if storage.expired()]:
        del storages[key]
    return sum(size for _, size in storages.values())


class _Kernel:
    """A kernel that does nothing. Triton's kernels are called by ``run``."""

    def __call__(self, *arguments: Any, **options: Any) -> None:
        pass

    run = __call__


def _function(code: Code) -> Callable[[list[Any]], Any]:
    """The function of generated code, with fake allocations and without kernels."""
    names: dict[str, Any] = {"__name__": "replayed"}
    for statement in ast.parse(code.text).body:
        used = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
        if COMPILER not in used:
            block = ast.Module([statement], [])
            exec(compile(block, "<generated code>", "exec"), names)  # noqa: S102
        elif isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    names[target.id] = _Kernel()
    names.update(code.constants)
    for name in list(names):
        device = re.fullmatch(r"empty_strided_(cpu|cuda|xpu|mtia)(_pinned)?", name)
        if device is not None:
            names[name] = functools.partial(_empty, device=device[1])
    names.update(
        assert_size_stride=_nothing,
        assert_alignment=_nothing,
        reinterpret_tensor=_reinterpreted,
    )
    return names["call"]


def _nothing(*arguments: Any, **options: Any) -> None:
    pass


def _empty(size: Any, stride: Any, dtype: torch.dtype, device: str) -> torch.Tensor:
    return torch.empty_strided(size, stride, dtype=dtype, device=device)


def _reinterpreted(tensor: torch.Tensor, size: Any, stride: Any, offset: int) -> torch.Tensor:
    return tensor.as_strided(size, stride, tensor.storage_offset() + offset)
