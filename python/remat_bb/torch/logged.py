"""Logs of a planned step: calls of ``self.log`` of a module of Lightning, made after the graph.

Lightning's log methods break the graph. Within a planned step the module has methods in their place
that note name, value and options; the original methods run right after the step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._pytree import tree_map

METHODS = ("log", "log_dict")
"""Names of the methods that are called late."""


class LateLogs:
    """Calls of a module's log methods.

    Args:
        model: A module; the methods that it lacks stay missing.
    """

    def __init__(self, model: torch.nn.Module) -> None:
        self._model = model
        self._calls: list[Any] = []
        present = [name for name in METHODS if callable(getattr(model, name, None))]
        self._noting = {name: _noting(name, self._calls) for name in present}

    @contextmanager
    def late(self) -> Iterator[None]:
        """Notes calls in the block, and makes them at its end."""
        own = self._model.__dict__
        before = {name: own[name] for name in self._noting if name in own}
        self._calls.clear()
        own.update(self._noting)
        try:
            yield
        finally:
            for name in self._noting:
                own.pop(name, None)
            own.update(before)
        for name, arguments, options in self._calls:
            getattr(self._model, name)(*arguments, **options)
        self._calls.clear()


def _noting(name: str, calls: list[Any]) -> Callable[..., None]:
    def note(*arguments: Any, **options: Any) -> None:
        calls.append((name, tree_map(_detached, arguments), tree_map(_detached, options)))

    return note


def _detached(value: Any) -> Any:
    return value.detach() if isinstance(value, torch.Tensor) else value
