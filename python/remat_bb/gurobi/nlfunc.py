"""Nonlinear functions of gurobipy: refused by name."""

from __future__ import annotations

from typing import Any

from .constants import GRB
from .errors import GurobiError


def _refused(name: str) -> Any:
    def function(*_: Any) -> Any:
        raise GurobiError(
            GRB.Error.NOT_SUPPORTED, f"nlfunc.{name}: nonlinear functions are not known"
        )

    function.__doc__ = "Refused: nonlinear functions are not known."
    return function


exp = _refused("exp")
log = _refused("log")
log2 = _refused("log2")
log10 = _refused("log10")
logistic = _refused("logistic")
sin = _refused("sin")
cos = _refused("cos")
tan = _refused("tan")
sqrt = _refused("sqrt")
square = _refused("square")
