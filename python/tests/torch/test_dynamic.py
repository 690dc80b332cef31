"""Sizes that change between steps: buckets with one plan, made for the largest size."""

import copy

import pytest
import sympy
import torch
from models import Gpt, Mlp
from steps import eager_step, planned_step
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

import remat_bb.torch as rt
from remat_bb.errors import InvalidArgument
from remat_bb.torch import _compat_sizes
from remat_bb.torch.size_buckets import Rules

OPTIONS = {"costs": "roofline", "plan_cache": False}


def rows(count):
    return (torch.randn(count, 64),)


def tokens(batch, length):
    return (torch.randint(0, 100, (batch, length)),)


def marked(count):
    batch = rows(count)
    torch._dynamo.mark_dynamic(batch[0], 0)
    return batch


def check(model, step, reports, batches):
    """Steps equal eager ones in every bit, and keep the budget of their plan."""
    for batch in batches:
        expected = eager_step(model, batch)
        model.zero_grad()
        assert planned_step(model, step, batch).differences(expected) == []
        assert all((r.measured_bytes or 0) <= r.budget_bytes for r in reports)


def planned_sizes(report):
    return [(size.least, size.most) for size in report.sizes]


def test_one_plan_for_the_sizes_of_a_bucket():
    model = Mlp(width=64, depth=4, dropout=0.0)
    step = rt.compile(model, budget="70%", **OPTIONS)
    # The first step of the second plan, which is measured, has the largest size.
    check(model, step, step.reports, map(rows, (500, 512, 400, 257, 256, 129, 511)))
    assert [planned_sizes(r) for r in step.reports] == [[], [(257, 512)], [(129, 256)]]
    assert [r.compilation for r in step.reports] == [1, 2, 3]
    widest = step.reports[1]
    assert widest.plan.recomputed
    # A watch does not see the gradient of the loss.
    assert 0 <= widest.predicted_bytes - widest.measured_bytes <= 8
    assert "dimension 0 of argument 0: 257 to 512" in str(widest)


@pytest.mark.parametrize("way", ["dynamic", "marked"])
def test_ways_to_ask_for_buckets(way):
    model = Mlp(width=64, depth=4)
    backend = rt.backend("75%", **OPTIONS)
    step = torch.compile(model, backend=backend, dynamic=True if way == "dynamic" else None)
    batches = [(marked if way == "marked" else rows)(count) for count in (384, 300, 512, 200)]
    check(model, step, backend.reports, batches)
    assert [planned_sizes(r) for r in backend.reports] == [[(257, 512)], [(129, 256)]]


def test_measured_peaks_are_those_of_the_actual_size():
    """Inputs of a smaller size need less memory than those of the planned one."""
    model = Mlp(width=64, depth=3, dropout=0.0)
    step = rt.compile(model, budget="80%", **OPTIONS)
    for count in (512, 500):
        step(*rows(count)).backward()
        model.zero_grad()
    report = step.report
    batch = rows(300)
    measured, _ = rt.measure(step, *batch, repeats=1)
    assert report.smaller_bytes == (512 - 300) * 64 * 4
    alone = rt.compile(model, budget=report.budget_bytes, buckets=None, **OPTIONS)
    alone(*batch)
    assert measured < report.predicted_bytes
    fixed = report.fixed_bytes - report.smaller_bytes
    assert fixed == alone.report.fixed_bytes


def test_batch_and_length():
    model = Gpt(fused=False, dropout=0.1, length=64, depth=1)
    step = rt.compile(model, budget="85%", **OPTIONS)
    batches = [tokens(*n) for n in ((4, 50), (4, 40), (3, 64), (4, 33))]
    check(model, step, step.reports, batches)
    found = [planned_sizes(r) for r in step.reports]
    assert found == [[], [(33, 64)], [(3, 4), (33, 64)]]


@pytest.mark.parametrize(
    "options", [{"offload": "12GB/s"}, {"reorder": True}], ids=["copies", "reordered"]
)
def test_with_other_options(options):
    model = Mlp(width=64, depth=4)
    step = rt.compile(model, budget="80%", **OPTIONS, **options)
    check(model, step, step.reports, map(rows, (300, 400, 260, 512)))
    assert [planned_sizes(r) for r in step.reports] == [[], [(257, 512)]]


def test_with_checkpoints_that_are_kept():
    class Marked(Mlp):
        def forward(self, x):
            first, *rest = self.layers
            x = checkpoint(lambda y: F.dropout(first(y).exp().tanh(), 0.2), x, use_reentrant=False)
            for layer in rest:
                x = F.gelu(layer(x))
            return x.square().mean()

    model = Marked(width=64)
    step = rt.compile(model, budget="85%", tags="keep", **OPTIONS)
    check(model, step, step.reports, map(rows, (500, 400, 300)))
    assert len(step.reports) == 2


def test_accumulation_within_a_bucket():
    """The second plan, which counts gradients, is valid for the whole bucket as well."""
    model = Mlp(width=64)
    budget = int(rt.export(model, rows(512)).peak_memory_bytes * 0.75)
    step = rt.compile(model, budget=budget, **OPTIONS)
    twin = copy.deepcopy(model)
    for place, count in enumerate((500, None, 400, 300, None, 511, 512, 257)):
        if count is None:
            model.zero_grad()
            twin.zero_grad()
            continue
        batch = rows(count)
        for each, run in ((twin, twin), (model, step)):
            torch.manual_seed(place)
            run(*batch).backward()
        for mine, theirs in zip(model.parameters(), twin.parameters()):
            assert torch.equal(mine.grad, theirs.grad)
    assert [planned_sizes(r) for r in step.reports] == [[], [(257, 512)], [(257, 512)]]
    assert [bool(r.accumulated_bytes) for r in step.reports] == [False, False, True]
    assert all((r.measured_bytes or 0) <= budget for r in step.reports)


class Around(Mlp):
    """Layers behind a function of the input."""

    def __init__(self, before):
        super().__init__(width=64, depth=2)
        self.before = before
        self.table = nn.Parameter(torch.randn(100, 64))

    def forward(self, x):
        x = self.before(self, self.layers[0](x))
        return super().forward(x) / x.shape[0] + (x * x.shape[0]).mean() * x.shape[0] ** -0.5


def in_branches(self, x):
    return torch.cond(x.sum() > 0, lambda y: y.sin() * y.shape[0], lambda y: y.cos(), (x,))


SHAPES = {
    "sizes as numbers": (lambda self, x: x, (65, 128), ""),
    "a table": (lambda self, x: x + self.table[: x.shape[0]], (65, 100), "takes no larger"),
    # Padding gets smaller with the size, the last part of three now smaller, now larger.
    "padding": (
        lambda self, x: torch.cat([x, x.new_zeros(128 - x.shape[0], 64)]).tanh(),
        (65, 126),
        "takes no larger",
    ),
    "parts": (
        lambda self, x: torch.cat([p.tanh() * k for k, p in enumerate(x.chunk(3))]),
        (65, 128),
        "",
    ),
    "groups of eight": (
        lambda self, x: x.view(x.shape[0] // 8, 8, 64).softmax(0).reshape(-1, 64),
        (65, 128),
        "",
    ),
    "a body": (in_branches, (65, 128), ""),
}


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_within_the_graph(name):
    before, bucket, reason = SHAPES[name]
    model = Around(before)
    step = rt.compile(model, budget="93%", **OPTIONS)
    check(model, step, step.reports, map(rows, (88, 96, 72)))
    assert [planned_sizes(r) for r in step.reports] == [[], [bucket]]
    assert reason in step.report.sizes[0].reason


def test_a_size_that_the_model_fixes():
    model = Around(lambda self, x: x * 2 if x.shape[0] == 80 else x)
    step = rt.compile(model, budget="93%", **OPTIONS)
    check(model, step, step.reports, map(rows, (96, 80, 72, 88)))
    assert [planned_sizes(r) for r in step.reports] == [[], [], [(65, 128)]]


def test_buckets_that_do_not_fit_are_cut():
    """The largest size of a bucket needs more than the budget, the actual ones do not."""
    model = Mlp(width=64, depth=2, dropout=0.0)
    budget = rt.export(model, rows(300)).peak_memory_bytes
    step = rt.compile(model, budget=budget, **OPTIONS)
    check(model, step, step.reports, map(rows, (290, 280, 270, 285)))
    assert [planned_sizes(r) for r in step.reports] == [[], [(257, 280)], [(257, 285)]]
    assert "keeps the budget" in step.report.sizes[0].reason


def test_widths_of_buckets():
    model = Mlp(width=64, depth=2, dropout=0.0)

    def found(buckets, counts):
        step = rt.compile(model, budget="95%", buckets=buckets, **OPTIONS)
        for count in counts:
            step(*rows(count)).backward()
        return [planned_sizes(r) for r in step.reports]

    assert found([80, 96], (96, 90, 70, 97)) == [[], [(81, 96)], [(1, 80)], []]
    assert found({0: [100]}, (96, 90, 70)) == [[], [(1, 100)]]
    assert found({1: [100]}, (96, 90)) == [[], []]


@pytest.mark.parametrize("wrong", ["powers", 1, 0.5, True, [], [0], [1.5], {"x": 2.0}, {0: "all"}])
def test_wrong_widths_are_refused(wrong):
    with pytest.raises(InvalidArgument, match="buckets"):
        rt.compile(Mlp(), budget="90%", buckets=wrong)


def test_ends_of_buckets():
    powers, ratio = Rules("powers of two"), Rules(1.25)
    for size in range(2, 2000):
        for rules in (powers, ratio):
            below, most = rules.bounds(size, {0})
            assert below < size <= most
            assert rules.bounds(most, {0}) == (below, most)
        assert powers.bounds(size, {0})[1] < 2 * size
        assert ratio.bounds(size, {0})[1] <= max(size + 1, 1.25 * size)
    assert Rules({1: [8]}).bounds(5, {0}) is None
    assert Rules({1: [8]}).bounds(5, {0, 1}) == (0, 8)


def test_expressions_that_do_not_decrease():
    s, t = sympy.symbols("s t", positive=True, integer=True)
    lower = {s: 3, t: 2}

    def grows(expression):
        return _compat_sizes.is_nondecreasing(expression, lower)

    quotient = _compat_sizes.FloorDiv(s, 2)
    assert grows(sympy.Integer(5)) and grows(4 * s * t + s**2) and grows((s - 3) * t)
    assert grows(quotient * t) and grows(_compat_sizes.Max(s - 1, t)) and grows(s * t - 2 * s)
    assert not grows(-s) and not grows(s - t) and not grows((s - 4) * t)
    assert not grows(s - 2 * quotient) and not grows(_compat_sizes.FloorDiv(100, s))
    assert not grows(sympy.Symbol("u"))
