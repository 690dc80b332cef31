"""Plans of earlier processes."""

import copy
import json
import os
import pathlib

import pytest
import torch
from models import Mlp
from steps import eager_step, planned_step

import remat_bb
import remat_bb.torch as rt
from remat_bb.torch import cost, plan_cache, search


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / "plans"


@pytest.fixture
def batch():
    return (torch.randn(512, 128),)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict]:
    """Options of all solves."""
    found: list[dict] = []
    real = search.solve

    def solve(*arguments, **options):
        found.append(options)
        return real(*arguments, **options)

    monkeypatch.setattr(search, "solve", solve)
    return found


def compiled(folder, model, batch, budget="70%", **options) -> rt.Step:
    """A step of a process that has measured nothing yet."""
    torch._dynamo.reset()
    cost._MEASURED.clear()
    options = {"costs": "roofline", "time_limit": 0.5, **options}
    step = rt.compile(copy.deepcopy(model), budget=budget, plan_cache=str(folder), **options)
    step(*batch).backward()
    return step


def proven(folder) -> None:
    """Makes all entries those of plans that were proven best."""
    for entry in folder.iterdir():
        entry.write_text(json.dumps({**json.loads(entry.read_text()), "proven": True}))


def network() -> Mlp:
    """A model without states of generators: one solve is enough for its plan."""
    return Mlp(depth=3, dropout=0.0)


def test_a_proven_plan_is_an_answer(folder, batch, asked):
    model = network()
    expected = eager_step(copy.deepcopy(model), batch)
    first = compiled(folder, model, batch)
    assert first.report.plan.status is not None
    proven(folder)
    entries = sorted(folder.iterdir())
    assert entries and all(entry.suffix == ".json" for entry in entries)
    asked.clear()
    second = compiled(folder, model, batch)
    assert asked == [] and sorted(folder.iterdir()) == entries
    assert second.report.plan.steps == first.report.plan.steps
    assert second.report.predicted_bytes <= second.report.budget_bytes
    second.function.zero_grad()
    assert planned_step(second.function, second, batch).differences(expected) == []
    # What is no plan of the graph is made anew.
    for entry in entries:
        entry.write_text("{}")
    third = compiled(folder, model, batch)
    assert asked and third.report.plan.status is not None


def test_an_unproven_plan_is_a_start(folder, batch, asked):
    model = Mlp(dropout=0.0)
    first = compiled(folder, model, batch)
    (entry,) = folder.iterdir()
    found = json.loads(entry.read_text())
    entry.write_text(json.dumps({**found, "proven": False}))
    asked.clear()
    second = compiled(folder, model, batch)
    (options,) = asked
    assert options["starts"] and options["seed"] == found["searches"]
    assert second.report.plan.objective <= first.report.plan.objective
    assert json.loads(entry.read_text())["searches"] == found["searches"] + 1


def test_plans_for_other_costs_are_starts(folder, batch, asked, monkeypatch):
    """Measured costs are not part of an entry's name, but near those of the entry or not."""
    model = network()

    def factor(_self, call):
        return 1000 if "gelu" in str(call.node.target) else gelu

    monkeypatch.setattr(cost.Measured, "nanoseconds", lambda *_: 1000)
    compiled(folder, model, batch, costs="measured")
    (entry,) = folder.iterdir()
    proven(folder)
    for gelu, is_answer in ((990, True), (1_000_000, False)):
        asked.clear()
        monkeypatch.setattr(cost.Measured, "nanoseconds", factor)
        compiled(folder, model, batch, costs="measured")
        assert (asked == []) == is_answer
        assert [entry] == list(folder.iterdir())


def test_kinds_of_costs_efforts_and_devices_are_apart(folder, batch, asked, monkeypatch):
    model = network()
    compiled(folder, model, batch)
    for number, options in enumerate(
        ({"costs": "static"}, {"time_limit": 1.0}, {"time_limit": "auto"}, {"budget": "80%"}), 2
    ):
        asked.clear()
        compiled(folder, model, batch, **options)
        assert asked and len(list(folder.iterdir())) == number
    monkeypatch.setattr(plan_cache, "machine", lambda device: "another one")
    asked.clear()
    compiled(folder, model, batch)
    assert asked


def test_a_plan_of_static_costs_is_not_that_of_measured_ones(folder, batch, asked):
    model = network()
    rt.plan(copy.deepcopy(model), batch, "70%", time_limit=0.5, plan_cache=str(folder))
    asked.clear()
    step = compiled(folder, model, batch, costs="measured")
    assert asked and asked[0]["starts"] == []
    assert step.report.plan.status is not None


def test_what_was_not_used_for_longest_goes(folder, batch, monkeypatch):
    model = network()
    monkeypatch.setattr(plan_cache, "ENTRIES", 2)
    compiled(folder, model, batch, "80%")
    (first,) = folder.iterdir()
    compiled(folder, model, batch, "85%")
    (second,) = set(folder.iterdir()) - {first}
    for age, entry in ((20, first), (10, second)):
        os.utime(entry, ns=(entry.stat().st_atime_ns, entry.stat().st_mtime_ns - age * 10**9))
    compiled(folder, model, batch, "80%")
    compiled(folder, model, batch, "90%")
    left = set(folder.iterdir())
    assert len(left) == 2 and first in left and second not in left
    monkeypatch.setattr(plan_cache, "FOLDER_BYTES", 1)
    compiled(folder, model, batch, "95%")
    assert list(folder.iterdir()) == []


def test_a_known_strategy_where_the_search_has_no_time(batch, monkeypatch):
    """A machine that is busy does not end a training script."""

    def late(*_, **__):
        raise remat_bb.LimitReached("no plan was found within the time limit")

    monkeypatch.setattr(search, "solve", late)
    model = Mlp(dropout=0.0)
    expected = eager_step(copy.deepcopy(model), batch)
    step = rt.compile(model, budget="80%", costs="roofline")
    assert planned_step(model, step, batch).differences(expected) == []
    assert step.report.plan.recomputed
    assert step.report.predicted_bytes <= step.report.budget_bytes
    torch._dynamo.reset()
    with pytest.raises(remat_bb.LimitReached):
        rt.compile(model, budget=1_000_000, costs="roofline")(*batch)


def test_the_first_plan_does_not_depend_on_the_clock(batch):
    """It is the same on one thread and on two, and its work is no time."""
    model = Mlp(dropout=0.0)
    found = []
    for threads in (1, 2):
        torch._dynamo.reset()
        options = {"costs": "static", "plan_cache": False, "threads": threads}
        found.append(rt.plan(model, batch, "60%", **options))
    assert found[0].steps == found[1].steps and found[0].bound == found[1].bound
    effort = rt.Settings("60%").effort(found[0].instance)
    assert "time_limit" not in effort and effort["effort"] == "quick"


def test_the_folder_is_the_one_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = plan_cache.folder
    monkeypatch.setenv("REMAT_BB_PLAN_CACHE", "0")
    assert folder(True) is None and folder("/x") == pathlib.Path("/x")
    monkeypatch.setenv("REMAT_BB_PLAN_CACHE", "/y")
    assert folder(True) == pathlib.Path("/y") and folder(False) is None
    monkeypatch.delenv("REMAT_BB_PLAN_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/z")
    assert folder(True) == pathlib.Path("/z/remat-bb/plans")
