"""Small models of which other solvers were reported to give wrong answers, restated."""

import itertools

import pytest

from remat_bb import Program

INF = float("inf")


def program(kinds, lower, upper, cost, rows, maximise=False) -> Program:
    built = Program(maximise=maximise)
    built.add_cols(lower, upper, cost, kinds)
    for low, entries, high in rows:
        built.add_rows([low], [high], [0, len(entries)], list(entries), list(entries.values()))
    return built


def brute(columns, cost, rows, best):
    """Optimum over all points of a grid."""
    fit = [
        point
        for point in itertools.product(*columns)
        if all(low <= sum(a * point[j] for j, a in row.items()) <= high for low, row, high in rows)
    ]
    return best((sum(c * v for c, v in zip(cost, point)) for point in fit), default=None)


def test_a_choice_of_staff_is_feasible() -> None:
    """coin-or/pulp#662, coin-or/Cbc#632: said to be infeasible. Columns x0, x1, x2, c0, c1."""
    rows = [
        (1, {0: 1, 4: 1}, 1),
        (1, {0: 1, 3: 1}, INF),
        (-INF, {1: 1, 4: 1}, 1),
        (-INF, {3: 1, 4: 1}, 1),
        (1, {2: 1}, 1),
        (16200, {1: 9000, 2: 7200, 4: 10800}, INF),
    ]
    cost = [0, 0, 0, 1, 1]
    answer = program("BBBBB", [0] * 5, [1] * 5, cost, rows).solve()
    assert brute([range(2)] * 5, cost, rows, min) == 0
    assert (answer.status, answer.objective) == ("optimal", 0.0)
    assert list(answer.x()) == [1.0, 1.0, 1.0, 0.0, 0.0]


def test_a_pattern_keeps_to_its_width() -> None:
    """coin-or/pulp#238: 5 and 3 were given, which need 6001 of 6000."""
    rows = [(-INF, {0: 392, 1: 1347}, 6000)]
    answer = program("II", [1, 1], [15, 4], [392, 1347], rows, maximise=True).solve()
    best = brute([range(1, 16), range(1, 5)], [392, 1347], rows, max)
    assert (answer.status, answer.objective) == ("optimal", best)
    assert 392 * answer.x()[0] + 1347 * answer.x()[1] <= 6000


def test_a_binary_beside_continuous_columns() -> None:
    """coin-or/Cbc.old#21: 1 was given, 0 is the optimum. Columns a, b, c, objective."""
    rows = [(3, {0: 4, 1: 4, 3: 1}, INF), (1, {2: 4, 3: 1}, INF), (1, {0: 1, 1: 1, 2: 1}, 1)]
    answer = program("BCCC", [0] * 4, [1, INF, INF, INF], [0, 0, 0, 1], rows).solve()
    assert answer.status == "optimal" and answer.objective == pytest.approx(0.0, abs=1e-7)


def test_signs_of_wide_bounds() -> None:
    """coin-or/Cbc#737 and #740: said to be infeasible by preprocessing."""
    rows = [(-INF, {0: -0.02, 1: 88.5}, -1139)]
    answer = program("CI", [-200] * 2, [200] * 2, [1, -1], rows).solve()
    assert (answer.status, answer.objective) == ("optimal", pytest.approx(-187.0))
    rows = [
        (-INF, {0: 41, 1: 49}, -508),
        (-INF, {0: 22, 1: -64}, -943),
        (506, {1: 83}, INF),
    ]
    answer = program("CI", [-200] * 2, [200] * 2, [1, 0], rows).solve()
    assert (answer.status, answer.objective) == ("optimal", pytest.approx(-200.0))


def test_a_greatest_common_divisor_without_bounds() -> None:
    """coin-or/Cbc#685: -900 was given for the greatest common divisor of 9 and 27."""
    answer = program("II", [-INF] * 2, [INF] * 2, [9, 27], [(1, {0: 9, 1: 27}, INF)]).solve()
    assert (answer.status, answer.objective) == ("optimal", 9.0)


def test_a_free_direction_behind_a_feasible_point() -> None:
    """HiGHS as SciPy 1.17.1 has it: said to be infeasible, with (-2, -1, 0, 0) feasible."""
    rows = [
        (-INF, {0: 3, 1: 1, 2: -3, 3: 1}, 1),
        (-INF, {0: -2, 1: -2, 2: 3, 3: -3}, 7),
        (-INF, {0: -1, 2: -1, 3: -2}, 3),
    ]
    lower, upper = [-2, -1, 0, 0], [3, 3, INF, INF]
    for kinds in ("CCCC", "ICCC"):
        built = program(kinds, lower, upper, [2, 4, -3, 0], rows)
        answer = built.solve()
        assert answer.status == "unbounded"
        for col in range(4):
            built.set_cost(col, 0.0)
        assert built.solve().status == "optimal"
