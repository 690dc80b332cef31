"""Constraints that are more than rows: functions of variables, implications, ordered sets."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .._native import LinExpr, TempConstr, Var
from . import objectives
from .constants import GRB
from .errors import AttributeUnavailable, GurobiError
from .nonlinear import NLRelation


class Special:
    """A constraint that is no row: its handle in the program, its name and its kind."""

    def __init__(self, model: Any, handle: int, name: str, kind: int) -> None:
        self._model = model
        self._handle = handle
        self.GenConstrName = name or f"GC{handle}"
        self.GenConstrType = kind
        self.IISGenConstr = 0

    def getAttr(self, attrname: str) -> Any:
        """An attribute by its name, in any case of letters."""
        for name, value in vars(self).items():
            if name.lower() == attrname.lower():
                return value
        raise AttributeUnavailable(
            GRB.Error.UNKNOWN_ATTRIBUTE,
            f"'remat_bb.gurobi.{type(self).__name__}' object has no attribute '{attrname}'",
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self.getAttr(name)

    def setAttr(self, attrname: str, newvalue: Any) -> None:
        """Sets an attribute by its name."""
        setattr(self, attrname, newvalue)

    def _remove_from(self, model: Any) -> None:
        model._remove_special(self._handle)
        model._specials.remove(self)


class GenConstr(Special):
    """A general constraint: maximum, minimum, absolute value, and, or, norm, implication, linear in
    pieces."""

    def __repr__(self) -> str:
        return f"<gurobi.GenConstr {self.GenConstrName}>"


class SOS(Special):
    """A set of which one member (type 1), or two neighbours (type 2), may differ from 0."""

    def __repr__(self) -> str:
        return f"<gurobi.SOS {self._handle}>"


class QConstr(Special):
    """A constraint with products of variables."""

    def __init__(self, model: Any, handle: int, name: str, expr: Any, sense: str) -> None:
        super().__init__(model, handle, name, -1)
        self.QCName = name
        self.QCSense = sense
        self.QCRHS = -expr.getLinExpr().getConstant()
        self._expr = expr

    def _remove_from(self, model: Any) -> None:
        model._remove_special(self._handle)
        model._quadratic.remove(self)

    def __repr__(self) -> str:
        return f"<gurobi.QConstr {self.QCName or self._handle}>"


class Function:
    """A function of variables, which one variable is set equal to in a constraint."""

    def __init__(self, name: str, add: Callable[[Any, Var, str], Any]) -> None:
        self.name = name
        self._add = add

    def _as_general_constraint(self, left: Any, sense: str) -> Equation:
        if sense != "=":
            raise GurobiError(
                GRB.Error.NOT_SUPPORTED, f"{self.name}_ stands on the right of '==' alone"
            )
        return Equation(left, self)

    def __eq__(self, other: object) -> Any:
        return Equation(other, self)

    __hash__ = None  # type: ignore[assignment]


class Equation:
    """``variable == function``, before a model takes it."""

    def __init__(self, left: Any, function: Function) -> None:
        self.left = left
        self.function = function

    def _as_constraint(self, model: Any, name: str) -> Any:
        return self.function._add(model, _variable(model, self.left), name)


class Implication:
    """``(binary == value) >> relation``, before a model takes it."""

    def __init__(self, var: Var, value: bool, relation: TempConstr) -> None:
        self.var, self.value, self.relation = var, value, relation

    def _as_constraint(self, model: Any, name: str) -> Any:
        return model.addGenConstrIndicator(self.var, self.value, self.relation, name=name)


def implication(left: TempConstr, relation: Any) -> Implication:
    """The implication of a linear relation by a binary variable's value."""
    difference = left._difference
    var = difference.getVar(0) if difference.size() == 1 else None
    factor = difference.getCoeff(0) if var is not None else 0.0
    value = -difference.getConstant() / factor if factor else None
    if left._sense != "=" or var is None or value not in (0.0, 1.0):
        raise GurobiError(
            GRB.Error.INVALID_ARGUMENT, ">>: on the left stands a binary variable equal to 0 or 1"
        )
    if not isinstance(relation, TempConstr):
        raise GurobiError(GRB.Error.INVALID_ARGUMENT, ">>: on the right stands a linear relation")
    return Implication(var, bool(value), relation)


class Range:
    """``expression == [lower, upper]``, before a model takes it."""

    def __init__(self, expr: Any, lower: float, upper: float) -> None:
        self.expr, self.lower, self.upper = expr, lower, upper

    def _as_constraint(self, model: Any, name: str) -> Any:
        # gurobipy's form, which is edited through the variable: its bound is the width.
        slack = model.addVar(ub=self.upper - self.lower, name=f"Rg{name}")
        return model.addLConstr(self.expr + slack, "=", self.upper, name)


def between(expr: Any, sides: list[float]) -> Range:
    """The relation of an expression to a list of two sides."""
    if len(sides) != 2 or not all(isinstance(side, (int, float)) for side in sides):
        raise GurobiError(
            GRB.Error.INVALID_ARGUMENT, f"{sides!r} is no list of two sides, [lower, upper]"
        )
    return Range(expr, float(sides[0]), float(sides[1]))


def _arguments(args: tuple[Any, ...]) -> list[Any]:
    """Members of a function's arguments: a list, or each by itself."""
    if len(args) == 1 and not isinstance(args[0], (Var, LinExpr, int, float)):
        one = args[0]
        return list(one.values() if hasattr(one, "values") else one)
    return list(args)


def _split(args: list[Any], constant: float | None) -> tuple[list[Any], float | None]:
    """Variables apart from numbers."""
    vars = [a for a in args if not isinstance(a, (int, float))]
    numbers = [float(a) for a in args if isinstance(a, (int, float))]
    if constant is not None:
        numbers.append(float(constant))
    return vars, (None if not numbers else numbers[0] if len(numbers) == 1 else numbers)  # type: ignore[return-value]


def max_(*args: Any, constant: float | None = None) -> Function:
    """The largest of variables and a constant."""
    members = _arguments(args)
    return Function("max", lambda m, v, name: m.addGenConstrMax(v, members, constant, name))


def min_(*args: Any, constant: float | None = None) -> Function:
    """The smallest of variables and a constant."""
    members = _arguments(args)
    return Function("min", lambda m, v, name: m.addGenConstrMin(v, members, constant, name))


def abs_(argvar: Any) -> Function:
    """The absolute value of a variable."""
    return Function("abs", lambda m, v, name: m.addGenConstrAbs(v, argvar, name))


def and_(*args: Any) -> Function:
    """True where all binary variables are."""
    members = _arguments(args)
    return Function("and", lambda m, v, name: m.addGenConstrAnd(v, members, name))


def or_(*args: Any) -> Function:
    """True where any binary variable is."""
    members = _arguments(args)
    return Function("or", lambda m, v, name: m.addGenConstrOr(v, members, name))


def norm(argvars: Any, which: float) -> Function:
    """The 0-, 1- or infinity-norm of variables."""
    members = _arguments((argvars,))
    return Function("norm", lambda m, v, name: m.addGenConstrNorm(v, members, which, name))


def _variable(model: Any, expr: Any) -> Var:
    """A variable, or a new one that equals an expression."""
    if isinstance(expr, Var):
        return expr
    if isinstance(expr, LinExpr) and expr.size() == 1 and expr.getConstant() == 0:
        if expr.getCoeff(0) == 1:
            return expr.getVar(0)  # type: ignore[no-any-return]
    var: Var = model.addVar(lb=-GRB.INFINITY)
    model.addLConstr(var, "=", expr)
    return var


class Generals:
    """The part of a model that takes such constraints."""

    _specials: list[Special]

    def _special(self, kind: type[Special], handle: int, name: str, code: int) -> Any:
        made = kind(self, handle, name, code)
        self.__dict__.setdefault("_specials", []).append(made)
        return made

    def _meet_specials(self) -> None:
        """Makes the objects of constraints that were read from a file."""
        for handle, kind in self._special_kinds():  # type: ignore[attr-defined]
            if kind == "indicator":
                self._special(GenConstr, handle, "", GRB.GENCONSTR_INDICATOR)
            else:
                self._special(SOS, handle, "", 1 if kind == "sos1" else 2)

    def _forget_lost(self) -> None:
        """Leaves out what went with a variable that was removed."""
        has: Callable[[int], bool] = self._has_special  # type: ignore[attr-defined]
        specials: list[Special] = self.__dict__.get("_specials", [])
        specials[:] = [special for special in specials if has(special._handle)]

    def getGenConstrs(self) -> list[Any]:
        """General constraints in order."""
        return [s for s in self.__dict__.get("_specials", []) if isinstance(s, GenConstr)]

    def getSOSs(self) -> list[Any]:
        """Ordered sets in order."""
        return [s for s in self.__dict__.get("_specials", []) if isinstance(s, SOS)]

    def getQConstrs(self) -> list[Any]:
        """Constraints with products in order."""
        return list(self._quadratic)  # type: ignore[attr-defined]

    def _extremum(self, kind: str, resvar: Any, vars: Any, constant: Any, name: str) -> Any:
        members, number = _split(_arguments((vars,)), constant)
        if isinstance(number, list):
            number = max(number) if kind == "max" else min(number)
        columns = [_variable(self, v) for v in members]
        handle = self._add_extremum(kind, resvar, columns, number)  # type: ignore[attr-defined]
        code = GRB.GENCONSTR_MAX if kind == "max" else GRB.GENCONSTR_MIN
        return self._special(GenConstr, handle, name, code)

    def addGenConstrMax(
        self, resvar: Var, vars: Any, constant: float | None = None, name: str = ""
    ) -> Any:
        """Adds that a variable is the largest of others and a constant."""
        return self._extremum("max", resvar, vars, constant, name)

    def addGenConstrMin(
        self, resvar: Var, vars: Any, constant: float | None = None, name: str = ""
    ) -> Any:
        """Adds that a variable is the smallest of others and a constant."""
        return self._extremum("min", resvar, vars, constant, name)

    def addGenConstrAbs(self, resvar: Var, argvar: Any, name: str = "") -> Any:
        """Adds that a variable is the absolute value of another."""
        handle = self._add_abs(resvar, _variable(self, argvar))  # type: ignore[attr-defined]
        return self._special(GenConstr, handle, name, GRB.GENCONSTR_ABS)

    def addGenConstrAnd(self, resvar: Var, vars: Any, name: str = "") -> Any:
        """Adds that a binary variable is 1 where all others are."""
        members = [_variable(self, v) for v in _arguments((vars,))]
        handle = self._add_logical("and", resvar, members)  # type: ignore[attr-defined]
        return self._special(GenConstr, handle, name, GRB.GENCONSTR_AND)

    def addGenConstrOr(self, resvar: Var, vars: Any, name: str = "") -> Any:
        """Adds that a binary variable is 1 where any other is."""
        members = [_variable(self, v) for v in _arguments((vars,))]
        handle = self._add_logical("or", resvar, members)  # type: ignore[attr-defined]
        return self._special(GenConstr, handle, name, GRB.GENCONSTR_OR)

    def addGenConstrNorm(self, resvar: Var, vars: Any, which: float, name: str = "") -> Any:
        """Adds that a variable is the 0-, 1- or infinity-norm of others."""
        members = [_variable(self, v) for v in _arguments((vars,))]
        handle = self._add_norm(resvar, members, float(which))  # type: ignore[attr-defined]
        return self._special(GenConstr, handle, name, GRB.GENCONSTR_NORM)

    def addGenConstrPWL(
        self, xvar: Any, yvar: Var, xpts: Iterable[float], ypts: Iterable[float], name: str = ""
    ) -> Any:
        """Adds that a variable is a function of another, linear between points."""
        points = [float(x) for x in xpts], [float(y) for y in ypts]
        handle = self._add_pieces(_variable(self, xvar), yvar, *points)  # type: ignore[attr-defined]
        return self._special(GenConstr, handle, name, GRB.GENCONSTR_PWL)

    def addGenConstrIndicator(
        self,
        binvar: Var,
        binval: Any,
        lhs: Any,
        sense: str | None = None,
        rhs: Any = None,
        name: str = "",
    ) -> Any:
        """Adds a linear relation that holds where a binary variable has a value."""
        if isinstance(lhs, TempConstr):
            difference, relation = lhs._difference, lhs._sense
            name = name or (sense if isinstance(sense, str) else "")
        else:
            difference = lhs - (0.0 if rhs is None else rhs)
            relation = (sense or "=")[0]
        if not isinstance(difference, LinExpr):
            raise GurobiError(
                GRB.Error.NOT_SUPPORTED, "addGenConstrIndicator: the relation is not linear"
            )
        handle = self._add_indicator(binvar, bool(binval), difference, relation)  # type: ignore[attr-defined]
        return self._special(GenConstr, handle, name, GRB.GENCONSTR_INDICATOR)

    def addGenConstrNL(self, resvar: Var, expr: Any, name: str = "") -> Any:
        """Adds that a variable is a nonlinear expression: a polynomial of degree 2, or a number
        divided by a variable.

        Raises:
            GurobiError: names the function or operator that has no exact form.
        """
        return NLRelation(resvar, "=", expr)._as_constraint(self, name)

    def addSOS(self, type: int, vars: Any, wts: Any = None) -> Any:
        """Adds a set of which one member (type 1), or two neighbours by weight (type 2), may
        differ from 0."""
        members = list(vars.values() if hasattr(vars, "values") else vars)
        weights = [float(k + 1) for k in range(len(members))] if wts is None else list(wts)
        handle = self._add_sos(int(type), members, [float(w) for w in weights])  # type: ignore[attr-defined]
        return self._special(SOS, handle, "", int(type))

    def setObjectiveN(
        self,
        expr: Any,
        index: int,
        priority: int = 0,
        weight: float = 1.0,
        abstol: float = 1e-6,
        reltol: float = 0.0,
        name: str = "",
    ) -> None:
        """Sets one of several objectives, which are solved by priority."""
        objectives.set_objective(self, expr, index, priority, weight, abstol, reltol, name)


def _refused(name: str) -> Callable[..., Any]:
    def add(self: Any, *_: Any, **__: Any) -> Any:
        raise GurobiError(
            GRB.Error.NOT_SUPPORTED,
            f"addGenConstr{name}: nonlinear functions are not known; give points to "
            "addGenConstrPWL",
        )

    add.__doc__ = "Refused: nonlinear functions are not known."
    return add


for _name in ("Exp", "ExpA", "Log", "LogA", "Pow", "Sin", "Cos", "Tan", "Logistic", "Poly"):
    setattr(Generals, f"addGenConstr{_name}", _refused(_name))
