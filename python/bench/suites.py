"""Test suites of PuLP, CVXPY, SciPy and Pyomo with remat-bb in the place of their solvers.

``python python/bench/suites.py [--quick] [--out FILE] [NAME ...]`` runs the suites whose packages
are installed. A test that fails must be named here with the reason, and a test that is named must
fail; else the exit code is 1. ``--out`` writes a table of the counts, and keeps what it has of
other versions.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import dataclass, field

from remat_bb import shadow

PULP_4 = importlib.util.find_spec("pulp") is not None and importlib.metadata.version(
    "pulp"
).startswith("4")
CBC_LOG = "reads the command line of CBC out of its log"
NO_REASON = "expects `Not Solved`, as its program cannot tell; the answer here is the proven one"
LARGE = "bin packing with 16,512 and 42,230 binaries: 10 seconds may end without a solution"
GUROBI = "looks into the object of gurobipy"
CONES = "second-order cones are refused"
PRODUCTS = "products of continuous variables are refused"
SHADOW = {"PYTHONPATH": str(shadow.folder())}


VERSIONS = ("pulp 3.3.2", "pulp 4.2.0", "cvxpy 1.9.3", "scipy 1.17.1", "pyomo 6.10.1")
"""Versions whose failures are named here. ``--quick`` leaves others out."""


@dataclass(frozen=True)
class Suite:
    """A suite: the module that is run, arguments of pytest, the tests that are known to fail with
    their reasons, and those that time decides."""

    name: str
    package: str
    module: str
    arguments: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    known: dict[str, str] = field(default_factory=dict)
    either: dict[str, str] = field(default_factory=dict)
    slow: tuple[str, ...] = ()
    applies: Callable[[], bool] = lambda: True


PULP_3_CBC = {
    "test_cuts_off": CBC_LOG,
    "test_cuts_on": CBC_LOG,
    "test_presolve_off": CBC_LOG,
    "test_strong": CBC_LOG,
}
GUROBI_CMD = {
    "GUROBI_CMDTest.test_infeasible_2": NO_REASON,
    "GUROBI_CMDTest.test_integer_infeasible": NO_REASON,
    "GUROBI_CMDTest.test_integer_infeasible_2": NO_REASON,
    "GUROBI_CMDTest.test_unbounded": NO_REASON,
    "GUROBI_CMDTest.test_relaxed_mip": "expects that mip=False has no effect",
}
SUITES = [
    Suite(
        "pulp, solver REMAT",
        "pulp",
        "from pulp.tests.test_pulp import BaseSolverTest\n"
        "from remat_bb.pulp import REMAT\n"
        "class REMATTest(BaseSolverTest.PuLPTest):\n"
        "    solveInst = REMAT\n",
        applies=lambda: not PULP_4,
    ),
    Suite(
        "pulp, CBC's and Gurobi's classes",
        "pulp",
        "import remat_bb._autoload\n"
        "from pulp.tests.test_pulp import PULP_CBC_CMDTest, COIN_CMDTest, GUROBI_CMDTest\n"
        "from pulp.tests.test_pulp import PuLP4MigrationTests, PULP_CBC_CMDDeprecationTest\n",
        environment={"REMAT_BB_DROPIN": "pulp"},
        known={
            **PULP_3_CBC,
            **GUROBI_CMD,
            "GUROBI_CMDTest.test_elastic_constraints_penalty_unbounded": NO_REASON,
        },
        either={"test_measuring_solving_time": LARGE},
        slow=("measuring_solving_time", "time_limit_no_solution"),
        applies=lambda: not PULP_4,
    ),
    Suite(
        "pulp, solver REMAT",
        "pulp",
        "from pulp.tests.solver_common import BaseSolverTest, PulpTestConfig\n"
        "from remat_bb.pulp import REMAT\n"
        "class REMATTest(BaseSolverTest.PuLPTest):\n"
        "    solveInst = REMAT\n"
        "    pulp_test_overrides = {\n"
        "        'test_dual_variables_reduced_costs': PulpTestConfig(skip=False),\n"
        "        'test_sequential_solve': PulpTestConfig(skip=False),\n"
        "        'test_logPath': PulpTestConfig(skip=False, check_log_path=True),\n"
        "        'test_initial_value': PulpTestConfig(warm_start=True),\n"
        "    }\n",
        applies=lambda: PULP_4,
    ),
    Suite(
        "pulp, CBC's and Gurobi's classes",
        "pulp",
        "import remat_bb._autoload\n"
        "import pulp\n"
        "from pulp.tests.solver_common import BaseSolverTest\n"
        "class PULP_CBC_CMDTest(BaseSolverTest.PuLPTest):\n"
        "    solveInst = pulp.PULP_CBC_CMD\n"
        "from pulp.tests.test_coin_cmd import COIN_CMDTest, COIN_CMD_CBCOptionsTest\n"
        "from pulp.tests.test_gurobi import GUROBITest\n"
        "from pulp.tests.test_gurobi_cmd import GUROBI_CMDTest\n"
        "from pulp.tests.test_add_solver import TestAddSolver\n"
        "from pulp.tests.test_solve_stats import CBCStopReasonTest\n",
        environment={"REMAT_BB_DROPIN": "pulp"},
        known={
            **{
                f"COIN_CMD_CBCOptionsTest.{name}": CBC_LOG for name in PULP_3_CBC if "." not in name
            },
            "COIN_CMD_CBCOptionsTest.test_random_seed": CBC_LOG,
            **GUROBI_CMD,
            "GUROBITest.test_gap_params": GUROBI,
            "test_maximize_stats_from_an_lp_file": "calls the program of CBC itself",
        },
        applies=lambda: PULP_4,
    ),
    Suite(
        "cvxpy, solver REMAT()",
        "cvxpy",
        "import pytest\n"
        "from cvxpy.tests.solver_test_helpers import StandardTestLPs\n"
        "from remat_bb.cvxpy import REMAT\n"
        "NAMES = [n for n in dir(StandardTestLPs) if n.startswith('test_')]\n"
        "@pytest.mark.parametrize('name', NAMES)\n"
        "def test_standard(name):\n"
        "    getattr(StandardTestLPs, name)(solver=REMAT())\n",
        known={"test_standard[test_lp_7]": "needs the package sdpap"},
    ),
    Suite(
        "cvxpy, cp.CBC and cp.GUROBI",
        "cvxpy",
        "import remat_bb._autoload\n"
        "from cvxpy.tests.test_conic_solvers import TestCBC, TestGUROBI\n"
        "from cvxpy.tests.test_custom_solver import TestCustomSolvers\n",
        environment={"REMAT_BB_DROPIN": "cvxpy"},
        either={"test_cbc_lp_options": "compares logs, with times, of solves with other options"},
        known={
            **{
                f"TestGUROBI.test_gurobi_{name}": GUROBI
                for name in (
                    "conic_uses_vectorized_api",
                    "environment",
                    "lp_bound_attr",
                    "time_limit_no_solution",
                    "warm_start",
                )
            },
            **{
                f"TestGUROBI.test_gurobi_{name}": CONES
                for name in (
                    "mi_socp_1",
                    "mi_socp_2",
                    "mixed_integer_types",
                    "socp_0",
                    "socp_1",
                    "socp_2",
                    "socp_3",
                    "socp_4",
                    "socp_bound_attr",
                )
            },
            "TestGUROBI.test_gurobi_lp_3": "expects `infeasible_or_unbounded`; it is unbounded",
        },
    ),
    Suite(
        "cvxpy, mixed-integer variables",
        "cvxpy",
        "import cvxpy.tests.test_mip_vars as suite\n"
        "from remat_bb.cvxpy import REMAT\n"
        "suite.MIP_SOLVERS = [REMAT()]\n"
        "from cvxpy.tests.test_mip_vars import TestMIPVariable\n",
    ),
    Suite(
        "scipy, milp",
        "scipy",
        "import remat_bb.scipy\n"
        "remat_bb.scipy.install()\n"
        "from scipy.optimize.tests.test_milp import *\n",
        known={"test_result": "expects the words `HiGHS Status`"},
    ),
    Suite(
        "scipy, linprog",
        "scipy",
        "import remat_bb.scipy\n"
        "remat_bb.scipy.install()\n"
        "from scipy.optimize.tests.test_linprog import *\n",
        arguments=("-k", "TestLinprogHiGHS"),
        known={
            "test_maxiter": "solved within its limit of three iterations",
            "TestLinprogHiGHSIPM.test_crossover": "expects iterations of a crossover",
        },
        slow=("test_mip1",),
    ),
    Suite(
        "pyomo, in the place of highs",
        "pyomo",
        "import remat_bb.pyomo\n"
        "import pyomo.contrib.solver.solvers.highs as taken\n"
        "taken.Highs = remat_bb.pyomo.Remat\n"
        "from pyomo.contrib.solver.tests.solvers.test_solvers import *\n",
        arguments=("-k", "highs"),
        either={"test_time_limit": "a linear program that may be solved within the limit"},
        known={"test_mutable_quadratic_objective_qp_7_highs": "quadratic objectives are refused"},
    ),
    Suite(
        "pyomo, in the place of gurobi_persistent",
        "pyomo",
        "import remat_bb.pyomo\n"
        "import pyomo.contrib.solver.solvers.gurobi as taken\n"
        "taken.GurobiPersistent = remat_bb.pyomo.Remat\n"
        "from pyomo.contrib.solver.tests.solvers.test_solvers import *\n",
        arguments=("-k", "gurobi_persistent"),
        either={"test_time_limit": "a linear program that may be solved within the limit"},
        known={
            f"test_mutable_quadratic_{name}_0_gurobi_persistent": "quadratic models are refused"
            for name in ("coefficient", "objective_qcp", "objective_qp")
        },
    ),
    Suite(
        "pulp, GUROBI over gurobipy's interface",
        "pulp",
        "from pulp.tests.test_pulp import GUROBITest\nfrom pulp.tests.test_gurobipy_env import *\n",
        environment=SHADOW,
        either={"test_measuring_solving_time": LARGE},
        slow=("measuring_solving_time",),
        applies=lambda: not PULP_4,
    ),
    Suite(
        "cvxpy, GUROBI over gurobipy's interface",
        "cvxpy",
        "from cvxpy.tests.test_conic_solvers import TestGUROBI\n",
        environment=SHADOW,
        known={
            **{
                f"TestGUROBI.test_gurobi_{name}": CONES
                for name in (
                    *("conic_uses_vectorized_api", "environment", "time_limit_no_solution"),
                    *("mi_socp_1", "mi_socp_2", "mixed_integer_types", "socp_0", "socp_1"),
                    *("socp_2", "socp_3", "socp_4", "socp_bound_attr", "warm_start"),
                )
            },
            "TestGUROBI.test_gurobi_lp_3": "expects `infeasible_or_unbounded`; it is unbounded",
        },
    ),
    Suite(
        "pyomo, gurobi over gurobipy's interface",
        "pyomo",
        "from pyomo.contrib.solver.tests.solvers.test_solvers import *\n",
        arguments=("-k", "gurobi_direct or gurobi_persistent"),
        environment=SHADOW,
        known={
            "test_exp_0_gurobi_direct_minlp": "nonlinear functions are refused",
            "test_log_0_gurobi_direct_minlp": "nonlinear functions are refused",
            "test_fixed_vars_4_0_gurobi_direct_minlp": "divides by a variable",
            **{
                f"test_mutable_quadratic_{name}": PRODUCTS
                for name in (
                    *("coefficient_0_gurobi_persistent", "coefficient_1_gurobi_direct_minlp"),
                    *("objective_qcp_0_gurobi_persistent", "objective_qcp_1_gurobi_direct_minlp"),
                    *("objective_qp_0_gurobi_persistent", "objective_qp_1_gurobi_direct_minlp"),
                )
            },
        },
    ),
]


@dataclass
class Outcome:
    """Counts of a run, and what was not as it should be."""

    passed: int = 0
    skipped: int = 0
    known: int = 0
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0.0


def run(suite: Suite, quick: bool) -> Outcome:
    """Runs a suite in a fresh folder and process."""
    left_out = suite.slow if quick else ()
    arguments = list(suite.arguments)
    if left_out:
        words = " or ".join(left_out)
        arguments = ["-k", f"({arguments[1]}) and not ({words})" if arguments else f"not ({words})"]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "test_suite.py")
        path.write_text(suite.module)
        report = pathlib.Path(folder, "report.xml")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "ignore"]
        command += ["--rootdir", folder, f"--junitxml={report}", *arguments, str(path)]
        environment = {**os.environ, **suite.environment}
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=540
        )
        if not report.exists():
            return Outcome(wrong=[done.stdout + done.stderr])
        return read(report, suite, left_out)


def read(report: pathlib.Path, suite: Suite, left_out: tuple[str, ...]) -> Outcome:
    """Counts of a report, and names of tests that are not as the suite has them."""
    outcome = Outcome()
    used = set()
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        name = f"{case.get('classname', '')}.{case.get('name', '')}"
        outcome.seconds += float(case.get("time", 0))
        entry = next((known for known in suite.known if ("." + name).endswith("." + known)), None)
        if case.find("failure") is not None or case.find("error") is not None:
            if any(word in name for word in suite.either):
                outcome.known += 1
            elif entry is None:
                outcome.wrong.append(f"failed: {name}")
            else:
                outcome.known += 1
                used.add(entry)
        elif case.find("skipped") is not None:
            outcome.skipped += 1
        else:
            outcome.passed += 1
            if entry is not None:
                outcome.wrong.append(f"passed, though it is named as failing: {name}")
    for entry in suite.known:
        if entry not in used and not any(word in entry for word in left_out):
            outcome.wrong.append(f"named as failing, but not there: {entry}")
    return outcome


HEADER = f"{'suite':44}{'package':16}{'passed':>8}{'skipped':>9}{'known':>7}{'failed':>8}"


def table(rows: dict[tuple[str, str], str], out: pathlib.Path) -> None:
    """Writes the rows, and those of other versions that the file has, with the known failures."""
    kept: dict[tuple[str, str], str] = {}
    if out.exists():
        for line in out.read_text().splitlines():
            if line.startswith("Known"):
                break
            if not line or line.startswith(("#", "suite")):
                continue
            kept[line[:44].strip(), line[44:60].strip()] = line
    kept.update(rows)
    known = sorted({(name, why) for suite in SUITES for name, why in suite.known.items()})
    lines = ["# python python/bench/suites.py --out bench/results/dropin-suites.txt", "", HEADER]
    lines += [*(line for _, line in sorted(kept.items())), "", "Known failures:"]
    lines += [f"  {name}: {why}" for name, why in known]
    either = sorted({(name, why) for suite in SUITES for name, why in suite.either.items()})
    lines += ["", "Decided by time, known where they fail:"]
    lines += [f"  {name}: {why}" for name, why in either]
    out.write_text("\n".join(lines) + "\n")


def main() -> int:
    """Runs what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave out tests that take long")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("names", nargs="*", help="packages whose suites are run")
    arguments = parser.parse_args()
    rows: dict[tuple[str, str], str] = {}
    failed = False
    for suite in SUITES:
        if importlib.util.find_spec(suite.package) is None or not suite.applies():
            continue
        if arguments.names and suite.package not in arguments.names:
            continue
        version = f"{suite.package} {importlib.metadata.version(suite.package)}"
        if arguments.quick and version not in VERSIONS:
            print(f"{suite.name}: {version} is none of {', '.join(VERSIONS)}")
            continue
        outcome = run(suite, arguments.quick)
        row = f"{suite.name:44}{version:16}{outcome.passed:8}{outcome.skipped:9}"
        rows[suite.name, version] = row + f"{outcome.known:7}{len(outcome.wrong):8}"
        print(rows[suite.name, version], f"{outcome.seconds:8.1f} s", flush=True)
        for line in outcome.wrong:
            print("   ", line)
        failed = failed or bool(outcome.wrong)
    if arguments.out:
        table(rows, arguments.out)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
