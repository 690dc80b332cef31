"""A model in plain Python that records what code for gurobipy builds, and solves nothing: what
expressions cost where Python makes them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from types import SimpleNamespace
from typing import Any

GRB = SimpleNamespace(
    BINARY="B", CONTINUOUS="C", LESS_EQUAL="<", GREATER_EQUAL=">", EQUAL="=", MINIMIZE=1
)


class LinExpr:
    """A sum of terms, a list of columns and one of coefficients, and a constant."""

    __slots__ = ("columns", "factors", "constant")

    def __init__(self, columns: list[int], factors: list[float], constant: float) -> None:
        self.columns, self.factors, self.constant = columns, factors, constant

    def __add__(self, other: Any) -> LinExpr:
        if isinstance(other, (int, float)):
            return LinExpr(self.columns, self.factors, self.constant + other)
        other = of(other)
        return LinExpr(
            self.columns + other.columns,
            self.factors + other.factors,
            self.constant + other.constant,
        )

    __radd__ = __add__

    def __mul__(self, factor: float) -> LinExpr:
        return LinExpr(self.columns, [factor * v for v in self.factors], factor * self.constant)

    __rmul__ = __mul__

    def __sub__(self, other: Any) -> LinExpr:
        return self + of(other) * -1.0

    def __rsub__(self, other: Any) -> LinExpr:
        return self * -1.0 + other


class Var:
    """A column."""

    __slots__ = ("column",)

    def __init__(self, column: int) -> None:
        self.column = column

    def __add__(self, other: Any) -> LinExpr:
        return of(self) + other

    __radd__ = __add__

    def __mul__(self, factor: float) -> LinExpr:
        return LinExpr([self.column], [factor], 0.0)

    __rmul__ = __mul__

    def __sub__(self, other: Any) -> LinExpr:
        return of(self) - other

    def __rsub__(self, other: Any) -> LinExpr:
        return LinExpr([self.column], [-1.0], other)


def of(value: Any) -> LinExpr:
    """A number, variable or expression as an expression."""
    if isinstance(value, LinExpr):
        return value
    if isinstance(value, Var):
        return LinExpr([value.column], [1.0], 0.0)
    return LinExpr([], [], float(value))


def quicksum(parts: Iterable[Any]) -> LinExpr:
    """The sum of numbers, variables and expressions, in linear time."""
    columns: list[int] = []
    factors: list[float] = []
    constant = 0.0
    for part in parts:
        if isinstance(part, Var):
            columns.append(part.column)
            factors.append(1.0)
        else:
            part = of(part)
            columns += part.columns
            factors += part.factors
            constant += part.constant
    return LinExpr(columns, factors, constant)


class Model:
    """Columns and rows as they come."""

    def __init__(self, name: str = "") -> None:
        self.Params = SimpleNamespace()
        self.columns: list[tuple[float, float, str, str]] = []
        self.rows: list[tuple[list[int], list[float], str, float]] = []
        self.objective: LinExpr | None = None

    def addVars(
        self, *sizes: int, lb: float = 0.0, ub: float = 1e100, vtype: str = "C", name: str = ""
    ) -> dict[Any, Var]:
        """Adds a variable for each key of a product of ranges."""
        made = {}
        for key in product(*map(range, sizes)):
            made[key] = Var(len(self.columns))
            self.columns.append((lb, ub, vtype, f"{name}[{','.join(map(str, key))}]"))
        return made

    def addLConstr(self, lhs: Any, sense: str, rhs: Any) -> None:
        """Adds a row."""
        difference = of(lhs) - rhs
        self.rows.append((difference.columns, difference.factors, sense, -difference.constant))

    def setObjective(self, expr: Any, sense: int) -> None:
        """Sets the objective."""
        self.objective = of(expr)

    def update(self) -> None:
        """Nothing."""

    @property
    def NumConstrs(self) -> int:
        """Number of rows."""
        return len(self.rows)
