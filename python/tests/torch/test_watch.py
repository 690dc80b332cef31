"""Steps, measured against the budget; graph breaks, refused by name."""

import contextlib
import warnings

import pytest
import torch
from models import MODELS, Mlp
from steps import eager_step, planned_step

import remat_bb
import remat_bb.torch as rt
from remat_bb.torch import _compat, memory, planner

OPTIONS = {"costs": "roofline", "time_limit": 2.0}


@pytest.fixture
def batch():
    return (torch.randn(512, 128),)


@pytest.fixture
def leak(monkeypatch):
    """Plans whose forward graph holds on to a tensor that it should let go of."""
    held = []
    old = planner.rewrite

    def leaking(joint, steps):
        graphs = old(joint, steps)
        graph = graphs.forward.graph
        for node in graph.find_nodes(op="call_function", target=torch.ops.aten.gelu.default):
            with graph.inserting_after(node):
                graph.call_function(lambda x: held.append(x), (node,))
        graphs.forward.recompile()
        return graphs

    monkeypatch.setattr(planner, "rewrite", leaking)
    monkeypatch.setattr(planner, "peak", lambda *_: memory.Peak(1, "nothing"))
    return held


def test_a_first_step_above_the_budget(batch, leak):
    step = rt.compile(Mlp(), budget="60%", strict=True, **OPTIONS)
    with pytest.raises(remat_bb.RematError, match="first step took .* above the budget") as caught:
        step(*batch).backward()
    assert leak and "compile_with_budget" in caught.value.remedy
    assert step.report.measured_bytes > step.report.budget_bytes
    torch._dynamo.reset()
    step = rt.compile(Mlp(), budget="60%", **OPTIONS)
    with pytest.warns(UserWarning, match="above the budget"):
        step(*batch).backward()
    step.function.zero_grad()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        step(*batch).backward()


@pytest.mark.parametrize("name", ["mlp dropout", "resnet", "gpt fused"])
def test_the_watch_measures_what_measure_does(name, monkeypatch):
    make, batch_of, budget = MODELS[name]
    model, batch = make(), batch_of()
    traced, calls = _compat.traced_memory, []

    def counted():
        calls.append(1)
        return traced()

    step = rt.compile(model, budget=budget, strict=True, **OPTIONS)
    step(*batch).backward()
    watched = step.report.measured_bytes
    model.zero_grad()
    monkeypatch.setattr(_compat, "traced_memory", counted)
    step(*batch).backward()
    step(*batch).backward()
    assert len(calls) == 4, "the second one is measured, and the first that adds to gradients"
    model.zero_grad()
    calls.clear()
    measured, _ = rt.measure(step, *batch, repeats=0)
    assert calls and abs(watched - measured) <= 64, "a few bytes for what seeds the backward pass"


def test_steps_are_measured_more_and_more_seldom(batch, monkeypatch):
    model, measured = Mlp(), []
    traced = _compat.traced_memory
    step = rt.compile(model, budget="80%", strict=True, **OPTIONS)
    step(*batch).backward()
    for number in range(2, 18):
        monkeypatch.setattr(
            _compat, "traced_memory", lambda n=number: measured.append(n) or traced()
        )
        model.zero_grad()
        step(*batch).backward()
    assert measured == [2, 2, 4, 4, 8, 8, 16, 16], "forward and backward pass of each"


def test_a_later_step_above_the_budget():
    """Gradients that the plan was not to count."""
    model, batch = Mlp(256, 4, 0.0), (torch.randn(256, 256),)
    options = {"budget": "95%", "accumulate": False, **OPTIONS}
    step = rt.compile(model, strict=True, **options)
    step(*batch).backward()
    with pytest.raises(remat_bb.RematError, match="step 2 took .* gradients") as caught:
        step(*batch).backward()
    assert "accumulate=True" in caught.value.remedy
    torch._dynamo.reset()
    model.zero_grad()
    step = rt.compile(model, **options)
    step(*batch).backward()
    with pytest.warns(UserWarning, match="accumulate=True"):
        step(*batch).backward()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        step(*batch).backward()
        step(*batch).backward()
    assert step.report.measured_bytes > step.report.budget_bytes


def test_a_backward_pass_without_a_measured_forward_pass(batch):
    """Profilers of the user's are left alone."""
    model = Mlp()
    step = rt.compile(model, budget="70%", strict=True, **OPTIONS)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
        step(*batch)
    step(*batch).backward()
    assert step.report.measured_bytes is not None
    assert step.report.measured_bytes <= step.report.budget_bytes


def test_budgets_missed_without_strict(batch, monkeypatch):
    """The step of least peak comes back, with a warning, where no plan keeps the budget."""
    import sys

    module = sys.modules["remat_bb.torch.backend"]
    real = module._measured

    def larger(step, *inputs, **options):
        found, seconds = real(step, *inputs, **options)
        step.report.measured_bytes = found + (10 << 20)
        return found + (10 << 20), seconds

    monkeypatch.setattr(module, "_measured", larger)
    monkeypatch.setattr(module, "ATTEMPTS", 1)
    with pytest.raises(remat_bb.RematError, match="above the budget"):
        rt.compile_with_budget(Mlp(), batch, "80%", **OPTIONS)
    model = Mlp()
    expected = eager_step(model, batch)
    with pytest.warns(UserWarning, match="above the budget"):
        step = rt.compile_with_budget(model, batch, "80%", strict=False, **OPTIONS)
    assert planned_step(model, step, batch).differences(expected) == []


class Broken(Mlp):
    """A graph break between two training graphs."""

    def forward(self, x):
        x = self.layers[0](x)
        torch._dynamo.graph_break()
        return super().forward(x)


class BrokenBefore(Mlp):
    """A graph break before anything needs gradients."""

    def forward(self, x):
        x = x.sin()
        torch._dynamo.graph_break()
        return super().forward(x)


@pytest.mark.parametrize("inner", ["eager", "inductor"])
def test_breaks_are_named(batch, inner):
    compiled = torch.compile(Broken(), backend=rt.backend("80%", inner, **OPTIONS))
    with pytest.raises(Exception, match="several graphs") as caught:
        compiled(*batch)
    words = str(caught.value)
    assert "test_watch.py:" in words and "graph_break" in words
    with contextlib.suppress(AttributeError):
        assert isinstance(caught.value.inner_exception, remat_bb.RematError)


def test_breaks_outside_of_training_are_none(batch):
    model = BrokenBefore()
    expected = eager_step(model, batch)
    backend = rt.backend("70%", **OPTIONS)
    step = torch.compile(model, backend=backend)
    assert planned_step(model, step, batch).differences(expected) == []
    (report,) = backend.reports
    assert report.plan.recomputed
