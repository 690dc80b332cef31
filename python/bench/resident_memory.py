"""Resident memory of the process over many small solves: resident_memory.py KIND COUNT.

KIND is one of program, linear, again (one program solved again), model (gurobipy's), plan.
"""

import sys
import time

import remat_bb
import remat_bb.gurobi as gp


def built(kinds: str) -> remat_bb.Program:
    made = remat_bb.Program("small", maximise=True)
    made.add_cols([0, 0], [9, 9], [3.0, 2.0], kinds)
    rows = [0, 2, 4], [0, 1, 0, 1], [2.0, 1.0, 1.0, 3.0]
    made.add_rows([-1e30, -1e30], [7.5, 6], *rows)
    return made


AGAIN = built("II")
CHAIN = remat_bb.Instance.zoo("chain?n=5")


def model() -> None:
    made = gp.Model(env=gp.Env(params={"OutputFlag": 0, "Threads": 1}))
    x = made.addVars(3, vtype="I", ub=9, name="x")
    made.addConstr(2 * x[0] + x[1] + x[2] <= 7.5, "room")
    made.setObjective(x.sum(), gp.GRB.MAXIMIZE)
    made.optimize(lambda model, where: None)


KINDS = {
    "program": lambda: built("II").solve(threads=1),
    "linear": lambda: built("CC").solve(threads=1),
    "again": lambda: AGAIN.solve(threads=1),
    "model": model,
    "plan": lambda: remat_bb.solve(CHAIN, "70%", threads=1),
}


def resident_kib() -> int:
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def main() -> None:
    kind, count = sys.argv[1], int(sys.argv[2])
    begun, seen = time.monotonic(), [resident_kib()]
    for _ in range(10):
        for _ in range(count // 10):
            KINDS[kind]()
        seen.append(resident_kib())
    print(f"{kind}: {count} solves in {time.monotonic() - begun:.0f} s, KiB at each tenth: {seen}")


if __name__ == "__main__":
    main()
