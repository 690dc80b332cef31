"""Copies of a plan in its graphs: any statements, whoever copies, however late; leases of host
memory; the link."""

import copy

import pytest
import torch
from links import FakeCuda, FakeStream, FakeStreams, Late, with_copies
from models import MODELS, Mlp
from steps import eager_step, planned_step

import remat_bb
import remat_bb.torch as rt
from remat_bb.torch import _compat, carrier, copies, host, link, rewrite, search

LINK = rt.Link(10**9, 10**9, 0)
OPTIONS = {"costs": "roofline", "offload": LINK}


@pytest.fixture
def batch():
    return (torch.randn(512, 128),)


def plans_with_copies(monkeypatch, seed, rounds=2):
    """Makes the planner take a known strategy's plan, with copies at random places."""

    def solved(instance, budget, **options):
        known = remat_bb.baselines(instance, budget, formulation="checkmate")
        plan = next(found.plan for found in known if found.fits).to_dict()
        for k in range(rounds):
            plan["steps"] = with_copies(
                instance.to_dict(), [tuple(s) for s in plan["steps"]], 10 * seed + k
            )
        return remat_bb._native.Plan.load(instance, plan)

    monkeypatch.setattr(search, "solve", solved)


CARRIERS = {
    "at once": carrier.Immediate,
    "late": Late,
    "streams": FakeStreams,
    "one stream": lambda: FakeStreams(half=True),
}


@pytest.mark.parametrize(
    "name, seed",
    [("mlp dropout", 1), ("mlp dropout", 2), ("gpt dropout", 3), ("resnet", 4), ("parts", 5)],
)
def test_copies_at_any_place(name, seed, monkeypatch):
    make, batch_of, budget = MODELS[name]
    plans_with_copies(monkeypatch, seed)
    model, batch = make(), batch_of()
    start = copy.deepcopy(model.state_dict())
    expected = eager_step(model, batch)
    step = rt.compile(model, budget=budget, **OPTIONS)
    measured = 0
    for who, made in CARRIERS.items():
        model.load_state_dict(start)
        model.zero_grad()
        if step.reports:
            step.report.host._carrier = made()
        assert planned_step(model, step, batch).differences(expected) == [], who
        report, use = step.report, step.report.copy_use
        # Host memory of the other carriers is the processor's as well, and would be measured.
        measured = measured or report.measured_bytes
        assert use.to_host_bytes == report.plan.to_host_bytes
        assert use.from_host_bytes == report.plan.from_host_bytes
        assert use.host_peak_bytes == report.plan.host_peak_bytes
        assert use.host_bytes == 0, "all that came back was let go of"
    assert report.plan.recomputed and len(report.offloaded) > 10
    assert abs(measured - report.predicted_bytes) <= 0.005 * report.predicted_bytes


def fault(monkeypatch, model, batch, who, seed=1):
    """Differences of a step whose rewriting has a fault."""
    monkeypatch.setattr(host, "carrier_of", lambda *_: CARRIERS[who]())
    plans_with_copies(monkeypatch, seed)
    expected = eager_step(model, batch)
    step = rt.compile(model, budget="60%", **OPTIONS)
    return planned_step(model, step, batch).differences(expected), step


@pytest.mark.parametrize("who", ["late", "streams"])
def test_a_tensor_that_is_read_before_it_is_there(who, batch, monkeypatch):
    def hasty(ticket, value, fetch):
        host._lease(ticket).under_way.coming.pop(fetch)

    monkeypatch.setattr(rewrite.operators, "arrive", _compat.has_side_effect(hasty))
    assert fault(monkeypatch, Mlp(), batch, who)[0]


def test_a_copy_back_waits_for_the_copy_to_the_host(monkeypatch):
    """Also where nothing else has waited for that."""

    def hasty(self, source, target, after):
        return self._copy(self.back, source, target)

    value = torch.randn(5)
    for wrong in (False, True):
        if wrong:
            monkeypatch.setattr(FakeStreams, "from_host", hasty)
        memory = host.Host([host.Slot(0, 20)], 20, torch.device("cpu"))
        memory._carrier = FakeStreams()
        ticket = memory.begin()
        host.offload(ticket, value, 0)
        back = host.prefetch(ticket, 0, 0)
        host.arrive(ticket, back, 0)
        assert torch.equal(back, value) != wrong


def test_a_place_on_the_host_that_is_taken_twice(batch, monkeypatch):
    class Crowded(host.Host):
        def __init__(self, slots, arena_bytes, device):
            alike = [host.Slot(0, slot.size) for slot in slots]
            super().__init__(alike, arena_bytes, device)

    monkeypatch.setattr(copies, "Host", Crowded)
    assert fault(monkeypatch, Mlp(), batch, "at once")[0]


def test_an_original_that_is_not_let_go_of(batch, monkeypatch):
    """Memory that somebody holds on to is seen by the measurement."""
    held = []

    class Holding(carrier.Immediate):
        def to_host(self, source, target):
            held.append(source)
            target.copy_(source)

    monkeypatch.setitem(CARRIERS, "holding", Holding)
    with pytest.warns(UserWarning, match="above the budget"):
        differences, step = fault(monkeypatch, Mlp(dropout=0.0), batch, "holding")
    assert differences == [] and held
    assert step.report.measured_bytes > step.report.predicted_bytes


def test_runs_have_host_memory_of_their_own(batch):
    """Two forward passes before a backward pass, passes without one, and steps after them."""
    model = Mlp()
    step = rt.compile(model, budget="60%", time_limit=1.0, **OPTIONS)
    other = (torch.randn(512, 128),)
    torch.manual_seed(3)
    expected = model(*batch) + model(*other)
    expected.backward()
    gradients = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    torch.manual_seed(3)
    (step(*batch) + step(*other)).backward()
    assert step.report.plan.copies
    assert all(torch.equal(p.grad, g) for p, g in zip(model.parameters(), gradients))
    memory = step.report.host
    assert memory.arenas == 2
    for _ in range(3):
        loss = step(*batch)
        del loss
    step(*batch).backward()
    assert memory.arenas == 2, "memory of earlier runs is taken again"


@pytest.mark.parametrize("who", ["late", "streams"])
def test_a_step_that_fails_leaves_host_memory_in_order(who, batch, monkeypatch):
    monkeypatch.setattr(host, "carrier_of", lambda *_: CARRIERS[who]())
    plans_with_copies(monkeypatch, 6)
    model = Mlp()
    expected = eager_step(model, batch)
    step = rt.compile(model, budget="60%", **OPTIONS)
    step(*batch)
    memory = step.report.host
    bring = memory.carrier.from_host
    calls = []

    def failing(source, target, after):
        calls.append(1)
        if len(calls) == 3:
            raise RuntimeError("out of memory")
        return bring(source, target, after)

    monkeypatch.setattr(memory.carrier, "from_host", failing)
    with pytest.raises(RuntimeError, match="out of memory"):
        step(*batch).backward()
    model.zero_grad()
    assert planned_step(model, step, batch).differences(expected) == []
    assert memory.arenas == 1


def test_saved_tensors_that_are_copied_are_refused(batch):
    model = Mlp()
    step = rt.compile(model, budget="60%", time_limit=1.0, **OPTIONS)
    step(*batch).backward()
    with torch.autograd.graph.saved_tensors_hooks(torch.clone, lambda saved: saved):
        loss = step(*batch)
    with pytest.raises(remat_bb.RematError, match="given back before its backward pass"):
        loss.backward()


def test_layouts_survive():
    """Bits, shape and strides, of tensors with holes and of those that overlap themselves."""
    values = [
        torch.randn(6, 4).t(),
        torch.randn(8, 8)[1:7:2, ::3],
        torch.randn(5).as_strided((3, 3), (1, 1)),
        torch.tensor(float("nan")).expand(2, 2),
        torch.randn(2, 3, 4, 5).contiguous(memory_format=torch.channels_last),
        torch.rand(7) > 0.5,
        torch.randn(9).to(torch.bfloat16)[2:],
        torch.randint(0, 9, (3,)),
    ]
    slots, place = [], 0
    for value in values:
        size = host.bytes_of(value).numel()
        slots.append(host.Slot(place, size))
        place += size
    memory = host.Host(slots, place, torch.device("cpu"))
    memory.reserve()
    ticket = memory.begin()
    for k, value in enumerate(values):
        host.offload(ticket, value, k)
        host.wait(ticket, value, k)
    for k, value in enumerate(values):
        back = host.prefetch(ticket, k, k)
        host.arrive(ticket, back, k)
        host.release(ticket, k)
        assert back.dtype == value.dtype and back.stride() == value.stride()
        assert torch.equal(host.bytes_of(back), host.bytes_of(value))
    assert memory.latest.host_peak_bytes == place and memory.latest.host_bytes == 0
    with pytest.raises(remat_bb.RematError, match="24 bytes is to go to the host, into 8 bytes"):
        small = host.Host([host.Slot(0, 8)], 8, torch.device("cpu"))
        host.offload(small.begin(), torch.randn(6), 0)


def test_a_link_is_found_again_from_its_speeds():
    def seconds(size, copies, directions):
        alone = max(size / (24e9, 50e9)[way] for way in directions)
        return copies * (5e-6 + alone)

    found = link.fitted([link.point(size, seconds) for size in link.SIZES])
    assert found.to_host_bytes_per_second == pytest.approx(24e9, rel=0.01)
    assert found.from_host_bytes_per_second == pytest.approx(50e9, rel=0.01)
    assert found.latency_ns == pytest.approx(5000, rel=0.05) and found.duplex == "full"
    one = link.fitted(
        [link.point(s, lambda size, n, ways: n * len(ways) * size / 12e9) for s in link.SIZES]
    )
    assert one.duplex == "half" and one.latency_ns == 0
    assert link.SIZES[0] == 64 << 10 and link.SIZES[-1] == 256 << 20


def test_the_measurement_of_a_link_runs(monkeypatch):
    """With stand-ins for a GPU and for pinned memory, and little to copy."""
    cuda, empty = FakeCuda(), torch.empty
    monkeypatch.setattr(link, "SIZES", (1 << 12, 1 << 16))
    monkeypatch.setattr(link, "RUN_BYTES", 1 << 18)
    monkeypatch.setattr(
        torch, "empty", lambda *a, pin_memory=False, **options: empty(*a, **options)
    )
    for name, value in (("Stream", FakeStream), ("stream", cuda.stream)):
        monkeypatch.setattr(torch.cuda, name, value)
    settled = []
    monkeypatch.setattr(torch.cuda, "synchronize", settled.append)
    found = link._measured_on(torch.device("cpu"))
    assert found.to_host_bytes_per_second > 0 and found.from_host_bytes_per_second > 0
    assert len(settled) == 2 * link.RUNS * 3 * len(link.SIZES)


def test_links():
    preset = rt.Link.of("gh200")
    assert (preset.to_host_bytes_per_second, preset.from_host_bytes_per_second) == (
        170 * 10**9,
        411 * 10**9,
    )
    assert rt.Link.of("10GB/s").least_bytes == 100_000
    assert rt.Link.of(LINK) is LINK
    with pytest.raises(remat_bb.InvalidArgument, match="offload: link .*12GB/s"):
        rt.Link.of("fast")
    with pytest.raises(remat_bb.InvalidArgument, match="12 is no link"):
        rt.Link.of(12)
    with pytest.raises(remat_bb.InvalidArgument, match="latency_ns is -1"):
        rt.Link(1, 1, -1)
    with pytest.raises(remat_bb.InvalidArgument, match="duplex"):
        rt.Link(1, 1, duplex="both")
    if not torch.cuda.is_available():
        with pytest.raises(remat_bb.InvalidArgument, match="no GPU is there; give speeds, such as"):
            rt.measure_link()
    with pytest.raises(remat_bb.InvalidArgument, match="cpu has no link"):
        rt.measure_link("cpu")
