"""A module for code that was written for gurobipy."""

from .._native import Constr, LinExpr, QuadExpr, TempConstr, Var, quicksum
from .errors import GurobiError

__all__ = ["Constr", "GurobiError", "LinExpr", "QuadExpr", "TempConstr", "Var", "quicksum"]
