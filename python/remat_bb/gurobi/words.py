"""Expressions as text."""

from __future__ import annotations

from typing import Any


def linear(terms: list[tuple[float, Any]], constant: float) -> str:
    """A linear expression as ``<gurobi.LinExpr: 2.0 x + y + 1.0>``."""
    parts = [] if constant == 0 and terms else [f"{constant}"]
    parts += [f"{factor} {var.VarName}" if factor != 1 else var.VarName for factor, var in terms]
    return f"<gurobi.LinExpr: {' + '.join(parts)}>"
