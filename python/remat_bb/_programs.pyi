"""Types of the native module's programs of any kind. Times are in seconds."""

import os
from collections.abc import Callable
from typing import Any

from ._types import Duration

class Program:
    """A linear or mixed-integer program of any kind, under edit.

    Columns and rows have handles, which are numbers from 0 up in order of creation: they keep
    their meaning when others are removed. Vectors by handle have NaN where a column or row was
    removed. Bounds and sides beyond 1e20 are infinite. Vectors are NumPy arrays or sequences.
    """

    def __new__(cls, name: str = "", *, maximise: bool = False) -> Program: ...
    @staticmethod
    def read(path: str | os.PathLike[str], /) -> Program:
        """A program of an MPS or LP file (``.lp``), plain or gzipped: handles are its columns and
        rows in order.

        Raises:
            RematError: names file, line and what would be right.
        """

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes an LP file (``.lp``) or an MPS file, gzipped where the name ends in ``.gz``."""

    def add_cols(
        self, lower: Any, upper: Any, cost: Any, kinds: str, names: list[str] | None = None
    ) -> int:
        """Adds columns without entries.

        Args:
            lower, upper, cost: Vectors of the same length.
            kinds: A letter for each: ``C`` continuous, ``B`` binary, ``I`` integer; ``S`` and ``N``
                are 0 or within their bounds, continuous and integer.

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
            starts: Positions where the entries of each row begin, and their number at the end.
            indices, values: Handles of columns, and entries; those of the same column of a row are
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
        """Name of a column, where it was given one."""

    def row_name(self, row: int) -> str | None:
        """Name of a row, where it was given one."""

    def col_of_name(self, name: str) -> int | None:
        """Handle of the column of a name; without one of its own its name is its handle behind a
        ``C``. ``None`` where there is none."""

    def row_of_name(self, name: str) -> int | None:
        """Handle of the row of a name; without one of its own its name is its handle behind an
        ``R``. ``None`` where there is none."""

    @property
    def needs_search(self) -> bool:
        """True if it takes a search: any column is to be integer, or something is no linear row."""

    @property
    def cols(self) -> list[int]:
        """Handles of the columns."""

    @property
    def rows(self) -> list[int]:
        """Handles of the rows."""

    @property
    def rounded(self) -> str | None:
        """The first number of the file that it was read from that has more digits than a double
        holds, and was rounded, with its place; ``None`` without one."""

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
        """True if any column is to be integer."""

    @property
    def name(self) -> str:
        """Name of the program."""

    @name.setter
    def name(self, name: str) -> None: ...
    @property
    def maximise(self) -> bool:
        """True if the objective is to be as large as it can."""

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
            start: Values by handle, with NaN where it says nothing.

        Returns:
            Objective and values; ``None`` where nothing is found.

        Raises:
            InvalidArgument: ``start`` is no vector of finite numbers and NaN, or is too long.
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
        """Solves the program: a published rematerialization program that is recognised as such,
        whatever else by the simplex methods or branch and cut.

        Args:
            gap, absolute_gap: Differences of objective and bound at which a search ends; 1e-7 and
                1e-9 by default.
            node_limit, iteration_limit, work_limit, memory_limit: Limits of the search, of linear
                programs, of both in deterministic units, and in bytes of open nodes.
            cutoff: Only better points are wanted.
            pool_size: Number of points found that are kept.
            starts: Points by handle to start from.
            hints: A point as a start that is tried after those. Of starts and hints that have NaN,
                the rest is searched for with the numbers fixed.
            objectives: Objectives in place of the program's, each ``((cols, values, constant),
                priority, weight, abstol, reltol)``: those of greater priority first; later ones may
                make them worse by the larger of both tolerances.
            best_points: True finds the ``pool_size`` best points, distinct in the integer columns,
                in exact order.
            pool_gap, pool_absolute_gap: Largest difference of those to the best, as a share of it
                and in its unit.
            recognise: False leaves everything to the general search.
            exact: True settles the answer in rational numbers (``Answer.exact``); gaps that are
                not given are then 0.
            stop: Ends the solve when it is set.
            algorithm: For linear programs: ``auto``, ``primal``, ``dual`` or ``barrier``.
            on_progress: Takes a look now and then.
            on_point: Takes objective and values of each better point, and holds the search up.
            separate: Takes values, objective, and True if all integers are whole; returns rows that
                hold for every point, each ``(cols, values, lower, upper)``.
            suggest: Returns points to be tried, by handle, with NaN where they say nothing.
            lazy_rows: True asks ``separate`` about each point before it counts: its rows are part
                of the program.
            at_nodes: True asks ``separate`` and ``suggest`` at the nodes of the search.

        Returns:
            The answer. Ctrl-C ends the search with the best point so far; where there is none,
            it is raised.

        Raises:
            InvalidArgument: names the setting.
        """

    def find_iis(
        self,
        *,
        time_limit: Duration | None = None,
        threads: int | None = None,
        stop: Stop | None = None,
    ) -> Iis | None:
        """Finds rows, bounds and special constraints that no point satisfies together, none of
        which can be left out. Ctrl-C and the time limit end it with what is found so far.

        Returns:
            ``None`` where the program has a point.

        Raises:
            InvalidArgument: within the limits there is no proof that the program is infeasible.
        """

class Iis:
    """Rows, bounds and special constraints that no point satisfies together."""

    @property
    def rows(self) -> list[int]:
        """Handles of rows."""

    @property
    def specials(self) -> list[int]:
        """Handles of special constraints."""

    @property
    def upper(self) -> list[int]:
        """Handles of columns whose upper bound is in it."""

    @property
    def minimal(self) -> bool:
        """True if it was proven that nothing can be left out."""

    @property
    def lower(self) -> list[int]:
        """Handles of columns whose lower bound is in it."""

class Stop:
    """A flag that ends a solve with the best point so far, from any thread."""

    def __new__(cls) -> Stop: ...
    def set(self) -> None:
        """Ends the solves that have this flag."""

class ProgramProgress:
    """A look at the search in a program."""

    @property
    def seconds(self) -> float:
        """Seconds since the start."""

    @property
    def objective(self) -> float | None:
        """Objective of the best point; ``None`` before the first."""

    @property
    def bound(self) -> float:
        """No point is better than this."""

    @property
    def nodes(self) -> int:
        """Nodes done."""

    @property
    def open(self) -> int:
        """Nodes open."""

    @property
    def lp_iterations(self) -> int:
        """Simplex iterations."""

class Answer:
    """The answer to a program. Values of integer columns are whole numbers."""

    @property
    def status(self) -> str:
        """``optimal``, ``infeasible``, ``unbounded``, ``infeasible or unbounded`` (the relaxation
        has no limit, no point was found), ``cutoff`` (nothing is better), ``time limit``,
        ``node limit``, ``iteration limit``, ``memory limit``, ``work limit``,
        ``interrupted`` or ``numeric`` (trouble that no remedy cured)."""

    @property
    def objective(self) -> float | None:
        """Objective of the best point; ``None`` without one."""

    @property
    def bound(self) -> float:
        """No point is better than this."""

    @property
    def gap(self) -> float:
        """``|objective - bound| / |objective|``; infinite without a point."""

    @property
    def objectives(self) -> list[float]:
        """Objectives of all points, the best first."""

    @property
    def objective_values(self) -> list[float]:
        """Values of several objectives at the best point, in their order; empty for one."""

    def x(self, number: int = 0) -> Any:
        """Values of a point by handle, as an array; ``None`` where there is no such point."""

    @property
    def duals(self) -> Any:
        """By row the change of the objective per unit of its side; ``None`` with integers."""

    @property
    def reduced_costs(self) -> Any:
        """By column ``cost - A^T y``; ``None`` with integers."""

    @property
    def basis(self) -> tuple[str, str] | None:
        """Letters for columns and for rows: ``B`` basic, ``L`` at the lower side, ``U`` at the
        upper, ``F`` free, ``-`` removed."""

    @property
    def farkas(self) -> Any:
        """By row, a proof that a linear program has no point."""

    @property
    def ray(self) -> Any:
        """By column, a direction in which a linear program's objective improves without end."""

    @property
    def exact(self) -> tuple[str | None, str | None, str | None] | None:
        """Objective and bound as fractions, and the reason why they could not be settled, each
        ``None`` where there is none; ``None`` unless ``exact`` was asked for."""

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
        """Time taken."""

    @property
    def recognised(self) -> tuple[str, int] | None:
        """Name of the published program that it was recognised as, and nodes of its graph."""
