"""Tags on the nodes of a graph, and the passes of torchtitan that execute them."""

from __future__ import annotations

from torch.utils.checkpoint import CheckpointPolicy

from ._compat import fx
from .link import Link
from .step_graph import StepGraph
from .tag_replay import (
    OFFLOAD,
    OFFLOADED,
    RECOMPUTED,
    RELOAD,
    SAVED,
    WAIT_IN,
    WAIT_OUT,
    Executed,
    Layout,
    Tags,
    replay,
)

COPIES = {
    OFFLOAD: "ao.offload.default",
    WAIT_OUT: "ao.wait_tensor.default",
    RELOAD: "ao.reload.default",
    WAIT_IN: "ao.wait_tensor.default",
}
"""Operators of copies to the host and back."""

Structure = list[tuple[str, tuple[int, ...]]]
"""For each node its operator and the positions of what it reads."""


def copied(gm: fx.GraphModule) -> tuple[fx.GraphModule, dict[fx.Node, fx.Node]]:
    """A copy of a graph, and its nodes by those of the graph."""
    graph = fx.Graph()
    nodes: dict[fx.Node, fx.Node] = {}
    outputs = graph.graph_copy(gm.graph, nodes)
    graph.output(outputs)
    for node in nodes.values():
        if "custom" in node.meta:
            node.meta["custom"] = dict(node.meta["custom"])
    return fx.GraphModule(gm, graph), nodes


def put(gm: fx.GraphModule, step: StepGraph, tags: Tags) -> None:
    """Puts tags on the nodes of a graph, whose nodes are in the order of the step."""
    words = {
        SAVED: CheckpointPolicy.MUST_SAVE,
        RECOMPUTED: CheckpointPolicy.MUST_RECOMPUTE,
        OFFLOADED: CheckpointPolicy.MUST_CPU_OFFLOAD,
    }
    for k, node in enumerate(gm.graph.nodes):
        node.meta.pop("recompute", None)
        if k in tags:
            node.meta["recompute"] = words[tags[k]]


def taken(step: StepGraph, nodes: dict[fx.Node, fx.Node]) -> dict[int, str]:
    """Tags that a policy put on a copy of a graph.

    A node that must not run again is saved: what the backward pass of the loss reads would
    otherwise be read before it is made.

    Args:
        nodes: Nodes of the copy, by those of the step.
    """
    found = {}
    for k, node in enumerate(step.nodes):
        word = nodes[node].meta.get("recompute") if node in nodes else None
        if word is None:
            continue
        found[k] = SAVED
        if word in (CheckpointPolicy.MUST_RECOMPUTE, CheckpointPolicy.PREFER_RECOMPUTE):
            found[k] = SAVED if step.once[k] else RECOMPUTED
        elif word is CheckpointPolicy.MUST_CPU_OFFLOAD:
            found[k] = OFFLOADED if step.may_offload[k] else SAVED
    return found


def executed_graph(
    gm: fx.GraphModule, step: StepGraph, tags: Tags, layout: Layout
) -> fx.GraphModule:
    """The graph that torchtitan's passes build of tags, as a copy."""
    from torchtitan.experiments.graph_trainer.cpu_offload import (  # type: ignore[import-not-found]
        apply_cpu_offload_pass,
    )
    from torchtitan.experiments.graph_trainer.selective_activation_remat import (  # type: ignore[import-not-found]
        selective_activation_remat_pass,
    )

    made, _ = copied(gm)
    put(made, step, tags)
    made = apply_cpu_offload_pass(
        made, None, prefetch_lookahead=layout.prefetch, defer_n_layers=layout.defer
    )
    return selective_activation_remat_pass(made, None)  # type: ignore[no-any-return]


def structure(gm: fx.GraphModule) -> Structure:
    """Operators of a graph in their order, with what they read."""
    nodes = list(gm.graph.nodes)
    position = {node: k for k, node in enumerate(nodes)}
    return [
        (_word(node), tuple(sorted({position[s] for s in node.all_input_nodes}))) for node in nodes
    ]


def replayed_structure(step: StepGraph, executed: Executed) -> Structure:
    """The same for a replay with its order."""
    return [
        (COPIES.get(kind) or _word(step.nodes[k]), reads)
        for (kind, k), reads in zip(executed.order, executed.reads)
    ]


def as_executed(
    gm: fx.GraphModule, step: StepGraph, tags: Tags, link: Link, layout: Layout
) -> bool:
    """Returns true if torchtitan's passes build the graph whose peak was counted."""
    executed = replay(step, tags, link, layout, order=True)
    made = executed_graph(gm, step, tags, layout)
    return structure(made) == replayed_structure(step, executed)


def _word(node: fx.Node) -> str:
    return str(node.target) if node.op == "call_function" else str(node.op)
