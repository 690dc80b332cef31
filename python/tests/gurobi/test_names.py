"""Names of gurobipy: relaxations, parts of constraints, violations, lists over all variables."""

import pathlib
import re

import pytest

import remat_bb.gurobi as gp
from remat_bb.gurobi import GRB, left_out

GUIDE = pathlib.Path(__file__).parents[3] / "docs/guides/drop-in/gurobipy.md"


@pytest.fixture
def infeasible() -> gp.Model:
    model = gp.Model(env=gp.Env(params={"OutputFlag": 0}))
    x, y = (model.addVar(ub=4, name=name) for name in "xy")
    model.addConstr(x + y >= 10, "c")
    model.setObjective(x, GRB.MAXIMIZE)
    return model


def test_relaxations_have_the_least_price(infeasible):
    rows, bounds = infeasible.copy(), infeasible.copy()
    assert rows.feasRelaxS(0, True, False, True) == pytest.approx(2.0)
    rows.optimize()
    assert rows.ObjVal == pytest.approx(4.0)
    assert bounds.feasRelaxS(2, True, True, False) == pytest.approx(1.0)
    with pytest.raises(gp.GurobiError, match="squares"):
        infeasible.feasRelaxS(1, True, True, True)


def test_the_proof_of_infeasibility_has_a_size(infeasible):
    infeasible.optimize()
    assert infeasible.Status == GRB.INFEASIBLE
    # x + y is at most 8, and 10 is asked for.
    factor = abs(infeasible.getConstrs()[0].FarkasDual)
    assert infeasible.FarkasProof == pytest.approx(2.0 * factor)


def test_constraints_tell_their_parts_and_leave_with_their_variables():
    model = gp.Model(env=gp.Env(params={"OutputFlag": 0}))
    x, b = model.addVar(ub=9, name="x"), model.addVar(vtype="B", name="b")
    most = model.addGenConstrMax(x, [b], constant=0.5)
    pair = model.addSOS(1, [x, b], [1, 2])
    assert model.getGenConstrMax(most)[2] == 0.5
    assert model.getSOS(pair)[2] == [1.0, 2.0]
    with pytest.raises(gp.GurobiError, match="another type"):
        model.getGenConstrMin(most)
    model.remove([x, b])
    model.remove([most])
    assert model.getGenConstrs() == []


def test_attributes_are_there_or_refused_by_name(infeasible):
    assert infeasible.VarName == ["x", "y"] and infeasible.RHS == [10.0]
    x = infeasible.getVars()[0]
    x.VTag = "tag"
    assert x.VTag == "tag"
    with pytest.raises(gp.GurobiError, match="poolignore"):
        x.PoolIgnore = 1
    with pytest.raises(gp.GurobiError, match="optimizeAsync"):
        infeasible.optimizeAsync()
    with pytest.raises(gp.GurobiError, match="bz2"):
        infeasible.write("a.mps.bz2")


def test_names_that_are_left_out_are_refused_and_documented():
    model = gp.Model(env=gp.Env(params={"OutputFlag": 0}))
    x, b = model.addVar(ub=9), model.addVar(vtype="B")
    objects = {
        "of the module": (gp, left_out.MODULE),
        "methods of `Model`": (model, left_out.MODEL_METHODS),
        "methods of `Env`": (gp.Env(), left_out.ENV_METHODS),
        "attributes of `Model`": (model, left_out.MODEL_ATTRIBUTES),
        "attributes of `Var`": (x, left_out.VAR_ATTRIBUTES),
        "attributes of `Constr`": (model.addConstr(x >= 1), left_out.CONSTR_ATTRIBUTES),
        "attributes of `QConstr`": (model.addConstr(x * b <= 2), left_out.QCONSTR_ATTRIBUTES),
        "attributes of `SOS`": (model.addSOS(1, [x, b]), left_out.SOS_ATTRIBUTES),
        "attributes of `GenConstr`": (
            model.addGenConstrMax(x, [b]),
            left_out.GENCONSTR_ATTRIBUTES,
        ),
    }
    model.optimize()
    guide = GUIDE.read_text().split("## Names that are left out")[1].split("\n## ")[0]
    rows = dict(re.findall(r"^\| (\S.*?) \| (.*) \|$", guide, re.MULTILINE))
    assert rows.keys() == objects.keys()
    for kind, (one, names) in objects.items():
        assert re.findall(r"`(\w+)`", rows[kind]) == names and len(set(names)) == len(names)
        for name in names:
            with pytest.raises(gp.GurobiError, match=f"{name}'? is not supported") as caught:
                getattr(one, name)()
            assert caught.value.errno == GRB.Error.NOT_SUPPORTED


def test_memory_is_that_of_now_and_of_the_peak(infeasible):
    before = infeasible.MemUsed
    block = bytearray(200_000_000)
    block[:] = b"x" * len(block)
    assert infeasible.MaxMemUsed >= infeasible.MemUsed > before + 0.15
    del block
    assert infeasible.MemUsed < before + 0.15 < infeasible.MaxMemUsed
