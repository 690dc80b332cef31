"""Plans within training stacks: a model whose step is planned in place.

Trainers call the model themselves. :func:`attach` puts the planned step where they call it, so that
the trainer, its options and the model's class stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..errors import InvalidArgument
from .backend import compile as compiled
from .logged import LateLogs
from .outputs import detached_beside_loss, guarded
from .planner import Report
from .step import Step

CALL = "forward"
"""The method that a call of a module runs."""
LIGHTNING = "training_step"
"""The method of Lightning's modules that returns the loss."""
PLACE = "_compiled_call_impl"
"""The attribute of a module that its calls run instead of ``_call_impl``. ``Module.compile`` sets
it as well; pickles leave it out."""


class Attached:
    """The planned step of a module's method, in the place of the method.

    Calls without gradients, such as evaluation and generation, run the original method.

    Attributes:
        model: The module.
        method: The name of the method.
        step: The planned step.
    """

    model: torch.nn.Module
    method: str
    step: Step

    def __init__(self, model: torch.nn.Module, method: str, options: dict[str, Any]) -> None:
        self.model, self.method, self._options = model, method, options
        # A call of the module includes its hooks.
        self._original: Callable[..., Any] = (
            model._call_impl if method == CALL else getattr(model, method)
        )
        # Trainers look for the original's signature.
        self.__wrapped__ = self._original
        self.__name__ = method
        original = self._original

        def traced(*arguments: Any, **named: Any) -> Any:
            return detached_beside_loss(original(*arguments, **named))

        self.step = compiled(traced, **options)
        self._logs = LateLogs(model) if _is_lightning(model) else None

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        if not torch.is_grad_enabled():
            return self._original(*arguments, **named)
        if self._logs is None:
            return guarded(*self.step(*arguments, **named))
        with self._logs.late():
            return guarded(*self.step(*arguments, **named))

    def __deepcopy__(self, memo: dict[int, Any]) -> Attached:
        # The copy of a module has a step of its own.
        from copy import deepcopy

        model = memo.get(id(self.model)) or deepcopy(self.model, memo)
        return Attached(model, self.method, self._options)

    def __reduce__(self) -> Any:
        return Attached, (self.model, self.method, self._options)

    @property
    def reports(self) -> list[Report]:
        """Reports of all compilations: one for each set of shapes."""
        return self.step.reports

    @property
    def report(self) -> Report:
        """Report of the latest compilation.

        Raises:
            RematError: the model was not trained yet.
        """
        return self.step.report

    @property
    def _key(self) -> str:
        return PLACE if self.method == CALL else self.method

    def remove(self) -> None:
        """Gives the model its own method back."""
        if self.model.__dict__.get(self._key) is self:
            del self.model.__dict__[self._key]


def attach(
    model: torch.nn.Module, *, budget: int | str, method: str | None = None, **options: Any
) -> Attached:
    """Plans the training step of a model in place, for trainers that call the model themselves.

    Args:
        model: A module whose call returns the loss, alone or among other outputs, such as a model
            of transformers that is called with labels; or a module of Lightning. Its class,
            parameters and methods stay.
        budget, options: As for :func:`remat_bb.torch.compile`.
        method: The method that returns the loss. ``None``: the call of the model, or
            ``training_step`` of a module of Lightning.

    Returns:
        The planned step: its ``report`` describes the latest compilation, ``remove()`` gives the
        model its own method back.

    Raises:
        InvalidArgument: the model is no module, has no such method or has a plan already.
    """
    if not isinstance(model, torch.nn.Module):
        raise InvalidArgument(
            f"model: {type(model).__name__} is no torch.nn.Module",
            remedy="compile functions with rt.compile(function, budget=...)",
        )
    chosen = method or (LIGHTNING if _is_lightning(model) else CALL)
    if not callable(getattr(model, chosen, None)):
        raise InvalidArgument(
            f"method: {type(model).__name__} has no method {chosen!r}",
            remedy="name the method that returns the loss",
        )
    key = PLACE if chosen == CALL else chosen
    if model.__dict__.get(key) is not None:
        raise InvalidArgument(
            f"model: {chosen} of this {type(model).__name__} is compiled already",
            remedy="call remove() of the earlier plan, or leave out model.compile()",
        )
    made = Attached(model, chosen, {"budget": budget, **options})
    # Modules have their own way of setting attributes.
    model.__dict__[key] = made
    return made


def _is_lightning(model: torch.nn.Module) -> bool:
    names = {f"{kind.__module__}.{kind.__name__}" for kind in type(model).__mro__}
    return any(name.endswith(".LightningModule") for name in names)
