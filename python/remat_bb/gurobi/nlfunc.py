"""Nonlinear functions of gurobipy. A model accepts only ``square``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .nonlinear import NLExpr


def _function(name: str) -> Callable[[Any], NLExpr]:
    def function(argument: Any) -> NLExpr:
        return NLExpr(name, argument)

    function.__doc__ = f"The nonlinear expression ``{name}(argument)``."
    function.__name__ = name
    return function


exp = _function("exp")
log = _function("log")
log2 = _function("log2")
log10 = _function("log10")
logistic = _function("logistic")
sin = _function("sin")
cos = _function("cos")
tan = _function("tan")
sqrt = _function("sqrt")
square = _function("square")
