"""Expressions as text."""

from __future__ import annotations

from typing import Any


def _scaled(factor: float, words: str) -> str:
    return words if factor == 1 else f"{factor} {words}"


def linear(terms: list[tuple[float, Any]], constant: float) -> str:
    """A linear expression as ``1.0 + 2.0 x + y``."""
    parts = [] if constant == 0 and terms else [f"{constant}"]
    parts += [_scaled(factor, var.VarName) for factor, var in terms]
    return " + ".join(parts)


def quadratic(expr: Any) -> str:
    """A quadratic expression as ``x + [ x ^ 2 + 2.0 x * y ]``."""
    parts = []
    for k in range(expr.size()):
        one, two = expr.getVar1(k).VarName, expr.getVar2(k).VarName
        product = f"{one} ^ 2" if one == two else f"{one} * {two}"
        parts.append(_scaled(expr.getCoeff(k), product))
    return f"{expr.getLinExpr()} + [ {' + '.join(parts)} ]" if parts else f"{expr.getLinExpr()}"


def nonlinear(name: str, arguments: tuple[Any, ...]) -> str:
    """A nonlinear expression as ``log(1.0 / x)``."""
    words = []
    for argument in arguments:
        inner = name in ("*", "/", "**") and hasattr(argument, "size") and argument.size() > 1
        word = getattr(argument, "VarName", None) or str(argument)
        words.append(f"({word})" if inner else str(float(argument)) if _number(argument) else word)
    return f" {name} ".join(words) if len(words) == 2 else f"{name}({', '.join(words)})"


def _number(argument: Any) -> bool:
    return isinstance(argument, (int, float))
