"""Example scripts and notebooks of others, as they are, with remat-bb in the place of their solver.

    python python/bench/examples.py (gurobi | pulp | pyomo) FOLDER [--out FILE]

Each runs in a process of its own, for at most a minute. Every model that is solved is solved by
another solver as well: those for gurobipy and Pyomo by HiGHS, those for PuLP by its CBC with the
same random numbers. Objectives that are not the same make the exit code 1; what ends by an error
is named with it, and counts for nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import pathlib
import re
import runpy
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from typing import Any

from remat_bb import shadow

SECONDS = 20
"""Time limit of each solve."""
SAME, OTHER, OPEN = "same objective", "OTHER OBJECTIVE", "not compared"


def cells(path: pathlib.Path) -> list[str]:
    """Code of a script, or of each cell of a notebook less its commands to the notebook."""
    if path.suffix != ".ipynb":
        return [path.read_text()]
    found = json.loads(path.read_text())["cells"]
    texts = ["".join(cell["source"]) for cell in found if cell["cell_type"] == "code"]
    return [re.sub(r"(?m)^(\s*)[%!].*$", r"\1pass", text) for text in texts]


def near(one: float, two: float) -> bool:
    """True for objectives that are the same within the gaps that were asked for."""
    return abs(one - two) <= 2e-4 * max(1.0, abs(two))


def gurobi(path: pathlib.Path, verdicts: list[str]) -> None:
    """Runs a script or notebook for gurobipy; compares each model that is solved to its end."""
    import gurobipy
    import highspy

    optimize = gurobipy.Model.optimize

    def compared(model: Any, *arguments: Any) -> None:
        model.Params.TimeLimit = min(model.Params.TimeLimit, SECONDS)
        model.Params.OutputFlag = 0
        optimize(model, *arguments)
        # Rows of callbacks and further objectives are in no file.
        if model.Status != gurobipy.GRB.OPTIMAL or arguments or model.NumObj:
            verdicts.append(OPEN)
            return
        with tempfile.TemporaryDirectory() as folder:
            model.write(f"{folder}/model.mps")
            highs = highspy.Highs()
            highs.setOptionValue("output_flag", False)
            highs.setOptionValue("time_limit", SECONDS)
            highs.readModel(f"{folder}/model.mps")
            highs.run()
        if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            verdicts.append(OPEN)
            return
        value = highs.getInfo().objective_function_value
        verdicts.append(SAME if near(model.ObjVal, value) else OTHER)

    gurobipy.Model.optimize = compared
    space: dict[str, Any] = {"__name__": "__main__", "display": lambda *_: None}
    for cell in cells(path):
        exec(compile(cell, str(path), "exec"), space)


def pulp(path: pathlib.Path, verdicts: list[str]) -> None:
    """Runs a script for PuLP by remat-bb and by CBC."""
    import random

    import pulp as package

    import remat_bb

    solve = package.LpProblem.solve
    objectives: list[list[tuple[int, Any]]] = []

    def noted(problem: Any, *arguments: Any, **options: Any) -> Any:
        status = solve(problem, *arguments, **options)
        goal = problem.objective
        objectives[-1].append((status, 0.0 if goal is None else package.value(goal)))
        return status

    package.LpProblem.solve = noted
    for ours in (True, False):
        (remat_bb.install if ours else remat_bb.uninstall)("pulp")
        random.seed(7)
        objectives.append([])
        runpy.run_path(path.name, run_name="__main__")
    for one, two in zip(*objectives):
        same = one == two or (one[0] == two[0] and near(one[1], two[1]))
        verdicts.append(SAME if same else OTHER)


def pyomo(path: pathlib.Path, verdicts: list[str]) -> None:
    """Solves the model that a script for Pyomo makes, an abstract one with the data of its name."""
    import pyomo.environ as package

    import remat_bb.pyomo  # noqa: F401

    model = runpy.run_path(path.name, run_name="example").get("model")
    if isinstance(model, package.AbstractModel):
        data = path.with_suffix(".dat")
        model = model.create_instance(str(data) if data.exists() else None)
    if not isinstance(model, package.ConcreteModel):
        raise LookupError("makes no model")
    found = []
    for name in ("remat_bb", "appsi_highs"):
        twin = model.clone()
        result = package.SolverFactory(name).solve(twin, timelimit=SECONDS)
        goal = next(twin.component_data_objects(package.Objective, active=True))
        found.append((str(result.solver.termination_condition), package.value(goal)))
    verdicts.append(
        SAME if found[0][0] == found[1][0] and near(found[0][1], found[1][1]) else OTHER
    )


def one(kind: str, path: pathlib.Path) -> None:
    """Runs one, and prints the verdicts on its solves and its error as JSON."""
    warnings.simplefilter("ignore")
    os.environ["MPLBACKEND"] = "Agg"
    os.chdir(path.parent)
    sys.path.insert(0, str(path.parent))
    verdicts: list[str] = []
    error = ""
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            {"gurobi": gurobi, "pulp": pulp, "pyomo": pyomo}[kind](path, verdicts)
        except SystemExit:
            pass
        except BaseException as problem:
            words = " ".join(str(problem).split())[:120]
            error = f"{type(problem).__name__}: {words}"
    print("\n" + json.dumps([verdicts, error]))


def main() -> int:
    """Runs what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=("gurobi", "pulp", "pyomo"))
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--out", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.one:
        one(arguments.kind, arguments.folder)
        return 0
    environment = dict(os.environ)
    if arguments.kind == "gurobi":
        environment["PYTHONPATH"] = str(shadow.folder())
    everything = sorted(arguments.folder.resolve().rglob("*"))
    paths = [path for path in everything if path.suffix in (".py", ".ipynb")]
    solves: Counter[str] = Counter()
    ends: Counter[str] = Counter()
    lines = []
    for path in paths:
        command = [sys.executable, __file__, arguments.kind, str(path), "--one"]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=60, env=environment
            )
            verdicts, error = json.loads(done.stdout.strip().splitlines()[-1])
        except subprocess.TimeoutExpired:
            verdicts, error = [], "a minute is over"
        except (IndexError, ValueError):
            verdicts, error = [], f"no answer, exit code {done.returncode}"
        solves.update(verdicts)
        ends["ran to the end" if not error else "ended by an error"] += 1
        place = path.relative_to(arguments.folder.resolve())
        counts = ", ".join(f"{n} {verdict}" for verdict, n in Counter(verdicts).items())
        lines.append(f"  {place}: {counts or 'no solve'}{'; ' if error else ''}{error}")
        print(lines[-1], flush=True)
    head = f"{arguments.kind}, {arguments.folder.name}: {len(paths)} files, "
    head += ", ".join(f"{n} {word}" for word, n in sorted((ends + solves).items()))
    print(head)
    if arguments.out:
        kept = arguments.out.read_text() if arguments.out.exists() else ""
        arguments.out.write_text(kept + head + "\n" + "\n".join(lines) + "\n\n")
    return 1 if solves[OTHER] else 0


if __name__ == "__main__":
    raise SystemExit(main())
