"""Reordered graphs: the same results in every bit, and peaks that are counted when they run."""

import copy
import itertools
import pickle
import random
import warnings

import pytest
import torch
from models import MODELS
from steps import eager_step, planned_step
from torch import fx
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional as F
from torch.utils._pytree import tree_leaves

import remat_bb
import remat_bb.torch as rt
from remat_bb.torch import _compat
from remat_bb.torch.flow import Flow
from remat_bb.torch.importer import traced_graph
from remat_bb.torch.reorder import replayed


def run(module, inputs, held=()):
    """Results of a graph, inputs that are held, and its peak; always with the same random
    numbers."""
    # Tensors that share a storage do so in the copy.
    given = copy.deepcopy(list(inputs))
    kept = [given[k] for k in held]
    torch.manual_seed(3)
    outputs, peak = rt.measure_graph(module, given)
    assert given == []
    tensors = [x for x in tree_leaves(outputs) if isinstance(x, torch.Tensor)]
    return [x.clone() for x in tensors + kept], peak


def same(results, others):
    return len(results) == len(others) and all(map(torch.equal, results, others))


def values(module):
    """Values of the inputs of a graph; those that share a storage when traced share one."""
    generator = torch.Generator().manual_seed(1)
    storages, found = {}, []
    for node in module.graph.find_nodes(op="placeholder"):
        like = node.meta["val"]
        key = like.untyped_storage()._cdata
        if key not in storages:
            count = like.untyped_storage().nbytes() // like.element_size()
            storages[key] = torch.zeros(count, dtype=like.dtype)
            if like.dtype.is_floating_point:
                storages[key].uniform_(generator=generator)
        found.append(storages[key].as_strided(like.shape, like.stride(), like.storage_offset()))
    return found


# Others are left out for their time, and "parts" for a kernel, mse_loss, whose scalar keeps the
# storage of what it sums.
@pytest.mark.parametrize("name", ["gpt dropout", "resnet", "separable", "low rank"])
def test_joint_graphs_of_models(name):
    make, batch_of, _ = MODELS[name]
    module, _ = traced_graph(make(), batch_of())
    inputs = values(module)
    held = range(len(inputs))
    expected, before = run(module, inputs, held)
    nodes = {node.name for node in module.graph.nodes}
    report = rt.reorder(module)
    print(name, report)
    found, after = run(module, inputs, held)
    assert same(found, expected)
    assert (before, after) == (report.before_bytes, report.after_bytes)
    assert report.bound_bytes <= report.after_bytes <= report.before_bytes
    assert {node.name for node in module.graph.nodes} == nodes
    assert report.inductor.replayed["program"] == before
    assert min(report.inductor.replayed.values()) >= report.bound_bytes
    # Once more there is nothing left to gain.
    again = rt.reorder(module)
    assert not again.changed and again.before_bytes == after


def random_function(seed):
    """A function of matrices that copies, views, changes in place and draws random numbers."""

    def function(*inputs):
        rng = random.Random(seed)
        tensors, own = list(inputs), []
        for _ in range(rng.randint(4, 18)):
            x = rng.choice(tensors)
            kind = rng.randrange(14)
            if kind == 0:
                y = x * 2 + 0.1
            elif kind == 1:
                y = torch.relu(x)
            elif kind == 2:
                y = x.t().reshape(x.shape)
            elif kind == 3:
                y = x.contiguous().view(-1).view(x.shape)
            elif kind == 4:
                y = torch.rand_like(x) + x
            elif kind == 5:
                first, second = x.split(2, 0)
                y = torch.cat([second, first * 3], 0)
            elif kind == 6:
                y, places = x.sort(0)
                tensors.append(places.to(x.dtype).clone())
            elif kind == 7:
                y = x.clone().mul_(0.5)
                own.append(y)
            elif kind == 8 and own:
                y = rng.choice(own).add_(x.mean())
            elif kind == 9 and own:
                y = rng.choice(own)
                y[0].copy_(x[0])
            elif kind == 10:
                y = x @ x.t() if x.shape == (4, 4) else x.expand(x.shape)
            elif kind == 11:
                y = F.dropout(x, 0.5, True)
            elif kind == 12:
                y = x.chunk(2, 1)[1].repeat(1, 2)
            else:
                y = x.max(0, keepdim=True)[0] + x
            tensors.append(y if y.shape == (4, 4) else inputs[0] + y.sum())
        rng.shuffle(tensors)
        return tuple(tensors[: rng.randint(1, 4)])

    return function


def random_order(document, rng):
    """An order of operators that respects data and all edges."""
    operators = document["operators"]
    maker = {t: op["id"] for op in operators for t in op["outputs"]}
    before = [{maker[t] for t in op["inputs"] if t in maker} for op in operators]
    for kind in ("order_edges", "sound_order_edges", "rng_order_edges"):
        for first, second in document[kind]:
            before[second].add(first)
    done: list[int] = []
    while len(done) < len(operators):
        ready = [k for k in range(len(operators)) if k not in done and before[k] <= set(done)]
        done.append(rng.choice(ready))
    return done


@pytest.mark.parametrize("mode", ["fake", "symbolic"])
def test_any_order_within_the_edges(mode):
    """Random graphs in random orders: what is not in the edges may not matter."""
    changed = moved = 0
    for seed in range(40 if mode == "fake" else 15):
        rng = random.Random(seed)
        inputs = [torch.rand(4, 4) for _ in range(rng.randint(1, 3))]
        module = make_fx(random_function(seed), tracing_mode=mode)(*inputs)
        names = [node.name for node in module.graph.find_nodes(op="placeholder")]
        freeable = [name for name in names if rng.random() < 0.5]
        held = [k for k, name in enumerate(names) if name not in freeable]
        expected, first = run(module, inputs, held)
        flow = Flow(module.graph, freeable)
        document = flow.document("random")
        shift = len(document["operators"]) - len(flow.operators)
        assert replayed(document, range(len(document["operators"]))) == first
        for _ in range(4):
            order = random_order(document, rng)
            order = list(range(shift)) + [v for v in order if v >= shift]
            flow.relink([v - shift for v in order if v >= shift])
            found, peak = run(module, inputs, held)
            assert same(found, expected), seed
            assert peak == replayed(document, order), seed
            moved += order != sorted(order)
        report = rt.reorder(module, freeable=freeable)
        found, peak = run(module, inputs, held)
        assert same(found, expected) and peak == report.after_bytes <= report.before_bytes
        assert report.symbolic == (mode == "symbolic")
        changed += report.changed
    assert changed > 5 and moved > 30


def test_least_peak_by_brute_force():
    def function(x, y):
        a, b = (x @ y).relu(), (x @ x).sum(0)
        c = torch.cat([a, y]).t().contiguous()
        return b, c.mean(), (y * 2).sum(1)

    module = make_fx(function, tracing_mode="fake")(torch.rand(6, 6), torch.rand(6, 6))
    freeable = [node.name for node in module.graph.find_nodes(op="placeholder")]
    flow = Flow(module.graph, freeable)
    document = flow.document("small")
    count = len(flow.operators)
    edges = {(s.maker, k) for s in flow.storages if s.maker is not None for k in s.readers}
    edges |= {*flow.edges, *flow.sound_edges, *flow.random_edges}
    least = min(
        replayed(document, [0, *(v + 1 for v in order)])
        for order in itertools.permutations(range(count))
        if all(order.index(a) < order.index(b) for a, b in edges)
    )
    report = rt.reorder(module, freeable=freeable)
    assert least == report.after_bytes == report.bound_bytes < report.before_bytes


def partitioned(name):
    """Forward and backward graph of a model, as AOTAutograd splits it."""
    make, batch_of, _ = MODELS[name]
    found = []

    def keep(module, inputs):
        found.append(module)
        return _compat.boxed_nop(module, inputs)

    backend = _compat.aot_autograd(fw_compiler=keep, bw_compiler=keep)
    loss = torch.compile(make(), backend=backend, fullgraph=True)(*batch_of())
    loss.backward()
    return found


@pytest.mark.parametrize("name", ["resnet", "gpt dropout"])
def test_forward_and_backward_graphs(name):
    forward, backward = partitioned(name)
    for module in (forward, backward):
        inputs = values(module)
        names = [node.name for node in module.graph.find_nodes(op="placeholder")]
        held = [k for k, n in enumerate(names) if n.startswith(("primals", "tangents"))]
        assert (len(held) == len(names)) == (module is forward)
        expected, before = run(module, inputs, held)
        report = rt.reorder(module)
        found, after = run(module, inputs, held)
        assert same(found, expected)
        assert (before, after) == (report.before_bytes, report.after_bytes)


def test_inference_graph_with_buffers_that_change():
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8))

    def step(x):
        with torch.no_grad():
            return model(x).relu_().mean((2, 3)), x.sum()

    module, _ = traced_graph(step, (torch.rand(2, 3, 8, 8),))
    assert any("copy_" in str(node.target) for node in module.graph.nodes)
    inputs = values(module)
    expected, before = run(module, inputs, range(len(inputs)))
    report = rt.reorder(module)
    found, after = run(module, inputs, range(len(inputs)))
    assert same(found, expected)
    assert (before, after) == (report.before_bytes, report.after_bytes)


def test_workspaces_count():
    def function(x, w):
        return F.conv2d(x, w).relu().sum(), x.mean()

    inputs = (torch.rand(2, 3, 16, 16), torch.rand(8, 3, 3, 3))
    module = make_fx(function, tracing_mode="fake")(*inputs)
    plain = rt.reorder(copy.deepcopy(module))
    measured = rt.reorder(module, workspaces=True)
    assert measured.before_bytes >= plain.before_bytes


def test_statistics_that_change_unsaid():
    """Batch norm of eager torch changes its running mean; its schema does not say so."""

    def function(x, mean, variance):
        before = mean * 2
        y = F.batch_norm(x, mean, variance, training=True)
        return before, y, mean.exp()

    inputs = (torch.rand(4, 3), torch.zeros(3), torch.ones(3))
    module = make_fx(function, tracing_mode="fake")(*inputs)
    flow = Flow(module.graph)
    names = [operator.node.target._schema.name for operator in flow.operators]
    norm = next(k for k, name in enumerate(names) if "batch_norm" in name)
    edges = {(names.index("aten::mul"), norm), (norm, names.index("aten::exp"))}
    assert edges <= set(flow.sound_edges)


def test_what_cannot_be_seen_into_stays_where_it_is():
    def hook(x):
        return x

    graph = fx.Graph()
    x = graph.placeholder("x")
    x.meta["val"] = torch.empty(4)
    nodes = [x]
    for k in range(5):
        target = hook if k == 2 else torch.ops.aten.relu.default
        node = graph.call_function(target, (x,))
        node.meta["val"] = torch.empty(4)
        nodes.append(node)
    graph.output(tuple(nodes[1:]))
    flow = Flow(graph)
    assert set(flow.sound_edges) == {(0, 2), (1, 2), (2, 3), (2, 4)}


def test_exported_programs():
    make, batch_of, _ = MODELS["gpt fused"]
    program = torch.export.export(make().eval(), batch_of())
    report = rt.reorder(program.graph_module)
    assert report.base_bytes > sum(4 * p.numel() for p in program.parameters())
    assert rt.order_graph(program.graph_module)["base_bytes"] == report.base_bytes


def refused(module, words, **options):
    before = [node.name for node in module.graph.nodes]
    with pytest.raises(rt.UnsupportedGraph, match=words) as caught:
        rt.reorder(module, **options)
    assert caught.value.remedy
    assert [node.name for node in module.graph.nodes] == before


def test_refusals():
    traced = fx.symbolic_trace(torch.nn.Sequential(torch.nn.ReLU()))
    refused(traced, "node _0 is a call_module")
    untraced = make_fx(lambda x: x.relu())(torch.rand(3))
    for node in untraced.graph.nodes:
        node.meta.pop("val", None)
    refused(untraced, "has no fake value")
    shapes = make_fx(lambda x: x.clone().t_() + 1, tracing_mode="fake")(torch.rand(3, 3))
    refused(shapes, "changes the shape or the storage")
    fine = make_fx(lambda x: x.relu(), tracing_mode="fake")(torch.rand(3))
    refused(fine, "no input 'y'", freeable=["y"])
    with pytest.raises(remat_bb.InvalidArgument, match="'free' does not keep the results"):
        rt.reorder(fine, variant="free")


def test_sizes_that_depend_on_data_are_refused():
    def function(x):
        with torch.no_grad():
            return x.nonzero().sum()

    import torch._dynamo.config as config

    with config.patch(capture_dynamic_output_shape_ops=True):
        module, _ = traced_graph(function, (torch.rand(5),))
    refused(module, "depends on data")


def test_inductors_estimates_are_left_out_where_they_cannot_be_had(monkeypatch):
    import torch._inductor.memory as memory

    module = make_fx(lambda x: x.relu() + x, tracing_mode="fake")(torch.rand(3))
    assert rt.reorder(module).inductor.rule == "program"
    assert rt.reorder(module, inductor=False).inductor is None
    monkeypatch.delattr(memory, "topological_sort_lpmf")
    assert rt.reorder(module).inductor is None


def compiled_by_inductor(function, inputs):
    """Runs what Inductor's passes make of a function, without its code generation."""

    def inner(module, _, **options):
        return _compat.boxed_nop(module, _)

    def backend(module, given):
        return _compat.compile_fx(module, given, inner_compile=inner)

    torch.manual_seed(3)
    return torch.compile(function, backend=backend, fullgraph=True)(*inputs)


def test_pass_of_inductor():
    make, batch_of, _ = MODELS["gpt dropout"]
    model, batch = make(), batch_of()
    patch = _compat.inductor_config.patch
    # Without it the order of random numbers is free, which only Inductor's own code makes good.
    with patch(fallback_random=True, pattern_matcher=False):
        expected = compiled_by_inductor(model, batch)
    expected.backward()
    gradients = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    torch._dynamo.reset()
    graphs = rt.ReorderPass(threads=1)
    with patch(fallback_random=True, pattern_matcher=False, joint_custom_post_pass=graphs):
        loss = compiled_by_inductor(model, batch)
    loss.backward()
    (report,) = graphs.reports
    assert report.changed and report.after_bytes < report.before_bytes
    assert same([loss, *(p.grad for p in model.parameters())], [expected, *gradients])


def test_pass_as_an_object():
    graphs = rt.ReorderPass(variant="sound", threads=2)
    other = pickle.loads(pickle.dumps(graphs))
    assert other.uuid() == graphs.uuid() != rt.ReorderPass().uuid()
    assert copy.deepcopy(graphs) is graphs
    with pytest.raises(remat_bb.InvalidArgument, match="budget: a pass has no such option"):
        rt.ReorderPass(budget=3)
    traced = fx.symbolic_trace(torch.nn.Sequential(torch.nn.ReLU()))
    with pytest.warns(UserWarning, match="a graph was not reordered"):
        graphs(traced.graph)
    assert graphs.reports == []


def planned(name, budget, **options):
    """The report of a step whose results are those of eager torch, and which was measured."""
    make, batch_of, _ = MODELS[name]
    torch.manual_seed(0)
    model, batch = make(), batch_of()
    expected = eager_step(model, batch)
    torch._dynamo.reset()
    step = rt.compile(model, budget=budget, costs="roofline", time_limit=1.0, **options)
    assert planned_step(model, step, batch).differences(expected) == []
    model.zero_grad()
    measured, _ = rt.measure(step, *batch, repeats=0)
    assert measured <= step.report.budget_bytes
    assert abs(measured - step.report.predicted_bytes) <= 0.005 * measured
    return step.report


def test_plans_with_reordered_graphs():
    plain = planned("gpt dropout", "100%")
    report = planned("gpt dropout", "100%", reorder=True)
    assert plain.reordered == []
    assert [each.name for each in report.reordered] == ["forward", "backward"]
    assert report.predicted_bytes < plain.predicted_bytes
    assert report.predicted_bytes <= report.measured_bytes


def test_plans_that_compute_again_with_reordered_graphs():
    report = planned("mlp dropout", "70%", reorder=True)
    assert report.plan.recomputed and len(report.reordered) == 2


def test_reordered_evaluation():
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    step = torch.compile(model, backend=rt.backend("100%", reorder=True, costs="static"))
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.equal(step(torch.ones(3, 8)), model(torch.ones(3, 8)))


def test_inductor_orders_by_itself():
    with pytest.raises(remat_bb.InvalidArgument, match="Inductor orders its kernels itself"):
        rt.compile(torch.nn.Linear(2, 2), budget="100%", inner="inductor", reorder=True)
