"""Operators with bodies and operators that change their arguments: planned, equal in every bit."""

import pytest
import torch
from torch import nn

import remat_bb
import remat_bb.torch as rt
from remat_bb.torch import _compat, opaque

OPTIONS = {"costs": "roofline", "time_limit": 2.0}


def layered(operator, width=16, layers=3):
    """A loss that calls an operator behind linear layers, with its batch."""
    weights = [torch.randn(width, width).div_(4).requires_grad_() for _ in range(layers)]

    def loss(x):
        for weight in weights:
            x = operator(torch.tanh(x @ weight))
        return x.square().mean()

    return loss, weights, torch.randn(256, width)


def step_of(loss, weights, x):
    """Loss and gradients of one step."""
    for weight in weights:
        weight.grad = None
    value = loss(x)
    value.backward()
    return [value.detach(), *(weight.grad for weight in weights)]


def check(operator, budget, expected_again, exact=True, **sizes):
    """Compares a planned step with the same graph without a plan, in every bit, and its measured
    peak with the predicted one, which counts the largest branch."""
    loss, weights, x = layered(operator, **sizes)
    plain = step_of(torch.compile(loss, backend="aot_eager", fullgraph=True), weights, x)
    step = rt.compile(loss, budget=budget, **OPTIONS)
    planned = step_of(step, weights, x)
    assert all(torch.equal(a, b) for a, b in zip(plain, planned, strict=True))
    report = step.report
    again = [name for name in report.plan.recomputed if operators(report)[name] == expected_again]
    assert report.plan.recomputed and bool(again) == (expected_again is not None)
    step_of(step, weights, x)
    for weight in weights:
        weight.grad = None
    peak, _ = rt.measure(step, x, repeats=1)
    assert peak == report.predicted_bytes if exact else peak <= report.predicted_bytes
    return step


def operators(report):
    """The operator of each node of a report's instance, by name."""
    nodes = report.instance.to_dict()["nodes"]
    return {node["name"]: node["op"] for node in nodes}


def test_cond_runs_again():
    check(
        lambda y: torch.cond(y.sum() > 0, torch.sin, lambda z: torch.cos(z) * 2, (y,)),
        "75%",
        "cond",
        exact=False,
    )


def test_flex_attention_runs_again(monkeypatch):
    from torch.nn.attention import flex_attention as module

    # torch refuses gradients of attention on the processor, although its dense form has them.
    monkeypatch.setattr(module, "_validate_device", lambda *_: None)

    def attention(y):
        heads = y.view(1, 2, -1, 16)
        found = module.flex_attention(
            heads, heads, heads, score_mod=lambda score, b, h, i, j: score + 0.1 * (i - j)
        )
        return found.reshape(y.shape)

    step = check(attention, "91%", "flex_attention", exact=False, layers=6)
    # The dense form holds the scores of all pairs.
    pairs = 4 * 2 * 128 * 128
    nodes = step.report.instance.to_dict()["nodes"]
    assert all(node["workspace_bytes"] >= pairs for node in nodes if node["op"] == "flex_attention")


def test_regions_run_again():
    region = torch.compiler.nested_compile_region(lambda y: torch.sin(torch.tanh(y) * 2))
    check(lambda y: region(y), "75%", "invoke_subgraph")


def test_map_runs_again():
    from torch._higher_order_ops.map import map as over_rows

    check(lambda y: over_rows(lambda row: row.sin() * 2, y), "75%", "map_impl", layers=2)


def test_loops_count_one_run_of_their_body():
    from torch._higher_order_ops.while_loop import while_loop

    def looped(y):
        _, found = while_loop(
            lambda k, a: k < 3, lambda k, a: (k + 1, a.sin()), (torch.tensor(0), y.detach())
        )
        return y * found

    step = check(looped, "80%", "while_loop")
    assert "depends on data" in step.report.estimated["while_loop"]


def test_changed_arguments_are_computed_once():
    calls = []

    @torch.library.custom_op("remat_opaque::add_to", mutates_args=("total",))
    def add_to(total: torch.Tensor, x: torch.Tensor) -> None:
        calls.append(len(calls))
        total.add_(x)

    def added(y):
        total = torch.zeros_like(y)
        with torch.no_grad():
            torch.ops.remat_opaque.add_to(total, y.detach())
        return torch.sin(y) * total

    step = check(added, "75%", None)
    assert "auto_functionalized_v2" in operators(step.report).values()
    assert not any("auto_functionalized" in name for name in step.report.plan.recomputed)
    assert "remat_opaque.add_to.default" in step.report.estimated
    calls.clear()
    loss, weights, x = layered(added, layers=2)
    planned = rt.compile(loss, budget="80%", **OPTIONS)
    step_of(planned, weights, x)
    # Planning runs no custom operator, and the step runs each call once.
    assert len(calls) == 2


def test_changed_buffers_keep_their_changes():
    @torch.library.custom_op("remat_opaque::count", mutates_args=("seen",))
    def count(seen: torch.Tensor, x: torch.Tensor) -> None:
        seen.add_(x.sum())

    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(16, 16) for _ in range(3))
            self.register_buffer("seen", torch.zeros(1))

        def forward(self, x):
            for layer in self.layers:
                x = torch.tanh(layer(x))
            torch.ops.remat_opaque.count(self.seen, x.detach())
            return x.square().mean()

    model, x = Counting(), torch.randn(64, 16)
    model(x)
    expected = model.seen.clone()
    model.seen.zero_()
    step = rt.compile(model, budget="80%", **OPTIONS)
    step(x).backward()
    assert torch.equal(model.seen, expected) and step.report.plan.recomputed


def test_subclasses_are_planned_as_their_tensors():
    two = pytest.importorskip("torch.testing._internal.two_tensor", reason="torch without tests")
    weight = torch.randn(16, 16, requires_grad=True)
    x = torch.randn(256, 16)

    def loss(x):
        for _ in range(3):
            x = torch.tanh(x @ weight)
        return x.square().mean()

    def run(compiled):
        weight.grad = None
        value = compiled(two.TwoTensor(x, x * 2))
        value.backward()
        return value.detach(), weight.grad

    plain = run(torch.compile(loss, backend="aot_eager", fullgraph=True))
    step = rt.compile(loss, budget="80%", **OPTIONS)
    planned = run(step)
    assert step.report.plan.recomputed
    for mine, theirs in zip(planned, plain, strict=True):
        assert torch.equal(mine.a, theirs.a) and torch.equal(mine.b, theirs.b)


def triton_graph():
    """A graph with a functionalised Triton kernel, made by hand: Triton needs a GPU."""
    graph = torch.fx.Graph()
    x = graph.placeholder("primals_1")
    call = graph.call_function(
        torch.ops.higher_order.triton_kernel_wrapper_functional,
        (),
        {"kernel_idx": 0, "constant_args_idx": 0, "grid": [(1, 1, 1)], "kwargs": {"x": x}},
    )
    return graph, call


def test_triton_kernels_run_once():
    _, call = triton_graph()
    opaque.check(call)
    assert opaque.is_opaque(call) and not opaque.repeats(call) and not opaque.changes(call)
    assert opaque.why_not_run(call)
    graph, _ = triton_graph()
    changing = graph.call_function(torch.ops.higher_order.triton_kernel_wrapper_mutation, ())
    with pytest.raises(rt.UnsupportedGraph, match="in place") as caught:
        opaque.check(changing)
    assert "triton_op" in caught.value.remedy


def test_bodies_with_random_numbers_run_once():
    def dropped(y):
        return torch.cond(
            y.sum() > 0, lambda z: nn.functional.dropout(z), lambda z: z.sin(), (y.detach(),)
        )

    loss, weights, x = layered(lambda y: y * dropped(y))
    torch.manual_seed(3)
    plain = step_of(torch.compile(loss, backend="aot_eager", fullgraph=True), weights, x)
    step = rt.compile(loss, budget="85%", **OPTIONS)
    torch.manual_seed(3)
    planned = step_of(step, weights, x)
    assert all(torch.equal(a, b) for a, b in zip(plain, planned, strict=True))
    ops = operators(step.report)
    assert not any(ops[name] == "cond" for name in step.report.plan.recomputed)


def test_functions_that_are_no_operators_are_refused():
    graph = torch.fx.Graph()
    node = graph.call_function(print, ())
    with pytest.raises(rt.UnsupportedGraph, match="no operator of torch.ops") as caught:
        opaque.check(node)
    assert isinstance(caught.value, remat_bb.RematError) and caught.value.remedy
    assert not isinstance(node.target, _compat.HigherOrderOperator)
