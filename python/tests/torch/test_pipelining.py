"""Stages of ``torch.distributed.pipelining`` on two processes, each with its own plan."""

import copy
import warnings
from pathlib import Path

import pytest
import torch
from test_distributed import begin, both
from torch import distributed, nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe

import remat_bb.torch as rt
from remat_bb.torch import _compat
from remat_bb.torch.cost import peak_bytes

pytestmark = pytest.mark.skipif(
    not distributed.is_gloo_available(), reason="torch was built without gloo"
)

MICROBATCHES, ROWS, WIDTH = 6, 64, 64
SCHEDULES = {"1f1b": Schedule1F1B, "gpipe": ScheduleGPipe}


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


def in_flight(schedule: str, rank: int) -> int:
    """Micro-batches in flight on a stage."""
    return min(2 - rank, MICROBATCHES) if schedule == "1f1b" else MICROBATCHES


def trained(module: nn.Module, schedule: str, rank: int) -> dict[str, object]:
    """Two steps of a stage: losses and gradients of the second, and its peak in bytes."""
    stage = PipelineStage(module, rank, 2, torch.device("cpu"))
    runner = SCHEDULES[schedule](stage, MICROBATCHES, loss_fn=nn.functional.mse_loss)
    torch.manual_seed(3)
    x, y = (torch.randn(MICROBATCHES * ROWS, 32, WIDTH) for _ in range(2))
    losses: list[torch.Tensor] = []

    def step() -> None:
        losses.clear()
        if rank == 0:
            runner.step(x)
        else:
            runner.step(target=y, losses=losses)

    step()
    for parameter in module.parameters():
        parameter.grad = None
    with _compat.traced_memory() as events:
        step()
    return {
        "gradients": [p.grad for p in module.parameters()],
        "losses": [float(loss) for loss in losses],
        "peak": peak_bytes(events),
    }


def stage_of(rank: int, port: int, folder: str, schedule: str) -> None:
    """One of the processes: a stage with and without a plan."""
    begin(rank, port)
    torch.manual_seed(rank)
    plain = nn.Sequential(*(Block() for _ in range(3)))
    planned = copy.deepcopy(plain)
    expected = trained(plain, schedule, rank)
    made = rt.backend(
        "70%",
        costs="roofline",
        time_limit=2.0,
        plan_cache=False,
        in_flight=in_flight(schedule, rank),
    )
    with warnings.catch_warnings():
        # The loss of a stage is made elsewhere.
        warnings.simplefilter("ignore")
        step = torch.compile(planned, backend=made, fullgraph=True)
        found = trained(step, schedule, rank)
    report = made.reports[-1]
    torch.save(
        {
            "same": list(map(torch.equal, expected["gradients"], found["gradients"])),
            "losses": expected["losses"] == found["losses"],
            "peaks": (expected["peak"], found["peak"]),
            "predicted": report.predicted_bytes - report.fixed_bytes + report.accumulated_bytes,
            "waiting": report.waiting_bytes,
            "recomputed": len(report.plan.recomputed),
        },
        Path(folder, str(rank)),
    )
    distributed.destroy_process_group()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_stages_keep_their_budgets(tmp_path, schedule):
    first, last = both(stage_of, tmp_path, schedule)
    for rank, found in enumerate((first, last)):
        print(schedule, rank, found)
        assert all(found["same"]) and found["losses"], "gradients equal in every bit"
        assert found["recomputed"] > 0
        plain, planned = found["peaks"]
        assert planned < 0.9 * plain
        # The later stage has a buffer for what it receives of each micro-batch, and one to send.
        buffers = rank * (MICROBATCHES + 1) * ROWS * 32 * WIDTH * 4
        assert planned <= 1.005 * found["predicted"] + buffers
        assert (found["waiting"] > 0) == (in_flight(schedule, rank) > 1)
