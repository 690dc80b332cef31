"""Data parallel training: two processes on gloo, with the same plan and averaged gradients."""

import copy
import os
import socket
from pathlib import Path

import pytest
import torch
from models import Mlp
from torch import distributed
from torch.multiprocessing import spawn
from torch.nn.parallel import DistributedDataParallel

import remat_bb.torch as rt


def train(rank: int, port: int, folder: str) -> None:
    """One of the processes: a step with and one without a plan."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    distributed.init_process_group("gloo", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    plain = DistributedDataParallel(Mlp(depth=4))
    module = copy.deepcopy(plain.module)
    backend = rt.backend("75%", costs="roofline", time_limit=2.0, agree=True)
    module.compile(backend=backend, fullgraph=True)
    planned = DistributedDataParallel(module)
    torch.manual_seed(rank + 1)
    batch = torch.randn(256, 128)
    for run in (plain, planned):
        torch.manual_seed(rank + 7)
        run(batch).backward()
    pairs = zip(plain.parameters(), planned.parameters(), strict=True)
    (report,) = backend.reports
    found = {
        "equal": all(torch.equal(a.grad, b.grad) for a, b in pairs),
        "gradient": plain.module.layers[0].bias.grad,
        "recomputed": report.plan.recomputed,
        "instance": report.instance.sha256,
        "order": report.plan.order,
    }
    torch.save(found, Path(folder, str(rank)))
    distributed.destroy_process_group()


@pytest.mark.skipif(not distributed.is_gloo_available(), reason="torch was built without gloo")
def test_two_processes(tmp_path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    spawn(train, (port, str(tmp_path)), nprocs=2)
    first, second = (torch.load(tmp_path / str(rank)) for rank in (0, 1))
    assert first["equal"] and second["equal"]
    assert torch.equal(first["gradient"], second["gradient"])
    assert first["recomputed"]
    assert first["instance"] == second["instance"] and first["order"] == second["order"]
