"""Stages of ``torch.distributed.pipelining`` on two processes, each with its own plan."""

import copy
import gc
import warnings
from pathlib import Path

import pytest
import torch
from test_distributed import begin, both
from torch import distributed, nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe

import remat_bb
import remat_bb.torch as rt
from remat_bb.torch import _compat, _compat_ranks
from remat_bb.torch.cost import peak_bytes

needs_gloo = pytest.mark.skipif(
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


class Stage(nn.Module):
    """Three blocks, and the loss if there are labels."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.Sequential(*(Block() for _ in range(3)))

    def forward(self, x: torch.Tensor, labels: torch.Tensor | None = None) -> torch.Tensor:
        x = self.blocks(x)
        return x if labels is None else nn.functional.mse_loss(x, labels)


def trained(module: nn.Module, schedule: str, rank: int) -> dict[str, object]:
    """Two steps of a stage: losses and gradients of the second, and the peak of its process in
    bytes."""
    x, y = (torch.randn(ROWS, 32, WIDTH) for _ in range(2))
    output = module(x.requires_grad_(), y) if rank else module(x)
    output.backward(torch.ones_like(output))
    del x, y, output
    module.zero_grad()
    losses: list[torch.Tensor] = []
    parameters = sum(p.nbytes for p in module.parameters())
    torch.manual_seed(3)
    gc.collect()
    with _compat.traced_memory() as events:
        # Each process makes its half of the batch in memory that counts.
        batch = torch.randn(MICROBATCHES * ROWS, 32, WIDTH)
        stage = PipelineStage(module, rank, 2, torch.device("cpu"))
        runner = SCHEDULES[schedule](stage, MICROBATCHES, loss_fn=lambda output, target: output)
        for _ in range(2):
            losses.clear()
            module.zero_grad()
            if rank == 0:
                runner.step(batch)
            else:
                runner.step(target=batch, labels=batch, losses=losses, return_outputs=False)
    return {
        "gradients": [p.grad for p in module.parameters()],
        "losses": [float(loss.detach()) for loss in losses],
        "peak": parameters + peak_bytes(events),
    }


def stage_of(rank: int, port: int, folder: str, schedule: str) -> None:
    """One of the processes: a stage with and without a plan."""
    begin(rank, port)
    torch.manual_seed(rank)
    plain = Stage()
    planned = copy.deepcopy(plain)
    expected = trained(plain, schedule, rank)
    place = rt.StageSchedule(schedule, rank, 2, MICROBATCHES, keeps="losses")
    made = rt.backend("70%", costs="roofline", plan_cache=False, in_flight=place)
    with warnings.catch_warnings():
        # The loss of the first stage is made elsewhere.
        warnings.simplefilter("ignore")
        step = torch.compile(planned, backend=made, fullgraph=True)
        found = trained(step, schedule, rank)
    report = made.reports[-1]
    torch.save(
        {
            "same": list(map(torch.equal, expected["gradients"], found["gradients"])),
            "losses": expected["losses"] == found["losses"],
            "peaks": (expected["peak"], found["peak"]),
            "predicted": report.predicted_bytes,
            "budget": report.budget_bytes,
            "waiting": report.waiting_bytes,
            "recomputed": len(report.plan.recomputed),
        },
        Path(folder, str(rank)),
    )
    distributed.destroy_process_group()


@needs_gloo
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_stages_keep_their_budgets(tmp_path, schedule):
    for rank, found in enumerate(both(stage_of, tmp_path, schedule)):
        print(schedule, rank, found)
        assert all(found["same"]) and found["losses"], "gradients equal in every bit"
        assert found["recomputed"] > 0
        plain, planned = found["peaks"]
        assert planned < 0.9 * plain
        assert planned <= 1.005 * found["predicted"] and planned <= found["budget"]
        # Later versions of torch release sent tensors before the step ends.
        if not _compat_ranks.releases_sends():
            assert planned >= 0.995 * found["predicted"]
        several = rt.StageSchedule(schedule, rank, 2, MICROBATCHES).in_flight > 1
        assert (found["waiting"] > 0) == several


@pytest.mark.parametrize("schedule", ["1f1b", "gpipe", "interleaved:2"])
@pytest.mark.parametrize("microbatches", [4, 8])
def test_passes_of_a_schedule(schedule, microbatches):
    """Every stage runs each micro-batch forward, then backward, and ends with no micro-batch."""
    stages = 4
    for stage in range(stages):
        place = rt.StageSchedule(schedule, stage, stages, microbatches)
        actions = [a for a in place.actions() if a[0] == stage]
        for k in range(microbatches):
            assert actions.index((stage, False, k)) < actions.index((stage, True, k))
        assert len(actions) == 2 * microbatches
        if schedule == "1f1b":
            assert place.in_flight == min(stages - stage, microbatches)
        if schedule == "gpipe":
            assert place.in_flight == microbatches
        assert 1 <= place.in_flight <= microbatches
        passes = list(place.passes())
        assert passes[-1].stage is None and passes[-1].held[stage].waiting == 0
        most = max(p.held[stage].waiting for p in passes if p.stage == stage)
        assert most == place.in_flight - 1


def test_buffers_of_a_schedule():
    """Received tensors and gradients of sent ones, in a buffer for each micro-batch."""
    place = {"stages": 4, "microbatches": 8, "received_bytes": 10, "sent_bytes": 1}
    # Seven buffers besides the received tensor of the pass, one sent gradient; eight buffers for
    # gradients, and a sent tensor that the warm-up refers to.
    assert rt.buffer_bytes("1f1b", stage=1, **place) == 7 * 10 + 10 + 8 + 1
    # All outputs and their copy as one tensor.
    assert rt.buffer_bytes("1f1b", stage=3, **place) == 7 * 10 + 10 + 16
    assert rt.buffer_bytes("1f1b", stage=3, keeps="latest", **place) == 7 * 10 + 10 + 1
    # All that was sent.
    assert rt.buffer_bytes("gpipe", stage=1, **place) == 7 * 10 + 8 * 10 + 8 + 8


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("zero bubble", 0, 2, 4), "'zero bubble' is no schedule"),
        (("interleaved:1", 0, 2, 4), "'interleaved:1' is no schedule"),
        (("interleaved:2", 0, 5, 4), "5 stages do not divide into 2"),
        (("interleaved:2", 0, 4, 5), "do not divide 5 micro-batches"),
        (("1f1b", 4, 4, 4), "stage: 4 is no stage of 4"),
        (("1f1b", 0, 4, 3), "1f1b needs 4 or more, not 3"),
        (("gpipe", 0, 4, 0), "microbatches: 0 is no number"),
        (("gpipe", 0, 4, 4, "all"), "keeps: 'all' are no outputs"),
    ],
)
def test_refused_schedules(arguments, words):
    with pytest.raises(remat_bb.InvalidArgument, match=words) as error:
        rt.StageSchedule(*arguments)
    assert error.value.remedy
