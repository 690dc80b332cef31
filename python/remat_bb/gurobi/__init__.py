"""remat-bb for code that was written for gurobipy: ``import remat_bb.gurobi as gp``.

remat-bb solves the models, without any part of Gurobi and without a licence. For linear and
mixed-integer programs, names and meanings follow gurobipy's public interface. Other features raise
a :class:`GurobiError` that names them. The guide is ``docs/guides/drop-in/gurobipy.md`` of the
project. :func:`ignored` lists parameters that were set and have no effect.
"""

# Code with a star import relies on the modules that gurobipy's star import exports.
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
    """Reads a model from an MPS or LP file.

    Raises:
        GurobiError: the file cannot be read; the message names file, line and remedy.
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
