"""Twins of SciPy's functions, against SciPy's own and against duality."""

import inspect
import random
import warnings

import pytest

optimize = pytest.importorskip("scipy.optimize")
np = pytest.importorskip("numpy")

import remat_bb.scipy as plug  # noqa: E402
from remat_bb.scipy import linprog, milp  # noqa: E402

THEIRS = {"milp": optimize.milp, "linprog": optimize.linprog}


def drawn(draw: random.Random) -> dict:
    """A random program: arguments of ``linprog`` without integrality."""
    n, m, k = draw.randint(1, 6), draw.randint(0, 4), draw.randint(0, 2)
    table = np.array([[draw.randint(-3, 3) for _ in range(n)] for _ in range(m)], float)
    equal = np.array([[draw.randint(-2, 2) for _ in range(n)] for _ in range(k)], float)
    point = np.array([draw.randint(0, 2) for _ in range(n)], float)
    bounds = [
        (draw.choice((None, -2, -1, 0, 0)), draw.choice((None, 1, 2, 4, 4))) for _ in range(n)
    ]
    return {
        "c": np.array([draw.randint(-5, 5) for _ in range(n)], float),
        "A_ub": table if m else None,
        "b_ub": np.array([draw.randint(-2, 8) for _ in range(m)], float) if m else None,
        "A_eq": equal if k else None,
        "b_eq": equal @ point if k else None,
        "bounds": bounds,
    }


def test_signatures_are_scipys() -> None:
    for name, twin in (("milp", milp), ("linprog", linprog)):
        own, theirs = inspect.signature(twin), inspect.signature(THEIRS[name])
        assert [(p.name, p.kind, p.default) for p in own.parameters.values()] == [
            (p.name, p.kind, p.default) for p in theirs.parameters.values()
        ]


@pytest.mark.parametrize("integers", [False, True])
def test_random_programs_against_scipy(integers: bool) -> None:
    draw = random.Random(17)
    seen = set()
    for _ in range(150):
        given = drawn(draw)
        n = len(given["c"])
        kinds = [draw.randint(0, 1) for _ in range(n)] if integers else None
        own = linprog(**given, integrality=kinds)
        theirs = THEIRS["linprog"](**given, integrality=kinds)
        seen.add(own.status)
        if own.status == 3:
            # SciPy's solver calls some of these infeasible; a point says that they are not.
            assert theirs.status in (2, 3, 4)
            assert linprog(**{**given, "c": np.zeros(n)}, integrality=kinds).status == 0
            continue
        assert own.status == theirs.status and own.success == theirs.success
        assert set(theirs) <= set(own)
        if own.status:
            assert own.x is None and own.fun is None and own.ineqlin.marginals is None
            continue
        assert own.fun == pytest.approx(theirs.fun, rel=1e-7, abs=1e-7)
        for part in ("ineqlin", "eqlin", "lower", "upper"):
            assert own[part].marginals.shape == theirs[part].marginals.shape
            assert own[part].residual.shape == theirs[part].residual.shape
        if integers:
            assert all(v == int(v) for v, kind in zip(own.x, kinds) if kind)
    assert seen == {0, 2, 3}


def test_marginals_are_derivatives() -> None:
    """Strong duality with the signs of SciPy: what they say of sides and bounds adds up."""
    draw = random.Random(23)
    checked = 0
    for _ in range(120):
        given = drawn(draw)
        result = linprog(**given)
        if result.status:
            continue
        total = 0.0
        for sides, part in (("b_ub", "ineqlin"), ("b_eq", "eqlin")):
            if given[sides] is not None:
                total += given[sides] @ result[part].marginals
        for (low, high), at, beyond in zip(
            given["bounds"], result.lower.marginals, result.upper.marginals
        ):
            assert at >= 0 >= beyond
            total += (at * low if at else 0.0) + (beyond * high if beyond else 0.0)
        assert total == pytest.approx(result.fun, abs=1e-7)
        assert result.ineqlin.marginals.max(initial=0.0) <= 0.0
        checked += 1
    assert checked > 40


def test_milp_results() -> None:
    rows = optimize.LinearConstraint([[2, 3], [1, -1]], [-np.inf, -1], [7, 1])
    result = milp([-1, -2], integrality=[1, 1], bounds=optimize.Bounds(0, 9), constraints=rows)
    assert (result.status, result.success, result.fun) == (0, True, -4.0)
    assert result.x.tolist() == [2.0, 1.0]
    assert result.mip_dual_bound == pytest.approx(-4.0, rel=1e-4) and result.mip_gap <= 1e-4
    assert milp([1.0, 1.0]).fun == 0.0
    assert milp([1.0], bounds=(3, 2)).status == 2
    assert milp([-1.0], integrality=1).status == 3
    with pytest.raises(ValueError, match="integrality"):
        milp([1.0], integrality=[7])


@pytest.mark.parametrize("kind", [2, 3])
def test_semicontinuous_columns(kind: int) -> None:
    draw = random.Random(kind)
    for _ in range(25):
        n = draw.randint(1, 4)
        cost = [draw.randint(-5, 5) for _ in range(n)]
        bounds = optimize.Bounds([draw.choice((1, 1.5, 2)) for _ in cost], [3.25] * n)
        row = [draw.randint(1, 3) for _ in cost]
        rows = optimize.LinearConstraint([row], 0.5, draw.randint(2, 9))
        own = milp(cost, integrality=[kind] * n, bounds=bounds, constraints=rows)
        theirs = THEIRS["milp"](cost, integrality=[kind] * n, bounds=bounds, constraints=rows)
        assert own.status == theirs.status
        if own.status == 0:
            assert own.fun == pytest.approx(theirs.fun, rel=1e-4, abs=1e-6)
            assert all(v == 0 or v >= low for v, low in zip(own.x, bounds.lb))


def test_limits_leave_a_point() -> None:
    draw = random.Random(1)
    m, n = 6, 50
    table = np.array([[draw.randrange(100) for _ in range(n)] for _ in range(m)], float)
    whole = np.hstack((table, np.eye(m), -np.eye(m)))
    cost = np.r_[np.zeros(n), np.ones(2 * m)]
    kinds = np.r_[np.ones(n), np.zeros(2 * m)]
    high = np.r_[np.ones(n), np.full(2 * m, np.inf)]
    sides = table.sum(axis=1) // 2
    rows = optimize.LinearConstraint(whole, sides, sides)
    for options in ({"time_limit": 1.0}, {"node_limit": 5}):
        result = milp(cost, integrality=kinds, bounds=(0, high), constraints=rows, options=options)
        assert (result.status, result.success) == (1, False)
        assert set(result.x[:n]) <= {0.0, 1.0} and result.mip_dual_bound <= result.fun
        assert np.allclose(whole @ result.x, sides)


def test_what_linprog_refuses_and_warns_of() -> None:
    with pytest.raises(NotImplementedError):
        linprog([1.0], callback=print)
    with pytest.raises(ValueError, match="Unknown solver"):
        linprog([1.0], method="spam")
    with pytest.warns(DeprecationWarning, match="simplex"):
        assert linprog([1.0], method="simplex").fun == 0.0
    for options in ({"spam": 1}, {"time_limit": -1}, {"presolve": "on"}):
        with pytest.warns(optimize.OptimizeWarning):
            assert linprog([1.0], options=options).fun == 0.0
    with pytest.warns(optimize.OptimizeWarning, match="x0"):
        linprog([1.0], x0=[1.0])


def test_install_replaces_scipys_functions() -> None:
    plug.install()
    plug.install()
    try:
        assert optimize.milp is milp and optimize.linprog is linprog
        from scipy.optimize import milp as taken

        assert taken is milp
    finally:
        plug.uninstall()
    assert optimize.milp is THEIRS["milp"] and optimize.linprog is THEIRS["linprog"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert optimize.linprog([1.0]).message.count("HiGHS")
