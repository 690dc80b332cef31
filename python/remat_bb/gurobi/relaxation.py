"""Relaxations with least violation of bounds and constraints (``feasRelax``)."""

from __future__ import annotations

from typing import Any, TypeGuard

from .._native import LinExpr
from .constants import GRB
from .errors import GurobiError

INF = float("inf")


def relax(
    model: Any,
    kind: int,
    minimal: bool,
    bounds: list[tuple[Any, float | None, float | None]],
    rows: list[tuple[Any, float | None]],
) -> float:
    """Relaxes bounds and constraints of a model at a price.

    Args:
        model: The model, which is changed: it gets variables for violations, and their price as
            objective.
        kind: The price of a violation: 0 for its size, 2 for a fixed price of each violated bound
            or constraint. 1, the square, is refused.
        minimal: True solves for the least price, holds it by a constraint and keeps the model's
            objective.
        bounds: Variables, each with the prices of its lower and upper bound; ``None`` for a hard
            bound.
        rows: Constraints with their prices.

    Returns:
        The least price if ``minimal``; -1 if no relaxation is feasible; else 0.

    Raises:
        GurobiError: for squares and unknown kinds.
    """
    if kind == 1:
        raise GurobiError(
            GRB.Error.NOT_SUPPORTED,
            "feasRelax: relaxobjtype 1 (squares) is not supported by remat-bb; use 0 or 2",
        )
    if kind not in (0, 2):
        raise GurobiError(GRB.Error.INVALID_ARGUMENT, f"feasRelax: relaxobjtype {kind} is not 0..2")
    before = model.getObjective(), model.ModelSense
    price: Any = LinExpr()

    def violation(weight: float, name: str) -> Any:
        nonlocal price
        size = model.addVar(name=name)
        if kind == 0:
            price += weight * size
        else:
            happens = model.addVar(vtype=GRB.BINARY, name=f"{name}On")
            model.addGenConstrIndicator(happens, False, size <= 0)
            price += weight * happens
        return size

    def priced(weight: float | None) -> TypeGuard[float]:
        return weight is not None and weight < GRB.INFINITY

    for constr, weight in rows:
        if not priced(weight):
            continue
        name, sense, side = constr.ConstrName, constr.Sense, constr.RHS
        expr = model.getRow(constr)
        if sense in "<=":
            expr = expr - violation(weight, f"ArtN_{name}")
        if sense in ">=":
            expr = expr + violation(weight, f"ArtP_{name}")
        model.remove(constr)
        model.addLConstr(expr, sense, side, name)
    for var, lower, upper in bounds:
        if priced(lower) and var.LB > -GRB.INFINITY:
            low = var.LB
            model.addLConstr(var + violation(lower, f"ArtL_{var.VarName}") >= low)
            var.LB = -INF
        if priced(upper) and var.UB < GRB.INFINITY:
            high = var.UB
            model.addLConstr(var - violation(upper, f"ArtU_{var.VarName}") <= high)
            var.UB = INF
    model.setObjective(price, GRB.MINIMIZE)
    if not minimal:
        return 0.0
    model.optimize()
    if not model.SolCount:
        model.setObjective(before[0], before[1])
        return -1.0
    least = float(model.ObjVal)
    model.addLConstr(price <= least + 1e-6 * max(1.0, abs(least)), name="feasRelax")
    model.setObjective(before[0], before[1])
    return least
