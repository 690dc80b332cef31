"""Files of models with more than rows, and of starts: written as they are, and read again."""

import pytest

import remat_bb.gurobi as gp
from remat_bb.gurobi import GRB


def quiet() -> gp.Model:
    model = gp.Model("m")
    model.Params.OutputFlag = 0
    return model


@pytest.mark.parametrize("suffix", ["lp", "mps", "mps.gz"])
def test_implications_without_bounds_are_written_as_they_are(tmp_path, suffix) -> None:
    model = quiet()
    on = model.addVar(vtype=GRB.BINARY, name="on")
    t, s = model.addVar(name="t"), model.addVar(name="s")
    model.addGenConstrIndicator(on, True, t == s + 3)
    model.addGenConstrIndicator(on, False, t <= 1)
    model.addConstr(on == 1)
    model.setObjective(t + 2 * s)
    model.optimize()
    assert model.ObjVal == 3.0
    path = str(tmp_path / f"w.{suffix}")
    model.write(path)
    again = gp.read(path)
    again.Params.OutputFlag = 0
    assert (again.NumVars, again.NumConstrs, again.NumGenConstrs) == (3, 1, 2)
    again.optimize()
    assert (again.ObjVal, again.getVarByName("t").X) == (3.0, 3.0)


@pytest.mark.parametrize("suffix", ["lp", "mps"])
def test_sets_and_columns_that_may_be_0_are_written_as_they_are(tmp_path, suffix) -> None:
    model = quiet()
    x = [model.addVar(ub=9, name=f"x{j}") for j in range(3)]
    semi = model.addVar(lb=3, ub=8, vtype=GRB.SEMICONT, name="part")
    whole = model.addVar(lb=2.5, ub=7, vtype=GRB.SEMIINT, name="whole")
    least = model.addVar(ub=9, name="least")
    model.addSOS(GRB.SOS_TYPE2, x, [3, 1, 2])
    model.addGenConstrMin(least, [x[0], semi])
    model.addConstr(gp.quicksum(x) + semi + whole <= 20.5)
    model.setObjective(x[0] + 2 * x[1] + 3 * x[2] + semi + 1.5 * whole + least, GRB.MAXIMIZE)
    model.optimize()
    path = str(tmp_path / f"w.{suffix}")
    model.write(path)
    again = gp.read(path)
    again.Params.OutputFlag = 0
    assert again.NumSOS == 1 and again.getVarByName("part").VType == GRB.SEMICONT
    own = again.getVarByName("whole")
    assert (own.VType, own.LB, own.UB) == (GRB.SEMIINT, 2.5, 7.0)
    again.optimize()
    assert again.ObjVal == pytest.approx(model.ObjVal, abs=1e-6)


@pytest.mark.parametrize("suffix", ["sol", "mst"])
def test_names_with_blanks_keep_their_starts(tmp_path, suffix) -> None:
    model = quiet()
    variables = [model.addVar(ub=4, vtype="I", name=n) for n in ("a b", "c", "d # e", "f 2")]
    model.setObjective(gp.quicksum(variables), GRB.MAXIMIZE)
    model.optimize()
    path = str(tmp_path / f"a.{suffix}")
    model.write(path)
    for v in variables:
        v.Start = GRB.UNDEFINED
    model.read(path)
    assert [v.Start for v in variables] == [4.0] * 4
    hints = tmp_path / "a.hnt"
    hints.write_text("# hints\n\na b 3\nc 2 7\nf 2 1 5\n")
    model.read(str(hints))
    assert [v.VarHintVal for v in (variables[0], variables[1], variables[3])] == [3.0, 2.0, 1.0]
