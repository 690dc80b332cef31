"""General constraints, ordered sets and semi-continuous variables, against enumeration."""

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


def enumerate_best(domains, fits, value):
    """The least value over all points of a grid."""
    return min((value(x) for x in itertools.product(*domains) if fits(x)), default=None)


FUNCTIONS = {
    "max": (lambda v: gp.max_(v, constant=1), lambda x: max(*x, 1)),
    "min": (lambda v: gp.min_(*v), lambda x: min(x)),
    "abs": (lambda v: gp.abs_(v[0]), lambda x: abs(x[0])),
    "norm0": (lambda v: gp.norm(v, 0), lambda x: sum(a != 0 for a in x)),
    "norm1": (lambda v: gp.norm(v, 1), lambda x: sum(map(abs, x))),
    "norminf": (lambda v: gp.norm(v, GRB.INFINITY), lambda x: max(map(abs, x))),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_exact(name: str) -> None:
    made, meant = FUNCTIONS[name]
    generator = random.Random(name)
    for _ in range(6):
        model = quiet()
        x = [model.addVar(lb=-3, ub=3, vtype="I") for _ in range(3)]
        r = model.addVar(lb=-GRB.INFINITY)
        model.addConstr(r == made(x), name="f")
        costs = [generator.randint(-3, 3) for _ in x]
        factor = generator.choice([-2, 2])
        weights = [generator.randint(-2, 2) for _ in x]
        model.addConstr(gp.quicksum(w * v for w, v in zip(weights, x)) <= 2)
        model.setObjective(gp.quicksum(c * v for c, v in zip(costs, x)) + factor * r)
        model.optimize()
        best = enumerate_best(
            [range(-3, 4)] * 3,
            lambda x: sum(w * v for w, v in zip(weights, x)) <= 2,
            lambda x: sum(c * v for c, v in zip(costs, x)) + factor * meant(x),
        )
        assert model.Status == GRB.OPTIMAL and model.ObjVal == pytest.approx(best)
        assert r.X == pytest.approx(meant([v.X for v in x]))
        assert all(v.X == int(v.X) for v in x)
    assert model.NumGenConstrs == 1 and model.getGenConstrs()[0].GenConstrName == "f"
    assert model.IsMIP == 1


def test_implications_and_logic() -> None:
    for value, sense in itertools.product((0, 1), "<>="):
        model = quiet()
        x = model.addVar(lb=-5, ub=5, vtype="I")
        b, c = model.addVars(2, vtype="B").values()
        both = model.addVar(vtype="B")
        either = model.addVar(vtype="B")
        model.addConstr(both == gp.and_(b, c))
        model.addConstr(either == gp.or_([b, c]))
        model.addGenConstrIndicator(b, value, x, sense, 2, name="when")
        model.setObjective(3 * b + c + x + 2 * both - 4 * either, GRB.MAXIMIZE)
        model.optimize()
        holds = {"<": lambda v: v <= 2, ">": lambda v: v >= 2, "=": lambda v: v == 2}[sense]
        best = -enumerate_best(
            [range(-5, 6), (0, 1), (0, 1)],
            lambda p: p[1] != value or holds(p[0]),
            lambda p: -(3 * p[1] + p[2] + p[0] + 2 * (p[1] & p[2]) - 4 * (p[1] | p[2])),
        )
        assert model.ObjVal == best


def test_an_implication_by_its_operator_and_its_removal() -> None:
    model = quiet()
    x = model.addVar(ub=10, obj=-1)
    b = model.addVar(vtype="B", lb=1)
    rule = model.addConstr((b == 1) >> (x + b <= 4.5), name="rule")
    model.optimize()
    assert x.X == pytest.approx(3.5) and rule.GenConstrType == GRB.GENCONSTR_INDICATOR
    assert model.copy().NumGenConstrs == 1
    twin = model.copy()
    twin.optimize()
    assert twin.ObjVal == pytest.approx(-3.5)
    model.remove(rule)
    model.optimize()
    assert x.X == 10 and model.NumGenConstrs == 0


def test_a_constraint_goes_with_its_variable() -> None:
    model = quiet()
    x, y, r = (model.addVar(lb=-4, ub=3, obj=-1) for _ in range(3))
    model.addConstr(r == gp.min_(x, y))
    model.addSOS(1, [x, y])
    model.optimize()
    assert model.ObjVal == pytest.approx(-3)
    model.remove(y)
    model.optimize()
    assert model.ObjVal == pytest.approx(-6) and model.NumGenConstrs == 1
    model.remove(r)
    assert model.NumGenConstrs == 0 and model.NumSOS == 1


def test_without_bounds_it_is_branched_on_or_says_what_is_missing() -> None:
    model = quiet()
    x = model.addVar(name="load")
    b = model.addVar(vtype="B")
    model.addConstr((b == 1) >> (x <= 4))
    model.setObjective(-b - 0.01 * x)
    model.optimize()
    assert model.Status == GRB.UNBOUNDED  # Without b there is no end of x.
    row = model.addConstr(x - 200 * b <= 100)
    model.optimize()
    assert (b.X, model.ObjVal) == (1.0, pytest.approx(-1.04))
    model.remove(row)
    x.UB = 100
    model.optimize()
    assert (b.X, model.ObjVal) == (1.0, pytest.approx(-1.04))
    x.UB = GRB.INFINITY
    pieces = model.addGenConstrPWL(x, model.addVar(), [0, 1, 2], [0, 3, 1])
    with pytest.raises(gp.GurobiError, match="upper bound of load") as caught:
        model.optimize()
    assert caught.value.errno == GRB.Error.NOT_SUPPORTED
    model.remove(pieces)
    with pytest.raises(gp.GurobiError, match="the 2-norm"):
        model.addConstr(x == gp.norm([b], 2))


def test_pieces() -> None:
    xs, ys = [0, 1, 3, 3, 5], [2, 0, 4, 1, 1]
    for sense in (GRB.MINIMIZE, GRB.MAXIMIZE):
        for at in (-1, 0, 0.5, 2, 4, 6):
            model = quiet()
            x = model.addVar(lb=-2, ub=7)
            y = model.addVar(lb=-GRB.INFINITY)
            model.addGenConstrPWL(x, y, xs, ys)
            model.addConstr(x == at)
            model.setObjective(y, sense)
            model.optimize()
            pieces = {-1: 4, 0: 2, 0.5: 1, 2: 2, 4: 1, 6: 1}
            assert y.X == pytest.approx(pieces[at])
    model.remove(model.getConstrs())
    model.optimize()
    assert model.ObjVal == pytest.approx(6)  # x at -2: the first slope goes on.


@pytest.mark.parametrize("kind", (1, 2))
def test_ordered_sets(kind: int) -> None:
    model = quiet()
    x = [model.addVar(lb=-1, ub=u, obj=-c) for u, c in ((3, 2), (2, 2), (1, 9), (4, 3))]
    model.addSOS(kind, x, [1, 3, 2, 4])
    model.optimize()
    order = [0, 2, 1, 3]
    gains = [6, 4, 9, 12]
    pairs = [(order[k],) for k in range(4)] if kind == 1 else list(zip(order, order[1:]))
    assert model.ObjVal == -max(sum(gains[k] for k in pair) for pair in pairs)
    assert sum(v.X != 0 for v in x) == kind and model.NumSOS == 1
    assert model.relax().NumSOS == 0


def test_semi_continuous_and_semi_integer() -> None:
    for letter, best in (("S", 2.5), ("N", 3.0)):
        model = quiet()
        x = model.addVar(lb=2.5, ub=6, vtype=letter)
        y = model.addVar(ub=1)
        model.addConstr(x + y >= 1.5)
        model.setObjective(x + 1.5 * y)
        model.optimize()
        assert model.ObjVal == pytest.approx(best) and x.VType == letter
        model.addConstr(x <= 2)
        model.optimize()
        assert model.Status == GRB.INFEASIBLE
        y.UB = 2
        model.optimize()
        assert (x.X, y.X) == (0, pytest.approx(1.5))
