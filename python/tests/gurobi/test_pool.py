"""The best solutions, in order, and starts with gaps."""

from __future__ import annotations

import itertools

import pytest

gp = pytest.importorskip("remat_bb.gurobi")
GRB = gp.GRB


def knapsack() -> tuple[gp.Model, list[gp.Var], list[int]]:
    model = gp.Model()
    model.Params.OutputFlag = 0
    weights, values = [5, 4, 3, 2, 7], [8, 5, 4, 3, 9]
    x = [model.addVar(vtype="B", obj=v) for v in values]
    y = model.addVar(ub=2, vtype="I", obj=1)
    model.addConstr(gp.quicksum(w * v for w, v in zip(weights, x)) + 3 * y <= 12)
    model.ModelSense = GRB.MAXIMIZE
    every = [
        sum(v * k for v, k in zip(values, p)) + p[5]
        for p in itertools.product(*[(0, 1)] * 5, range(3))
        if sum(w * k for w, k in zip(weights, p)) + 3 * p[5] <= 12
    ]
    return model, [*x, y], sorted(every, reverse=True)


def test_the_best_in_exact_order() -> None:
    model, x, every = knapsack()
    model.Params.PoolSearchMode = 2
    model.Params.PoolSolutions = 12
    model.optimize()
    assert model.SolCount == 12 and model.Status == GRB.OPTIMAL
    seen = set()
    for number in range(model.SolCount):
        model.Params.SolutionNumber = number
        assert model.PoolObjVal == every[number]
        seen.add(tuple(v.Xn for v in x))
    assert len(seen) == 12
    model.Params.PoolGapAbs = 2
    model.optimize()
    assert model.SolCount == sum(value >= every[0] - 2 for value in every)
    model.Params.PoolSolutions = 1000
    model.Params.PoolGapAbs = GRB.INFINITY
    model.optimize()
    assert model._answer.objectives == every


def test_one_interrupt_ends_all_searches() -> None:
    model, _, every = knapsack()
    model.Params.PoolSearchMode = 2
    model.Params.PoolSolutions = 1000
    model.optimize(lambda m, where: m.terminate() if where == GRB.Callback.MIPSOL else None)
    assert model.Status == GRB.INTERRUPTED and model.SolCount < len(every)
    model.Params.TimeLimit = 0
    model.reset()
    model.optimize()
    assert model.Status == GRB.TIME_LIMIT


def test_starts_with_gaps_and_hints() -> None:
    model, x, every = knapsack()
    points: list[float] = []

    def first(model: gp.Model, where: int) -> None:
        if where == GRB.Callback.MIPSOL:
            points.append(model.cbGet(GRB.Callback.MIPSOL_OBJ))

    x[0].Start, x[2].Start = 1, 1
    model.optimize(first)
    # The start's values leave 4: the fourth for 3, against 1 for the integer.
    assert points[0] >= 15 and model.ObjVal == every[0]
    model.reset(1)
    points.clear()
    x[0].VarHintVal, x[3].VarHintVal = 0, 1
    model.optimize(first)
    assert model.ObjVal == every[0] and points[-1] == every[0]
