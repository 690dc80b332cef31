"""Problems of PuLP, 3 and 4: values, statuses, duals, edits, starts, limits, ordered sets."""

import itertools
import random
import signal
import threading
import warnings

import pytest

pulp = pytest.importorskip("pulp")

import remat_bb.pulp as plug  # noqa: E402
from remat_bb.pulp import REMAT  # noqa: E402

V4 = hasattr(pulp.LpProblem, "add_sos_group")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def solved(problem, solver=None, **options) -> str:
    """Solves, and gives the ending in words that both versions of PuLP share."""
    result = problem.solve(solver or REMAT(msg=False, **options))
    if V4:
        name = result.status.name
        return {"TimeLimit": "limit", "NodeLimit": "limit"}.get(name, name.lower())
    names = {1: "optimal", -1: "infeasible", -2: "unbounded", 0: "limit", -3: "undefined"}
    assert result == problem.status
    if problem.sol_status == pulp.LpSolutionIntegerFeasible:
        return "limit"
    return names[problem.status]


def rows(problem) -> list:
    return problem.constraints() if V4 else list(problem._constraints.values())


def knapsack(sense=None) -> tuple:
    problem = pulp.LpProblem("knapsack", pulp.LpMaximize if sense is None else sense)
    x = problem.add_variable("x", 0, 9, cat="Integer")
    y = problem.add_variable("y", 0)
    problem += 3 * x + 2 * y + 7
    problem += 2 * x + y <= 7.5, "first"
    problem += x + 3 * y <= 6, "second"
    return problem, x, y


def market_split(problem_rows: int = 6, columns: int = 50):
    """A problem that takes hours (Cornuejols and Dawande, 1998), with solutions at hand."""
    draw = random.Random(1)
    problem = pulp.LpProblem("market")
    x = [problem.add_variable(f"x{j}", cat="Binary") for j in range(columns)]
    over = [problem.add_variable(f"o{i}", 0) for i in range(problem_rows)]
    under = [problem.add_variable(f"u{i}", 0) for i in range(problem_rows)]
    problem += pulp.lpSum(over + under)
    for i in range(problem_rows):
        row = [draw.randrange(100) for _ in range(columns)]
        problem += pulp.lpDot(row, x) + over[i] - under[i] == sum(row) // 2
    return problem, x


def test_values_are_whole_numbers_and_the_report_is_there() -> None:
    problem, x, y = knapsack()
    solver = REMAT(msg=False)
    assert solved(problem, solver) == "optimal"
    assert (x.varValue, y.varValue) == (3.0, 1.0) and type(x.varValue) is float
    assert [3.0].index(x.varValue) == 0 and pulp.value(problem.objective) == 18.0
    assert solver.report["status"] == "optimal" and solver.report["bound"] >= 18.0
    assert rows(problem)[0].slack == 0.5


def test_relaxations_have_duals_of_cbcs_signs() -> None:
    for sense, sign in ((pulp.LpMaximize, 1.0), (pulp.LpMinimize, -1.0)):
        problem = pulp.LpProblem("duals", sense)
        x = problem.add_variable("x", 0, 4, cat="Integer")
        y = problem.add_variable("y", 0)
        problem += sign * (3 * x + 2 * y)
        problem += x + y <= 10.5, "side"
        problem += y >= 1, "least"
        assert solved(problem, mip=False) == "optimal"
        assert (x.varValue, y.varValue) == (4.0, 6.5)
        assert (x.dj, y.dj) == (sign * 1.0, 0.0)
        side, least = rows(problem)
        assert (side.pi, least.pi) == (sign * 2.0, 0.0)
        assert (side.slack, least.slack) == (0.0, 1 - 6.5)


def test_duals_with_integers_are_those_with_the_integers_fixed() -> None:
    problem = pulp.LpProblem("cover", pulp.LpMinimize)
    y = problem.add_variable("y", 0)
    z = problem.add_variable("z", 0, 1, cat="Integer")
    problem += 3 * y + 10 * z
    problem += y + 4 * z >= 2, "cover"
    problem += y <= 9, "most"
    assert solved(problem) == "optimal"
    assert (y.varValue, z.varValue) == (2.0, 0.0)
    assert [row.pi for row in rows(problem)] == [3.0, 0.0]
    assert (y.dj, z.dj) == (0.0, 10.0 - 4 * 3.0)


@pytest.mark.skipif(V4, reason="PuLP 4 keeps old values, and says that there is no solution")
def test_an_infeasible_problem_has_numbers_that_name_its_rows() -> None:
    problem = pulp.LpProblem("crowded", pulp.LpMaximize)
    x = [problem.add_variable(f"x{j}", cat="Binary") for j in range(3)]
    problem += pulp.lpSum(x)
    problem += pulp.lpSum(x) >= 2, "two"
    problem += x[0] + 2 * x[1] + 2 * x[2] <= 1, "room"
    problem += x[0] <= 1, "fine"
    assert solved(problem) == "infeasible"
    assert all(0 <= v.value() <= 1 for v in x)
    violated = [row.name for row in rows(problem) if not row.valid()]
    assert violated and "fine" not in violated
    problem.add_variable("crossed", 2, 1)
    assert solved(problem) == "infeasible"


def test_rows_are_found_in_problems_of_every_version() -> None:
    class Old:
        constraints = {"a": 1, "b": 2}

    class Newer(Old):
        constraints = None
        _constraints = {"c": 3}

    if not V4:
        assert (plug.rows_of(Old()), plug.rows_of(Newer())) == ([1, 2], [3])


def test_endings() -> None:
    problem, x, _ = knapsack()
    problem += x >= 4
    assert solved(problem) == "infeasible"
    if not V4:  # PuLP 4 keeps old values, and says that there is no solution
        assert (problem.status, problem.sol_status) == (-1, -1)
        assert type(x.varValue) is float and not problem.valid()
    problem = pulp.LpProblem("integers")
    x = problem.add_variable("x", 0, 1, cat="Integer")
    problem += x
    problem += 2 * x == 1
    assert solved(problem) == "infeasible"
    problem = pulp.LpProblem("unbounded", pulp.LpMaximize)
    x = problem.add_variable("x", 0, cat="Integer")
    problem += x
    assert solved(problem) == "unbounded"
    assert solved(pulp.LpProblem("empty")) == "optimal"


def test_edits_between_solves() -> None:
    problem, x, y = knapsack()
    assert solved(problem) == "optimal" and x.varValue == 3.0
    problem += x <= 2, "third"
    assert solved(problem) == "optimal" and (x.varValue, y.varValue) == (2.0, 4 / 3)
    if V4:
        problem.get_constraint_by_name("third").changeRHS(1)
    else:
        problem.constraints["third"].changeRHS(1)
    problem.resolve()
    assert x.varValue == 1.0
    x.upBound = 0
    problem.resolve()
    assert x.varValue == 0.0
    if not V4:  # constraints are a dictionary
        del problem.constraints["third"]
        problem.constraints.pop("second")
        x.upBound = 9
        assert solved(problem) == "optimal" and (x.varValue, y.varValue) == (0.0, 7.5)
        assert list(problem.constraints) == ["first"]


def test_random_problems_against_enumeration() -> None:
    draw = random.Random(11)
    for _ in range(40):
        n = draw.randint(1, 5)
        sense = draw.choice((pulp.LpMinimize, pulp.LpMaximize))
        problem = pulp.LpProblem("random", sense)
        x = [problem.add_variable(f"x{j}", -1, 2, cat="Integer") for j in range(n)]
        costs = [draw.randint(-9, 9) for _ in x]
        problem += pulp.lpDot(costs, x) + 3
        table = []
        for _ in range(draw.randint(1, 4)):
            row, side = [draw.randint(-4, 4) for _ in x], draw.randint(-3, 6)
            kind = draw.choice(("<=", ">=", "=="))
            table.append((row, kind, side))
            body = pulp.lpDot(row, x) + 0 * x[0]
            problem += {"<=": body <= side, ">=": body >= side, "==": body == side}[kind]
        fit = []
        for point in itertools.product(range(-1, 3), repeat=n):
            sums = [(sum(a * b for a, b in zip(row, point)), k, s) for row, k, s in table]
            if all((v <= s, v >= s, v == s)[("<=", ">=", "==").index(k)] for v, k, s in sums):
                fit.append(point)
        status = solved(problem)
        if not fit:
            assert status == "infeasible"
            continue
        best = (max if sense == pulp.LpMaximize else min)(
            sum(a * b for a, b in zip(costs, point)) + 3 for point in fit
        )
        assert status == "optimal" and pulp.value(problem.objective) == best
        # PuLP 3 gives no value to variables that are in no row and have no cost.
        assert tuple(v.varValue or 0 for v in x) in fit


def add_set(problem, kind: int, members: dict) -> None:
    if V4:
        from pulp import _rustcore

        names = [name for name in dir(_rustcore.SosKind) if name.lower().endswith(str(kind))]
        problem.add_sos_group(getattr(_rustcore.SosKind, names[0]), f"set{kind}", members)
    else:
        {1: problem.sos1, 2: problem.sos2}[kind][f"set{kind}"] = members


@pytest.mark.parametrize("kind", [1, 2])
def test_ordered_sets_against_enumeration(kind: int) -> None:
    draw = random.Random(3)
    for _ in range(12):
        n = draw.randint(2, 5)
        costs = [draw.randint(-2, 9) for _ in range(n)]
        sides = [draw.randint(1, 4) for _ in range(n)]
        least = [draw.choice((0, -2)) for _ in range(n)]
        problem = pulp.LpProblem("sets", pulp.LpMaximize)
        x = [problem.add_variable(f"x{j}", least[j], sides[j]) for j in range(n)]
        problem += pulp.lpDot(costs, x)
        problem += pulp.lpSum(x) <= 100
        add_set(problem, kind, {v: j for j, v in enumerate(x)})
        gains = [max(c * s, c * low) for c, s, low in zip(costs, sides, least)]
        runs = [gains[j : j + kind] for j in range(n - kind + 1)]
        assert solved(problem) == "optimal"
        assert pulp.value(problem.objective) == pytest.approx(max(map(sum, runs)))
        assert sum(v.varValue != 0 for v in x) <= kind


def test_bounds_of_ordered_sets_come_from_rows_or_are_asked_for() -> None:
    problem = pulp.LpProblem("sets", pulp.LpMaximize)
    x = [problem.add_variable(f"x{j}", 0) for j in range(3)]
    problem += x[0] + 2 * x[1] + x[2]
    problem += x[0] + x[1] + 2 * x[2] <= 8
    add_set(problem, 1, {v: j for j, v in enumerate(x)})
    assert solved(problem) == "optimal" and pulp.value(problem.objective) == pytest.approx(16)
    free = problem.add_variable("free", 0)
    problem += 5 * x[0] + free
    add_set(problem, 2, {x[0]: 1, x[1]: 2, free: 3})
    with pytest.raises(pulp.PulpSolverError, match="free .* no upper bound"):
        problem.solve(REMAT(msg=False))


@pytest.mark.skipif(V4, reason="PuLP 4 knows all variables of a problem")
def test_members_of_a_set_alone_are_variables() -> None:
    problem = pulp.LpProblem("sets", pulp.LpMaximize)
    x, y = pulp.LpVariable("x", 0, 1), pulp.LpVariable("y", 1, 2)
    problem += x
    problem.sos1["set"] = {x: 1, y: 2}
    assert solved(problem) == "optimal" and (x.varValue, y.varValue) == (0.0, 1.0)


def test_starts_are_used_and_completed() -> None:
    problem, x = market_split()
    draw = random.Random(7)
    values = [draw.randrange(2) for _ in x]
    for variable, value in zip(x, values):
        variable.setInitialValue(value)
    solver = REMAT(msg=False, warmStart=True, maxNodes=1)
    solved(problem, solver)
    table = [[row.get(v, 0) for v in x] for row in rows(problem)]
    sides = [-row.constant for row in rows(problem)]
    gap = sum(abs(sum(a * b for a, b in zip(r, values)) - s) for r, s in zip(table, sides))
    assert solver.report["objective"] <= gap + 1e-6


def test_limits_keep_the_best_solution(capsys: pytest.CaptureFixture[str]) -> None:
    problem, x = market_split()
    solver = REMAT(timeLimit=1, threads=1)
    assert solved(problem, solver) == "limit"
    assert solver.report["objective"] > solver.report["bound"]
    assert all(v.varValue in (0.0, 1.0) for v in x)
    assert "time limit: objective" in capsys.readouterr().out
    assert solved(problem, maxNodes=1) == "limit"


def test_control_c_keeps_the_best_solution() -> None:
    problem, x = market_split()
    timer = threading.Timer(1.0, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    solver = REMAT(msg=False, timeLimit=60)
    solved(problem, solver)
    assert solver.report["status"] == "interrupted"
    assert all(v.varValue in (0.0, 1.0) for v in x)


def test_options_in_the_words_of_other_solvers(tmp_path) -> None:
    problem, x = market_split()
    solver = REMAT(msg=False, options=["sec 1", "threads=1", ("MIPGap", 0.0)])
    assert solved(problem, solver) == "limit"
    with pytest.warns(UserWarning, match="option 'spam' is not known"):
        solved(knapsack()[0], REMAT(msg=False, spam=1))
    with pytest.raises(pulp.PulpSolverError, match="callbacks"):
        solver.actualSolve(problem, callback=print)
    log = tmp_path / "log"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solved(knapsack()[0], REMAT(logPath=str(log)))
    assert "optimal: objective 18" in log.read_text()


def test_it_is_found_by_name_and_copied() -> None:
    assert "REMAT" in pulp.listSolvers(onlyAvailable=True)
    solver = pulp.getSolver("REMAT", timeLimit=3, msg=False)
    solver.tmpDir = "here"
    copy = solver.copy()
    assert (copy.timeLimit, copy.tmpDir, copy.msg) == (3, "here", False)
    assert solver.toDict()["solver"] == "REMAT"


def test_install_patches_names_that_were_imported() -> None:
    from pulp import COIN_CMD, GUROBI, GUROBI_CMD

    before = {cls: vars(cls).get("actualSolve") for cls in (COIN_CMD, GUROBI, GUROBI_CMD)}
    had = hasattr(pulp, "PULP_CBC_CMD")
    default = pulp.LpSolverDefault
    plug.install()
    plug.install()
    try:
        for name in plug.PATCHED:
            solver = getattr(pulp, name)(msg=False, timeLimit=5)
            solver.tmpDir = "/somewhere"
            problem, x, _ = knapsack()
            assert solver.available() and solved(problem, solver) == "optimal"
            assert x.varValue == 3.0 and solver.report["objective"] == 18.0
        assert "PULP_CBC_CMD" in pulp.listSolvers(onlyAvailable=True)
        problem, x, _ = knapsack()
        problem.solve()
        assert x.varValue == 3.0
    finally:
        plug.uninstall()
    for cls, method in before.items():
        assert vars(cls).get("actualSolve") is method
    assert hasattr(pulp, "PULP_CBC_CMD") == had and pulp.LpSolverDefault is default
    assert pulp.listSolvers().count("PULP_CBC_CMD") == had
