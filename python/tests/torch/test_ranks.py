"""Steps over data parallel modules by two processes on gloo: FSDP2 with gathers in the plan, steps
around DistributedDataParallel, and ranks that disagree."""

import copy
import warnings
from pathlib import Path

import pytest
import torch
from models import Mlp
from test_distributed import OPTIONS, begin, both
from torch import distributed, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.nn.parallel import DistributedDataParallel

import remat_bb
import remat_bb.torch as rt

pytestmark = pytest.mark.skipif(
    not distributed.is_gloo_available(), reason="torch was built without gloo"
)


class Uneven(nn.Module):
    """Layers whose parameters two ranks cannot halve, one of them used twice."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.twice = nn.Linear(96, 129), nn.Linear(129, 129)
        self.last = nn.Linear(129, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.twice(torch.tanh(self.twice(torch.tanh(self.first(x)))))
        return self.last(torch.tanh(x)).square().mean()


def sharded(model: nn.Module, blocks: bool, policy: MixedPrecisionPolicy) -> nn.Module:
    """The model with its children and itself, or only itself, sharded over both ranks."""
    mesh = init_device_mesh("cpu", (2,))
    if blocks:
        for layer in getattr(model, "layers", model.children()):
            fully_shard(layer, mesh=mesh, mp_policy=policy)
    return fully_shard(model, mesh=mesh, mp_policy=policy)


def shard(rank: int, port: int, folder: str, kind: str) -> None:
    """One of the processes: two accumulating steps with and without a plan."""
    begin(rank, port)
    half = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    policy = half if kind == "mixed" else MixedPrecisionPolicy()
    # With dropout the gradients differ from eager mode in some bits; the reason is not known.
    dropout = 0.0 if kind == "mixed" else 0.1
    plain = Uneven() if kind == "uneven" else Mlp(width=96, depth=6, dropout=dropout)
    planned = copy.deepcopy(plain)
    plain, planned = (sharded(each, kind != "root", policy) for each in (plain, planned))
    function = (lambda batch: planned(batch)) if kind == "uneven" else planned
    step = rt.compile(function, budget="80%", **OPTIONS)
    torch.manual_seed(rank + 1)
    same = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2):
            batch = torch.randn(256, 96)
            losses = []
            for run in (plain, step):
                torch.manual_seed(rank + 7)
                losses.append(run(batch))
                losses[-1].backward()
            same.append(torch.equal(*losses))
    pairs = list(zip(plain.parameters(), planned.parameters(), strict=True))
    same += [torch.equal(a.grad.to_local(), b.grad.to_local()) for a, b in pairs]
    torch.optim.SGD(planned.parameters(), lr=0.1).step()
    report = step.reports[0]
    found = {
        "same": same,
        "whole": all(type(b).__name__ == "Parameter" or hasattr(b, "to_local") for _, b in pairs),
        "digest": report.digest,
        "recomputed": report.plan.recomputed,
        "predicted": report.predicted_bytes,
        "largest": max(4 * p.numel() for p in planned.parameters()),
        "measured": report.measured_bytes,
        "collectives": [s[1] for s in report.plan.steps if "all_gather" in str(s[1])],
    }
    torch.save(found, Path(folder, str(rank)))
    distributed.destroy_process_group()


def replicate(rank: int, port: int, folder: str, static: str) -> None:
    """One of the processes: a step compiled around DistributedDataParallel."""
    begin(rank, port)
    options = {"static_graph": static == "static"}
    plain = DistributedDataParallel(Mlp(width=128, depth=6), **options)
    planned = DistributedDataParallel(copy.deepcopy(plain.module), **options)
    step = rt.compile(lambda batch: planned(batch), budget="75%", agree=True, **OPTIONS)
    torch.manual_seed(rank + 1)
    same = []
    for _ in range(2):
        batch = torch.randn(512, 128)
        for run in (plain, step):
            run.zero_grad() if isinstance(run, nn.Module) else planned.zero_grad()
            torch.manual_seed(rank + 7)
            run(batch).backward()
        pairs = zip(plain.parameters(), planned.parameters(), strict=True)
        same += [torch.equal(a.grad, b.grad) for a, b in pairs]
    report = step.report
    found = {
        "same": same,
        "digest": report.digest,
        "recomputed": report.plan.recomputed,
        "gradient": planned.module.layers[0].weight.grad,
        "free": report.fixed_bytes - 2 * sum(p.nbytes for p in planned.parameters()),
    }
    torch.save(found, Path(folder, str(rank)))
    distributed.destroy_process_group()


def differ(rank: int, port: int, folder: str, what: str) -> None:
    """One of the processes: ranks whose steps differ, or whose settings no plan covers."""
    begin(rank, port)
    model = Mlp(width=64, depth=4 + rank if what == "depth" else 4)
    if what == "sync":
        model = sharded(model, True, MixedPrecisionPolicy())
        model.set_requires_gradient_sync(False)
    step = rt.compile(model, budget="80%", agree=True, **OPTIONS)
    try:
        step(torch.randn(64 + (64 * rank if what == "batch" else 0), 64)).backward()
        words = None
    except remat_bb.RematError as error:
        words = str(error)
    torch.save({"words": words}, Path(folder, str(rank)))
    distributed.destroy_process_group()


@pytest.mark.parametrize("kind", ["blocks", "root", "uneven", "mixed"])
def test_fully_shard(tmp_path, kind):
    first, second = both(shard, tmp_path, kind)
    for found in (first, second):
        assert all(found["same"]) and found["whole"]
        assert found["recomputed"]
        # gloo's threads free the buffers of a transfer a moment after its end.
        assert abs(found["measured"] - found["predicted"]) <= 3 * found["largest"]
    assert first["digest"] == second["digest"] is not None
    assert first["collectives"] == second["collectives"]


@pytest.mark.parametrize("static", ["static", "dynamic"])
def test_step_around_data_parallel(tmp_path, static):
    first, second = both(replicate, tmp_path, static)
    for found in (first, second):
        assert all(found["same"]) and found["recomputed"]
        assert found["free"] == 512 * 128 * 4, "parameters, buckets and the batch"
    assert first["digest"] == second["digest"] is not None
    assert torch.equal(first["gradient"], second["gradient"])


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("depth", "rank 1 compiles another graph than rank 0"),
        ("batch", "rank 1 compiles another graph than rank 0"),
        ("sync", "set_requires_gradient_sync(False)"),
    ],
)
def test_disagreement_is_an_error_on_all_ranks(tmp_path, what, words):
    for found in both(differ, tmp_path, what):
        assert found["words"] is not None and words in found["words"]
