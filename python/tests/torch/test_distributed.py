"""Training by two processes on gloo: data parallel with the same plan and averaged gradients, and
sharded without one, which is told."""

import copy
import os
import warnings
from pathlib import Path

import pytest
import torch
from models import Mlp
from processes import on_each
from torch import distributed
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

import remat_bb.torch as rt

OPTIONS = {"costs": "roofline", "time_limit": 2.0}
MIB = 2**20

pytestmark = pytest.mark.skipif(
    not distributed.is_gloo_available(), reason="torch was built without gloo"
)


def begin(rank: int, port: int) -> None:
    """Joins the group of both processes."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    distributed.init_process_group("gloo", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(0)


def train(rank: int, port: int, folder: str, way: str) -> None:
    """One of the processes: a step with and one without a plan."""
    begin(rank, port)
    # Above the first bucket of gradients (1 MiB), before which Dynamo would split the graph.
    plain = DistributedDataParallel(Mlp(width=256, depth=8))
    assert sum(p.nbytes for p in plain.parameters()) > 2 * MIB
    module = copy.deepcopy(plain.module)
    if way == "a step":
        step = rt.compile(module, budget="75%", agree=True, **OPTIONS)
        planned = DistributedDataParallel(step)
    elif way == "attached":
        step = rt.attach(module, budget="75%", agree=True, **OPTIONS)
        planned = DistributedDataParallel(module)
    else:
        step = rt.backend("75%", agree=True, **OPTIONS)
        if way == "the module":
            module.compile(backend=step, fullgraph=True)
            planned = DistributedDataParallel(module)
        else:
            planned = torch.compile(DistributedDataParallel(module), backend=step)
    torch.manual_seed(rank + 1)
    batch = torch.randn(2048, 256)
    for run in (plain, planned):
        torch.manual_seed(rank + 7)
        run(batch).backward()
    pairs = zip(plain.parameters(), planned.parameters(), strict=True)
    (report,) = step.reports
    found = {
        "equal": all(torch.equal(a.grad, b.grad) for a, b in pairs),
        "gradient": plain.module.layers[0].bias.grad,
        "recomputed": report.plan.recomputed,
        "instance": report.instance.sha256,
        "order": report.plan.order,
        "split": torch._dynamo.config.optimize_ddp,
    }
    torch.save(found, Path(folder, str(rank)))
    distributed.destroy_process_group()


def shard(rank: int, port: int, folder: str) -> None:
    """One of the processes: steps of a sharded module, which Dynamo does not trace."""
    begin(rank, port)
    model = Mlp(depth=4)
    mesh = init_device_mesh("cpu", (2,))
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    backend = rt.backend("75%", **OPTIONS)
    step = torch.compile(model, backend=backend)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(2):
            step(torch.randn(64, 128)).backward()
    told = [str(w.message) for w in said if "without a plan" in str(w.message)]
    found = {"told": told, "reports": len(backend.reports)}
    torch.save(found, Path(folder, str(rank)))
    distributed.destroy_process_group()


def both(run, folder: Path, *arguments: str) -> list[dict]:
    """What the two processes have found."""
    on_each(2, run, str(folder), *arguments)
    return [torch.load(folder / str(rank)) for rank in (0, 1)]


@pytest.mark.parametrize("way", ["the module", "around it", "a step", "attached"])
def test_two_processes(tmp_path, way):
    first, second = both(train, tmp_path, way)
    assert first["equal"] and second["equal"]
    assert torch.equal(first["gradient"], second["gradient"])
    assert first["recomputed"]
    assert first["instance"] == second["instance"] and first["order"] == second["order"]
    assert first["split"] is True, "other modules are split as before"


def test_sharded_modules_are_told_of(tmp_path):
    for found in both(shard, tmp_path):
        assert found["reports"] == 0
        assert len(found["told"]) == 1, "once for all steps"
        assert "remat_bb.torch.compile" in found["told"][0]
