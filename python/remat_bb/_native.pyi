"""Types of the native module. Costs are in the instance's cost unit, sizes in bytes, times in
seconds."""

import os
from collections.abc import Callable, Iterator
from typing import Any

from ._modelling import Constr as Constr
from ._modelling import Core as Core
from ._modelling import LinExpr as LinExpr
from ._modelling import QuadExpr as QuadExpr
from ._modelling import TempConstr as TempConstr
from ._modelling import Var as Var
from ._modelling import quicksum as quicksum
from ._types import Budget, Duration, InstanceSource, PlanSource

__version__: str

class Instance:
    """A training graph: operators in execution order, each with its cost and the size of its
    output. Immutable.

    Equal instances have equal operators, costs and sizes.
    """

    def __new__(cls, source: InstanceSource, /) -> Instance:
        """Makes an instance.

        Args:
            source: A path to a file (``remat-instance/1``, benchmark or NetworkX node-link JSON,
                plain or gzipped), ``"zoo:MODEL?parameter=value"``, a dictionary with the content of
                such a file, the bytes of one, a ``networkx.DiGraph``, or an instance.

        Raises:
            InvalidInstance: names file, field, value and what would be right.
            FileError: the file cannot be opened.
        """

    @staticmethod
    def zoo(model: str, /) -> Instance:
        """A model of the zoo by name and parameters: ``"llama?layers=24"``. :func:`zoo_models`
        lists them.

        Raises:
            InvalidInstance: names the model or parameter and those that there are.
        """

    @property
    def name(self) -> str:
        """Name of the instance."""

    @property
    def nodes(self) -> list[str]:
        """Names of the operators in execution order."""

    def __len__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    @property
    def cost_unit(self) -> str:
        """Unit of all costs, for example ``ns``."""

    @property
    def cost_unit_nanoseconds(self) -> float | None:
        """Length of a unit of cost in nanoseconds, where it is a time."""

    @property
    def has_implementations(self) -> bool:
        """True if operators offer choices that only MONeT's program knows: implementations or
        in-place."""

    @property
    def has_loss(self) -> bool:
        """True if the graph has a loss, after which the backward pass begins."""

    @property
    def fixed_bytes(self) -> int:
        """Memory that is resident whatever the plan says: parameters, input, parameter
        gradients."""

    @property
    def formulation(self) -> str:
        """The program that suits the instance: ``checkmate`` or ``monet``."""

    @property
    def base_cost(self) -> int:
        """Cost of the step without recomputation, under the program that suits the instance."""

    @property
    def peak_memory_bytes(self) -> int:
        """Peak without recomputation, which percentages of budgets are of, under that program."""

    @property
    def sha256(self) -> str:
        """Digest of the content, as ``--json`` of the command has it."""

    def to_dict(self) -> dict[str, Any]:
        """The instance as a ``remat-instance/1`` document; ``Instance(document)`` is equal to
        it."""

    def to_networkx(self) -> Any:
        """The instance as a ``networkx.DiGraph``: fields of the native format as attributes, edges
        from tensors to readers.

        ``Instance(graph)`` is equal to it.

        Raises:
            RematError: NetworkX is not installed.
        """

    def save(self, path: str | os.PathLike[str], /) -> None:
        """Writes a ``remat-instance/1`` file, gzipped where its name ends in ``.gz``; it is whole
        or as it was.

        Raises:
            FileError: in the words of the system.
        """

    def format_cost(self, cost: int, /) -> str:
        """A cost in words: as a time where the unit is one (``1.228 s``), else with its unit."""

class Plan:
    """A plan: what to compute, keep, free and compute again in a training step. Replayed,
    immutable."""

    @staticmethod
    def load(instance: InstanceSource, source: PlanSource, /) -> Plan:
        """Reads a plan or schedule of an instance and replays it; all numbers are those of the
        replay.

        :func:`verify` compares them with what the file claims.

        Raises:
            InvalidPlan: it cannot be read, or is of another instance.
            PlanRefuted: it cannot be executed.
            FileError: the file cannot be opened.
        """

    @property
    def instance(self) -> Instance:
        """The instance as it was given."""

    @property
    def formulation(self) -> str:
        """The program whose memory and cost semantics hold: ``checkmate`` or ``monet``."""

    @property
    def status(self) -> str | None:
        """``optimal`` (proven best within the gap), ``feasible`` or ``interrupted``; ``None``
        without a search."""

    @property
    def interrupted(self) -> bool:
        """True if Ctrl-C ended the search."""

    @property
    def objective(self) -> int:
        """Cost of the step by the replay."""

    @property
    def bound(self) -> int | None:
        """Proven: no plan among those of ``bound_scope`` within the budget costs less. ``None``
        without a search."""

    @property
    def gap(self) -> float | None:
        """``(objective - bound) / objective``; ``None`` without a search."""

    @property
    def bound_scope(self) -> str | None:
        """Plans that the bound covers: ``stage-schedules``; ``None`` without a search."""

    @property
    def base_cost(self) -> int:
        """Cost of the step without recomputation."""

    @property
    def cost_unit(self) -> str:
        """Unit of all costs."""

    @property
    def overhead(self) -> float:
        """Extra cost over ``base_cost`` as a fraction: 0.05 is 5%."""

    @property
    def peak_memory_bytes(self) -> int:
        """Peak by the replay, fixed memory included."""

    @property
    def peak_at(self) -> str:
        """The operator that runs at the peak."""

    @property
    def plain_peak_memory_bytes(self) -> int:
        """Peak of the step without recomputation."""

    @property
    def budget_bytes(self) -> int | None:
        """The budget that it was made for, where one is recorded."""

    @property
    def seconds(self) -> float | None:
        """Time that the search took; ``None`` without a search, 0 where other budgets of a frontier
        settled it."""

    @property
    def search(self) -> dict[str, int | None] | None:
        """Counters of the search: ``nodes``, ``lp_iterations``, ``moves``, ``None`` in
        frontiers."""

    @property
    def recomputed(self) -> dict[str, int]:
        """Operators that are computed again, in execution order, with the times beyond the
        first."""

    @property
    def order(self) -> list[str]:
        """Names of the operators in the order of all computations."""

    @property
    def timeline(self) -> list[tuple[int, int]]:
        """For each computation the cost of the step up to and including it, and the bytes in use
        while it runs."""

    @property
    def steps(self) -> list[tuple[Any, ...]]:
        """The statements: ``("allocate", register, node)``, ``("compute", node, register)``, the
        same with an implementation where the node has several, or ``("deallocate", register)``."""

    def to_dict(self) -> dict[str, Any]:
        """The plan as a ``remat-plan/1`` document."""

    def save(self, path: str | os.PathLike[str], /) -> None:
        """Writes a ``remat-plan/1`` file, gzipped where its name ends in ``.gz``; it is whole or as
        it was.

        Raises:
            FileError: in the words of the system.
        """

    def explain(self, *, all: bool = False) -> str:
        """The plan in words: what is computed again, for what, and whether the budget forced it."""

    def memory_svg(self) -> str:
        """Memory over the step, beside the step without recomputation and the budget, as SVG
        text."""

    def schedule_svg(self) -> str:
        """Operators computed and tensors kept in each stage, as SVG text."""

    def _repr_svg_(self) -> str: ...

class Progress:
    """A look at a search in progress. Immutable."""

    @property
    def seconds(self) -> float:
        """Time since the start."""

    @property
    def objective(self) -> int | None:
        """Cost of the best plan so far; ``None`` before the first."""

    @property
    def bound(self) -> int:
        """Proven lower bound."""

    @property
    def gap(self) -> float | None:
        """``(objective - bound) / objective``; ``None`` before the first plan."""

    @property
    def nodes(self) -> int:
        """Branch-and-bound nodes so far."""

    @property
    def moves(self) -> int:
        """Moves of the annealing so far."""

    @property
    def done(self) -> int:
        """Budgets of a frontier that are done."""

    @property
    def total(self) -> int:
        """Budgets of a frontier; 1 in a solve."""

class FrontierPoint:
    """One budget's place on the frontier. Immutable."""

    @property
    def budget_bytes(self) -> int: ...
    @property
    def status(self) -> str:
        """``optimal``, ``feasible``, ``infeasible``, ``limit`` or ``interrupted``."""

    @property
    def plan(self) -> Plan | None:
        """The best plan, of this budget or of a smaller one."""

    @property
    def objective(self) -> int | None: ...
    @property
    def overhead(self) -> float | None: ...
    @property
    def peak_memory_bytes(self) -> int | None: ...
    @property
    def bound(self) -> int | None:
        """Proven lower bound, by this budget's solve or that of a larger one; ``None`` where
        nothing fits."""

    @property
    def gap(self) -> float | None: ...
    @property
    def bound_scope(self) -> str: ...
    @property
    def seconds(self) -> float:
        """Time of its own solve; 0 where other budgets settled it."""

    @property
    def infeasible_because(self) -> str | None:
        """Reason why nothing fits, where that was proven."""

    def to_dict(self) -> dict[str, Any]:
        """All of it but the plan."""

class Frontier:
    """Cost against memory of an instance: a sequence of points in ascending order of budgets.
    Immutable."""

    @property
    def instance(self) -> Instance: ...
    @property
    def interrupted(self) -> bool:
        """True if Ctrl-C ended it: budgets that were not reached have no point."""

    @property
    def plain_peak_memory_bytes(self) -> int:
        """Peak of the step without recomputation."""

    @property
    def base_cost(self) -> int:
        """Cost of the step without recomputation."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> FrontierPoint: ...
    def __iter__(self) -> Iterator[FrontierPoint]: ...
    def to_dicts(self) -> list[dict[str, Any]]:
        """The points as dictionaries, without their plans."""

    def svg(self) -> str:
        """Cost against memory with the lower bounds, as SVG text."""

    def _repr_svg_(self) -> str: ...

class Baseline:
    """A known strategy at a budget. Immutable."""

    @property
    def name(self) -> str: ...
    @property
    def fits(self) -> bool:
        """True if its plan fits the budget."""

    @property
    def plan(self) -> Plan | None:
        """Its plan, which may need more than the budget."""

    @property
    def objective(self) -> int | None: ...
    @property
    def overhead(self) -> float | None: ...
    @property
    def peak_memory_bytes(self) -> int | None: ...
    @property
    def because(self) -> str | None:
        """Reason why it has no plan."""

class MaxBatch:
    """Result of a search over batch sizes. Immutable."""

    @property
    def batch(self) -> int | None:
        """The largest batch with a plan; ``None`` where not even 1 has one."""

    @property
    def objective(self) -> int | None: ...
    @property
    def peak_memory_bytes(self) -> int | None: ...
    @property
    def proven_too_large(self) -> int | None:
        """The smallest batch of which it was proven that it cannot be trained."""

    @property
    def exact(self) -> bool:
        """True if the next batch is proven to be too large."""

    @property
    def asked(self) -> list[tuple[int, str]]:
        """Batches in the order in which they were asked for, each with ``yes``, ``no`` or
        ``unknown``."""

class Verified:
    """Findings of a replay that confirms what a plan or schedule records. Immutable."""

    @property
    def kind(self) -> str:
        """``plan`` or ``schedule``."""

    @property
    def formulation(self) -> str: ...
    @property
    def objective(self) -> int: ...
    @property
    def base_cost(self) -> int: ...
    @property
    def overhead(self) -> float: ...
    @property
    def peak_memory_bytes(self) -> int: ...
    @property
    def peak_at(self) -> str: ...
    @property
    def budget_bytes(self) -> int | None:
        """The budget that it keeps, if there is one."""

    @property
    def computations(self) -> int: ...
    @property
    def stage_schedule(self) -> bool:
        """True if bounds of :func:`solve` hold for it."""

    @property
    def no_stage_schedule_because(self) -> str | None: ...

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
            stop: Ends the solve when it is set.
            algorithm: For linear programs: ``auto``, ``primal`` or ``dual``.
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
        """``optimal``, ``infeasible``, ``unbounded``, ``cutoff`` (nothing is better),
        ``time limit``, ``node limit``, ``iteration limit``, ``memory limit``, ``work limit``,
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

def solve(
    instance: InstanceSource,
    budget: Budget,
    *,
    time_limit: Duration | None = None,
    formulation: str | None = None,
    threads: int | None = None,
    seed: int = 0,
    gap: float | str | None = None,
    starts: list[Plan] = ...,
    on_progress: Callable[[Progress], object] | None = None,
) -> Plan: ...
def frontier(
    instance: InstanceSource,
    budgets: Any,
    *,
    time_limit: Duration | None = None,
    formulation: str | None = None,
    threads: int | None = None,
    seed: int = 0,
    gap: float | str | None = None,
    on_progress: Callable[[Progress], object] | None = None,
) -> Frontier: ...
def baselines(
    instance: InstanceSource,
    budget: Budget,
    *,
    formulation: str | None = None,
    threads: int | None = None,
) -> list[Baseline]: ...
def max_batch(
    model: str | Callable[[int], Any],
    budget: Budget,
    *,
    overhead: float = 1.0,
    start: int = 32,
    most: int = 65536,
    time_limit: Duration | None = None,
    threads: int | None = None,
    seed: int = 0,
) -> MaxBatch: ...
def verify(
    instance: InstanceSource, plan: PlanSource, *, budget: Budget | None = None
) -> Verified: ...
def knapsack(weights: list[int], profits: list[int], capacity: int) -> tuple[list[int], bool]:
    """Indices of the items whose profits sum up to the most while their weights keep a capacity,
    and true if no choice is worth more (false where memory ended the search).

    Raises:
        InvalidArgument: for lists of different lengths, and sums of 2^64 or more.
    """

def format_bytes(bytes: int, /) -> str:
    """A size in words with a binary unit: ``5.02 GiB``."""

def zoo_models() -> list[dict[str, Any]]:
    """The models of the zoo: ``name``, ``description`` and ``parameters``, each with its default
    and meaning."""

def parse_seconds(time_limit: Duration, /) -> float:
    """A time limit in seconds, as it is given to :func:`solve`.

    Raises:
        InvalidArgument: quotes it and says what is taken.
    """

def run_command(arguments: list[str]) -> int:
    """Runs the command line, the program's name first, and returns its exit code."""
