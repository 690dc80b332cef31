"""Operators run again only where they are known to be pure."""

import pytest
import torch
from steps import Outcome, planned_step
from torch import nn
from torch.nn import functional

import remat_bb
import remat_bb.torch as rt
from remat_bb.torch import knapsack, purity, sac

OPTIONS = {"costs": "static", "time_limit": 2.0}
SEEDED = torch.Tag.nondeterministic_seeded


class Calls:
    """Calls of custom operators, as they run."""

    count = 0


def draw(x: torch.Tensor, p: float) -> torch.Tensor:
    Calls.count += 1
    return x * (torch.rand_like(x) > p)


def count(x: torch.Tensor, p: float) -> torch.Tensor:
    """Results that depend on how often it ran."""
    Calls.count += 1
    return x * (1 + Calls.count / 64)


def scale(x: torch.Tensor, p: float) -> torch.Tensor:
    Calls.count += 1
    return x * (1 - p)


def custom(name: str, run, tags=()):
    made = torch.library.custom_op(f"remat_tests::{name}", run, mutates_args=(), tags=tags)
    made.register_fake(lambda x, p: torch.empty_like(x))

    def remember(ctx, inputs, output):
        ctx.save_for_backward(output)

    def backward(ctx, gradient):
        (output,) = ctx.saved_tensors
        return gradient * (output != 0), None

    made.register_autograd(backward, setup_context=remember)
    return made


DRAW, COUNT, SCALE = custom("draw", draw), custom("count", count), custom("scale", scale)
TAGGED = custom("tagged", draw, (SEEDED,))
DECLARED = rt.pure(custom("declared", scale))
DECLARED_TAGGED = rt.pure(custom("declared_tagged", draw, (SEEDED,)))


class Chain(nn.Module):
    """Layers with a custom operator behind each."""

    def __init__(self, operator) -> None:
        super().__init__()
        self.operator = operator
        self.layers = nn.ModuleList(nn.Linear(64, 64) for _ in range(4))

    def forward(self, x):
        for layer in self.layers:
            x = self.operator(functional.gelu(layer(x)), 0.25)
        return x.square().mean()


def outcome(model, step, x) -> tuple[Outcome, torch.Tensor, int]:
    """A step, the numbers that are drawn next, and calls of custom operators."""
    model.zero_grad(set_to_none=True)
    Calls.count = 0
    found = planned_step(model, step, (x,))
    return found, torch.rand(3), Calls.count


def compared(operator, budget: str) -> tuple[rt.Step, int]:
    """A planned step whose results are those of eager mode, and its calls of the operator."""
    model, x = Chain(operator), torch.randn(256, 64)
    expected, drawn, _ = outcome(model, model, x)
    step = rt.compile(model, budget=budget, **OPTIONS)
    found, drawn_next, calls = outcome(model, step, x)
    assert found.differences(expected) == []
    assert torch.equal(drawn, drawn_next), "as many numbers are drawn"
    assert step.report.plan.recomputed
    return step, calls


@pytest.mark.parametrize("operator", [DRAW, COUNT, SCALE, TAGGED], ids=lambda op: op._name)
def test_operators_of_others_run_once(operator):
    _, calls = compared(operator, "75%")
    assert calls == 4


@pytest.mark.parametrize("operator", [DECLARED, DECLARED_TAGGED], ids=lambda op: op._name)
def test_declared_operators_run_again(operator):
    _, calls = compared(operator, "60%")
    assert calls > 4


def test_what_can_be_declared():
    for op in (torch.ops.remat_tests.scale, torch.ops.remat_tests.scale.default):
        purity._DECLARED.discard("remat_tests::scale")
        assert not purity.is_known(torch.ops.remat_tests.scale.default)
        assert rt.pure(op) is op
        assert purity.is_known(torch.ops.remat_tests.scale.default)
    purity._DECLARED.discard("remat_tests::scale")
    rt.pure("remat_tests::scale")
    assert purity.is_known(torch.ops.remat_tests.scale.default)
    purity._DECLARED.discard("remat_tests::scale")
    for wrong in (torch.nn.functional.gelu, "remat_tests::absent", "scale", 3):
        with pytest.raises(remat_bb.InvalidArgument, match="no operator of torch.ops"):
            rt.pure(wrong)
    with pytest.raises(remat_bb.InvalidArgument, match="in place"):
        rt.pure(torch.ops.aten.add_)


def test_operators_that_users_add_to_aten_are_not_trusted():
    library = torch.library.Library("aten", "FRAGMENT")
    library.define("remat_tests_draw(Tensor x) -> Tensor")
    assert not purity.is_known(torch.ops.aten.remat_tests_draw.default)
    assert purity.is_known(torch.ops.aten.add.Tensor)
    assert purity.is_known(torch.ops.prims.convert_element_type.default)


def test_generators_of_their_own():
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    for generator, again in ((None, True), (torch.Generator(), False)):
        options = {"generator": generator}
        node = graph.call_function(torch.ops.aten.bernoulli.p, (x, 0.5), options)
        assert purity.may_run_again(node) is again


def test_policies_and_knapsacks_save_them():
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    hidden = graph.call_function(torch.ops.remat_tests.count.default, (x, 0.5))
    plain = graph.call_function(torch.ops.aten.gelu.default, (x,))
    assert [knapsack._draws(node) for node in (hidden, plain)] == [True, False]
    model, x = Chain(COUNT), torch.randn(256, 64)
    model.block = model.layers
    policies = sac.Policies({"layers.0": frozenset()})
    expected, _, _ = outcome(model, model, x)
    layer = model.layers[0]

    class Block(nn.Module):
        def forward(self, x):
            return COUNT(functional.gelu(layer(x)), 0.25)

    whole = nn.ModuleDict({"layers": nn.ModuleList([Block()])})
    policies.apply(whole)
    for policied in (False, True):
        block = whole["layers"][0]
        Calls.count = 0
        value = block(x) if policied else Block()(x)
        layer.zero_grad(set_to_none=True)
        value.square().sum().backward()
        assert Calls.count == 1
        expected = layer.weight.grad if not policied else expected
    assert torch.equal(layer.weight.grad, expected)


def test_regions_of_checkpoints_keep_them():
    from torch.utils.checkpoint import checkpoint

    class Checkpointed(Chain):
        def forward(self, x):
            for layer in self.layers:
                x = checkpoint(self.block, layer, x, use_reentrant=False)
            return x.square().mean()

        def block(self, layer, x):
            return self.operator(functional.gelu(layer(x)), 0.25)

    plain, x = Chain(COUNT), torch.randn(256, 64)
    model = Checkpointed(COUNT)
    model.load_state_dict(plain.state_dict())
    expected, _, _ = outcome(plain, plain, x)
    step = rt.compile(model, budget="100%", tags="keep", **OPTIONS)
    found, _, calls = outcome(model, step, x)
    assert found.differences(expected) == [] and calls == 4


def test_orders_keep_hidden_states():
    """Operators with a hidden state, and random ones, run in the order of the program."""

    def function(x):
        a = COUNT(x, 0.1)
        b = torch.rand_like(x)
        c = DRAW(x, 0.1)
        d = SCALE(x, 0.1)
        return (d + (c + (b + a)),)

    from torch.fx.experimental.proxy_tensor import make_fx

    graph = make_fx(function, tracing_mode="fake")(torch.randn(64))
    names = [str(n.target) for n in graph.graph.nodes if "remat_tests" in str(n.target)]
    for variant in ("sound", "sound+rng"):
        rt.reorder(graph, variant=variant)
        found = [n for n in graph.graph.nodes if n.op == "call_function"]
        assert [str(n.target) for n in found if "remat_tests" in str(n.target)] == names
    drawn = [str(n.target) for n in found if "remat_tests" in str(n.target) or "rand" in n.name]
    assert drawn[1].startswith("aten.rand_like")


class Statistics(nn.Module):
    """Reads the running statistics that its batch norm has just changed."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.BatchNorm1d(64) for _ in range(4))
        self.layers = nn.ModuleList(nn.Linear(64, 64) for _ in range(4))

    def forward(self, x):
        total = x.new_zeros(())
        for layer, norm in zip(self.layers, self.norms):
            x = functional.gelu(norm(layer(x)))
            total = total + (norm.running_mean * x).sin().sum()
        return x.square().mean() + total


@pytest.mark.parametrize("budget", ["90%", "70%"])
def test_statistics_that_are_read(budget):
    """A later run of a batch norm does not make its new statistics."""
    import copy

    model, x = Statistics(), torch.randn(256, 64)
    twin = copy.deepcopy(model)
    expected = planned_step(twin, torch.compile(twin, backend="aot_eager"), (x,))
    torch._dynamo.reset()
    step = rt.compile(model, budget=budget, **OPTIONS)
    assert planned_step(model, step, (x,)).differences(expected) == []
    assert step.report.plan.recomputed


class Conjugates(nn.Module):
    """Copies that turn lazy conjugations and negations into numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(16, 16, dtype=torch.cfloat) * 0.1)

    def forward(self, x):
        y = torch.view_as_complex(x) @ self.weight
        turned = torch.view_as_real(y.conj().clone()).square().mean()
        negated = y.conj().imag.clone().sin().sum()
        resolved = y.conj().transpose(0, 1).resolve_conj().real.cos().sum()
        return turned + negated + resolved + (y.conj().imag.resolve_neg() * 2).cos().sum()


@pytest.mark.parametrize("budget", ["100%", "93%"])
def test_copies_that_conjugate_stay(budget):
    model, x = Conjugates(), torch.randn(64, 16, 2)
    expected = planned_step(model, torch.compile(model, backend="aot_eager"), (x,))
    model.zero_grad(set_to_none=True)
    step = rt.compile(model, budget=budget, **OPTIONS)
    found = planned_step(model, step, (x,))
    assert torch.equal(found.loss, expected.loss)
    assert torch.equal(found.gradients["weight"], expected.gradients["weight"])


def test_a_copy_of_an_output_stays():
    """Whoever calls may change an output before the backward pass."""
    weight = torch.randn(16, 16, requires_grad=True)

    def function(x):
        h = x @ weight
        return h.detach(), h.clone().sin().sum()

    gradients = []
    for run in (function, rt.compile(function, budget="100%", **OPTIONS)):
        weight.grad = None
        h, loss = run(torch.ones(64, 16))
        h.zero_()
        loss.backward()
        gradients.append(weight.grad)
    assert torch.equal(*gradients)


def test_buffers_changed_between_the_passes():
    """A plan that reads a buffer again does not take a changed one for it."""
    model, x = nn.Sequential(*(Scaled() for _ in range(4))), torch.randn(256, 64)
    step = rt.compile(lambda x: model(x).square().mean(), budget="70%", **OPTIONS)
    loss = step(x)
    with torch.no_grad():
        for layer in model:
            layer.factor.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


class Scaled(nn.Module):
    """A layer that reads a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(64, 64)
        self.register_buffer("factor", torch.rand(64) + 0.5)

    def forward(self, x):
        return functional.gelu(self.layer(x)) * self.factor


def test_inputs_that_are_changed_and_need_gradients():
    """The change is made behind the forward graph: the plan must not read the input again."""
    weight = torch.randn(64, 64, requires_grad=True)
    leaf = torch.randn(256, 64, requires_grad=True)

    def loss(h):
        h.mul_(0.5)
        y = functional.gelu(h)
        for _ in range(3):
            y = functional.gelu(y @ weight)
        return y.square().mean()

    seen = []
    for run in (loss, rt.compile(loss, budget="70%", **OPTIONS)):
        weight.grad = leaf.grad = None
        h = leaf * 1.0
        run(h).backward()
        seen.append((weight.grad, leaf.grad, h.detach()))
    assert all(torch.equal(a, b) for a, b in zip(*seen))
