"""Irreducible infeasible subsystems: constraints and bounds that no point satisfies together."""

from __future__ import annotations

from typing import Any

from .constants import GRB
from .errors import GurobiError


def compute(model: Any) -> None:
    """Finds an irreducible infeasible subsystem, and sets the attributes of its members.

    Raises:
        GurobiError: the model has a point.
    """
    limit = model._values["TimeLimit"]
    found = model._program.find_iis(time_limit=None if limit >= 1e20 else limit)
    if found is None:
        raise GurobiError(
            GRB.Error.IIS_NOT_INFEASIBLE, "computeIIS: the model has a feasible point"
        )
    model._set_iis(found.rows, found.lower, found.upper)
    for special in model.__dict__.get("_specials", []):
        special.IISGenConstr = int(special._handle in found.specials)
    model._iis_is_minimal = found.minimal


def write(model: Any, path: str) -> None:
    """Writes the rows and bounds of the subsystem as an LP file.

    Raises:
        GurobiError: no subsystem was computed.
    """
    if model._iis_is_minimal is None:
        raise GurobiError(GRB.Error.DATA_NOT_AVAILABLE, "call computeIIS first")
    part = model.copy()
    part._program.name = (model._program.name or "model") + "_copy"
    part.setObjective(0)
    rows, variables = model.getConstrs(), model.getVars()
    part.remove([twin for row, twin in zip(rows, part.getConstrs()) if not row.IISConstr])
    used = set()
    for constr in part.getConstrs():
        row = part.getRow(constr)
        used |= {row.getVar(k)._handle for k in range(row.size())}
    unused = []
    for var, twin in zip(variables, part.getVars()):
        if not var.IISLB:
            twin.LB = -GRB.INFINITY
        if not var.IISUB:
            twin.UB = GRB.INFINITY
        if twin._handle not in used and not (var.IISLB or var.IISUB):
            unused.append(twin)
    part.remove(unused)
    part._program.write(path)
