"""Steps of whole models: results as without a plan, in every bit, and a peak as predicted."""

import copy

import pytest
import torch
from models import MODELS, Mlp
from steps import eager_step, planned_step

import remat_bb.torch as rt


@pytest.mark.parametrize("name", MODELS)
def test_results_and_peak(name):
    make, batch_of, budget = MODELS[name]
    model, batch = make(), batch_of()
    expected = eager_step(model, batch)
    step = rt.compile(model, budget=budget, costs="roofline", time_limit=3.0)
    start = copy.deepcopy(model.state_dict())
    assert planned_step(model, step, batch).differences(expected) == []

    report = step.report
    assert report.plan.recomputed, "the budget is to force a recomputation"
    assert report.predicted_bytes <= report.budget_bytes < report.instance.peak_memory_bytes
    model.load_state_dict(start)
    model.zero_grad()
    measured, _ = rt.measure(step, *batch, repeats=1)
    print(name, report)
    assert measured <= report.budget_bytes
    assert abs(measured - report.predicted_bytes) <= 0.005 * report.predicted_bytes


WIDE = (lambda: Mlp(256, 6, 0.1), lambda: (torch.randn(4096, 256),), "100%")
"""A model beside which the states of its generators are small."""


@pytest.mark.parametrize("name", ["mlp dropout", "gpt dropout", "wide"])
def test_everything_kept(name):
    make, batch_of, _ = WIDE if name == "wide" else MODELS[name]
    model, batch = make(), batch_of()
    expected = eager_step(model, batch)
    step = rt.compile(model, budget="100%", costs="roofline", time_limit=3.0)
    assert planned_step(model, step, batch).differences(expected) == []
    assert step.report.plan.recomputed == {}
