"""Selective checkpointing without compilation: the same gradients, a smaller peak."""

import copy

import pytest
import torch
from models import Llama
from steps import Outcome, eager_step

import remat_bb
import remat_bb.torch as rt

OPTIONS = {"costs": "roofline", "time_limit": 2.0}


def test_policies_keep_a_budget():
    model, batch = Llama(depth=4), (torch.randn(8, 32, 64),)
    expected = eager_step(model, batch)
    plain = rt.measure(model, *batch, repeats=0)[0]
    fixed = rt.export(model, batch).fixed_bytes
    model.zero_grad()
    budget = fixed + plain * 3 // 4
    policies = rt.checkpoint_policies(model, batch, budget, "blocks.*", **OPTIONS)
    assert policies.measured_bytes <= budget
    assert list(policies.saved) == [f"blocks.{k}" for k in range(4)]
    assert any(policies.saved.values()), "more is saved than by checkpointing whole blocks"

    twin = copy.deepcopy(model)
    policies.apply(model)
    loss = model(*batch)
    loss.backward()
    assert Outcome(model, loss).differences(expected) == []
    model.zero_grad()
    assert fixed + rt.measure(model, *batch, repeats=0)[0] <= budget < fixed + plain
    policies.remove()
    assert "forward" not in vars(model.blocks[0]) and "forward" not in vars(twin.blocks[0])


def test_refusals():
    model, batch = Llama(), (torch.randn(8, 32, 64),)
    with pytest.raises(remat_bb.InvalidArgument, match="blocks"):
        rt.checkpoint_policies(model, batch, "1GiB", "layers.*", **OPTIONS)
    with pytest.raises(remat_bb.InvalidArgument, match="nothing fits"):
        rt.checkpoint_policies(model, batch, "1KiB", "blocks.*", **OPTIONS)
