"""Unsupported names of gurobipy: each raises an error.

``docs/guides/drop-in/gurobipy.md`` lists them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .constants import GRB
from .errors import AttributeUnavailable, GurobiError

MODULE = """
    Batch GenExpr MGenConstr MNLExpr MQConstr help models paramHelp readParams system
""".split()
MODEL_METHODS = """
    addGenConstrCos addGenConstrExp addGenConstrExpA addGenConstrLog addGenConstrLogA
    addGenConstrLogistic addGenConstrPoly addGenConstrPow addGenConstrSin addGenConstrTan
    addMQConstr cbProceed discardConcurrentEnvs discardMultiobjEnvs getConcurrentEnv
    getGenConstrCos getGenConstrExp getGenConstrExpA getGenConstrLog getGenConstrLogA
    getGenConstrLogistic getGenConstrNL getGenConstrPoly getGenConstrPow getGenConstrSin
    getGenConstrTan getMultiobjEnv getQCMatrices getTuneResult optimizeAsync optimizeBatch
    singleScenarioModel sync tune
""".split()
ENV_METHODS = ["message", "readParams"]
MODEL_ATTRIBUTES = """
    BoundSVio BoundSVioIndex BoundSVioSum BoundVioIndex BoundVioSum ComplVio ComplVioIndex
    ComplVioSum ConcurrentWinMethod ConstrResidual ConstrResidualIndex ConstrResidualSum
    ConstrSResidual ConstrSResidualIndex ConstrSResidualSum ConstrSVio ConstrSVioIndex ConstrSVioSum
    ConstrVioIndex ConstrVioSum DualResidual DualResidualIndex DualResidualSum DualSResidual
    DualSResidualIndex DualSResidualSum DualSVio DualSVioIndex DualSVioSum DualVio DualVioIndex
    DualVioSum IntVioIndex IntVioSum JobID Kappa KappaExact LicenseExpiration MaxBound MaxCoeff
    MaxObjCoeff MaxQCCoeff MaxQCLCoeff MaxQCRHS MaxQObjCoeff MaxRHS MinBound MinCoeff MinObjCoeff
    MinQCCoeff MinQCLCoeff MinQCRHS MinQObjCoeff MinRHS NumQCNZs NumScenarios ScenNName
    ScenNObjBound ScenNObjVal Server TuneResultCount
""".split()
# The native class refuses these names.
VAR_ATTRIBUTES = ["BarX", "ObjN", "PWLObjCvx", "ScenNLB", "ScenNObj", "ScenNUB"]
CONSTR_ATTRIBUTES = ["ScenNRHS"]
QCONSTR_ATTRIBUTES = ["IISQConstr", "IISQConstrForce", "QCPi", "QCSlack", "QCTag"]
SOS_ATTRIBUTES = ["IISSOS", "IISSOSForce"]
GENCONSTR_ATTRIBUTES = """
    FuncNonlinear FuncPieceError FuncPieceLength FuncPieceRatio FuncPieces IISGenConstrForce
""".split()


def refused(name: str) -> AttributeUnavailable:
    """The error for an unsupported name."""
    return AttributeUnavailable(GRB.Error.NOT_SUPPORTED, f"{name} is not supported by remat-bb")


def is_among(name: str, names: list[str]) -> bool:
    """True if a name is one of several, in any case of letters."""
    return name.lower() in (one.lower() for one in names)


def method(name: str) -> Callable[..., Any]:
    """A method that raises the error for its name."""

    def call(self: Any, *_: Any, **__: Any) -> Any:
        raise GurobiError(GRB.Error.NOT_SUPPORTED, f"{name} is not supported by remat-bb")

    call.__doc__ = "Refused: not supported by remat-bb."
    return call


def refuse(kind: type, names: list[str]) -> None:
    """Adds refused methods to a class."""
    for name in names:
        setattr(kind, name, method(name))
