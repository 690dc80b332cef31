"""The backend by its name: ``torch.compile(model, backend="remat_bb", options=...)`` in a process
that finds the entry point by itself, as after an installation."""

import copy
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import torch
from models import Mlp
from torch import nn

import remat_bb
import remat_bb.torch as rt
from remat_bb.torch.by_name import remat_bb as named

ROOT = Path(__file__).parents[3]

SCRIPT = """
import sys, warnings
import torch
from torch import nn
warnings.simplefilter("error", UserWarning)
assert not any(name.startswith("remat_bb") for name in sys.modules)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(64, 64) for _ in range(6))
    def forward(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x)).relu()
        return x.square().mean()

torch.manual_seed(0)
torch.set_num_threads(1)
net, x = Net(), torch.randn(1024, 64)
options = {"budget": "70%", "costs": "roofline", "time_limit": 2.0}
expected = net(x); expected.backward()
gradients = [p.grad.clone() for p in net.parameters()]
net.zero_grad()
planned = torch.compile(net, backend="remat_bb", options=options)
loss = planned(x); loss.backward()
assert torch.equal(loss, expected)
assert all(map(torch.equal, gradients, [p.grad for p in net.parameters()]))

import remat_bb.torch as rt
(report,) = rt.reports()
assert report.plan.recomputed and report.measured_bytes <= report.budget_bytes, report

# A tenth size is planned as well: the context of the backend holds by name.
small = torch.compile(
    lambda x: net.layers[0](x).square().mean(),
    backend="remat_bb",
    options={"budget": "100%", "buckets": None},
)
for rows in range(1, 10):
    small(torch.randn(100 * rows, 64)).backward()
    net.zero_grad()
assert len(rt.reports()) == 10, len(rt.reports())

for wrong in ({}, {"budjet": "70%"}, {"budget": "70%", "hue": 1}, {"budget": "much"}):
    try:
        torch.compile(Net(), backend="remat_bb", options=wrong)(x)
    except Exception as error:
        print(type(error).__name__, str(error).replace("\\n", " "))
"""


def test_entry_point_is_found_and_errors_name_the_options(tmp_path):
    # The metadata of an installed wheel.
    metadata = tmp_path / "remat_bb-0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: remat-bb\nVersion: 0\n")
    project = (ROOT / "pyproject.toml").read_text()
    (line,) = [x for x in project.splitlines() if x.startswith("remat_bb = ")]
    name, target = line.split(" = ")
    (metadata / "entry_points.txt").write_text(
        f"[torch_dynamo_backends]\n{name} = {target.strip(chr(34))}\n"
    )
    # The tests run with an installed package or with the sources, whichever was imported here.
    package = Path(remat_bb.__file__).parents[1]
    path = os.pathsep.join([str(tmp_path), str(package), os.environ.get("PYTHONPATH", "")])
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert result.returncode == 0, result.stderr
    none, near, unknown, amount = result.stdout.splitlines()
    assert "InvalidArgument: options: the budget is missing" in none and "6GiB" in none
    assert "'budjet' is no option" in near and "did you mean 'budget'?" in near
    assert "'hue' is no option" in unknown and "budget, inner, costs" in unknown
    assert "InvalidBudget: budget: 'much'" in amount


def test_modes_are_refused_and_equal_options_share_a_planner():
    with pytest.raises(remat_bb.InvalidArgument, match="mode: 'max-autotune'"):
        named(None, [], mode="max-autotune")
    torch._dynamo.register_backend(named, name="remat_bb_here")
    before = {id(report): report for report in rt.reports()}
    for model in (Mlp(depth=3), Mlp(depth=3)):
        torch.compile(
            model,
            backend="remat_bb_here",
            options={"budget": "80%", "costs": "static", "inner": "eager"},
        )(torch.randn(1024, 128)).backward()
    new = [report for report in rt.reports() if id(report) not in before]
    assert len(new) == 1, "one class of modules, one graph"


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(32, 32) for _ in range(4))

    def forward(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return {"loss": x.square().mean(), "logits": x}


def test_outputs_beside_the_loss():
    model, x = Net(), torch.randn(256, 32)
    twin = copy.deepcopy(model)
    handle = rt.attach(model, budget="80%", costs="static")
    with pytest.warns() as told:
        found = model(x)
        found["loss"].backward()
        warnings.warn("the only one", stacklevel=1)
    assert [str(each.message) for each in told if "loss" in str(each.message)] == []
    expected = twin(x)
    expected["loss"].backward()
    assert torch.equal(found["logits"], expected["logits"]) and found["logits"].requires_grad
    for a, b in zip(model.parameters(), twin.parameters()):
        assert torch.equal(a.grad, b.grad)
    model.zero_grad()
    with pytest.raises(remat_bb.RematError, match="beside the loss"):
        model(x)["logits"].sum().backward()
    assert rt.reports(model) is handle.reports and len(handle.reports) == 1

    with torch.no_grad():
        assert not model(x[:7])["logits"].requires_grad
    assert len(handle.reports) == 1, "evaluation is not planned"
    with pytest.raises(remat_bb.InvalidArgument, match="compiled already"):
        rt.attach(model, budget="80%")

    other = copy.deepcopy(model)
    assert list(other.state_dict()) == list(model.state_dict())
    handle.remove()
    assert model(x)["loss"].grad_fn.name() == "MeanBackward0"
    with pytest.raises(remat_bb.InvalidArgument, match="has no plan"):
        rt.reports(model)


def test_refusals_of_attach():
    with pytest.raises(remat_bb.InvalidArgument, match="no torch.nn.Module"):
        rt.attach(lambda x: x, budget="80%")
    with pytest.raises(remat_bb.InvalidArgument, match="no method 'loss_of'"):
        rt.attach(Net(), budget="80%", method="loss_of")


class Scored(Net):
    def loss_of(self, x, y):
        return (self(x)["logits"] - y).square().mean()


def test_a_method_and_its_copy():
    model, x = Scored(), torch.randn(256, 32)
    twin = copy.deepcopy(model)
    handle = rt.attach(model, budget="80%", method="loss_of", costs="static")
    copied = copy.deepcopy(model)
    for each in (model, copied, twin):
        each.loss_of(x, x).backward()
    for a, b, c in zip(model.parameters(), copied.parameters(), twin.parameters()):
        assert torch.equal(a.grad, c.grad) and torch.equal(b.grad, c.grad)
    assert len(rt.reports(copied)) == len(handle.reports) == 1
    assert rt.reports(copied)[0] is not handle.report
