"""Several objectives by priority."""

from __future__ import annotations

import itertools

import pytest

gp = pytest.importorskip("remat_bb.gurobi")
GRB = gp.GRB


def quiet() -> gp.Model:
    model = gp.Model()
    model.Params.OutputFlag = 0
    return model


@pytest.mark.parametrize("loss", (0, 2))
def test_by_priority(loss: float) -> None:
    model = quiet()
    x = model.addVars(3, ub=3, vtype="I")
    model.addConstr(x.sum() <= 5)
    model.ModelSense = GRB.MAXIMIZE
    first, second = 2 * x[0] + x[1] + x[2], 3 * x[2] - x[0] + 4
    model.setObjectiveN(second, 0, priority=1)
    model.setObjectiveN(first, 1, priority=5, abstol=loss)
    model.optimize()
    grid = [p for p in itertools.product(range(4), repeat=3) if sum(p) <= 5]
    best = max(2 * a + b + c for a, b, c in grid)
    left = [p for p in grid if 2 * p[0] + p[1] + p[2] >= best - loss]
    expected = max(3 * c - a + 4 for a, _, c in left)
    assert model.Status == GRB.OPTIMAL and second.getValue() == expected
    assert model.ObjVal == expected and model.NumObj == 2
    assert model._answer.objective_values == [expected, first.getValue()]
    assert model.getObjective(1).getValue() == first.getValue()


def test_weights_of_one_priority_and_linear_programs() -> None:
    model = quiet()
    x, y = model.addVar(ub=4), model.addVar(ub=4)
    model.addConstr(x + y >= 3)
    model.setObjectiveN(x, 0, weight=2)
    model.setObjectiveN(y, 1, weight=1)
    model.optimize()
    assert (x.X, y.X) == (pytest.approx(0, abs=1e-6), pytest.approx(3))
    model.setObjectiveN(y, 1, weight=-1, reltol=0.5)
    model.optimize()
    assert (x.X, y.X) == (pytest.approx(0, abs=1e-6), pytest.approx(4))


def test_attributes_are_those_of_the_chosen_objective() -> None:
    model = quiet()
    x = model.addVars(2, ub=1, vtype="B")
    model.addConstr(x.sum() <= 1)
    model.ModelSense = GRB.MAXIMIZE
    model.setObjectiveN(x[0], 0, priority=1, name="first")
    model.setObjectiveN(x[1], 1, priority=2)
    model.optimize()
    assert [x[k].X for k in x] == [0.0, 1.0]
    model.Params.ObjNumber = 1
    assert (model.ObjNPriority, model.objnname) == (2, "")
    model.ObjNPriority = 0
    model.optimize()
    assert [x[k].X for k in x] == [1.0, 0.0]
    model.Params.ObjNumber = 5
    with pytest.raises(gp.GurobiError, match="objective 5, where 2 are set"):
        model.ObjNWeight = 2
