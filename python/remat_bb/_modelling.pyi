"""Types of the native module's expressions, which :mod:`remat_bb.gurobi` is made of."""

from typing import Any

from typing_extensions import Self

class Core:
    """The part of a model that makes rows and columns; the class of Python's with all methods of
    gurobipy is made of it."""

    def __new__(cls, *arguments: Any, **options: Any) -> Self: ...
    def _load(self, program: Any) -> Any:
        """Takes a copy of a program's columns and rows."""

    def _copy_from(self, other: Any) -> Any:
        """Takes a copy of another model's columns, rows and starts."""

    def _terms_of(self, expr: Any) -> Any:
        """Handles, coefficients and constant of a linear expression."""

    def _add_var(self, lb: Any, ub: Any, obj: Any, vtype: Any, name: Any) -> Any:
        """Adds a column."""

    def _add_vars(self, count: Any, lb: Any, ub: Any, obj: Any, vtype: Any, names: Any) -> Any:
        """Adds columns: numbers and kinds are one for all or one for each."""

    def addLConstr(self, lhs: Any, sense: Any = None, rhs: Any = None, name: Any = "") -> Any:
        """Adds a linear constraint: a relation, or left side, sense and right side."""

    def addConstr(self, lhs: Any, sense: Any = None, rhs: Any = None, name: Any = "") -> Any:
        """Adds a constraint: a relation, or left side, sense and right side."""

    def _add_range(self, expr: Any, lower: Any, upper: Any, name: Any) -> Any:
        """Adds the row of a linear expression between two sides."""

    def _remove_vars(self, vars: Any) -> Any: ...
    def _remove_constrs(self, constrs: Any) -> Any: ...
    def _set_objective(self, expr: Any) -> Any:
        """Sets costs and constant of the objective to those of a linear expression."""

    def _objective(self) -> Any:
        """The linear objective."""

    def _vars(self) -> Any:
        """Variables in order."""

    def _constrs(self) -> Any:
        """Constraints in order."""

    def _row(self, constr: Any) -> Any:
        """Terms of a constraint."""

    def _col(self, var: Any) -> Any:
        """Entries of a variable: constraints and coefficients."""

    def _constr_at(self, row: Any) -> Any: ...
    def _var_at(self, col: Any) -> Any: ...
    def _coeff(self, constr: Any, var: Any) -> Any: ...
    def _set_coeff(self, constr: Any, var: Any, value: Any) -> Any: ...
    def _set_answer(self, answer: Any) -> Any:
        """Takes the answer of a solve, or forgets it."""

    def _starts(self) -> Any:
        """Starts as points by handle, with NaN where they say nothing."""

    def _hints(self) -> Any:
        """Hints as a point by handle, with NaN where there is none; ``None`` without any."""

    def _clear_starts(self) -> Any: ...
    def _set_start_number(self, number: Any) -> Any: ...
    def _set_solution_number(self, number: Any) -> Any: ...
    def _set_iis(self, rows: Any, lower: Any, upper: Any) -> Any: ...
    def _add_indicator(self, binvar: Any, value: Any, difference: Any, sense: Any) -> Any:
        """Adds that a difference stands in a relation to 0 where a binary column has a value."""

    def _add_extremum(self, kind: Any, resvar: Any, vars: Any, constant: Any) -> Any:
        """Adds that a column is the largest (``max``) or smallest of others and a constant."""

    def _add_abs(self, resvar: Any, argvar: Any) -> Any:
        """Adds that a column is the absolute value of another."""

    def _add_logical(self, kind: Any, resvar: Any, vars: Any) -> Any:
        """Adds that a binary column is the conjunction (``and``) or disjunction of others."""

    def _add_norm(self, resvar: Any, vars: Any, which: Any) -> Any:
        """Adds that a column is a norm of others: 0, 1 or infinity."""

    def _add_pieces(self, xvar: Any, yvar: Any, xpts: Any, ypts: Any) -> Any:
        """Adds that a column is a function of another, linear between points."""

    def _add_sos(self, kind: Any, vars: Any, weights: Any) -> Any:
        """Adds an ordered set of type 1 or 2."""

    def _add_product_row(self, difference: Any, sense: Any, _name: Any) -> Any:
        """Adds that an expression with products stands in a relation to 0."""

    def _remove_special(self, handle: Any) -> Any:
        """Removes a special constraint."""

    def _special_kinds(self) -> list[tuple[int, str]]:
        """Handles of special constraints, each with what it is: ``indicator``, ``sos1``, ``sos2``,
        or another kind."""

    def _has_special(self, handle: Any) -> bool:
        """True if a special constraint is there: it goes with a column that it is about."""

    def _set_pieces(self, var: Any, x: Any, y: Any) -> None:
        """Sets a part of the objective that is linear between points; takes it away without
        points."""

    def _pieces(self, var: Any) -> Any:
        """Points of a part of the objective; none without one."""

    def _num_pieces(self) -> int:
        """Number of columns that have such a part."""

    def _set_products(self, expr: Any) -> Any:
        """Sets the products of the objective to those of an expression; none without one."""

    def _products(self) -> Any:
        """The objective with its products; ``None`` where it has none."""

    @property
    def _program(self) -> Any:
        """The program, shared."""

class Var:
    """A variable of a model."""

    def __hash__(self) -> int: ...
    def __setattr__(self, name: str, value: Any, /) -> None: ...
    def __lt__(self, other: Any, /) -> Any: ...
    def __le__(self, other: Any, /) -> Any: ...
    def __eq__(self, other: object, /) -> Any: ...
    def __gt__(self, other: Any, /) -> Any: ...
    def __ge__(self, other: Any, /) -> Any: ...
    def __add__(self, other: Any, /) -> Any: ...
    def __radd__(self, other: Any, /) -> Any: ...
    def __sub__(self, other: Any, /) -> Any: ...
    def __rsub__(self, other: Any, /) -> Any: ...
    def __mul__(self, other: Any, /) -> Any: ...
    def __rmul__(self, other: Any, /) -> Any: ...
    def __pow__(self, other: Any, /) -> Any: ...
    def __neg__(self) -> Any: ...
    def __pos__(self) -> Any: ...
    def __truediv__(self, other: Any, /) -> Any: ...
    def sameAs(self, other: Any) -> bool:
        """True if both are the same variable of the same model."""

    def getAttr(self, attrname: Any) -> Any:
        """An attribute by its name, in any case of letters."""

    def setAttr(self, attrname: Any, newvalue: Any) -> Any:
        """Sets an attribute by its name, in any case of letters."""

    @property
    def _handle(self) -> int: ...
    @property
    def index(self) -> int:
        """Position among the variables of the model; -2 where it was removed."""

class LinExpr:
    """A linear expression."""

    def __new__(cls, arg1: Any = ..., arg2: Any = ...) -> LinExpr: ...
    def __hash__(self) -> int: ...
    def __lt__(self, other: Any, /) -> Any: ...
    def __le__(self, other: Any, /) -> Any: ...
    def __eq__(self, other: object, /) -> Any: ...
    def __gt__(self, other: Any, /) -> Any: ...
    def __ge__(self, other: Any, /) -> Any: ...
    def __add__(self, other: Any, /) -> Any: ...
    def __radd__(self, other: Any, /) -> Any: ...
    def __sub__(self, other: Any, /) -> Any: ...
    def __rsub__(self, other: Any, /) -> Any: ...
    def __mul__(self, other: Any, /) -> Any: ...
    def __rmul__(self, other: Any, /) -> Any: ...
    def __pow__(self, other: Any, /) -> Any: ...
    def __neg__(self) -> Any: ...
    def __pos__(self) -> Any: ...
    def __iadd__(self, other: Any, /) -> Self: ...
    def __isub__(self, other: Any, /) -> Self: ...
    def __truediv__(self, other: Any, /) -> Any: ...
    def add(self, expr: Any, mult: Any = 1.0) -> Any:
        """Adds a multiple of an expression in place."""

    def addTerms(self, newcoeffs: Any, newvars: Any) -> Any:
        """Adds multiples of variables in place: a number and a variable, or vectors of both."""

    def addConstant(self, newconstant: Any) -> Any:
        """Adds a number in place."""

    def getConstant(self) -> float:
        """The constant."""

    def getValue(self) -> float:
        """The value at the best point of the latest solve."""

    def size(self) -> int:
        """Number of terms."""

    def getVar(self, i: Any) -> Any:
        """Variable of a term."""

    def getCoeff(self, i: Any) -> Any:
        """Coefficient of a term."""

    def remove(self, item: Any) -> Any:
        """Removes a term by its number, or all terms of a variable."""

    def copy(self) -> Any:
        """A copy."""

    def clear(self) -> Any:
        """Removes all terms and the constant."""

    @property
    def _has_products(self) -> Any: ...

class QuadExpr:
    """A quadratic expression."""

    def __new__(cls, expr: Any = None) -> QuadExpr: ...
    def __hash__(self) -> int: ...
    def __lt__(self, other: Any, /) -> Any: ...
    def __le__(self, other: Any, /) -> Any: ...
    def __eq__(self, other: object, /) -> Any: ...
    def __gt__(self, other: Any, /) -> Any: ...
    def __ge__(self, other: Any, /) -> Any: ...
    def __add__(self, other: Any, /) -> Any: ...
    def __radd__(self, other: Any, /) -> Any: ...
    def __sub__(self, other: Any, /) -> Any: ...
    def __rsub__(self, other: Any, /) -> Any: ...
    def __mul__(self, other: Any, /) -> Any: ...
    def __rmul__(self, other: Any, /) -> Any: ...
    def __pow__(self, other: Any, /) -> Any: ...
    def __neg__(self) -> Any: ...
    def __pos__(self) -> Any: ...
    def __iadd__(self, other: Any, /) -> Self: ...
    def __isub__(self, other: Any, /) -> Self: ...
    def __truediv__(self, other: Any, /) -> Any: ...
    def add(self, expr: Any, mult: Any = 1.0) -> Any:
        """Adds a multiple of an expression in place."""

    def addConstant(self, newconstant: Any) -> Any:
        """Adds a number in place."""

    def addTerms(self, newcoeffs: Any, newvars: Any, newvars2: Any = None) -> Any:
        """Adds multiples of variables or of products of two in place."""

    def getLinExpr(self) -> Any:
        """The linear part."""

    def getValue(self) -> float:
        """The value at the best point of the latest solve."""

    def size(self) -> int:
        """Number of products."""

    def getVar1(self, i: Any) -> Any:
        """First variable of a product."""

    def getVar2(self, i: Any) -> Any:
        """Second variable of a product."""

    def getCoeff(self, i: Any) -> Any:
        """Coefficient of a product."""

    def copy(self) -> Any:
        """A copy."""

    def clear(self) -> Any:
        """Removes all terms and the constant."""

class TempConstr:
    """A relation that no model has taken yet: an expression, and its sense towards 0."""

    def __rshift__(self, other: Any, /) -> Any: ...
    @property
    def _difference(self) -> Any:
        """Left side less right side, as a linear or quadratic expression."""

    @property
    def _sense(self) -> Any:
        """The sense: ``<``, ``>`` or ``=``."""

class Constr:
    """A linear constraint of a model."""

    def __hash__(self) -> int: ...
    def __setattr__(self, name: str, value: Any, /) -> None: ...
    def __lt__(self, other: Any, /) -> Any: ...
    def __le__(self, other: Any, /) -> Any: ...
    def __eq__(self, other: object, /) -> Any: ...
    def __gt__(self, other: Any, /) -> Any: ...
    def __ge__(self, other: Any, /) -> Any: ...
    def sameAs(self, other: Any) -> bool:
        """True if both are the same constraint of the same model."""

    def getAttr(self, attrname: Any) -> Any:
        """An attribute by its name, in any case of letters."""

    def setAttr(self, attrname: Any, newvalue: Any) -> Any:
        """Sets an attribute by its name, in any case of letters."""

    @property
    def index(self) -> int:
        """Position among the constraints of the model; -2 where it was removed."""

    @property
    def _handle(self) -> int: ...

def quicksum(p_list: Any) -> Any:
    """The sum of numbers and expressions."""
