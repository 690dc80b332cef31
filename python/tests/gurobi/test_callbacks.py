"""Callbacks that take part: lazy constraints, cuts, points."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

gp = pytest.importorskip("remat_bb.gurobi")
GRB = gp.GRB


def distances(count: int, seed: int) -> dict[tuple[int, int], int]:
    generator = random.Random(seed)
    places = [(generator.randint(0, 99), generator.randint(0, 99)) for _ in range(count)]
    return {
        (i, j): abs(places[i][0] - places[j][0]) + abs(places[i][1] - places[j][1])
        for i, j in itertools.combinations(range(count), 2)
    }


def shortest(count: int, length: dict[tuple[int, int], int]) -> int:
    def of(tour: tuple[int, ...]) -> int:
        whole = (0, *tour, 0)
        return sum(length[min(a, b), max(a, b)] for a, b in zip(whole, whole[1:]))

    return min(of(tour) for tour in itertools.permutations(range(1, count)))


def subtour(edges: list[tuple[int, int]], count: int) -> list[int]:
    """The places of the shortest cycle."""
    left, best = set(range(count)), list(range(count))
    while left:
        cycle, todo = [], [min(left)]
        while todo:
            place = todo.pop()
            if place in left:
                left.remove(place)
                cycle.append(place)
                todo += [b if a == place else a for a, b in edges if place in (a, b)]
        if len(cycle) < len(best):
            best = cycle
    return best


def tours(count: int, length: dict[tuple[int, int], int]) -> tuple[gp.Model, gp.tupledict]:
    model = gp.Model()
    model.Params.OutputFlag = 0
    model.Params.LazyConstraints = 1
    x = model.addVars(length, obj=length, vtype="B")
    for place in range(count):
        model.addConstr(gp.quicksum(x[e] for e in length if place in e) == 2)
    return model, x


@pytest.mark.parametrize("seed", range(3))
def test_tours_by_lazy_constraints(seed: int) -> None:
    count = 8
    length = distances(count, seed)
    best = shortest(count, length)
    calls: list[int] = []

    def no_subtours(model: gp.Model, where: int) -> None:
        if where != GRB.Callback.MIPSOL:
            return
        values = model.cbGetSolution(x)
        edges = [e for e in length if values[e] > 0.5]
        assert model.cbGet(GRB.Callback.MIPSOL_OBJ) == sum(length[e] for e in edges)
        cycle = subtour(edges, count)
        calls.append(len(cycle))
        if len(cycle) < count:
            inside = gp.quicksum(x[e] for e in itertools.combinations(sorted(cycle), 2))
            model.cbLazy(inside <= len(cycle) - 1)

    found = []
    for threads in (1, 4):
        model, x = tours(count, length)
        model.Params.Threads = threads
        calls.clear()
        model.optimize(no_subtours)
        assert (model.Status, model.ObjVal) == (GRB.OPTIMAL, best)
        assert len(subtour([e for e in length if x[e].X == 1], count)) == count
        assert calls and count in calls
        found.append((model.NodeCount, list(calls)))
    assert found[0] == found[1]
    # Without the callback there are subtours: the rows did something in one case at least.
    model, x = tours(count, length)
    model.optimize()
    assert model.ObjVal <= best


def test_lazy_constraints_may_leave_no_point() -> None:
    model = gp.Model()
    model.Params.OutputFlag = 0
    model.Params.LazyConstraints = 1
    x = model.addVars(4, vtype="B", obj=1)
    model.addConstr(x.sum() >= 2)
    model.optimize(lambda m, where: m.cbLazy(x.sum(), "<", 1) if where == 4 else None)
    assert (model.Status, model.SolCount) == (GRB.INFEASIBLE, 0)


def knapsack() -> tuple[gp.Model, list[gp.Var], int]:
    model = gp.Model()
    model.Params.OutputFlag = 0
    generator = random.Random(3)
    weights = [generator.randint(20, 60) for _ in range(16)]
    values = [w + generator.randint(-9, 9) for w in weights]
    x = [model.addVar(vtype="B", obj=v) for v in values]
    model.ModelSense = GRB.MAXIMIZE
    side = sum(weights) // 2
    model.addConstr(gp.quicksum(w * v for w, v in zip(weights, x)) <= side)
    best = {0: 0}
    for w, v in zip(weights, values):
        more = {k + w: total + v for k, total in best.items() if k + w <= side}
        best = {k: max(best.get(k, -1), more.get(k, -1)) for k in best.keys() | more.keys()}
    return model, x, max(best.values())


def test_points_of_a_callback() -> None:
    model, x, best = knapsack()
    model.optimize()
    assert model.ObjVal == best
    known = [v.X for v in x]
    model.reset()
    model.Params.PreCrush = 1
    model.Params.Heuristics = model.Params.Cuts = 0
    relaxed: list[float] = []
    points: list[float] = []
    offered: list[float] = []

    def offer(model: gp.Model, where: int) -> None:
        if where == GRB.Callback.MIPNODE:
            values = model.cbGetNodeRel(x)
            relaxed.append(max(abs(v - round(v)) for v in values))
            model.cbCut(gp.quicksum(x) <= 16)
            assert model.cbUseSolution() == GRB.INFINITY
            model.cbSetSolution(x, [1.0] * len(x))
            assert model.cbUseSolution() == GRB.INFINITY
            model.cbSetSolution(x[:12], known[:12])
            offered.append(model.cbUseSolution())
        elif where == GRB.Callback.MIPSOL:
            points.append(model.cbGet(GRB.Callback.MIPSOL_OBJ))

    model.optimize(offer)
    assert (model.Status, model.ObjVal) == (GRB.OPTIMAL, best)
    # What the callback offers is the first point; without it the search finds a worse one first.
    assert points == [best]
    # Once it counts it is no better than the best.
    assert offered[0] == best and set(offered) <= {best, GRB.INFINITY}
    assert relaxed and all(distance > 1e-6 for distance in relaxed)


def test_mistakes_in_callbacks() -> None:
    model, x, _ = knapsack()

    def call(what: Any) -> Any:
        def back(model: gp.Model, where: int) -> None:
            if where == GRB.Callback.MIPSOL:
                what()

        return back

    with pytest.raises(gp.GurobiError, match="LazyConstraints"):
        model.optimize(call(lambda: model.cbLazy(x[0] <= 0)))
    model.Params.LazyConstraints = 1
    with pytest.raises(gp.GurobiError, match="MIPNODE"):
        model.optimize(call(lambda: model.cbCut(x[0] <= 0)))
    with pytest.raises(ZeroDivisionError):
        model.optimize(call(lambda: 1 / 0))
    with pytest.raises(gp.GurobiError, match="callbacks alone"):
        model.cbLazy(x[0] <= 0)
