"""Blocks compiled one by one, with one budget over all."""

import copy

import pytest
import torch
from models import Llama
from torch import nn

import remat_bb
import remat_bb.torch as rt

OPTIONS = {"costs": "roofline", "threads": 1, "time_limit": 0.4}


def held(model, batch) -> int:
    return sum(x.nbytes for x in (*model.parameters(), *model.buffers(), *batch))


def equal_steps(model, twin, batch, seed: int = 7) -> bool:
    losses = []
    for each in (model, twin):
        each.zero_grad()
        torch.manual_seed(seed)
        losses.append(each(*batch))
        losses[-1].backward()
    pairs = zip(model.parameters(), twin.parameters(), strict=True)
    return torch.equal(*losses) and all(torch.equal(a.grad, b.grad) for a, b in pairs)


def test_one_budget_over_all_blocks():
    model, batch = Llama(depth=5), (torch.randn(8, 32, 64),)
    twin = copy.deepcopy(model)
    fixed = held(model, batch)
    plain = rt.measure(twin, *batch, repeats=0)[0]
    budget = fixed + plain * 6 // 10
    handle = rt.regional(model, batch, budget, "blocks.*", **OPTIONS)
    assert handle.measured_bytes <= budget < fixed + plain
    assert handle.graphs < len(handle.saved_bytes) == 5, "equal plans share code"
    assert sum(handle.saved_bytes.values()) < plain and handle.overhead > 0
    assert len(rt.reports(model.blocks[0])) == 1
    for seed in range(2):
        assert equal_steps(model, twin, batch, seed)
    model.zero_grad()
    assert fixed + rt.measure(model, *batch, repeats=0)[0] <= budget

    # A smaller batch has plans within the same limits.
    smaller = (batch[0][:6],)
    assert equal_steps(model, twin, smaller)
    model.zero_grad()
    assert held(model, smaller) + rt.measure(model, *smaller, repeats=0)[0] <= budget

    with pytest.raises(remat_bb.InvalidArgument, match="compiled already"):
        rt.regional(model, batch, budget, "blocks.*", **OPTIONS)
    handle.remove()
    model.zero_grad()
    assert fixed + rt.measure(model, *batch, repeats=0)[0] > budget


class Dropped(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin, self.back = nn.Linear(64, 256), nn.Linear(256, 64)

    def forward(self, x):
        return x + self.back(nn.functional.dropout(torch.tanh(self.lin(x)), 0.2))


class Stack(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Dropped() for _ in range(4))
        self.extra = nn.Linear(64, 64)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return {"loss": x.square().mean(), "hidden": x}


def test_dropout_and_named_inputs():
    model, x = Stack(), torch.randn(512, 64)
    plain = held(model, (x,)) + rt.measure(lambda x: model(x)["loss"], x, repeats=0)[0]
    model.zero_grad()
    twin = copy.deepcopy(model)
    handle = rt.regional(model, {"x": x}, int(0.8 * plain), "layers.*", **OPTIONS)
    assert handle.overhead > 0 and "blocks in" in str(handle)
    found = []
    for each in (model, twin):
        torch.manual_seed(3)
        found.append(each(x=x)["loss"])
        found[-1].backward()
    assert torch.equal(*found)
    for a, b in zip(model.layers.parameters(), twin.layers.parameters()):
        assert torch.equal(a.grad, b.grad)


def test_accumulation_and_other_memory():
    model, x = Stack(), torch.randn(512, 64)
    gradients = sum(p.nbytes for p in model.parameters())
    plain = held(model, (x,)) + rt.measure(lambda x: model(x)["loss"], x, repeats=0)[0]
    model.zero_grad()
    budget = int(0.85 * plain) + gradients + 1000
    handle = rt.regional(
        model, (x,), budget, "layers.*", accumulate=True, extra_bytes=1000, **OPTIONS
    )
    assert all(p.grad is None for p in model.parameters())
    for _ in range(2):
        model(x)["loss"].backward()
    present = sum(p.grad.nbytes for p in model.parameters() if p.grad is not None)
    found = rt.measure(lambda x: model(x)["loss"], x, repeats=0)[0]
    assert held(model, (x,)) + present + found + 1000 <= budget
    assert handle.measured_bytes <= budget and handle.overhead > 0


def test_refusals():
    model, batch = Stack(), {"x": torch.randn(64, 64)}
    with pytest.raises(remat_bb.InvalidArgument, match="no module of the model is called"):
        rt.regional(model, batch, "1GiB", "blocks.*", **OPTIONS)
    with pytest.raises(remat_bb.InvalidArgument, match="extra does not run"):
        rt.regional(model, batch, "1GiB", "extra", **OPTIONS)
    with pytest.raises(remat_bb.InfeasibleBudget, match="least measured peak"):
        rt.regional(model, batch, "1KiB", "layers.*", **OPTIONS)
    assert not any("_compiled_call_impl" in vars(module) for module in model.modules())


def test_blocks_with_a_budget_each_are_refused():
    model, x = Stack(), torch.randn(512, 64)
    for layer in model.layers:
        layer.compile(backend=rt.backend("1GiB", costs="static"))
    with pytest.raises(remat_bb.RematError, match="each has the whole budget.*rt.regional"):
        model(x)
