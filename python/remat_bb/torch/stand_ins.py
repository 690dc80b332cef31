"""Fake tensors in place of the tensors of a module, its inputs and its optimizer."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map

from ..errors import InvalidArgument, RematError
from . import _compat

PLAIN = (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer, _compat.FakeTensor)
"""Types of tensors that have a stand-in."""


class StandIns:
    """Fake tensors with the sizes, layouts and shared storages of others.

    Args:
        mode: The ``FakeTensorMode`` of the stand-ins; it is active during calls.
        device: The device of all stand-ins; ``None`` for the device of each original.
    """

    def __init__(self, mode: Any, device: torch.device | None) -> None:
        self.mode = mode
        self.device = device
        self._tensors: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self._storages: dict[tuple[int, torch.device], torch.Tensor] = {}

    def of(self, value: Any, name: str = "a tensor") -> Any:
        """The stand-in of a tensor; other values unchanged.

        Raises:
            RematError: for subclasses of tensors, sparse tensors, symbolic sizes and parameters
                that have no size yet.
        """
        if not isinstance(value, torch.Tensor):
            return value
        if id(value) not in self._tensors:
            _check(value, name)
            made = self._made(value)
            # The original is kept so that its identity stays its own.
            self._tensors[id(value)] = value, made
        return self._tensors[id(value)][1]

    def _made(self, tensor: torch.Tensor) -> torch.Tensor:
        device = self.device or tensor.device
        with torch.no_grad():
            made = self._view(tensor, device).detach()
        if isinstance(tensor, torch.nn.Parameter):
            made = torch.nn.Parameter(made, requires_grad=tensor.requires_grad)
            for name, value in vars(tensor).items():
                if not isinstance(tensor, _compat.FakeTensor) and name not in vars(made):
                    setattr(made, name, value)
            return made
        return made.requires_grad_(tensor.requires_grad)

    def _view(self, tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
        """A view of the stand-in of a tensor's storage."""
        storage = tensor.untyped_storage()
        key = storage._cdata, device
        size = tensor.element_size()
        if key not in self._storages:
            count = -(-int(storage.nbytes()) // size)
            self._storages[key] = torch.empty(count, dtype=tensor.dtype, device=device)
        base = self._storages[key].view(tensor.dtype)
        return base.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())

    def forget(self) -> None:
        """Drops all stand-ins."""
        self._tensors.clear()
        self._storages.clear()


def _check(tensor: torch.Tensor, name: str) -> None:
    if isinstance(tensor, torch.nn.parameter.UninitializedTensorMixin):
        raise RematError(
            f"{name} has no size before the first call of its module",
            remedy="call the module once, or give the sizes to its layers",
        )
    if type(tensor) not in PLAIN and type(tensor.data) not in PLAIN:
        raise RematError(
            f"{name} is a {type(tensor).__name__}, and an estimate counts plain tensors",
            remedy="estimate the module before it is sharded or quantized",
        )
    if tensor.layout != torch.strided:
        raise RematError(
            f"{name} has the layout {tensor.layout}", remedy="give a strided (dense) tensor"
        )
    if any(isinstance(size, torch.SymInt) for size in tensor.shape):
        raise RematError(f"{name} has symbolic sizes", remedy="give sizes that are numbers")


def owners(function: Callable[..., Any]) -> dict[str, torch.nn.Module]:
    """The modules of a step by name: a module itself, or the modules that a function reads.

    A function reads modules as variables of an enclosing function, as globals, as the object of a
    method, and as arguments of ``functools.partial``.

    Raises:
        InvalidArgument: it is no module and reads none.
    """
    if isinstance(function, torch.nn.Module):
        return {"": function}
    found: dict[str, Any] = {}
    if isinstance(function, functools.partial):
        found |= {str(k): value for k, value in enumerate(function.args)} | function.keywords
        found |= owners_of_code(function.func)
    else:
        found |= owners_of_code(function)
    modules = {n: _compat_module(v) for n, v in found.items()}
    modules = {name: value for name, value in modules.items() if value is not None}
    if not modules:
        raise InvalidArgument(
            f"model: {function!r:.80} is no module, and reads none",
            remedy="give the module, or a function that uses it by name",
        )
    return modules


def _compat_module(value: Any) -> torch.nn.Module | None:
    return value if isinstance(value, torch.nn.Module) else None


def owners_of_code(function: Callable[..., Any]) -> dict[str, Any]:
    """Objects that a function reads by name."""
    if isinstance(function, torch.nn.Module):
        return {"": function}
    found: dict[str, Any] = {}
    owner = getattr(function, "__self__", None)
    if owner is not None:
        found["self"] = owner
        found |= {f"self.{k}": v for k, v in getattr(owner, "__dict__", {}).items()}
    function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    if code is None:
        call = getattr(type(function), "__call__", None)
        inner = getattr(function, "__dict__", {})
        return found | (dict(inner) if call is not None else {})
    for name, cell in zip(code.co_freevars, function.__closure__ or ()):
        try:
            found[name] = cell.cell_contents
        except ValueError:
            continue
    names = function.__globals__
    return found | {name: names[name] for name in code.co_names if name in names}


@contextmanager
def swapped(modules: Mapping[str, torch.nn.Module], stand_ins: StandIns) -> Iterator[None]:
    """Puts stand-ins into modules for the block, and restores the modules at its end.

    Parameters, buffers, and tensors in other attributes (also in lists, tuples and dictionaries)
    are replaced. All attributes that the block changes are restored.
    """
    before: list[tuple[torch.nn.Module, dict[str, Any], dict[str, dict[str, Any]]]] = []
    seen: set[int] = set()
    try:
        for prefix, owner in modules.items():
            for name, module in owner.named_modules(prefix=prefix):
                if id(module) in seen:
                    continue
                seen.add(id(module))
                own = vars(module)
                tables = {k: dict(own[k]) for k in ("_parameters", "_buffers", "_modules")}
                before.append((module, dict(own), tables))
                _replace(module, name, stand_ins)
        yield
    finally:
        for module, own, tables in before:
            vars(module).clear()
            vars(module).update(own)
            for key, table in tables.items():
                own[key].clear()
                own[key].update(table)


def _replace(module: torch.nn.Module, name: str, stand_ins: StandIns) -> None:
    own = vars(module)
    for key in ("_parameters", "_buffers"):
        for entry, tensor in own[key].items():
            own[key][entry] = stand_ins.of(tensor, f"{name}.{entry}".lstrip("."))
    for key, value in list(own.items()):
        if key.startswith("_") and key.endswith("hooks") or key in TABLES:
            continue
        if isinstance(value, torch.Tensor):
            own[key] = stand_ins.of(value, f"{name}.{key}".lstrip("."))
        elif type(value) in (list, tuple, dict) and _has_tensors(value):
            own[key] = tree_map(lambda x: stand_ins.of(x, f"{name}.{key}".lstrip(".")), value)


TABLES = ("_parameters", "_buffers", "_modules")


def _has_tensors(value: Any) -> bool:
    return any(isinstance(leaf, torch.Tensor) for leaf in tree_leaves(value))


def optimizer_of(
    optimizer: Any, parameters: list[torch.Tensor], stand_ins: StandIns
) -> torch.optim.Optimizer:
    """An optimizer over stand-ins.

    Args:
        optimizer: An optimizer, which is copied with its states; its class; or a function that
            makes one from a list of parameters.
        parameters: Stand-ins of the trainable parameters.

    Raises:
        InvalidArgument: for other values, and for optimizers that call the step themselves.
    """
    if isinstance(optimizer, torch.optim.Optimizer):
        made = _copied(optimizer, stand_ins)
    elif callable(optimizer):
        try:
            made = optimizer(parameters)
        except (TypeError, ValueError) as error:
            raise InvalidArgument(
                f"optimizer: {optimizer!r:.80} makes none from a list of parameters: {error}",
                remedy="give an optimizer, its class, or a function such as "
                "lambda p: torch.optim.AdamW(p, lr=1e-4)",
            ) from error
    else:
        made = optimizer
    if not isinstance(made, torch.optim.Optimizer):
        raise InvalidArgument(
            f"optimizer: {made!r:.80} is no torch.optim.Optimizer",
            remedy="give an optimizer, its class, or a function such as "
            "lambda p: torch.optim.AdamW(p, lr=1e-4)",
        )
    if isinstance(made, torch.optim.LBFGS):
        raise InvalidArgument(
            "optimizer: LBFGS runs the step several times", remedy="give another optimizer, or none"
        )
    return made


def _copied(optimizer: torch.optim.Optimizer, stand_ins: StandIns) -> torch.optim.Optimizer:
    made = copy.copy(optimizer)
    made.__dict__ = dict(vars(optimizer))
    # A scheduler has put a function here that steps the original.
    made.__dict__.pop("step", None)

    def of(value: Any) -> Any:
        return tree_map(stand_ins.of, value)

    made.param_groups = [{k: of(v) for k, v in g.items()} for g in optimizer.param_groups]
    made.state = type(optimizer.state)(getattr(optimizer.state, "default_factory", dict))
    for parameter, state in optimizer.state.items():
        made.state[stand_ins.of(parameter)] = of(state)
    return made
