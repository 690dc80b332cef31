"""Plans for Inductor: operators that its scheduler fuses into one kernel count as one.

A kernel reads its inputs once, writes what leaves it, and keeps the rest in registers. A pointwise
value that all its readers have in their own kernels is therefore no node of the instance: it is
*inlined*, computed anew within each unit that reads it. Two rules say which values are:

* All readers stand in the kernel that makes it.
* All readers can be fused with it, and what it is computed from takes no more memory than it does:
  to keep that is never worse. Such values are made again in the backward pass, too.

Kernels are guessed as Inductor's scheduler makes them (``torch/_inductor/scheduler.py``): pointwise
operators and reductions over the same elements, along reads, without a cycle among kernels.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from .. import _native
from . import _compat
from ._compat import fx
from .cost import Costs, Measured, Roofline
from .instance import document
from .memory import Peak, Tally
from .partition import Call, Joint, storage_bytes
from .planner import Planner, Report, budget_bytes
from .rewrite import Rewritten, rewrite

KERNEL_OPERATORS = 64
"""Operators in one kernel at most, as Inductor's ``max_fusion_size``."""

SMALL_SHARE = 16
"""Part of a value's bytes, one in so many, up to which further reads of it do not count."""

POINTWISE = frozenset(
    "_to_copy arange cat clone constant_pad_nd convert_element_type embedding flip full full_like "
    "gather index inductor_random iota repeat scalar_tensor select_scatter slice_scatter where "
    "zeros ones zeros_like ones_like".split()
)
"""Operators that Inductor makes pointwise loops of, although torch does not mark them so."""

REDUCTIONS = frozenset("var_mean var std".split())
"""Operators that Inductor makes reductions of, although torch does not mark them so."""


def _packet(node: fx.Node) -> str:
    return str(getattr(node.target, "overloadpacket", "")).rpartition(".")[2]


def is_pointwise(node: fx.Node) -> bool:
    """Returns true if each element of the output is computed by itself."""
    if not isinstance(node.target, _compat.OpOverload) or node.target._schema.is_mutable:
        return False
    return torch.Tag.pointwise in node.target.tags or _packet(node) in POINTWISE


def is_reduction(node: fx.Node) -> bool:
    """Returns true if the output sums up elements of the input in one loop over it."""
    if not isinstance(node.target, _compat.OpOverload):
        return False
    reduces = _compat.REDUCTION is not None and _compat.REDUCTION in node.target.tags
    return reduces or _packet(node) in REDUCTIONS


def _elements(node: fx.Node) -> int:
    """Elements of the loop that an operator is: of its output, or of what it reduces."""
    found = [node.meta.get("val")]
    if is_reduction(node):
        found += [argument.meta.get("val") for argument in node.all_input_nodes]
    return max((v.numel() for v in found if isinstance(v, torch.Tensor)), default=0)


@dataclass(eq=False)
class Operator:
    """An operator among others, in execution order.

    Attributes:
        node: Its node.
        needs: Places of the operators that it reads.
        phase: Kernels are made of operators of one phase.
        elements: Size of its loop; 0 where it is a kernel of its own.
        kernel: Number of its kernel.
        readers: Places of the operators that read it.
    """

    node: fx.Node
    needs: list[int]
    phase: int
    elements: int = 0
    kernel: int = -1
    readers: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        if is_pointwise(self.node) or is_reduction(self.node):
            self.elements = _elements(self.node)


def fuse(operators: list[Operator]) -> None:
    """Gives each operator its kernel, and its readers.

    An operator joins the largest kernel that it reads from, unless the kernel would come to wait
    for itself.
    """
    elements: list[int] = []
    count: list[int] = []
    phase: list[int] = []
    # Kernels that a kernel waits for, itself included, as bits.
    before: list[int] = []
    for place, operator in enumerate(operators):
        read = {operators[k].kernel for k in operator.needs}
        for k in operator.needs:
            operators[k].readers.append(place)
        best = -1
        for kernel in sorted(read, key=lambda k: -elements[k]) if operator.elements else ():
            if (
                elements[kernel] >= operator.elements > 0
                and elements[kernel] % operator.elements == 0
                and phase[kernel] == operator.phase
                and count[kernel] < KERNEL_OPERATORS
                and not any(before[other] >> kernel & 1 for other in read if other != kernel)
            ):
                best = kernel
                break
        if best < 0:
            best = len(elements)
            elements.append(operator.elements)
            count.append(0)
            phase.append(operator.phase)
            before.append(1 << best)
        operator.kernel = best
        count[best] += 1
        waits = before[best]
        for other in read:
            waits |= before[other]
        if waits != before[best]:
            for kernel in range(len(before)):
                if before[kernel] >> best & 1:
                    before[kernel] |= waits


def inlined(operators: list[Operator], sizes: Sequence[int], held: set[int]) -> set[int]:
    """Places of the operators whose value is never written to memory.

    Args:
        operators: As :func:`fuse` leaves them.
        sizes: Bytes of the value of each.
        held: Places whose value must be in memory: results, several outputs, random numbers.
    """
    found: set[int] = set()
    # What an inlined value is computed from, by place.
    sources: dict[int, set[int]] = {}
    for place, operator in enumerate(operators):
        if place in held or not operator.readers or not is_pointwise(operator.node):
            continue
        readers = [operators[k] for k in operator.readers]
        if not all(reader.elements for reader in readers):
            continue
        if not any(reader.phase == operator.phase for reader in readers):
            continue
        cone: set[int] = set()
        for k in operator.needs:
            cone |= sources.get(k, {k})
        own = all(reader.kernel == operator.kernel for reader in readers)
        small = sizes[place] // SMALL_SHARE
        read = sum(sizes[k] for k in cone if sizes[k] > small)
        if own or read <= sizes[place]:
            found.add(place)
            sources[place] = cone
    return found


class Fused:
    """A joint graph whose calls are the units that Inductor's kernels write to memory.

    Attributes:
        calls: Units in execution order, named as the calls that they are made of.
        results: As those of the joint graph.
        inner: Inlined calls that each unit runs first, by its name.
        alone: Names of units that are kernels of their own.
    """

    def __init__(self, joint: Joint) -> None:
        place = {call: k for k, call in enumerate(joint.calls)}
        self.operators = [
            Operator(
                call.node,
                sorted({place[joint.call_of[v]] for v in call.needs}),
                int(k >= joint.forward),
            )
            for k, call in enumerate(joint.calls)
        ]
        fuse(self.operators)
        held = {
            k
            for k, call in enumerate(joint.calls)
            if call.once
            or call.random
            or len(call.values) != 1
            or call.values[0] is not call.node
            or call.values[0] in joint.results
            or _packet(call.node) == "inductor_random"
        }
        sizes = [sum(storage_bytes(v.meta.get("val")) for v in call.values) for call in joint.calls]
        hidden = inlined(self.operators, sizes, held)
        self.results = joint.results
        self.calls: list[Call] = []
        self.inner: dict[str, list[Call]] = {}
        self.alone: set[str] = set()
        for k, call in enumerate(joint.calls):
            if k in hidden:
                continue
            parts = self._parts(k, hidden)
            calls = [joint.calls[p] for p in parts]
            unit = call
            if parts:
                inner = {joint.calls[p].node for p in parts}
                needs = dict.fromkeys(v for c in (*calls, call) for v in c.needs)
                inputs = dict.fromkeys(v for c in (*calls, call) for v in c.inputs)
                needed = [v for v in needs if v not in inner]
                unit = replace(call, needs=needed, inputs=list(inputs))
            self.calls.append(unit)
            self.inner[unit.name] = calls
            if not self.operators[k].elements:
                self.alone.add(unit.name)

    def _parts(self, place: int, hidden: set[int]) -> list[int]:
        """Inlined operators that one reads, directly and through others, in execution order."""
        found: set[int] = set()
        stack = [place]
        while stack:
            for k in self.operators[stack.pop()].needs:
                if k in hidden and k not in found:
                    found.add(k)
                    stack.append(k)
        return sorted(found)

    def expanded(self, steps: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Steps of a plan over the units as steps over the calls of the joint graph.

        Neighbours that read the same inlined value share it.
        """
        named = {call.name: call for call in self.calls}
        out: list[tuple[Any, ...]] = []
        made: set[str] = set()
        for step in steps:
            if step[0] != "compute" or step[1] not in named:
                out.append(step)
                continue
            for call in self.inner[step[1]]:
                if call.name not in made:
                    made.add(call.name)
                    out.append(("compute", call.name))
            out.append(step)
            if step[1] in self.alone:
                made.clear()
        return out


class FusedCosts(Costs):
    """Costs of units: bytes that they read and write, and what arithmetic takes beyond that.

    Args:
        base: Costs of single calls; workspaces of kernels of their own are theirs.
        fused: The units.
    """

    def __init__(self, base: Costs, fused: Fused) -> None:
        self.base = base
        self.fused = fused
        self.rate = _bytes_per_second(base, fused)
        self.units = {call.name: call for call in fused.calls}

    def nanoseconds(self, call: Call) -> int:
        inner = self.fused.inner.get(call.name)
        if inner is None or call.name in self.fused.alone:
            return self.base.nanoseconds(call)
        unit = self.units[call.name]
        values = [v.meta.get("val") for v in (*unit.needs, *unit.inputs, *unit.values)]
        found = 1e9 * sum(storage_bytes(v) for v in values) / self.rate
        for part in (*inner, call):
            values = [n.meta.get("val") for n in (*part.node.all_input_nodes, part.node)]
            traffic = 1e9 * sum(storage_bytes(v) for v in values) / self.rate
            found += max(0.0, self.base.nanoseconds(part) - traffic)
        return round(found)

    def workspace_bytes(self, call: Call) -> int:
        return self.base.workspace_bytes(call) if call.name in self.fused.alone else 0


_RATES: dict[str, float] = {}
RATE_BYTES = 1 << 24
"""Bytes of the tensor whose negation measures the traffic with memory."""


def _bytes_per_second(base: Costs, fused: Fused) -> float:
    """Traffic with the memory of the device that a graph runs on."""
    roofline = base if isinstance(base, Roofline) else getattr(base, "roofline", None)
    if isinstance(roofline, Roofline):
        return roofline.bytes_per_second
    if not isinstance(base, Measured):
        return Roofline().bytes_per_second
    values = (v.meta.get("val") for call in fused.calls for v in call.values)
    device = next((v.device for v in values if isinstance(v, torch.Tensor)), torch.device("cpu"))
    if str(device) not in _RATES:
        _RATES[str(device)] = _measured_rate(device)
    return _RATES[str(device)]


def _measured_rate(device: torch.device) -> float:
    def wait() -> None:
        if device.type == "cuda":
            torch.cuda.synchronize(device)

    best = math.inf
    with _compat.unset_fake_temporarily(), torch.no_grad():
        source = torch.zeros(RATE_BYTES // 4, device=device)
        target = torch.empty_like(source)
        for _ in range(5):
            wait()
            start = time.perf_counter()
            torch.neg(source, out=target)
            wait()
            best = min(best, time.perf_counter() - start)
    return 2 * RATE_BYTES / best


def peak(rewritten: Rewritten, costs: Costs, inputs: set[str]) -> Peak:
    """Peak of both graphs of a plan, kernel by kernel, without inputs of the step.

    Args:
        costs: Workspaces of calls.
        inputs: Names of the inputs of the step.
    """
    forward = Tally(rewritten.forward.graph, inputs)
    outputs = forward.nodes[-1].args[0]
    count = rewritten.outputs
    held = {s for a in outputs[:count] if isinstance(a, fx.Node) for s in forward.owner[a]}
    kept = held | {s for a in outputs[count:] for s in forward.owner[a]}
    first = _replay(forward, kept, 0, rewritten.calls, costs)

    backward = Tally(rewritten.backward.graph, inputs)
    kept = {s for a in backward.nodes[-1].all_input_nodes for s in backward.owner[a]}
    places = [n for n in backward.nodes if n.op == "placeholder"]
    kept.update(places[len(outputs) - count :])
    for saved, place in zip(outputs[count:], places):
        if not held.isdisjoint(forward.owner[saved]):
            backward.size[place] = 0
    base = sum(forward.size[s] for s in held)
    second = _replay(backward, kept, base, rewritten.calls, costs)
    return max(first, second, key=lambda found: found.bytes)


def _replay(
    tally: Tally, kept: set[fx.Node], base: int, calls: dict[fx.Node, Call], costs: Costs
) -> Peak:
    """Peak of one graph, beside ``base`` bytes; what is ``kept`` is not let go of.

    Inductor reorders kernels for their peak, among others by what frees most: the least peak of
    several orders is taken.
    """
    kernels = _kernels(tally, kept, calls, costs)
    base += sum(tally.size[n] for n in tally.nodes if n.op == "placeholder")
    places = {kernel.number: kernel.first for kernel in kernels}
    ends = {kernel.number: kernel.last for kernel in kernels}
    orders = [_sorted(kernels, places), _sorted(kernels, ends), _frugal(kernels, tally, kept)]
    peaks = [_peak_of(order, tally, kept, base) for order in orders]
    return min(peaks, key=lambda found: found.bytes)


def _peak_of(order: list[Kernel], tally: Tally, kept: set[fx.Node], live: int) -> Peak:
    """Peak of kernels in this order, beside what is ``live`` before."""
    last = {v: place for place, kernel in enumerate(order) for v in kernel.values}
    most = Peak(live, "start")
    for place, kernel in enumerate(order):
        made = sum(tally.size[v] for v in kernel.writes)
        gone = [v for v in kernel.values if last[v] == place and v not in kept]
        need = live + made + kernel.workspace
        if kernel.in_place:
            need -= _reused(tally, [v for v in gone if v not in kernel.writes], kernel.writes)
        if need > most.bytes:
            most = Peak(need, kernel.writes[-1].name if kernel.writes else "a kernel")
        live += made - sum(tally.size[v] for v in gone)
    return most


def _reused(tally: Tally, gone: list[fx.Node], made: list[fx.Node]) -> int:
    """Bytes of outputs that a pointwise kernel writes in place of inputs that it reads last."""
    free: dict[int, int] = {}
    for value in gone:
        free[tally.size[value]] = free.get(tally.size[value], 0) + 1
    found = 0
    for value in made:
        if free.get(tally.size[value], 0):
            free[tally.size[value]] -= 1
            found += tally.size[value]
    return found


@dataclass(eq=False)
class Kernel:
    """A kernel of a generated graph.

    Attributes:
        number: Its number.
        first, last: Places of its first and last operator in the graph.
        reads, writes: Storages that it reads from others, and that it writes to memory.
        waits: Numbers of the kernels that it waits for.
        workspace: Bytes that it takes beside them while it runs.
        in_place: True if it may write over what it reads last.
    """

    number: int
    first: int
    last: int = 0
    reads: dict[fx.Node, None] = field(default_factory=dict)
    writes: list[fx.Node] = field(default_factory=list)
    waits: set[int] = field(default_factory=set)
    workspace: int = 0
    in_place: bool = True

    @property
    def values(self) -> list[fx.Node]:
        """Storages that it reads and writes."""
        return [*self.reads, *self.writes]


def _kernels(
    tally: Tally, kept: set[fx.Node], calls: dict[fx.Node, Call], costs: Costs
) -> list[Kernel]:
    """Kernels of a generated graph."""
    operators: list[Operator] = []
    place: dict[fx.Node, int] = {}
    stored: list[list[fx.Node]] = []
    for node in tally.nodes:
        if node.op != "call_function" or _compat.is_view(node):
            continue
        if _compat.is_getitem(node):
            if node in tally.size and node.args[0] in place:
                place[node] = place[node.args[0]]
                stored[place[node]].append(node)
            continue
        sources = {s for a in node.all_input_nodes for s in tally.owner[a]}
        place[node] = len(operators)
        operators.append(Operator(node, sorted({place[s] for s in sources if s in place}), 0))
        stored.append([node] if tally.size.get(node) else [])
    fuse(operators)
    held = {k for k, own in enumerate(stored) if own != [operators[k].node] or own[0] in kept}
    sizes = [sum(tally.size[v] for v in values) for values in stored]
    hidden = inlined(operators, sizes, held)
    kernels: dict[int, Kernel] = {}
    sources_of: dict[int, list[fx.Node]] = {}
    for k, operator in enumerate(operators):
        found: dict[fx.Node, None] = {}
        for argument in operator.node.all_input_nodes:
            for storage in tally.owner[argument]:
                if place.get(storage) in hidden:
                    found.update(dict.fromkeys(sources_of[place[storage]]))
                else:
                    found[storage] = None
        sources_of[k] = list(found)
        if k in hidden:
            continue
        kernel = kernels.setdefault(operator.kernel, Kernel(operator.kernel, k))
        kernel.last = k
        for value in found:
            maker = operators[place[value]].kernel if value in place else None
            if maker != operator.kernel:
                kernel.reads[value] = None
                kernel.waits |= set() if maker is None else {maker}
        kernel.writes += stored[k]
        kernel.in_place &= is_pointwise(operator.node)
        call = calls.get(operator.node)
        if call is not None and not operator.elements:
            kernel.workspace += costs.workspace_bytes(call) + call.unused_bytes
    read = {v for kernel in kernels.values() for v in kernel.reads} | kept
    for kernel in kernels.values():
        # What stays within a kernel is not written; what nobody reads is an operator's own.
        kernel.writes = [v for v in kernel.writes if v in read or not operators[place[v]].readers]
    return list(kernels.values())


def _sorted(kernels: list[Kernel], key: dict[int, int]) -> list[Kernel]:
    """Kernels by a key, but none before one that it waits for."""
    named = {kernel.number: kernel for kernel in kernels}
    missing = {kernel.number: len(kernel.waits) for kernel in kernels}
    after = _followers(kernels)
    ready = [(key[number], number) for number, count in missing.items() if count == 0]
    heapq.heapify(ready)
    out: list[Kernel] = []
    while ready:
        _, number = heapq.heappop(ready)
        out.append(named.pop(number))
        for later in after[number]:
            missing[later] -= 1
            if missing[later] == 0:
                heapq.heappush(ready, (key[later], later))
    # What inlining has tied in a circle keeps its place.
    return out + list(named.values())


def _followers(kernels: list[Kernel]) -> dict[int, list[int]]:
    """Kernels that wait for each."""
    after: dict[int, list[int]] = {kernel.number: [] for kernel in kernels}
    for kernel in kernels:
        for other in kernel.waits:
            after[other].append(kernel.number)
    return after


def _frugal(kernels: list[Kernel], tally: Tally, kept: set[fx.Node]) -> list[Kernel]:
    """Kernels in the order that leaves least in memory after each."""
    named = {kernel.number: kernel for kernel in kernels}
    missing = {kernel.number: len(kernel.waits) for kernel in kernels}
    after = _followers(kernels)
    readers: dict[fx.Node, int] = {}
    for kernel in kernels:
        for value in kernel.reads:
            readers[value] = readers.get(value, 0) + 1

    def growth(kernel: Kernel) -> int:
        made = sum(tally.size[v] for v in kernel.writes)
        return made - sum(tally.size[v] for v in kernel.reads if readers[v] == 1 and v not in kept)

    ready = [number for number, count in missing.items() if count == 0]
    out: list[Kernel] = []
    while ready:
        number = min(ready, key=lambda n: (growth(named[n]), named[n].last))
        ready.remove(number)
        kernel = named.pop(number)
        out.append(kernel)
        for value in kernel.reads:
            readers[value] -= 1
        for later in after[number]:
            missing[later] -= 1
            if missing[later] == 0:
                ready.append(later)
    return out + list(named.values())


CORRECTIONS = 1
"""Times that a plan is made anew for what its kernels were found to need."""


class FusionPlanner(Planner):
    """A partitioner for Inductor, whose units are those that its kernels write."""

    def __reduce__(self) -> Any:
        return (FusionPlanner, (self.settings, self.stop))

    def planned(self, joint: Joint) -> tuple[Report, Rewritten]:
        """The plan of a joint graph, and its graphs.

        Raises:
            InfeasibleBudget, LimitReached: as the solver does.
        """
        base = self.settings.cost_model()
        fused = Fused(joint)
        costs = FusedCosts(base, fused)
        fixed = joint.input_bytes() + self._extra_bytes(joint)
        instance = _native.Instance(document(fused, costs, fixed, "training step"))
        budget = budget_bytes(self.settings.budget, instance, joint)
        inputs = {node.name for node in joint.primals}
        plan = self._solved(instance, budget)
        graphs = rewrite(joint, fused.expanded(plan.steps))
        found = peak(graphs, base, inputs)
        report = Report(instance, plan, budget, found.bytes + fixed, found.at, fixed)
        return report, graphs
