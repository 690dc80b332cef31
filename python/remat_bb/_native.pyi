"""Types of the native module. Costs are in the instance's cost unit, sizes in bytes, times in
seconds."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
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
from ._programs import SearchLog as SearchLog
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
    """A training graph: operators in execution order, each with a cost and an output size.
    Immutable.

    Instances are equal if their operators, costs and sizes are equal.
    """

    def __new__(cls, source: InstanceSource, /) -> Instance:
        """Makes an instance.

        Args:
            source: A path to a file (``remat-instance/1``, benchmark or NetworkX node-link JSON,
                plain or gzipped), ``"zoo:MODEL?parameter=value"``, the content of such a file as a
                dictionary or as bytes, a ``networkx.DiGraph``, or an instance.

        Raises:
            InvalidInstance: the source is invalid; the message names file, field, value and remedy.
            FileError: the file cannot be opened.
        """

    @staticmethod
    def zoo(model: str, /) -> Instance:
        """A model of the zoo by name and parameters: ``"llama?layers=24"``. :func:`zoo_models`
        lists them.

        Raises:
            InvalidInstance: an unknown model or parameter; the message lists the known ones.
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
        """Length of a unit of cost in nanoseconds; ``None`` if the unit is not a time."""

    @property
    def has_implementations(self) -> bool:
        """True if operators offer choices that only MONeT's program has: implementations or
        in-place."""

    @property
    def has_loss(self) -> bool:
        """True if the graph has a loss, after which the backward pass begins."""

    @property
    def fixed_bytes(self) -> int:
        """Memory that is resident in every plan: parameters, input, parameter gradients."""

    @property
    def formulation(self) -> str:
        """The program that suits the instance: ``checkmate`` or ``monet``."""

    @property
    def base_cost(self) -> int:
        """Cost of the step without recomputation, under the program that suits the instance."""

    @property
    def peak_memory_bytes(self) -> int:
        """Peak without recomputation under that program; budgets in percent are shares of it."""

    @property
    def sha256(self) -> str:
        """SHA-256 digest of the content, as in the command's ``--json`` output."""

    def to_dict(self) -> dict[str, Any]:
        """The instance as a ``remat-instance/1`` document. ``Instance(document)`` equals the
        instance."""

    def to_networkx(self) -> Any:
        """The instance as a ``networkx.DiGraph``: fields of the native format as attributes, edges
        from tensors to readers.

        ``Instance(graph)`` equals the instance.

        Raises:
            RematError: NetworkX is not installed.
        """

    def save(self, path: str | os.PathLike[str], /) -> None:
        """Writes a ``remat-instance/1`` file atomically, gzipped if its name ends in ``.gz``.

        Raises:
            FileError: in the words of the system.
        """

    def format_cost(self, cost: int, /) -> str:
        """A cost as text: as a time if the unit is one (``1.228 s``), else with its unit."""

class Plan:
    """A plan: the statements that compute, keep, free and recompute tensors in a training step.
    Replayed, immutable."""

    @staticmethod
    def load(instance: InstanceSource, source: PlanSource, /) -> Plan:
        """Reads a plan or schedule of an instance and replays it. All figures come from the replay.

        :func:`verify` compares them with the figures in the file.

        Raises:
            InvalidPlan: it cannot be read, or belongs to another instance. PlanRefuted: it cannot
                be executed.
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
        """Cost of the step by the replay; the makespan if the plan copies to the host."""

    @property
    def makespan(self) -> int:
        """Time of the step: the cost of all computations plus ``idle``."""

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
        """Proven lower bound on the cost of all plans of ``bound_scope`` within the budget;
        ``None`` without a search."""

    @property
    def gap(self) -> float | None:
        """``(objective - bound) / objective``; ``None`` without a search."""

    @property
    def bound_scope(self) -> str | None:
        """Plans that the bound covers: ``all-plans``, ``plans-in-this-order`` or
        ``stage-schedules``. With ``reorder=True`` also ``stage-schedules-in-this-order``, for the
        order found. ``None`` without a search."""

    @property
    def wider_bound(self) -> int | None:
        """Proven lower bound over more plans than ``bound`` covers; ``None`` if ``bound`` covers as
        many."""

    @property
    def wider_bound_scope(self) -> str | None:
        """Plans that ``wider_bound`` covers."""

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
    def in_flight(self) -> int:
        """Micro-batches in flight, of which each waiting one holds ``saved_bytes``."""

    @property
    def saved_bytes(self) -> int:
        """Bytes that a micro-batch holds between its two passes; 0 if only one is in flight."""

    @property
    def peak_at(self) -> str:
        """The operator that runs at the peak."""

    @property
    def plain_peak_memory_bytes(self) -> int:
        """Peak of the step without recomputation."""

    @property
    def budget_bytes(self) -> int | None:
        """The budget of the plan, if one is recorded."""

    @property
    def seconds(self) -> float | None:
        """Time of the search; ``None`` without a search, 0 if other budgets of a frontier settled
        the plan."""

    @property
    def search(self) -> dict[str, int | None] | None:
        """Counters of the search: ``nodes``, ``lp_iterations``, ``moves``; ``None`` in
        frontiers."""

    @property
    def recomputed(self) -> dict[str, int]:
        """Recomputed operators in execution order, each with its number of recomputations."""

    @property
    def order(self) -> list[str]:
        """Names of the operators in the order of all computations."""

    @property
    def timeline(self) -> list[tuple[int, int]]:
        """For each computation the cost of the step up to its end, with waiting for copies, and the
        bytes in use while it runs."""

    @property
    def steps(self) -> list[tuple[Any, ...]]:
        """The statements: ``("allocate", register, node)``, ``("compute", node, register)``, with
        an implementation as a fourth entry if the node has several, and ``("deallocate",
        register)``. Copies are ``("offload", register, buffer)``, ``("wait", buffer)``,
        ``("prefetch", buffer, register)`` and ``("release", buffer)``."""

    def to_dict(self) -> dict[str, Any]:
        """The plan as a ``remat-plan/1`` document."""

    def save(self, path: str | os.PathLike[str], /) -> None:
        """Writes a ``remat-plan/1`` file atomically, gzipped if its name ends in ``.gz``.

        Raises:
            FileError: in the words of the system.
        """

    def to_trace(self, path: str | os.PathLike[str], /) -> None:
        """Writes the step as trace events for Perfetto and ``chrome://tracing``, gzipped if the
        name ends in ``.gz``: lanes of computations, recomputations and copies, memory, and arrows
        to the readers.

        Raises:
            FileError: in the words of the system.
        """

    def to_snapshot(self, path: str | os.PathLike[str], /) -> None:
        """Writes a PyTorch memory snapshot, which pytorch.org/memory_viz and
        ``torch.cuda._memory_viz`` open: every tensor is a block, at its address if the plan has
        addresses.

        Raises:
            FileError: in the words of the system.
        """

    def to_csv(self, path: str | os.PathLike[str], /) -> None:
        """Writes memory over time as CSV, gzipped if the name ends in ``.gz``: a row for each
        statement.

        Raises:
            FileError: in the words of the system.
        """

    def explain(self, *, all: bool = False) -> str:
        """The plan as text: recomputed tensors, their readers, and whether the budget forced the
        recomputation."""

    def memory_svg(self) -> str:
        """Memory over the step, with the budget and the step without recomputation, as SVG text."""

    def to_html(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        others: Sequence[Plan] = (),
        time_limit: Duration | None = None,
    ) -> str | None:
        """The plan as one HTML page that needs no network: its text, or ``None`` once written to a
        file.

        The page shows memory over time by class of tensor, the steps with the causes of
        recomputations and copies, and for each step the tensors in memory with the cost of
        dropping them. ``others`` are plans of the same instance for the frontier and for
        differences; the step without recomputation is always there. ``time_limit`` is the time for
        prices of memory, for all plans together: 10 s by default, 0 leaves prices out.

        Raises:
            InvalidArgument: a plan of another instance.
            FileError: with the system's message.
        """

    def schedule_svg(self) -> str:
        """Operators computed and tensors kept in each stage, as SVG text."""

    @property
    def arena_bytes(self) -> int | None:
        """Size of the arena that holds all memory of the plan; ``None`` without addresses."""

    @property
    def arena_bound_bytes(self) -> int | None:
        """Proven lower bound on the arena of this plan and alignment; ``None`` unless this process
        placed the plan."""

    @property
    def alignment_bytes(self) -> int | None:
        """Alignment of addresses in bytes; ``None`` without addresses."""

    @property
    def fragmentation(self) -> float | None:
        """Excess of ``arena_bytes`` over ``peak_memory_bytes`` as a fraction, 0.0 without loss;
        ``None`` without addresses."""

    @property
    def addresses(self) -> list[tuple[str, int, int, int]] | None:
        """Pieces of memory with their addresses: ``(kind, statement, offset, bytes)``. ``kind`` is
        ``"fixed"``, ``"tensor"`` or ``"workspace"``, and ``statement`` is the position in
        ``steps``. ``None`` without addresses."""

    def place(
        self,
        *,
        alignment: int | None = None,
        **options: Unpack[LimitOptions],
    ) -> Plan:
        """The plan with an address in one arena for all its memory; the search makes the arena as
        small as it can.

        Args:
            alignment: Alignment of offsets in bytes, a power of two; by default it follows from the
                sizes.

        Raises:
            InvalidArgument: for an alignment that is not a power of two.
        """

    def prices(
        self, *, budget: Budget | None = None, time_limit: Duration | None = None
    ) -> list[tuple[int, float]]:
        """Prices of memory: ``(index into order, cost of a byte)``, in ``cost_unit``, above 0.

        A price is the rate at which the bound of a relaxation falls if this moment alone gets more
        memory (a dual of the program's memory rows). Their sum is the rate for all moments
        together. Moments without a price have memory to spare.

        Args:
            budget: By default that of the plan, or else its peak.
            time_limit: Time for the relaxation, 10 s by default.

        Raises:
            InvalidArgument: the program does not apply to the instance.
        """

    def addresses_svg(self) -> str:
        """Addresses over the step, as SVG text.

        Raises:
            InvalidArgument: the plan has no addresses.
        """

    def _repr_svg_(self) -> str: ...

class Progress:
    """The state of a search in progress. Immutable."""

    @property
    def seconds(self) -> float:
        """Time since the start."""

    @property
    def objective(self) -> int | None:
        """Cost of the incumbent; ``None`` before the first plan."""

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
        """Number of solved budgets of a frontier."""

    @property
    def total(self) -> int:
        """Number of budgets of a frontier; 1 in a solve."""

class FrontierPoint:
    """One budget of a frontier with its plan and bound. Immutable."""

    @property
    def budget_bytes(self) -> int: ...
    @property
    def status(self) -> str:
        """``optimal``, ``feasible``, ``infeasible``, ``limit`` or ``interrupted``."""

    @property
    def plan(self) -> Plan | None:
        """The best plan, found for this budget or for a smaller one."""

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
        """Proven lower bound from the solve of this budget or of a larger one; ``None`` if the
        budget is infeasible."""

    @property
    def gap(self) -> float | None: ...
    @property
    def bound_scope(self) -> str: ...
    @property
    def seconds(self) -> float:
        """Time of its own solve; 0 if other budgets settled it."""

    @property
    def infeasible_because(self) -> str | None:
        """Reason why the budget is infeasible, if that was proven."""

    def to_dict(self) -> dict[str, Any]:
        """All fields except the plan."""

class Frontier:
    """Cost against memory of an instance: a sequence of points in ascending order of their budgets.
    Immutable."""

    @property
    def instance(self) -> Instance: ...
    @property
    def interrupted(self) -> bool:
        """True if Ctrl-C ended the search. Unreached budgets have no point."""

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
        """Its plan, which may exceed the budget."""

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
        """The largest batch with a plan; ``None`` if not even batch 1 has a plan."""

    @property
    def objective(self) -> int | None:
        """Cost of its plan; with ``offload`` its makespan."""

    @property
    def peak_memory_bytes(self) -> int | None: ...
    @property
    def proven_too_large(self) -> int | None:
        """The smallest batch that is proven to be too large."""

    @property
    def exact(self) -> bool:
        """True if the next batch is proven to be too large."""

    @property
    def asked(self) -> list[tuple[int, str]]:
        """Tried batches in order, each with ``yes``, ``no`` or ``unknown``."""

class Order:
    """An execution order of a graph with a proven lower bound on the peak. Immutable."""

    @property
    def status(self) -> str:
        """``optimal``, ``feasible`` (the bound is below the peak), ``infeasible`` (no order fits
        the budget) or ``interrupted``."""

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
        """Proven lower bound on the peak of all orders of the variant, in bytes."""

    @property
    def gap(self) -> float: ...
    @property
    def base_memory_bytes(self) -> int:
        """Resident memory."""

    @property
    def program_peak_bytes(self) -> int | None:
        """Peak of the program's own order; ``None`` if the variant does not allow that order."""

    @property
    def seconds(self) -> float: ...
    def to_dict(self) -> dict[str, Any]:
        """The order as a ``remat-order-plan/1`` dictionary."""

    def save(self, path: str | os.PathLike[str]) -> None: ...

class OrderBaseline:
    """The order found by a rule. Immutable."""

    @property
    def name(self) -> str: ...
    @property
    def order(self) -> list[int]:
        """Operators in the order in which they run."""

    @property
    def peak_memory_bytes(self) -> int:
        """Memory of the order, resident memory included."""

class PlaceBaseline:
    """The addresses found by a known method, or the reason why it fails. Immutable."""

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
    """An execution order with an address for each piece of its memory. Immutable."""

    @property
    def status(self) -> str: ...
    @property
    def order(self) -> list[int]: ...
    @property
    def offsets(self) -> dict[str, int]:
        """Offsets in the arena by name, such as ``tensor 3`` or ``workspace 7``."""

    @property
    def peak_memory_bytes(self) -> int:
        """Size of resident memory and the arena."""

    @property
    def bound(self) -> int:
        """Proven lower bound on memory for all orders and addresses, in bytes."""

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
    """Addresses of buffers, with a proven lower bound on their height. Immutable."""

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
        """The largest sum of sizes of buffers that are live at the same time."""

    @property
    def seconds(self) -> float: ...

class Verified:
    """Figures of a replay that confirms a plan or schedule. Immutable."""

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
        """The budget that the plan keeps, if it has one."""

    @property
    def computations(self) -> int: ...
    @property
    def stage_schedule(self) -> bool:
        """True if bounds of :func:`solve` apply to the plan."""

    @property
    def no_stage_schedule_because(self) -> str | None: ...
    @property
    def stage_schedule_with_copies(self) -> bool:
        """True if bounds with a link apply to the plan."""

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
    """Solves a 0/1 knapsack problem: indices of items with the largest total profit within the
    capacity, and true if they are proven optimal (false if memory ended the search).

    Raises:
        InvalidArgument: for lists of different lengths, and sums of 2^64 or more.
    """

def format_bytes(bytes: int, /) -> str:
    """A size as text with a binary unit: ``5.02 GiB``."""

def host_link(text: str, /) -> dict[str, Any]:
    """Reads a link: ``"pcie3"``, ``"pcie4"``, ``"pcie5"``, ``"gh200"``, ``"gb300"``, a speed such
    as ``"12GB/s"``, or a speed for each direction, ``"24GB/s,50GB/s"``.

    Returns:
        The ``host_link`` of a ``remat-instance/1`` document: ``to_host_bytes_per_second``,
        ``from_host_bytes_per_second``, ``latency_ns`` and ``duplex``.

    Raises:
        InvalidArgument: the text is no link.
    """

def zoo_models() -> list[dict[str, Any]]:
    """The models of the zoo: ``name``, ``description`` and ``parameters``, each with its default
    and meaning."""

def parse_seconds(time_limit: Duration, /) -> float:
    """Converts a time limit of :func:`solve` to seconds.

    Raises:
        InvalidArgument: the text is invalid; the message quotes it and lists valid forms.
    """

def run_command(arguments: list[str]) -> int:
    """Runs the command line and returns its exit code; the first argument is the program's name."""

class Grid:
    """A grid of solves with its instance files."""

    @staticmethod
    def read(path: str | os.PathLike[str], /) -> Grid:
        """Reads a grid file.

        Raises:
            InvalidArgument: the message names the file and the key.
        """

    @staticmethod
    def of(text: str, instances: dict[str, Instance], /) -> Grid:
        """Makes a grid from JSON text of the shape of a grid file, and the instances that it names.

        Raises:
            InvalidArgument: the message names the key.
        """

    def __len__(self) -> int: ...
    def packs(self, chains: list[int], least: int, /) -> list[list[int]]:
        """Packs of whole chains with at least this number of jobs each."""

    def words(self, job: int, /) -> str:
        """The job's values in words."""

    def keys(self) -> list[list[tuple[int, str]]]:
        """For each chain, the number of each job and the key of its result.

        Raises:
            InvalidArgument: an instance or options do not work.
        """

    def save(self, folder: str | os.PathLike[str], /) -> None:
        """Makes the folder of the results, or takes one that exists.

        Raises:
            InvalidArgument: it cannot be written.
        """

    def payload(self, chains: list[int], /) -> bytes:
        """Everything that :func:`grid_work` needs for some chains."""

class GridTable:
    """The merged results of a folder."""

    def json(self) -> str:
        """The table as JSON text."""

    def csv(self) -> str:
        """The table as CSV."""

    def times(self) -> str:
        """The times as CSV."""

    def pictures(self) -> list[tuple[str, str]]:
        """Name and SVG text of each picture."""

def grid_work(
    payload: bytes, folder: str | os.PathLike[str] | None, /
) -> list[tuple[str, str]]: ...
def grid_put(folder: str | os.PathLike[str], key: str, text: str, /) -> None: ...
def grid_has(folder: str | os.PathLike[str], key: str, /) -> bool: ...
def grid_merge(folder: str | os.PathLike[str], /) -> GridTable: ...
def grid_plan(
    folder: str | os.PathLike[str], job: int, key: str, /
) -> tuple[Instance, str | None]: ...
