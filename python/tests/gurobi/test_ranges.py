"""Ranges of linear programs, parts of the objective by pieces, nonlinear expressions, files."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import remat_bb.gurobi as gp
from remat_bb.gurobi import GRB, nlfunc


def quiet(name: str = "") -> gp.Model:
    """A model that prints nothing."""
    model = gp.Model(name)
    model.Params.OutputFlag = 0
    return model


def test_ranges_of_a_textbook_program() -> None:
    # Chvatal 1983, chapter 10, in small: max 5 x + 4 y + 3 z.
    model = quiet()
    x, y, z = (model.addVar(obj=cost) for cost in (5, 4, 3))
    model.ModelSense = GRB.MAXIMIZE
    rows = [
        model.addConstr(2 * x + 3 * y + z <= 5),
        model.addConstr(4 * x + y + 2 * z <= 11),
        model.addConstr(3 * x + 4 * y + 2 * z <= 8),
    ]
    model.optimize()
    assert model.ObjVal == pytest.approx(13) and (x.X, y.X, z.X) == pytest.approx((2, 0, 1))
    # y is worth 4, and costs 3 by the first row and 4 by the last.
    assert (y.SAObjLow, y.SAObjUp) == (-math.inf, pytest.approx(7))
    assert (x.SAObjLow, x.SAObjUp) == pytest.approx((4.5, 6))
    assert (z.saobjlow, z.saobjup) == pytest.approx((2.5, 10 / 3))
    assert model.getAttr("SARHSLow", rows) == pytest.approx([4, 10, 7.5])
    assert model.getAttr("SARHSUp", rows) == pytest.approx([16 / 3, math.inf, 10])
    assert (y.SALBLow, y.SALBUp) == pytest.approx((-0.2, 1))
    assert (x.SALBLow, x.SALBUp, x.SAUBLow) == (-math.inf, pytest.approx(2), pytest.approx(2))
    x.VType = GRB.INTEGER
    model.optimize()
    with pytest.raises(gp.GurobiError, match="saobjlow"):
        x.SAObjLow


def test_parts_of_the_objective_by_pieces() -> None:
    model = quiet()
    x = model.addVar(lb=-GRB.INFINITY, obj=7.0)
    model.setPWLObj(x, [-1, 0, 2], [1, 0, 5])
    assert x.Obj == 0 and model.NumPWLObjVars == 1
    assert model.getPWLObj(x) == [(-1, 1), (0, 0), (2, 5)]
    row = model.addConstr(x >= 1)
    model.optimize()
    assert (model.ObjVal, x.X) == pytest.approx((2.5, 1))
    row.RHS = -3
    model.optimize()
    assert (model.ObjVal, x.X) == pytest.approx((0, 0))
    # Maximised it is not concave, and needs bounds.
    model.ModelSense = GRB.MAXIMIZE
    with pytest.raises(gp.GurobiError, match="piecewise") as error:
        model.optimize()
    assert error.value.errno == GRB.Error.NOT_SUPPORTED
    x.UB = 3
    model.optimize()
    assert (model.ObjVal, x.X) == pytest.approx((7.5, 3))
    x.Obj = 1.0
    assert model.NumPWLObjVars == 0
    with pytest.raises(gp.GurobiError, match="not equally many"):
        model.setPWLObj(x, [1, 2], [3])


def test_implications_without_bounds_are_branched_on() -> None:
    model = quiet()
    x = model.addVar(lb=-GRB.INFINITY, obj=1)
    y = model.addVar(obj=3)
    on = model.addVar(vtype="B", obj=-5)
    model.addConstr(x + y >= 2)
    model.addConstr((on == 1) >> (x >= 4))
    model.addConstr((on == 0) >> (x >= -2))
    model.optimize()
    assert (model.Status, model.ObjVal) == (GRB.OPTIMAL, pytest.approx(-1))
    assert (x.X, on.X) == (pytest.approx(4), 1.0)


def test_nonlinear_expressions_are_refused_where_a_model_takes_them() -> None:
    model = quiet()
    x, y = model.addVar(lb=1, ub=4, vtype="I", name="x"), model.addVar(name="y")
    assert str(1 / x) == "1.0 / x" and str(nlfunc.log(x + 2 * y)) == "log(x + 2.0 y)"
    for relation in (y == nlfunc.exp(x), y <= x**3, nlfunc.sin(x) + 1 >= y):
        with pytest.raises(gp.GurobiError, match=r"(exp|\*\*|sin): nonlinear functions"):
            model.addConstr(relation)
    with pytest.raises(gp.GurobiError, match="Objective must be linear or quadratic: log"):
        model.setObjective(nlfunc.log(x))
    # What comes to products has an exact form.
    model.addConstr(y == nlfunc.square(x) + 1)
    ratio = model.addVar(ub=10)
    model.addGenConstrNL(ratio, 6 / x)
    model.setObjective(y + 4 * ratio)
    model.optimize()
    assert model.ObjVal == pytest.approx(min(v * v + 1 + 24 / v for v in (1, 2, 3, 4)))


def test_files_with_more_than_rows(tmp_path: Path) -> None:
    path = tmp_path / "model.lp"
    path.write_text(
        "Maximize\n x + 2 y + z + 0.5 b\nSubject To\n c: x + y + z <= 9\n g: b = 1 -> x <= 1\n"
        "Bounds\n x <= 4\n y <= 3\n 2 <= z <= 5\nBinary\n b\nSemi-Continuous\n z\n"
        "SOS\n s: S1 :: y:1 z:2\nEnd\n"
    )
    model = gp.read(str(path))
    model.Params.OutputFlag = 0
    model.optimize()
    # x = 4 with y = 3 is worth more than with z = 5, or with b, which forbids it.
    assert model.ObjVal == pytest.approx(10)
    assert (len(model.getSOSs()), len(model.getGenConstrs())) == (1, 1)
    assert model.getVarByName("z").VType == "S"
    model.remove(model.getSOSs())
    model.optimize()
    assert model.ObjVal == pytest.approx(12.5)


def test_basis_files(tmp_path: Path) -> None:
    model = quiet("lp")
    x, y = model.addVar(name="x", ub=2), model.addVar(name="y")
    model.setObjective(x + 2 * y)
    model.addConstr(x + y >= 3, "c")
    model.optimize()
    path = tmp_path / "model.bas"
    model.write(str(path))
    assert path.read_text().split("\n")[:4] == ["NAME lp", " UL x", " XL y c", "ENDATA"]
    model.read(str(path))
    model.optimize()
    assert model.ObjVal == pytest.approx(4)
    with pytest.raises(gp.GurobiError, match="cannot be opened|No such file"):
        model.read(str(tmp_path / "none.bas"))


def test_variables_are_one_object_each() -> None:
    model = quiet()
    x = model.addVars(3)
    row = model.addConstr(x[0] + x[2] >= 1)
    assert model.getVars()[1] is x[1] and model.getRow(row).getVar(1) is x[2]


def test_series_beside_expressions() -> None:
    pandas = pytest.importorskip("pandas")
    model = quiet()
    x = pandas.Series(model.addVars(2, name="x").values())
    y = model.addVar(name="y")
    numbers = pandas.Series([2.0, 3.0])
    for result, words in (
        (y + x, "y + x[0]"),
        (x - y, "x[0] + -1.0 y"),
        (numbers * y, "2.0 y"),
        (y * numbers, "2.0 y"),
        ((2 * y) * x, "0.0 + [ 2.0 y * x[0] ]"),
    ):
        assert isinstance(result, pandas.Series) and str(result[0]) == words
    total = gp.LinExpr(y)
    total += x
    assert isinstance(total, pandas.Series) and str(total[1]) == "y + x[1]"
