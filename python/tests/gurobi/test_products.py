"""Products of variables: exact, or refused in words."""

from __future__ import annotations

import itertools
import random

import pytest

gp = pytest.importorskip("remat_bb.gurobi")
GRB = gp.GRB


def quiet() -> gp.Model:
    model = gp.Model()
    model.Params.OutputFlag = 0
    return model


def test_squares_both_ways() -> None:
    for sense, best in ((GRB.MINIMIZE, 0), (GRB.MAXIMIZE, 100)):
        model = quiet()
        x = model.addVar(lb=-10, ub=10, vtype="I")
        model.setObjective(x**2, sense)
        model.optimize()
        assert (model.Status, model.ObjVal) == (GRB.OPTIMAL, best)
        assert model.getObjective().size() == 1


def test_random_products_are_exact() -> None:
    generator = random.Random(7)
    for _ in range(12):
        model = quiet()
        b = model.addVar(vtype="B")
        x = model.addVar(lb=-2, ub=3, vtype="I")
        y = model.addVar(lb=-3, ub=1, vtype="I")
        v = [b, x, y]
        factors = {(i, j): generator.randint(-3, 3) for i in range(3) for j in range(i, 3)}
        row = {pair: generator.randint(-2, 2) for pair in factors}

        def total(of, values):
            return sum(f * values[i] * values[j] for (i, j), f in of.items())

        model.setObjective(total(factors, v) + x - 2 * y + 1)
        constr = model.addConstr(total(row, v) - x <= 4, name="q")
        model.optimize()
        grid = itertools.product((0, 1), range(-2, 4), range(-3, 2))
        fits = [p for p in grid if total(row, p) - p[1] <= 4]
        best = min(total(factors, p) + p[1] - 2 * p[2] + 1 for p in fits)
        assert model.ObjVal == pytest.approx(best)
    assert model.NumQConstrs == 1 and model.getQConstrs()[0].QCName == "q"
    model.remove(constr)
    model.setObjective(x)
    model.optimize()
    assert model.ObjVal == -2 and model.NumQConstrs == 0 and model.NumQNZs == 0


def test_a_batch_size_times_a_binary() -> None:
    model = quiet()
    batch = model.addVar(lb=1, ub=16384, name="batch")
    keep = model.addVars(3, vtype="B")
    sizes, costs = [5.0, 3.0, 2.0], [4.0, 3.0, 1.0]
    memory = gp.quicksum(s * keep[k] for k, s in enumerate(sizes)) * batch
    model.addConstr(memory <= 8000)
    model.addConstr(gp.quicksum(c * keep[k] for k, c in enumerate(costs)) >= 4)
    model.setObjective(batch, GRB.MAXIMIZE)
    model.optimize()
    # Costs of at least 4: the first alone, or the other two: 5 units of memory each way.
    assert batch.X == pytest.approx(1600)


def test_what_cannot_be_exact_is_refused() -> None:
    model = quiet()
    x, y = model.addVar(name="x", ub=4), model.addVar(name="y", ub=4)
    model.setObjective(x * y)
    with pytest.raises(gp.GurobiError, match="x and y.*integer") as caught:
        model.optimize()
    assert caught.value.errno == GRB.Error.NOT_SUPPORTED
    y.VType = "I"
    y.UB = GRB.INFINITY
    with pytest.raises(gp.GurobiError, match="y needs finite bounds"):
        model.optimize()
    y.UB = 4
    model.addConstr(x + y >= 5)
    model.optimize()
    assert model.ObjVal == pytest.approx(4) and y.X in (1.0, 4.0)
