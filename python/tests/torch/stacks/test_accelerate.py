"""Accelerate: the model that it prepares is planned, in a loop with accumulation and autocast;
blocks that it compiles by itself are refused with a budget each."""

# ruff: noqa: E402

import copy

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

accelerate = pytest.importorskip("accelerate", reason="accelerate is not installed")

from accelerate.state import AcceleratorState
from accelerate.utils import DynamoBackend, compile_regions
from hugging import llama

import remat_bb
import remat_bb.torch as rt

OPTIONS = {"costs": "roofline", "time_limit": 2.0}


class Scored(nn.Module):
    """A model whose call returns its loss."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(
            *(nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.Dropout(0.1)) for _ in range(5)),
            nn.Linear(64, 1),
        )

    def forward(self, x, y):
        return nn.functional.mse_loss(self.net(x), y)


def loop(model, **options):
    """Losses and gradients of ten batches in the loop of accelerate's documentation."""
    AcceleratorState._reset_state(True)
    accelerator = accelerate.Accelerator(cpu=True, gradient_accumulation_steps=2, **options)
    data = TensorDataset(torch.randn(2560, 64), torch.randn(2560, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    model, optimizer, loader = accelerator.prepare(
        model, optimizer, DataLoader(data, batch_size=256)
    )
    losses, gradients = [], []
    torch.manual_seed(5)
    for x, y in loader:
        with accelerator.accumulate(model):
            loss = model(x, y)
            accelerator.backward(loss)
            losses.append(loss.item())
            gradients += [p.grad.clone() for p in model.parameters()]
            optimizer.step()
            optimizer.zero_grad()
    assert len(losses) == 10
    return losses, gradients


@pytest.mark.parametrize("precision", ["no", "bf16"])
def test_loop(precision):
    model = Scored()
    twin = copy.deepcopy(model)
    handle = rt.attach(model, budget="75%", accumulate=True, **OPTIONS)
    torch.manual_seed(1)
    found = loop(model, mixed_precision=precision)
    if precision == "bf16":
        # Eager mode differs from AOTAutograd's operators in some bits of bfloat16.
        twin.compile(backend="aot_eager", dynamic=False)
    torch.manual_seed(1)
    expected = loop(twin, mixed_precision=precision)
    assert found[0] == expected[0] and all(map(torch.equal, found[1], expected[1]))
    (report,) = handle.reports
    assert report.plan.recomputed and report.measured_bytes <= report.budget_bytes


def test_its_list_of_backends_is_closed():
    assert "REMAT_BB" not in DynamoBackend.__members__
    AcceleratorState._reset_state(True)
    with pytest.raises(ValueError):
        accelerate.Accelerator(cpu=True, dynamo_backend="remat_bb")


def test_regions_with_a_budget_each_are_refused():
    model = compile_regions(llama(), backend=rt.backend("1GiB", costs="static"))
    ids = torch.randint(3, 99, (2, 16))
    with pytest.raises(remat_bb.RematError, match="rt.regional"):
        model(input_ids=ids, labels=ids)
