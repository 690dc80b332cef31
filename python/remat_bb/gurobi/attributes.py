"""Attributes of models, in any case of letters."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from .._native import Constr, Var
from . import left_out, objectives, quality
from .constants import GRB
from .errors import AttributeUnavailable


def _unavailable(name: str) -> AttributeUnavailable:
    return AttributeUnavailable(
        GRB.Error.DATA_NOT_AVAILABLE, f"Unable to retrieve attribute '{name}'"
    )


def _answered(name: str, of: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    def get(model: Any) -> Any:
        if model._answer is None:
            raise _unavailable(name)
        value = of(model, model._answer)
        if value is None:
            raise _unavailable(name)
        return value

    return get


def _kinds(model: Any, letters: str) -> int:
    program = model._program
    return sum(program.kind(col) in letters for col in program.cols)


def _pool(model: Any, answer: Any) -> float | None:
    number = model._values["SolutionNumber"]
    values = answer.objectives
    return values[number] if number < len(values) else None


def _iis_minimal(model: Any) -> int:
    if model._iis_is_minimal is None:
        raise _unavailable("IISMinimal")
    return int(model._iis_is_minimal)


def _products_of_objective(model: Any) -> int:
    products = model._products()
    return 0 if products is None else int(products.size())


_GET: dict[str, Callable[[Any], Any]] = {
    "numvars": lambda m: m._program.num_cols,
    "numconstrs": lambda m: m._program.num_rows,
    "numnzs": lambda m: m._program.num_nonzeros,
    "dnumnzs": lambda m: float(m._program.num_nonzeros),
    "numintvars": lambda m: _kinds(m, "BIN"),
    "numbinvars": lambda m: _kinds(m, "B"),
    "numsos": lambda m: len(m.getSOSs()),
    "numqconstrs": lambda m: len(m._quadratic),
    "numqnzs": _products_of_objective,
    "numgenconstrs": lambda m: len(m.getGenConstrs()),
    "numpwlobjvars": lambda m: m._num_pieces(),
    "numobj": lambda m: len(m._objectives),
    "numstart": lambda m: len(m._starts()),
    "modelname": lambda m: m._program.name,
    "modelsense": lambda m: -1 if m._program.maximise else 1,
    "objcon": lambda m: m._program.offset,
    "ismip": lambda m: int(m._is_mip()),
    "isqp": lambda m: 0,
    "isqcp": lambda m: 0,
    "ismultiobj": lambda m: int(bool(m._objectives)),
    "fingerprint": lambda m: hash(m._program.name) & 0x7FFFFFFF,
    "status": lambda m: m._status,
    "solcount": lambda m: m._points(),
    "runtime": lambda m: m._runtime,
    "work": lambda m: 0.0 if m._answer is None else m._answer.ticks / 1e9,
    "nodecount": lambda m: 0.0 if m._answer is None else float(m._answer.nodes),
    "opennodecount": lambda m: 0.0,
    "itercount": lambda m: 0.0 if m._answer is None else float(m._answer.lp_iterations),
    "baritercount": lambda m: 0,
    "objval": _answered("ObjVal", lambda m, a: a.objective),
    "objbound": _answered("ObjBound", lambda m, a: a.bound),
    "objboundc": _answered("ObjBoundC", lambda m, a: a.bound),
    "poolobjval": _answered("PoolObjVal", _pool),
    "poolobjbound": _answered("PoolObjBound", lambda m, a: a.bound),
    "mipgap": _answered("MIPGap", lambda m, a: a.gap),
    "iisminimal": _iis_minimal,
    "objnval": objectives.value,
    "farkasproof": quality.farkas_proof,
    "boundvio": quality.of_point(quality.bound_violation),
    "constrvio": quality.of_point(quality.row_violation),
    "intvio": quality.of_point(quality.integer_violation),
    "maxvio": quality.of_point(
        lambda m: max(
            quality.bound_violation(m), quality.row_violation(m), quality.integer_violation(m)
        )
    ),
    "memused": lambda m: _memory(),
    "maxmemused": lambda m: max(_peak_memory(), _memory()),
}
_OF_VARS = """
    X Xn LB UB Obj VType VarName Start VarHintVal VarHintPri BranchPriority RC VBasis UnbdRay VTag
    SAObjLow SAObjUp SALBLow SALBUp SAUBLow SAUBUp IISLB IISUB PStart Partition PoolIgnore
""".lower().split()
_OF_CONSTRS = """
    ConstrName RHS Sense Slack Pi CBasis FarkasDual Lazy CTag DStart SARHSLow SARHSUp IISConstr
""".lower().split()
_PROTECTED = {"Params", "params"}


def _memory() -> float:
    """Current memory of the process in GB, for gurobipy's ``MemUsed``; the peak so far if the
    system does not report it."""
    try:
        with open("/proc/self/statm") as file:
            pages = int(file.read().split()[1])
    except OSError:
        return _peak_memory()
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e9


def _peak_memory() -> float:
    """Peak memory of the process so far in GB, for gurobipy's ``MaxMemUsed``."""
    import resource  # Only on POSIX.

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


class Attributes:
    """Model attributes. Attributes of variables and constraints give lists over all of them."""

    def __getattr__(self, name: str) -> Any:
        model: Any = self
        if name.lower() in _OF_VARS:
            return [var.getAttr(name) for var in model.getVars()]
        if name.lower() in _OF_CONSTRS:
            return [constr.getAttr(name) for constr in model.getConstrs()]
        if left_out.is_among(name, left_out.MODEL_ATTRIBUTES):
            raise left_out.refused(f"attribute '{name}'")
        found = objectives.attribute(self, name.lower())
        if found is not None:
            return found
        get = _GET.get(name.lower())
        if get is None or name.startswith("_"):
            raise AttributeUnavailable(
                GRB.Error.UNKNOWN_ATTRIBUTE,
                f"'remat_bb.gurobi.Model' object has no attribute '{name}'",
            )
        return get(self)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            object.__setattr__(self, name, value)
            return
        model: Any = self
        match name.lower():
            case "modelsense":
                model._program.maximise = float(value) < 0
            case "modelname":
                model._program.name = str(value)
            case "objcon":
                model._program.offset = float(value)
            case "numstart":
                if value == 0:
                    model._clear_starts()
            case word:
                if not objectives.set_attribute(model, word, value):
                    raise AttributeUnavailable(
                        GRB.Error.UNKNOWN_ATTRIBUTE,
                        f"'remat_bb.gurobi.Model' object has no attribute '{name}' to set",
                    )

    def getAttr(self, attrname: str, objs: Any = None) -> Any:
        """An attribute of the model, or of variables or constraints. A list gives a list and a
        dictionary a dictionary."""
        if objs is None:
            if hasattr(type(self), str(attrname)):
                return getattr(self, attrname)
            return self.__getattr__(str(attrname))
        if isinstance(objs, Mapping):
            return type(objs)({key: getattr(one, attrname) for key, one in objs.items()})  # type: ignore[call-arg]
        if isinstance(objs, (Var, Constr)):
            return getattr(objs, attrname)
        return [one.getAttr(attrname) for one in objs]

    def setAttr(self, attrname: str, arg1: Any, arg2: Any = None) -> None:
        """Sets an attribute of the model, or of variables or constraints, to one common value or
        one value for each."""
        if arg2 is None:
            setattr(self, str(attrname), arg1)
            return
        if isinstance(arg1, (Var, Constr)):
            arg1.setAttr(attrname, arg2)
            return
        if isinstance(arg1, Mapping):
            by_key = isinstance(arg2, Mapping)
            for key, one in arg1.items():
                one.setAttr(attrname, arg2[key] if by_key else arg2)
            return
        objects = list(arg1)
        single = isinstance(arg2, (str, int, float))
        values = [arg2] * len(objects) if single else list(arg2)
        for one, value in zip(objects, values):
            one.setAttr(attrname, value)
