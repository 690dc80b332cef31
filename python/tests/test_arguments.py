"""Arguments that make no sense: the error names the argument and shows its value, at once."""

import random
import re

import pytest

import remat_bb
from remat_bb import InvalidArgument, Program

INF, NAN = float("inf"), float("nan")


def program() -> Program:
    made = Program("small", maximise=True)
    made.add_cols([0, 0], [9, 9], [3.0, 2.0], "II")
    made.add_rows([-INF], [7.5], [0, 2], [0, 1], [2.0, 1.0])
    return made


def assert_refused(call, words: str, error: type[Exception]) -> None:
    with pytest.raises(error, match=re.escape(words)) as caught:
        call()
    assert isinstance(caught.value, InvalidArgument)


COUNTS = "seed threads node_limit iteration_limit work_limit memory_limit pool_size".split()
NUMBERS = """
    gap absolute_gap cutoff pool_gap pool_absolute_gap feasibility_tolerance integrality_tolerance
    optimality_tolerance
""".split()


@pytest.mark.parametrize("name", COUNTS)
def test_counts_of_a_program(name: str) -> None:
    for value, error in [(-1, ValueError), (2**64, ValueError), ("9", TypeError), (1.5, TypeError)]:
        assert_refused(lambda v=value: program().solve(**{name: v}), name, error)
        assert_refused(lambda v=value: program().solve(**{name: v}), repr(value), error)


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_of_a_program(name: str) -> None:
    for value, error, shown in [
        (NAN, ValueError, "NaN"),
        (-0.5, ValueError, "-0.5"),
        ("x", TypeError, "'x'"),
        ([1.0], TypeError, "[1.0]"),
    ]:
        if name == "cutoff" and value == -0.5:
            continue
        call = {name: value, "best_points": True, "pool_size": 2}
        assert_refused(lambda c=call: program().solve(**c), name, error)
        assert_refused(lambda c=call: program().solve(**c), shown, error)


def test_lists_of_a_program() -> None:
    row = ([0], [1.0], 0.0)
    for arguments, words, error in [
        ({"starts": 5}, "starts: a list of vectors of numbers is needed, not 5", TypeError),
        ({"starts": [5]}, "starts[0]: a vector of numbers is needed, not 5", TypeError),
        ({"starts": [[1, 2], ["a"]]}, "starts[1]", TypeError),
        ({"starts": [[1, 2, 3]]}, "starts[0] has 3 values", ValueError),
        ({"starts": [[1, 2], [1, INF]]}, "the value of column 1 in starts[1] is inf", ValueError),
        ({"hints": [1, 2, 3]}, "hints has 3 values", ValueError),
        ({"hints": "ab"}, "hints: a vector of numbers is needed, not 'ab'", TypeError),
        ({"objectives": 7}, "objectives: a list is needed, not 7", TypeError),
        ({"objectives": [7]}, "objectives[0]", TypeError),
        ({"objectives": [(row, 1, NAN, 0.0, 0.0)]}, "weight of an objective` is NaN", ValueError),
        ({"objectives": [(row, 1, 1.0, -1.0, 0.0)]}, "absolute tolerance of an", ValueError),
        ({"objectives": [(([0], [], 0.0), 1, 1.0, 0.0, 0.0)]}, "1 columns and 0", ValueError),
        ({"time_limit": -1}, "time_limit", ValueError),
        ({"time_limit": NAN}, "time_limit", ValueError),
        ({"algorithm": "x"}, 'algorithm: "x"', ValueError),
        ({"on_progress": 3}, "on_progress: a function is needed, not 3", TypeError),
        ({"on_point": "f"}, "on_point: a function is needed, not 'f'", TypeError),
        ({"separate": 3}, "separate: a function", TypeError),
        ({"suggest": 3}, "suggest: a function", TypeError),
    ]:
        assert_refused(lambda a=arguments: program().solve(**a), words, error)


def test_answers_of_callbacks() -> None:
    # Points are asked for at nodes: this one has some.
    number = random.Random(3).randint
    hard = Program("hard", maximise=True)
    hard.add_cols([0] * 30, [1] * 30, [float(number(10, 60)) for _ in range(30)], "I" * 30)
    weights = [float(number(5, 70)) for _ in range(150)]
    starts = [30 * k for k in range(6)]
    hard.add_rows([-INF] * 5, [400.0] * 5, starts, list(range(30)) * 5, weights)

    def refused(words: str, error: type[Exception], **callback) -> None:
        assert_refused(lambda: hard.solve(at_nodes=True, **callback), words, error)

    lazy = {"lazy_rows": True}
    refused("suggest: a list of points is needed, not 5", TypeError, suggest=lambda: 5)
    refused("suggest[0]: a vector of numbers", TypeError, suggest=lambda: ["ab"])
    refused("a suggested point has 31 values", ValueError, suggest=lambda: [[0] * 31])
    refused("separate: a list of rows", TypeError, separate=lambda *_: 7, **lazy)
    refused("separate[0]: (cols, values", TypeError, separate=lambda *_: [7], **lazy)
    negative = ([-1], [1.0], 0.0, 1.0)
    refused("separate[0]: (cols, values", TypeError, separate=lambda *_: [negative], **lazy)
    infinite = ([0], [1.0], INF, INF)
    refused("a new row", ValueError, separate=lambda *_: [infinite], **lazy)


def test_edits_of_a_program() -> None:
    made = program()
    before = repr(made), made.cols, made.rows
    for call, words, error in [
        (lambda: made.set_bounds(-1, 0, 1), "col: a whole number from 0 up", ValueError),
        (lambda: made.set_cost(2**32, 1), "4294967296", ValueError),
        (lambda: made.set_cost("x", 1), "col: a whole number from 0 up", TypeError),
        (lambda: made.sides(-5), "row: ", ValueError),
        (lambda: made.set_bounds(0, INF, INF), "bounds of column 0 are [inf, inf]", ValueError),
        (lambda: made.set_sides(0, -INF, -INF), "bounds of row 0 are [-inf, -inf]", ValueError),
        (lambda: made.set_bounds(0, NAN, 1), "bounds of column 0 are [NaN, 1]", ValueError),
        (lambda: made.set_cost(0, INF), "the cost of column 0 is inf", ValueError),
        (lambda: made.remove_cols([2**32]), "handles[0]: ", ValueError),
        (lambda: made.remove_cols([0, -1]), "handles[1]: ", ValueError),
        (lambda: made.remove_cols(3), "handles: a vector of whole numbers is needed", TypeError),
        (lambda: made.remove_rows([0, 1]), "row 1 is not in the program", ValueError),
        (lambda: made.add_cols([0, 0], [1, 1], [0, NAN], "CC"), "cost of column 3", ValueError),
        (lambda: made.add_cols([0, 0], [1, 1], [0, 0], "CZ"), "'Z' is no kind", ValueError),
        (lambda: made.add_rows([0, 0], [1, 1], [0, 1, 2], [0, 9], [1, 1]), "column 9", ValueError),
        (lambda: made.add_rows([0], [1], [0, 2], [0, 0], [1e308, 1e308]), "is inf", ValueError),
        (lambda: made.complete([0, INF]), "the value of column 1 in start is inf", ValueError),
        (lambda: made.complete([0, 0, 0]), "start has 3 values", ValueError),
        (lambda: made.solve().x(-1), "number: a whole number from 0 up", ValueError),
    ]:
        assert_refused(call, words, error)
    assert (repr(made), made.cols, made.rows) == before
    assert made.solve().objective == 14.0


def test_arguments_of_plans(chain: remat_bb.Instance, plan: remat_bb.Plan) -> None:
    for call, words, error in [
        (lambda: remat_bb.solve(chain, "70%", seed=-1), "seed: ", ValueError),
        (lambda: remat_bb.solve(chain, "70%", seed="1"), "seed: ", TypeError),
        (lambda: remat_bb.solve(chain, "70%", threads=-2), "threads: ", ValueError),
        (lambda: remat_bb.solve(chain, "70%", threads=5000), "5000", ValueError),
        (lambda: remat_bb.solve(chain, "70%", gap=NAN), "gap: ", ValueError),
        (lambda: remat_bb.solve(chain, "70%", gap=-1), "-1", ValueError),
        (lambda: remat_bb.solve(chain, "70%", time_limit=NAN), "time_limit: ", ValueError),
        (lambda: remat_bb.solve(chain, "70%", starts=3), "starts: a list of plans", TypeError),
        (lambda: remat_bb.solve(chain, "70%", starts=[3]), "starts[0]: a Plan", TypeError),
        (lambda: remat_bb.solve(chain, "70%", alignment=-8), "alignment: ", ValueError),
        (lambda: remat_bb.solve(chain, "70%", alignment=3), "alignment: ", ValueError),
        (lambda: remat_bb.solve(chain, "70%", on_progress=3), "on_progress: ", TypeError),
        (lambda: remat_bb.max_batch("zoo:vgg16", "1GiB", start=-1), "start: ", ValueError),
        (lambda: remat_bb.max_batch("zoo:vgg16", "1GiB", most="x"), "most: ", TypeError),
        (lambda: remat_bb.max_batch("zoo:vgg16", "1GiB", overhead=NAN), "overhead: ", ValueError),
        (lambda: plan.place(alignment=-1), "alignment: ", ValueError),
        (lambda: remat_bb.place([(0, 1, 4)], seed=-1), "seed: ", ValueError),
        (lambda: remat_bb.place_baselines([(0, 1, 4)], seed=-1), "seed: ", ValueError),
        (lambda: remat_bb.place([(0, 1.5, 4)]), "lives[0]: ", TypeError),
    ]:
        assert_refused(call, words, error)
