"""Objects out of pickles say what they said before."""

import copy
import pickle
import weakref

import pytest

import remat_bb


def program() -> remat_bb.Program:
    made = remat_bb.Program("k", maximise=True)
    made.add_cols([0, 0], [9, 9], [3.0, 2.0], "II")
    made.add_rows([-float("inf")], [7.5], [0, 2], [0, 1], [2.0, 1.0])
    return made


def test_pickles_and_copies_say_the_same(chain, plan):
    answer = program().solve()
    frontier = remat_bb.frontier(chain, ["60%", "80%"], time_limit=5)
    for one in (chain, plan, frontier, frontier[0], remat_bb.order(chain), answer, program()):
        again = pickle.loads(pickle.dumps(one))
        assert repr(again) == repr(one)
        assert repr(copy.deepcopy(one)) == repr(copy.copy(one)) == repr(one)
        assert weakref.ref(one)() is one
    again = pickle.loads(pickle.dumps(plan))
    assert again.to_dict() == plan.to_dict()
    assert (again.bound, again.seconds) == (plan.bound, plan.seconds)
    assert pickle.loads(pickle.dumps(frontier)).to_dicts() == frontier.to_dicts()
    assert list(pickle.loads(pickle.dumps(answer)).x()) == list(answer.x())
    assert pickle.loads(pickle.dumps(program())).solve().objective == answer.objective


def test_equal_instances_have_equal_hashes(chain):
    same = remat_bb.Instance.zoo("chain?n=9")
    assert same == chain and hash(same) == hash(chain)
    assert hash(remat_bb.Instance.zoo("chain?n=8")) != hash(chain)


def test_an_interrupt_of_a_callback_is_raised():
    def look(_):
        raise KeyboardInterrupt("mine")

    with pytest.raises(KeyboardInterrupt, match="mine"):
        remat_bb.solve("zoo:unet", "50%", time_limit=20, on_progress=look)


@pytest.mark.parametrize(
    "row",
    [
        ([9], [1.0], 0.0, 1.0),
        ([0], [float("nan")], 0.0, 1.0),
        ([0, 1], [1.0], 0.0, 1.0),
        ([0], [1.0], float("nan"), 1.0),
    ],
)
def test_a_row_of_a_callback_that_makes_no_sense_is_an_error(row):
    with pytest.raises(remat_bb.InvalidArgument):
        program().solve(separate=lambda *_: [row], lazy_rows=True)
