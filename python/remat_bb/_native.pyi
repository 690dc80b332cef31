"""Types of the native module. Costs are in the instance's cost unit, sizes in bytes, times in
seconds."""

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from typing_extensions import Unpack

from ._modelling import Constr as Constr
from ._modelling import Core as Core
from ._modelling import LinExpr as LinExpr
from ._modelling import QuadExpr as QuadExpr
from ._modelling import TempConstr as TempConstr
from ._modelling import Var as Var
from ._modelling import quicksum as quicksum
from ._programs import Answer as Answer
from ._programs import Iis as Iis
from ._programs import Program as Program
from ._programs import ProgramProgress as ProgramProgress
from ._programs import Stop as Stop
from ._types import (
    BaselinesOptions,
    Budget,
    Duration,
    FrontierOptions,
    InstanceSource,
    LimitOptions,
    MaxBatchOptions,
    PlanSource,
    SolveOptions,
)

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
        """Cost of the step by the replay; of a plan that copies to the host, its makespan."""

    @property
    def makespan(self) -> int:
        """Time of the step: cost of all computations, and ``idle``."""

    @property
    def idle(self) -> int:
        """Time in which computations wait for copies; 0 without copies to the host."""

    @property
    def to_host_bytes(self) -> int:
        """Bytes copied to the host."""

    @property
    def from_host_bytes(self) -> int:
        """Bytes copied from the host."""

    @property
    def host_peak_bytes(self) -> int:
        """Peak of host memory for copies."""

    @property
    def copies(self) -> list[tuple[str, bool, int, int]]:
        """Copies to the host and back in the order of their statements: ``(node, to_host, begin,
        end)``, times in ``cost_unit``."""

    @property
    def bound(self) -> int | None:
        """Proven: no plan among those of ``bound_scope`` within the budget costs less. ``None``
        without a search."""

    @property
    def gap(self) -> float | None:
        """``(objective - bound) / objective``; ``None`` without a search."""

    @property
    def bound_scope(self) -> str | None:
        """Plans that the bound covers: ``stage-schedules``; with ``reorder=True`` also
        ``stage-schedules-in-this-order``, the order found, and ``all-plans``. ``None`` without a
        search."""

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
        """For each computation the cost of the step up to and including it, waiting for copies
        included, and the bytes in use while it runs."""

    @property
    def steps(self) -> list[tuple[Any, ...]]:
        """The statements: ``("allocate", register, node)``, ``("compute", node, register)``, the
        same with an implementation where the node has several, ``("deallocate", register)``, and
        for copies ``("offload", register, buffer)``, ``("wait", buffer)``, ``("prefetch", buffer,
        register)`` and ``("release", buffer)``."""

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

    @property
    def arena_bytes(self) -> int | None:
        """Size of the arena in which everything that the plan takes has an address; ``None``
        without addresses."""

    @property
    def arena_bound_bytes(self) -> int | None:
        """Proven: no arena for this plan and alignment is smaller. ``None`` unless it was placed
        here."""

    @property
    def alignment_bytes(self) -> int | None:
        """The number of bytes that addresses are multiples of; ``None`` without addresses."""

    @property
    def fragmentation(self) -> float | None:
        """``arena_bytes`` over ``peak_memory_bytes`` as a fraction, 0.0 if nothing is lost;
        ``None`` without addresses."""

    @property
    def addresses(self) -> list[tuple[str, int, int, int]] | None:
        """Pieces of memory with their addresses: ``(kind, statement, offset, bytes)``, where
        ``kind`` is ``"fixed"``, ``"tensor"`` or ``"workspace"``, and ``statement`` the position in
        ``steps``; ``None`` without addresses."""

    def place(
        self,
        *,
        alignment: int | None = None,
        **options: Unpack[LimitOptions],
    ) -> Plan:
        """The plan with an address in one arena for everything that it takes, as small as it can
        be.

        Args:
            alignment: Number of bytes that offsets are multiples of, a power of two; by default as
                the sizes suggest.

        Raises:
            InvalidArgument: for an alignment that is no power of two.
        """

    def addresses_svg(self) -> str:
        """Addresses over the step, as SVG text.

        Raises:
            InvalidArgument: the plan has no addresses.
        """

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
    def objective(self) -> int | None:
        """Cost of the plan; with ``offload`` its makespan."""

    @property
    def overhead(self) -> float | None: ...
    @property
    def peak_memory_bytes(self) -> int | None: ...
    @property
    def idle(self) -> int | None:
        """Time in which computations wait for copies; 0 without copies to the host."""

    @property
    def to_host_bytes(self) -> int | None: ...
    @property
    def from_host_bytes(self) -> int | None: ...
    @property
    def host_peak_bytes(self) -> int | None: ...
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
    def objective(self) -> int | None:
        """Cost of the plan; with ``offload`` its makespan."""

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
    def objective(self) -> int | None:
        """Cost of its plan; with ``offload`` its makespan."""

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

class Order:
    """An order of a graph's operators and what is proven of its peak. Immutable."""

    @property
    def status(self) -> str:
        """``optimal``, ``feasible`` (the bound is below), ``infeasible`` (no order fits into the
        budget) or ``interrupted``."""

    @property
    def order(self) -> list[int]:
        """Operators in the order in which they run."""

    @property
    def step_bytes(self) -> list[int]:
        """Memory while each operator runs."""

    @property
    def peak_memory_bytes(self) -> int: ...
    @property
    def bound(self) -> int:
        """Bytes that no order of the variant needs less than."""

    @property
    def gap(self) -> float: ...
    @property
    def base_memory_bytes(self) -> int:
        """Resident memory."""

    @property
    def program_peak_bytes(self) -> int | None:
        """Peak of the program's own order; ``None`` where the variant does not allow it."""

    @property
    def seconds(self) -> float: ...
    def to_dict(self) -> dict[str, Any]:
        """The order as a ``remat-order-plan/1`` dictionary."""

    def save(self, path: str | os.PathLike[str]) -> None: ...

class OrderBaseline:
    """The order that a rule finds. Immutable."""

    @property
    def name(self) -> str: ...
    @property
    def order(self) -> list[int]:
        """Operators in the order in which they run."""

    @property
    def peak_memory_bytes(self) -> int:
        """Memory of the order, resident memory included."""

class PlaceBaseline:
    """The addresses that a known way finds, or why it finds none. Immutable."""

    @property
    def name(self) -> str: ...
    @property
    def offsets(self) -> list[int] | None:
        """Offsets, in the order of the buffers."""

    @property
    def height_bytes(self) -> int | None:
        """Size of the arena."""

    @property
    def because(self) -> str | None:
        """Reason why there are no addresses."""

class MemoryPlan:
    """An order with an address for everything that it takes. Immutable."""

    @property
    def status(self) -> str: ...
    @property
    def order(self) -> list[int]: ...
    @property
    def offsets(self) -> dict[str, int]:
        """Offsets in the arena, by what has them: ``tensor 3``, ``workspace 7``."""

    @property
    def peak_memory_bytes(self) -> int:
        """Resident memory and the arena."""

    @property
    def bound(self) -> int:
        """Bytes that no order with any addresses needs less than."""

    @property
    def gap(self) -> float: ...
    @property
    def base_memory_bytes(self) -> int: ...
    @property
    def height_bytes(self) -> int:
        """Size of the arena."""

    @property
    def load_bytes(self) -> int: ...
    @property
    def program_peak_bytes(self) -> int | None: ...
    @property
    def seconds(self) -> float: ...
    def to_dict(self) -> dict[str, Any]:
        """The plan as a ``remat-memory-plan/1`` dictionary."""

    def save(self, path: str | os.PathLike[str]) -> None: ...

class Placement:
    """Addresses of buffers, and what is proven of their height. Immutable."""

    @property
    def status(self) -> str: ...
    @property
    def offsets(self) -> list[int]:
        """Offsets, in the order of the buffers."""

    @property
    def height_bytes(self) -> int: ...
    @property
    def bound(self) -> int: ...
    @property
    def gap(self) -> float: ...
    @property
    def load_bytes(self) -> int:
        """The largest sum of sizes that are live at one moment."""

    @property
    def seconds(self) -> float: ...

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
    @property
    def stage_schedule_with_copies(self) -> bool:
        """True if bounds with a link are over plans like it."""

    @property
    def idle(self) -> int:
        """Time in which computations wait for copies."""

    @property
    def to_host_bytes(self) -> int: ...
    @property
    def from_host_bytes(self) -> int: ...
    @property
    def host_peak_bytes(self) -> int: ...

def solve(
    instance: InstanceSource,
    budget: Budget,
    *,
    starts: Iterable[Plan] | None = None,
    on_progress: Callable[[Progress], object] | None = None,
    **options: Unpack[SolveOptions],
) -> Plan: ...
def improve(
    instance: InstanceSource,
    plan: PlanSource,
    *,
    budget: Budget | None = None,
    **options: Unpack[LimitOptions],
) -> Plan: ...
def frontier(
    instance: InstanceSource,
    budgets: Any,
    *,
    on_progress: Callable[[Progress], object] | None = None,
    **options: Unpack[FrontierOptions],
) -> Frontier: ...
def baselines(
    instance: InstanceSource,
    budget: Budget,
    **options: Unpack[BaselinesOptions],
) -> list[Baseline]: ...
def max_batch(
    model: str | Callable[[int], Any],
    budget: Budget,
    *,
    overhead: float,
    start: int,
    most: int,
    **options: Unpack[MaxBatchOptions],
) -> MaxBatch: ...
def options_table() -> list[dict[str, Any]]:
    """The table of options: ``name``, ``group``, ``form``, ``words`` of a choice, and ``help``."""

def verify(
    instance: InstanceSource, plan: PlanSource, *, budget: Budget | None = None
) -> Verified: ...
def order(
    graph: InstanceSource,
    *,
    variant: str = "sound+rng",
    budget: Budget | None = None,
    **options: Unpack[LimitOptions],
) -> Order: ...
def plan_memory(
    graph: InstanceSource,
    *,
    variant: str = "sound+rng",
    **options: Unpack[LimitOptions],
) -> MemoryPlan: ...
def place(
    lives: Any,
    *,
    capacity: Budget | None = None,
    **options: Unpack[LimitOptions],
) -> Placement: ...
def order_baselines(
    graph: InstanceSource, *, variant: str = "sound+rng"
) -> list[OrderBaseline]: ...
def place_baselines(lives: Any, *, seed: int = 0) -> list[PlaceBaseline]: ...
def knapsack(weights: list[int], profits: list[int], capacity: int) -> tuple[list[int], bool]:
    """Indices of the items whose profits sum up to the most while their weights keep a capacity,
    and true if no choice is worth more (false where memory ended the search).

    Raises:
        InvalidArgument: for lists of different lengths, and sums of 2^64 or more.
    """

def format_bytes(bytes: int, /) -> str:
    """A size in words with a binary unit: ``5.02 GiB``."""

def host_link(text: str, /) -> dict[str, Any]:
    """Reads a link: ``"pcie3"``, ``"pcie4"``, ``"pcie5"``, ``"gh200"``, ``"gb300"``, a speed such
    as ``"12GB/s"``, or one each way, ``"24GB/s,50GB/s"``.

    Returns:
        It as ``host_link`` of a ``remat-instance/1`` document: ``to_host_bytes_per_second``,
        ``from_host_bytes_per_second``, ``latency_ns`` and ``duplex``.

    Raises:
        InvalidArgument: the text is none of these.
    """

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
