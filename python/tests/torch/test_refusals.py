"""Refusals and warnings, in words that name place and remedy, and what is left as it was."""

import dataclasses
import sys
import threading

import pytest
import torch
from models import Mlp, Resnet, labelled
from torch import nn

import remat_bb
import remat_bb.torch as rt
from remat_bb.torch import _compat

OPTIONS = {"costs": "roofline", "time_limit": 2.0}


def test_versions():
    with pytest.raises(remat_bb.RematError, match="2.9 or later"):
        _compat.check_version("2.8.1+cpu")
    with pytest.warns(UserWarning, match="tested with torch 2.11"):
        _compat.check_version("3.0.0a0")
    _compat.check_version("2.11.0+cu130")


class Recorded(nn.Module):
    """A module that records something behind a lock, as those of transformers do."""

    lock = threading.Lock()

    def forward(self, x):
        with self.lock:
            return x.square().mean()


class Raising(nn.Module):
    """A module that is wrong."""

    def forward(self, x):
        return x.mean() + self.weight


class Cached(nn.Module):
    """A module whose cache of keys and values breaks the graph."""

    def forward(self, x, past_key_values=None):
        torch._dynamo.graph_break("past_key_values")
        return x.square().mean()


@pytest.mark.parametrize(
    "module, remedy",
    [
        (Recorded(), "output_router_logits=False"),
        (Raising(), "without compile"),
        (Cached(), "use_cache=False"),
    ],
)
def test_breaks_have_remedies(module, remedy):
    step = rt.compile(module, budget="1GiB", **OPTIONS)
    with pytest.raises(remat_bb.RematError, match="several graphs") as caught:
        step(torch.randn(4, requires_grad=True))
    assert remedy in caught.value.remedy


def test_custom_operators_run_with_a_plan():
    @torch.library.custom_op("remat_tests::double", mutates_args=())
    def double(x: torch.Tensor) -> torch.Tensor:
        return 2 * x

    double.register_fake(torch.empty_like)
    double.register_autograd(lambda ctx, gradient: double(gradient))
    weight = torch.randn(64, 64, requires_grad=True)

    def loss(x):
        return double(torch.tanh(x @ weight)).square().mean()

    x = torch.randn(128, 64)
    loss(x).backward()
    expected, weight.grad = weight.grad, None
    step = rt.compile(loss, budget="90%", **OPTIONS)
    step(x).backward()
    assert torch.equal(weight.grad, expected)


def test_planning_leaves_what_was_compiled():
    seen = []

    def counting(module, inputs):
        seen.append(module)
        return module.forward

    other = torch.compile(lambda x: x + 1, backend=counting)
    other(torch.ones(2))
    rt.export(Mlp(), (torch.randn(8, 128),))
    other(torch.ones(2))
    assert len(seen) == 1


def test_measurements_leave_gradients():
    model, x = Mlp(), torch.randn(64, 128)
    model(x).backward()
    gradients = [p.grad for p in model.parameters()]
    values = [g.clone() for g in gradients]
    rt.measure(model, x, repeats=2)
    for parameter, gradient, value in zip(model.parameters(), gradients, values, strict=True):
        assert parameter.grad is gradient and torch.equal(gradient, value)


def test_compile_with_budget_leaves_buffers_and_random_numbers():
    model, batch = Resnet(), labelled()
    before = {name: buffer.clone() for name, buffer in model.named_buffers()}
    torch.manual_seed(11)
    rt.compile_with_budget(model, batch, "80%", **OPTIONS)
    drawn = torch.rand(3)
    torch.manual_seed(11)
    assert torch.equal(drawn, torch.rand(3))
    assert all(torch.equal(b, before[name]) for name, b in model.named_buffers())


def test_compile_with_budget_asks_for_less_until_it_fits(monkeypatch):
    model, batch = Mlp(), (torch.randn(512, 128),)
    module = sys.modules["remat_bb.torch.backend"]
    real, seen = module._measured, []

    def larger(step, *inputs, **options):
        """A compiler whose code needs 200,000 bytes more than was predicted."""
        found, seconds = real(step, *inputs, **options)
        seen.append((step.report.budget_bytes, found + 200_000))
        return found + 200_000, seconds

    # The function backend hides the module of that name.
    monkeypatch.setattr(module, "_measured", larger)
    budget = rt.export(model, batch).peak_memory_bytes * 3 // 4
    step = rt.compile_with_budget(model, batch, budget, **OPTIONS)
    assert len(seen) > 1 and seen[0][1] > budget >= seen[-1][1]
    assert all(later[0] < earlier[0] for earlier, later in zip(seen, seen[1:]))
    assert step.report.budget_bytes == budget


def test_budgets_are_lowered_below_the_plan_that_missed(monkeypatch):
    """Graphs that need more than their plan says are made anew from a plan for less."""
    model, batch = Mlp(dropout=0.0), (torch.randn(512, 128),)
    first = rt.plan(model, batch, "70%", time_limit=2.0)
    # Far above what the plan needs: a budget lowered by bytes would have the same plan.
    budget, extra = first.peak_memory_bytes + 100_000, 101_000
    module = sys.modules["remat_bb.torch.planner"]
    real = module.peak

    def larger(*arguments):
        found = real(*arguments)
        return dataclasses.replace(found, bytes=found.bytes + extra)

    monkeypatch.setattr(module, "peak", larger)
    second = rt.plan(model, batch, budget, time_limit=2.0)
    assert second.peak_memory_bytes + extra <= budget


def test_export_solves_like_any_instance(tmp_path):
    instance = rt.export(Mlp(), (torch.randn(512, 128),))
    instance.save(tmp_path / "mlp.json.gz")
    again = remat_bb.Instance(tmp_path / "mlp.json.gz")
    assert again == instance
    plan = remat_bb.solve(again, "80%", time_limit=2.0)
    assert plan.recomputed and plan.peak_memory_bytes <= plan.budget_bytes


def test_nothing_to_plan():
    model = Mlp().requires_grad_(False)
    with pytest.raises(remat_bb.RematError, match="nothing in it needs gradients"):
        rt.export(model, (torch.randn(8, 128),))
    with pytest.raises(remat_bb.RematError, match="call the step once"):
        rt.compile(model, budget="1GiB").report  # noqa: B018
