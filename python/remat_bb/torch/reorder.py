"""Orders of graphs of fx for least peak memory: the same operators, the same results."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .. import _native
from .._memory import order as search
from .._types import Duration
from ..errors import InvalidArgument, RematError
from . import _compat
from ._compat import fx
from .cost import Measured
from .flow import Flow, Operator
from .inductor_memory import InductorEstimates, estimates
from .opaque import UnsupportedGraph
from .partition import Call

VARIANTS = ("sound+rng", "sound")
"""Variants that leave the results of a graph as they are, random numbers aside."""


@dataclass(frozen=True)
class OrderReport:
    """Results of one reordering. All peaks include inputs and constants.

    Attributes:
        name: Name of the graph.
        operators: Number of ordered operators.
        before_bytes: Peak of the original order.
        after_bytes: Peak of the present order.
        bound_bytes: Proven lower bound on the peak of all orders of these operators.
        base_bytes: Resident memory.
        changed: True if the order differs from the original.
        symbolic: True if sizes are symbolic: then all figures are for the traced example.
        seconds: Time of the search.
        inductor: Inductor's own estimates for the same operators; ``None`` if not wanted or not
            available.
    """

    name: str
    operators: int
    before_bytes: int
    after_bytes: int
    bound_bytes: int
    base_bytes: int
    changed: bool
    symbolic: bool
    seconds: float
    inductor: InductorEstimates | None = None

    @property
    def gap(self) -> float:
        """``(after - bound) / after``: 0 if no order is better."""
        return (self.after_bytes - self.bound_bytes) / max(1, self.after_bytes)

    @property
    def saved(self) -> float:
        """Saved share of the peak."""
        return 1 - self.after_bytes / max(1, self.before_bytes)

    def __str__(self) -> str:
        size = _native.format_bytes
        proof = "proven least" if self.gap == 0 else f"at most {self.gap:.2%} above the least"
        words = (
            f"{self.name}: peak {size(self.before_bytes)} before, {size(self.after_bytes)} after "
            f"({self.saved:.2%} less), {proof}, {self.operators} operators"
        )
        if self.inductor is not None:
            words += f"; Inductor's own order ({self.inductor.rule}): {size(self.inductor.bytes)}"
        return words + ("; for the sizes of the traced example" if self.symbolic else "")


def reorder(
    graph: fx.GraphModule | fx.Graph,
    *,
    freeable: Iterable[str] | None = None,
    variant: str = "sound+rng",
    workspaces: bool = False,
    inductor: bool = True,
    time_limit: Duration | None = None,
    threads: int | None = None,
    name: str = "graph",
) -> OrderReport:
    """Puts the operators of a graph in the order of least peak memory.

    The graph is changed in place, as by passes of fx: it has the same nodes in another order.
    Results are equal bit by bit. If no better order is found, the graph stays unchanged.

    Args:
        graph: A graph of operators of ``torch.ops`` with fake values: a joint graph, a forward or
            backward graph, an inference graph.
        freeable: Names of inputs that are freed after their last reader. By default the saved
            tensors of a backward graph, which has tangents: its inputs that are not inputs of the
            model.
        variant: ``sound+rng``, or ``sound`` to allow another order of random numbers.
        workspaces: True runs each distinct call once on its device and counts its workspace.
        inductor: True adds Inductor's estimates to the report.
        time_limit: Time of the search, as for :func:`remat_bb.order`; without it the work is fixed.
        threads: Threads of the search.
        name: Name in the report.

    Raises:
        UnsupportedGraph: for a graph that cannot be read; it stays unchanged.
        InvalidArgument: for an unknown variant.
    """
    _check_variant(variant)
    flow = Flow(graph.graph if isinstance(graph, fx.GraphModule) else graph, freeable)
    report = reordered(
        flow,
        measured_workspace(flow) if workspaces else None,
        variant=variant,
        inductor=inductor,
        time_limit=time_limit,
        threads=threads,
        name=name,
    )
    if isinstance(graph, fx.GraphModule):
        graph.recompile()
    return report


def reordered(
    flow: Flow,
    workspace_bytes: Callable[[Operator], int] | None,
    *,
    variant: str = "sound+rng",
    inductor: bool = False,
    time_limit: Duration | None = None,
    threads: int | None = None,
    name: str = "graph",
) -> OrderReport:
    """Reorders a :class:`Flow`, as :func:`reorder` does.

    Args:
        workspace_bytes: Memory that an operator takes besides inputs and outputs; ``None`` for 0.
    """
    document = flow.document(name, workspace_bytes)
    found = search(document, variant=variant, time_limit=time_limit, threads=threads)
    before = replayed(document, range(len(document["operators"])))
    after = replayed(document, found.order)
    if found.peak_memory_bytes != after:
        raise RematError(
            f"{name}: the order that was found takes {after} bytes, not the "
            f"{found.peak_memory_bytes} that the search says",
            remedy="report this",
        )
    shift = len(document["operators"]) - len(flow.operators)

    def replay(places: list[int]) -> int:
        return replayed(document, [*range(shift), *(place + shift for place in places)])

    changed = after < before
    if changed:
        flow.relink([v - shift for v in found.order if v >= shift])
    return OrderReport(
        name,
        len(flow.operators),
        before,
        min(before, after),
        found.bound,
        flow.base_bytes,
        changed,
        flow.symbolic,
        found.seconds,
        estimates(flow, variant, replay) if inductor else None,
    )


def replayed(document: dict[str, Any], order: Sequence[int]) -> int:
    """Peak of an order in bytes, from the memory that each operator allocates and frees.

    Args:
        document: A ``remat-order/1`` document of :meth:`Flow.document`, without views and changes
            in place.
        order: Its operators, each once.
    """
    operators, tensors = document["operators"], document["tensors"]
    last: dict[int, int] = {}
    for step, place in enumerate(order):
        for tensor in (*operators[place]["outputs"], *operators[place]["inputs"]):
            last[tensor] = step
    live = sum(t["bytes"] for t in tensors if t.get("resident"))
    live += document.get("unused_resident_bytes", 0)
    most = live
    for step, place in enumerate(order):
        operator = operators[place]
        live += sum(tensors[t]["bytes"] for t in operator["outputs"])
        most = max(most, live + operator.get("workspace_bytes", 0))
        for tensor in dict.fromkeys((*operator["outputs"], *operator["inputs"])):
            kept = tensors[tensor].get("resident") or tensors[tensor].get("result")
            if last[tensor] == step and not kept:
                live -= tensors[tensor]["bytes"]
    return most


class ReorderPass(_compat.CustomGraphPass):
    """A pass of Inductor that reorders every graph: for ``post_grad_custom_post_pass``, or for
    ``joint_custom_post_pass``, before forward and backward pass are split.

    >>> import torch._inductor.config as config             # doctest: +SKIP
    >>> config.post_grad_custom_post_pass = rt.ReorderPass()  # doctest: +SKIP

    Graphs that cannot be read stay unchanged, with a warning.

    Args:
        options: ``variant``, ``workspaces``, ``inductor`` (False by default), ``time_limit`` and
            ``threads``, as for :func:`reorder`.

    Attributes:
        reports: One report for each graph.
    """

    def __init__(self, **options: Any) -> None:
        known = ("variant", "workspaces", "inductor", "time_limit", "threads")
        if unknown := [word for word in options if word not in known]:
            raise InvalidArgument(
                f"{unknown[0]}: a pass has no such option", remedy=f"one of {', '.join(known)}"
            )
        _check_variant(options.get("variant", VARIANTS[0]))
        self.options: dict[str, Any] = {"inductor": False, **options}
        self.reports: list[OrderReport] = []

    def __deepcopy__(self, memo: Any) -> ReorderPass:
        # Inductor copies its configuration, but all reports belong to one pass.
        return self

    def __reduce__(self) -> Any:
        return (_pass, (self.options,))

    def __call__(self, graph: fx.Graph) -> None:
        try:
            report = reorder(graph, name=f"graph {len(self.reports)}", **self.options)
        except UnsupportedGraph as error:
            warnings.warn(f"a graph was not reordered: {error}", stacklevel=2)
            return
        self.reports.append(report)

    def uuid(self) -> Any:
        """Key of Inductor's cache: version of this package, and the options."""
        words = f"{_native.__version__} reorder {sorted(self.options.items())!r}"
        return hashlib.sha256(words.encode()).hexdigest()


def _pass(options: dict[str, Any]) -> ReorderPass:
    return ReorderPass(**options)


def _check_variant(variant: str) -> None:
    if variant not in VARIANTS:
        raise InvalidArgument(
            f"variant: {variant!r} does not keep the results of a graph",
            remedy=f"one of {', '.join(VARIANTS)}",
        )


def measured_workspace(flow: Flow) -> Callable[[Operator], int]:
    """Workspaces of operators, each distinct call measured once on its device; 0 for calls that
    cannot run alone.

    Raises:
        UnsupportedGraph: for unknown sizes.
    """
    if flow.symbolic:
        raise UnsupportedGraph(
            "workspaces cannot be measured where sizes are not known while compiling",
            remedy="leave workspaces=False, or trace with dynamic=False",
        )
    costs = Measured(times=False)

    def workspace(operator: Operator) -> int:
        node = operator.node
        if not isinstance(node.target, _compat.OpOverload) or _compat.is_effect(node.target):
            return 0
        return costs.workspace_bytes(Call(node))

    return workspace
