"""Problems of CVXPY: values, duals, statuses, options, starts, refusals, install."""

import itertools
import math
import random
import warnings

import pytest

cp = pytest.importorskip("cvxpy")
np = pytest.importorskip("numpy")

import remat_bb  # noqa: E402
import remat_bb.cvxpy as plug  # noqa: E402
from remat_bb.cvxpy import REMAT  # noqa: E402


def test_an_integer_problem() -> None:
    x = cp.Variable(2, integer=True)
    z = cp.Variable(boolean=True)
    rows = [x >= 0, 2 * x[0] + 3 * x[1] + 4 * z <= 7]
    problem = cp.Problem(cp.Maximize(x[0] + 2 * x[1] + 3 * z), rows)
    assert problem.solve(solver=REMAT()) == 5.0
    assert problem.status == cp.OPTIMAL
    assert x.value.tolist() == [0.0, 1.0] and z.value == 1.0
    assert all(row.dual_value is None for row in rows)


def test_duals_are_those_of_cvxpys_own_solver() -> None:
    draw = np.random.default_rng(2)
    for _ in range(15):
        n = int(draw.integers(2, 5))
        table, sides = draw.integers(-3, 6, (4, n)), draw.integers(1, 9, 4)
        x = cp.Variable(n)
        rows = [table @ x <= sides, cp.sum(x) == float(draw.integers(0, 2)), x >= -3, x <= 4]
        problem = cp.Problem(cp.Minimize(draw.integers(-5, 6, n) @ x), rows)
        problem.solve(solver=cp.CLARABEL)
        status, value = problem.status, problem.value
        problem.solve(solver=REMAT())
        assert problem.status == status
        if status != cp.OPTIMAL:
            continue
        assert problem.value == pytest.approx(value, abs=1e-5)
        # The Lagrangian at the duals has the same value: they are optimal with their signs.
        y = [np.atleast_1d(row.dual_value) for row in rows]
        assert min(v.min() for k, v in enumerate(y) if k != 1) >= -1e-9
        gap = [row.args[0].value - row.args[1].value for row in rows]
        assert sum(float(np.sum(a * b)) for a, b in zip(y, gap)) == pytest.approx(0, abs=1e-6)


def test_certificates_and_endings() -> None:
    x = cp.Variable(2)
    rows = [x >= 0, x[0] + x[1] >= 3, x[0] + 2 * x[1] <= 1]
    problem = cp.Problem(cp.Minimize(x[0]), rows)
    assert problem.solve(solver=REMAT()) == math.inf and problem.status == cp.INFEASIBLE
    first, second, third = (row.dual_value for row in rows)
    # The multiples of the rows add up to 0 >= something above 0.
    assert np.allclose(first + second - third * np.array([1, 2]), 0)
    assert 3 * second - 1 * third > 0
    problem = cp.Problem(cp.Maximize(cp.sum(x)), [x >= 0])
    assert problem.solve(solver=REMAT()) == math.inf and problem.status == cp.UNBOUNDED
    i = cp.Variable(integer=True)
    problem = cp.Problem(cp.Minimize(i), [2 * i == 1])
    problem.solve(solver=REMAT())
    assert problem.status == cp.INFEASIBLE


def market_split():
    draw = random.Random(1)
    table = np.array([[draw.randrange(100) for _ in range(50)] for _ in range(6)], float)
    x = cp.Variable(50, boolean=True)
    return cp.Problem(cp.Minimize(cp.norm1(table @ x - table.sum(axis=1) // 2))), x


def test_limits() -> None:
    problem, x = market_split()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = problem.solve(solver=REMAT(), time_limit=1, threads=1)
    assert problem.status == cp.settings.USER_LIMIT and set(x.value) <= {0.0, 1.0}
    assert problem.solver_stats.extra_stats.bound < value
    assert problem.solver_stats.solver_name == "REMAT"
    with pytest.warns(UserWarning, match="option 'spam' is not known"):
        cp.Problem(cp.Minimize(x[0])).solve(solver=REMAT(), spam=1)


def test_a_solve_starts_from_the_solve_before() -> None:
    problem, x = market_split()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first = problem.solve(solver=REMAT(), node_limit=40)
        again = problem.solve(solver=REMAT(), node_limit=1)
        assert again <= first + 1e-6
        cold = problem.solve(solver=REMAT(), node_limit=1, warm_start=False)
    assert cold >= again - 1e-6


def test_cones_are_refused() -> None:
    x = cp.Variable(2)
    for goal in (cp.norm(x), cp.sum(cp.exp(x))):
        with pytest.raises(cp.error.SolverError, match="REMAT cannot solve this problem"):
            cp.Problem(cp.Minimize(goal), [x >= 1]).solve(solver=REMAT())


def test_parameters_and_bounds() -> None:
    x = cp.Variable(3, bounds=[0, 2.5], integer=True)
    most = cp.Parameter()
    problem = cp.Problem(cp.Maximize(cp.sum(x)), [x[0] + x[1] + 2 * x[2] <= most])
    for value, best in ((1.5, 1.0), (4.0, 4.0), (30.0, 6.0)):
        most.value = value
        assert problem.solve(solver=REMAT()) == best


def test_install_answers_for_other_solvers() -> None:
    before = cp.installed_solvers()
    x = cp.Variable(2, integer=True)
    problem = cp.Problem(cp.Maximize(x[0] + 2 * x[1]), [x >= 0, 2 * x[0] + 3 * x[1] <= 7])
    plug.install()
    plug.install()
    try:
        assert {"GUROBI", "CBC"} <= set(cp.installed_solvers())
        assert problem.solve(solver=cp.GUROBI, Threads=12, TimeLimit=9, Method=1) == 4.0
        assert problem.solver_stats.solver_name == "GUROBI"
        assert problem.solve(solver=cp.CBC, numberThreads=1, maximumSeconds=9) == 4.0
        assert x.value.tolist() in ([2.0, 1.0], [0.0, 2.0])
        with pytest.raises(cp.error.SolverError, match="GUROBI cannot solve"):
            cp.Problem(cp.Minimize(cp.norm(x)), [x >= 1]).solve(solver=cp.GUROBI)
        options = {
            "GLPK_MI": {"glpk": {"tm_lim": 9000, "mip_gap": 0.0}},
            "SCIP": {"scip_params": {"limits/time": 9, "limits/gap": 0.0}},
            "HIGHS": {"mip_rel_gap": 0.0, "time_limit": 9},
            "GLPK": {},
        }
        for name, chosen in options.items():
            assert problem.solve(solver=name, **chosen) == 4.0
            assert isinstance(problem.solver_stats.extra_stats, remat_bb.Answer), name
            assert problem.solver_stats.solver_name == name
        # Without a solver a mixed-integer linear problem is HiGHS's, so ours.
        assert problem.solve() == 4.0
        assert isinstance(problem.solver_stats.extra_stats, remat_bb.Answer)
        y = cp.Variable(2)
        linear = cp.Problem(cp.Minimize(y[0] + y[1]), [y >= 1, y[0] + 2 * y[1] >= 5])
        absent = [name for name in plug.INTERIOR if name not in before]
        for name in absent:
            assert linear.solve(solver=name, abstol=1e-9, max_iters=3) == 3.0
            assert isinstance(linear.solver_stats.extra_stats, remat_bb.Answer), name
        if "HIGHS" in before:  # it solves quadratic problems itself
            square = cp.Problem(cp.Minimize(cp.sum_squares(y - 3)), [y <= 1])
            assert abs(square.solve(solver=cp.HIGHS) - 8.0) < 1e-6
    finally:
        plug.uninstall()
    assert cp.installed_solvers() == before


def test_quadratic_objectives() -> None:
    draw = np.random.default_rng(4)
    for _ in range(10):
        n = int(draw.integers(2, 6))
        factor, sides = draw.normal(size=(n, n)), draw.uniform(1, 4, 3)
        table, goal = draw.normal(size=(3, n)), draw.normal(size=n) * 3
        x = cp.Variable(n)
        rows = [table @ x <= sides, x >= -2, cp.sum(x) == 0.5]
        problem = cp.Problem(cp.Minimize(cp.sum_squares(factor @ x - goal)), rows)
        problem.solve(solver=cp.CLARABEL)
        value, duals = problem.value, [np.atleast_1d(row.dual_value) for row in rows]
        problem.solve(solver=REMAT())
        assert problem.status == cp.OPTIMAL
        assert problem.value == pytest.approx(value, abs=1e-5, rel=1e-6)
        for row, dual in zip(rows, duals):
            assert np.atleast_1d(row.dual_value) == pytest.approx(dual, abs=1e-3)


def test_quadratic_objectives_with_integers() -> None:
    x = cp.Variable(3, integer=True)
    y = cp.Variable()
    target = np.array([0.4, 1.7, -2.2])
    cost = cp.sum_squares(x + y - target) + y**2
    problem = cp.Problem(cp.Minimize(cost), [x >= -4, x <= 4, y >= 0.25])
    problem.solve(solver=REMAT())
    assert problem.status == cp.OPTIMAL
    best = math.inf
    for point in itertools.product(range(-4, 5), repeat=3):
        apart = target - np.array(point)
        at = max(0.25, float(apart.sum()) / 4)
        best = min(best, float(((at - apart) ** 2).sum()) + at**2)
    assert problem.value == pytest.approx(best, abs=1e-6)
