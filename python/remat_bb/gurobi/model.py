"""Models: columns, rows and the objective, built from expressions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterable, Mapping
from typing import Any

from .._native import Constr, Core, LinExpr, QuadExpr, TempConstr, Var
from . import attributes, files, general, iis, matrix, quadratic, solve
from .constants import GRB
from .containers import tupledict
from .env import Env, default_values
from .errors import GurobiError
from .indices import each, keyed, label, labels, product
from .params import Params, Values, found, unknown

INF = float("inf")


class Column:
    """Entries of a variable in constraints, for ``addVar(column=...)``."""

    def __init__(self, coeffs: Any = None, constrs: Any = None) -> None:
        self._terms: list[tuple[float, Constr]] = []
        if coeffs is not None:
            self.addTerms(coeffs, constrs)

    def addTerms(self, coeffs: Any, constrs: Any) -> None:
        """Adds entries: a number and a constraint, or lists of both."""
        if isinstance(constrs, Constr):
            coeffs, constrs = [coeffs], [constrs]
        self._terms += [(float(factor), constr) for factor, constr in zip(coeffs, constrs)]

    def size(self) -> int:
        """Number of entries."""
        return len(self._terms)

    def getCoeff(self, i: int) -> float:
        """Coefficient of an entry."""
        return self._terms[i][0]

    def getConstr(self, i: int) -> Constr:
        """Constraint of an entry."""
        return self._terms[i][1]

    def remove(self, item: Any) -> None:
        """Removes an entry by its number, or the entries of a constraint."""
        if isinstance(item, Constr):
            self._terms = [term for term in self._terms if term[1] != item]
        else:
            del self._terms[item]

    def copy(self) -> Column:
        """A copy."""
        twin = Column()
        twin._terms = list(self._terms)
        return twin

    def clear(self) -> None:
        """Removes all entries."""
        self._terms.clear()


class Model(solve.Solving, attributes.Attributes, files.Files, general.Generals, Core):
    """A model with the interface of gurobipy.

    Edits take effect at once; ``update`` has no effect.
    """

    def __init__(self, name: str = "", env: Env | None = None) -> None:
        values = env._values if env is not None else default_values
        set_ = object.__setattr__
        set_(self, "_values", Values(values))
        set_(self, "Params", Params(self))
        set_(self, "params", self.Params)
        self._begin()
        self._program.name = name or ""

    def _set_parameter(self, name: str, value: Any, strict: bool) -> None:
        for parameter in self._values.set(name, value, strict):
            if parameter.name == "SolutionNumber":
                self._set_solution_number(self._values["SolutionNumber"])
            elif parameter.name == "StartNumber":
                self._set_start_number(self._values["StartNumber"])

    def setParam(self, paramname: str, newvalue: Any) -> None:
        """Sets a parameter; an unknown name gives one warning."""
        self._set_parameter(str(paramname), newvalue, False)

    def resetParams(self) -> None:
        """Sets all parameters to their defaults."""
        self._values.reset()

    def getParamInfo(self, paramname: str) -> tuple[Any, ...]:
        """Name, type, value, minimum, maximum and default of a parameter."""
        known = found(paramname)
        if not known:
            raise unknown(paramname)
        one = known[0]
        value = self._values[one.name]
        if one.kind is str:
            return (one.name, str, value, one.default)
        return (one.name, one.kind, value, one.least, one.most, one.default)

    # Columns.

    def addVar(
        self,
        lb: Any = 0.0,
        ub: Any = INF,
        obj: Any = 0.0,
        vtype: str = "C",
        name: str = "",
        column: Column | None = None,
    ) -> Var:
        """Adds a variable."""
        var: Var = self._add_var(float(lb), float(ub), float(obj), vtype, str(name or ""))
        for factor, constr in column._terms if column is not None else ():
            self._set_coeff(constr, var, factor)
        return var

    def addVars(
        self,
        *indices: Any,
        lb: Any = 0.0,
        ub: Any = INF,
        obj: Any = 0.0,
        vtype: Any = "C",
        name: Any = "",
    ) -> tupledict:
        """Adds a variable for each key of an index set, or of a product of several."""
        keys = product(indices)

        def values(of: Any, default: Any) -> Any:
            if isinstance(of, (str, int, float)) or not hasattr(of, "__iter__"):
                return of
            return each(of, keys, default)

        bounds = values(lb, 0.0), values(ub, INF)
        made = self._add_vars(
            len(keys), *bounds, values(obj, 0.0), values(vtype, "C"), labels(name, keys)
        )
        return tupledict(zip(keys, made))

    def addMVar(
        self,
        shape: Any,
        lb: Any = 0.0,
        ub: Any = INF,
        obj: Any = 0.0,
        vtype: Any = "C",
        name: Any = "",
    ) -> matrix.MVar:
        """Adds an array of variables."""
        return matrix.add_mvar(self, shape, lb, ub, obj, vtype, name)

    # Rows. The native class has addConstr and addLConstr.

    def addConstrs(self, generator: Any, name: Any = "") -> tupledict:
        """Adds a constraint for each member of a generator expression, keyed by the values of its
        loop variables."""
        if isinstance(generator, (TempConstr, matrix.MConstrs)):
            raise GurobiError(
                GRB.Error.INVALID_ARGUMENT, "addConstrs: one constraint is added by addConstr"
            )
        added = tupledict()
        for key, relation in keyed(generator):
            word = label(name, key) if isinstance(name, str) and name else ""
            if name and not isinstance(name, str):
                word = str(name[key] if isinstance(name, Mapping) else name[len(added)])
            added[key] = self.addConstr(relation, name=word)
        return added

    def addRange(self, expr: Any, lower: float, upper: float, name: str = "") -> Constr:
        """Adds a linear constraint with two sides."""
        return self._add_range(expr, float(lower), float(upper), name)  # type: ignore[no-any-return]

    def addQConstr(
        self, lhs: Any, sense: str | None = None, rhs: Any = None, name: str = ""
    ) -> Any:
        """Adds a constraint with products of variables."""
        return self.addConstr(lhs, sense, rhs, name)

    def _add_quadratic(self, difference: QuadExpr, sense: str, name: str) -> Any:
        return quadratic.add_constraint(self, difference, sense, name)

    def _add_other(self, relation: Any, sense: Any, rhs: Any, name: str) -> Any:
        """Adds constraints unknown to the native class: arrays and functions of variables."""
        if isinstance(sense, str) and not name:
            name = sense
        return relation._as_constraint(self, name)

    def addMConstr(self, A: Any, x: Any, sense: Any, b: Any, name: Any = "") -> matrix.MConstr:
        """Adds the constraints ``A x (sense) b``; by default ``x`` is all variables in order."""
        return matrix.add_mconstr(self, A, x, sense, b, name)

    def remove(self, items: Any) -> None:
        """Removes variables, constraints and other members: one, or all in a list, array or
        dictionary."""
        columns: list[Var] = []
        rows: list[Constr] = []
        for item in _flat(items):
            if isinstance(item, Var):
                columns.append(item)
            elif isinstance(item, Constr):
                rows.append(item)
            elif hasattr(item, "_remove_from"):
                item._remove_from(self)
            else:
                raise GurobiError(
                    GRB.Error.INVALID_ARGUMENT,
                    f"remove: an object of type {type(item).__name__} is no part of a model",
                )
        if rows:
            self._remove_constrs(rows)
        if columns:
            self._remove_vars(columns)
            self._forget_lost()

    # The objective.

    def setObjective(self, expr: Any, sense: int | None = None) -> None:
        """Sets the objective, and its sense if given."""
        if sense is not None:
            self.ModelSense = sense
        quadratic.set_objective(self, expr)

    def getObjective(self, index: int | None = None) -> Any:
        """The objective as an expression; a number selects one of several objectives."""
        if index is not None:
            return self._objectives[index].expr
        return quadratic.objective(self)

    def setMObjective(
        self,
        Q: Any,
        c: Any,
        constant: float,
        xQ_L: Any = None,
        xQ_R: Any = None,
        xc: Any = None,
        sense: int | None = None,
    ) -> None:
        """Sets the objective ``x' Q x + c' x + constant``."""
        self.setObjective(matrix.objective(self, Q, c, constant, xQ_L, xQ_R, xc), sense)

    def setPWLObj(self, var: Var, x: Iterable[float], y: Iterable[float]) -> None:
        """Replaces a variable's objective coefficient by a piecewise linear function, given by
        points. A convex function (concave, if maximised) needs no binary variable; otherwise the
        variable has to be bounded."""
        var.Obj = 0.0
        self._set_pieces(var, [float(v) for v in x], [float(v) for v in y])

    def getPWLObj(self, var: Var) -> list[tuple[float, float]]:
        """Points of a variable's piecewise linear term; empty without one."""
        return self._pieces(var)  # type: ignore[no-any-return]

    # Members.

    def getVars(self) -> list[Var]:
        """Variables in order."""
        return self._vars()  # type: ignore[no-any-return]

    def getConstrs(self) -> list[Constr]:
        """Linear constraints in order."""
        return self._constrs()  # type: ignore[no-any-return]

    def getVarByName(self, name: str) -> Var | None:
        """The variable with a name; ``None`` if there is no such variable."""
        col = self._program.col_of_name(name)
        return None if col is None else self._var_at(col)

    def getConstrByName(self, name: str) -> Constr | None:
        """The constraint with a name; ``None`` if there is no such constraint."""
        row = self._program.row_of_name(name)
        return None if row is None else self._constr_at(row)

    def getRow(self, constr: Constr) -> LinExpr:
        """Terms of a constraint."""
        return self._row(constr)  # type: ignore[no-any-return]

    def getQCRow(self, qconstr: general.QConstr) -> Any:
        """Terms of a constraint with products."""
        return quadratic.left_side(qconstr)

    def getCol(self, var: Var) -> Column:
        """Entries of a variable."""
        entries = self._col(var)
        return Column([v for _, v in entries], [self._constr_at(row) for row, _ in entries])

    def getCoeff(self, constr: Constr, var: Var) -> float:
        """Entry of a variable in a constraint."""
        return self._coeff(constr, var)  # type: ignore[no-any-return]

    def chgCoeff(self, constr: Constr, var: Var, newvalue: float) -> None:
        """Sets the entry of a variable in a constraint."""
        self._set_coeff(constr, var, float(newvalue))

    def getA(self) -> Any:
        """The matrix of the linear constraints, as ``scipy.sparse.csr_matrix``."""
        return matrix.of_model(self)

    # Life.

    def update(self) -> None:
        """Has no effect: edits take effect at once."""

    def reset(self, clearall: int = 0) -> None:
        """Discards the answer, so that the next solve starts without it; ``clearall`` also discards
        starts."""
        self._forget()
        if clearall:
            self._clear_starts()

    def computeIIS(self, callback: Any = None) -> None:
        """Finds an irreducible infeasible subsystem: constraints and bounds that no point satisfies
        together, each of which is needed."""
        iis.compute(self)

    def message(self, message: str) -> None:
        """Writes a line to the log."""
        self._log(str(message))

    def dispose(self) -> None:
        """Has no effect: Python frees the memory with the object."""

    def close(self) -> None:
        """Has no effect: Python frees the memory with the object."""

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        program = self._program
        return (
            f"<gurobi.Model {program.name or 'without a name'}: {program.num_rows} constrs, "
            f"{program.num_cols} vars>"
        )


def _flat(items: Any) -> Iterable[Any]:
    if isinstance(items, Mapping):
        return itertools.chain.from_iterable(_flat(item) for item in items.values())
    if isinstance(items, (matrix.MVar, matrix.MConstr)):
        return items.tolist_flat()
    if isinstance(items, (list, tuple, set, Generator)) or hasattr(items, "flat"):
        return itertools.chain.from_iterable(_flat(item) for item in items)
    return (items,)


CallbackFunction = Callable[[Model, int], Any]
