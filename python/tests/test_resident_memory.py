"""Memory of the process over hundreds of small solves: it does not grow."""

import gc
import pathlib

import pytest

import remat_bb
import remat_bb.gurobi as gp

STATUS = pathlib.Path("/proc/self/status")


def resident_kib() -> int:
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1])


def program() -> None:
    made = remat_bb.Program("small", maximise=True)
    made.add_cols([0, 0], [9, 9], [3.0, 2.0], "II")
    made.add_rows([-1e30], [7.5], [0, 2], [0, 1], [2.0, 1.0])
    assert made.solve(threads=1, on_point=lambda *_: None).objective == 14.0


def model() -> None:
    made = gp.Model(env=gp.Env(params={"OutputFlag": 0, "Threads": 1}))
    x = made.addVars(3, vtype="I", ub=9, name="x")
    made.addConstr(x.sum() <= 7.5, "room")
    made.setObjective(x.sum(), gp.GRB.MAXIMIZE)
    made.optimize(lambda model, where: None)
    assert made.ObjVal == 7.0 and sum(one.X for one in x.values()) == 7.0


def instance() -> None:
    chain = remat_bb.Instance.zoo("chain?n=5")
    assert remat_bb.solve(chain, "80%", threads=1).status == "optimal"


@pytest.mark.skipif(not STATUS.exists(), reason="there is no /proc")
@pytest.mark.parametrize(("solve", "times"), [(program, 300), (model, 300), (instance, 30)])
def test_solves_leave_nothing_behind(solve, times: int) -> None:
    # Pools and caches fill up in the first ones.
    for _ in range(times // 3):
        solve()
    gc.collect()
    before = resident_kib()
    for _ in range(times):
        solve()
    gc.collect()
    # An object of 10 KiB that stays with each solve would be 3 MiB, or be seen in the plans.
    assert resident_kib() - before < 2500
