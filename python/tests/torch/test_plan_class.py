"""Plans of a class that a training stack can execute."""

import pytest
import torch
from torch import nn

import remat_bb
import remat_bb.torch as rt


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(64)
        self.up, self.down = nn.Linear(64, 256), nn.Linear(256, 64)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


class Net(nn.Module):
    def __init__(self, depth=6):
        super().__init__()
        self.layers = nn.ModuleList(Block() for _ in range(depth))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x.square().mean()


OPTIONS = {"budget": "60%", "costs": "static", "plan_cache": False}


@pytest.fixture
def net():
    torch.manual_seed(0)
    return Net(), torch.randn(1024, 64)


def gradients(net):
    found = [p.grad for p in net.parameters()]
    net.zero_grad()
    return found


@pytest.mark.parametrize("name", ["tags", "regions", "blocks", "names"])
def test_steps_of_a_class_equal_the_free_step(net, name):
    net, x = net
    loss = net(x)
    loss.backward()
    expected = gradients(net)
    step = rt.compile(net, plan_class=name, **OPTIONS)
    found = step(x)
    found.backward()
    assert torch.equal(found, loss) and all(map(torch.equal, gradients(net), expected))
    plan = step.report.plan
    assert plan.bound_scope == f"plans-of-class-{name}"
    assert plan.recomputed and step.report.predicted_bytes <= step.report.budget_bytes
    free = rt.plan(net, (x,), "60%")
    assert plan.objective >= free.bound
    if name == "names":
        # One decision for all layers: each label is computed again in every layer or in none.
        module = {n["name"]: n.get("module", "") for n in step.report.instance.to_dict()["nodes"]}
        layers = {}
        for node in plan.recomputed:
            layer, _, label = module[node].removeprefix("layers.").partition(".")
            layers.setdefault(label, set()).add(layer)
        assert layers["up"] == {str(k) for k in range(6)}


def test_modules_are_in_exported_instances(net):
    net, x = net
    nodes = rt.export(net, (x,)).to_dict()["nodes"]
    named = {n["module"] for n in nodes if "module" in n}
    assert {"layers.0.norm", "layers.3.up", "layers.5.down", "layers.2"} <= named
    assert not any("module" in n for n in nodes if n.get("kind") == "backward")


def test_refusals(net):
    net, x = net
    with pytest.raises(remat_bb.RematError, match="plan_class: 'layers' is no class"):
        rt.compile(net, plan_class="layers", **OPTIONS)
    for other in ({"offload": "pcie4"}, {"reorder": True}):
        with pytest.raises(remat_bb.InvalidArgument, match="plan_class") as error:
            rt.compile(net, plan_class="tags", **OPTIONS, **other)
        assert "leave out" in error.value.remedy
