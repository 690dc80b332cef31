"""Rules for GPUs, on a processor: fake tensors of a GPU, and stand-ins for ``torch.cuda``."""

import contextlib
import sys
import threading

import pytest
import torch
from models import Mlp
from steps import eager_step, planned_step
from torch import fx, nn
from torch._subclasses.fake_tensor import FakeTensorMode

import remat_bb
import remat_bb.torch as rt
from remat_bb.torch import clock, cost, decisions, optimizer_states, pinned, plan_cache, rates
from remat_bb.torch.cost import Measured, Measurement, Roofline
from remat_bb.torch.partition import Call
from remat_bb.torch.report import Report
from remat_bb.torch.watch import Watch

aten = torch.ops.aten
budget = sys.modules["remat_bb.torch.budget"]
GPU = torch.device("cuda", 0)
GIB = 2**30


class Cuda:
    """Stands in for functions of ``torch.cuda``, and lists their calls."""

    def __init__(self, monkeypatch, **values):
        self.calls = []
        self.values = values
        for name in (
            "mem_get_info memory_reserved memory_allocated max_memory_reserved "
            "max_memory_allocated memory_stats reset_peak_memory_stats synchronize empty_cache "
            "get_device_name is_available current_device"
        ).split():
            monkeypatch.setattr(torch.cuda, name, self.function(name))
        cuda = self

        class Event:
            def __init__(self, enable_timing):
                assert enable_timing

            def record(self):
                cuda.calls.append("record")
                self.number = len(cuda.calls)

            def elapsed_time(self, end):
                return cuda.values["milliseconds"].pop(0)

        @contextlib.contextmanager
        def device(which):
            cuda.calls.append(f"on {which}")
            yield

        monkeypatch.setattr(torch.cuda, "Event", Event)
        monkeypatch.setattr(torch.cuda, "device", device)

    def function(self, name):
        def call(*arguments):
            self.calls.append(name)
            return self.values.get(name)

        return call


def call_of(target, *shapes, dtype=torch.bfloat16, device="cuda", result=None):
    """A call of an operator on fake tensors."""
    graph = fx.Graph()
    with FakeTensorMode():
        values = [torch.empty(shape, dtype=dtype, device=device) for shape in shapes]
        made = target(*values) if result is None else result(*values)
    inputs = [graph.placeholder(f"x{k}") for k in range(len(values))]
    for node, value in zip(inputs, values):
        node.meta["val"] = value
    node = graph.call_function(target, tuple(inputs))
    node.meta["val"] = made
    return Call(node, values=[node])


def test_static_costs_have_the_rates_of_the_device_and_of_the_type(monkeypatch):
    product = call_of(aten.mm.default, (8192, 1024), (1024, 4096))
    pointwise = call_of(aten.gelu.default, (8192, 4096))
    h200 = Roofline(device="h200")
    # At the rates of a processor this is 102 to 1.
    ratio = h200.nanoseconds(product) / h200.nanoseconds(pointwise)
    assert 3 < ratio < 5
    full = call_of(aten.mm.default, (8192, 1024), (1024, 4096), dtype=torch.float32)
    assert h200.nanoseconds(full) > 5 * h200.nanoseconds(product)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    for name, known in (
        ("NVIDIA H200", "h200"),
        ("NVIDIA H100 80GB HBM3", "h100"),
        ("NVIDIA A100-SXM4-80GB", "a100"),
        ("NVIDIA L40S", "l40s"),
        ("NVIDIA GeForce RTX 4090", "rtx4090"),
        ("Some other GPU", rates.OTHER),
    ):
        monkeypatch.setattr(torch.cuda, "get_device_name", lambda device, name=name: name)
        own = Roofline()
        assert own.nanoseconds(product) == Roofline(device=known).nanoseconds(product)
        assert own.bytes_per_second(GPU) == rates.KNOWN[known].bytes_per_second
    here = call_of(aten.mm.default, (64, 64), (64, 64), dtype=torch.float32, device="cpu")
    assert Roofline().nanoseconds(here) == Roofline(1e11, 2e10, 2000).nanoseconds(here)
    with pytest.raises(remat_bb.InvalidArgument, match="'h300' has no known rates"):
        Roofline(device="h300")


def test_a_step_is_planned_with_the_rates_of_another_device():
    model, batch = Mlp(depth=2), (torch.randn(256, 128),)
    own = rt.export(model, batch).base_cost
    other = rt.export(model, batch, costs="h200").base_cost
    assert other != own
    with pytest.raises(remat_bb.RematError, match="'h300' is no cost model") as error:
        rt.export(model, batch, costs="h300")
    assert "h200" in error.value.remedy


def test_a_measured_call_runs_behind_a_flush_on_its_own_device(monkeypatch):
    cuda = Cuda(monkeypatch, milliseconds=[3.0, 1.0, 2.0])
    monkeypatch.setattr(clock, "_flush", lambda device: cuda.calls.append("flush"))
    monkeypatch.setattr(clock, "_warm", lambda device: cuda.calls.append("warm"))
    other = torch.device("cuda", 1)
    kernels, issue = clock.on_gpu(lambda: cuda.calls.append("call"), 3, other)
    assert cuda.calls == ["on cuda:1", "warm"] + 3 * ["flush", "record", "call", "record"] + [
        "synchronize"
    ]
    assert kernels == 2_000_000 and issue > 0, "the median in nanoseconds"
    assert clock.on_gpu(lambda: 1 / 0, 0, other) == (0, 0)


@pytest.mark.parametrize("issue, bound", [(10, False), (200, True)])
def test_a_step_bound_by_issuing_costs_its_issue_time(monkeypatch, issue, bound):
    large = call_of(aten.mm.default, (64, 64), (64, 64), dtype=torch.float32, device="cpu")
    small = call_of(aten.gelu.default, (8, 8), dtype=torch.float32, device="cpu")
    times = {large.node: Measurement(150, issue, 0), small.node: Measurement(5, issue, 0)}
    monkeypatch.setattr(cost, "_run", lambda node, repeats: times[node])
    monkeypatch.setattr(cost, "_MEASURED", {})
    monkeypatch.setattr(clock, "forget", lambda device: None)
    costs = Measured()
    costs.settle([large, small])
    assert costs.is_issue_bound == bound
    assert [costs.nanoseconds(c) for c in (large, small)] == ([200, 200] if bound else [150, 5])


def test_a_measurement_that_runs_out_of_memory_becomes_an_estimate(monkeypatch):
    cuda = Cuda(monkeypatch)
    call = call_of(aten.gelu.default, (9, 7), dtype=torch.float32, device="cpu")

    def full(node, repeats):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(cost, "_run", full)
    monkeypatch.setattr(cost, "_MEASURED", {})
    monkeypatch.setattr(cost, "_REFUSED", {})
    costs = Measured()
    assert costs.nanoseconds(call) == Roofline().nanoseconds(call)
    assert "empty_cache" in cuda.calls and "out of memory" in str(costs.estimated())


def test_made_up_indices_spread_over_the_table():
    indices = torch.empty(4, 8, dtype=torch.int64)
    found = cost.materialised(indices, None, 5)
    assert found.min() == 0 and found.max() == 4 and found.unique().numel() == 5
    assert cost.materialised(indices).eq(0).all(), "without a table"
    costs = Measured()
    model = nn.Sequential(nn.Embedding(50, 16), nn.Linear(16, 50))
    words = torch.randint(0, 50, (2, 12))

    def loss(words):
        return nn.functional.cross_entropy(model(words).flatten(0, 1), words.flatten())

    rt.export(loss, (words,), costs=costs)
    assert costs.estimated() == {}


def test_the_memory_of_a_device_has_what_torch_keeps(monkeypatch):
    monkeypatch.delenv("PYTORCH_CUDA_ALLOC_CONF", raising=False)
    monkeypatch.delenv("PYTORCH_ALLOC_CONF", raising=False)
    monkeypatch.setattr(budget, "_LEARNT", {})
    # A warm-up has left 100 GiB in torch's cache.
    cuda = Cuda(monkeypatch, mem_get_info=(40 * GIB, 141 * GIB), memory_reserved=100 * GIB)
    margin = int(141 * GIB / 50)
    assert budget.device_bytes(GPU) == 140 * GIB - margin
    monkeypatch.setenv("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")
    assert budget.device_bytes(GPU) == 140 * GIB - int(141 * GIB / 200)
    cuda.values |= {"max_memory_reserved": 90 * GIB, "max_memory_allocated": 80 * GIB}
    budget.learn(GPU, 95 * GIB)
    assert budget.device_bytes(GPU) == 140 * GIB - int(141 * GIB / 200), "the cache was enough"
    budget.learn(GPU, 60 * GIB)
    assert budget.device_bytes(GPU) == 130 * GIB


def test_workspaces_of_products_come_first_and_in_both_threads(monkeypatch):
    monkeypatch.setattr(budget, "_WARM", set())
    threads = []

    class Product(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            if function is aten.mm.default:
                threads.append(threading.get_ident())
            return function(*args, **(kwargs or {}))

    with Product():
        budget.warm_up(torch.device("cpu", 0))
        budget.warm_up(torch.device("cpu", 0))
    assert len(threads) == 3, "one product and its two gradients, once"


class Now:
    """A report with what :class:`Watch` reads."""

    def __init__(self, budget_bytes):
        self.fixed_bytes = self.accumulated_bytes = self.predicted_bytes = 0
        self.budget_bytes = budget_bytes
        self.measured_bytes = self.requested_bytes = None
        self.replayed, self.held_bytes, self.smaller_bytes = False, 0, 0


@pytest.mark.parametrize("requested, warns", [(95, False), (105, True)])
def test_rounding_of_the_allocator_is_not_the_fault_of_a_plan(monkeypatch, requested, warns):
    monkeypatch.delenv("PYTORCH_CUDA_ALLOC_CONF", raising=False)
    monkeypatch.delenv("PYTORCH_ALLOC_CONF", raising=False)
    monkeypatch.setattr(budget, "_LEARNT", {})
    Cuda(
        monkeypatch,
        memory_reserved=200,
        max_memory_reserved=200,
        memory_allocated=0,
        max_memory_allocated=110,
        memory_stats={"requested_bytes.all.peak": requested},
    )
    watch = Watch(Now(100), strict=True)
    watch.steps, watch.held, watch.device = 1, 0, GPU
    with pytest.raises(remat_bb.RematError) if warns else contextlib.nullcontext():
        watch._backward(lambda arguments: None, [])
    assert watch.report.requested_bytes == requested and watch.report.measured_bytes == 110


def test_decisions_behind_varying_operators_run_once(monkeypatch):
    ours = aten.sigmoid
    monkeypatch.setattr(
        decisions, "varies", lambda node: getattr(node.target, "overloadpacket", None) is ours
    )

    class Gate(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(64, 64) for _ in range(4))

        def forward(self, x):
            for layer in self.layers:
                y = torch.sigmoid(layer(x))
                x = torch.where(y > 0.5, y.exp(), y.sin())
            return x.square().mean()

    model, batch = Gate(), (torch.randn(512, 64),)
    nodes = rt.export(model, batch).to_dict()["nodes"]
    gates = [n for n in nodes if n["op"].startswith("aten.gt")]
    assert len(gates) == 4 and all(n["recompute"] is False for n in gates)
    assert all("recompute" not in n for n in nodes if n["op"].startswith("aten.sigmoid"))
    monkeypatch.setattr(decisions, "varies", lambda node: False)
    nodes = rt.export(model, batch).to_dict()["nodes"]
    assert not any("recompute" in n for n in nodes if n["op"].startswith("aten.gt"))


def test_varying_operators_are_those_of_a_gpu():
    on_gpu = call_of(aten.cumsum.default, (8,), result=lambda x: x)
    here = call_of(aten.cumsum.default, (8,), device="cpu", result=lambda x: x)
    plain = call_of(aten.gelu.default, (8,))
    assert [decisions.varies(c.node) for c in (on_gpu, here, plain)] == [True, False, False]
    torch.use_deterministic_algorithms(True)
    try:
        assert not decisions.varies(on_gpu.node)
    finally:
        torch.use_deterministic_algorithms(False)


def test_recomputed_convolutions_run_without_trials(monkeypatch):
    monkeypatch.setattr(torch.backends.cudnn, "benchmark", True)
    chosen = decisions.chooses_by_time
    # A fake tensor of a GPU cannot run here, so the device is left out of the rule.
    monkeypatch.setattr(
        "remat_bb.torch.planner.chooses_by_time",
        lambda node: getattr(node.target, "overloadpacket", None) in decisions.CONVOLUTIONS,
    )
    seen = []

    @torch.library.custom_op("remat_bb_test::noted", mutates_args=())
    def noted(x: torch.Tensor) -> torch.Tensor:
        seen.append(torch.backends.cudnn.benchmark)
        return x.clone()

    noted.register_fake(torch.empty_like)
    noted.register_autograd(lambda ctx, gradient: gradient)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(nn.Conv2d(8, 8, 3, padding=1) for _ in range(5))

        def forward(self, x):
            for layer in self.layers:
                x = noted(layer(x)).sin().exp().cos()
            return x.square().mean()

    model, batch = Net(), torch.randn(4, 8, 24, 24)
    rt.pure(noted)
    step = rt.compile(model, budget="55%", costs="static", plan_cache=False)
    with pytest.warns(UserWarning, match="benchmark is on, and the plan runs convolutions again"):
        step(batch).backward()
    assert step.report.without_trials
    assert len(seen) > 5 and not any(seen) and torch.backends.cudnn.benchmark
    convolution = call_of(aten.gelu.default, (8,))
    assert not chosen(convolution.node)


def test_both_passes_run_with_the_gpu_of_the_step_as_the_current_one(monkeypatch):
    model, batch = Mlp(depth=3, dropout=0.1), (torch.randn(256, 128),)
    expected = eager_step(model, batch)
    other, within = torch.device("cuda", 1), []

    @contextlib.contextmanager
    def device(which):
        within.append(which)
        yield
        within.append(None)

    # The tensors are on the processor; the step is told that they are on the second GPU.
    monkeypatch.setattr("remat_bb.torch.planner.cuda_device", lambda joint: other)
    step = rt.compile(model, budget="60%", costs="static", plan_cache=False, extra_bytes=0)
    monkeypatch.setattr(torch.cuda, "device", device)
    assert not planned_step(model, step, batch).differences(expected)
    assert step.report.plan.recomputed
    assert within == [other, None, other, None], "forward and backward pass"


def test_random_numbers_of_another_gpu_are_drawn_once():
    here = call_of(aten.native_dropout.default, (8,), result=lambda x: (x, x))
    assert decisions.draws_elsewhere(here.node, torch.device("cuda", 1))
    assert not decisions.draws_elsewhere(here.node, GPU)
    on_host = call_of(aten.bernoulli.default, (8,), device="cpu", result=lambda x: x)
    assert not decisions.draws_elsewhere(on_host.node, GPU)


def test_plans_are_kept_by_device_and_settings(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "NVIDIA H200")
    plain = plan_cache.machine(GPU)
    assert plain.startswith("NVIDIA H200")
    monkeypatch.setattr(torch.backends.cudnn, "benchmark", True)
    assert plan_cache.machine(GPU) != plain and "benchmark" in plan_cache.machine(GPU)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "NVIDIA A100-SXM4-80GB")
    assert plan_cache.machine(GPU) != plain


class Runtime:
    """Stands in for CUDA's runtime."""

    def __init__(self, code=0):
        self.code, self.pinned = code, {}

    def cudaHostRegister(self, place, size, flags):  # noqa: N802
        self.pinned[place] = size
        return self.code

    def cudaHostUnregister(self, place):  # noqa: N802
        del self.pinned[place]


def test_pinned_memory_has_the_size_that_was_asked_for(monkeypatch):
    runtime = Runtime()
    monkeypatch.setattr(torch.cuda, "cudart", lambda: runtime)
    arena = pinned.pinned(65 * 1024 + 1)
    part = arena[100:]
    assert list(runtime.pinned.values()) == [65 * 1024 + 1] and arena.numel() == 65 * 1024 + 1
    del arena
    assert runtime.pinned, "a part of it is in use"
    del part
    assert not runtime.pinned
    monkeypatch.setattr(pinned, "available_bytes", lambda: 1000)
    with pytest.raises(remat_bb.RematError, match="pinned host memory, and 1000 B are available"):
        pinned.pinned(950)
    monkeypatch.setattr(torch.cuda, "cudart", lambda: Runtime(2))
    with pytest.raises(remat_bb.RematError, match="does not pin 10 bytes .* .error 2."):
        pinned.pinned(10)


def test_available_memory_is_known_here():
    available = pinned.available_bytes()
    if not sys.platform.startswith("linux"):
        pytest.skip("/proc/meminfo is of Linux")
    assert 2**20 < available < 2**50


OPTIMIZERS = {
    "AdamW": torch.optim.AdamW,
    "SGD": torch.optim.SGD,
    "momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    "Adam of two groups": lambda p: torch.optim.Adam([{"params": p[:2]}, {"params": p[2:]}]),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_states_of_an_optimizer_count_from_the_first_step_on(name):
    model = Mlp(depth=3)
    maker = OPTIMIZERS[name]
    found = optimizer_states.optimizer_memory(maker, list(model.parameters()), torch.device("cpu"))
    optimizer = maker(list(model.parameters()))
    batch = torch.randn(64, 128)

    def states():
        leaves = torch.utils._pytree.tree_leaves([*optimizer.state.values()])
        return sum(x.untyped_storage().nbytes() for x in leaves if isinstance(x, torch.Tensor))

    model(batch).backward()
    optimizer.step()
    assert found.states_bytes == states() and found.present_bytes == 0
    again = optimizer_states.optimizer_memory(
        optimizer, list(model.parameters()), torch.device("cpu")
    )
    assert again.present_bytes == again.states_bytes == states() and again.missing_bytes == 0


def test_a_plan_leaves_room_for_the_optimizer():
    model, batch = Mlp(depth=4), (torch.randn(2048, 128),)
    expected = eager_step(model, batch)
    size = sum(p.numel() * p.element_size() for p in model.parameters())
    plain = rt.plan(model, batch, "100%")
    budget_bytes = int(0.7 * plain.peak_memory_bytes) + 2 * size
    step = rt.compile(
        model, budget=budget_bytes, costs="static", optimizer=torch.optim.AdamW, plan_cache=False
    )
    assert not planned_step(model, step, batch).differences(expected)
    report = step.report
    assert isinstance(report, Report) and report.plan.recomputed
    assert report.states_bytes == pytest.approx(2 * size, rel=0.01)
    assert report.predicted_bytes <= budget_bytes and "optimizer states" in str(report)
    model.zero_grad()
    bare = rt.compile(model, budget=budget_bytes, costs="static", plan_cache=False)
    bare(*batch).backward()
    assert bare.report.fixed_bytes + report.states_bytes == report.fixed_bytes
    assert len(bare.report.plan.recomputed) < len(report.plan.recomputed)


def test_an_optimizer_step_above_the_budget_is_refused():
    # The step of the optimizer needs more than the passes do.
    model, batch = Mlp(depth=3), (torch.randn(4, 128),)
    with pytest.raises(remat_bb.InfeasibleBudget, match="the optimizer's step needs") as error:
        rt.compile(model, budget="60%", costs="static", optimizer=torch.optim.AdamW)(*batch)
    needed = error.value.needed_bytes
    step = rt.compile(model, budget=needed, costs="static", optimizer=torch.optim.AdamW)
    step(*batch)
    assert step.report.predicted_bytes <= needed
    with pytest.raises(remat_bb.InvalidArgument, match="optimizer: 3 is no"):
        rt.compile(model, budget="60%", costs="static", optimizer=3)(*batch)
