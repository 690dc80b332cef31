"""Seconds and memory for building models, beside other ways to build them in Python.

    python python/bench/model_building.py [--out FILE]

Checkmate's published program, written for gurobipy (python/tests/gurobi/checkmate.py), is built row
by row by remat_bb.gurobi, by a recorder in plain Python, by the expressions of highspy and by PuLP;
a million rows of MONeT's families as well. Each runs in a process of its own, and the least of
several times counts. From end to end the program is built, recognised, solved and read back, and
the optimum compared with that of `remat_bb.solve` at the same budget.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import platform
import resource
import subprocess
import sys
import time
from itertools import product
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests" / "gurobi"))

from checkmate import published  # noqa: E402

STAGES_65 = "zoo:chain?n=32"
RESNET = "zoo:resnet50?batch=184"
MONET = "monet"
MONET_ROWS = 1_050_000
RUNS = 5


def remat() -> Any:
    """The module that stands in for gurobipy."""
    import remat_bb.gurobi

    return remat_bb.gurobi


def recorder() -> Any:
    """Plain Python."""
    import recorder as module

    return module


def highspy() -> Any:
    """The expressions of highspy, by gurobipy's names."""
    import highspy as module

    class Model:
        def __init__(self, name: str = "") -> None:
            self.Params = SimpleNamespace()
            self.highs = module.Highs()
            self.highs.setOptionValue("output_flag", False)

        def addVars(
            self, *sizes: int, lb: float = 0.0, ub: float = 1.0, vtype: str = "C", name: str = ""
        ) -> Any:
            kinds = module.HighsVarType
            kind = kinds.kInteger if vtype == "B" else kinds.kContinuous
            keys = list(product(*map(range, sizes)))
            return self.highs.addVariables(keys, lb=lb, ub=ub, type=kind, name_prefix=name)

        def addLConstr(self, lhs: Any, sense: str, rhs: Any) -> None:
            self.highs.addConstr(related(lhs, sense, rhs))

        def setObjective(self, expr: Any, sense: int) -> None:
            self.highs.setObjective(expr)

        def update(self) -> None:
            self.highs.update() if hasattr(self.highs, "update") else None

        @property
        def NumConstrs(self) -> int:
            return int(self.highs.numConstrs)

    return SimpleNamespace(GRB=recorder().GRB, quicksum=module.Highs.qsum, Model=Model)


def pulp() -> Any:
    """PuLP, by gurobipy's names."""
    import pulp as module

    class Model:
        def __init__(self, name: str = "") -> None:
            self.Params = SimpleNamespace()
            self.problem = module.LpProblem("model", module.LpMinimize)

        def addVars(
            self, *sizes: int, lb: float = 0.0, ub: float = 1.0, vtype: str = "C", name: str = ""
        ) -> Any:
            kind = module.LpBinary if vtype == "B" else module.LpContinuous
            keys = product(*map(range, sizes))
            words = {key: f"{name}_{'_'.join(map(str, key))}" for key in keys}
            return {key: module.LpVariable(word, lb, ub, kind) for key, word in words.items()}

        def addLConstr(self, lhs: Any, sense: str, rhs: Any) -> None:
            self.problem += related(lhs, sense, rhs)

        def setObjective(self, expr: Any, sense: int) -> None:
            self.problem += expr

        def update(self) -> None:
            pass

        @property
        def NumConstrs(self) -> int:
            return len(self.problem.constraints)

    return SimpleNamespace(GRB=recorder().GRB, quicksum=module.lpSum, Model=Model)


def related(lhs: Any, sense: str, rhs: Any) -> Any:
    """A relation by its sign."""
    return lhs <= rhs if sense == "<" else lhs >= rhs if sense == ">" else lhs == rhs


def monet(gp: Any, rows: int) -> Any:
    """Rows of MONeT's program but those of memory (Shah et al., ICLR 2021), for a chain with two
    implementations of each backward node: storage, dependencies, and products Z = M S. So many
    stages are built that there are as many rows as are asked for."""
    grb, sum_ = gp.GRB, gp.quicksum
    n, kinds = 160, 2
    of_stage = n - 1 + n + n + 1 + 3 * n * kinds
    stages = -(-rows // of_stage)
    model = gp.Model("monet")
    model.Params.OutputFlag = 0
    r = model.addVars(stages, n, vtype=grb.BINARY, name="R")
    p = model.addVars(stages, n, vtype=grb.BINARY, name="P")
    s = model.addVars(stages + 1, n, vtype=grb.BINARY, name="S")
    m = model.addVars(stages, kinds, vtype=grb.BINARY, name="M")
    z = model.addVars(stages, n, kinds, vtype=grb.BINARY, name="Z")
    model.setObjective(sum_(r[t, i] for t in range(stages) for i in range(n)), grb.MINIMIZE)
    for t in range(stages):
        for i in range(1, n):
            model.addLConstr(r[t, i], grb.LESS_EQUAL, r[t, i - 1] + s[t, i - 1])
        for i in range(n):
            model.addLConstr(s[t + 1, i], grb.LESS_EQUAL, s[t, i] + p[t, i])
        for i in range(n):
            model.addLConstr(p[t, i], grb.LESS_EQUAL, r[t, i])
        model.addLConstr(sum_(m[t, k] for k in range(kinds)), grb.EQUAL, 1)
        for i in range(n):
            for k in range(kinds):
                model.addLConstr(z[t, i, k], grb.LESS_EQUAL, m[t, k])
                model.addLConstr(z[t, i, k], grb.LESS_EQUAL, s[t + 1, i])
                model.addLConstr(z[t, i, k], grb.GREATER_EQUAL, m[t, k] + s[t + 1, i] - 1)
    model.update()
    return model


def one(backend: str, case: str) -> dict[str, Any]:
    """Builds a model once: rows, seconds, and the peak of the process in GiB."""
    gp = globals()[backend]()
    if case == MONET:
        start = time.perf_counter()
        model = monet(gp, MONET_ROWS)
        seconds = time.perf_counter() - start
    else:
        import remat_bb

        instance = remat_bb.Instance(case)
        nodes = instance.to_dict()["nodes"]
        budget = int(0.7 * instance.peak_memory_bytes) - instance.fixed_bytes
        start = time.perf_counter()
        model, _, _ = published(gp, nodes, budget)
        seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {"rows": model.NumConstrs, "seconds": seconds, "peak_gib": peak}


def end_to_end(case: str) -> str:
    """A line of seconds for building a program, its solve, and reading all values back."""
    import remat_bb

    instance = remat_bb.Instance(case)
    nodes = instance.to_dict()["nodes"]
    budget = int(0.7 * instance.peak_memory_bytes) - instance.fixed_bytes
    module = remat()
    start = time.perf_counter()
    model, _, rows = published(module, nodes, budget)
    built = time.perf_counter()
    model.optimize()
    solved = time.perf_counter()
    values = [var.X for var in model.getVars()]
    read = time.perf_counter()
    assert all(v == int(v) for v, var in zip(values, model.getVars()) if var.VType == "B")
    plan = remat_bb.solve(instance, budget + instance.fixed_bytes)
    same = abs(model.ObjVal - plan.objective) <= 1e-4 * plan.objective
    assert same, (model.ObjVal, plan.objective)
    return (
        f"{case:24}{rows:9,}{model.NumVars:9,}{built - start:9.2f}{solved - built:9.2f}"
        f"{read - solved:9.2f}{read - start:9.2f}  status {model.Status}, objective "
        f"{model.ObjVal:.0f}, recognised as {model._answer.recognised}"
    )


def in_a_process(*arguments: str) -> str:
    """What this script prints for one measurement."""
    command = [sys.executable, __file__, "--one", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=570)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return done.stdout.strip().splitlines()[-1]


def commit() -> str:
    """The commit that is measured."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=pathlib.Path(__file__).parent
    )
    return done.stdout.strip()


def processor() -> str:
    """Name of the processor."""
    path = pathlib.Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def main() -> None:
    """Prints the tables, or one measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("--out", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.one:
        backend, case = arguments.one
        print(end_to_end(case) if backend == "end" else json.dumps(one(backend, case)))
        return
    lines = [
        "# python python/bench/model_building.py --out bench/results/model-building.txt",
        f"# Python {platform.python_version()}, {processor()}, commit {commit()}; the least of "
        f"{RUNS} times for {STAGES_65}, else of one",
        "",
        f"{'built by':12}{'program':28}{'rows':>11}{'seconds':>10}{'rows/s':>11}{'peak GiB':>10}",
    ]
    for case, runs, backends in (
        (STAGES_65, RUNS, ("remat", "recorder", "highspy", "pulp")),
        (RESNET, 1, ("remat", "recorder")),
        (MONET, 1, ("remat", "recorder")),
    ):
        name = "MONeT's rows but memory" if case == MONET else case
        for backend in backends:
            found = [json.loads(in_a_process(backend, case)) for _ in range(runs)]
            best = min(found, key=lambda one: one["seconds"])
            rate = best["rows"] / best["seconds"]
            lines.append(
                f"{backend:12}{name:28}{best['rows']:11,}{best['seconds']:10.3f}{rate:11,.0f}"
                f"{best['peak_gib']:10.2f}"
            )
            print(lines[-1], flush=True)
    lines += ["", "From end to end, in seconds:"]
    lines.append(f"{'program':24}{'rows':>9}{'columns':>9}{'build':>9}{'solve':>9}{'values':>9}")
    lines[-1] += f"{'all':>9}"
    for case in (STAGES_65, RESNET):
        lines.append(in_a_process("end", case))
        print(lines[-1], flush=True)
    if arguments.out:
        arguments.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
