"""Special constraints: functions of variables, implications, ordered sets."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .._native import LinExpr, TempConstr, Var
from . import left_out, objectives, relaxation
from .constants import GRB
from .errors import AttributeUnavailable, GurobiError
from .nonlinear import NLRelation


class Special:
    """A special constraint, which is not a row: its handle in the program, its name and its
    kind."""

    _left_out: list[str]

    def __init__(
        self, model: Any, handle: int, name: str, kind: int, parts: tuple[Any, ...] | None = None
    ) -> None:
        self._model = model
        self._parts = parts
        self._handle = handle
        self.GenConstrName = name or f"GC{handle}"
        self.GenConstrType = kind
        self.IISGenConstr = 0

    def _is_kind(self, kind: int, what: str) -> tuple[Any, ...]:
        """The arguments that it was made from."""
        if self.GenConstrType != kind:
            raise GurobiError(
                GRB.Error.INVALID_ARGUMENT, f"{what}: {self!r} is a constraint of another type"
            )
        if self._parts is None:
            raise GurobiError(
                GRB.Error.DATA_NOT_AVAILABLE, f"{what}: {self!r} was read from a file"
            )
        return self._parts

    def getAttr(self, attrname: str) -> Any:
        """An attribute by its name, in any case of letters."""
        for name, value in vars(self).items():
            if name.lower() == attrname.lower():
                return value
        if left_out.is_among(attrname, self._left_out):
            raise left_out.refused(f"attribute '{attrname}'")
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
        # Removing its variables may have removed it already.
        if self in model._specials:
            model._remove_special(self._handle)
            model._specials.remove(self)


class GenConstr(Special):
    """A general constraint: maximum, minimum, absolute value, and, or, norm, implication, piecewise
    linear function."""

    _left_out = left_out.GENCONSTR_ATTRIBUTES

    def __repr__(self) -> str:
        return f"<gurobi.GenConstr {self.GenConstrName}>"


class SOS(Special):
    """An ordered set: one member (type 1) or two neighbours (type 2) may differ from 0."""

    _left_out = left_out.SOS_ATTRIBUTES

    def __repr__(self) -> str:
        return f"<gurobi.SOS {self._handle}>"


class QConstr(Special):
    """A constraint with products of variables."""

    _left_out = left_out.QCONSTR_ATTRIBUTES

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
    """A function of variables that a constraint sets equal to a variable."""

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
    """``variable == function``, not yet part of a model."""

    def __init__(self, left: Any, function: Function) -> None:
        self.left = left
        self.function = function

    def _as_constraint(self, model: Any, name: str) -> Any:
        return self.function._add(model, _variable(model, self.left), name)


class Implication:
    """``(binary == value) >> relation``, not yet part of a model."""

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
    """``expression == [lower, upper]``, not yet part of a model."""

    def __init__(self, expr: Any, lower: float, upper: float) -> None:
        self.expr, self.lower, self.upper = expr, lower, upper

    def _as_constraint(self, model: Any, name: str) -> Any:
        # gurobipy's form: the upper bound of the variable is the width and can be edited.
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
    """Arguments of a function, given as a list or one by one."""
    if len(args) == 1 and not isinstance(args[0], (Var, LinExpr, int, float)):
        one = args[0]
        return list(one.values() if hasattr(one, "values") else one)
    return list(args)


def _split(args: list[Any], constant: float | None) -> tuple[list[Any], float | None]:
    """Splits arguments into variables and numbers."""
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
    """The conjunction of binary variables."""
    members = _arguments(args)
    return Function("and", lambda m, v, name: m.addGenConstrAnd(v, members, name))


def or_(*args: Any) -> Function:
    """The disjunction of binary variables."""
    members = _arguments(args)
    return Function("or", lambda m, v, name: m.addGenConstrOr(v, members, name))


def norm(argvars: Any, which: float) -> Function:
    """The 0-, 1- or infinity-norm of variables."""
    members = _arguments((argvars,))
    return Function("norm", lambda m, v, name: m.addGenConstrNorm(v, members, which, name))


def _variable(model: Any, expr: Any) -> Var:
    """A variable, given directly or as an array of one, or a new variable that equals an
    expression."""
    if hasattr(expr, "item") and hasattr(expr, "ndim"):
        expr = expr.item()
    if isinstance(expr, Var):
        return expr
    if isinstance(expr, LinExpr) and expr.size() == 1 and expr.getConstant() == 0:
        if expr.getCoeff(0) == 1:
            return expr.getVar(0)  # type: ignore[no-any-return]
    var: Var = model.addVar(lb=-GRB.INFINITY)
    model.addLConstr(var, "=", expr)
    return var


class Generals:
    """Methods of a model for special constraints."""

    _specials: list[Special]

    def _special(
        self,
        kind: type[Special],
        handle: int,
        name: str,
        code: int,
        parts: tuple[Any, ...] | None = None,
    ) -> Any:
        made = kind(self, handle, name, code, parts)
        self.__dict__.setdefault("_specials", []).append(made)
        return made

    def _meet_specials(self) -> None:
        """Makes objects for special constraints read from a file."""
        for handle, kind in self._special_kinds():  # type: ignore[attr-defined]
            if kind == "indicator":
                self._special(GenConstr, handle, "", GRB.GENCONSTR_INDICATOR)
            else:
                self._special(SOS, handle, "", 1 if kind == "sos1" else 2)

    def _forget_lost(self) -> None:
        """Drops special constraints that were removed together with a variable."""
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
        result = _variable(self, resvar)
        handle = self._add_extremum(kind, result, columns, number)  # type: ignore[attr-defined]
        code = GRB.GENCONSTR_MAX if kind == "max" else GRB.GENCONSTR_MIN
        none = -GRB.INFINITY if kind == "max" else GRB.INFINITY
        parts = (result, columns, none if number is None else number)
        return self._special(GenConstr, handle, name, code, parts)

    def addGenConstrMax(
        self, resvar: Var, vars: Any, constant: float | None = None, name: str = ""
    ) -> Any:
        """Sets a variable equal to the maximum of others and a constant."""
        return self._extremum("max", resvar, vars, constant, name)

    def addGenConstrMin(
        self, resvar: Var, vars: Any, constant: float | None = None, name: str = ""
    ) -> Any:
        """Sets a variable equal to the minimum of others and a constant."""
        return self._extremum("min", resvar, vars, constant, name)

    def addGenConstrAbs(self, resvar: Var, argvar: Any, name: str = "") -> Any:
        """Sets a variable equal to the absolute value of another."""
        parts = _variable(self, resvar), _variable(self, argvar)
        handle = self._add_abs(*parts)  # type: ignore[attr-defined]
        return self._special(GenConstr, handle, name, GRB.GENCONSTR_ABS, parts)

    def addGenConstrAnd(self, resvar: Var, vars: Any, name: str = "") -> Any:
        """Sets a binary variable equal to the conjunction of others."""
        parts = _variable(self, resvar), [_variable(self, v) for v in _arguments((vars,))]
        handle = self._add_logical("and", *parts)  # type: ignore[attr-defined]
        return self._special(GenConstr, handle, name, GRB.GENCONSTR_AND, parts)

    def addGenConstrOr(self, resvar: Var, vars: Any, name: str = "") -> Any:
        """Sets a binary variable equal to the disjunction of others."""
        parts = _variable(self, resvar), [_variable(self, v) for v in _arguments((vars,))]
        handle = self._add_logical("or", *parts)  # type: ignore[attr-defined]
        return self._special(GenConstr, handle, name, GRB.GENCONSTR_OR, parts)

    def addGenConstrNorm(self, resvar: Var, vars: Any, which: float, name: str = "") -> Any:
        """Sets a variable equal to the 0-, 1- or infinity-norm of others."""
        members = [_variable(self, v) for v in _arguments((vars,))]
        parts = _variable(self, resvar), members, float(which)
        handle = self._add_norm(*parts)  # type: ignore[attr-defined]
        return self._special(GenConstr, handle, name, GRB.GENCONSTR_NORM, parts)

    def addGenConstrPWL(
        self, xvar: Any, yvar: Var, xpts: Iterable[float], ypts: Iterable[float], name: str = ""
    ) -> Any:
        """Sets a variable equal to a piecewise linear function of another, given by points."""
        points = [float(x) for x in xpts], [float(y) for y in ypts]
        parts = _variable(self, xvar), _variable(self, yvar), *points
        handle = self._add_pieces(*parts)  # type: ignore[attr-defined]
        return self._special(GenConstr, handle, name, GRB.GENCONSTR_PWL, parts)

    def addGenConstrIndicator(
        self,
        binvar: Var,
        binval: Any,
        lhs: Any,
        sense: str | None = None,
        rhs: Any = None,
        name: str = "",
    ) -> Any:
        """Adds a linear relation that holds if a binary variable has a value."""
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
        binvar = _variable(self, binvar)
        handle = self._add_indicator(binvar, bool(binval), difference, relation)  # type: ignore[attr-defined]
        side = -difference.getConstant()
        parts = binvar, bool(binval), difference + side, relation, side
        return self._special(GenConstr, handle, name, GRB.GENCONSTR_INDICATOR, parts)

    def addGenConstrNL(self, resvar: Var, expr: Any, name: str = "") -> Any:
        """Sets a variable equal to a nonlinear expression: a polynomial of degree 2, or a number
        divided by a variable.

        Raises:
            GurobiError: a function or operator has no exact form; the message names it.
        """
        return NLRelation(resvar, "=", expr)._as_constraint(self, name)

    def addSOS(self, type: int, vars: Any, wts: Any = None) -> Any:
        """Adds an ordered set: one member (type 1) or two neighbours by weight (type 2) may differ
        from 0."""
        members = list(vars.values() if hasattr(vars, "values") else vars)
        weights = [float(k + 1) for k in range(len(members))] if wts is None else list(wts)
        parts = int(type), [_variable(self, v) for v in members], [float(w) for w in weights]
        handle = self._add_sos(*parts)  # type: ignore[attr-defined]
        return self._special(SOS, handle, "", int(type), parts)

    def getSOS(self, sos: Any) -> tuple[Any, ...]:
        """Type, variables and weights of an ordered set."""
        return sos._is_kind(sos.GenConstrType, "getSOS")  # type: ignore[no-any-return]

    def feasRelax(
        self,
        relaxobjtype: int,
        minrelax: bool,
        vars: Any,
        lbpen: Any,
        ubpen: Any,
        constrs: Any,
        rhspen: Any,
    ) -> float:
        """Relaxes bounds and constraints, each violation at a price (infinite for hard ones). With
        ``minrelax`` the least price becomes a constraint, and the model keeps its objective.

        Returns:
            The least price with ``minrelax``, -1 if no relaxation is feasible; else 0.

        Raises:
            GurobiError: for squared violations (``relaxobjtype`` 1), which are not supported.
        """
        columns = list(vars or [])
        lower = [None] * len(columns) if lbpen is None else list(lbpen)
        upper = [None] * len(columns) if ubpen is None else list(ubpen)
        rows = list(constrs or [])
        prices = [None] * len(rows) if rhspen is None else list(rhspen)
        if not (len(lower) == len(upper) == len(columns) and len(prices) == len(rows)):
            raise GurobiError(
                GRB.Error.INVALID_ARGUMENT, "feasRelax: a price for each variable and constraint"
            )
        bounds = list(zip(columns, lower, upper))
        return relaxation.relax(self, relaxobjtype, bool(minrelax), bounds, list(zip(rows, prices)))

    def feasRelaxS(self, relaxobjtype: int, minrelax: bool, vrelax: bool, crelax: bool) -> float:
        """Relaxes all bounds (``vrelax``) and constraints (``crelax``), each at a price of 1; see
        :meth:`feasRelax`."""
        columns = self.getVars() if vrelax else []  # type: ignore[attr-defined]
        rows = self.getConstrs() if crelax else []  # type: ignore[attr-defined]
        ones = [1.0] * len(columns)
        return self.feasRelax(relaxobjtype, minrelax, columns, ones, ones, rows, [1.0] * len(rows))

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


def _getter(name: str, kind: int) -> Callable[..., Any]:
    def get(self: Any, genc: Any) -> Any:
        return genc._is_kind(kind, f"getGenConstr{name}")

    get.__doc__ = "The parts that the constraint was made of, in the order of its arguments."
    return get


for _name in ("Max", "Min", "Abs", "And", "Or", "Norm", "PWL", "Indicator"):
    _kind = getattr(GRB, f"GENCONSTR_{_name.upper()}")
    setattr(Generals, f"getGenConstr{_name}", _getter(_name, _kind))


left_out.refuse(Generals, left_out.MODEL_METHODS)
