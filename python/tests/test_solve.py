"""Solving: plans, bounds, budgets, limits and starts."""

import datetime
import json
import threading
import time
import warnings

import pytest

import remat_bb
from remat_bb import (
    InfeasibleBudget,
    Instance,
    InvalidArgument,
    InvalidBudget,
    InvalidPlan,
    LimitReached,
    solve,
)

MODELS = ["zoo:chain?n=9", "zoo:chain?n=12", "zoo:gpt2?layers=2"]


@pytest.mark.parametrize("model", MODELS)
def test_the_plan_is_that_of_the_command(model, run):
    plan = solve(model, "92%")
    done = run("solve", model, "--budget", "92%", "--json", "--quiet")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert plan.objective == said["objective"]
    assert plan.bound == said["bound"]
    assert plan.status == said["status"]
    assert plan.bound_scope == said["bound_scope"]
    assert plan.bound_scope in ("all-plans", "plans-in-this-order")
    assert plan.wider_bound is said["wider_bound"] is None
    assert plan.peak_memory_bytes == said["peak_memory_bytes"]
    assert plan.budget_bytes == said["budget_bytes"]
    assert plan.gap == pytest.approx(said["gap"], abs=1e-12)
    assert 100 * plan.overhead == pytest.approx(said["overhead_percent"], abs=1e-9)
    assert plan.instance.sha256 == said["instance_sha256"]


def test_numbers_of_a_plan_agree(chain, plan):
    assert plan.peak_memory_bytes <= plan.budget_bytes < plan.plain_peak_memory_bytes
    assert plan.plain_peak_memory_bytes == chain.peak_memory_bytes
    assert plan.bound <= plan.objective
    assert plan.gap == pytest.approx((plan.objective - plan.bound) / plan.objective)
    assert plan.overhead == pytest.approx(plan.objective / plan.base_cost - 1)
    assert plan.base_cost == chain.base_cost
    costs = {node["name"]: node["cost"] for node in chain.to_dict()["nodes"]}
    extra = sum(costs[name] * times for name, times in plan.recomputed.items())
    assert plan.objective == plan.base_cost + extra
    assert sum(costs[name] for name in plan.order) == plan.objective
    assert max(used for _, used in plan.timeline) == plan.peak_memory_bytes
    assert plan.timeline[-1][0] == plan.objective
    computed = [step for step in plan.steps if step[0] == "compute"]
    assert [step[1] for step in computed] == plan.order
    assert plan.peak_at in chain.nodes
    assert not plan.interrupted and plan.seconds > 0 and plan.search["moves"] > 0


def test_the_same_on_any_number_of_threads(chain):
    one, two = (solve(chain, "65%", threads=threads, seed=3) for threads in (1, 2))
    assert one.to_dict() == two.to_dict()
    assert (one.bound, one.status, one.search) == (two.bound, two.status, two.search)


def test_budgets_in_every_form(chain):
    peak = chain.peak_memory_bytes
    half = peak * 7 // 10
    for budget in (half, str(half), f"{half} B", float(half)):
        assert solve(chain, budget, gap=0.5).budget_bytes == half
    assert solve(chain, "70%", gap="50%").budget_bytes == half
    assert solve(chain, "1TiB").budget_bytes == 1 << 40


@pytest.mark.parametrize("budget", ["60 apples", "", "-3", -3, 1 << 60, [3], True, None, 2.5])
def test_other_budgets_are_refused(chain, budget):
    with pytest.raises(InvalidBudget) as caught:
        solve(chain, budget)
    assert isinstance(caught.value, ValueError) and caught.value.place == "budget"
    assert "6GiB" in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "place", "words"),
    [
        ({"time_limit": "soon"}, "time_limit", "10m"),
        ({"time_limit": -1}, "time_limit", "-1"),
        ({"threads": -1}, "threads", "from 0 to 1024"),
        ({"threads": 2000}, "threads", "2000"),
        ({"gap": 2}, "gap", "1%"),
        ({"gap": "wide"}, "gap", '"wide"'),
        ({"formulation": "simplex"}, "formulation", "write checkmate or monet"),
    ],
)
def test_other_arguments_are_refused(chain, arguments, place, words):
    with pytest.raises(InvalidArgument) as caught:
        solve(chain, "70%", **arguments)
    assert caught.value.place == place and words in str(caught.value)


def test_a_formulation_that_does_not_apply():
    graph = {"nodes": [{"id": 0, "cost": 1, "size": 1}], "links": []}
    with pytest.raises(InvalidArgument, match='monet does not apply.*formulation="checkmate"'):
        solve(graph, "100%", formulation="monet")


def test_an_infeasible_budget_tells_its_proof(chain):
    with pytest.raises(InfeasibleBudget) as caught:
        solve(chain, 1000)
    error = caught.value
    assert error.budget_bytes == 1000
    assert error.node in chain.nodes and f"({error.node})" in str(error)
    assert error.because in str(error) and str(error.known_bytes) in error.remedy
    with pytest.raises(InfeasibleBudget):
        solve(chain, error.needed_bytes - 1)
    assert not isinstance(error, ValueError)
    with pytest.raises(InfeasibleBudget, match='written "60%"'):
        solve(chain, 60)


def test_a_limit_without_a_plan():
    instance = Instance.zoo("resnet50?batch=8")
    with pytest.raises(LimitReached) as caught:
        solve(instance, "45%", time_limit=0)
    assert caught.value.budget_bytes == instance.peak_memory_bytes * 45 // 100
    assert caught.value.bound >= 0 and caught.value.seconds >= 0
    assert caught.value.place == "time_limit" and "more time" in str(caught.value)


def test_time_limits_in_every_form(chain):
    for limit in (20, 20.0, "20s", datetime.timedelta(seconds=20)):
        assert solve(chain, "90%", time_limit=limit).status == "optimal"


def test_choices_of_monets_program(choices, tmp_path):
    plan = solve(choices, "100%")
    assert plan.formulation == "monet" and plan.status == "optimal"
    plain = solve(choices, "100%", formulation="checkmate")
    assert plain.formulation == "checkmate" and plain.objective > plan.objective
    path = tmp_path / "plan.json"
    plan.save(path)
    assert remat_bb.verify(choices, path).formulation == "monet"
    assert "<svg" in plan.memory_svg() and plan.explain()
    with pytest.raises(InvalidPlan, match="starts\\[0\\]"):
        solve(choices, "100%", formulation="checkmate", starts=[plan])


def test_choices_that_are_left_out_are_told(choices):
    nodes = [{**node} for node in choices["nodes"] if node["name"] in ("conv", "relu")]
    without_loss = {**choices, "nodes": nodes}
    with pytest.warns(UserWarning, match="'two layers' offers .* no loss"):
        plan = solve(without_loss, "100%")
    assert plan.formulation == "checkmate" and plan.objective == 310 + 40
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solve(without_loss, "100%", formulation="checkmate")
        solve(choices, "100%")


def test_a_start_is_a_plan_at_once(chain, plan):
    for start in (plan, remat_bb.Plan.load(chain, plan.to_dict())):
        again = solve(chain, "70%", starts=[start])
        assert again.objective == plan.objective
    with pytest.raises(InvalidPlan, match="starts\\[0\\]: a plan of another instance"):
        solve("zoo:chain?n=10", "70%", starts=[plan])


def test_other_threads_run_meanwhile():
    """A thread of Python's counts while the search runs on one core."""
    counted, ended = 0, threading.Event()

    def count():
        nonlocal counted
        while not ended.is_set():
            counted += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    before = counted
    plan = solve("zoo:vgg16?batch=32", "78%", threads=1, gap=0.0, time_limit=2)
    during = counted - before
    ended.set()
    thread.join()
    assert plan.peak_memory_bytes <= plan.budget_bytes
    # With the lock held throughout it would be none but the first.
    assert during > 20


def test_searches_side_by_side(chain, plan):
    plans = []
    threads = [threading.Thread(target=lambda: plans.append(solve(chain, "70%"))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found.to_dict() for found in plans] == [plan.to_dict()] * 3


def _pairs():
    nodes = [("a", 8, []), ("b", 8, []), ("x", 1, ["a"]), ("y", 1, ["b"]), ("end", 1, ["x", "y"])]
    return {
        "schema": "remat-instance/1",
        "name": "pairs",
        "nodes": [
            {"name": name, "cost": 5, "output_bytes": size, "needs": needs}
            for name, size, needs in nodes
        ],
    }


def test_the_order_is_chosen_too():
    instance = Instance(_pairs())
    given = solve(instance, 12)
    found = solve(instance, 12, reorder=True)
    assert (given.objective, found.objective) == (35, 25)
    assert (found.status, found.bound, found.bound_scope) == ("optimal", 25, "all-plans")
    assert remat_bb.verify(instance, found).objective == 25
    assert set(found.order) == {"a", "b", "x", "y", "end"}
    assert found.order.index("x") < found.order.index("b") or found.order.index(
        "y"
    ) < found.order.index("a")
    again = solve(instance, 12, reorder=True, starts=[given])
    assert (again.objective, again.bound_scope) == (25, "all-plans")
    with pytest.raises(InfeasibleBudget):
        solve(instance, 3, reorder=True)


def test_steps_in_order_need_less():
    instance = Instance(_pairs())
    given = solve(instance, 12)
    better = remat_bb.improve(instance, given)
    assert (given.objective, better.objective, better.peak_memory_bytes <= 12) == (35, 25, True)
    plain = solve(instance, "100%")
    lower = remat_bb.improve(instance, plain, budget=12)
    assert (plain.peak_memory_bytes, lower.objective) == (17, 25)
    assert lower.peak_memory_bytes <= 12
    with pytest.raises(InvalidPlan):
        remat_bb.improve(instance, {"schema": "none"})


def test_offload_sends_tensors_to_the_host_and_says_what_it_took():
    with_link = remat_bb.solve("zoo:chain?n=6", "70%", offload="pcie4", host_memory="1GiB")
    without = remat_bb.solve("zoo:chain?n=6", "70%")
    assert with_link.objective == with_link.makespan < without.objective
    assert with_link.status == "optimal"
    assert with_link.bound_scope == "stage-schedules-with-copies"
    assert 0 < with_link.host_peak_bytes <= 1 << 30
    continuous = {"offload": "pcie4", "offload_release": "continuous"}
    bytewise = remat_bb.solve("zoo:chain?n=6", "70%", **continuous)
    assert bytewise.bound_scope == "stage-schedules-with-continuous-copies"
    assert bytewise.bound <= with_link.bound <= bytewise.objective
    none = remat_bb.solve("zoo:chain?n=6", "70%", offload="pcie4", host_memory=0)
    assert (none.objective, none.copies) == (without.objective, [])
    slow = remat_bb.solve("zoo:chain?n=6", "70%", offload="pcie4", link_latency="10ms")
    assert slow.objective == without.objective > with_link.objective
    any_order = remat_bb.solve("zoo:chain?n=6", "70%", offload="pcie4", reorder=True)
    assert any_order.objective <= with_link.objective
    one_way = remat_bb.solve("zoo:chain?n=6", "70%", offload="pcie4", duplex="half")
    assert one_way.objective >= with_link.bound
    with pytest.raises(TypeError, match="solve.. got an unexpected keyword argument 'offloads'"):
        remat_bb.solve("zoo:chain?n=6", "70%", offloads="pcie4")
    for arguments, word in [
        ({"duplex": "half"}, "duplex"),
        ({"offload": "pcie4", "duplex": "both"}, '"full" or "half"'),
        ({"offload": "pcie4", "link_latency": "10"}, "link_latency"),
        ({"offload": "on"}, "host_link"),
        ({"offload": "fast"}, "12GB/s"),
        ({"offload": "pcie4", "offload_phase": "never"}, "offload_phase"),
        ({"offload": "pcie4", "offload_release": "slowly"}, "offload_release"),
        ({"offload_release": "continuous"}, "offload_release"),
        ({"offload": "pcie4", "host_memory": "50%"}, "host_memory"),
    ]:
        with pytest.raises(remat_bb.errors.InvalidArgument, match=word):
            remat_bb.solve("zoo:chain?n=6", "70%", **arguments)


def test_links_are_read_from_their_texts():
    link = remat_bb._native.host_link("24GB/s,50GB/s")
    assert link == {
        "to_host_bytes_per_second": 24 * 10**9,
        "from_host_bytes_per_second": 50 * 10**9,
        "latency_ns": 0,
        "duplex": "full",
    }
    with pytest.raises(remat_bb.InvalidArgument, match="offload: link .*12GB/s"):
        remat_bb._native.host_link("fast")


def test_plans_that_copy_are_starts_over_other_links():
    slow = remat_bb.solve("zoo:chain?n=20", "50%", offload="100MB/s", time_limit=1)
    # No time for anything but the start.
    fast = remat_bb.solve(
        "zoo:chain?n=20", "50%", offload="200MB/s", starts=[slow], time_limit=0.001
    )
    assert fast.makespan <= slow.makespan
    with pytest.raises(InvalidPlan, match="another instance"):
        remat_bb.solve("zoo:chain?n=7", "70%", offload="pcie4", starts=[slow])
