"""Convex quadratic objectives, with integers and without."""

from __future__ import annotations

import pytest

gp = pytest.importorskip("remat_bb.gurobi")
GRB = gp.GRB


def quiet() -> gp.Model:
    model = gp.Model()
    model.Params.OutputFlag = 0
    return model


def test_a_quadratic_program_has_duals() -> None:
    model = quiet()
    x, y = model.addVar(lb=-GRB.INFINITY), model.addVar(lb=-GRB.INFINITY)
    row = model.addConstr(x + y >= 2)
    model.setObjective(x * x + y * y + x * y - x)
    model.optimize()
    # x + y = 2 with gradients 2 x + y - 1 = 2 y + x.
    assert model.Status == GRB.OPTIMAL
    assert (x.X, y.X) == pytest.approx((1.5, 0.5), abs=1e-7)
    assert row.Pi == pytest.approx(2.5, abs=1e-6)
    assert model.ObjVal == pytest.approx(1.75, abs=1e-8)
    assert model.ObjBound == pytest.approx(1.75, abs=1e-6)


def test_integers_and_a_file(tmp_path) -> None:
    model = quiet()
    x = model.addVars(3, vtype="I", ub=9, name="x")
    y = model.addVar(name="y")
    model.addConstr(x.sum() + y == 7.5)
    model.setObjective(gp.quicksum((x[k] - k) * (x[k] - k) for k in range(3)) + 2 * y * y)
    model.optimize()
    grid = ((a, b, c) for a in range(10) for b in range(10) for c in range(10))
    left = ((v, 7.5 - sum(v)) for v in grid)
    values = (sum((v[k] - k) ** 2 for k in range(3)) + 2 * r * r for v, r in left if r >= 0)
    assert model.ObjVal == pytest.approx(min(values), abs=1e-6)
    path = str(tmp_path / "model.lp")
    model.write(path)
    again = gp.read(path)
    again.Params.OutputFlag = 0
    again.optimize()
    assert again.ObjVal == pytest.approx(model.ObjVal, abs=1e-6)


def test_what_is_not_convex_is_refused_by_name() -> None:
    model = quiet()
    x = model.addVar(name="speed")
    model.setObjective(-x * x)
    with pytest.raises(gp.GurobiError, match="column speed"):
        model.optimize()
