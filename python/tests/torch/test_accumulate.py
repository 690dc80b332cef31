"""Gradients that are there already: what a step adds to them, and the budget while it does."""

import copy
import warnings

import pytest
import torch
from models import MODELS, Mlp
from torch import nn
from torch.nn import functional as F
from tracked import bytes_of, step_peak

import remat_bb
import remat_bb.torch as rt

OPTIONS = {"costs": "roofline", "time_limit": 1.0}


class Wide(nn.Module):
    """Layers whose parameters weigh as much as their activations."""

    def __init__(self, width: int = 256, depth: int = 6) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))

    def forward(self, x, y):
        for layer in self.layers:
            x = F.gelu(layer(x))
        return F.cross_entropy(x, y)


def batch_of(size: int = 512, width: int = 256):
    return torch.randn(size, width), torch.randint(0, width, (size,))


def gradients(model):
    return [p.grad.clone() for p in model.parameters()]


def equal(some, others) -> bool:
    return all(map(torch.equal, some, others))


@pytest.mark.parametrize("budget", [6_500_000, "75%"])
@pytest.mark.parametrize("accumulate", [None, True])
def test_every_micro_batch_keeps_the_budget(budget, accumulate):
    model, batch = Wide(), batch_of()
    twin = copy.deepcopy(model)
    step = rt.compile(model, budget=budget, accumulate=accumulate, strict=True, **OPTIONS)
    peaks = []
    step(*batch).backward()
    step(*batch).backward()
    plans = len(step.reports)
    assert plans == (1 if accumulate else 2)
    assert step.report.accumulated_bytes == bytes_of(*model.parameters())
    model.zero_grad()
    for _ in range(3):
        peaks.append(step_peak(model, batch, lambda: step(*batch).backward()))
    for _ in range(3):
        twin(*batch).backward()
    assert equal(gradients(model), gradients(twin))
    assert len(step.reports) == plans
    later = step.report
    first = step.reports[0]
    assert peaks[0] <= first.budget_bytes and max(peaks[1:]) <= later.budget_bytes
    for found in peaks[1:]:
        assert abs(found - later.predicted_bytes) <= 0.005 * found
    assert later.plan.recomputed


def test_a_plan_that_leaves_room_serves_all_micro_batches():
    model, batch = Wide(), batch_of(64)
    step = rt.compile(model, budget=5_000_000, strict=True, **OPTIONS)
    for _ in range(3):
        step(*batch).backward()
    (report,) = step.reports
    found = step_peak(model, batch, lambda: step(*batch).backward())
    assert report.predicted_bytes < found <= report.budget_bytes
    assert abs(found - report.accumulating_bytes) <= 0.005 * found


@pytest.mark.parametrize("name", ["mlp dropout", "resnet", "gpt dropout", "frozen"])
def test_sums_are_those_of_eager_torch(name):
    make, make_batch, budget = MODELS[name]
    model, batch = make(), make_batch()
    twin = copy.deepcopy(model)
    step = rt.compile(model, budget=budget, accumulate=True, **OPTIONS)
    for run in (step, twin):
        torch.manual_seed(3)
        for _ in range(3):
            run(*batch).backward()
    assert step.report.plan.recomputed
    for mine, theirs in zip(model.parameters(), twin.parameters()):
        assert (mine.grad is None) == (theirs.grad is None)
        assert mine.grad is None or torch.equal(mine.grad, theirs.grad)
    assert equal(model.buffers(), twin.buffers())


@pytest.mark.parametrize("together", [True, False])
def test_two_forward_passes_before_the_backward_pass(together):
    """Autograd sums up their gradients first, which rounds otherwise."""
    model, batch, other = Wide(), batch_of(), batch_of(384)
    twin = copy.deepcopy(model)
    step = rt.compile(model, budget="80%", accumulate=True, **OPTIONS)
    for run in (step, twin):
        for _ in range(3):
            losses = [run(*batch), run(*other), run(*batch)]
            if together:
                sum(losses).backward()
            else:
                for loss in losses:
                    loss.backward()
    assert equal(gradients(model), gradients(twin))


def test_gradients_stay_the_same_tensors():
    model, batch = Wide(), batch_of()
    step = rt.compile(model, budget="80%", accumulate=True, **OPTIONS)
    step(*batch).backward()
    before = [p.grad for p in model.parameters()]
    step(*batch).backward()
    assert all(p.grad is old for p, old in zip(model.parameters(), before))


def test_gradients_that_are_asked_for_are_not_added():
    """``torch.autograd.grad`` returns them, ``backward(inputs=...)`` adds those that it names."""
    model, batch = Wide(), batch_of()
    parameters = list(model.parameters())
    step = rt.compile(model, budget="80%", accumulate=True, **OPTIONS)
    step(*batch).backward()
    before = gradients(model)
    assert equal(torch.autograd.grad(step(*batch), parameters), before)
    assert equal(gradients(model), before)
    step(*batch).backward(inputs=parameters[:1])
    assert torch.equal(parameters[0].grad, 2 * before[0])
    assert equal(gradients(model)[1:], before[1:])


def test_hooks_are_told_of_gradients():
    model, batch = Wide(depth=3), batch_of()
    twin = copy.deepcopy(model)
    step = rt.compile(model, budget="80%", accumulate=True, **OPTIONS)
    told = {model: [], twin: []}
    for run, own in ((step, model), (twin, twin)):
        layers = own.layers
        layers[0].weight.register_hook(lambda g, own=own: told[own].append(g.sum().item()) or 2 * g)
        layers[1].weight.register_post_accumulate_grad_hook(
            lambda p, own=own: told[own].append(p.grad.sum().item())
        )
        for _ in range(2):
            run(*batch).backward()
    assert len(told[model]) == 4 and sorted(told[model]) == sorted(told[twin])
    assert equal(gradients(model), gradients(twin))


def test_inputs_with_a_history_are_not_accumulated():
    """What a step returns for them goes on to whoever made them."""
    model, (x, y) = Wide(depth=3), batch_of()
    twin = copy.deepcopy(model)
    front, other = nn.Linear(256, 256), nn.Linear(256, 256)
    other.load_state_dict(front.state_dict())
    step = rt.compile(model, budget="80%", accumulate=True, **OPTIONS)
    for _ in range(3):
        step(front(x), y).backward()
        twin(other(x), y).backward()
    assert equal(gradients(model) + gradients(front), gradients(twin) + gradients(other))


def test_leaves_beside_the_model():
    model = Wide(depth=3)
    x, y = batch_of()
    mine, theirs = x.clone().requires_grad_(), x.clone().requires_grad_()
    twin = copy.deepcopy(model)
    step = rt.compile(model, budget="80%", accumulate=True, **OPTIONS)
    for _ in range(3):
        step(mine, y).backward()
        twin(theirs, y).backward()
    assert torch.equal(mine.grad, theirs.grad)
    expected = bytes_of(mine, *model.parameters())
    assert step.report.accumulated_bytes == expected


def test_equal_layers_compiled_one_by_one_add_to_their_own_gradients():
    model, batch = Wide(depth=3), batch_of(64)
    twin = copy.deepcopy(model)
    backend = rt.backend("95%", **OPTIONS)
    for layer in model.layers:
        layer.compile(backend=backend)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(3):
            model(*batch).backward()
            twin(*batch).backward()
    assert equal(gradients(model), gradients(twin))


def test_budgets_without_room_for_gradients():
    """The first micro-batch has a plan, later ones have none."""
    model, batch = Wide(), batch_of(64)
    parameters = bytes_of(*model.parameters())
    options = {"budget": 2 * parameters + 330_000, **OPTIONS}
    step = rt.compile(model, strict=True, **options)
    step(*batch).backward()
    with pytest.raises(remat_bb.InfeasibleBudget):
        step(*batch)
    torch._dynamo.reset()
    model.zero_grad()
    step = rt.compile(model, **options)
    step(*batch).backward()
    with pytest.warns(UserWarning, match="gradients of earlier backward passes"):
        step(*batch).backward()
    torch._dynamo.reset()
    model.zero_grad()
    with pytest.raises(remat_bb.InfeasibleBudget):
        rt.compile(model, accumulate=True, **options)(*batch)


def test_ten_steps_of_adamw_with_accumulation_and_other_sizes():
    """Every forward and backward pass of the loop, by the allocator's own events."""
    model = Wide()
    twin = copy.deepcopy(model)
    budget = 7_000_000
    step = rt.compile(model, budget=budget, strict=True, **OPTIONS)
    batches = [batch_of(size) for size in (512, 384, 512, 256, 448)]

    def trained(run, own, seen) -> list[float]:
        optimizer = torch.optim.AdamW(own.parameters(), lr=1e-3)
        losses = []
        for number in range(10):
            optimizer.zero_grad()
            for micro in range(2):
                batch = batches[(number + micro) % len(batches)]
                seen(own, batch, lambda batch=batch: losses.append(turn(run, batch)))
            optimizer.step()
        return losses

    def turn(run, batch) -> float:
        loss = run(*batch) / 2
        loss.backward()
        return loss.item()

    start = copy.deepcopy(model.state_dict())
    trained(step, model, lambda own, batch, work: work())
    model.load_state_dict(start)
    peaks: list[int] = []
    mine = trained(step, model, lambda *args: peaks.append(step_peak(*args)))
    theirs = trained(twin, twin, lambda own, batch, work: work())
    assert mine == theirs and len(peaks) == 20
    print([round(peak / 1e6, 3) for peak in peaks])
    assert max(peaks) <= budget
    assert any(report.plan.recomputed for report in step.reports)


def test_compile_with_budget_measures_with_gradients():
    model, batch = Wide(), batch_of()
    step = rt.compile_with_budget(model, batch, "75%", accumulate=True, **OPTIONS)
    report = step.report
    assert all(p.grad is None for p in model.parameters())
    assert report.measured_bytes <= report.budget_bytes
    assert abs(report.measured_bytes - report.predicted_bytes) <= 0.005 * report.predicted_bytes
    assert report.accumulated_bytes == bytes_of(*model.parameters())


def test_a_step_without_accumulation_has_no_gradients_to_count():
    model, batch = Mlp(), (torch.randn(512, 128),)
    step = rt.compile(model, budget="70%", **OPTIONS)
    for _ in range(2):
        model.zero_grad()
        step(*batch).backward()
    (report,) = step.reports
    assert report.accumulated_bytes == 0 < report.accumulating_bytes
