"""Steps of modules, which are modules themselves; backward passes that are asked for twice."""

import copy
import inspect
import pickle

import pytest
import torch
from models import Mlp, Resnet, labelled
from steps import Outcome, eager_step, planned_step
from torch import nn

import remat_bb
import remat_bb.torch as rt

OPTIONS = {"costs": "roofline", "time_limit": 5.0, "plan_cache": False}


@pytest.fixture
def batch():
    return (torch.randn(512, 128),)


def compiled(model, budget="80%"):
    return rt.compile(model, budget=budget, **OPTIONS)


class Own(Mlp):
    """A module with a method and an attribute of its own."""

    def __init__(self):
        super().__init__()
        self.name = "own"

    def forward(self, x, scale=1.0):
        return scale * super().forward(x)

    def first(self):
        return self.layers[0]


def test_a_step_has_all_that_its_module_has():
    model = Own()
    step = compiled(model)
    assert isinstance(step, rt.Step) and isinstance(step, Own) and isinstance(step, nn.Module)
    assert [name for name, _ in step.named_children()] == ["layers"]
    assert [id(p) for p in step.parameters()] == [id(p) for p in model.parameters()]
    assert list(step.state_dict()) == list(model.state_dict())
    assert (step.name, step.first()) == ("own", model.layers[0])
    assert inspect.signature(step.forward) == inspect.signature(model.forward)
    assert type(step).__name__ == "Own" and repr(step) == repr(model)


def test_modes_are_those_of_the_module(batch):
    model = Mlp()
    step = compiled(model)
    step.eval()
    assert not model.training and not model.layers[0].training
    expected = eager_step(model, batch)
    assert planned_step(model, step, batch).differences(expected) == []
    model.train()
    assert step.training
    model.zero_grad()
    expected = eager_step(model, batch)
    assert planned_step(model, step, batch).differences(expected) == []


def test_attributes_of_a_step_are_those_of_the_module(batch):
    model = Mlp()
    step = compiled(model)
    step(*batch)
    step.dropout = 0.0
    assert model.dropout == 0.0
    model.zero_grad()
    expected = eager_step(model, batch)
    assert planned_step(model, step, batch).differences(expected) == []


def test_states_are_loaded(batch):
    model, other = Mlp(), Mlp()
    step = compiled(model)
    step.load_state_dict(other.state_dict())
    assert torch.equal(model.layers[0].weight, other.layers[0].weight)
    step.double()
    assert model.layers[0].weight.dtype == torch.float64


def test_forward_is_planned(batch):
    model = Mlp()
    step = compiled(model)
    expected = eager_step(model, batch)
    assert planned_step(model, step.forward, batch).differences(expected) == []
    assert step.report.plan.recomputed


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda step: pickle.loads(pickle.dumps(step))])
def test_copies_are_compiled_anew(copied):
    model, batch = Resnet(), labelled()
    step = compiled(model, "85%")
    step(*batch).backward()
    twin = copied(step)
    assert isinstance(twin, rt.Step) and isinstance(twin, Resnet)
    assert twin.reports == [] and len(step.reports) == 1
    pairs = list(zip(step.parameters(), twin.parameters(), strict=True))
    assert all(a is not b and torch.equal(a, b) for a, b in pairs)
    twin.zero_grad()
    expected = eager_step(twin.function, batch)
    assert planned_step(twin, twin, batch).differences(expected) == []
    assert twin.report.plan.recomputed


def test_steps_of_functions_are_none(batch):
    weight = torch.randn(128, 128, requires_grad=True)

    def loss(x):
        """Says something."""
        return (x @ weight).square().mean()

    step = compiled(loss, "100%")
    step(*batch).backward()
    assert not isinstance(step, nn.Module)
    assert (step.__name__, step.__doc__) == ("loss", "Says something.")
    assert weight.grad is not None


def test_steps_within_modules(batch):
    """A step is a child like any other."""
    whole = nn.ModuleDict({"body": compiled(Mlp())})
    assert list(whole.state_dict()) == [f"body.{name}" for name in Mlp().state_dict()]
    whole.eval()
    assert not whole["body"].training


def test_hooks_that_come_later(batch):
    model = Mlp(dropout=0.0)
    step = compiled(model)
    before = step(*batch).detach()
    handle = step.register_forward_hook(lambda module, inputs, output: 2 * output)
    assert torch.equal(step(*batch), 2 * before)
    handle.remove()
    assert torch.equal(step(*batch), before)


class Both(Mlp):
    """Two losses."""

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).relu()
        return x.square().mean(), x.abs().mean().view(1)


def test_two_losses(batch):
    model = Both()
    twin = copy.deepcopy(model)
    step = compiled(model)
    with pytest.raises(remat_bb.RematError, match="second backward pass") as caught:
        for loss in step(*batch):
            loss.backward()
    assert "add up the losses" in caught.value.remedy
    model.zero_grad()
    losses = []
    for run in (twin, step):
        first, second = run(*batch)
        losses.append(first + second)
        losses[-1].backward()
    expected = Outcome(twin, losses[0])
    assert Outcome(model, losses[1]).differences(expected) == []


@pytest.mark.parametrize("option", ["retain_graph", "create_graph"])
@pytest.mark.parametrize("position", [0, 1])
def test_graphs_that_are_to_be_kept(batch, option, position):
    losses = compiled(Both())(*batch)
    with pytest.raises(remat_bb.RematError, match=option):
        losses[position].backward(**{option: True})


def test_recurrent_layers_name_the_switch(batch):
    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.head = nn.GRU(8, 8), nn.Linear(8, 8)

        def forward(self, x):
            return self.head(self.body(x)[0]).square().mean()

    model, x = Recurrent(), (torch.randn(5, 3, 8),)
    step = compiled(model, "100%")
    with pytest.raises(remat_bb.RematError, match="GRU") as caught:
        step(*x)
    assert "allow_rnn = True" in caught.value.remedy
    with torch._dynamo.config.patch(allow_rnn=True):
        # Eager mode runs a layer in one kernel, which rounds otherwise on some processors.
        twin = copy.deepcopy(model)
        expected = planned_step(twin, torch.compile(twin, backend="aot_eager"), x)
        assert planned_step(model, step, x).differences(expected) == []
