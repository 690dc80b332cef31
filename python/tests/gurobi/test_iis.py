"""Irreducible infeasible subsystems."""

from __future__ import annotations

from pathlib import Path

import pytest

gp = pytest.importorskip("remat_bb.gurobi")
GRB = gp.GRB


def quiet() -> gp.Model:
    model = gp.Model()
    model.Params.OutputFlag = 0
    return model


@pytest.mark.parametrize("kind", "CI")
def test_rows_and_bounds(kind: str, tmp_path: Path) -> None:
    model = quiet()
    x = [model.addVar(ub=9, vtype=kind, name=f"x{k}") for k in range(6)]
    model.addConstr(gp.quicksum(x) <= 40)
    low = model.addConstr(x[1] + x[2] >= 12, "low")
    model.addConstr(x[3] - x[4] <= 2)
    high = model.addConstr(x[1] - x[5] <= -7, "high")
    model.addConstr(x[2] <= 3, "small")
    x[5].UB = 9
    with pytest.raises(AttributeError):
        _ = model.IISMinimal
    model.computeIIS()
    # x2 <= 3 leaves x1 >= 9, and x1 <= x5 - 7 <= 2.
    assert [c.IISConstr for c in model.getConstrs()] == [0, 1, 0, 1, 1]
    assert [v.IISUB for v in x] == [0, 0, 0, 0, 0, 1]
    assert [v.IISLB for v in x] == [0] * 6
    assert model.IISMinimal == 1
    model.write(str(tmp_path / "part.ilp"))
    part = gp.read(str(tmp_path / "part.ilp"))
    part.Params.OutputFlag = 0
    part.optimize()
    assert part.Status == GRB.INFEASIBLE and part.NumConstrs == 3
    for constr in (low, high):
        twin = model.copy()
        twin.remove(twin.getConstrByName(constr.ConstrName))
        twin.optimize()
        assert twin.Status == GRB.OPTIMAL


def test_general_constraints() -> None:
    model = quiet()
    x, r = model.addVar(lb=-5, ub=5), model.addVar(lb=-5, ub=5)
    size = model.addGenConstrAbs(r, x)
    other = model.addSOS(1, [x, r])
    model.addConstr(r <= -1)
    model.computeIIS()
    assert (size.IISGenConstr, other.IISGenConstr, model.getConstrs()[0].IISConstr) == (1, 0, 1)


def test_a_feasible_model_has_none() -> None:
    model = quiet()
    x = model.addVar(vtype="I")
    model.addConstr(x >= 2)
    with pytest.raises(gp.GurobiError) as caught:
        model.computeIIS()
    assert caught.value.errno == 10015
