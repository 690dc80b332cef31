"""A model of the kernels that Inductor makes from operators, and of their memory.

The model follows Inductor's scheduler (``torch/_inductor/scheduler.py``): it fuses pointwise
operators and reductions over the same elements, along reads, without a cycle among kernels. A
kernel reads its inputs once, writes the values that others read, and keeps the rest in registers.

A pointwise value that each reader computes in its own kernel is never written: it is *inlined*.
There are two rules for inlined values:

* All readers are in the kernel that makes the value.

* All readers can be fused with it, and its sources take no more memory than the value itself, so
  keeping the sources is never worse. The backward pass computes such values again, too.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from . import _compat
from ._compat import fx
from .cost import Costs
from .memory import Peak, Tally, sides
from .partition import Call
from .rewrite import Rewritten

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


def operator_name(node: fx.Node) -> str:
    """The name of an operator, without namespace and overload."""
    return str(getattr(node.target, "overloadpacket", "")).rpartition(".")[2]


def is_pointwise(node: fx.Node) -> bool:
    """Returns true if each element of the output is computed separately."""
    if not isinstance(node.target, _compat.OpOverload) or node.target._schema.is_mutable:
        return False
    return torch.Tag.pointwise in node.target.tags or operator_name(node) in POINTWISE


def is_reduction(node: fx.Node) -> bool:
    """Returns true if the output sums up elements of the input in one loop over it."""
    if not isinstance(node.target, _compat.OpOverload):
        return False
    reduces = _compat.REDUCTION is not None and _compat.REDUCTION in node.target.tags
    return reduces or operator_name(node) in REDUCTIONS


def _elements(node: fx.Node) -> int:
    """Number of elements of an operator's loop: of its output, or of the input that it reduces."""
    found = [node.meta.get("val")]
    if is_reduction(node):
        found += [argument.meta.get("val") for argument in node.all_input_nodes]
    return max((v.numel() for v in found if isinstance(v, torch.Tensor)), default=0)


@dataclass(eq=False)
class Operator:
    """An operator in execution order.

    Attributes:
        node: Its node.
        needs: Places of the operators that it reads.
        phase: Its phase; all operators of a kernel have the same.
        elements: Size of its loop; 0 if it is a separate kernel.
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
    """Sets the kernel and the readers of each operator.

    An operator joins the largest kernel that it reads from, unless the kernel would then wait for
    itself.
    """
    elements: list[int] = []
    count: list[int] = []
    phase: list[int] = []
    # The kernels that each kernel waits for, itself included, as bits.
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
    """Places of operators whose values are never written to memory.

    Args:
        operators: Operators after :func:`fuse`.
        sizes: Bytes of the value of each.
        held: Places whose value must be in memory: results, several outputs, random numbers.
    """
    found: set[int] = set()
    # The written sources of each inlined value, by place.
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


@dataclass(frozen=True)
class Peaks:
    """Peaks of the kernels of a plan, without inputs of the step.

    Attributes:
        planned: Peak in the order of the plan. Inductor keeps this order or finds one with a lower
            peak.
        least: Bytes at the peak of the best order that was tried.
    """

    planned: Peak
    least: int


def peaks(rewritten: Rewritten, costs: Costs, inputs: set[str]) -> Peaks:
    """Peaks of both graphs of a plan, kernel by kernel.

    Args:
        costs: Workspaces of calls.
        inputs: Names of the inputs of the step.
    """
    found = []
    for tally, kept, base in sides(rewritten, inputs):
        kernels = _kernels(tally, kept, rewritten.calls, costs)
        base += sum(tally.size[n] for n in tally.nodes if n.op == "placeholder")
        planned = _peak_of(_sorted(kernels), tally, kept, base)
        least = _peak_of(_frugal(kernels, tally, kept), tally, kept, base)
        found.append(Peaks(planned, min(planned.bytes, least.bytes)))
    most = max((each.planned for each in found), key=lambda each: each.bytes)
    return Peaks(most, max(each.least for each in found))


def _peak_of(order: list[Kernel], tally: Tally, kept: set[fx.Node], live: int) -> Peak:
    """Peak of kernels in an order, with ``live`` bytes held before."""
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
    """Bytes of outputs that a pointwise kernel writes over inputs whose last reader it is."""
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
        reads, writes: Storages of other kernels that it reads, and storages that it writes to
            memory.
        waits: Numbers of the kernels that it waits for.
        workspace: Further bytes that it takes while it runs.
        in_place: True if it may overwrite inputs whose last reader it is.
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
    arguments: dict[fx.Node, list[fx.Node]] = {}
    stored: list[list[fx.Node]] = []
    for node in tally.nodes:
        if node.op != "call_function" or _compat.is_view(node):
            continue
        if _compat.is_getitem(node):
            if node in tally.size and node.args[0] in place:
                place[node] = place[node.args[0]]
                stored[place[node]].append(node)
            continue
        if _is_joined(node):
            continue
        arguments[node] = [
            part
            for argument in node.all_input_nodes
            for part in (argument.all_input_nodes if _is_joined(argument) else (argument,))
        ]
        sources = {s for a in arguments[node] for s in tally.owner[a]}
        place[node] = len(operators)
        operator = Operator(node, sorted({place[s] for s in sources if s in place}), 0)
        if len(arguments[node]) > len(node.all_input_nodes):
            operator.elements = 0
        operators.append(operator)
        stored.append([node] if tally.size.get(node) else [])
    fuse(operators)
    held = {k for k, own in enumerate(stored) if own != [operators[k].node] or own[0] in kept}
    sizes = [sum(tally.size[v] for v in values) for values in stored]
    hidden = inlined(operators, sizes, held)
    kernels: dict[int, Kernel] = {}
    sources_of: dict[int, list[fx.Node]] = {}
    for k, operator in enumerate(operators):
        found: dict[fx.Node, None] = {}
        for argument in arguments[operator.node]:
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
        # A kernel writes values that other kernels read or that are kept, and values without
        # readers.
        kernel.writes = [v for v in kernel.writes if v in read or not operators[place[v]].readers]
    return list(kernels.values())


def _is_joined(node: fx.Node) -> bool:
    """Returns true for a product that Inductor joins with its only reader, a sum, into one
    ``addmm``. It then runs at the place of the sum."""
    if node.target is not torch.ops.aten.mm.default or len(node.users) != 1:
        return False
    (reader,) = node.users
    return reader.target is torch.ops.aten.add.Tensor and not reader.kwargs


def _sorted(kernels: list[Kernel]) -> list[Kernel]:
    """Kernels in the order of their first operators, each after the kernels that it waits for."""
    named = {kernel.number: kernel for kernel in kernels}
    missing = {kernel.number: len(kernel.waits) for kernel in kernels}
    after = _followers(kernels)
    ready = [(named[number].first, number) for number, count in missing.items() if count == 0]
    heapq.heapify(ready)
    out: list[Kernel] = []
    while ready:
        _, number = heapq.heappop(ready)
        out.append(named.pop(number))
        for later in after[number]:
            missing[later] -= 1
            if missing[later] == 0:
                heapq.heappush(ready, (named[later].first, later))
    # Kernels in a cycle, caused by inlining, come last.
    return out + list(named.values())


def _followers(kernels: list[Kernel]) -> dict[int, list[int]]:
    """For each kernel the kernels that wait for it."""
    after: dict[int, list[int]] = {kernel.number: [] for kernel in kernels}
    for kernel in kernels:
        for other in kernel.waits:
            after[other].append(kernel.number)
    return after


def _frugal(kernels: list[Kernel], tally: Tally, kept: set[fx.Node]) -> list[Kernel]:
    """Kernels in a greedy order: the next one is the ready kernel with the least growth of
    memory."""
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
