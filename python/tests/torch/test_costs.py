"""Costs that cannot be measured, and values whose memory cannot be counted."""

import pytest
import torch
from torch import nn
from torch.nn import functional

import remat_bb.torch as rt

OPTIONS = {"time_limit": 2.0}


class Segments(nn.Module):
    """Its last operator checks its lengths, which measuring makes up."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(32, 32) for _ in range(3))

    def forward(self, x, lengths):
        for layer in self.layers:
            x = functional.gelu(layer(x))
        return torch.segment_reduce(x, "sum", lengths=lengths).square().mean()


@pytest.mark.parametrize("costs", ["measured", "roofline"])
def test_operators_that_raise_have_estimates(costs):
    model, batch = Segments(), (torch.randn(128, 32), torch.full((8,), 16))
    model(*batch).backward()
    expected = [p.grad for p in model.parameters()]
    model.zero_grad()
    step = rt.compile(model, budget="80%", costs=costs, **OPTIONS)
    step(*batch).backward()
    assert all(torch.equal(p.grad, g) for p, g in zip(model.parameters(), expected))
    assert "segment_reduce" in step.report.estimated["aten.segment_reduce.default"]
    assert "costs are estimates for aten.segment_reduce.default" in str(step.report)
    assert "aten.gelu.default" not in step.report.estimated


def test_operators_of_others_are_not_run_to_be_measured():
    seen = []

    @rt.pure
    @torch.library.custom_op("remat_tests::sorted_only", mutates_args=())
    def sorted_only(x: torch.Tensor) -> torch.Tensor:
        seen.append(x.flatten()[0].item())
        return x * 2

    sorted_only.register_fake(torch.empty_like)
    sorted_only.register_autograd(lambda ctx, gradient: 2 * gradient)
    weight = torch.ones(8, 8, requires_grad=True)
    step = rt.compile(lambda x: sorted_only(x @ weight).sum(), budget="100%", **OPTIONS)
    step(torch.ones(4, 8)).backward()
    assert seen == [8.0]
    assert step.report.estimated == {
        "remat_tests.sorted_only.default": "it is not one of torch's own operators"
    }


def test_narrow_floats():
    weight = torch.randn(32, 32, requires_grad=True)

    def loss(x):
        y = x @ weight
        return (y.to(torch.float8_e4m3fn).to(torch.float32) * y).sin().sum()

    step = rt.compile(loss, budget="90%", **OPTIONS)
    step(torch.randn(64, 32)).backward()
    assert step.report.estimated == {}


@pytest.mark.parametrize("kind", [nn.Embedding, nn.EmbeddingBag])
def test_sparse_gradients_are_refused(kind):
    table = kind(100, 32, sparse=True)
    step = rt.compile(lambda i: table(i).sin().sum(), budget="1GiB", costs="static")
    with pytest.raises(rt.UnsupportedGraph, match="torch.sparse_coo.*sparse=False"):
        step(torch.arange(50).view(5, 10))


def test_operators_that_change_arguments_are_planned():
    @torch.library.custom_op("remat_tests::raise_by_one", mutates_args={"x"})
    def raise_by_one(x: torch.Tensor) -> None:
        x.add_(1)

    weight = torch.randn(8, 8, requires_grad=True)

    def loss(x):
        raise_by_one(x)
        return (x @ weight).sum()

    step, x = rt.compile(loss, budget="1GiB", costs="static"), torch.ones(4, 8)
    value = step(x)
    assert torch.equal(x, torch.full((4, 8), 2.0))
    assert torch.equal(value, (x @ weight).sum())
