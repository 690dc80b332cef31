"""Policies of JAX over names: the best one within a budget, and its execution."""

import itertools
from functools import partial

import pytest

jax = pytest.importorskip("jax")
jnp = jax.numpy
rj = pytest.importorskip("remat_bb.jax")

from jax.ad_checkpoint import checkpoint_name  # noqa: E402

import remat_bb  # noqa: E402

DEVICE = rj.Device(flops=1e9, bytes_per_second=1e10, launch_ns=100)
POLICIES = jax.checkpoint_policies


def block(weights, x):
    up = checkpoint_name(x @ weights[0], "up")
    bent = checkpoint_name(jnp.tanh(up), "bent")
    return checkpoint_name(x + bent @ weights[1], "out")


def loss(weights, x, policy):
    step = jax.checkpoint(block, policy=policy)
    for pair in weights:
        x = step(pair, x)
    return jnp.sum(x * x)


def make(policy):
    return jax.grad(partial(loss, policy=policy))


@pytest.fixture
def data():
    keys = jax.random.split(jax.random.key(0), 9)
    weights = [
        (0.1 * jax.random.normal(a, (32, 128)), 0.1 * jax.random.normal(b, (128, 32)))
        for a, b in zip(keys[:4], keys[4:8])
    ]
    return weights, jax.random.normal(keys[8], (256, 32))


def judged(policy, data):
    instance = rj.export(make(policy), *data, device=DEVICE)
    cost = sum(node["cost"] for node in instance.to_dict()["nodes"])
    return cost, instance.peak_memory_bytes


@pytest.mark.parametrize("budget", ["95%", "75%", "60%", "50%"])
def test_the_plan_is_the_best_of_all_choices(data, budget):
    plan = rj.best_names(make, *data, budget=budget, device=DEVICE)
    names = ("up", "bent", "out")
    assert plan.status == "optimal" and plan.programs == 8
    assert sorted((*plan.save, *plan.drop)) == sorted(names) and plan.offload == ()
    sets = itertools.chain.from_iterable(itertools.combinations(names, k) for k in range(4))
    all_of = [judged(POLICIES.save_only_these_names(*chosen), data) for chosen in sets]
    best = min(each for each in all_of if each[1] <= plan.budget_bytes)
    assert judged(plan.policy, data) == best
    assert plan.peak_memory_bytes == best[1] <= plan.budget_bytes
    base, peak = judged(POLICIES.everything_saveable, data)
    assert plan.budget_bytes == int(peak * float(budget[:-1]) / 100)
    assert plan.overhead == pytest.approx(best[0] / base - 1)
    costs = [each.cost for each in plan.frontier]
    peaks = [each.peak_memory_bytes for each in plan.frontier]
    assert costs == sorted(costs) and peaks == sorted(peaks, reverse=True)


def test_the_policy_runs_and_gradients_agree(data):
    plan = rj.best_names(make, *data, budget="60%", device=DEVICE)
    found = jax.jit(make(plan.policy))(*data)
    expected = jax.jit(make(POLICIES.everything_saveable))(*data)
    for mine, theirs in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert jnp.allclose(mine, theirs, rtol=1e-5, atol=1e-5)


def test_values_on_the_host_take_no_memory_and_the_time_of_their_copies(data):
    # The machine is slow and the link is fast.
    fast = rj.best_names(make, *data, budget="60%", device=DEVICE, link="1000GB/s")
    assert fast.offload and fast.status == "optimal" and fast.programs == 27
    alone = rj.best_names(make, *data, budget="60%", device=DEVICE)
    assert fast.overhead < alone.overhead and fast.peak_memory_bytes <= fast.budget_bytes
    slow = rj.best_names(make, *data, budget="60%", device=DEVICE, link="1MB/s")
    assert slow.offload == () and slow.overhead == alone.overhead
    found = jax.jit(make(fast.policy))(*data)
    expected = jax.jit(make(POLICIES.everything_saveable))(*data)
    for mine, theirs in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert jnp.allclose(mine, theirs, rtol=1e-5, atol=1e-5)


def test_many_names_are_searched_locally(data):
    plan = rj.best_names(make, *data, budget="60%", device=DEVICE, most=7)
    best = rj.best_names(make, *data, budget="60%", device=DEVICE)
    assert plan.status == "feasible" and plan.programs <= 8
    assert plan.overhead >= best.overhead and plan.peak_memory_bytes <= plan.budget_bytes


def test_errors_name_the_least_budget_and_the_names(data):
    with pytest.raises(remat_bb.InfeasibleBudget, match="no choice of names fits") as error:
        rj.best_names(make, *data, budget="10%", device=DEVICE)
    needed = error.value.needed_bytes
    least = rj.best_names(make, *data, budget=needed, device=DEVICE)
    assert least.peak_memory_bytes == needed
    with pytest.raises(remat_bb.InvalidArgument, match="no value of the name 'down'") as error:
        rj.best_names(make, *data, budget="60%", names=["down"])
    assert "up, bent, out" in error.value.remedy

    def plain(policy):
        return jax.grad(lambda x: jnp.sum(jax.checkpoint(jnp.sin, policy=policy)(x)))

    with pytest.raises(remat_bb.InvalidArgument, match="the program has no names"):
        rj.best_names(plain, data[1], budget="60%")
    with pytest.raises(remat_bb.InvalidBudget):
        rj.best_names(make, *data, budget="much")
