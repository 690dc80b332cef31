"""Programs of any kind: edits, answers, files."""

import itertools
import pathlib
import random
import signal
import threading
import time

import pytest

import remat_bb
from remat_bb import Program

np = pytest.importorskip("numpy")
INF = float("inf")


def knapsack() -> Program:
    program = Program("knapsack", maximise=True)
    program.add_cols([0, 0], [9, INF], [3.0, 2.0], "IC", ["x", "y"])
    program.add_rows([-INF, -1e30], [7.5, 6], [0, 2, 4], [0, 1, 0, 1], [2.0, 1.0, 1.0, 3.0])
    return program


def test_an_integer_program_and_its_relaxation() -> None:
    program = knapsack()
    answer = program.solve()
    assert (answer.status, answer.objective) == ("optimal", 11.0)
    assert list(answer.x()) == [3.0, 1.0] and answer.duals is None
    program.set_kind(0, "C")
    answer = program.solve()
    assert answer.objective == pytest.approx(11.7)
    assert answer.duals @ [7.5, 6.0] == pytest.approx(answer.objective)
    assert answer.basis == ("BB", "UU")


def test_arrays_of_any_kind_are_taken() -> None:
    def built(vector, whole) -> Program:
        program = Program()
        program.add_cols(vector([0, 0, 0]), vector([1, 1, 1]), vector([-1, -2, -3]), "BBB")
        program.add_rows(
            vector([-INF]), vector([4]), whole([0, 3]), whole([0, 1, 2]), vector([1, 2, 3])
        )
        return program

    vectors = [list, tuple, lambda v: np.array(v, float), lambda v: np.array(v, np.float32)]
    vectors.append(lambda v: np.array([v, v], float).T[:, 0])
    wholes = [list, lambda v: np.array(v, np.int32), lambda v: np.array(v, np.uint64)]
    for vector, whole in itertools.product(vectors, wholes):
        answer = built(vector, whole).solve()
        assert answer.objective == -4.0 and answer.x() @ [1, 2, 3] == 4.0


def test_handles_stay_through_edits() -> None:
    program = knapsack()
    third = program.add_cols([0], [5], [10.0], "I", ["z"])
    row = program.add_rows([-INF], [3], [0, 2], [third, 0], [2.0, 1.0])
    assert (third, row) == (2, 2)
    program.remove_cols([0])
    program.remove_rows([0])
    assert (program.cols, program.rows) == ([1, 2], [1, 2])
    answer = program.solve()
    assert list(answer.x()[[1, 2]]) == [2.0, 1.0] and np.isnan(answer.x()[0])
    program.set_entry(2, third, 1.0)
    program.set_bounds(third, 0, 2)
    program.set_cost(third, 4.0)
    program.set_sides(1, 0, 3)
    program.offset = 0.5
    assert program.entries(2) == [(2, 1.0)] and program.sides(1) == (0.0, 3.0)
    assert program.solve().objective == 2 * 1 + 4 * 2 + 0.5
    with pytest.raises(remat_bb.InvalidArgument, match="column 0 is not in the program"):
        program.set_cost(0, 1.0)


def test_random_programs_against_enumeration() -> None:
    draw = random.Random(5)
    for _ in range(60):
        n, m = draw.randint(1, 6), draw.randint(1, 4)
        program = Program(maximise=draw.random() < 0.5)
        costs = [draw.randint(-9, 9) for _ in range(n)]
        program.add_cols([0] * n, [2] * n, costs, "I" * n)
        rows = [[draw.randint(-4, 4) for _ in range(n)] for _ in range(m)]
        sides = [draw.randint(-3, 6) for _ in range(m)]
        for row, side in zip(rows, sides):
            program.add_rows([-INF], [side], [0, n], list(range(n)), row)
        points = itertools.product(range(3), repeat=n)
        fit = [p for p in points if all(np.dot(r, p) <= s for r, s in zip(rows, sides))]
        answer = program.solve()
        if not fit:
            assert answer.status == "infeasible" and answer.x() is None
            continue
        best = (max if program.maximise else min)(np.dot(costs, p) for p in fit)
        assert (answer.status, answer.objective) == ("optimal", best)
        assert tuple(answer.x()) in fit
        assert all(value == int(value) for value in answer.x())


def test_proofs_of_linear_programs() -> None:
    program = knapsack()
    program.set_kind(0, "C")
    program.set_sides(0, 50, 60)
    answer = program.solve()
    assert answer.status == "infeasible" and len(answer.farkas) == 2
    program.remove_rows([0, 1])
    program.set_bounds(0, 0, INF)
    answer = program.solve()
    assert answer.status == "unbounded" and answer.ray @ [3.0, 2.0] > 0


def test_starts_points_and_pools() -> None:
    program = knapsack()
    seen = []
    answer = program.solve(
        starts=[[0.0, 2.0]], on_point=lambda value, x: seen.append((value, list(x))), pool_size=5
    )
    assert (4.0, [0.0, 2.0]) in seen and seen[-1][0] == answer.objective
    assert answer.objectives == sorted(answer.objectives, reverse=True)
    for k, value in enumerate(answer.objectives):
        assert answer.x(k) @ [3.0, 2.0] == pytest.approx(value)


def test_an_error_of_a_callback_ends_the_search() -> None:
    def fail(*_: object) -> None:
        raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        knapsack().solve(on_point=fail)


def hard() -> Program:
    """Market split, which takes hours (Cornuejols and Dawande, 1998)."""
    draw = random.Random(1)
    m, n = 6, 50
    program = Program()
    program.add_cols([0] * n, [1] * n, [0] * n, "B" * n)
    program.add_cols([0] * 2 * m, [INF] * 2 * m, [1.0] * 2 * m, "C" * 2 * m)
    for i in range(m):
        row = [draw.randrange(100) for _ in range(n)]
        side = sum(row) // 2
        columns = [*range(n), n + 2 * i, n + 2 * i + 1]
        program.add_rows([side], [side], [0, n + 2], columns, [*row, 1.0, -1.0])
    return program


def test_limits_and_looks() -> None:
    looks = []
    answer = hard().solve(time_limit=1.5, on_progress=looks.append)
    assert answer.status == "time limit" and answer.objective >= answer.bound
    assert looks and looks[-1].nodes > 0
    assert hard().solve(node_limit=10).status == "node limit"


def test_control_c_leaves_the_best_point() -> None:
    program = hard()
    timer = threading.Timer(1.0, lambda: signal.raise_signal(signal.SIGINT))
    started = time.monotonic()
    timer.start()
    answer = program.solve(time_limit=60)
    assert answer.status == "interrupted" and answer.objective is not None
    assert time.monotonic() - started < 50


def test_files_round_trip(tmp_path: pathlib.Path) -> None:
    program = knapsack()
    for name in ("a.lp", "a.mps", "a.lp.gz", "a.mps.gz"):
        program.write(tmp_path / name)
        again = Program.read(tmp_path / name)
        assert again.maximise and again.solve().objective == 11.0
        assert [again.col_name(k) for k in again.cols] == ["x", "y"]
    for name in ("a.mps.bz2", "a.lp.7z"):
        with pytest.raises(remat_bb.FileError, match="are not written as"):
            program.write(tmp_path / name)
        assert not (tmp_path / name).exists()
    (tmp_path / "b.lp").write_text("min\n x\nst\n c: x >= y z\nend\n")
    with pytest.raises(remat_bb.RematError, match="b.lp, line 4, at `y`"):
        Program.read(tmp_path / "b.lp")


def test_mistakes_are_named() -> None:
    program = Program()
    for call, words in [
        (lambda: program.add_cols([0, 0], [1], [1.0, 1.0], "CC"), "upper: 1 entries where 2"),
        (
            lambda: program.add_cols([0], [float("nan")], [1.0], "C"),
            "bounds of column 0 are .0, NaN",
        ),
        (lambda: program.add_cols([0], [1], [1.0], "Z"), "'Z' is no kind of column"),
        (lambda: program.add_cols("ab", [1], [1.0], "C"), "lower: a vector of numbers"),
        (lambda: program.add_rows([0], [1], [0, 2], [0], [1.0]), "starts: they must go up from 0"),
        (lambda: program.add_rows([0], [1], [0, 1], [-1], [1.0]), "indices.0.: .*, not -1"),
        (lambda: program.add_rows([0], [1], [0, 1], [7], [1.0]), "column 7 is not in the program"),
        (lambda: program.solve(gap=2.0), "gap: .*below 1 is needed, not 2"),
        (lambda: program.solve(algorithm="interior"), "none of auto, primal, dual, barrier"),
    ]:
        with pytest.raises(remat_bb.InvalidArgument, match=words):
            call()
    assert (program.num_cols, program.num_rows) == (0, 0)


def test_exact_answers_and_numbers_that_a_double_does_not_hold(tmp_path) -> None:
    path = tmp_path / "digits.lp"
    path.write_text("Min\n x\nSubject To\n low: 3 x >= 1\nEnd\n")
    program = Program.read(path)
    assert program.rounded is None and program.solve().exact is None
    assert program.solve(exact=True).exact == ("1/3", "1/3", None)
    path.write_text("Min\n x\nSubject To\n low: 3 x >= 0.1234567890123456789\nEnd\n")
    program = Program.read(path)
    assert program.rounded.startswith("line 4: row low: 0.1234567890123456789")
    assert program.solve().status == "optimal"
    with pytest.raises(remat_bb.InvalidArgument, match="more digits than a double holds"):
        program.solve(exact=True)
    with pytest.raises(remat_bb.InvalidArgument, match="no part of the program"):
        knapsack().solve(exact=True, cutoff=3.0)
