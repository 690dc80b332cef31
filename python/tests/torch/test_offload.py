"""Steps that copy to the host: results as without a plan, in every bit, and memory as predicted."""

import copy
import json

import pytest
import torch
from models import MODELS, Gpt, Mlp
from steps import eager_step, planned_step

import remat_bb
import remat_bb.torch as rt
from remat_bb.torch import _compat, carrier, host, search

LINK = rt.Link(2 * 10**9, 2 * 10**9, 0)
OPTIONS = {"costs": "roofline", "time_limit": 3.0}
SLOW = OPTIONS | {"time_limit": 5.0}
"""Time in which a solve with copies finds some on a busy machine, too."""
FEW_COPIES = {"host_memory": "800KiB", "time_limit": 20.0}


@pytest.fixture
def batch():
    return (torch.randn(512, 128),)


def saved_by_plan(plan):
    """Bytes that are on the device when the loss has run, by the statements of a plan, without the
    loss itself."""
    nodes = {node["name"]: node for node in plan.instance.to_dict()["nodes"]}
    held, done = {}, False
    for step in plan.steps:
        if step[0] == "allocate":
            if done:
                break
            held[step[1]] = step[2]
        elif step[0] == "deallocate":
            del held[step[1]]
        elif step[0] == "compute" and nodes[step[1]].get("kind") == "loss":
            done = True
    sizes = (node["output_bytes"] for node in map(nodes.get, held.values()))
    return sum(sizes) - next(n["output_bytes"] for n in nodes.values() if n.get("kind") == "loss")


@pytest.mark.parametrize(
    "name, budget, link",
    [
        ("mlp", "55%", LINK),
        # Nothing fits this budget without copies, nor with as few as the host holds of this model.
        ("mlp dropout", "45%", rt.Link(6 * 10**8, 6 * 10**8, 0)),
        ("resnet", "60%", LINK),
        ("unet", "80%", rt.Link(10**9, 2 * 10**9, 0)),
        ("gpt dropout", "55%", LINK),
        ("llama", "50%", rt.Link(2 * 10**9, 10**9, 0, "half")),
    ],
)
def test_results_and_memory(name, budget, link):
    make, batch_of, _ = MODELS[name]
    model, batch = make(), batch_of()
    expected = eager_step(model, batch)
    options = SLOW | (FEW_COPIES if name == "mlp dropout" else {})
    step = rt.compile(model, budget=budget, offload=link, strict=True, **options)
    start = copy.deepcopy(model.state_dict())
    assert planned_step(model, step, batch).differences(expected) == []

    report = step.report
    print(name, report)
    assert report.offloaded and (name != "mlp dropout" or report.plan.recomputed)
    assert report.predicted_bytes <= report.budget_bytes < report.instance.peak_memory_bytes
    use = report.copy_use
    assert use.host_peak_bytes == report.plan.host_peak_bytes <= report.host.arena_bytes
    assert use.to_host_bytes == report.plan.to_host_bytes
    assert use.from_host_bytes == report.plan.from_host_bytes
    model.load_state_dict(start)
    model.zero_grad()
    measured, _ = rt.measure(step, *batch, repeats=1)
    assert measured <= report.budget_bytes
    assert abs(measured - report.predicted_bytes) <= 0.005 * report.predicted_bytes
    assert report.host.arenas == 1, "no step after the first takes host memory"


def test_saved_tensors_are_on_the_host(batch):
    """What leaves in the forward pass is neither saved nor held by anybody when it ends."""
    model = Mlp(dropout=0.0)
    left, saved = [], []

    class Watching(carrier.Immediate):
        def to_host(self, source, target):
            left.append(_compat.StorageWeakRef(source.untyped_storage()))
            target.copy_(source)

    step = rt.compile(model, budget="60%", offload=LINK, offload_phase="loss", **OPTIONS)
    step(*batch).backward()
    model.zero_grad()
    report = step.report
    report.host._carrier = Watching()
    with torch.autograd.graph.saved_tensors_hooks(lambda x: (saved.append(x), x)[1], lambda x: x):
        loss = step(*batch)
    assert left and all(storage.expired() for storage in left)
    known = {x.untyped_storage().data_ptr() for x in (*model.parameters(), *batch)}
    storages = {x.untyped_storage().data_ptr(): x.untyped_storage() for x in saved}
    sizes = [s.nbytes() for place, s in storages.items() if place not in known]
    tickets = [x for x in saved if x.dtype == torch.int64 and x.numel() == 1]
    assert len(tickets) == 1
    assert sum(sizes) - 8 == saved_by_plan(report.plan)
    assert report.copy_use.host_bytes == report.plan.host_peak_bytes
    assert sum(sizes) < 6 * batch[0].nbytes, "without a plan eleven such tensors are saved"
    saved.clear()
    loss.backward()
    assert report.copy_use.host_bytes == 0


def test_only_what_may_leave_does(batch):
    """The loss, tangents, parameters and what is smaller than a latency's worth of bytes stay."""
    model = Gpt(False, 0.1)
    words = torch.randint(0, 101, (8, 32))
    instance = rt.export(model, (words,), offload=rt.Link(10**10, 10**10, 1000))
    nodes = instance.to_dict()["nodes"]
    assert instance.to_dict()["host_link"]["latency_ns"] == 1000
    may = [node for node in nodes if node.get("offload") is not False]
    assert may and all(node["output_bytes"] >= 10_000 for node in may)
    large = [n for n in nodes if n["output_bytes"] >= 10_000 and n.get("offload") is False]
    assert large == []
    assert all("kind" not in n or n["kind"] != "loss" for n in nodes)
    body = torch.nn.Sequential(torch.nn.Linear(128, 128), torch.nn.GELU())
    with pytest.warns(UserWarning, match="compile the loss in"):
        document = rt.export(body, batch, offload=LINK).to_dict()
    stay = [n["name"] for n in document["nodes"] if n.get("offload") is False]
    assert {"tangents_1", "gelu", "end of step"} <= set(stay) and "addmm" not in stay
    plan = remat_bb.solve(instance, "60%", offload="on", time_limit=1.0)
    assert plan.copies


def test_nothing_crosses_the_loss(batch):
    step = rt.compile(Mlp(), budget="55%", offload=LINK, offload_phase="loss", **OPTIONS)
    step(*batch).backward()
    plan = step.report.plan
    order = [s for s in plan.steps if s[0] in ("offload", "wait", "prefetch") or s[1] == "mean"]
    loss = next(k for k, s in enumerate(order) if s[0] == "compute")
    assert plan.copies and all(s[0] != "prefetch" for s in order[:loss])
    assert all(s[0] != "offload" for s in order[loss:])


def test_host_memory_is_kept(batch):
    model = Mlp()
    expected = eager_step(model, batch)
    step = rt.compile(model, budget="60%", offload=LINK, host_memory="600KiB", **OPTIONS)
    assert planned_step(model, step, batch).differences(expected) == []
    report = step.report
    assert 0 < report.copy_use.host_peak_bytes == report.plan.host_peak_bytes <= 600 << 10
    torch._dynamo.reset()
    none = rt.compile(Mlp(), budget="60%", offload=LINK, host_memory=0, **OPTIONS)
    none(*batch).backward()
    assert none.report.plan.recomputed and none.report.copy_use is None
    assert "to the host" in str(report) and "to the host" not in str(none.report)


def test_compile_with_budget_and_backend(batch):
    model = Mlp()
    expected = eager_step(model, batch)
    step = rt.compile_with_budget(model, batch, "60%", offload="2GB/s", **OPTIONS)
    assert step.report.offloaded and step.report.measured_bytes <= step.report.budget_bytes
    assert planned_step(model, step, batch).differences(expected) == []
    torch._dynamo.reset()
    model.zero_grad()
    backend = rt.backend("60%", offload=LINK, **OPTIONS)
    compiled = torch.compile(model, backend=backend, fullgraph=True)
    assert planned_step(model, compiled, batch).differences(expected) == []
    assert backend.reports[0].offloaded


def test_plans_with_copies_are_kept(batch, tmp_path, monkeypatch):
    options = {**OPTIONS, "offload": LINK, "plan_cache": str(tmp_path)}
    model = Mlp()
    expected = eager_step(model, batch)
    first = rt.compile(model, budget="60%", **options)
    planned_step(model, first, batch)

    for entry in tmp_path.iterdir():
        # What is not proven best is asked for again.
        entry.write_text(json.dumps({**json.loads(entry.read_text()), "proven": True}))

    def unasked(*_, **__):
        raise AssertionError("the solver was asked")

    monkeypatch.setattr(search, "solve", unasked)
    torch._dynamo.reset()
    model.zero_grad()
    second = rt.compile(model, budget="60%", **options)
    assert planned_step(model, second, batch).differences(expected) == []
    assert second.report.plan.steps == first.report.plan.steps
    for other in ({"offload_phase": "loss"}, {"offload": None}, {"host_memory": "1MiB"}):
        torch._dynamo.reset()
        with pytest.raises(Exception, match="the solver was asked"):
            rt.compile(Mlp(), budget="60%", **{**options, **other})(*batch)


@pytest.mark.parametrize(
    "options, words",
    [
        ({"offload": "fast"}, "offload: link .*12GB/s"),
        ({"offload": 12}, "offload: 12 is no link"),
        ({"offload": "pcie4", "inner": "inductor", "cache": True}, "cache: compiled graphs"),
        ({"offload": "pcie4", "reorder": True}, "reorder: .*the order of their plan"),
        ({"host_memory": "1GiB"}, "host_memory: nothing is copied"),
        ({"offload": "pcie4", "host_memory": "50%"}, "host_memory: '50%' is no amount"),
        ({"offload": "pcie4", "offload_phase": "never"}, "offload_phase: 'never'"),
    ],
)
def test_refusals(options, words):
    with pytest.raises(remat_bb.RematError, match=words):
        rt.compile(Mlp(), budget="60%", **options)


def test_refusals_elsewhere(batch):
    with pytest.raises(remat_bb.InvalidArgument, match="budget blocks copy nothing"):
        with rt.budget("60%", offload="pcie4"):
            pass
    with pytest.raises(remat_bb.InvalidArgument, match="policies copy nothing"):
        rt.checkpoint_policies(Mlp(), batch, "6MiB", blocks="layers.*", offload="pcie4")
    with pytest.raises(remat_bb.InvalidArgument, match="offload_phase"):
        rt.plan(Mlp(), batch, "60%", offload="pcie4", offload_phase="never")
    with pytest.raises(remat_bb.InfeasibleBudget, match="needs .* bytes with"):
        rt.plan(Mlp(), batch, "15%", offload="pcie4")


def test_plans_without_memory():
    """Nothing is taken on the device or on the host for a plan alone."""
    arenas = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(host.Host, "reserve", lambda self: arenas.append(self.arena_bytes))
        with torch._subclasses.FakeTensorMode():
            model, x = Mlp(width=4096, depth=12), torch.empty(65536, 4096)
            plan = rt.plan(model, (x,), "50%", offload="pcie5", time_limit=1.0)
    assert plan.host_peak_bytes > 1 << 30 and arenas == []
