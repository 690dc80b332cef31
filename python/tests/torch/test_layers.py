"""Large traced models: equal layers are found in them, and the solver's time goes by their size."""

import copy
import json
import subprocess
import sys

import pytest
import torch
from models import Gpt, Mlp, Residual, tokens
from steps import eager_step, planned_step
from torch import nn

import remat_bb.torch as rt
from remat_bb.errors import RematError


class Stages(nn.Module):
    """Equal residual blocks with batch norms, whose statistics each step changes."""

    def __init__(self, depth: int) -> None:
        super().__init__()
        self.blocks = nn.Sequential(*(Residual(8, 8, 1) for _ in range(depth)))

    def forward(self, x):
        return self.blocks(x).square().mean()


CASES = {
    # Model, batch, and layers at least of each stack.
    "mlp dropout": (lambda: Mlp(depth=14), lambda: (torch.randn(2048, 128),), [12]),
    "gpt dropout": (lambda: Gpt(False, 0.1, depth=13), tokens, [12]),
    "batch norms": (lambda: Stages(14), lambda: (torch.randn(8, 8, 16, 16),), [12]),
}


@pytest.mark.parametrize("name", CASES)
def test_equal_layers_are_found(name, tmp_path):
    make, batch, least = CASES[name]
    rt.export(make(), batch()).save(tmp_path / "step.json")
    command = [sys.executable, "-m", "remat_bb", "solve", str(tmp_path / "step.json")]
    command += ["--budget", "80%", "--time-limit", "1s", "--json", "--quiet"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    stacks = json.loads(result.stdout)["layers"]
    assert len(stacks) == len(least), stacks
    for stack, layers in zip(stacks, least):
        assert stack["layers"] >= layers, stacks
        assert min(stack["forward_nodes"], stack["backward_nodes"]) > 1, stacks


class Counter(nn.Module):
    """A buffer that is read before and after it is changed, and one that takes its old value."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("now", torch.ones(64))
        self.register_buffer("before", torch.zeros(64))
        self.layers = nn.ModuleList(nn.Linear(64, 64) for _ in range(4))

    def forward(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x + self.now))
            self.before.copy_(self.now)
            self.now.add_(x.detach().mean(0))
            x = x + self.before
        return (x + self.now).square().mean()


def test_changes_of_buffers_stay_behind_their_readers():
    model, batch = Counter(), (torch.randn(256, 64),)
    twin = copy.deepcopy(model)
    step = rt.compile(model, budget="80%", costs="roofline", time_limit=1.0)
    for seed in (7, 8):
        expected = eager_step(twin, batch, seed)
        assert planned_step(model, step, batch, seed).differences(expected) == []
        twin.load_state_dict(model.state_dict())
        model.zero_grad()


def test_work_without_a_clock_and_time_by_the_size_of_the_graph():
    small, large = (rt.export(Mlp(depth=d), (torch.randn(8, 128),)) for d in (2, 24))
    auto = rt.Settings("80%").effort(small)
    assert auto["effort"] == "quick" and "time_limit" not in auto
    copying = rt.Settings("80%", offload="pcie4")
    seconds = [copying.effort(instance)["time_limit"] for instance in (small, large)]
    assert seconds[0] < 1.0 < seconds[1] <= 10.0
    assert rt.Settings("80%", time_limit=30.0).effort(large) == {"time_limit": 30.0}
    assert rt.Settings("80%", time_limit=None).effort(large) == {"time_limit": None}
    with pytest.raises(RematError, match="is no time"):
        rt.Settings("80%", time_limit="soon").effort(large)
