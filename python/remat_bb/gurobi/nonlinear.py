"""Nonlinear expressions. A model accepts them only if they reduce to products of two variables."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from . import words
from .constants import GRB
from .errors import GurobiError

_EXACT: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "**": operator.pow,
    "square": lambda a: a * a,
}


class NLExpr:
    """A nonlinear expression: an operator or a function, and its arguments."""

    __array_ufunc__ = None
    __hash__ = object.__hash__

    def __init__(self, name: str, *arguments: Any) -> None:
        self._name = name
        self._arguments = arguments

    def _plain(self) -> Any:
        """The expression in linear or quadratic form.

        Raises:
            GurobiError: a function or operator has no such form; the message names it.
        """
        arguments = [a._plain() if isinstance(a, NLExpr) else a for a in self._arguments]
        exact = _EXACT.get(self._name)
        found = NLExpr(self._name) if exact is None else exact(*arguments)
        if isinstance(found, NLExpr):
            raise GurobiError(
                GRB.Error.NOT_SUPPORTED,
                f"{self._name}: nonlinear functions are not known; give points to addGenConstrPWL",
            )
        return found

    def _as_general_constraint(self, left: Any, sense: str) -> NLRelation:
        return NLRelation(left, sense, self)

    def __add__(self, other: Any) -> NLExpr:
        return _joined("+", self, other)

    def __radd__(self, other: Any) -> NLExpr:
        return _joined("+", other, self)

    def __sub__(self, other: Any) -> NLExpr:
        return _joined("-", self, other)

    def __rsub__(self, other: Any) -> NLExpr:
        return _joined("-", other, self)

    def __mul__(self, other: Any) -> NLExpr:
        return _joined("*", self, other)

    def __rmul__(self, other: Any) -> NLExpr:
        return _joined("*", other, self)

    def __truediv__(self, other: Any) -> NLExpr:
        return _joined("/", self, other)

    def __rtruediv__(self, other: Any) -> NLExpr:
        return _joined("/", other, self)

    def __pow__(self, other: Any) -> NLExpr:
        return _joined("**", self, other)

    def __rpow__(self, other: Any) -> NLExpr:
        return _joined("**", other, self)

    def __neg__(self) -> NLExpr:
        return NLExpr("*", -1.0, self)

    def __pos__(self) -> NLExpr:
        return self

    def __eq__(self, other: object) -> Any:
        return NLRelation(self, "=", other)

    def __le__(self, other: Any) -> NLRelation:
        return NLRelation(self, "<", other)

    def __ge__(self, other: Any) -> NLRelation:
        return NLRelation(self, ">", other)

    def __str__(self) -> str:
        return words.nonlinear(self._name, self._arguments)

    def __repr__(self) -> str:
        return f"<gurobi.NLExpr: {self}>"


def _quotient(side: Any) -> tuple[float, Any] | None:
    """Numerator and denominator of a number divided by a variable or sum. The number must differ
    from 0, because otherwise a denominator of 0 would satisfy the product form."""
    if not (isinstance(side, NLExpr) and side._name == "/"):
        return None
    numerator, denominator = side._arguments
    if isinstance(numerator, (int, float)) and numerator != 0:
        return float(numerator), denominator
    return None


def _joined(name: str, one: Any, two: Any) -> Any:
    """The expression of two operands; ``NotImplemented`` if one has its own operators, such as a
    pandas series."""
    if any(hasattr(side, "ndim") and side.ndim > 0 for side in (one, two)):
        return NotImplemented
    return NLExpr(name, one, two)


class NLRelation:
    """A relation of nonlinear expressions, not yet part of a model."""

    def __init__(self, left: Any, sense: str, right: Any) -> None:
        self._left, self._sense, self._right = left, sense, right

    def _as_constraint(self, model: Any, name: str) -> Any:
        """Adds the relation to a model if it has an exact form.

        Raises:
            GurobiError: a function or operator has no such form; the message names it.
        """
        if self._sense == "=" and (parts := _quotient(self._right)) is not None:
            return NLRelation(self._left * parts[1], "=", parts[0])._as_constraint(model, name)
        left, right = (
            side._plain() if isinstance(side, NLExpr) else side
            for side in (self._left, self._right)
        )
        return model.addConstr(left - right, self._sense, 0.0, name)
