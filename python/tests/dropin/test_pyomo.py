"""Models of Pyomo: both factories, edits, duals, ordered sets, endings, refusals."""

import itertools
import random

import pytest

pyo = pytest.importorskip("pyomo.environ")

from pyomo.contrib.solver.common.factory import SolverFactory  # noqa: E402
from pyomo.contrib.solver.common.results import (  # noqa: E402
    SolutionStatus,
    TerminationCondition,
)
from pyomo.contrib.solver.common.util import (  # noqa: E402
    IncompatibleModelError,
    NoDualsError,
    NoFeasibleSolutionError,
    NoOptimalSolutionError,
)

import remat_bb.pyomo  # noqa: E402, F401


def knapsack():
    model = pyo.ConcreteModel()
    model.x = pyo.Var(domain=pyo.NonNegativeIntegers, bounds=(0, 9))
    model.y = pyo.Var(domain=pyo.NonNegativeReals)
    model.side = pyo.Param(initialize=7.5, mutable=True)
    model.first = pyo.Constraint(expr=2 * model.x + model.y <= model.side)
    model.second = pyo.Constraint(expr=model.x + 3 * model.y <= 6)
    model.goal = pyo.Objective(expr=3 * model.x + 2 * model.y + 1, sense=pyo.maximize)
    return model


def quiet(model, **settings):
    """Solves without exceptions for endings."""
    return SolverFactory("remat_bb").solve(
        model, load_solutions=False, raise_exception_on_nonoptimal_result=False, **settings
    )


def test_both_factories() -> None:
    model = knapsack()
    results = SolverFactory("remat_bb").solve(model)
    assert results.termination_condition == TerminationCondition.convergenceCriteriaSatisfied
    assert results.solution_status == SolutionStatus.optimal
    assert (results.incumbent_objective, model.x.value, model.y.value) == (12.0, 3.0, 1.0)
    assert results.objective_bound >= 12.0
    with pytest.raises(NoDualsError):
        results.solution_loader.get_duals()
    model.x.value = None
    legacy = pyo.SolverFactory("remat_bb").solve(model, tee=False)
    assert model.x.value == 3.0
    assert legacy.solver.termination_condition == pyo.TerminationCondition.optimal


def test_edits_and_parameters() -> None:
    model, solver = knapsack(), SolverFactory("remat_bb")
    solver.solve(model)
    model.side = 4
    assert solver.solve(model).incumbent_objective == pytest.approx(1 + 3 + 2 * 5 / 3)
    model.x.fix(0)
    solver.solve(model)
    assert model.y.value == pytest.approx(2.0)
    model.x.unfix()
    model.third = pyo.Constraint(expr=model.x >= 2)
    model.second.deactivate()
    solver.solve(model)
    assert (model.x.value, model.y.value) == (2.0, 0.0)
    model.goal.sense = pyo.minimize
    solver.solve(model)
    assert (model.x.value, model.y.value) == (2.0, 0.0)


def test_duals_and_reduced_costs() -> None:
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(0, 4))
    model.y = pyo.Var(bounds=(0, None))
    model.side = pyo.Constraint(expr=pyo.inequality(1, model.x + model.y, 10))
    model.goal = pyo.Objective(expr=3 * model.x + 2 * model.y, sense=pyo.maximize)
    model.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    model.rc = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    SolverFactory("remat_bb").solve(model)
    assert (model.x.value, model.y.value) == (4.0, 6.0)
    assert (model.dual[model.side], model.rc[model.x], model.rc[model.y]) == (2.0, 1.0, 0.0)


def test_endings() -> None:
    model = knapsack()
    model.third = pyo.Constraint(expr=model.x >= 4)
    results = quiet(model)
    assert results.termination_condition == TerminationCondition.provenInfeasible
    assert results.solution_status == SolutionStatus.noSolution
    with pytest.raises(NoOptimalSolutionError):
        SolverFactory("remat_bb").solve(model)
    with pytest.raises(NoFeasibleSolutionError):
        SolverFactory("remat_bb").solve(model, raise_exception_on_nonoptimal_result=False)
    model = pyo.ConcreteModel()
    model.x = pyo.Var(domain=pyo.Integers)
    model.goal = pyo.Objective(expr=model.x)
    assert quiet(model).termination_condition == TerminationCondition.unbounded
    model.row = pyo.Constraint(expr=2 * model.x == 1)
    assert quiet(model).termination_condition == TerminationCondition.provenInfeasible


def test_limits_and_starts() -> None:
    draw = random.Random(1)
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(50), domain=pyo.Binary)
    model.off = pyo.Var(range(6), [0, 1], domain=pyo.NonNegativeReals)
    model.rows = pyo.ConstraintList()
    table = [[draw.randrange(100) for _ in range(50)] for _ in range(6)]
    for i, row in enumerate(table):
        body = sum(a * model.x[j] for j, a in enumerate(row))
        model.rows.add(body + model.off[i, 0] - model.off[i, 1] == sum(row) // 2)
    model.goal = pyo.Objective(expr=sum(model.off.values()))
    results = quiet(model, time_limit=1.0, threads=1)
    assert results.termination_condition == TerminationCondition.maxTimeLimit
    assert results.solution_status == SolutionStatus.feasible
    results.solution_loader.load_vars()
    assert {v.value for v in model.x.values()} <= {0.0, 1.0}
    first = results.incumbent_objective
    for variable in model.off.values():
        variable.value = None
    again = quiet(model, warmstart_values=True, solver_options={"node_limit": 1})
    assert again.incumbent_objective <= first + 1e-6


@pytest.mark.parametrize("kind", [1, 2])
def test_ordered_sets_against_enumeration(kind: int) -> None:
    draw = random.Random(5)
    for _ in range(6):
        n = draw.randint(3, 5)
        model = pyo.ConcreteModel()
        highs = [draw.randint(1, 5) for _ in range(n)]
        costs = [draw.randint(-3, 9) for _ in range(n)]
        model.x = pyo.Var(range(n), bounds=lambda m, j: (0, highs[j]))
        model.sets = pyo.SOSConstraint(var=model.x, sos=kind)
        model.goal = pyo.Objective(
            expr=sum(c * model.x[j] for j, c in enumerate(costs)), sense=pyo.maximize
        )
        results = SolverFactory("remat_bb").solve(model)
        gains = [max(0, c * h) for c, h in zip(costs, highs)]
        best = max(sum(gains[j : j + kind]) for j in range(n - kind + 1))
        assert results.incumbent_objective == pytest.approx(best)
        assert model.sets.active


def test_what_is_refused() -> None:
    model = knapsack()
    model.square = pyo.Constraint(expr=model.x**2 <= 3)
    with pytest.raises(IncompatibleModelError, match="square.*nonlinear"):
        SolverFactory("remat_bb").solve(model)
    model.square.deactivate()
    model.other = pyo.Objective(expr=model.x)
    with pytest.raises(IncompatibleModelError, match="one objective"):
        SolverFactory("remat_bb").solve(model)
    del model.other
    model.goal.expr = model.y**2
    with pytest.raises(IncompatibleModelError, match="not concave.*eigenvalue.*column y"):
        SolverFactory("remat_bb").solve(model)
    model.goal.expr = pyo.exp(model.x)
    with pytest.raises(IncompatibleModelError, match="goal.*exp"):
        SolverFactory("remat_bb").solve(model)
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(3), domain=pyo.NonNegativeReals)
    model.sets = pyo.SOSConstraint(var=model.x, sos=1)
    model.goal = pyo.Objective(expr=model.x[0])
    with pytest.raises(IncompatibleModelError, match="no upper bound"):
        SolverFactory("remat_bb").solve(model)


def test_quadratic_objectives_against_enumeration() -> None:
    draw = random.Random(31)
    for _ in range(20):
        n = draw.randint(1, 4)
        model = pyo.ConcreteModel()
        model.x = pyo.Var(range(n), domain=pyo.Integers, bounds=(-2, 2))
        model.fixed = pyo.Var(initialize=2)
        model.fixed.fix()
        forms = [[draw.randint(-3, 3) for _ in range(n + 1)] for _ in range(2)]

        def value(x, unit, forms=forms):
            sums = [sum(a * v for a, v in zip(form, [*x, unit])) for form in forms]
            return sums[0] ** 2 + sums[1] ** 2 + 3 * x[0]

        goal = value(list(model.x.values()), 0.5 * model.fixed)
        sense = draw.choice([pyo.minimize, pyo.maximize])
        model.goal = pyo.Objective(expr=goal if sense == pyo.minimize else -goal, sense=sense)
        sides = [draw.randint(-2, 2) for _ in range(n)]
        model.row = pyo.Constraint(expr=sum(a * x for a, x in zip(sides, model.x.values())) >= -1)
        points = itertools.product(range(-2, 3), repeat=n)
        allowed = [p for p in points if sum(a * v for a, v in zip(sides, p)) >= -1]
        results = SolverFactory("remat_bb").solve(model, rel_gap=0.0)
        best = min(value(p, 1) for p in allowed)
        assert results.incumbent_objective == pytest.approx(
            best if sense == pyo.minimize else -best
        )
        assert value([v.value for v in model.x.values()], 1) == pytest.approx(best)


def test_inactive_parts_stay_inactive() -> None:
    model = knapsack()
    model.sets = pyo.SOSConstraint([0, 1], var=model.x, sos=1, index={0: [None], 1: [None]})
    model.sets[1].deactivate()
    SolverFactory("remat_bb").solve(model)
    assert model.sets[0].active and not model.sets[1].active
    assert model.goal.active


def test_random_models_against_enumeration() -> None:
    draw = random.Random(29)
    for _ in range(25):
        n = draw.randint(1, 4)
        model = pyo.ConcreteModel()
        model.x = pyo.Var(range(n), domain=pyo.Integers, bounds=(-1, 2))
        costs = [draw.randint(-9, 9) for _ in range(n)]
        model.rows = pyo.ConstraintList()
        table = []
        for _ in range(draw.randint(1, 3)):
            row = [draw.choice((-3, -2, -1, 1, 2, 3)) for _ in range(n)]
            low = draw.randint(-4, 2)
            high = low + draw.randint(0, 5)
            table.append((row, low, high))
            body = sum(a * model.x[j] for j, a in enumerate(row))
            model.rows.add(pyo.inequality(low, body, high))
        sense = draw.choice((pyo.minimize, pyo.maximize))
        model.goal = pyo.Objective(
            expr=sum(c * model.x[j] for j, c in enumerate(costs)) + 0 * model.x[0], sense=sense
        )
        fit = [
            point
            for point in itertools.product(range(-1, 3), repeat=n)
            if all(low <= sum(a * b for a, b in zip(r, point)) <= high for r, low, high in table)
        ]
        results = quiet(model)
        if not fit:
            assert results.termination_condition == TerminationCondition.provenInfeasible
            continue
        best = (min if sense == pyo.minimize else max)(
            sum(c * v for c, v in zip(costs, point)) for point in fit
        )
        assert results.incumbent_objective == best
        results.solution_loader.load_vars()
        assert tuple(model.x[j].value for j in range(n)) in fit
