"""Bounds, gaps and statuses at the end of a search."""

import pytest

import remat_bb.gurobi as gp
from remat_bb.gurobi import GRB


@pytest.fixture
def model() -> gp.Model:
    return gp.Model(env=gp.Env(params={"OutputFlag": 0}))


@pytest.mark.parametrize("constant", [None, -2, 0, 0.25])
def test_a_closed_search_has_no_gap(model: gp.Model, constant: float | None) -> None:
    x = model.addVars(5, vtype="B")
    model.addConstr(x.sum() >= 2)
    if constant is not None:
        model.setObjective(x.sum() + constant)
    model.optimize()
    assert model.Status == GRB.OPTIMAL
    assert model.ObjVal == (0 if constant is None else 2 + constant)
    assert model.ObjBound == model.ObjVal
    assert model.MIPGap == 0


def test_the_bound_after_a_solution_limit_holds(model: gp.Model) -> None:
    x = model.addVars(30, vtype="B")
    weights = [20 + (7 * k * k) % 61 for k in range(30)]
    model.addConstr(gp.quicksum(w * x[k] for k, w in enumerate(weights)) <= 500)
    model.setObjective(gp.quicksum((w + 9) * x[k] for k, w in enumerate(weights)), GRB.MAXIMIZE)
    model.Params.SolutionLimit = 1
    model.optimize()
    assert model.Status == GRB.SOLUTION_LIMIT
    found, bound = model.ObjVal, model.ObjBound
    model.Params.SolutionLimit = "default"
    model.optimize()
    assert model.Status == GRB.OPTIMAL
    assert found <= model.ObjVal <= bound < float("inf")
