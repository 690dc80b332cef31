"""State of a training script, as it was once a step was tried, measured or planned."""

import copy
import random

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import remat_bb
import remat_bb.torch as rt

OPTIONS = {"costs": "roofline", "time_limit": 1.0, "plan_cache": False}


class Net(nn.Module):
    """A model with statistics, dropout, and a buffer that is replaced in every step."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(64, 64), nn.BatchNorm1d(64), nn.GELU(), nn.Dropout(0.1), nn.Linear(64, 64)
        )
        self.register_buffer("mean", torch.zeros(64))

    def forward(self, x):
        found = self.layers(x)
        self.mean = 0.9 * self.mean + 0.1 * found.detach().mean(0)
        return found


net = Net()


def of_a_global(x, y):
    return F.cross_entropy(net(x), y)


def of_a_closure(model):
    return lambda x, y: F.cross_entropy(model(x), y)


class Holder:
    """An object that holds the model deep down."""

    def __init__(self, model) -> None:
        self.parts = {"nets": [model]}

    def loss(self, x, y):
        return F.cross_entropy(self.parts["nets"][0](x), y)


class Partly(nn.Module):
    """A module that holds the model as no child of it."""

    def __init__(self, model) -> None:
        super().__init__()
        self.hidden = [model]

    def forward(self, x, y):
        return F.cross_entropy(self.hidden[0](x), y)


KINDS = {
    "global": lambda: of_a_global,
    "closure": lambda: of_a_closure(net),
    "method": lambda: Holder(net).loss,
    "module": lambda: Partly(net),
}


class State:
    """All that a training loop has."""

    def __init__(self, optimizer) -> None:
        self.gradients = [p.grad for p in net.parameters()]
        self.sums = [None if g is None else g.clone() for g in self.gradients]
        self.parameters = [p.detach().clone() for p in net.parameters()]
        self.buffers = [(b, b.clone()) for b in net.buffers()]
        self.random = torch.get_rng_state(), random.getstate()
        self.optimizer = copy.deepcopy(optimizer.state_dict())

    def check(self, optimizer) -> None:
        """Asserts that it is the same now."""
        now = State(optimizer)
        assert all(a is b for a, b in zip(self.gradients, now.gradients))
        for before, after in zip(self.sums + self.parameters, now.sums + now.parameters):
            assert before is after is None or torch.equal(before, after)
        for (tensor, value), (other, _) in zip(self.buffers, now.buffers):
            assert tensor is other and torch.equal(tensor, value)
        assert torch.equal(self.random[0], now.random[0]) and self.random[1] == now.random[1]
        assert str(self.optimizer) == str(now.optimizer)


@pytest.fixture
def batch():
    return torch.randn(512, 64), torch.randint(0, 64, (512,))


@pytest.fixture(params=[False, True], ids=["no gradients", "gradients"])
def loop(request, batch):
    """An optimizer with states; gradients of a micro-batch, or none."""
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    of_a_global(*batch).backward()
    optimizer.step()
    if not request.param:
        optimizer.zero_grad()
    return optimizer


@pytest.mark.parametrize("kind", KINDS)
def test_compile_with_budget(kind, batch, loop):
    before = State(loop)
    step = rt.compile_with_budget(KINDS[kind](), batch, "85%", **OPTIONS)
    before.check(loop)
    assert step.report.measured_bytes <= step.report.budget_bytes
    expected = before.sums[0] is not None
    assert (step.report.accumulated_bytes > 0) == expected, "gradients that are there count"


@pytest.mark.parametrize("kind", KINDS)
def test_measure(kind, batch, loop):
    before = State(loop)
    rt.measure(KINDS[kind](), *batch)
    before.check(loop)
    step = rt.compile(KINDS[kind](), budget="85%", **OPTIONS)
    rt.measure(step, *batch)
    before.check(loop)


@pytest.mark.parametrize("costs", ["static", "measured"])
def test_plan_and_export(costs, batch, loop):
    before = State(loop)
    rt.plan(of_a_global, batch, "85%", **{**OPTIONS, "costs": costs})
    rt.export(of_a_global, batch, costs=costs)
    before.check(loop)
    with torch.no_grad(), pytest.raises(remat_bb.RematError):
        rt.plan(of_a_global, batch, "85%", **OPTIONS)
    before.check(loop)


def test_an_optimizer_that_steps_in_the_backward_pass(batch):
    net.zero_grad()
    optimizers = {p: torch.optim.AdamW([p], lr=1e-2) for p in net.parameters()}

    def stepped(parameter):
        optimizers[parameter].step()
        parameter.grad = None

    handles = [p.register_post_accumulate_grad_hook(stepped) for p in optimizers]
    try:
        before = State(next(iter(optimizers.values())))
        step = rt.compile_with_budget(of_a_global, batch, "85%", **OPTIONS)
        before.check(next(iter(optimizers.values())))
        step(*batch).backward()
        changed = zip(before.parameters, net.parameters())
        assert not any(torch.equal(a, b) for a, b in changed), "the hooks are there still"
    finally:
        for handle in handles:
            handle.remove()


def test_a_batch_with_a_history(batch):
    """What made it is left alone: it has one backward pass."""
    net.zero_grad()
    front = nn.Linear(64, 64)
    x = front(batch[0])
    step = rt.compile(of_a_global, budget="85%", **OPTIONS)
    rt.measure(step, x, batch[1])
    assert front.weight.grad is None
    step(x, batch[1]).backward()
    assert front.weight.grad is not None
    net.zero_grad()


def test_the_first_gradient_is_the_users(batch):
    net.zero_grad()
    twin = copy.deepcopy(net)
    step = rt.compile_with_budget(of_a_global, batch, "85%", **OPTIONS)
    torch.manual_seed(5)
    step(*batch).backward()
    torch.manual_seed(5)
    F.cross_entropy(twin(batch[0]), batch[1]).backward()
    for mine, theirs in zip(net.parameters(), twin.parameters()):
        assert torch.equal(mine.grad, theirs.grad)
    net.zero_grad()
