"""Estimates of eager steps: equal to the allocator's events, and nothing allocated."""

import copy
import gc
import json
import subprocess
import sys

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

import remat_bb
import remat_bb.torch as rt
from remat_bb import _fits
from remat_bb.torch import _compat
from remat_bb.torch.cost import peak_bytes

SLACK = 64
"""Bytes of scalars that kernels make inside, such as a number of batches."""


class Net(nn.Module):
    """Two blocks with dropout, shared gradients and a loss."""

    def __init__(self, width=96):
        super().__init__()
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
            for _ in range(2)
        )
        self.norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        for block in self.blocks:
            x = x + self.dropout(block(self.norm(x)))
        return x.square().mean()


class Normed(nn.Module):
    """Batch norms, whose buffers change."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(48, 48) for _ in range(3))
        self.norms = nn.ModuleList(nn.BatchNorm1d(48) for _ in range(3))

    def forward(self, x):
        for layer, norm in zip(self.layers, self.norms):
            x = norm(layer(x)).relu()
        return x.sum()


class Tied(nn.Module):
    """A language model whose head is its embedding."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(300, 32)
        self.middle = nn.Linear(32, 32)
        self.head = nn.Linear(32, 300, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, words):
        scores = self.head(self.middle(self.embedding(words)).tanh())
        return F.cross_entropy(scores.flatten(0, 1), words.flatten())


class Adapted(nn.Module):
    """A frozen base with trained adapters of low rank."""

    def __init__(self, width=128, rank=4):
        super().__init__()
        self.base = nn.ModuleList(nn.Linear(width, width) for _ in range(3))
        self.base.requires_grad_(False)
        self.down = nn.ModuleList(nn.Linear(width, rank, bias=False) for _ in range(3))
        self.up = nn.ModuleList(nn.Linear(rank, width, bias=False) for _ in range(3))

    def forward(self, x):
        for base, down, up in zip(self.base, self.down, self.up):
            x = torch.relu(base(x) + up(down(x)))
        return x.mean()


class Checkpointed(Net):
    """Blocks whose activations torch recomputes."""

    def forward(self, x):
        for block in self.blocks:
            x = x + checkpoint(block, x, use_reentrant=False, preserve_rng_state=False)
        return x.square().mean()


class Autocast(Net):
    """Autocast within the step."""

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return super().forward(x)


def words():
    return (torch.randint(0, 300, (8, 20)),)


def rows(width):
    return lambda: (torch.randn(256, width),)


MODELS = {
    "dropout": (Net, rows(96)),
    "batch norm": (Normed, rows(48)),
    "tied": (Tied, words),
    "frozen base": (Adapted, rows(128)),
    "checkpoint": (Checkpointed, rows(96)),
    "autocast": (Autocast, rows(96)),
}
OPTIMIZERS = {
    "none": None,
    "AdamW": torch.optim.AdamW,
    "foreach": lambda p: torch.optim.AdamW(p, foreach=True),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
}


def tensors_bytes(*tensors):
    storages = {x.untyped_storage()._cdata: x.untyped_storage().nbytes() for x in tensors}
    return sum(storages.values())


def measured(model, inputs, optimizer=None, accumulate=False, steps=2):
    """Peak of eager steps by the allocator's events, with the memory before them."""
    trained = [p for p in model.parameters() if p.requires_grad]
    before = tensors_bytes(*model.parameters(), *model.buffers(), *inputs)
    if accumulate:
        model(*inputs).backward()
        before += tensors_bytes(*(p.grad for p in trained))
    made = None if optimizer is None else optimizer(trained)
    gc.collect()
    with _compat.traced_memory() as events:
        for _ in range(1 if accumulate or made is None else steps):
            if not accumulate:
                model.zero_grad()
            model(*inputs).backward()
            if made is not None:
                made.step()
    return before + peak_bytes(events)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("name", MODELS)
def test_the_peak_is_the_measured_one(name, optimizer):
    make, batch = MODELS[name]
    model, inputs = make(), batch()
    found = rt.estimate(model, inputs, OPTIMIZERS[optimizer])
    assert abs(found.peak_bytes - measured(model, inputs, OPTIMIZERS[optimizer])) <= SLACK
    assert sum(found.breakdown.values()) == found.peak_bytes == max(found.peaks.values())
    assert found.breakdown["parameters"] == tensors_bytes(*model.parameters())


@pytest.mark.parametrize("name", ["dropout", "tied", "frozen base"])
def test_gradients_of_earlier_passes(name):
    make, batch = MODELS[name]
    model, inputs = make(), batch()
    found = rt.estimate(model, inputs, accumulate=True)
    assert abs(found.peak_bytes - measured(model, inputs, accumulate=True)) <= SLACK
    trained = [p for p in model.parameters() if p.requires_grad]
    assert found.breakdown["gradients"] == tensors_bytes(*trained)
    assert found.peak_bytes > rt.estimate(model, inputs).peak_bytes


def test_autocast_around_the_call():
    """The backward pass runs after autocast has ended, as in a training loop."""
    model, (x,) = Net(), rows(96)()

    def forward():
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return model(x)

    gc.collect()
    with _compat.traced_memory() as events:
        forward().backward()
    real = peak_bytes(events) + tensors_bytes(*model.parameters(), x)
    model.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = rt.estimate(model, (x,))
    assert abs(found.peak_bytes - real) <= SLACK
    assert found.peak_bytes != rt.estimate(model, (x,)).peak_bytes


def test_an_optimizer_with_states():
    model, inputs = Net(), rows(96)()
    optimizer = torch.optim.AdamW(model.parameters())
    torch.optim.lr_scheduler.StepLR(optimizer, 1)
    fresh = rt.estimate(model, inputs, optimizer)
    assert not optimizer.state and fresh.states_bytes > 0
    model(*inputs).backward()
    optimizer.step()
    before = copy.deepcopy(optimizer.state_dict())
    found = rt.estimate(model, inputs, optimizer)
    assert found.peak_bytes == fresh.peak_bytes and found.states_bytes == fresh.states_bytes
    for number, state in before["state"].items():
        assert all(
            torch.equal(v, optimizer.state_dict()["state"][number][k]) for k, v in state.items()
        )


def test_forms_of_models_and_inputs():
    """Real, meta and fake tensors, and functions, have the same peak."""
    model, inputs = Net(), rows(96)()
    expected = rt.estimate(model, inputs).peak_bytes
    assert rt.estimate(model, {"x": inputs[0]}).peak_bytes == expected
    assert rt.estimate(model, inputs[0]).peak_bytes == expected
    assert rt.estimate(lambda x: model(x), inputs).peak_bytes == expected
    options = {"device": "cpu"}
    assert rt.estimate(model, (inputs[0].to("meta"),), **options).peak_bytes == expected
    with torch.device("meta"):
        empty = Net()
    assert rt.estimate(empty, inputs, **options).peak_bytes == expected
    with FakeTensorMode(), torch.device("cpu"):
        fake, batch = Net(), torch.empty(256, 96)
    assert rt.estimate(fake, (batch,)).peak_bytes == expected
    assert all(p.grad is None for p in (*model.parameters(), *fake.parameters()))


def test_where_the_peak_is():
    found = rt.estimate(Net(), rows(96)())
    assert found.phase == "backward"
    assert set(found.activations) == {"blocks.0", "blocks.1", "dropout", "norm", ""}
    assert sum(found.activations.values()) == found.breakdown["activations"]
    assert found.operator.startswith("aten.")
    assert "blocks.0" in str(found) and "backward" in str(found)
    assert json.loads(found.to_json()) == found.to_dict()
    adam = rt.estimate(Net(), (torch.randn(2, 96),), torch.optim.AdamW)
    assert adam.phase == "first optimizer step" and adam.activations == {}
    assert adam.breakdown["optimizer states"] == adam.states_bytes
    assert adam.breakdown["gradients"] == adam.breakdown["parameters"]


def test_the_model_stays_as_it_is():
    torch.manual_seed(3)
    model, inputs = Normed(), rows(48)()
    state = copy.deepcopy(model.state_dict())
    own = {name: id(p) for name, p in (*model.named_parameters(), *model.named_buffers())}
    random = torch.get_rng_state()
    rt.estimate(model, inputs, torch.optim.AdamW)
    assert all(torch.equal(value, model.state_dict()[name]) for name, value in state.items())
    now = {name: id(p) for name, p in (*model.named_parameters(), *model.named_buffers())}
    assert now == own and torch.equal(torch.get_rng_state(), random)
    assert all(p.grad is None for p in model.parameters())


def test_nothing_is_allocated():
    with torch.device("meta"):
        model = Net(4096)
    inputs = (torch.empty(4096, 4096, device="meta"),)
    gc.collect()
    with _compat.traced_memory() as events:
        found = rt.estimate(model, inputs, torch.optim.AdamW, device="cpu")
    assert found.peak_bytes > 2**32
    assert peak_bytes(events) < 4096


def test_budgets():
    model, inputs = Net(), rows(96)()
    found = rt.estimate(model, inputs)
    assert found.fits(found.peak_bytes) and not found.fits(found.peak_bytes - 1)
    fit = rt.fits(model, inputs, "1GiB", torch.optim.AdamW)
    assert fit and str(fit).startswith("fits: ") and "are free" in str(fit)
    small = rt.fits(model, inputs, found.peak_bytes - 1000)
    assert small.spare_bytes == -1000 and "exceed" in str(small) and "recomputation" in str(small)
    step = rt.fits(model, inputs, 1000, torch.optim.AdamW)
    assert step.plan() is None and "optimizer's step takes" in step.with_recomputation()
    for wrong in ("many", -3, "80%", "cpu", None):
        with pytest.raises(remat_bb.errors.InvalidBudget, match="budget"):
            rt.fits(model, inputs, wrong)


def test_recomputation():
    """The planned step keeps a budget that the eager step exceeds, states of AdamW included."""
    with torch.device("meta"):
        model, inputs = Net(), (torch.empty(1024, 96),)
    found = rt.estimate(model, inputs, torch.optim.AdamW, device="cpu")
    budget = int(0.8 * found.peak_bytes)
    fit = found.fits(budget)
    assert not fit and fit.plan().peak_memory_bytes <= budget
    assert "with recomputation it fits" in fit.with_recomputation()
    assert fit.plan().overhead > 0
    assert found.optimizer_bytes <= found.least_budget_bytes <= budget
    costs = found.costs([1.0, 0.8, 0.01])
    assert costs["100%"] == 0.0 < costs["80%"] and costs["1%"] is None
    assert found.recomputation.instance().fixed_bytes == found.before_bytes + found.states_bytes
    assert all(p.is_meta for p in model.parameters())


class Values(nn.Module):
    """Sizes that depend on values."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.pick = Picked()

    def forward(self, x):
        return self.pick(self.inner(x)).sum()


class Picked(nn.Module):
    def forward(self, x):
        return x[x > 0]


def test_errors_name_argument_and_remedy():
    x = (torch.randn(3, 96),)
    wrong = remat_bb.errors.InvalidArgument
    cases = [
        ((3, x), "model: 3 is no module"),
        ((lambda x: x, x), "reads none"),
        ((Net(), "words"), "inputs: str"),
        ((Net().requires_grad_(False), x), "no loss that needs gradients"),
        ((Net(), x, 3), "optimizer: 3 is no torch.optim"),
        ((Net(), x, lambda p: 3), "optimizer: 3 is no torch.optim"),
        ((Net(), x, torch.optim.LBFGS), "LBFGS"),
    ]
    for arguments, words in cases:
        with pytest.raises(wrong, match=words) as caught:
            rt.estimate(*arguments)
        assert caught.value.remedy
    with pytest.raises(wrong, match="device: 'moon'"):
        rt.estimate(Net(), x, device="moon")
    with pytest.raises(remat_bb.RematError, match="has no size"):
        rt.estimate(nn.LazyLinear(3), x)
    with pytest.raises(remat_bb.RematError, match="in pick needs the values"):
        rt.estimate(Values(), (torch.randn(3, 4),))
    model = Values()
    with pytest.raises(remat_bb.RematError):
        rt.estimate(model, (torch.randn(3, 4),))
    assert not isinstance(model.inner.weight, _compat.FakeTensor), "restored after an error"


FILE = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(64, 64)
    def forward(self, x):
        return self.layer(x).relu().sum()

def step():
    with torch.device("meta"):
        return Net(), (torch.empty(32, 64),), torch.optim.AdamW

def wrong():
    return 3

def raises():
    raise ValueError("boom")

def ends():
    raise SystemExit(0)

def prints():
    print("hello")
    return step()
"""


def test_the_command(tmp_path, capsys):
    file = tmp_path / "net.py"
    file.write_text(FILE)

    def command(*words):
        assert _fits.takes(["fits", *words])
        code = _fits.main(list(words))
        return code, *capsys.readouterr()

    code, out, _ = command(f"{file}:step", "--budget", "1GiB", "--json")
    found = json.loads(out)
    assert (
        code == 0
        and found["status"] == "optimal"
        and found["fits"] == "plain"
        and found["budget_bytes"] == 2**30
    )
    assert found["peak_memory_bytes"] == sum(found["breakdown"].values())
    for key in "objective bound gap bound_scope seconds nodes lp_iterations".split():
        assert key in found
    code, out, _ = command(f"{file}:step", "--budget", "10KiB")
    assert code == 3 and "does not fit" in out and "optimizer states" in out
    code, out, err = command(f"{file}:wrong", "--budget", "1GiB", "--json")
    assert code == 2 and json.loads(out)["status"] == "error" and "(model, inputs)" in err
    assert command(f"{file}:nobody", "--budget", "1GiB")[0] == 2
    code, out, err = command(f"{file}:raises", "--budget", "1GiB", "--json")
    assert code == 2 and json.loads(out)["status"] == "error" and "ValueError: boom" in err
    assert command(f"{file}:ends", "--budget", "1GiB")[0] == 2
    code, out, err = command(f"{file}:prints", "--budget", "1GiB", "--json")
    assert code == 0 and json.loads(out)["fits"] == "plain" and "hello" in err
    assert command(str(file), "--budget", "1GiB")[0] == 2
    assert command(f"{tmp_path}/other.py:step", "--budget", "1GiB")[0] == 2
    with pytest.raises(SystemExit, match="2"):
        command(f"{file}:step")


def test_the_command_of_the_wheel(tmp_path):
    file = tmp_path / "net.py"
    file.write_text(FILE)
    words = [sys.executable, "-m", "remat_bb", "fits", f"{file}:step", "--budget", "1GiB"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("fits: "), done.stderr
    assert not _fits.takes(["fits", "graph.json"]), "graphs are for the command in Rust"
