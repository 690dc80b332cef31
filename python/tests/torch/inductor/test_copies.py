"""Steps under Inductor that copy to the host: the copies stay, in their order, and memory is as
predicted."""

import copy
import re
import shutil

import pytest
import torch
from links import Late
from models import Mlp
from steps import planned_step
from torch import Tensor, nn

import remat_bb
import remat_bb.torch as rt
from remat_bb.torch import fusion, host, host_operators

LINK = rt.Link(2 * 10**9, 2 * 10**9, 0, "half")
OPTIONS = {"costs": "roofline", "time_limit": 3.0, "inner": "inductor", "offload": LINK}

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="Inductor needs a C++ compiler")


def plain_step(model, batch):
    """A step that Inductor compiles without a plan."""
    twin = copy.deepcopy(model)
    found = planned_step(twin, torch.compile(twin, fullgraph=True, dynamic=False), batch)
    torch._dynamo.reset()
    return found


def same(found, expected, exact):
    """True if losses and gradients agree: in every bit, or but for the order of sums."""
    if exact:
        assert found.differences(expected) == []
    torch.testing.assert_close(found.loss, expected.loss, rtol=1e-5, atol=0)
    for name, gradient in expected.gradients.items():
        torch.testing.assert_close(found.gradients[name], gradient, rtol=1e-4, atol=1e-6)
    return True


class Pictures(nn.Module):
    """Convolutions, for which Inductor chooses layouts, and batch norms."""

    def __init__(self) -> None:
        super().__init__()
        widths = (3, 16, 16, 16)
        self.layers = nn.ModuleList(
            nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU())
            for a, b in zip(widths, widths[1:])
        )

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x.square().mean()


CASES = {
    "mlp": (lambda: Mlp(dropout=0.0), lambda: (torch.randn(512, 128),), "55%", True),
    "pictures": (Pictures, lambda: (torch.randn(8, 3, 24, 24),), "65%", False),
}
"""Model, batch, budget, and whether results are equal in every bit."""


@pytest.fixture
def codes(monkeypatch):
    """Generated codes of the step."""
    found = []
    real = fusion.replayed

    def noted(generated, *others):
        found[:] = generated.codes
        return real(generated, *others)

    monkeypatch.setattr(fusion, "replayed", noted)
    return found


@pytest.fixture
def graphs(monkeypatch):
    """Graphs of the plan."""
    found = []
    real = fusion.as_operators

    def noted(made):
        real(made)
        found[:] = [made.forward.graph, made.backward.graph]

    monkeypatch.setattr(fusion, "as_operators", noted)
    return found


@pytest.mark.parametrize("name", CASES)
def test_results_and_memory(name, codes, graphs):
    make, batch_of, budget, exact = CASES[name]
    model, batch = make(), batch_of()
    expected = plain_step(model, batch)
    step = rt.compile(model, budget=budget, **OPTIONS)
    found = planned_step(model, step, batch)
    report = step.report
    print(name, report)
    assert same(found, expected, exact)
    assert report.offloaded and report.replayed
    assert report.solves <= 2
    assert report.predicted_bytes < report.instance.peak_memory_bytes
    assert abs(report.measured_bytes - report.predicted_bytes) <= 1e-4 * report.predicted_bytes
    use = report.copy_use
    assert use.to_host_bytes == report.plan.to_host_bytes
    assert use.from_host_bytes == report.plan.from_host_bytes
    assert use.host_peak_bytes == report.plan.host_peak_bytes
    assert use.host_bytes == 0

    # Inductor calls the operators of the graphs, all of them and in their order.
    for code, graph in zip(codes, graphs):
        called = re.findall(r"torch\.ops\.remat_bb\.(\w+)\.default\(", code.text)
        nodes = graph.find_nodes(op="call_function", target=host_operators.BEGIN)
        for operator in host_operators.OPERATORS.values():
            nodes += graph.find_nodes(op="call_function", target=operator)
        places = {node: place for place, node in enumerate(graph.nodes)}
        nodes.sort(key=places.__getitem__)
        assert called == [node.target.overloadpacket.__name__ for node in nodes]


def late_step(model, batch):
    """A step whose copies are made as late as their waits allow."""
    step = rt.compile(model, budget="55%", **OPTIONS)
    reserve = host.Host.reserve

    def late(self):
        self._carrier = Late()
        reserve(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(host.Host, "reserve", late)
        found = planned_step(model, step, batch)
    assert step.report.host.carrier.begun == 1
    return found


def test_copies_may_be_late():
    model, batch = Mlp(dropout=0.0), (torch.randn(512, 128),)
    assert late_step(model, batch).differences(plain_step(model, batch)) == []


def test_missing_waits_are_found(monkeypatch):
    real = fusion.as_operators

    def careless(made):
        real(made)
        graph = made.backward.graph
        arrive = host_operators.OPERATORS[host.arrive]
        for node in graph.find_nodes(op="call_function", target=arrive):
            graph.erase_node(node)

    monkeypatch.setattr(fusion, "as_operators", careless)
    model, batch = Mlp(dropout=0.0), (torch.randn(512, 128),)
    expected = plain_step(model, batch)
    assert late_step(model, batch).differences(expected) != []


def test_layouts_that_differ_from_the_trace():
    """What Inductor stores with other strides comes back with those of the trace."""
    memory = host.Host([host.Slot(0, 96)], 96, torch.device("cpu"))
    host_operators._HOSTS[10**6] = memory
    operators = torch.ops.remat_bb
    value = torch.randn(2, 3, 2, 2).to(memory_format=torch.channels_last)
    ticket = operators.begin(10**6)
    operators.offload(ticket, value, 0)
    operators.wait(ticket, value, 0)
    size, stride = [2, 3, 2, 2], [12, 4, 2, 1]
    found = operators.prefetch(ticket, 0, 0, size, stride, value.dtype, value.device)
    operators.arrive(ticket, found, 0)
    operators.release(ticket, 0)
    assert list(found.stride()) == stride and torch.equal(found, value)
    del ticket
    assert len(memory._idle) == 1


def test_refusals():
    with pytest.raises(remat_bb.InvalidArgument, match="cache: .* host memory"):
        rt.compile(Mlp(), budget="60%", cache=True, **OPTIONS)
    with pytest.raises(remat_bb.RematError, match="host memory of a compiled step is gone"):
        torch.ops.remat_bb.begin(10**9)
