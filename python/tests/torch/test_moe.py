"""Mixtures of experts: the router runs once, and sizes have bounds."""

import copy
from collections import Counter

import pytest
import torch
from steps import planned_step
from torch import nn
from torch.nn import functional as F

import remat_bb.torch as rt
from remat_bb.errors import RematError

OPTIONS = {"costs": "roofline", "plan_cache": False}
CHOICES = ("topk", "sort", "argmax", "histc")


class Mixture(nn.Module):
    """Layers of experts behind a router; each expert gets a fixed number of tokens at most."""

    def __init__(self, choose, layers=2, experts=4, width=32):
        super().__init__()
        self.choose, self.experts = choose, experts
        self.routers = nn.ModuleList(nn.Linear(width, experts) for _ in range(layers))
        shape = (layers, experts, width, 2 * width)
        self.wide = nn.Parameter(0.1 * torch.randn(shape))
        self.narrow = nn.Parameter(0.1 * torch.randn(*shape[:2], *shape[:1:-1]))

    def forward(self, x):
        for layer, router in enumerate(self.routers):
            scores = router(x).softmax(-1)
            shares = self.choose(scores, self.experts)
            hidden = torch.einsum("nd,edh->enh", x, self.wide[layer])
            out = torch.einsum("enh,ehd->end", F.gelu(hidden), self.narrow[layer])
            x = x + torch.einsum("end,ne->nd", out, shares)
        return x.square().mean()


def by_topk(scores, experts):
    weights, chosen = scores.topk(2, -1)
    return torch.zeros_like(scores).scatter(1, chosen, weights)


def by_argmax(scores, experts):
    chosen = F.one_hot(scores.argmax(-1), experts)
    places = scores.argmax(-1).float()
    load = torch.histc(places, bins=experts, min=0, max=experts - 1) / scores.shape[0]
    return scores * chosen * (1 - load)


def by_sort(scores, experts):
    """The best tokens of each expert, up to its capacity."""
    values, order = scores.sort(0, descending=True)
    capacity = scores.shape[0] // 2
    return torch.zeros_like(scores).scatter(0, order[:capacity], values[:capacity])


def unplanned(model, batch):
    """The compiled step without a plan. Operators of AOTAutograd round differently from eager."""
    twin = copy.deepcopy(model)
    return planned_step(
        twin, torch.compile(twin, backend="aot_eager", dynamic=False, fullgraph=True), batch
    )


def counted_step(model, step, batch):
    """A step, and the number of runs of each operator that chooses."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        found = planned_step(model, step, batch)
    names = (event.name.removeprefix("aten::") for event in profiler.events())
    return found, dict(Counter(name for name in names if name in CHOICES))


@pytest.mark.parametrize(
    "choose, calls",
    [(by_topk, {"topk": 2}), (by_argmax, {"argmax": 4, "histc": 2}), (by_sort, {"sort": 2})],
    ids=["topk", "argmax and histc", "sort"],
)
def test_the_router_runs_once(choose, calls):
    model = Mixture(choose)
    batch = (torch.randn(96, 32),)
    expected = unplanned(model, batch)
    step = rt.compile(model, budget="60%", **OPTIONS)
    planned_step(model, step, batch)
    assert step.report.plan.recomputed
    model.zero_grad()
    found, counts = counted_step(model, step, batch)
    assert found.differences(expected) == []
    assert counts == calls
    assert step.report.measured_bytes <= step.report.budget_bytes


@pytest.mark.parametrize("backend", ["compile", "backend"])
@pytest.mark.parametrize("kind", ["Mixtral", "Qwen3Moe"])
def test_models_of_transformers(kind, backend):
    model = model_of(kind, "grouped_mm")
    # The experts are an operator of transformers; torch says nothing about its effects.
    for name in ("grouped_mm_fallback", "grouped_mm_fallback_backward"):
        if hasattr(torch.ops.transformers, name):
            rt.pure(f"transformers::{name}")
    batch = (torch.randint(0, 64, (4, 48)),)
    expected = unplanned(model, batch)
    if backend == "compile":
        step = rt.compile(model, budget="70%", **OPTIONS)
        reports = step.reports
    else:
        made = rt.backend("70%", **OPTIONS)
        step, reports = torch.compile(model, backend=made, fullgraph=True), made.reports
    assert planned_step(model, step, batch).differences(expected) == []
    (report,) = reports
    operators = {n["name"]: n["op"] for n in report.instance.to_dict()["nodes"]}
    again = {operators[name] for name in report.plan.recomputed}
    assert any("grouped_mm" in name for name in again) or len(again) > 2
    model.zero_grad()
    found, counts = counted_step(model, step, batch)
    assert found.differences(expected) == []
    assert counts == {"topk": 2, "sort": 2, "histc": 2}
    assert report.measured_bytes <= report.budget_bytes


def test_lengths_that_change():
    model = model_of("Qwen3Moe", "grouped_mm", layers=1)
    step = rt.compile(model, budget="80%", **OPTIONS)
    for length in (48, 40, 33, 64):
        batch = (torch.randint(0, 64, (4, length)),)
        expected = unplanned(model, batch)
        model.zero_grad()
        assert planned_step(model, step, batch).differences(expected) == []
        assert all((r.measured_bytes or 0) <= r.budget_bytes for r in step.reports)
    assert [[(s.least, s.most) for s in r.sizes] for r in step.reports] == [[], [(33, 64)]]


def test_experts_in_a_loop_are_refused_with_a_remedy():
    model = model_of("Mixtral", "eager", layers=1)
    step = rt.compile(model, budget="80%", **OPTIONS)
    with pytest.raises(RematError, match=r"data-dependent[\s\S]*set_experts_implementation"):
        step(torch.randint(0, 64, (4, 48)))


def test_sizes_from_data_are_refused_with_a_remedy():
    class Parted(Mixture):
        def forward(self, x):
            chosen = self.routers[0](x).argmax(-1)
            parts = [x[chosen == k] @ self.wide[0, k] for k in range(self.experts)]
            return torch.cat(parts).square().mean()

    step = rt.compile(Parted(None), budget="80%", **OPTIONS)
    with pytest.raises(RematError, match="sizes that depend on data"):
        step(torch.randn(96, 32))


def model_of(kind, experts, layers=2):
    """A small model of transformers that returns its loss."""
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    if not hasattr(transformers, f"{kind}Config"):
        pytest.skip(f"this transformers has no {kind}")
    sizes = {"num_attention_heads": 4, "num_key_value_heads": 2, "num_experts_per_tok": 2}
    sizes |= {"vocab_size": 64, "hidden_size": 32, "intermediate_size": 64}
    if kind == "Mixtral":
        sizes["num_local_experts"] = 4
    else:
        sizes |= {"num_experts": 4, "moe_intermediate_size": 32, "head_dim": 8}
    config = getattr(transformers, f"{kind}Config")(num_hidden_layers=layers, **sizes)
    torch.manual_seed(0)
    model = getattr(transformers, f"{kind}ForCausalLM")(config)
    if not hasattr(model, "set_experts_implementation"):
        pytest.skip("this transformers has no choice of experts")
    model.set_experts_implementation(experts)

    class Loss(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, tokens):
            return self.model(input_ids=tokens, labels=tokens, use_cache=False).loss

    return Loss()
