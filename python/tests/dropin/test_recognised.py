"""Checkmate's program as published, brought in by each front end, is recognised in all."""

import pytest

from remat_bb import Program
from remat_bb._native import run_command

np = pytest.importorskip("numpy")
INF = float("inf")


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Program:
    path = tmp_path_factory.mktemp("models") / "published.mps"
    command = ["remat-bb", "export", "zoo:chain?n=9", str(path), "--budget", "70%"]
    assert run_command([*command, "--formulation", "checkmate-original", "--unit", "4KiB"]) == 0
    return Program.read(path)


@pytest.fixture(scope="module")
def optimum(published: Program) -> float:
    answer = published.solve()
    assert answer.recognised == ("checkmate", 19) and answer.status == "optimal"
    return answer.objective


def test_in_pulp(published: Program, optimum: float) -> None:
    pulp = pytest.importorskip("pulp")
    from remat_bb.pulp import REMAT

    problem, x = pulp.LpProblem("published"), {}
    for col in published.cols:
        low, high = (None if abs(v) == INF else v for v in published.bounds(col))
        kind = "Continuous" if published.kind(col) == "C" else "Integer"
        x[col] = problem.add_variable(f"v{col:06}", low, high, cat=kind)
    problem += pulp.lpSum(published.cost(col) * x[col] for col in published.cols)
    for row in published.rows:
        low, high = published.sides(row)
        body = pulp.lpSum(value * x[col] for col, value in published.entries(row))
        problem += body == low if low == high else body >= low if low > -INF else body <= high
    solver = REMAT(msg=False)
    problem.solve(solver)
    assert solver.report["recognised"] == ("checkmate", 19)
    assert solver.report["objective"] == optimum


def arrays(published: Program):
    """Bounds, costs, integer columns, sides and matrix of a program."""
    sp = pytest.importorskip("scipy.sparse")
    low, high = map(np.array, zip(*(published.bounds(col) for col in published.cols)))
    least, most = map(np.array, zip(*(published.sides(row) for row in published.rows)))
    rows = [published.entries(row) for row in published.rows]
    at = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    cols = np.array([col for row in rows for col, _ in row])
    values = np.array([value for row in rows for _, value in row])
    matrix = sp.csr_array((values, (at, cols)), shape=(len(rows), len(low)))
    costs = np.array([published.cost(col) for col in published.cols])
    integer = np.array([published.kind(col) != "C" for col in published.cols])
    return low, high, costs, integer, least, most, matrix


def test_in_scipy(published: Program, optimum: float) -> None:
    optimize = pytest.importorskip("scipy.optimize")
    from remat_bb.scipy import milp

    low, high, costs, integer, least, most, matrix = arrays(published)
    result = milp(
        costs,
        integrality=integer,
        bounds=optimize.Bounds(low, high),
        constraints=optimize.LinearConstraint(matrix, least, most),
    )
    assert (result.status, result.fun, result.mip_node_count) == (0, optimum, 0)


def test_in_cvxpy(published: Program, optimum: float) -> None:
    cp = pytest.importorskip("cvxpy")
    from remat_bb.cvxpy import REMAT

    low, high, costs, integer, least, most, matrix = arrays(published)
    z, y = cp.Variable(int(integer.sum()), boolean=True), cp.Variable(int((~integer).sum()))
    matrix = matrix.tocsc()
    body = matrix[:, integer] @ z + matrix[:, ~integer] @ y
    equal = least == most
    rows = [body[np.flatnonzero(equal)] == least[equal]]
    above, below = (least > -INF) & ~equal, (most < INF) & ~equal
    rows += [body[np.flatnonzero(above)] >= least[above]] if above.any() else []
    rows += [body[np.flatnonzero(below)] <= most[below]] if below.any() else []
    fixed = np.flatnonzero(low[integer] == high[integer])
    rows += [z[fixed] == low[integer][fixed]] if len(fixed) else []
    bounded = np.flatnonzero(high[~integer] < INF)
    rows += [y[bounded] <= high[~integer][bounded]] if len(bounded) else []
    rows += [y >= low[~integer]]
    problem = cp.Problem(cp.Minimize(costs[integer] @ z + costs[~integer] @ y), rows)
    problem.solve(solver=REMAT())
    assert problem.solver_stats.extra_stats.recognised == ("checkmate", 19)
    assert problem.value == pytest.approx(optimum, rel=1e-12)
