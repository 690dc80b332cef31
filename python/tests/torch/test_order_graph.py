"""Order graphs of modules: documents, updates of parameters, files, and the command line."""

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from models import MODELS
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

import remat_bb
import remat_bb.torch as rt
from remat_bb.torch.importer import traced_graph


class Chain(nn.Module):
    """Linear layers without bias, whose sizes are easily counted."""

    def __init__(self, width=64, depth=3):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(depth))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).relu()
        return x.sum()


def test_training_graph():
    model, x = Chain(), torch.rand(2, 64)
    document = rt.order_graph(model, (x,))
    weights = sum(p.numel() * 4 for p in model.parameters())
    # The tangent of the loss is resident, too.
    assert document["base_bytes"] == weights + x.numel() * 4 + 4
    results = [t for t in document["tensors"] if t.get("result")]
    assert sorted(t["bytes"] for t in results) == [4] + 3 * [64 * 64 * 4]
    found = remat_bb.order(document)
    assert found.status == "optimal" and found.bound <= found.program_peak_bytes
    assert document["name"] == "Chain"
    # All gradients are there at the end.
    assert found.peak_memory_bytes >= document["base_bytes"] + weights


@pytest.mark.parametrize("states", [0, 2])
def test_updates_of_parameters(states):
    model, x = Chain(), torch.rand(2, 64)
    document = rt.order_graph(model, (x,), optimizer_states=states)
    weights = sum(p.numel() * 4 for p in model.parameters())
    assert document["base_bytes"] == (1 + states) * weights + x.numel() * 4 + 4
    updates = [op for op in document["operators"] if op["kind"] == "update"]
    assert len(updates) == 3
    found = remat_bb.order(document)
    # One gradient after the other: the program has all three at its end.
    one = 64 * 64 * 4
    assert found.status == "optimal"
    assert found.program_peak_bytes - found.peak_memory_bytes >= one
    place = {v: k for k, v in enumerate(found.order)}
    for update in updates:
        (parameter,) = update["writes"]
        readers = [op["id"] for op in document["operators"] if parameter in op["inputs"]]
        assert len(readers) > 1 and max(readers, key=place.__getitem__) == update["id"]


def test_inference_graph_and_graph_of_ones_own():
    model = Chain().requires_grad_(False)
    x = torch.rand(2, 64)
    document = rt.order_graph(model, (x,), name="mine")
    module, outputs = traced_graph(model, (x,))
    assert outputs == 1
    assert rt.order_graph(module, name="mine") == document
    free = rt.order_graph(module, freeable=["arg1_1"])
    assert free["base_bytes"] == document["base_bytes"] - x.numel() * 4
    assert free["operators"][0]["name"] == "inputs"
    traced = make_fx(lambda x: x.relu(), tracing_mode="fake")(x)
    assert len(rt.order_graph(traced)["operators"]) == 1


@pytest.mark.skipif(
    torch.__version__.startswith(("2.9", "2.10")), reason="torch 2.9 takes no fake parameters"
)
def test_fake_tensors_will_do():
    with FakeTensorMode():
        model, x = Chain(width=20_000), torch.empty(2, 20_000)
    document = rt.order_graph(model, (x,))
    assert document["base_bytes"] > 3 * 20_000**2 * 4


@pytest.mark.parametrize("name", ["step.json", "step.json.gz"])
def test_files_for_the_command(tmp_path, name):
    make, batch_of, _ = MODELS["resnet"]
    path = tmp_path / name
    document = rt.order_graph(make(), batch_of(), optimizer_states=1, file=path)
    text = gzip.decompress(path.read_bytes()) if name.endswith("gz") else path.read_bytes()
    assert json.loads(text) == document
    command = [sys.executable, "-m", "remat_bb", "order", str(path), "--json"]
    told = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert told["objective"] == remat_bb.order(document).peak_memory_bytes
    plan = remat_bb.plan_memory(str(path))
    assert plan.peak_memory_bytes >= told["objective"]


def test_the_guide_runs_as_it_is_printed(tmp_path, monkeypatch):
    page = Path(__file__).resolve().parents[3] / "docs/guides/pytorch/order.md"
    if not page.exists():
        pytest.skip("the guide is not there: the tests run apart from the repository")
    codes = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S)
    assert len(codes) == 3
    monkeypatch.chdir(tmp_path)
    names = {"rt": rt, "remat_bb": remat_bb, "model": Chain(), "batch": torch.rand(2, 64)}
    names["function"] = lambda x, y: (x @ y).relu().sum(0) + y.t().mean(0)
    names["inputs"] = (torch.rand(8, 8), torch.rand(8, 8))
    import torch._inductor.config as config

    with config.patch(post_grad_custom_post_pass=None):
        for code in codes:
            exec(code, names)
    assert names["found"].peak_memory_bytes < names["found"].program_peak_bytes
    assert names["counted"] == names["report"].after_bytes
    assert (tmp_path / "step.json.gz").exists()


def test_bad_arguments(tmp_path):
    model, x = Chain(), torch.rand(2, 64)
    with pytest.raises(remat_bb.InvalidArgument, match="Chain cannot be traced without"):
        rt.order_graph(model)
    with pytest.raises(remat_bb.InvalidArgument, match="-1 is negative"):
        rt.order_graph(model, (x,), optimizer_states=-1)
    with pytest.raises(remat_bb.InvalidArgument, match="nothing in it needs gradients"):
        rt.order_graph(Chain().requires_grad_(False), (x,), optimizer_states=0)
    with pytest.raises(remat_bb.errors.RematError, match="No such file"):
        rt.order_graph(model, (x,), file=tmp_path / "absent" / "step.json")

    def breaks(x):
        print("in the middle")
        return x.sum()

    with pytest.raises(remat_bb.errors.RematError, match="breaks into several graphs"):
        rt.order_graph(breaks, (x,))
