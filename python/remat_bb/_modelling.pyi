"""Types of the native module's expressions, the base of :mod:`remat_bb.gurobi`."""

from typing import Any

from typing_extensions import Self

class Core:
    """The native base class of a model: makes rows and columns. :mod:`remat_bb.gurobi` derives the
    class with all methods of gurobipy."""

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
        """Adds columns. Each number and kind is given once for all columns or once for each."""

    def addLConstr(self, lhs: Any, sense: Any = None, rhs: Any = None, name: Any = "") -> Any:
        """Adds a linear constraint: a relation, or left side, sense and right side."""

    def addConstr(self, lhs: Any, sense: Any = None, rhs: Any = None, name: Any = "") -> Any:
        """Adds a constraint: a relation, or left side, sense and right side."""

    def _add_range(self, expr: Any, lower: Any, upper: Any, name: Any) -> Any:
        """Adds a row that holds a linear expression between two sides."""

    def _remove_vars(self, vars: Any) -> Any: ...
    def _remove_constrs(self, constrs: Any) -> Any: ...
    def _set_objective(self, expr: Any) -> Any:
        """Sets the objective to a linear expression."""

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
        """Stores the answer of a solve; ``None`` removes it."""

    def _starts(self) -> Any:
        """Starts as points by handle; NaN marks missing values."""

    def _hints(self) -> Any:
        """Hints as a point by handle; NaN marks missing values. ``None`` without hints."""

    def _clear_starts(self) -> Any: ...
    def _set_start_number(self, number: Any) -> Any: ...
    def _set_solution_number(self, number: Any) -> Any: ...
    def _set_iis(self, rows: Any, lower: Any, upper: Any) -> Any: ...
    def _add_indicator(self, binvar: Any, value: Any, difference: Any, sense: Any) -> Any:
        """Adds an indicator: if a binary column has a value, a difference is in a relation to 0."""

    def _add_extremum(self, kind: Any, resvar: Any, vars: Any, constant: Any) -> Any:
        """Adds a column as the maximum (``max``) or minimum of others and a constant."""

    def _add_abs(self, resvar: Any, argvar: Any) -> Any:
        """Sets a column equal to the absolute value of another."""

    def _add_logical(self, kind: Any, resvar: Any, vars: Any) -> Any:
        """Sets a binary column equal to the conjunction (``and``) or disjunction of others."""

    def _add_norm(self, resvar: Any, vars: Any, which: Any) -> Any:
        """Sets a column equal to a norm of others: 0, 1 or infinity."""

    def _add_pieces(self, xvar: Any, yvar: Any, xpts: Any, ypts: Any) -> Any:
        """Sets a column equal to a piecewise linear function of another, given by points."""

    def _add_sos(self, kind: Any, vars: Any, weights: Any) -> Any:
        """Adds an ordered set of type 1 or 2."""

    def _add_product_row(self, difference: Any, sense: Any, _name: Any) -> Any:
        """Adds a constraint that relates an expression with products to 0."""

    def _remove_special(self, handle: Any) -> Any:
        """Removes a special constraint."""

    def _special_kinds(self) -> list[tuple[int, str]]:
        """Handles of special constraints, each with its kind: ``indicator``, ``sos1``, ``sos2``, or
        another one."""

    def _has_special(self, handle: Any) -> bool:
        """True if a special constraint exists. Removing one of its columns removes it."""

    def _set_pieces(self, var: Any, x: Any, y: Any) -> None:
        """Sets a piecewise linear term of the objective by its points; no points remove it."""

    def _pieces(self, var: Any) -> Any:
        """Points of a column's piecewise linear term; empty without one."""

    def _num_pieces(self) -> int:
        """Number of columns with a piecewise linear term."""

    def _set_products(self, expr: Any) -> Any:
        """Sets the products of the objective from an expression; ``None`` removes them."""

    def _products(self) -> Any:
        """The objective with its products; ``None`` without products."""

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
        """Position among the variables of the model; -2 if removed."""

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
    """A relation that is not part of a model yet: an expression and its sense towards 0."""

    def __rshift__(self, other: Any, /) -> Any: ...
    @property
    def _difference(self) -> Any:
        """Left side minus right side, as a linear or quadratic expression."""

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
        """Position among the constraints of the model; -2 if removed."""

    @property
    def _handle(self) -> int: ...

def quicksum(p_list: Any) -> Any:
    """The sum of numbers and expressions."""
