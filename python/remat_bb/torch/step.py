"""Compiled functions and modules, which are called like the originals."""

from __future__ import annotations

import functools
import itertools
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch

from ..errors import RematError
from . import _compat, remedies
from .planner import Planned, Planner
from .report import Report
from .updates import check_processes
from .wrapped import Wrapped

Make = Callable[[Planner], Callable[..., Any]]
"""A function that makes the backend of a planner."""

_NUMBERS = itertools.count(1)


class Step:
    """A compiled function, made by :func:`compile`. It is called like the original.

    The step of a module is a module of the same class, :class:`ModuleStep`.

    Attributes:
        function: The original.
    """

    __slots__ = (
        "function",
        "_planner",
        "_make",
        "_compiled",
        "_wrapped",
        "__dict__",
        "__weakref__",
    )

    function: Callable[..., Any]
    _planner: Planner
    _make: Make
    _compiled: Callable[..., Any]
    _wrapped: Wrapped | None

    def __init__(self, function: Callable[..., Any], planner: Planner, make: Make) -> None:
        functools.update_wrapper(self, function, updated=())
        self._compile(function, planner, make)

    def _compile(self, function: Callable[..., Any], planner: Planner, make: Make) -> None:
        compiled = torch.compile(entry(function), backend=make(planner), fullgraph=True)
        own = {"function": function, "_planner": planner, "_make": make, "_compiled": compiled}
        own["_wrapped"] = None
        for name, value in own.items():
            # Modules have their own way of setting attributes.
            object.__setattr__(self, name, value)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        wrapped = self._within(arguments)
        with plain_errors(), _compat.logs_skipped(), wrapped.active() as finished:
            return finished(self._compiled(*arguments, **options))

    def _within(self, arguments: tuple[Any, ...]) -> Wrapped:
        """The data parallel modules of the step, found at its first call."""
        if self._wrapped is None:
            found = Wrapped.of(self.function, arguments)
            check_processes(self._planner.settings, found)
            object.__setattr__(self, "_wrapped", found)
            self._planner.wrapper_bytes = found.bucket_bytes
            if found.needs_one_plan:
                self._planner.settings = replace(self._planner.settings, agree=True)
        assert self._wrapped is not None
        return self._wrapped

    def __reduce_ex__(self, protocol: Any) -> Any:
        # Compiled code is not pickled: a copy compiles at its first call.
        return step_of, (self.function, self._planner.fresh(), self._make)

    def __deepcopy__(self, memo: Any) -> Step:
        from copy import deepcopy

        return step_of(deepcopy(self.function, memo), self._planner.fresh(), self._make)

    @property
    def reports(self) -> list[Report]:
        """Reports of all compilations: one for each set of shapes."""
        return self._planner.reports

    @property
    def report(self) -> Report:
        """Report of the latest compilation.

        Raises:
            RematError: the step was not called yet, or only without gradients.
        """
        if not self.reports:
            raise RematError(
                "report: nothing was compiled for training yet", remedy="call the step once"
            )
        return self.reports[-1]


class ModuleStep(Step):
    """The step of a module: a module of the same class that shares all state with the original.

    Parameters, buffers, children, modes and methods are shared with the original, under the same
    names. Calls, and calls of ``forward``, run the step. Hooks of the module are part of it.
    """

    __slots__ = ()

    def __init__(self, function: torch.nn.Module, planner: Planner, make: Make) -> None:
        object.__setattr__(self, "__dict__", vars(function))
        self._compile(function, planner, make)

    @property
    def forward(self) -> Callable[..., Any]:
        """The step, with the signature of the module's ``forward``."""
        original: Callable[..., Any] = self.function.forward  # type: ignore[attr-defined]

        @functools.wraps(original)
        def forward(*arguments: Any, **options: Any) -> Any:
            return self(*arguments, **options)

        return forward


def step_of(function: Callable[..., Any], planner: Planner, make: Make) -> Step:
    """The step of a function or module."""
    if isinstance(function, Step):
        function = function.function
    if not isinstance(function, torch.nn.Module):
        return Step(function, planner, make)
    # Classes of ``fully_shard`` make objects of other classes when they are called.
    kind: Any = type(function)
    made: Any = object.__new__(_class_of(kind))
    made.__init__(function, planner, make)
    return made  # type: ignore[no-any-return]


@functools.cache
def _class_of(original: type) -> type:
    """The class of steps of modules of a class."""
    names = {"__slots__": (), "__module__": original.__module__, "__doc__": original.__doc__}
    made = types.new_class(
        original.__name__, (ModuleStep, original), {}, lambda body: body.update(names)
    )
    made.__qualname__ = original.__qualname__
    return made


def entry(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function with its own code that calls another one. Dynamo caches compilations by code, so
    steps of one class do not share a cache, and the cache ends with the step."""

    def step(*arguments: Any, **options: Any) -> Any:
        return function(*arguments, **options)

    name = f"step_{next(_NUMBERS)}"
    step.__code__ = step.__code__.replace(co_name=name)
    step.__name__ = name
    return step


@contextmanager
def plain_errors() -> Iterator[None]:
    """Raises errors of this package without torch's wrapper, and explains graph breaks."""
    try:
        yield
    except _compat.BackendCompilerFailed as error:
        inner = getattr(error, "inner_exception", None)
        if isinstance(inner, (RematError, Planned)):
            raise inner from None
        raise
    except _compat.Unsupported as error:
        raise RematError(
            f"the step breaks into several graphs, and a budget holds for one: {error}",
            remedy=remedies.of_break(str(error)),
        ) from error
