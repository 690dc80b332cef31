"""Estimates of the memory of a training step before it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from ..errors import InvalidArgument, InvalidType, RematError
from . import _compat, _compat_eager
from .eager import Eager
from .estimated import Estimate, Fit, bytes_of
from .stand_ins import StandIns, owners
from .step import Step


def estimate(
    model: Callable[..., Any],
    inputs: Any,
    optimizer: Any = None,
    *,
    loss: Callable[[Any], torch.Tensor] | None = None,
    accumulate: bool = False,
    device: str | torch.device | None = None,
) -> Estimate:
    """Estimates the peak memory of an eager training step, without allocating its tensors.

    The step is ``loss = model(...)``, ``loss.backward()`` and ``optimizer.step()``, with gradients
    set to ``None`` before it, as eager torch runs it. It is run on fake tensors, so operators
    compute sizes only. Results and temporaries of composite operators are counted. Memory inside of
    a kernel is not visible: on the processor rules cover norms and convolutions, on a GPU it is not
    counted, like the CUDA context and fragmentation.

    The peak holds for every step of a training run: the first step allocates the states of the
    optimizer, and later steps hold them from their start. The output of the model is dropped once
    the loss is known.

    An active ``torch.autocast`` applies to the forward pass. A model in ``eval`` mode is estimated
    in this mode. Attributes of modules are restored; no tensor changes. Hooks of parameters and
    hooks of the optimizer that an instance has registered are not part of the estimate.

    Args:
        model: A module, or a function that reads modules by name and returns the loss. Its tensors
            may be real, on the device ``meta``, or fake.
        inputs: Its arguments as a tuple or list, its keyword arguments as a dictionary, or one
            tensor. Tensors may be real, on ``meta``, or fake.
        optimizer: An optimizer (with its states), its class, or a function that makes one from the
            list of trainable parameters. ``None``: no optimizer.
        loss: Makes the loss from the model's output. By default it is the output's attribute or
            entry ``loss``, its first entry if it is a tuple, or the output itself; of several
            elements the sum.
        accumulate: True if gradients of earlier backward passes are there, to which the step adds.
        device: The device of the step. By default the device of the parameters; for parameters on
            ``meta`` the GPU if there is one, else the processor.

    Raises:
        InvalidArgument, InvalidType: for invalid arguments, and for a model without a loss.
        RematError: an operator needs the values of tensors or has no fake form, or a tensor is a
            subclass (sharded, quantized), sparse, or has no size yet. The message names it.
    """
    function = _plain(model)
    args, kwargs = _arguments(inputs)
    modules = owners(function)
    tensors = _tensors(modules, (args, kwargs))
    target = _device(tensors, device)
    fake = next((x for x in tensors if isinstance(x, _compat.FakeTensor)), None)
    mode: Any = (
        _compat_eager.FakeTensorMode(allow_non_fake_inputs=True) if fake is None else fake.fake_mode  # type: ignore[attr-defined]
    )
    forced = device is not None or any(x.device.type == "meta" for x in tensors)
    stand_ins = StandIns(mode, target if forced else None)
    step = Eager(function, modules, stand_ins, target)
    step.run(args, kwargs, optimizer, loss, accumulate)
    return Estimate(step.line, target)


def fits(
    model: Callable[..., Any],
    inputs: Any,
    budget: int | str | torch.device,
    optimizer: Any = None,
    **options: Any,
) -> Fit:
    """Tells if a training step fits into an amount of memory, without running it.

    Args:
        model, inputs, optimizer, options: as for :func:`estimate`.
        budget: As for :meth:`Estimate.fits`.

    Returns:
        An object that is true if the eager step fits; its text says by how much.

    Raises:
        InvalidBudget: the budget cannot be read.
        RematError: as for :func:`estimate`.
    """
    bytes_of(budget)
    return estimate(model, inputs, optimizer, **options).fits(budget)


def _plain(model: Any) -> Callable[..., Any]:
    if isinstance(model, Step):
        model = model.function
    model = _compat_eager.uncompiled(model)
    if not callable(model):
        raise InvalidType(
            f"model: {model!r:.80} is no module and no function",
            remedy="give a torch.nn.Module, or a function that returns the loss",
        )
    if isinstance(model, torch.nn.parallel.DistributedDataParallel):
        raise InvalidArgument(
            "model: DistributedDataParallel adds buckets of gradients that an estimate does not "
            "count",
            remedy="give the module inside: model.module",
        )
    return model


def _arguments(inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(inputs, Mapping):
        return (), dict(inputs)
    if isinstance(inputs, torch.Tensor):
        return (inputs,), {}
    if isinstance(inputs, Sequence) and not isinstance(inputs, (str, bytes)):
        return tuple(inputs), {}
    raise InvalidType(
        f"inputs: {type(inputs).__name__} is no set of arguments",
        remedy="give a tuple, or a dictionary of keyword arguments",
    )


def _tensors(modules: Mapping[str, torch.nn.Module], inputs: Any) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []
    for owner in modules.values():
        found += [*owner.parameters(), *owner.buffers()]
    return found + [x for x in tree_leaves(inputs) if isinstance(x, torch.Tensor)]


def _device(tensors: list[torch.Tensor], asked: str | torch.device | None) -> torch.device:
    """The device whose memory counts."""
    if asked is not None:
        try:
            return torch.device(asked)
        except (RuntimeError, TypeError) as error:
            raise InvalidArgument(
                f"device: {asked!r} is no device", remedy='give "cuda" or "cpu"'
            ) from error
    devices = dict.fromkeys(x.device for x in tensors if x.device.type not in ("cpu", "meta"))
    if len(devices) > 1:
        raise RematError(
            f"model: its tensors are on {', '.join(map(str, devices))}, and an estimate counts one "
            "device",
            remedy="estimate the part of each device",
        )
    if devices:
        return next(iter(devices))
    if any(x.device.type == "meta" for x in tensors) and torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("cpu")
