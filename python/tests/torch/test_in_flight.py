"""Several forward passes whose backward pass is pending: micro-batches in flight."""

import copy

import pytest
import torch
from models import Gpt, Mlp

import remat_bb
import remat_bb.torch as rt
from remat_bb.torch import _compat
from remat_bb.torch.cost import peak_bytes

OPTIONS = {"costs": "roofline", "time_limit": 2.0, "plan_cache": False, "accumulate": True}


def pipelined(step, batches, k):
    """Forward and backward passes as on a stage under 1F1B, with k forward passes in flight."""
    pending, losses = [], []
    for batch in batches:
        pending.append(step(*batch))
        losses.append(pending[-1].detach())
        if len(pending) == k:
            pending.pop(0).backward()
    for loss in pending:
        loss.backward()
    return losses


CASES = {
    "mlp": (lambda: Mlp(depth=6, dropout=0.0), lambda: (torch.randn(1024, 128),)),
    "mlp dropout": (lambda: Mlp(depth=6, dropout=0.1), lambda: (torch.randn(1024, 128),)),
    "gpt": (
        lambda: Gpt(True, 0.0, width=64, depth=3, length=64),
        lambda: (torch.randint(0, 101, (4, 64)),),
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("k", [2, 4])
def test_the_budget_holds_for_all_of_them(name, k):
    make, batch_of = CASES[name]
    torch.manual_seed(0)
    model, batches = make(), [batch_of() for _ in range(6)]
    twin = copy.deepcopy(model)
    several = rt.plan(model, batches[0], "100%", in_flight=k, accumulate=True)
    budget = int(0.75 * several.peak_memory_bytes)
    step = rt.compile(model, budget=budget, in_flight=k, **OPTIONS)
    step(*batches[0]).backward()
    for parameter in (*model.parameters(), *twin.parameters()):
        parameter.grad = torch.zeros_like(parameter)
    torch.manual_seed(7)
    expected = pipelined(twin, batches, k)
    torch.manual_seed(7)
    with _compat.traced_memory() as events:
        found = pipelined(step, batches, k)
    assert all(map(torch.equal, found, expected))
    for mine, theirs in zip(model.parameters(), twin.parameters(), strict=True):
        assert torch.equal(mine.grad, theirs.grad)
    report = step.report
    held = report.fixed_bytes + peak_bytes(events)
    print(name, k, report, held)
    assert report.plan.recomputed and report.predicted_bytes <= budget
    assert held <= report.predicted_bytes + 64, "a loss for each of them, and their sum"
    assert held >= 0.97 * report.predicted_bytes
    assert report.waiting_bytes > 0


def test_more_in_flight_cost_more():
    model, batch = Mlp(depth=6, dropout=0.0), (torch.randn(1024, 128),)
    budget = rt.plan(model, batch, "100%").peak_memory_bytes
    costs = [rt.plan(model, batch, budget, in_flight=k).overhead for k in (1, 2, 3)]
    assert costs[0] == 0 and 0 < costs[1] <= costs[2]


def test_refusals():
    model = Mlp(depth=2)
    for wrong in (0, -1, 1.5):
        with pytest.raises(remat_bb.InvalidArgument, match="is no number of micro-batches"):
            rt.compile(model, budget="80%", in_flight=wrong)
    for other in ({"offload": "pcie4"}, {"reorder": True}, {"inner": "inductor"}):
        with pytest.raises(remat_bb.InvalidArgument, match="in_flight: several") as error:
            rt.compile(model, budget="80%", in_flight=2, **other)
        assert "leave out" in error.value.remedy
