"""Reordering of the two graphs of a plan."""

from __future__ import annotations

from collections.abc import Callable

from . import _compat
from ._compat import fx
from .cost import Costs
from .flow import Flow, Operator
from .memory import STATE_COPIES, Tally, side_peaks, sides
from .opaque import UnsupportedGraph
from .partition import storage_bytes
from .reorder import reorder, reordered
from .rewrite import Rewritten


def reorder_both(
    graphs: Rewritten, costs: Costs, inputs: set[str], threads: int | None = None
) -> None:
    """Puts the operators of the forward and the backward graph of a plan in the order of least
    peak, if that lowers the peak of the generated code.

    Stores reports in ``graphs.reordered``.

    Args:
        costs: Workspaces of calls.
        inputs: Names of the inputs of the step.
        threads: Threads of the search.
    """
    modules = (graphs.forward, graphs.backward)
    before = [list(module.graph.nodes) for module in modules]
    peaks = side_peaks(graphs, costs, inputs)
    graphs.reordered = []
    for side, (tally, kept, _) in enumerate(sides(graphs, inputs)):
        try:
            flow = Flow(modules[side].graph, _freeable(tally, kept))
        except UnsupportedGraph:
            continue
        name = ("forward", "backward")[side]
        report = reordered(flow, _workspace(graphs, costs), threads=threads, name=name)
        if report.changed and side_peaks(graphs, costs, inputs)[side].bytes >= peaks[side].bytes:
            _put(modules[side], before[side])
            continue
        modules[side].recompile()
        graphs.reordered.append(report)


def reorder_inference(module: fx.GraphModule, threads: int | None = None) -> None:
    """Puts the operators of a graph without gradients in the order of least peak. A graph that
    cannot be read stays unchanged."""
    try:
        reorder(module, freeable=(), inductor=False, threads=threads)
    except UnsupportedGraph:
        return


def _put(module: fx.GraphModule, nodes: list[fx.Node]) -> None:
    after = module.graph._root
    for node in nodes:
        if after._next is not node:
            after.append(node)
        after = node
    module.recompile()


def _freeable(tally: Tally, kept: set[fx.Node]) -> list[str]:
    """Inputs of a graph that its caller frees."""
    inputs = (node for node in tally.nodes if node.op == "placeholder")
    return [node.name for node in inputs if tally.size[node] and node not in kept]


def _workspace(graphs: Rewritten, costs: Costs) -> Callable[[Operator], int]:
    def workspace(operator: Operator) -> int:
        node = operator.node
        call = graphs.calls.get(node)
        found = 0 if call is None else costs.workspace_bytes(call)
        if node.target in (_compat.run_and_save_rng_state, _compat.run_with_rng_state):
            saves = node.target is _compat.run_and_save_rng_state
            state = node.meta["val"][0] if saves else node.args[0].meta["val"]
            found += STATE_COPIES * storage_bytes(state)
        return found

    return workspace
