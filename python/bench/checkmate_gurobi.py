"""Checkmate's published program as its users build it for gurobipy, from the first row to the plan.

    python python/bench/checkmate_gurobi.py [INSTANCE ...]

For each instance: seconds for building the model, for its solve, and for reading all values back,
with rows and columns, beside the same rows and columns in plain Python lists. No row may be lost:
the optimum is compared with that of `remat_bb.solve` at the same budget.
"""

from __future__ import annotations

import pathlib
import sys
import time

import remat_bb
import remat_bb.gurobi as gp

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests" / "gurobi"))

from checkmate import published  # noqa: E402


def main() -> None:
    """Prints a line for each instance."""
    instances = sys.argv[1:] or ["zoo:chain?n=32", "zoo:resnet50?batch=184"]
    print(f"{'instance':24} {'rows':>8} {'columns':>8}  build s  solve s  values s  status")
    for name in instances:
        instance = remat_bb.Instance(name)
        nodes = instance.to_dict()["nodes"]
        budget = int(0.7 * instance.peak_memory_bytes) - instance.fixed_bytes
        start = time.perf_counter()
        model, r, rows = published(gp, nodes, budget)
        built = time.perf_counter()
        model.optimize()
        solved = time.perf_counter()
        values = [var.X for var in model.getVars()]
        read = time.perf_counter()
        assert all(v == int(v) for v, var in zip(values, model.getVars()) if var.VType == "B")
        plan = remat_bb.solve(instance, budget + instance.fixed_bytes)
        same = abs(model.ObjVal - plan.objective) <= 1e-4 * plan.objective
        print(
            f"{name:24} {rows:8} {model.NumVars:8} {built - start:8.2f} {solved - built:8.2f} "
            f"{read - solved:9.2f}  {model.Status} {model.ObjVal:.0f} "
            f"{'the same as' if same else 'NOT'} {plan.objective}; "
            f"recognised {model._answer.recognised}"
        )


if __name__ == "__main__":
    main()
