"""Data parallel modules within steps: DistributedDataParallel and modules of ``fully_shard``.

Dynamo traces neither the hooks of ``fully_shard`` nor the calls of the reducer of
DistributedDataParallel. A step runs the latter around its compiled graph and moves the former into
it (:mod:`remat_bb.torch.sharded`).
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import distributed

from . import _compat_ranks
from .sharded import Sharding

DEPTH = 3
"""Functions within functions that are searched for modules."""


class Wrapped:
    """The data parallel modules of a step.

    Attributes:
        sharding: Parameters that ``fully_shard`` has sharded; ``None`` without any.
        replicas: Modules of DistributedDataParallel.
    """

    def __init__(self, modules: Iterable[torch.nn.Module]) -> None:
        each = list(dict.fromkeys(inner for module in modules for inner in module.modules()))
        sharded = [module for module in each if _compat_ranks.fsdp_state(module) is not None]
        self.sharding = Sharding(sharded) if sharded else None
        kind = torch.nn.parallel.DistributedDataParallel
        self.replicas: list[Any] = [module for module in each if isinstance(module, kind)]

    @staticmethod
    def of(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Wrapped:
        """The modules that a function uses, as far as its closure, globals, defaults and arguments
        name them."""
        if not (distributed.is_available() and distributed.is_initialized()):
            return Wrapped(())
        return Wrapped(_modules((function, *arguments), DEPTH))

    @property
    def bucket_bytes(self) -> int:
        """Bytes in which the modules of DistributedDataParallel average gradients."""
        return sum(_compat_ranks.ddp_bucket_bytes(module) for module in self.replicas)

    @property
    def needs_one_plan(self) -> bool:
        """True if the graphs communicate, so that all ranks need the same plan."""
        return self.sharding is not None

    @contextmanager
    def active(self) -> Iterator[Callable[[Any], Any]]:
        """Prepares the modules for a call of the compiled step; yields what finishes its output."""
        with ExitStack() as stack:
            if self.sharding is not None:
                stack.enter_context(self.sharding.active())
            for module in self.replicas:
                stack.enter_context(_replica(module))
            yield self._finished

    def _finished(self, output: Any) -> Any:
        for module in self.replicas:
            output = module._post_forward(output)
        return output


@contextmanager
def _replica(module: Any) -> Iterator[None]:
    """Runs the beginning of a forward pass of DistributedDataParallel, and makes calls of the
    module in the block calls of the wrapped one."""
    module._pre_forward()
    inner = module.module
    vars(module)["forward"] = inner.forward
    try:
        yield
    finally:
        del vars(module)["forward"]


def _modules(values: Iterable[Any], depth: int) -> list[torch.nn.Module]:
    """Modules among some values, and in the closures and globals of functions among them."""
    found: list[torch.nn.Module] = []
    for value in values:
        if isinstance(value, torch.nn.Module):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += [each for each in value if isinstance(each, torch.nn.Module)]
        elif isinstance(value, dict):
            found += [each for each in value.values() if isinstance(each, torch.nn.Module)]
        elif depth > 0 and isinstance(value, functools.partial):
            parts = (value.func, *value.args, *value.keywords.values())
            found += _modules(parts, depth - 1)
        elif depth > 0 and isinstance(value, types.MethodType):
            found += _modules((value.__self__, value.__func__), depth - 1)
        elif depth > 0 and isinstance(value, types.FunctionType):
            found += _modules(_named(value), depth - 1)
        elif depth > 0 and hasattr(value, "__dict__") and not isinstance(value, type):
            parts = vars(value).values()
            found += [each for each in parts if isinstance(each, torch.nn.Module)]
    return found


def _named(function: types.FunctionType) -> Iterator[Any]:
    """Values that a function's code names."""
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:
            # A name that is not bound yet.
            continue
    for name in function.__code__.co_names:
        if name in function.__globals__:
            value = function.__globals__[name]
            if not isinstance(value, types.ModuleType):
                yield value
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
