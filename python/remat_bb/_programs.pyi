"""Types of the native module's general programs. Times are in seconds."""

import os
from collections.abc import Callable
from typing import Any

from ._types import Duration

class Program:
    """A general linear or mixed-integer program that can be edited.

    Columns and rows have handles: numbers from 0 up in order of creation. A handle stays valid when
    others are removed. Vectors by handle have NaN for removed columns or rows. Bounds and sides
    beyond 1e20 are infinite. Vectors are NumPy arrays or sequences.
    """

    def __new__(cls, name: str = "", *, maximise: bool = False) -> Program: ...
    @staticmethod
    def read(path: str | os.PathLike[str], /) -> Program:
        """Reads an MPS or LP file (``.lp``), plain or gzipped. Handles follow the order of columns
        and rows in the file.

        Raises:
            RematError: the file cannot be read; the message names file, line and remedy.
        """

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes an LP file (``.lp``) or an MPS file, gzipped if the name ends in ``.gz``."""

    def add_cols(
        self, lower: Any, upper: Any, cost: Any, kinds: str, names: list[str] | None = None
    ) -> int:
        """Adds columns without entries.

        Args:
            lower, upper, cost: Vectors of the same length.
            kinds: A letter for each column: ``C`` continuous, ``B`` binary, ``I`` integer, ``S``
                semicontinuous (0 or within its bounds), ``N`` semi-integer.

        Returns:
            The handle of the first; others follow.

        Raises:
            InvalidArgument: for NaN, costs that are not finite, and vectors of unequal lengths.
        """

    def add_rows(
        self,
        lower: Any,
        upper: Any,
        starts: Any,
        indices: Any,
        values: Any,
        names: list[str] | None = None,
    ) -> int:
        """Adds rows in compressed form.

        Args:
            lower, upper: Sides of each row.
            starts: Position of the first entry of each row, and at the end the number of entries.
            indices, values: Handles of columns, and entries. Entries of the same row and column are
                added up.

        Returns:
            The handle of the first; others follow.
        """

    def remove_cols(self, handles: Any) -> None:
        """Removes columns and their entries."""

    def remove_rows(self, handles: Any) -> None:
        """Removes rows."""

    def set_bounds(self, col: int, lower: float, upper: float) -> None:
        """Sets the bounds of a column."""

    def set_cost(self, col: int, cost: float) -> None:
        """Sets the cost of a column."""

    def set_products(self, first: Any, second: Any, factors: Any) -> None:
        """Sets the quadratic part of the objective: the sum of ``factor * first * second``.

        Args:
            first, second: Handles of columns.
            factors: One number for each product; repeated products are added up.
        """

    def set_kind(self, col: int, kind: str, /) -> None:
        """Sets the kind of a column: ``C``, ``B``, ``I``, ``S`` or ``N``."""

    def set_sides(self, row: int, lower: float, upper: float) -> None:
        """Sets the sides of a row."""

    def set_entry(self, row: int, col: int, value: float) -> None:
        """Sets the entry of a row in a column."""

    def bounds(self, col: int) -> tuple[float, float]:
        """Bounds of a column."""

    def cost(self, col: int) -> float:
        """Cost of a column."""

    def kind(self, col: int) -> str:
        """Kind of a column: ``C``, ``B``, ``I``, ``S`` or ``N``."""

    def sides(self, row: int) -> tuple[float, float]:
        """Sides of a row."""

    def entries(self, row: int) -> list[tuple[int, float]]:
        """Entries of a row: handles of columns, and numbers."""

    def col_name(self, col: int) -> str | None:
        """Name of a column; ``None`` if it was given no name."""

    def row_name(self, row: int) -> str | None:
        """Name of a row; ``None`` if it was given no name."""

    def col_of_name(self, name: str) -> int | None:
        """Handle of the column with a name; ``None`` if there is no such column. An unnamed column
        is called ``C`` and its handle."""

    def row_of_name(self, name: str) -> int | None:
        """Handle of the row with a name; ``None`` if there is no such row. An unnamed row is called
        ``R`` and its handle."""

    @property
    def needs_search(self) -> bool:
        """True if the program needs a search: it has integer columns or special constraints."""

    @property
    def cols(self) -> list[int]:
        """Handles of the columns."""

    @property
    def rows(self) -> list[int]:
        """Handles of the rows."""

    @property
    def rounded(self) -> str | None:
        """The first number of the source file that was rounded because it has more digits than a
        double holds, with its place; ``None`` if every number is exact."""

    @property
    def num_cols(self) -> int:
        """Number of columns."""

    @property
    def num_rows(self) -> int:
        """Number of rows."""

    @property
    def num_nonzeros(self) -> int:
        """Number of entries that are not 0."""

    @property
    def has_integers(self) -> bool:
        """True if any column is integer."""

    @property
    def name(self) -> str:
        """Name of the program."""

    @name.setter
    def name(self, name: str) -> None: ...
    @property
    def maximise(self) -> bool:
        """True if the objective is maximised."""

    @maximise.setter
    def maximise(self, maximise: bool) -> None: ...
    @property
    def offset(self) -> float:
        """Constant of the objective."""

    @offset.setter
    def offset(self, offset: float) -> None: ...
    def complete(self, start: Any) -> tuple[float, list[float]] | None:
        """Finds the best point with the values of a start, on one thread and within small limits.

        Args:
            start: Values by handle; NaN marks missing values.

        Returns:
            Objective and values; ``None`` if no point is found.

        Raises:
            InvalidArgument: ``start`` is not a vector of finite numbers and NaN, or is too long.
        """

    def solve(
        self,
        *,
        time_limit: Duration | None = None,
        gap: float | None = None,
        absolute_gap: float | None = None,
        threads: int | None = None,
        seed: int = 0,
        node_limit: int | None = None,
        iteration_limit: int | None = None,
        work_limit: int | None = None,
        memory_limit: int | None = None,
        cutoff: float | None = None,
        pool_size: int = 1,
        starts: list[Any] | None = None,
        hints: Any = None,
        objectives: list[tuple[tuple[list[int], list[float], float], int, float, float, float]]
        | None = None,
        best_points: bool = False,
        pool_gap: float | None = None,
        pool_absolute_gap: float | None = None,
        presolve: bool = True,
        cuts: bool = True,
        heuristics: bool = True,
        recognise: bool = True,
        exact: bool = False,
        algorithm: str = "auto",
        feasibility_tolerance: float | None = None,
        integrality_tolerance: float | None = None,
        optimality_tolerance: float | None = None,
        stop: Stop | None = None,
        on_progress: Callable[[ProgramProgress], object] | None = None,
        on_point: Callable[[float, Any], object] | None = None,
        separate: Callable[[Any, float, bool], list[tuple[list[int], list[float], float, float]]]
        | None = None,
        suggest: Callable[[], list[list[float]]] | None = None,
        lazy_rows: bool = False,
        at_nodes: bool = False,
    ) -> Answer:
        """Solves the program. A recognised published rematerialization program has its own search;
        all others are solved by the simplex methods or branch and cut.

        Args:
            gap, absolute_gap: Relative and absolute gap at which a search ends; 1e-7 and 1e-9 by
                default.
            node_limit, iteration_limit, work_limit, memory_limit: Limits on nodes of the search, on
                simplex iterations of linear programs, on deterministic units of work, and on bytes
                of open nodes.
            cutoff: Objective that points must improve on.
            pool_size: Number of points that are kept.
            starts: Points by handle to start from.
            hints: A point that is tried after the starts. Missing values (NaN) of starts and hints
                are searched for with the given values fixed.
            objectives: Objectives that replace the program's own, each ``((cols, values, constant),
                priority, weight, abstol, reltol)``. Higher priorities are solved first; later
                objectives may worsen them by the larger of both tolerances.
            best_points: True finds the ``pool_size`` best points, distinct in the integer columns,
                in exact order.
            pool_gap, pool_absolute_gap: Largest relative and absolute difference of the points in
                the pool from the best.
            recognise: False always uses the general search.
            exact: True proves the answer in rational arithmetic (``Answer.exact``); gaps are then 0
                by default.
            stop: Ends the solve when it is set.
            algorithm: For linear programs: ``auto``, ``primal``, ``dual`` or ``barrier``.
            on_progress: Called with the state of the search from time to time.
            on_point: Called with objective and values of each new incumbent; the search waits for
                it.
            separate: Called with values, objective, and True if all integer columns are integral;
                returns valid rows, each ``(cols, values, lower, upper)``.
            suggest: Returns points to be tried, by handle; NaN marks missing values.
            lazy_rows: True calls ``separate`` for each point before the point counts: the returned
                rows are part of the program.
            at_nodes: True calls ``separate`` and ``suggest`` at the nodes of the search.

        Returns:
            The answer. Ctrl-C ends the search with the best point so far; without a point
            ``KeyboardInterrupt`` is raised.

        Raises:
            InvalidArgument: a setting is invalid; the message names it.
        """

    def find_iis(
        self,
        *,
        time_limit: Duration | None = None,
        threads: int | None = None,
        stop: Stop | None = None,
    ) -> Iis | None:
        """Finds an irreducible infeasible subsystem: rows, bounds and special constraints that no
        point satisfies together, each of which is needed. Ctrl-C and the time limit end the search
        with the subsystem found so far.

        Returns:
            The subsystem; ``None`` if the program is feasible.

        Raises:
            InvalidArgument: infeasibility was not proven within the limits.
        """

class Iis:
    """An infeasible subsystem: rows, bounds and special constraints that no point satisfies
    together."""

    @property
    def rows(self) -> list[int]:
        """Handles of rows."""

    @property
    def specials(self) -> list[int]:
        """Handles of special constraints."""

    @property
    def upper(self) -> list[int]:
        """Handles of columns whose upper bound is a member."""

    @property
    def minimal(self) -> bool:
        """True if every member is proven to be needed."""

    @property
    def lower(self) -> list[int]:
        """Handles of columns whose lower bound is a member."""

class SearchLog:
    """The text of a solve's log: a head, rows of a table, an end."""

    def __new__(cls) -> SearchLog: ...
    def head(self, program: Program, settings: list[tuple[str, str]]) -> str:
        """The version, the size of a program, and the settings that differ from their defaults."""

    def row(self, snapshot: ProgramProgress) -> str:
        """The row of a snapshot, marked where its objective is new.

        A header comes before the first.
        """

    def ending(self, answer: Answer) -> str:
        """The status, objective, bound and gap of an answer, and the work that it took."""

class Stop:
    """A flag that any thread can set to end a solve with the best point so far."""

    def __new__(cls) -> Stop: ...
    def set(self) -> None:
        """Ends the solves that were given this flag."""

class ProgramProgress:
    """The state of a search in a program."""

    @property
    def seconds(self) -> float:
        """Seconds since the start."""

    @property
    def objective(self) -> float | None:
        """Objective of the incumbent; ``None`` before the first."""

    @property
    def bound(self) -> float:
        """Proven bound: no point is better."""

    @property
    def nodes(self) -> int:
        """Number of solved nodes."""

    @property
    def open(self) -> int:
        """Number of open nodes."""

    @property
    def lp_iterations(self) -> int:
        """Simplex iterations."""

class Answer:
    """The answer to a program. Values of integer columns are whole numbers."""

    @property
    def status(self) -> str:
        """``optimal``, ``infeasible``, ``unbounded``, ``infeasible or unbounded`` (the relaxation
        is unbounded and no point was found), ``cutoff`` (no better point exists), ``time limit``,
        ``node limit``, ``iteration limit``, ``memory limit``, ``work limit``, ``interrupted`` or
        ``numeric`` (unresolved numerical trouble)."""

    @property
    def objective(self) -> float | None:
        """Objective of the best point; ``None`` without a point."""

    @property
    def bound(self) -> float:
        """Proven bound: no point is better."""

    @property
    def gap(self) -> float:
        """``|objective - bound| / |objective|``; infinite without a point."""

    @property
    def objectives(self) -> list[float]:
        """Objectives of all points, best first."""

    @property
    def objective_values(self) -> list[float]:
        """Values of several objectives at the best point, in their order; empty for a single
        objective."""

    def x(self, number: int = 0) -> Any:
        """Values of a point by handle, as an array; ``None`` if there is no such point."""

    @property
    def duals(self) -> Any:
        """Dual values by row: the change of the objective per unit of the side; ``None`` with
        integers."""

    @property
    def reduced_costs(self) -> Any:
        """Reduced costs by column, ``cost - A^T y``; ``None`` with integers."""

    @property
    def basis(self) -> tuple[str, str] | None:
        """Letters for columns and for rows: ``B`` basic, ``L`` at the lower side, ``U`` at the
        upper, ``F`` free, ``-`` removed."""

    @property
    def farkas(self) -> Any:
        """A Farkas proof by row that a linear program is infeasible."""

    @property
    def ray(self) -> Any:
        """A ray by column along which the objective of a linear program improves without limit."""

    @property
    def exact(self) -> tuple[str | None, str | None, str | None] | None:
        """Objective and bound as fractions, and the reason why an exact answer failed, each
        possibly ``None``; ``None`` unless ``exact`` was set."""

    @property
    def nodes(self) -> int:
        """Nodes of the tree."""

    @property
    def lp_iterations(self) -> int:
        """Simplex iterations."""

    @property
    def ticks(self) -> int:
        """Work in deterministic units."""

    @property
    def seconds(self) -> float:
        """Time of the solve."""

    @property
    def recognised(self) -> tuple[str, int] | None:
        """Name of the recognised published program, and number of nodes of its graph; ``None`` if
        it was not recognised."""
