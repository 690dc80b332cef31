"""Steps in one graph: replays of tags count what a run has in memory, and searches keep budgets."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch
from torch import Tensor, fx
from torch.fx.experimental.proxy_tensor import make_fx

import remat_bb
from remat_bb.errors import InfeasibleBudget
from remat_bb.torch import Roofline, UnsupportedGraph, measure_graph
from remat_bb.torch.link import Link
from remat_bb.torch.step_graph import StepGraph, name_gradient_sums
from remat_bb.torch.tag_instance import step_document, tags_of
from remat_bb.torch.tag_replay import COPY, RECOMPUTED, SAVED, replay
from remat_bb.torch.tag_search import TagSearch, Tuning
from remat_bb.torch.tag_units import Units

LINK = Link.of("pcie4")
COSTS = Roofline(flops=1e12, bytes_per_second=1e11, launch_ns=500)
DEPTH = 5


def step_of(*values: Tensor) -> list[Tensor]:
    """Loss and gradients of layers with a norm that changes its mean in place."""
    weights, x = values[:-1], values[-1]
    leaves = [w.detach().requires_grad_() for w in weights]
    y = x
    for weight in leaves:
        mean = y.square().mean(-1, keepdim=True)
        mean.add_(1e-6)
        y = y + torch.nn.functional.silu(y * mean.rsqrt()) @ weight
    loss = y.square().sum()
    return [loss, *torch.autograd.grad(loss, leaves)]


def traced() -> tuple[fx.GraphModule, list[Tensor]]:
    """The step as one graph, with the marks that torchtitan's tracer leaves."""
    torch.manual_seed(0)
    values = [torch.randn(32, 32) / 6 for _ in range(DEPTH)] + [torch.randn(256, 32)]
    module = make_fx(step_of, tracing_mode="fake")(*values)
    backward = False
    layer = -1
    for node in module.graph.nodes:
        if node.op != "call_function":
            continue
        backward = backward or "ones_like" in node.name
        node.meta["autograd_backward"] = backward
        layer += node.target is torch.ops.aten.mean.dim and not backward
        node.meta["custom"] = {"module_fqn": f"layers.{max(layer, 0)}"}
    return module, values


def built(step: StepGraph, module: fx.GraphModule, tags: dict[int, str]) -> fx.GraphModule:
    """The graph whose nodes and order a replay tells."""
    executed = replay(step, tags, LINK, order=True)
    graph = fx.Graph()
    newest: dict[fx.Node, fx.Node] = {}
    made: list[fx.Node] = []
    for (kind, k), reads in zip(executed.order, executed.reads):
        node = step.nodes[k]
        # Each read node is the original or its copy: the one at a told position.
        sources: dict[fx.Node, fx.Node] = {}
        for position in reads:
            sources[step.nodes[executed.order[position][1]]] = made[position]
        copy = graph.node_copy(node, lambda n, s=sources: s[n])
        if kind == COPY:
            copy.name = f"{node.name}_again"
        newest[node] = copy
        made.append(copy)
    return fx.GraphModule(module, graph)


def random_tags(step: StepGraph, units: Units, seed: int) -> dict[int, str]:
    generator = random.Random(seed)
    share = generator.random()
    states = [
        RECOMPUTED if RECOMPUTED in u.states and generator.random() < share else SAVED
        for u in units.units
    ]
    return units.tags(states)


def test_replays_count_what_runs_hold_and_results_stay() -> None:
    module, values = traced()
    step = StepGraph(module.graph, COSTS)
    units = Units(step, LINK)
    expected, plain = measure_graph(module, list(values))
    assert replay(step, {}, LINK).peak_bytes == plain
    peaks = set()
    for seed in range(12):
        tags = random_tags(step, units, seed)
        outputs, peak = measure_graph(built(step, module, tags), list(values))
        assert replay(step, tags, LINK).peak_bytes == peak
        assert all(torch.equal(a, b) for a, b in zip(outputs, expected))
        peaks.add(peak)
    assert len(peaks) > 3


def test_changes_in_place_run_again_with_their_tensor() -> None:
    module, _ = traced()
    step = StepGraph(module.graph, COSTS)
    assert len(step.together) == DEPTH
    for maker, change in step.together:
        assert step.nodes[change].target is torch.ops.aten.add_.Tensor or "add_" in str(
            step.nodes[change].target
        )
        assert step.inputs[change] == (maker,)
        assert not step.once[maker] and not step.once[change]


def test_searches_keep_budgets_and_never_lose_to_a_start() -> None:
    module, values = traced()
    step = StepGraph(module.graph, COSTS)
    units = Units(step, LINK)
    given = {f"policy {k}": random_tags(step, units, k) for k in range(4)}
    search = TagSearch(step, LINK, offload=False, policies=given, tuning=Tuning(replays=60))
    low, high = search.least_bytes, search.unplanned.peak_bytes
    assert low < 0.8 * high
    before = None
    for k in range(5):
        budget = low + (high - low) * k // 4
        found = search.best(budget)
        assert found.executed.peak_bytes <= budget
        outputs, peak = measure_graph(built(step, module, found.tags), list(values))
        assert peak == found.executed.peak_bytes
        for start in search.starts:
            if start.executed.peak_bytes <= budget:
                assert found.executed.time_ns <= start.executed.time_ns
        before = found if before is None else before
    assert found.executed.time_ns == search.unplanned.time_ns < before.executed.time_ns


def test_a_budget_that_no_tags_keep_names_the_least_known() -> None:
    module, _ = traced()
    search = TagSearch(StepGraph(module.graph, COSTS), LINK, offload=False)
    with pytest.raises(InfeasibleBudget, match="least counted peak") as caught:
        search.best(1000)
    known = caught.value.known_bytes
    assert known is not None and known <= search.least_bytes
    assert search.best(known).executed.peak_bytes <= known


def test_the_instance_has_the_peak_and_the_time_of_the_step() -> None:
    module, _ = traced()
    step = StepGraph(module.graph, COSTS)
    instance = remat_bb.Instance(step_document(step, "step"))
    plain = replay(step, {}, LINK)
    assert instance.peak_memory_bytes == plain.peak_bytes
    assert instance.base_cost == plain.time_ns
    units = Units(step, LINK)
    names = {n.name for n in step.nodes}
    assert set(instance.nodes) - {"end of step"} <= names
    first = next(u for u in units.units if RECOMPUTED in u.states)
    tags = tags_of(units, {step.nodes[first.members[0]].name: RECOMPUTED})
    assert [k for k in first.members if tags[k] == RECOMPUTED] == first.members


def test_graphs_without_a_backward_pass_are_refused() -> None:
    module = make_fx(lambda x: x.sin(), tracing_mode="fake")(torch.ones(3))
    with pytest.raises(UnsupportedGraph, match="no backward pass"):
        StepGraph(module.graph, COSTS)


def test_sums_of_gradients_are_not_named_after_the_loss() -> None:
    graph = fx.Graph()
    x = graph.placeholder("x")
    names: list[Any] = [("loss", False), ("loss", True), ("layers.0", True), ("loss", True)]
    nodes = []
    for module, backward in names:
        nodes.append(graph.call_function(torch.ops.aten.neg.default, (x,)))
        nodes[-1].meta.update(custom={"module_fqn": module}, autograd_backward=backward)
    assert name_gradient_sums(graph) == 1
    left = [n.meta["custom"].get("module_fqn") for n in nodes]
    assert left == ["loss", "loss", "layers.0", None]
