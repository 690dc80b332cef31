"""Plans: documents, files, pictures, words and the judge."""

import json
import xml.etree.ElementTree as ElementTree

import pytest

import remat_bb
from remat_bb import FileError, InvalidPlan, Plan, PlanRefuted, verify


def test_plans_round_trip(chain, plan, tmp_path):
    document = plan.to_dict()
    assert document["schema"] == "remat-plan/1" and document["objective"] == plan.objective
    assert [tuple(step) for step in document["steps"]] == plan.steps
    for name in ("plan.json", "plan.json.gz"):
        path = tmp_path / name
        plan.save(path)
        for loaded in (
            Plan.load(chain, path),
            Plan.load(chain, str(path)),
            Plan.load(chain, document),
        ):
            assert loaded.to_dict() == document
            assert loaded.recomputed == plan.recomputed and loaded.timeline == plan.timeline
            assert loaded.instance == chain
            # A file knows of no search.
            assert loaded.status is loaded.bound is loaded.gap is loaded.search is None


def test_the_command_reads_plans_and_writes_them(chain, plan, run, tmp_path):
    path = tmp_path / "plan.json"
    plan.save(path)
    done = run("verify", "zoo:chain?n=9", str(path), "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["verified"] is True
    schedule = tmp_path / "schedule.json"
    done = run(
        "solve", "zoo:chain?n=9", "--budget", "70%", "--schedule-out", str(schedule), "--quiet"
    )
    assert done.returncode == 0, done.stderr
    loaded = Plan.load(chain, schedule)
    assert loaded.objective == plan.objective
    assert verify(chain, schedule).kind == "schedule"
    assert remat_bb.solve(chain, "70%", starts=[loaded]).objective == plan.objective


def test_words_of_a_plan(plan):
    words = remat_bb.explain(plan)
    assert words == plan.explain()
    assert f"{len(plan.order)} computations of {len(plan.instance)} nodes" in words
    for name in plan.recomputed:
        assert name in plan.explain(all=True)
    assert "of the budget stay free" in words and "--all" not in words
    assert f"{100 * plan.overhead:.2f}% over no recomputation" in repr(plan)
    assert plan.status in repr(plan)


def test_pictures_are_well_formed(plan):
    assert plan._repr_svg_() == plan.memory_svg() != plan.schedule_svg()
    for picture in (plan.memory_svg(), plan.schedule_svg()):
        root = ElementTree.fromstring(picture)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert plan.instance.name in "".join(root.itertext())
        assert len(list(root.iter())) > 20


def test_a_plan_verifies(chain, plan, tmp_path):
    path = tmp_path / "plan.json"
    plan.save(path)
    for form in (plan, plan.to_dict(), path, str(path)):
        found = verify(chain, form)
        assert found.kind == "plan" and found.formulation == "checkmate"
        assert found.objective == plan.objective
        assert found.peak_memory_bytes == plan.peak_memory_bytes
        assert found.overhead == plan.overhead and found.peak_at == plan.peak_at
        assert found.budget_bytes == plan.budget_bytes
        assert found.computations == len(plan.order)
        assert found.stage_schedule and found.no_stage_schedule_because is None


@pytest.mark.parametrize(
    ("field", "change", "words"),
    [
        ("objective", -1, "it records a cost of"),
        ("peak_bytes", -1, "it records a peak of"),
        ("budget_bytes", -(10**9), "it records a budget of"),
    ],
)
def test_false_claims_are_refuted(chain, plan, field, change, words):
    document = plan.to_dict()
    document[field] = max(document[field] + change, 0)
    with pytest.raises(PlanRefuted) as caught:
        verify(chain, document)
    assert len(caught.value.differences) == 1
    assert caught.value.differences[0].startswith(words)
    assert caught.value.differences[0] in str(caught.value)


def test_a_plan_that_lacks_a_step_is_refuted(chain, plan):
    document = plan.to_dict()
    at = next(
        k
        for k, step in enumerate(document["steps"])
        if step[0] == "compute" and step[1] == plan.order[3]
    )
    del document["steps"][at]
    for judge in (verify, Plan.load):
        with pytest.raises(PlanRefuted, match="cannot be executed") as caught:
            judge(chain, document)
        assert caught.value.differences == []


def test_a_plan_above_another_budget_is_refuted(chain, plan):
    with pytest.raises(PlanRefuted, match="more than the budget of"):
        verify(chain, plan, budget=plan.peak_memory_bytes - 1)
    assert verify(chain, plan, budget="100%").budget_bytes == chain.peak_memory_bytes


def test_plans_of_other_instances_and_other_things(chain, plan, tmp_path):
    with pytest.raises(InvalidPlan, match="made for another instance") as caught:
        verify("zoo:chain?n=10", plan)
    assert caught.value.place == "instance" and isinstance(caught.value, ValueError)
    document = plan.to_dict()
    document["steps"][0] = ["allocate", 0, "nobody"]
    with pytest.raises(InvalidPlan, match="no such node") as caught:
        verify(chain, document)
    assert caught.value.place == "steps[0][2]"
    with pytest.raises(InvalidPlan, match="an object of type int"):
        verify(chain, 3)
    with pytest.raises(InvalidPlan, match="steps: an object of type set"):
        verify(chain, {**plan.to_dict(), "steps": {1}})
    with pytest.raises(FileError, match="no such file"):
        Plan.load(chain, tmp_path / "nothing.json")
    broken = tmp_path / "broken.json"
    broken.write_text("[")
    with pytest.raises(InvalidPlan) as caught:
        Plan.load(chain, broken)
    assert caught.value.place.startswith(f"{broken}:1:")


def test_plans_get_addresses(chain, plan, tmp_path):
    assert plan.addresses is plan.arena_bytes is plan.fragmentation is plan.alignment_bytes is None
    placed = remat_bb.solve(chain, "70%", addresses=True)
    assert placed.steps == plan.steps and placed.to_dict()["arena_bytes"] == placed.arena_bytes
    assert placed.peak_memory_bytes <= placed.arena_bound_bytes <= placed.arena_bytes
    assert placed.fragmentation == placed.arena_bytes / placed.peak_memory_bytes - 1
    # No two pieces in use at one computation share a byte, and the arena ends with the last.
    steps, lives = placed.steps, []
    computed = [k for k, step in enumerate(steps) if step[0] == "compute"]
    moment = {k: sum(c < k for c in computed) for k in range(len(steps))}
    for kind, at, offset, size in placed.addresses:
        if kind == "tensor":
            register = steps[at][1]
            later = range(at, len(steps))
            freed = (k for k in later if steps[k][:2] == ("deallocate", register))
            end = next((moment[k] for k in freed), len(computed))
        else:
            end = moment[at] + 1 if kind == "workspace" else len(computed)
        lives.append((moment[at] if kind != "fixed" else 0, end, offset, offset + size))
        assert offset % placed.alignment_bytes == 0
    for k, (begin, end, low, high) in enumerate(lives):
        for other in lives[:k]:
            meet = begin < other[1] and other[0] < end
            assert not meet or high <= other[2] or other[3] <= low
    assert max(high for _, _, _, high in lives) == placed.arena_bytes
    again = plan.place(alignment=1)
    assert again.fragmentation == 0.0 and again.status == plan.status
    path = tmp_path / "placed.json"
    placed.save(path)
    assert Plan.load(chain, path).addresses == placed.addresses
    assert verify(chain, path).peak_memory_bytes == placed.peak_memory_bytes
    ElementTree.fromstring(placed.addresses_svg())
    with pytest.raises(remat_bb.InvalidArgument, match="no addresses"):
        plan.addresses_svg()
    for wrong in (3, 48):
        with pytest.raises(remat_bb.InvalidArgument, match="power of two"):
            plan.place(alignment=wrong)
        with pytest.raises(remat_bb.InvalidArgument, match="power of two"):
            remat_bb.solve(chain, "70%", alignment=wrong)
    document = placed.to_dict()
    document["addresses"][1][2] = document["addresses"][0][2]
    document["arena_bytes"] += 1
    with pytest.raises(PlanRefuted, match="share the addresses|records an arena"):
        verify(chain, document)


@pytest.fixture
def linked() -> remat_bb.Instance:
    """Three operators, and a link of 1 byte a nanosecond to the host and half of it back."""
    return remat_bb.Instance(
        {
            "schema": "remat-instance/1",
            "name": "three",
            "cost_unit": "ns",
            "host_link": {
                "to_host_bytes_per_second": 10**9,
                "from_host_bytes_per_second": 5 * 10**8,
            },
            "nodes": [
                {"name": "a", "cost": 10, "output_bytes": 6},
                {"name": "b", "needs": ["a"], "cost": 20, "output_bytes": 8},
                {"name": "c", "needs": ["a", "b"], "cost": 5, "output_bytes": 1},
            ],
        }
    )


@pytest.fixture
def copying() -> dict:
    """A plan in which a leaves while b runs, and comes back for c."""
    return {
        "schema": "remat-plan/1",
        "instance": "three",
        "semantics": "checkmate",
        "objective": 47,
        "peak_bytes": 15,
        "steps": [
            ["allocate", 0, "a"],
            ["compute", "a", 0],
            ["offload", 0, 0],
            ["allocate", 1, "b"],
            ["compute", "b", 1],
            ["wait", 0],
            ["deallocate", 0],
            ["allocate", 2, "a"],
            ["prefetch", 0, 2],
            ["allocate", 3, "c"],
            ["compute", "c", 3],
            ["release", 0],
            ["deallocate", 1],
            ["deallocate", 2],
        ],
    }


def test_a_plan_that_copies_has_a_clock(linked, copying, tmp_path):
    plan = Plan.load(linked, copying)
    assert (plan.objective, plan.makespan, plan.idle) == (47, 47, 12)
    assert plan.overhead == pytest.approx(12 / 35)
    assert (plan.to_host_bytes, plan.from_host_bytes, plan.host_peak_bytes) == (6, 6, 6)
    assert plan.copies == [("a", True, 10, 16), ("a", False, 30, 42)]
    assert plan.timeline == [(10, 6), (30, 14), (47, 15)]
    assert plan.steps[2] == ("offload", 0, 0) and plan.steps[8] == ("prefetch", 0, 2)
    assert "47.000 ns" in repr(plan)
    assert "left for the host at 10.000 ns" in plan.explain()
    assert "computations wait 12.000 ns" in plan.memory_svg()
    assert plan.to_dict()["host_link"]["to_host_bytes_per_second"] == 10**9
    plan.save(tmp_path / "plan.json")
    for form in (plan, copying, tmp_path / "plan.json"):
        found = verify(linked, form)
        assert (found.objective, found.idle, found.host_peak_bytes) == (47, 12, 6)
        assert (found.to_host_bytes, found.from_host_bytes) == (6, 6)
        assert not found.stage_schedule and found.stage_schedule_with_copies
        assert "copies tensors to the host" in found.no_stage_schedule_because
    placed = plan.place()
    assert placed.arena_bytes == 15 and placed.makespan == 47
    assert verify(linked, placed).objective == 47


def test_a_plan_that_copies_is_judged(linked, copying):
    with pytest.raises(PlanRefuted, match="a makespan of 35, the replay takes 47"):
        verify(linked, {**copying, "objective": 35})
    link = {"to_host_bytes_per_second": 10**9, "from_host_bytes_per_second": 5 * 10**8}
    with pytest.raises(PlanRefuted, match="5 B of host memory"):
        verify(linked, {**copying, "host_link": {**link, "host_memory_bytes": 5}})
    late = {**copying, "host_link": {**link, "latency_ns": 100}}
    # To the host from 10 to 116, back from 116 to 228.
    assert Plan.load(linked, late).makespan == 233


def test_searches_take_a_plan_that_copies_or_refuse_it(linked, copying):
    assert remat_bb.improve(linked, copying).makespan <= 47
    with pytest.raises(InvalidPlan, match="copies tensors to the host"):
        remat_bb.solve(linked, "100%", starts=[Plan.load(linked, copying)])
