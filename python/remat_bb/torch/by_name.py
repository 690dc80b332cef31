"""The backend that ``torch.compile(model, backend="remat_bb", options={"budget": "6GiB"})`` finds.

The entry point group ``torch_dynamo_backends`` of the package names :func:`remat_bb`. Torch imports
this module when a program asks for the backend.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from typing import Any

from ..errors import InvalidArgument
from .backend import _backend, _planner
from .backend import backend as _documented
from .planner import Settings
from .region import Region

OPTIONS = tuple(inspect.signature(_documented).parameters)
"""Names of the options: the arguments of :func:`remat_bb.torch.backend`."""

_MADE: dict[tuple[Any, ...], tuple[Callable[..., Any], dict[str, Any]]] = {}
"""Backends by their options. The options are kept, so that the identity of an object among them
stays its own."""


_REGION = Region()
"""Calls of all functions that are compiled for the name."""


def remat_bb(
    module: Any, inputs: Any, *, options: dict[str, Any] | None = None, **others: Any
) -> Any:
    """Compiles a graph of Dynamo such that its training step keeps a budget.

    Args:
        module, inputs: The graph and its inputs.
        options: The arguments of :func:`remat_bb.torch.backend`, ``budget`` among them.
        others: Other arguments of ``torch.compile``. A mode is refused.

    Raises (Dynamo wraps the error and shows its text):
        InvalidArgument: the budget is missing, an option is unknown, or there is a mode.
        RematError: as for :func:`remat_bb.torch.backend`.
    """
    if (mode := others.get("mode")) is not None:
        raise InvalidArgument(
            f"mode: {mode!r} is a mode of Inductor, and the backend remat_bb has none",
            remedy='leave it out; options={"budget": "6GiB", "inner": "inductor"} compiles the '
            "plan's graphs with Inductor",
        )
    return _of(options or {})(module, inputs)


remat_bb.remat_bb_region = _REGION  # type: ignore[attr-defined]


def _of(options: dict[str, Any]) -> Callable[..., Any]:
    """The backend of some options. Equal options share one."""
    for name in options:
        if name not in OPTIONS:
            near = difflib.get_close_matches(str(name), OPTIONS, n=1)
            raise InvalidArgument(
                f"options: {name!r} is no option of the backend remat_bb",
                remedy=(f"did you mean {near[0]!r}? " if near else "")
                + f"The options are {', '.join(OPTIONS)}",
            )
    if "budget" not in options:
        raise InvalidArgument(
            "options: the budget is missing",
            remedy='torch.compile(model, backend="remat_bb", options={"budget": "6GiB"}), with '
            'bytes, an amount, a share such as "80%", or "device"',
        )
    key = tuple(sorted((name, _identity(value)) for name, value in options.items()))
    if key not in _MADE:
        rest = dict(options)
        inner, strict = rest.pop("inner", "eager"), rest.pop("strict", False)
        planner = _planner(Settings(**rest), inner)
        _MADE[key] = _backend(planner, inner, strict, _REGION), dict(options)
    return _MADE[key][0]


def _identity(value: Any) -> str:
    plain = isinstance(value, (str, int, float, bool, type(None)))
    return repr(value) if plain else f"{type(value).__name__} {id(value)}"
