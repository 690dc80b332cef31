"""Ways in which training scripts use a step: accumulation, evaluation, optimizers, refusals."""

import copy
import logging
import operator

import pytest
import torch
from models import MODELS, Mlp, Resnet, pictures
from steps import Outcome, eager_step, planned_step
from torch import nn

import remat_bb
import remat_bb.torch as rt
from remat_bb.torch import cost

OPTIONS = {"costs": "roofline", "time_limit": 2.0}
LOG = logging.getLogger("remat_tests")


@pytest.fixture
def batch():
    return (torch.randn(512, 128),)


def compiled(model, budget="70%", **options):
    return rt.compile(model, budget=budget, **{**OPTIONS, **options})


def test_accumulation(batch):
    model = Mlp()
    twin = copy.deepcopy(model)
    step = compiled(model)
    for run, own in ((twin, twin), (step, model)):
        torch.manual_seed(3)
        for _ in range(3):
            (run(*batch) / 3).backward()
        outcome = Outcome(own, torch.zeros(()))
        if own is twin:
            expected = outcome
    assert outcome.differences(expected) == []


@pytest.mark.parametrize("name", ["mlp dropout", "resnet"])
def test_two_forwards_before_one_backward(name):
    """The second forward pass changes statistics that the first has read."""
    make, batch_of, budget = MODELS[name]
    model = make()
    twin = copy.deepcopy(model)
    step = compiled(model, budget)
    batch, other = batch_of(), batch_of()
    outcomes = []
    for run, own in ((twin, twin), (step, model)):
        torch.manual_seed(3)
        loss = run(*batch) + run(*other)
        loss.backward()
        outcomes.append(Outcome(own, loss))
    assert outcomes[1].differences(outcomes[0]) == []
    assert step.report.plan.recomputed
    assert step.report._repr_svg_() == step.report.plan.memory_svg()
    assert step.report.to_html() == step.report.plan.to_html()


def test_without_gradients_and_in_evaluation():
    model = Resnet()
    batch = (*pictures(), torch.randint(0, 10, (8,)))
    step = compiled(model, "80%")
    with torch.no_grad():
        twin = copy.deepcopy(model)
        assert torch.equal(step(*batch), twin(*batch))
    assert step.reports == [], "what needs no gradient needs no plan"
    model.eval()
    expected = eager_step(model, batch)
    assert planned_step(model, step, batch).differences(expected) == []


def test_five_steps_of_adamw(batch):
    model = Mlp()
    twin = copy.deepcopy(model)
    step = compiled(model)
    losses = []
    for run, own in ((twin, twin), (step, model)):
        torch.manual_seed(5)
        optimizer = torch.optim.AdamW(own.parameters(), lr=1e-3)
        for _ in range(5):
            optimizer.zero_grad()
            loss = run(*batch)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    assert losses[:5] == losses[5:]
    assert len(step.reports) == 1, "one plan for all steps"


def test_autocast(batch):
    """Lower precision, against the same graphs without recomputation: AOTAutograd casts otherwise
    than eager torch does."""

    class Lower(Mlp):
        def forward(self, x):
            with torch.autocast("cpu", torch.bfloat16):
                return super().forward(x)

    model = Lower()
    twin = copy.deepcopy(model)
    expected = planned_step(twin, compiled(twin, "100%"), batch)
    torch._dynamo.reset()
    step = compiled(model, "70%")
    assert planned_step(model, step, batch).differences(expected) == []
    assert step.report.plan.recomputed


def test_retained_graphs_are_refused(batch):
    step = compiled(Mlp())
    with pytest.raises(remat_bb.RematError, match="retain_graph"):
        step(*batch).backward(retain_graph=True)


def test_a_loss_outside_is_warned_of(batch):
    class Body(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.Sequential(
                *(m for _ in range(6) for m in (nn.Linear(128, 128), nn.GELU()))
            )

        def forward(self, x):
            return self.layers(x)

    model = Body()
    twin = copy.deepcopy(model)
    twin(*batch).square().mean().backward()
    step = compiled(model, "80%")
    with pytest.warns(UserWarning, match="compile the loss in"):
        step(*batch).square().mean().backward()
    zero = torch.zeros(())
    assert Outcome(model, zero).differences(Outcome(twin, zero)) == []


def test_infeasible_budgets_name_the_operator(batch):
    step = compiled(Mlp(), 1_000_000)
    with pytest.raises(remat_bb.InfeasibleBudget, match="needs .* to run") as caught:
        step(*batch)
    assert caught.value.node in rt.export(Mlp(), batch).nodes
    assert caught.value.needed_bytes > 1_000_000


def test_graph_breaks_are_refused(batch):
    class Broken(Mlp):
        def forward(self, x):
            torch._dynamo.graph_break()
            return super().forward(x)

    with pytest.raises(remat_bb.RematError, match="several graphs"):
        compiled(Broken())(*batch)


@pytest.mark.parametrize("budget", ["a lot", "-3GiB", 0, True, "ten%", "device"])
def test_budgets_that_are_none(batch, budget):
    with pytest.raises(remat_bb.InvalidBudget, match="budget"):
        compiled(Mlp(), budget)(*batch)


def test_amounts(batch):
    instance = rt.export(Mlp(), batch)
    step = compiled(Mlp(), "3.5MiB")
    step(*batch)
    assert step.report.budget_bytes == 3_670_016
    assert step.report.instance.fixed_bytes == instance.fixed_bytes
    assert instance.fixed_bytes == 4 * (512 * 128 + 6 * (128 * 128 + 128))


def test_extra_bytes_are_part_of_the_budget(batch):
    plain = rt.export(Mlp(), batch)
    more = rt.export(Mlp(), batch, extra_bytes=1 << 20)
    assert more.peak_memory_bytes == plain.peak_memory_bytes + (1 << 20)


def test_plans_without_memory():
    with torch._subclasses.FakeTensorMode():
        model, x = Mlp(width=4096, depth=12), torch.empty(65536, 4096)
        plan = rt.plan(model, (x,), "70%", time_limit=2.0)
    assert plan.recomputed
    assert 10 << 30 < plan.peak_memory_bytes <= plan.budget_bytes


def test_compile_with_budget(batch):
    model = Mlp()
    step = rt.compile_with_budget(model, batch, "70%", **OPTIONS)
    assert step.report.measured_bytes <= step.report.budget_bytes
    assert all(p.grad is None for p in model.parameters())
    expected = eager_step(model, batch)
    assert planned_step(model, step, batch).differences(expected) == []


def test_backend_of_torch_compile(batch):
    model = Mlp()
    expected = eager_step(model, batch)
    backend = rt.backend("70%", **OPTIONS)
    step = torch.compile(model, backend=backend, fullgraph=True)
    assert planned_step(model, step, batch).differences(expected) == []
    assert [bool(report.plan.recomputed) for report in backend.reports] == [True]


def test_unknown_words():
    with pytest.raises(remat_bb.InvalidArgument, match="inner"):
        rt.backend("70%", inner="outer")
    with pytest.raises(remat_bb.RematError, match="costs"):
        compiled(Mlp(), costs="guessed")(torch.randn(8, 128))


def test_measured_costs(batch):
    model = Mlp()
    expected = eager_step(model, batch)
    step = compiled(model, costs="measured")
    assert planned_step(model, step, batch).differences(expected) == []
    assert step.report.instance.base_cost > 0


def test_results_are_measured_where_they_are():
    """Not where the trace says: seeds of fused attention are on the processor in a run on a GPU."""
    graph = torch.fx.Graph()
    made = graph.call_function(torch.ops.aten.var_mean.default, (1,))
    parts = [graph.call_function(operator.getitem, (made, k)) for k in range(2)]
    traced = [torch.empty(3, device="meta") for _ in range(2)]
    made.meta["val"] = tuple(traced)
    for part, value in zip(parts, traced):
        part.meta["val"] = value
    reader = graph.call_function(torch.ops.aten.add.Tensor, tuple(parts))
    cost._note_devices(made, (traced[0], torch.zeros(3)))
    first, second = cost._real_arguments(reader)[0]
    assert [first.device.type, second.device.type] == ["meta", "cpu"]
    assert second.shape == (3,)


def test_logging_does_not_break_the_step(batch, caplog):
    """Models of transformers write to a log on their way."""

    class Talking(Mlp):
        def forward(self, x):
            LOG.warning("a batch of %d", x.shape[0])
            return super().forward(x)

    model = Talking()
    expected = eager_step(model, batch)
    caplog.clear()
    step = compiled(model)
    assert planned_step(model, step, batch).differences(expected) == []
    assert step.report.plan.recomputed
    # torch writes its configuration down, and says so where it cannot.
    assert [r for r in caplog.records if r.levelno >= logging.WARNING] == []
