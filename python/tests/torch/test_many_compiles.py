"""Many sizes, models, budgets and numbers in one process: each step has a plan."""

import copy

import pytest
import torch
from models import Mlp
from steps import eager_step, planned_step
from torch import nn
from torch.nn import functional as F

import remat_bb.torch as rt
from remat_bb.torch import bucket, planner

OPTIONS = {"costs": "roofline", "time_limit": 5.0, "plan_cache": False}
LIMIT = 2
"""Compilations of one piece of code that Dynamo keeps in these tests, in place of eight."""


@pytest.fixture(autouse=True)
def few():
    with torch._dynamo.config.patch(recompile_limit=LIMIT):
        yield


def rows(count):
    return (torch.randn(count, 128),)


class Weighted(nn.Module):
    """A loss with a number that changes from step to step."""

    def __init__(self, factor):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(64, 64) for _ in range(3))
        self.factor = factor

    def forward(self, x, number):
        for layer in self.layers:
            x = F.gelu(layer(x))
        penalty = self.layers[0].weight.square().sum()
        return x.square().mean() + self.factor(penalty, number)


NUMBERS = {
    "a float": (lambda x, k: x * k, [0.1 * k for k in range(LIMIT + 2)]),
    "an integer": (lambda x, k: x * (k / 1000) + k * x, [7 * k for k in range(1, LIMIT + 3)]),
    "a large integer": (lambda x, k: x * (k / 1000), [3, 2**31 + 1, 2**40 + 3]),
}


def test_more_models_than_dynamo_keeps():
    for _ in range(LIMIT + 2):
        step = rt.compile(Mlp(depth=2), budget="95%", **OPTIONS)
        step(*rows(512)).backward()
        assert len(step.reports) == 1


def test_more_backends_than_dynamo_keeps():
    model = Mlp(depth=2)
    for k in range(LIMIT + 2):
        backend = rt.backend(f"{99 - k / 2}%", **OPTIONS)
        torch.compile(model, backend=backend)(*rows(512)).backward()
        assert len(backend.reports) == 1


@pytest.mark.parametrize(
    "dynamic, fullgraph", [(None, False), (None, True), (False, False), (False, True), (True, True)]
)
def test_more_sizes_than_dynamo_keeps(dynamic, fullgraph):
    model = Mlp(depth=2)
    backend = rt.backend("90%", buckets=None, **OPTIONS)
    step = torch.compile(model, backend=backend, dynamic=dynamic, fullgraph=fullgraph)
    for k in range(LIMIT + 2):
        step(*rows(512 - 8 * k)).backward()
        assert len(backend.reports) == k + 1
    # Sizes that were there before have their plans.
    batch = rows(512)
    expected = eager_step(model.zero_grad() or model, batch)
    assert planned_step(model, step, batch).differences(expected) == []
    assert len(backend.reports) == LIMIT + 2
    assert all(r.measured_bytes <= r.budget_bytes for r in backend.reports)


def test_the_last_batch_of_an_epoch():
    """``Module.compile``, as scripts call it: the second size is dynamic for Dynamo."""
    model = Mlp()
    twin = copy.deepcopy(model)
    backend = rt.backend("75%", **OPTIONS)
    model.compile(backend=backend)
    for _ in range(2):
        for count in (512, 200):
            batch = rows(count)
            expected = eager_step(twin, batch)
            model.zero_grad()
            assert planned_step(model, model, batch).differences(expected) == []
    assert len(backend.reports) == 2
    assert all(report.plan.recomputed for report in backend.reports)


def test_sizes_marked_as_dynamic_without_buckets():
    model = Mlp()
    backend = rt.backend("75%", buckets=None, **OPTIONS)
    step = torch.compile(model, backend=backend)
    for count in (512, 384):
        (x,) = rows(count)
        torch._dynamo.mark_dynamic(x, 0)
        expected = eager_step(model.zero_grad() or model, (x,))
        assert planned_step(model, step, (x,)).differences(expected) == []
    assert len(backend.reports) == 2


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_that_change_are_tensors(name):
    factor, numbers = NUMBERS[name]
    model = Weighted(factor)
    twin = copy.deepcopy(model)
    reference = torch.compile(twin, backend="aot_eager")
    step = rt.compile(model, budget="97%", **OPTIONS)
    x = torch.randn(512, 64)
    for number in numbers:
        model.zero_grad()
        twin.zero_grad()
        expected = planned_step(twin, reference, (x, number))
        assert planned_step(model, step, (x, number)).differences(expected) == []
    assert len(step.reports) == 2, "one for the first value, and one for all others"


def test_integers_of_modules_are_tensors():
    class Warmed(Mlp):
        """A loss that is warmed up, by a number that the loop sets."""

        def forward(self, x):
            return super().forward(x) * min(1.0, self.epoch / 100)

    model = Warmed(depth=2, dropout=0.0)
    twin = copy.deepcopy(model)
    reference = torch.compile(twin, backend="aot_eager")
    step = rt.compile(model, budget="95%", **OPTIONS)
    batch = rows(512)
    for epoch in (3, 4, 7, 20, 90):
        model.epoch = twin.epoch = epoch
        model.zero_grad()
        twin.zero_grad()
        expected = planned_step(twin, reference, batch)
        assert planned_step(model, step, batch).differences(expected) == []
    assert len(step.reports) == 2


def test_many_plans_are_told_of(monkeypatch):
    monkeypatch.setattr(planner, "PLANS_TOLD", 2)
    step = rt.compile(Mlp(depth=2), budget="95%", **OPTIONS)
    step(*rows(512)).backward()
    with pytest.warns(UserWarning, match="2 plans so far"):
        step(*rows(128)).backward()


def test_integers_that_are_sizes_are_planned_each():
    class Parts(Mlp):
        def forward(self, x, count):
            return super().forward(x[:count])

    model = Parts(dropout=0.0)
    step = rt.compile(model, budget="85%", **OPTIONS)
    (x,) = rows(512)
    for count in range(512, 512 - LIMIT - 2, -1):
        model.zero_grad()
        expected = eager_step(model, (x, count))
        assert planned_step(model, step, (x, count)).differences(expected) == []
    assert len(step.reports) == LIMIT + 2


def test_settings_of_dynamo_outside_of_calls():
    config = torch._dynamo.config
    before = config.recompile_limit, config.optimize_ddp, config.automatic_dynamic_shapes
    step = rt.compile(Mlp(depth=2), budget="95%", **OPTIONS)
    step(*rows(512)).backward()
    with rt.budget("95%", **OPTIONS):
        assert config.recompile_limit > LIMIT
    assert before == (
        config.recompile_limit,
        config.optimize_ddp,
        config.automatic_dynamic_shapes,
    )


def test_one_plan_for_near_sizes(monkeypatch):
    model = Mlp()
    # The work of the solver is fixed, so that a busy machine finds the same plans.
    options = {**OPTIONS, "time_limit": "auto"}
    step = rt.compile(model, budget="70%", buckets=None, **options)
    for count, solved in ((512, True), (496, False), (470, False), (200, True), (500, False)):
        batch = rows(count)
        model.zero_grad()
        expected = eager_step(model, batch)
        assert planned_step(model, step, batch).differences(expected) == []
        assert (step.report.plan.status is not None) == solved
        assert step.report.plan.recomputed
        assert step.report.measured_bytes <= step.report.budget_bytes
    monkeypatch.setattr(bucket, "WIDTH", 0.0)
    step(*rows(480))
    assert step.report.plan.status is not None


def test_a_size_that_needs_no_plan_gets_none():
    """A budget in bytes is wide enough for the shorter batch: nothing of it is computed again."""
    model = Mlp()
    budget = rt.export(model, rows(512)).peak_memory_bytes * 95 // 100
    step = rt.compile(model, budget=budget, buckets=None, **OPTIONS)
    step(*rows(512)).backward()
    assert step.report.plan.recomputed
    # Gradients that are there would count.
    model.zero_grad()
    step(*rows(472)).backward()
    assert not step.report.plan.recomputed


def test_unplanned_calls_are_told_of():
    model = Mlp(depth=2)
    step = rt.compile(model, budget="95%", **OPTIONS)
    torch.compiler.set_stance("force_eager")
    try:
        with pytest.warns(UserWarning, match="trains without a plan"):
            step(*rows(64)).backward()
    finally:
        torch.compiler.set_stance("default")
    assert step.reports == []


def test_frozen_parameters_that_are_unfrozen():
    model = Mlp(dropout=0.0)
    model.layers[0].requires_grad_(False)
    step = rt.compile(model, budget="90%", **OPTIONS)
    batch = rows(512)
    for frozen in (True, False, True):
        model.zero_grad()
        model.layers[0].requires_grad_(not frozen)
        expected = eager_step(model, batch)
        assert planned_step(model, step, batch).differences(expected) == []
        assert (model.layers[0].weight.grad is None) == frozen
