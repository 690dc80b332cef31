"""Products of variables: in the objective, and in constraints."""

from __future__ import annotations

from typing import Any

from .._native import LinExpr, QuadExpr
from .errors import GurobiError
from .general import QConstr
from .nonlinear import NLExpr


def set_objective(model: Any, expr: Any) -> None:
    """Sets the objective: a number, linear, or with products of variables."""
    if isinstance(expr, NLExpr):
        try:
            expr = expr._plain()
        except GurobiError as error:
            raise GurobiError(
                error.errno, f"Objective must be linear or quadratic: {error}"
            ) from None
    if hasattr(expr, "item") and hasattr(expr, "ndim"):
        expr = expr.item()
    products = expr if isinstance(expr, QuadExpr) and expr.size() else None
    if isinstance(expr, LinExpr) and expr._has_products:
        products = QuadExpr(expr)
    model._set_objective(products.getLinExpr() if products is not None else expr)
    model._set_products(products)


def left_side(constr: QConstr) -> Any:
    """Terms of a constraint with products."""
    terms = constr._expr.copy()
    terms.addConstant(constr.QCRHS)
    return terms


def objective(model: Any) -> Any:
    """The objective as a linear expression, or as a quadratic one if it has products."""
    products = model._products()
    return model._objective() if products is None else products


def add_constraint(model: Any, difference: QuadExpr, sense: str, name: str) -> QConstr:
    """Adds a constraint that relates an expression with products to 0.

    Raises:
        GurobiError: for a product of two unbounded variables, which has no exact form.
    """
    handle = model._add_product_row(difference, sense, name)
    constr = QConstr(model, handle, name, difference, sense)
    model._quadratic.append(constr)
    return constr
