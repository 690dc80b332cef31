"""Looks at a search, the bar, and interrupts."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import remat_bb
from remat_bb import Progress, frontier, solve

# A search that goes on for its time.
LONG = {"gap": 0.0, "time_limit": 60}
SLOW = "zoo:resnet50?batch=8"


def test_looks_get_better(chain):
    looks: list[Progress] = []
    threads = set()

    def look(progress):
        looks.append(progress)
        threads.add(threading.get_ident())

    plan = solve("zoo:vgg16?batch=32", "80%", time_limit=1, on_progress=look)
    assert len(looks) > 2 and threads == {threading.get_ident()}
    assert looks[-1].objective == plan.objective and looks[-1].bound == plan.bound
    assert looks[-1].gap == pytest.approx(plan.gap)
    for before, after in zip(looks, looks[1:]):
        assert before.seconds <= after.seconds and before.bound <= after.bound
        assert before.objective is None or after.objective <= before.objective
        assert before.nodes <= after.nodes
    assert "objective=" in repr(looks[-1]) and looks[-1].total == 1
    seen = []
    frontier(chain, "50%..100%:5", on_progress=seen.append)
    assert all(0 <= look.done < look.total == 5 for look in seen)


def test_what_a_callback_raises_ends_the_search():
    calls = []

    def fail(progress):
        calls.append(progress)
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        solve(SLOW, "60%", on_progress=fail, **LONG)
    assert len(calls) == 1


def test_an_interrupt_by_a_callback_is_raised():
    def stop(progress):
        if progress.objective is not None:
            raise KeyboardInterrupt

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        solve(SLOW, "60%", on_progress=stop, **LONG)
    assert time.monotonic() - began < LONG["time_limit"]


def child(code: str, *signals: float) -> tuple[int, str, str]:
    """Runs code that prints `ready`, and sends SIGINT so many seconds after that."""
    program = "import remat_bb, sys\n" + textwrap.dedent(code)
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    for wait in signals:
        time.sleep(wait)
        os.kill(process.pid, signal.SIGINT)
    try:
        out, err = process.communicate(timeout=50)
    finally:
        # One that does not end would compute on beside all that comes.
        process.kill()
    return process.returncode, out, err


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_returns_the_best_plan():
    code = f"""
        said = False
        def look(progress):
            global said
            if progress.objective is not None and not said:
                said = True
                print("ready")
        plan = remat_bb.solve({SLOW!r}, "60%", gap=0.0, time_limit=60, on_progress=look)
        print(plan.status, plan.interrupted, plan.peak_memory_bytes <= plan.budget_bytes)
        try:
            remat_bb.solve("zoo:chain?n=9", "70%")
            print("and on")
        except KeyboardInterrupt:
            print("interrupted again")
        """
    status, out, err = child(code, 0.2)
    assert (status, out) == (0, "interrupted True True\nand on\n"), err


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_without_a_plan_is_raised():
    code = """
        def build(batch):
            return f"zoo:resnet50?batch={batch}"
        print("ready")
        try:
            while True:
                remat_bb.max_batch(build, "900MiB", time_limit=60)
        except KeyboardInterrupt:
            print("raised")
        """
    status, out, err = child(code, 0.5)
    assert (status, out) == (0, "raised\n"), err


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_ends_a_frontier_with_what_is_done():
    code = f"""
        said = False
        def look(progress):
            global said
            if progress.done >= 1 and not said:
                said = True
                print("ready")
        points = remat_bb.frontier(
            {SLOW!r}, ["60%", "70%", "100%"], gap=0.0, time_limit=60, on_progress=look
        )
        print(points.interrupted, points[-1].objective == points.base_cost, len(points) < 3)
        """
    status, out, err = child(code, 0.2)
    if "in look" in err:
        # It fell into the callback, which raises it.
        status, out, err = child(code, 0.2)
    assert (status, out) == (0, "True True True\n"), err


def test_a_bar_and_lines(chain, capsys, monkeypatch):
    pytest.importorskip("tqdm")
    seen = []
    plan = solve(chain, "70%", progress=True, on_progress=seen.append)
    assert seen[-1].objective == plan.objective
    bar = capsys.readouterr()
    assert chain.format_cost(plan.objective) in bar.err and bar.out == ""
    frontier(chain, "60%..100%:3", progress=True)
    assert "bound" in capsys.readouterr().err or len(frontier(chain, "60%..100%:3")) == 3
    solve(chain, "70%", progress=True, time_limit="20s")
    assert "%|" in capsys.readouterr().err
    with pytest.raises(remat_bb.InvalidArgument, match="soon"):
        solve(chain, "70%", progress=True, time_limit="soon")
    # Without tqdm.
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    solve(chain, "70%", progress=True)
    lines = capsys.readouterr()
    assert lines.out == "" and lines.err.endswith("\n")
    last = lines.err.splitlines()[-1]
    assert f"best {chain.format_cost(plan.objective)}, bound" in last and "gap" in last
    assert remat_bb.solve(chain, "70%").objective == plan.objective
    assert capsys.readouterr().err == ""
