"""Saving and restoring of state around trial steps: gradients, buffers, random numbers.

The tensors are the inputs of the compiled graph. For a function that is not compiled, they are the
leaves behind its output and the buffers of all modules.
"""

from __future__ import annotations

import gc
import random
import sys
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import torch

from . import _compat
from .accumulate import present_bytes


class Kept:
    """A context that restores gradients, buffers and states of generators at its end.

    In it, hooks after the accumulation of gradients do not run, because they may step an optimizer.

    Args:
        compiled: True if :meth:`note` gets the inputs of a compiled graph; else the buffers of all
            modules are kept.
        hides: True hides present gradients from steps in the context.
    """

    def __init__(self, compiled: bool, hides: bool = False) -> None:
        self._compiled = compiled
        self._hides = hides
        self._leaves: dict[int, _Leaf] = {}
        self._values: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self._owners: list[_Owner] = []
        self._generators: dict[torch.device, torch.Tensor] = {}
        self.devices: dict[torch.device, None] = {}

    def __enter__(self) -> Kept:
        self._generators[torch.device("cpu")] = torch.get_rng_state()
        self._random = random.getstate()
        # A step that draws from NumPy has loaded it.
        numpy = sys.modules.get("numpy")
        self._numpy = None if numpy is None else (numpy, numpy.random.get_state())
        if not self._compiled:
            modules = _modules()
            self._owners = [_Owner(module) for module in modules]
            self._keep(b for module in modules for b in module.buffers(recurse=False))
        return self

    def __exit__(self, *_: object) -> None:
        with torch.no_grad():
            for tensor, value in self._values.values():
                # Skips unchanged tensors: a copy changes the version, and graphs may have saved the
                # tensor.
                if not torch.equal(tensor.detach().cpu(), value):
                    tensor.copy_(value)
        for owner in self._owners:
            owner.restore()
        for leaf in self._leaves.values():
            leaf.restore(hidden=False)
            if leaf.hooks is not None:
                leaf.tensor._post_accumulate_grad_hooks = leaf.hooks
        for device, state in self._generators.items():
            if device.type == "cuda":
                torch.cuda.set_rng_state(state, device)
            else:
                torch.set_rng_state(state)
        random.setstate(self._random)
        if self._numpy is not None:
            self._numpy[0].random.set_state(self._numpy[1])

    def note(self, inputs: Sequence[Any], changed: AbstractSet[int] | None) -> None:
        """Saves the inputs of a compiled graph before its run.

        Args:
            inputs: Inputs of the graph.
            changed: Numbers of the inputs that it changes; ``None`` if unknown.
        """
        tensors = [(k, x) for k, x in enumerate(inputs) if isinstance(x, torch.Tensor)]
        new = {id(x) for _, x in tensors} - self._leaves.keys() - self._values.keys()
        if not new:
            return
        fresh = [(k, x) for k, x in tensors if id(x) in new]
        self._note_devices(x for _, x in fresh)
        self._add_leaves(x for _, x in fresh if x.is_leaf and x.requires_grad)
        self._keep(
            x for k, x in fresh if (not x.requires_grad if changed is None else k in changed)
        )
        if not self._owners:
            self._owners = [_Owner(module) for module in _modules({id(x) for _, x in tensors})]

    def note_leaves(self, output: torch.Tensor) -> None:
        """Saves the gradients of all leaves behind an output."""
        leaves = list(_compat.leaves_of(output))
        self._note_devices([output, *leaves])
        self._add_leaves(leaves)

    def restore_gradients(self) -> None:
        """Restores the gradients."""
        for leaf in self._leaves.values():
            leaf.restore(self._hides)

    def gradient_bytes(self) -> int:
        """Bytes of the present gradients."""
        return present_bytes(leaf.tensor for leaf in self._leaves.values())

    def _add_leaves(self, leaves: Iterable[torch.Tensor]) -> None:
        for tensor in leaves:
            if id(tensor) not in self._leaves:
                leaf = self._leaves[id(tensor)] = _Leaf(tensor)
                if leaf.hooks is not None:
                    # None would leave autograd's own hooks in place.
                    tensor._post_accumulate_grad_hooks = OrderedDict()
                if self._hides:
                    leaf.restore(hidden=True)

    def _keep(self, tensors: Iterable[torch.Tensor]) -> None:
        for tensor in tensors:
            if id(tensor) not in self._values and _has_values(tensor):
                self._values[id(tensor)] = tensor, _on_host(tensor)

    def _note_devices(self, tensors: Iterable[torch.Tensor]) -> None:
        for tensor in tensors:
            if tensor.device not in self.devices:
                self.devices[tensor.device] = None
                if tensor.is_cuda:
                    self._generators[tensor.device] = torch.cuda.get_rng_state(tensor.device)


class _Leaf:
    """A leaf with its gradient and its hooks after accumulation."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor
        self.gradient = tensor.grad
        # Steps add to present gradients in place, so their values are copied.
        self.value = None if tensor.grad is None else _on_host(tensor.grad)
        self.hooks = tensor._post_accumulate_grad_hooks

    def restore(self, hidden: bool) -> None:
        self.tensor.grad = None if hidden else self.gradient
        if self.gradient is not None and self.value is not None and not hidden:
            with torch.no_grad():
                self.gradient.copy_(self.value)


class _Owner:
    """A module with its buffers and other tensors, which a step may replace."""

    def __init__(self, module: torch.nn.Module) -> None:
        self.module = module
        self.buffers = dict(module._buffers)
        self.tensors = {k: v for k, v in vars(module).items() if isinstance(v, torch.Tensor)}

    def restore(self) -> None:
        module = self.module
        module._buffers.clear()
        module._buffers.update(self.buffers)
        for name, value in self.tensors.items():
            if vars(module).get(name) is not value:
                vars(module)[name] = value


def _has_values(tensor: torch.Tensor) -> bool:
    """Returns true for a tensor that a step can change."""
    if isinstance(tensor, _compat.FakeTensor) or tensor.is_meta or tensor.is_inference():
        return False
    return tensor.layout == torch.strided


def _on_host(tensor: torch.Tensor) -> torch.Tensor:
    """A copy on the host, which takes no memory of a GPU."""
    return tensor.detach().to("cpu", copy=True)


def _modules(owned: AbstractSet[int] | None = None) -> list[torch.nn.Module]:
    """All modules, or the modules that own a parameter or buffer with one of some identities."""
    found = []
    for each in gc.get_objects():
        if not issubclass(type(each), torch.nn.Module) or "_buffers" not in vars(each):
            continue
        tensors = (*each._parameters.values(), *each._buffers.values())
        if owned is None or any(id(tensor) in owned for tensor in tensors):
            found.append(each)
    return found
