"""Updates in the backward pass: the optimizer's step for a parameter when its gradient is ready."""

import copy
import warnings

import pytest
import torch
from models import Gpt, Llama, Mlp, tokens

import remat_bb
import remat_bb.torch as rt
from remat_bb.torch import updates

PLAIN = {"costs": "static", "plan_cache": False, "extra_bytes": 0}


def grouped(model):
    """Two groups with options of their own."""
    parameters = list(model.parameters())
    groups = [
        {"params": parameters[:3], "weight_decay": 0.0, "lr": 3e-3},
        {"params": parameters[3:], "weight_decay": 0.1},
    ]
    return torch.optim.AdamW(groups, lr=1e-3, foreach=False)


def nesterov(model):
    return torch.optim.SGD(
        model.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01, foreach=False
    )


def adam(model):
    return torch.optim.Adam(model.parameters(), amsgrad=True, weight_decay=0.1, foreach=False)


def trained(model, batch, make, budget=None):
    """Three steps of a training loop with a scheduler."""
    optimizer = make(model)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    step = model
    if budget is not None:
        step = rt.compile(model, budget=budget, optimizer=optimizer, updates="in_backward", **PLAIN)
    for _ in range(3):
        optimizer.zero_grad()
        step(*batch).backward()
        optimizer.step()
        scheduler.step()
    return optimizer, step


def equal(ours, theirs):
    """Equality of two values in every bit."""
    if isinstance(ours, torch.Tensor):
        return torch.equal(ours, theirs)
    if isinstance(ours, dict):
        return ours.keys() == theirs.keys() and all(equal(v, theirs[k]) for k, v in ours.items())
    if isinstance(ours, (list, tuple)):
        return len(ours) == len(theirs) and all(map(equal, ours, theirs))
    return ours == theirs


def parameters_of(optimizer):
    return [p for group in optimizer.param_groups for p in group["params"]]


def model_of(name):
    torch.manual_seed(1)
    if name == "gpt":
        return Gpt(fused=True, depth=3), tokens()
    return Llama(depth=3), (torch.randn(8, 32, 64),)


@pytest.mark.parametrize("make", (grouped, nesterov, adam))
@pytest.mark.parametrize("name", ("gpt", "llama"))
def test_parameters_equal_late_updates_and_the_peak_is_the_measured_one(name, make):
    model, batch = model_of(name)
    late, _ = trained(copy.deepcopy(model), batch, make)
    own = copy.deepcopy(model)
    with warnings.catch_warnings():
        # The first step makes the states, and keeps the budget.
        warnings.simplefilter("error")
        early, step = trained(own, batch, make, "75%")
    assert equal(early.state_dict(), late.state_dict())
    assert equal(parameters_of(early), parameters_of(late))
    assert all(p.grad is None for p in own.parameters())
    report = step.report
    assert report.plan.recomputed and report.optimizer is early
    before = copy.deepcopy(early.state_dict())
    parameters = [p.detach().clone() for p in own.parameters()]
    found, _ = rt.measure(step, *batch, repeats=1)
    assert abs(found / report.predicted_bytes - 1) <= 0.005
    # Measurements leave parameters and states as they are.
    assert equal(parameters, list(own.parameters()))
    assert equal(early.state_dict(), before)


def test_gradients_are_freed_behind_their_updates():
    torch.manual_seed(0)
    options = {"costs": "static", "optimizer": torch.optim.AdamW}
    wide, batch = Mlp(width=256, dropout=0.0), (torch.randn(16, 256),)
    late = rt.export(wide, batch, **options)
    early = rt.export(wide, batch, updates="in_backward", **options)
    gradients = sum(4 * p.numel() for p in wide.parameters())
    assert late.peak_memory_bytes - early.peak_memory_bytes > gradients / 3
    model, batch = model_of("gpt")
    early = rt.export(model, batch, updates="in_backward", **options)
    nodes = early.to_dict()["nodes"]
    names = [node["name"] for node in nodes]
    made = [node for node in nodes if node.get("op") == "update"]
    assert len(made) == len(list(model.parameters()))
    for node in made:
        place = names.index(node["name"])
        assert node["recompute"] is False and node["output_bytes"] == 0
        # Right behind the gradient, or behind the last reader of the parameter.
        waits = [*node["needs"], *node.get("ends", ())]
        last = max(each if isinstance(each, int) else names.index(each) for each in waits)
        between = nodes[last + 1 : place]
        assert all(each in made or each["kind"] == "by_product" for each in between)
    plan = rt.plan(model, batch, "70%", updates="in_backward", **options)
    assert plan.recomputed and plan.peak_memory_bytes <= 0.7 * early.peak_memory_bytes


def test_a_gradient_that_is_asked_for_is_returned():
    torch.manual_seed(0)
    model, batch = Mlp(dropout=0.0), (torch.randn(16, 128),)
    optimizer = nesterov(model)
    options = {"optimizer": optimizer, "updates": "in_backward", **PLAIN}
    step = rt.compile(model, budget="100%", **options)
    before = [p.detach().clone() for p in model.parameters()]
    found = torch.autograd.grad(step(*batch), list(model.parameters()))
    wanted = torch.autograd.grad(model(*batch), list(model.parameters()))
    assert all(torch.equal(a, b) for a, b in zip(found, wanted))
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters()))


def test_faults_are_named():
    torch.manual_seed(0)
    model, batch = Mlp(dropout=0.0), (torch.randn(16, 128),)
    rest = torch.optim.SGD(list(model.parameters())[1:], lr=0.1)
    step = rt.compile(model, budget="100%", optimizer=rest, updates="in_backward", **PLAIN)
    with pytest.raises(remat_bb.RematError, match="no parameter of the optimizer"):
        step(*batch).backward()
    optimizer = nesterov(model)
    step = rt.compile(model, budget="100%", optimizer=optimizer, updates="in_backward", **PLAIN)
    first, second = step(*batch), step(*batch)
    with pytest.raises(remat_bb.RematError, match="share a parameter"):
        (first + second).backward()


@pytest.mark.parametrize(
    ("options", "words"),
    (
        ({"updates": "late"}, "'late' is no time"),
        ({}, "no optimizer is known"),
        ({"optimizer": torch.optim.SGD}, "holds no parameters"),
        ({"optimizer": "foreach"}, "foreach=True"),
        ({"optimizer": "plain", "inner": "inductor"}, 'exclude inner="inductor"'),
        ({"optimizer": "plain", "agree": True}, "exclude agree"),
        ({"optimizer": "plain", "in_flight": 2}, "exclude in_flight"),
        ({"optimizer": "plain", "accumulate": True}, "exclude accumulate"),
    ),
)
def test_settings_that_exclude_updates_are_refused(options, words):
    model = Mlp()
    options = {"updates": "in_backward", **options}
    if isinstance(options.get("optimizer"), str):
        foreach = options["optimizer"] == "foreach"
        options["optimizer"] = torch.optim.SGD(model.parameters(), foreach=foreach)
    with pytest.raises(remat_bb.InvalidArgument, match=words):
        rt.compile(model, budget="100%", **options)


def test_updates_have_the_options_of_their_groups():
    model, _ = model_of("gpt")
    made = grouped(model)
    found = updates._maker(made, made.param_groups[0])([torch.nn.Parameter(torch.ones(2))])
    assert found.param_groups[0]["weight_decay"] == 0.0 and not found.state
    assert len(made.param_groups) == 2
