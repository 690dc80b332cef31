"""Violations of the best point, and the strength of a proof of infeasibility."""

from __future__ import annotations

from typing import Any

from .constants import GRB
from .errors import AttributeUnavailable


def _excess(value: float, lower: float, upper: float) -> float:
    return max(0.0, lower - value, value - upper)


def bound_violation(model: Any) -> float:
    """Largest violation of a bound; a semi-continuous variable may be 0 as well."""
    return max(
        (
            0.0 if v.VType in "SN" and v.X == 0 else _excess(v.X, v.LB, v.UB)
            for v in model.getVars()
        ),
        default=0.0,
    )


def row_violation(model: Any) -> float:
    """Largest violation of a linear constraint."""
    return max((violation_of(c) for c in model.getConstrs()), default=0.0)


def integer_violation(model: Any) -> float:
    """Largest distance of an integer variable from an integer."""
    return max((abs(v.X - round(v.X)) for v in model.getVars() if v.VType in "BIN"), default=0.0)


def violation_of(constr: Any) -> float:
    """Violation of a linear constraint at the best point."""
    slack: float = constr.Slack
    if constr.Sense == "=":
        return abs(slack)
    return max(0.0, -slack if constr.Sense == "<" else slack)


def of_point(measure: Any) -> Any:
    """An attribute that needs a point: a function of the model."""

    def get(model: Any) -> float:
        if not model._points():
            raise AttributeUnavailable(
                GRB.Error.DATA_NOT_AVAILABLE, "Unable to retrieve attribute: there is no solution"
            )
        return float(measure(model))

    return get


def farkas_proof(model: Any) -> float:
    """The violation proven by the combination of constraints (``FarkasDual``): the least value of
    its left side within the bounds, minus its right side."""
    gap = 0.0
    left: dict[int, float] = {}
    for constr in model.getConstrs():
        factor = constr.FarkasDual
        if factor:
            gap -= factor * constr.RHS
            row = model.getRow(constr)
            for k in range(row.size()):
                col = row.getVar(k)._handle
                left[col] = left.get(col, 0.0) + factor * row.getCoeff(k)
    for var in model.getVars():
        value = left.get(var._handle, 0.0)
        side = var.LB if value > 0 else var.UB
        # Rounding can leave a small nonzero value at an infinite bound.
        if value and abs(side) < GRB.INFINITY:
            gap += value * side
    return gap
