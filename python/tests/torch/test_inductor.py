"""Steps that Inductor compiles: the partitioner is its own hook, the predicted peak a guide."""

import copy
import shutil

import pytest
import torch
from models import MODELS
from steps import planned_step

import remat_bb.torch as rt
from remat_bb.torch import planner

OPTIONS = {"costs": "roofline", "time_limit": 2.0}

needs_compiler = pytest.mark.skipif(
    shutil.which("g++") is None, reason="Inductor needs a C++ compiler"
)


def same(found, expected) -> bool:
    """True if losses and gradients agree but for the order of sums."""
    torch.testing.assert_close(found.loss, expected.loss, rtol=1e-5, atol=0)
    for name, gradient in expected.gradients.items():
        torch.testing.assert_close(found.gradients[name], gradient, rtol=1e-5, atol=1e-7)
    return True


@needs_compiler
def test_dropout():
    make, batch_of, budget = MODELS["mlp dropout"]
    model, batch = make(), batch_of()
    twin = copy.deepcopy(model)
    expected = planned_step(twin, torch.compile(twin, fullgraph=True), batch)
    step = rt.compile(model, budget=budget, inner="inductor", **OPTIONS)
    assert same(planned_step(model, step, batch), expected)
    assert step.report.plan.recomputed
    model.zero_grad()
    measured, _ = rt.measure(step, *batch, repeats=0)
    # Fusion saves memory in most places and takes some in others: the prediction is no bound.
    plain = rt.compile(twin, budget="100%", inner="inductor", **OPTIONS)
    planned_step(twin, plain, batch)
    twin.zero_grad()
    without, _ = rt.measure(plain, *batch, repeats=0)
    assert measured < without


@needs_compiler
def test_context_for_scripts_that_compile_themselves():
    make, batch_of, budget = MODELS["mlp"]
    model, batch = make(), batch_of()
    twin = copy.deepcopy(model)
    expected = planned_step(twin, torch.compile(twin, fullgraph=True), batch)
    torch._dynamo.reset()
    with rt.budget(budget, **OPTIONS) as reports:
        found = planned_step(model, torch.compile(model, fullgraph=True), batch)
    assert same(found, expected)
    assert len(reports) == 1 and reports[0].plan.recomputed
    assert torch._inductor.config.custom_partitioner_fn is None


def test_keys_of_the_cache():
    settings = [planner.Settings(budget, cache=True) for budget in ("1GiB", "1GiB", "2GiB")]
    first, same, other = (planner.Planner(each).uuid() for each in settings)
    assert first == same != other
    alone = [planner.Planner(planner.Settings("1GiB")) for _ in range(2)]
    assert alone[0].uuid() == alone[0].uuid() != alone[1].uuid()
    plain = planner.Planner(settings[0])
    assert copy.deepcopy(plain) is plain, "Inductor copies its configuration"
