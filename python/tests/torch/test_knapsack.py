"""The solver for torch's own budget: its knapsack to the optimum, and its place in torch."""

import inspect
import itertools
import random

import pytest
import torch
from models import MODELS
from steps import eager_step, planned_step
from torch._functorch import config
from torch._functorch._activation_checkpointing.knapsack import dp_knapsack

import remat_bb
import remat_bb.torch as rt
from remat_bb import _native
from remat_bb.torch import _compat


def brute(weights, profits, capacity):
    """The most that a choice comes to, by trying all."""
    count = range(len(weights))
    choices = itertools.chain.from_iterable(
        itertools.combinations(count, k) for k in range(len(weights) + 1)
    )
    fitting = (c for c in choices if sum(weights[k] for k in c) <= capacity)
    return max(sum(profits[k] for k in c) for c in fitting)


def test_knapsacks_against_brute_force():
    draw = random.Random(5)
    for count in range(11):
        for _ in range(40):
            most = draw.choice((3, 50, 10**12))
            weights = [draw.randrange(most) for _ in range(count)]
            # Profits that follow the weights are the hard ones.
            profits = [w + draw.randrange(3) for w in weights]
            if draw.random() < 0.5:
                profits = [draw.randrange(most) for _ in range(count)]
            capacity = draw.randrange(sum(weights) + 2)
            chosen, exact = _native.knapsack(weights, profits, capacity)
            assert exact and len(set(chosen)) == len(chosen)
            assert sum(weights[k] for k in chosen) <= capacity
            found = sum(profits[k] for k in chosen)
            assert found == brute(weights, profits, capacity)


def test_large_knapsacks_against_torch():
    """Sizes of equal layers: never worth less than torch's table, which rounds sizes."""
    draw = random.Random(7)
    layer = [(draw.randrange(1, 1 << 24), draw.randrange(1, 10**9)) for _ in range(12)]
    weights, profits = map(list, zip(*layer * 40))
    total = sum(weights)
    for share in (0.1, 0.37, 0.8):
        chosen, exact = _native.knapsack(weights, profits, int(share * total))
        assert exact and sum(weights[k] for k in chosen) <= share * total
        sizes = [w / total for w in weights]
        _, saved, _ = dp_knapsack(sizes, [float(p) for p in profits], share)
        if sum(weights[k] for k in saved) <= share * total:
            assert sum(profits[k] for k in chosen) >= sum(profits[k] for k in saved)


def test_refusals():
    with pytest.raises(remat_bb.InvalidArgument, match="profits"):
        _native.knapsack([1, 2], [1], 3)
    with pytest.raises(remat_bb.InvalidArgument, match="2\\^64"):
        _native.knapsack([2**63, 2**63], [1, 1], 3)
    with pytest.raises(remat_bb.InvalidArgument, match="costs"):
        rt.KnapsackSolver(costs="guessed")


def test_signature_is_that_of_torch():
    """Names and order as torch calls it with; further ones of later versions are not in its way."""
    theirs = inspect.signature(_compat.CustomKnapsackSolver.__call__).parameters
    ours = inspect.signature(rt.KnapsackSolver.__call__).parameters
    assert list(theirs) == [name for name in ours if name != "_"]
    assert ours["_"].kind is inspect.Parameter.VAR_KEYWORD
    assert isinstance(rt.KnapsackSolver(), _compat.CustomKnapsackSolver)
    words = {rt.KnapsackSolver(costs).uuid() for costs in ("torch", "measured", "roofline")}
    assert len(words) == 3


def torch_step(name, solver, budget, backend="aot_eager"):
    """Differences of a step under torch's own budget from eager torch, and what the solver saw."""
    make, batch_of, _ = MODELS[name]
    model, batch = make(), batch_of()
    expected = eager_step(model, batch)
    seen = []

    class Seen(rt.KnapsackSolver):
        def __call__(self, memory, graph, most, *others, **options):
            saved, rest = super().__call__(memory, graph, most, *others, **options)
            seen.append((memory, most, saved, rest))
            return saved, rest

    chosen = Seen() if solver is None else solver
    options = {"activation_memory_budget": budget, "activation_memory_budget_solver": chosen}
    with config.patch(options):
        step = torch.compile(model, backend=backend, fullgraph=True)
        found = planned_step(model, step, batch).differences(expected)
    return found, seen


def test_it_plugs_in():
    found, seen = torch_step("llama", None, 0.4)
    assert found == []
    ((memory, most, saved, rest),) = seen
    assert sorted(saved + rest) == list(range(len(memory)))
    assert rest and sum(memory[k] for k in saved) <= most * (1 + 1e-9)


def test_random_operators_are_saved():
    """Torch's own solver draws other masks in the backward pass: gradients are wrong."""
    wrong, _ = torch_step("gpt dropout", "dp", 0.3)
    torch._dynamo.reset()
    right, seen = torch_step("gpt dropout", None, 0.3)
    assert seen, "the knapsack is reached"
    assert wrong and right == []


@pytest.mark.parametrize("costs", ["measured", "roofline"])
def test_own_costs(costs):
    found, _ = torch_step("llama", rt.KnapsackSolver(costs), 0.4)
    assert found == []
