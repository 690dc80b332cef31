"""Plans of earlier processes."""

import copy
import pathlib

import pytest
import torch
from models import Mlp
from steps import eager_step, planned_step

import remat_bb.torch as rt
from remat_bb.torch import cost, plan_cache, planner


def test_a_later_process_takes_the_plan(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, batch = Mlp(), (torch.randn(512, 128),)
    folder = tmp_path / "plans"

    def compiled(budget: str) -> rt.Step:
        return rt.compile(copy.deepcopy(model), budget=budget, plan_cache=str(folder))

    expected = eager_step(copy.deepcopy(model), batch)
    first = compiled("70%")
    planned_step(first.function, first, batch)
    assert first.report.plan.bound is not None
    entries = sorted(folder.iterdir())
    assert entries and all(entry.suffix == ".json" for entry in entries)

    def unasked(*_: object, **__: object) -> None:
        raise AssertionError("the solver was asked")

    with monkeypatch.context() as patch:
        patch.setattr(planner, "solve", unasked)
        torch._dynamo.reset()
        # Costs are measured anew: they are no part of an entry's name.
        cost._MEASURED.clear()
        second = compiled("70%")
        found = planned_step(second.function, second, batch)
        assert found.differences(expected) == []
        assert second.report.plan.steps == first.report.plan.steps
        assert second.report.predicted_bytes <= second.report.budget_bytes
        torch._dynamo.reset()
        with pytest.raises(Exception, match="the solver was asked"):
            other = compiled("80%")
            planned_step(other.function, other, batch)
    assert sorted(folder.iterdir()) == entries
    # What is no plan of the graph is made anew.
    for entry in entries:
        entry.write_text("{}")
    torch._dynamo.reset()
    third = compiled("70%")
    assert planned_step(third.function, third, batch).differences(expected) == []
    assert third.report.plan.bound is not None


def test_the_folder_is_the_one_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = plan_cache.folder
    monkeypatch.setenv("REMAT_BB_PLAN_CACHE", "0")
    assert folder(True) is None and folder("/x") == pathlib.Path("/x")
    monkeypatch.setenv("REMAT_BB_PLAN_CACHE", "/y")
    assert folder(True) == pathlib.Path("/y") and folder(False) is None
    monkeypatch.delenv("REMAT_BB_PLAN_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/z")
    assert folder(True) == pathlib.Path("/z/remat-bb/plans")
