"""Plain loops: autocast with a GradScaler, around a model that is planned in place or a step."""

import copy

import pytest
import torch
from models import Mlp

import remat_bb.torch as rt

OPTIONS = {"costs": "roofline", "time_limit": 2.0}


def loop(run, model, dtype):
    """Losses and gradients of ten steps with a scaled loss, as in torch's own recipe."""
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=4)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    losses, gradients = [], []
    torch.manual_seed(5)
    batch = torch.randn(1024, 128)
    for _ in range(10):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=dtype):
            loss = run(batch)
        scaler.scale(loss).backward()
        losses.append(loss.item())
        gradients += [p.grad.clone() for p in model.parameters()]
        scaler.step(optimizer)
        scaler.update()
    return losses, gradients, scaler.get_scale()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_autocast_with_a_scaler(dtype):
    model = Mlp(depth=5)
    plain, whole = copy.deepcopy(model), copy.deepcopy(model)
    plain.compile(backend="aot_eager", dynamic=False)
    handle = rt.attach(model, budget="75%", **OPTIONS)
    step = rt.compile(whole, budget="75%", **OPTIONS)
    expected = loop(plain, plain, dtype)
    for found in (loop(model, model, dtype), loop(step, whole, dtype)):
        assert found[0] == expected[0] and found[2] == expected[2]
        assert all(map(torch.equal, found[1], expected[1]))
    for report in (handle.report, step.report):
        assert report.plan.recomputed and report.measured_bytes <= report.budget_bytes
