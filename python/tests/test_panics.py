"""Panics, here by programs out of damaged pickles: each is an exception, on any thread."""

import struct
import threading

import pytest

import remat_bb
from remat_bb import InternalError, Program


def damaged() -> Program:
    """A program with an entry in a column that there is not."""
    made = Program()
    made.add_cols([0, 0], [9, 9], [1.0, 1.0], "II")
    made.add_rows([1.0], [1e30], [0, 2], [0, 1], [1.625, 1.0])
    restore, (kind, (state,)) = made.__reduce__()
    good = bytes([0]) + struct.pack("<d", 1.625)
    assert state.count(good) == 1
    return restore(kind, (state.replace(good, bytes([77]) + good[1:]),))


def test_a_panic_is_an_exception(tmp_path) -> None:
    for call in [
        lambda: damaged().solve(),
        lambda: damaged().write(tmp_path / "a.lp"),
        lambda: damaged().complete([1.0, 1.0]),
    ]:
        with pytest.raises(InternalError, match="a fault in remat-bb: .*please report") as caught:
            call()
        assert isinstance(caught.value, Exception) and isinstance(caught.value, RuntimeError)


def test_a_panic_in_a_callback_is_raised_by_the_solve() -> None:
    whole = Program("whole", maximise=True)
    whole.add_cols([0, 0], [9, 9], [3.0, 2.0], "II")
    whole.add_rows([-1e30], [7.5], [0, 2], [0, 1], [2.0, 1.0])
    with pytest.raises(InternalError):
        whole.solve(on_point=lambda *_: damaged().solve())
    with pytest.raises(InternalError):
        whole.solve(separate=lambda *_: damaged().solve(), lazy_rows=True)
    assert whole.solve().objective == 14.0


def test_work_has_room_on_any_thread(tmp_path) -> None:
    """A thread with a small stack solves, reads and writes."""
    before = threading.stack_size(192 * 1024)
    failed: list[BaseException] = []

    def work() -> None:
        try:
            made = Program("whole", maximise=True)
            made.add_cols([0, 0], [9, 9], [3.0, 2.0], "II")
            made.add_rows([-1e30], [7.5], [0, 2], [0, 1], [2.0, 1.0])
            made.write(tmp_path / "a.lp")
            assert Program.read(tmp_path / "a.lp").complete([1.0])[0] == 13.0
            plan = remat_bb.solve("zoo:chain?n=9", "70%")
            assert plan.place().addresses is not None
            assert remat_bb.verify("zoo:chain?n=9", plan).objective == plan.objective
        except BaseException as error:
            failed.append(error)

    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert failed == []
