"""Tags of torch.utils.checkpoint: decided by the plan, or kept."""

import functools

import pytest
import torch
from models import MODELS
from steps import eager_step, planned_step
from torch import nn
from torch.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    create_selective_checkpoint_contexts,
)

import remat_bb
import remat_bb.torch as rt

OPTIONS = {"costs": "roofline", "time_limit": 2.0}


class Selective(nn.Module):
    """Blocks whose policy saves products and computes all else again."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Linear(128, 256), nn.GELU(), nn.Linear(256, 128), nn.Tanh())
            for _ in range(4)
        )

    def forward(self, x):
        def policy(ctx, op, *args, **kwargs):
            product = op in (torch.ops.aten.addmm.default, torch.ops.aten.mm.default)
            return CheckpointPolicy.MUST_SAVE if product else CheckpointPolicy.MUST_RECOMPUTE

        contexts = functools.partial(create_selective_checkpoint_contexts, policy)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False, context_fn=contexts)
        return x.square().mean()


def step_of(model, batch, budget, **options):
    """A step that equals eager torch in every bit."""
    expected = eager_step(model, batch)
    step = rt.compile(model, budget=budget, **{**OPTIONS, **options})
    assert planned_step(model, step, batch).differences(expected) == []
    return step


def runs(step, operator: str) -> list[int]:
    """Number of runs of each call of an operator."""
    steps = [s[1] for s in step.report.plan.steps if s[0] == "compute"]
    return [steps.count(name) for name in dict.fromkeys(steps) if name.startswith(operator)]


def test_regions_are_computed_again_although_all_would_fit():
    make, batch_of, _ = MODELS["checkpointed"]
    batch = batch_of()
    free = step_of(make(), batch, "100%")
    torch._dynamo.reset()
    kept = step_of(make(), batch, "100%", tags="keep")
    assert free.report.plan.recomputed == {}
    # A call that a region computes again stands twice in the graph.
    assert len(runs(free, "addmm")) == 6 < len(runs(kept, "addmm"))
    assert kept.report.instance.peak_memory_bytes < free.report.instance.peak_memory_bytes
    assert kept.report.measured_bytes < free.report.measured_bytes


def test_the_plan_decides_about_the_rest():
    make, batch_of, _ = MODELS["checkpointed"]
    step = step_of(make(), batch_of(), "80%", tags="keep")
    assert step.report.plan.recomputed
    assert step.report.measured_bytes <= step.report.budget_bytes


def test_policies_are_kept():
    batch = (torch.randn(512, 128),)
    kept = step_of(Selective(), batch, "100%", tags="keep")
    # Products are saved by the policy; activations, which it computes again, are copied.
    assert runs(kept, "addmm") == 8 * [1]
    assert len(runs(kept, "gelu")) > 4
    torch._dynamo.reset()
    free = step_of(Selective(), batch, "60%")
    assert max(runs(free, "addmm")) > 1, "without tags the plan computes products again"


def test_unknown_words():
    with pytest.raises(remat_bb.InvalidArgument, match="tags"):
        rt.compile(Selective(), budget="1GiB", tags="some", **OPTIONS)(torch.randn(8, 128))
