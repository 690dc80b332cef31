"""remat-bb for code that was written for gurobipy: ``import remat_bb.gurobi as gp``.

Models are solved by remat-bb; nothing of Gurobi is used, and no licence is needed. Names and
meanings are those of gurobipy's public interface as far as linear and mixed-integer programs go;
what is beyond them raises :class:`GurobiError` and names it. The guide is
``docs/guides/drop-in/gurobipy.md`` of the project, :func:`ignored` lists parameters that
were set and have no effect.
"""

# Code that imports everything counts on the modules that gurobipy's star import lets through.
import sys
from typing import Any

from .._native import Constr, LinExpr, QuadExpr, TempConstr, Var, quicksum
from . import information as gurobi
from . import left_out, nlfunc
from .constants import GRB
from .containers import multidict, tupledict, tuplelist
from .env import Env, disposeDefaultEnv, setParam
from .errors import GurobiError
from .files import read_model
from .general import SOS, GenConstr, QConstr, abs_, and_, max_, min_, norm, or_
from .matrix import (
    MConstr,
    MLinExpr,
    MQuadExpr,
    MVar,
    concatenate,
    hstack,
    vstack,
)
from .model import Column, Model
from .nonlinear import NLExpr
from .params import ignored


def read(filename: str, env: Env | None = None) -> Model:
    """A model of an MPS or LP file.

    Raises:
        GurobiError: names file, line and what would be right.
    """
    model: Model = read_model(Model, filename, env)
    return model


def writeParams(filename: str) -> None:  # noqa: N802
    """Writes the parameters of :func:`setParam` that differ from their defaults."""
    from .env import default_values

    with open(filename, "w") as file:
        file.writelines(f"{name} {value}\n" for name, value in default_values)


def resetParams() -> None:  # noqa: N802
    """Sets the parameters of :func:`setParam` to their defaults."""
    disposeDefaultEnv()


def __getattr__(name: str) -> Any:
    if name in left_out.MODULE:
        raise left_out.refused(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__version__ = "12.0.0"

__all__ = [
    "GRB",
    "SOS",
    "Column",
    "Constr",
    "Env",
    "GenConstr",
    "GurobiError",
    "LinExpr",
    "MConstr",
    "MLinExpr",
    "MQuadExpr",
    "MVar",
    "Model",
    "NLExpr",
    "QConstr",
    "QuadExpr",
    "TempConstr",
    "Var",
    "abs_",
    "and_",
    "concatenate",
    "disposeDefaultEnv",
    "gurobi",
    "hstack",
    "ignored",
    "max_",
    "min_",
    "multidict",
    "nlfunc",
    "norm",
    "or_",
    "quicksum",
    "read",
    "resetParams",
    "setParam",
    "sys",
    "tupledict",
    "tuplelist",
    "vstack",
    "writeParams",
]
