"""Integer programs from files, by the command line and by HiGHS (`highspy`) in one run.

    python python/bench/programs.py FOLDER --binary remat-bb --seconds 60 --out programs.csv

One row a file and solver: status, objective, bound, seconds. Every solution is checked against the
file by HiGHS's model of it (rows within 1e-6 of their size, whole integers); "solved" is optimal
within a relative gap of 1e-6. A solver whose bound is beyond the other's checked solution is named
wrong.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import highspy
import numpy as np

GAP = 1e-6
FIELDS = ["file", "rows", "columns", "solver", "status", "objective", "bound", "seconds", "checked"]


def model_of(path: Path) -> highspy.Highs:
    """A model as HiGHS reads it."""
    h = highspy.Highs()
    h.setOptionValue("output_flag", False)
    if path.suffix == ".gz":
        with tempfile.NamedTemporaryFile(suffix=".mps") as plain:
            plain.write(gzip.decompress(path.read_bytes()))
            plain.flush()
            h.readModel(plain.name)
    else:
        h.readModel(str(path))
    return h


def violation(lp: Any, x: np.ndarray) -> float:
    """Largest violation of a row (relative to its terms), a bound or integrality."""
    lower, upper = np.array(lp.row_lower_), np.array(lp.row_upper_)
    start, index = np.array(lp.a_matrix_.start_), np.array(lp.a_matrix_.index_)
    value = np.array(lp.a_matrix_.value_)
    columns = np.repeat(np.arange(lp.num_col_), np.diff(start))
    terms = value * x[columns]
    activity = np.bincount(index, weights=terms, minlength=lp.num_row_)
    size = np.maximum(1.0, np.bincount(index, weights=np.abs(terms), minlength=lp.num_row_))
    rows = np.maximum(lower - activity, activity - upper) / size
    bounds = np.maximum(np.array(lp.col_lower_) - x, x - np.array(lp.col_upper_))
    whole = np.array([kind == highspy.HighsVarType.kInteger for kind in lp.integrality_])
    parts = np.abs(x - np.round(x))[whole] if whole.any() else np.zeros(1)
    return float(max(rows.max(initial=0.0), bounds.max(initial=0.0), parts.max(initial=0.0)))


def by_highs(path: Path, seconds: float) -> dict[str, Any]:
    """HiGHS on one thread."""
    h = model_of(path)
    h.setOptionValue("threads", 1)
    h.setOptionValue("time_limit", seconds)
    h.setOptionValue("mip_rel_gap", 1e-7)
    h.setOptionValue("mip_abs_gap", 1e-9)
    begun = time.perf_counter()
    h.run()
    taken = time.perf_counter() - begun
    info = h.getInfo()
    status = h.modelStatusToString(h.getModelStatus())
    found = info.primal_solution_status == 2
    x = np.array(h.getSolution().col_value) if found else None
    return {
        "status": status.lower(),
        "objective": info.objective_function_value if found else None,
        "bound": info.mip_dual_bound,
        "seconds": taken,
        "x": x,
    }


def by_command(binary: Path, path: Path, seconds: float, names: list[str]) -> dict[str, Any]:
    """This program's command line on one thread."""
    with tempfile.TemporaryDirectory() as folder:
        solution = Path(folder) / "a.sol"
        command = [str(binary), "mip", str(path), "--threads", "1", "--time-limit", str(seconds)]
        command += ["--json", "--quiet", "--solution", str(solution)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        found = json.loads(done.stdout)
        x = None
        if found.get("objective") is not None and solution.exists():
            x = np.zeros(len(names))
            place = {name: k for k, name in enumerate(names)}
            for line in solution.read_text().splitlines():
                words = line.split()
                if len(words) >= 2 and words[0] in place:
                    x[place[words[0]]] = float(words[1])
    return {
        "status": found["status"],
        "objective": found.get("objective"),
        "bound": found.get("bound"),
        "seconds": found.get("seconds"),
        "x": x,
    }


def solved(result: dict[str, Any]) -> bool:
    """Optimal within the gap."""
    objective, bound = result["objective"], result["bound"]
    if objective is None or bound is None:
        return False
    return abs(objective - bound) <= GAP * max(1.0, abs(objective)) + 1e-9


def main() -> None:
    """Runs both solvers on every file, and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--binary", type=Path, default=Path("target/release/remat-bb"))
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []
    counts = {name: {"solved": 0, "feasible": 0, "unsolved": 0} for name in ("remat-bb", "highs")}
    wrong: list[str] = []
    for path in sorted(arguments.folder.glob("*.mps*")):
        lp = model_of(path).getLp()
        results = {
            "remat-bb": by_command(arguments.binary, path, arguments.seconds, list(lp.col_names_)),
            "highs": by_highs(path, arguments.seconds),
        }
        sign = -1.0 if lp.sense_ == highspy.ObjSense.kMaximize else 1.0
        for solver, result in results.items():
            x = result.pop("x")
            checked = x is not None and violation(lp, x) <= 1e-6
            kind = "solved" if solved(result) else "feasible"
            kind = "unsolved" if result["objective"] is None else kind
            counts[solver][kind] += 1
            rows.append(
                {
                    "file": path.name,
                    "rows": lp.num_row_,
                    "columns": lp.num_col_,
                    "solver": solver,
                    **result,
                    "checked": checked,
                }
            )
        for one, other in (("remat-bb", "highs"), ("highs", "remat-bb")):
            bound, objective = results[one]["bound"], results[other]["objective"]
            if bound is not None and objective is not None and rows[-1]["checked"]:
                if sign * (bound - objective) > 1e-6 * max(1.0, abs(objective)) + 1e-6:
                    wrong.append(f"{one} on {path.name}: bound {bound}, {other} has {objective}")
        for row in rows[-2:]:
            print({k: row[k] for k in FIELDS}, flush=True)
    for solver, count in counts.items():
        print(solver, count)
    print("wrong:", wrong or "none")
    if arguments.out:
        with arguments.out.open("w", newline="") as file:
            version = subprocess.run(
                ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
            ).stdout.strip()
            head = f"commit {version}, {platform.machine()}, one thread, {arguments.seconds:g} s"
            file.write(f"# {' '.join(sys.argv)}; {head}; HiGHS {highspy.Highs().version()}\n")
            for solver, count in counts.items():
                file.write(f"# {solver}: {count}\n")
            file.write(f"# wrong: {wrong or 'none'}\n")
            table = csv.DictWriter(file, FIELDS)
            table.writeheader()
            table.writerows(rows)


if __name__ == "__main__":
    main()
