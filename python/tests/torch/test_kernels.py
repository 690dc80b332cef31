"""Kernels guessed for Inductor: what is fused, what is written, what the units are."""

import pytest
import torch
from models import MODELS
from torch import nn

import remat_bb.torch as rt
from remat_bb.torch import fusion, kernels, planner
from remat_bb.torch.backend import traced
from remat_bb.torch.partition import Joint


class Stop(fusion.FusionPlanner):
    """A planner that ends with the joint graph and its units."""

    def planned(self, joint: Joint):
        raise planner.Planned((joint, fusion.Fused(joint)))


def units(model, *batch):
    return traced(model, batch, Stop(planner.Settings(1)), "inductor")


def test_pointwise_chains_are_one_unit():
    class Chain(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(64, 64), nn.Linear(64, 64)

        def forward(self, x):
            y = self.first(x).sin().exp().tanh()
            return self.second(y).sum()

    joint, fused = units(Chain(), torch.randn(32, 64))
    plain = [call.name for call in joint.calls]
    names = [call.name for call in fused.calls]
    assert {"sin", "exp", "tanh"} <= set(plain)
    assert "addmm" in names and "tanh" in names
    assert "sin" not in names, "all that read it can be fused with it"
    assert [call.name for call in fused.inner["tanh"]][0] == "sin"


def test_values_of_products_and_results_are_written():
    make, batch_of, _ = MODELS["gpt fused"]
    joint, fused = units(make(), *batch_of())
    names = {call.name for call in fused.calls}
    for call in joint.calls:
        if call.once or call.random or not joint.results.isdisjoint(call.values):
            assert call.name in names
    hidden = {call.name for calls in fused.inner.values() for call in calls}
    assert hidden and hidden.isdisjoint(names)
    assert len(fused.calls) < len(joint.calls) // 2
    made: set[str] = set()
    for call in fused.calls:
        assert all(joint.call_of[v].name in made for v in call.needs), "needs are units before it"
        made.add(call.name)


def test_steps_become_those_of_all_calls():
    make, batch_of, _ = MODELS["mlp"]
    joint, fused = units(make(), *batch_of())
    steps = [("compute", call.name) for call in fused.calls]
    found = [name for _, name in fused.expanded(steps)]
    assert set(found) == {call.name for call in joint.calls}
    place = {name: k for k, name in reversed(list(enumerate(found)))}
    for call in joint.calls:
        assert all(place[joint.call_of[v].name] < place[call.name] for v in call.needs)


def test_kernels_wait_for_no_circle():
    """A sum that is needed beside its terms after a product: one kernel would wait for itself."""
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    aten = torch.ops.aten
    first = graph.call_function(aten.sin.default, (x,))
    product = graph.call_function(aten.mm.default, (first, x))
    last = graph.call_function(aten.add.Tensor, (first, product))
    beside = graph.call_function(aten.cos.default, (first,))
    for node in (x, first, product, last, beside):
        node.meta["val"] = torch.empty(8, 8)
    operators = [
        kernels.Operator(first, [], 0),
        kernels.Operator(product, [0], 0),
        kernels.Operator(last, [0, 1], 0),
        kernels.Operator(beside, [0], 0),
    ]
    kernels.fuse(operators)
    numbers = [operator.kernel for operator in operators]
    assert numbers[2] != numbers[0] and numbers[3] == numbers[0]
    assert operators[0].readers == [1, 2, 3]
    assert kernels.inlined(operators, 4 * [256], set()) == set()


@pytest.mark.parametrize("name", ["mlp", "llama", "gpt dropout"])
def test_units_need_less_than_their_operators(name):
    make, batch_of, _ = MODELS[name]
    model, batch = make(), batch_of()
    plain = rt.export(model, batch)
    torch._dynamo.reset()
    stopped = fusion.FusionPlanner(planner.Settings(1, "static"), stop="instance")
    instance = traced(model, batch, stopped, "inductor")
    assert len(instance.nodes) < len(plain.nodes)
    assert instance.peak_memory_bytes <= plain.peak_memory_bytes
