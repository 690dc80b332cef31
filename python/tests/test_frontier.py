"""Frontiers, baselines and the largest batch."""

import json
import xml.etree.ElementTree as ElementTree

import pytest

import remat_bb
from remat_bb import InvalidArgument, InvalidBudget, baselines, frontier, max_batch, verify


@pytest.fixture(scope="module")
def curve(chain):
    return frontier(chain, "20%..100%:6")


def test_points_are_in_order_and_help_each_other(chain, curve):
    assert len(curve) == 6 and curve.instance == chain and not curve.interrupted
    points = list(curve)
    assert points[-1].budget_bytes == chain.peak_memory_bytes == curve.plain_peak_memory_bytes
    assert points[-1].objective == chain.base_cost == curve.base_cost
    assert points[0].status == "infeasible" and points[0].plan is points[0].bound is None
    assert points[0].infeasible_because
    for low, high in zip(points, points[1:]):
        assert low.budget_bytes < high.budget_bytes
        if low.plan is not None:
            assert high.objective <= low.objective and high.bound <= low.bound
    for point in points[1:]:
        if point.plan is not None:
            assert point.plan.objective == point.objective and point.plan.bound == point.bound
            assert point.peak_memory_bytes <= point.budget_bytes
            assert verify(chain, point.plan).objective == point.objective


def test_it_is_that_of_the_command(curve, run):
    done = run(
        "sweep", "zoo:chain?n=9", "--budgets", "20%..100%:6", "--no-baselines", "--json", "--quiet"
    )
    assert done.returncode == 0, done.stderr
    for point, said in zip(curve, json.loads(done.stdout)["points"], strict=True):
        assert point.budget_bytes == said["budget_bytes"] and point.status == said["status"]
        assert point.objective == said["objective"] and point.bound == said["bound"]


def test_a_frontier_is_a_sequence_with_a_picture(curve):
    assert curve[-1].budget_bytes == curve[5].budget_bytes
    with pytest.raises(IndexError, match="6 points"):
        curve[6]
    with pytest.raises(IndexError):
        curve[-7]
    dictionaries = curve.to_dicts()
    assert [d["objective"] for d in dictionaries] == [p.objective for p in curve]
    assert json.loads(json.dumps(dictionaries)) == dictionaries
    root = ElementTree.fromstring(curve._repr_svg_())
    assert root.tag.endswith("svg") and curve.instance.name in "".join(root.itertext())
    assert "infeasible" in repr(curve)


def test_budgets_as_a_list(chain):
    points = frontier(chain, ["100%", chain.peak_memory_bytes, "2TiB"])
    assert [point.budget_bytes for point in points] == [chain.peak_memory_bytes, 2 << 40]
    assert len(frontier(chain, [])) == 0


@pytest.mark.parametrize(
    "budgets", ["80%..40%:3", "40%..80%", "40%..80%:0", "much", ["much"], [None]]
)
def test_other_budgets_are_refused(chain, budgets):
    with pytest.raises(InvalidBudget):
        frontier(chain, budgets)


def test_budgets_that_are_no_list(chain):
    with pytest.raises(InvalidArgument, match="40%..100%:20"):
        frontier(chain, 7)


def test_baselines_are_ranked(chain, plan):
    known = baselines(chain, "70%")
    names = [one.name for one in known]
    assert {"dtr", "chen-sqrt", "checkpoint-all"} <= set(names), names
    fitting = [one for one in known if one.fits]
    assert fitting == known[: len(fitting)] and fitting
    assert [one.objective for one in fitting] == sorted(one.objective for one in fitting)
    for one in fitting:
        assert one.objective >= plan.bound
        assert one.plan.peak_memory_bytes == one.peak_memory_bytes <= plan.budget_bytes
        assert verify(chain, one.plan).objective == one.objective
    everything = next(one for one in known if one.name == "checkpoint-all")
    assert not everything.fits and everything.overhead == 0
    for one in known:
        assert (one.plan is None) == (one.because is not None)


def test_a_frontier_with_a_link_is_below_that_without(chain, run):
    plain = frontier(chain, "60%..100%:3")
    curve = frontier(chain, "60%..100%:3", offload="3GB/s", host_memory="1GiB")
    for point, without in zip(curve, plain, strict=True):
        assert point.objective <= without.objective and point.objective >= point.bound
        assert point.objective == point.plan.makespan and point.idle == point.plan.idle
        assert point.to_host_bytes == point.plan.to_host_bytes == point.to_dict()["to_host_bytes"]
        assert point.host_peak_bytes == point.plan.host_peak_bytes
        assert point.bound_scope == "stage-schedules-with-copies"
        assert without.idle == without.to_host_bytes == 0 and not without.plan.copies
        assert verify(curve.instance, point.plan).objective == point.objective
    for low, high in zip(curve, list(curve)[1:]):
        assert high.objective <= low.objective and high.bound <= low.bound
    assert curve[0].plan.copies and curve[0].objective < plain[0].objective
    assert "3 GB/s to the host" in curve.svg() and "GB/s" not in plain.svg()
    link = ["--offload", "3GB/s", "--host-memory", "1GiB", "--no-baselines", "--json", "-q"]
    done = run("sweep", "zoo:chain?n=9", "--budgets", "60%..100%:3", *link)
    assert done.returncode == 0, done.stderr
    for point, said in zip(curve, json.loads(done.stdout)["points"], strict=True):
        assert point.objective == said["objective"] and point.bound == said["bound"]
        assert point.idle == said["offload"]["idle"]


def test_baselines_with_a_link_have_rows_that_copy(chain):
    for phase in ["any", "loss"]:
        known = baselines(chain, "70%", offload="3GB/s", offload_phase=phase)
        row = {one.name: one for one in known}
        assert {
            "pofo",
            "offload-only",
            "opportunist",
            "autocapper",
            "greedy",
            "layer-fractions",
        } <= set(row)
        assert row["pofo"].fits and row["pofo"].objective <= row["rotor"].objective
        assert row["pofo"].objective == row["pofo"].plan.makespan
        if phase == "any":
            assert row["pofo"].plan.copies
    assert "pofo" not in {one.name for one in baselines(chain, "70%")}
    branched = {
        "schema": "remat-instance/1",
        "name": "two",
        "cost_unit": "ns",
        "nodes": [
            {"name": "a", "cost": 3, "output_bytes": 4},
            {"name": "b", "needs": ["a"], "cost": 2, "output_bytes": 4},
        ],
    }
    row = {one.name: one for one in baselines(branched, 100, offload="3GB/s")}
    assert not row["pofo"].fits and "no backward pass" in row["pofo"].because


def test_the_largest_batch_with_a_link():
    given = {"overhead": 0.01, "start": 16, "most": 40, "time_limit": 2}
    model, budget = "zoo:resnet18?device=v100", "512MiB"
    found = max_batch(model, budget, offload="pcie4", **given)
    assert found.batch > max_batch(model, budget, **given).batch
    assert max_batch(model, budget, offload="pcie4", host_memory=0, **given).batch < found.batch


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"offload": "on"}, "host_link"),
        ({"offload": "fast"}, "12GB/s"),
        ({"offload": "pcie4", "offload_phase": "never"}, "offload_phase"),
        ({"offload": "pcie4", "host_memory": "50%"}, "host_memory"),
        ({"host_memory": "1GiB"}, "no link"),
        ({"offload_phase": "loss"}, "no link"),
    ],
)
def test_links_that_cannot_be_are_refused(chain, arguments, word):
    for ask in [
        lambda: remat_bb.solve(chain, "70%", **arguments),
        lambda: frontier(chain, "70%..100%:2", **arguments),
        lambda: baselines(chain, "70%", **arguments),
        lambda: max_batch("zoo:vgg16?device=cpu", "4GiB", **arguments),
    ]:
        with pytest.raises(InvalidArgument, match=word):
            ask()


def test_costs_that_are_no_times_have_no_link():
    flops = {
        "schema": "remat-instance/1",
        "name": "flops",
        "cost_unit": "FLOP",
        "nodes": [{"name": "a", "cost": 3, "output_bytes": 4}],
    }
    for ask in [frontier, baselines, remat_bb.solve]:
        budget = ["100%"] if ask is frontier else "100%"
        with pytest.raises(InvalidArgument, match="FLOP"):
            ask(flops, budget, offload="pcie4")


def test_the_largest_batch():
    budget = 2 << 30
    found = max_batch("zoo:vgg16", budget, start=8, most=64, time_limit=20)
    assert found.peak_memory_bytes <= budget and found.asked[0][0] == 8
    own = max_batch(lambda n: f"zoo:vgg16?batch={n}", budget, start=8, most=64, time_limit=20)
    assert found.batch == own.batch
    assert dict(own.asked)[own.batch] == "yes"
    assert not own.exact or own.proven_too_large == own.batch + 1


def test_the_largest_batch_refuses_other_arguments():
    with pytest.raises(InvalidBudget, match="depends on the batch"):
        max_batch("zoo:vgg16", "60%")
    with pytest.raises(remat_bb.InvalidInstance, match="vgg17"):
        max_batch("zoo:vgg17", "1GiB")
    with pytest.raises(InvalidArgument, match="zoo:MODEL"):
        max_batch(3, "1GiB")
    with pytest.raises(InvalidArgument, match="overhead"):
        max_batch("zoo:vgg16", "1GiB", overhead=-1)
    with pytest.raises(InvalidArgument, match="start"):
        max_batch("zoo:vgg16", "1GiB", start=0)

    def broken(batch):
        raise LookupError(f"no graph for {batch}")

    with pytest.raises(LookupError, match="no graph for 32"):
        max_batch(broken, "1GiB")
