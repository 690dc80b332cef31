"""Engines that run functions elsewhere, in the one shape that all of them have:
``submit(function, *args)``, and on its result ``done()`` and ``result()``."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any, Protocol, Union, runtime_checkable

from .errors import InvalidType


class Submitted(Protocol):
    """The result of a submission."""

    def done(self) -> bool: ...
    def result(self) -> Any: ...


@runtime_checkable
class Executor(Protocol):
    """An engine: an executor of ``concurrent.futures``, loky, executorlib or submitit, or a
    ``dask.distributed.Client``."""

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Any: ...


Engine = Union[Executor, Callable[[], Executor]]


class Pool:
    """An engine, made anew when it breaks if its maker is known."""

    def __init__(self, engine: Engine | None) -> None:
        self._make: Callable[[], Executor] | None = None
        self._owned: ThreadPoolExecutor | None = None
        if engine is None:
            engine = self._owned = ThreadPoolExecutor(_cores())
        # The class of an engine has `submit` as well, and makes one.
        if isinstance(engine, Executor) and not isinstance(engine, type):
            self.engine: Executor = engine
        elif callable(engine):
            self._make = engine
            self.engine = engine()
        else:
            kind = type(engine).__name__
            raise InvalidType(
                f"executor: an object of type {kind} without submit(function, *args)",
                place="executor",
                remedy="give an executor, a dask Client, or a function that makes one",
            )

    @property
    def workers(self) -> int | None:
        """The number of workers, if the engine says it."""
        for name in ("_max_workers", "max_workers"):
            number = getattr(self.engine, name, None)
            if isinstance(number, int) and number > 0:
                return number
        return None

    def submit(self, function: Callable[..., Any], *args: Any) -> Any:
        """Submits a call; a broken engine is made anew, once."""
        try:
            return self._submit(function, *args)
        except Exception:
            if self._make is None:
                raise
            self.engine = self._make()
            return self._submit(function, *args)

    def close(self) -> None:
        """Ends the engine that this object started by itself."""
        if self._owned is not None:
            self._owned.shutdown(wait=True, cancel_futures=True)

    def _submit(self, function: Callable[..., Any], *args: Any) -> Any:
        # Dask takes equal calls for one call, whose result or failure it remembers.
        if type(self.engine).__module__.startswith("distributed."):
            submit: Any = self.engine.submit
            return submit(function, *args, pure=False)
        return self.engine.submit(function, *args)


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


class _RayExecutor:
    """Ray with the shape of other engines."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._ray = import_module("ray")
        self._options = {"max_retries": 0, **options}

    def submit(self, function: Callable[..., Any], /, *args: Any) -> Submitted:
        remote = self._ray.remote(function).options(**self._options)
        return _RayCall(self._ray, remote.remote(*args))


class _RayCall:
    def __init__(self, ray: Any, reference: Any) -> None:
        self._ray, self._reference = ray, reference

    def done(self) -> bool:
        return bool(self._ray.wait([self._reference], timeout=0)[0])

    def result(self) -> Any:
        return self._ray.get(self._reference)


def ray_executor(**options: Any) -> Executor:
    """Ray as an engine for :func:`sweep`. It uses the Ray of this process, which ``ray.init``
    connects to a cluster.

    Args:
        options: Options of Ray's tasks, such as ``num_cpus=1`` or ``resources={...}``.

    Raises:
        ImportError: Ray is not installed.
    """
    return _RayExecutor(options)
