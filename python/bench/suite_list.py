"""The suites that :mod:`suites` runs: what each is, and its failures that are known, with reasons.

Every test that fails is named, and every one that is named fails.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import pathlib
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
FOLDER = pathlib.Path(__file__).parent
SHADOW = {"PYTHONPATH": f"{shadow.folder()}{os.pathsep}{FOLDER}"}


AT_ONCE = "edits take effect at once, without `update`"
FUNCTIONS = "nonlinear functions are refused"


VERSIONS = (
    *("pulp 3.3.2", "pulp 4.2.0", "cvxpy 1.9.3", "scipy 1.17.1", "pyomo 6.10.1"),
    *("gurobipy-pandas 1.2.2", "gurobi-optimods 3.2.0", "linopy 0.10.1"),
    *("cosa-scheduler 0.1.0", "stream-dse 2.1.1"),
)
"""Versions whose failures are named here. ``--quick`` leaves others out."""


@dataclass(frozen=True)
class Suite:
    """A suite: the module that is run, or files of a source package; arguments of pytest; the tests
    that are known to fail with their reasons, those that time decides, and files that are not run;
    links of the command that stand on the path."""

    name: str
    package: str
    module: str = ""
    arguments: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    known: dict[str, str] = field(default_factory=dict)
    either: dict[str, str] = field(default_factory=dict)
    slow: tuple[str, ...] = ()
    applies: Callable[[], bool] = lambda: True
    source: str = ""
    paths: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    long: bool = False


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
        known={
            "test_result": "expects the words `HiGHS Status`",
            "test_mip_rel_gap_passdown": "expects a gap above 0 for 1%; the optimum is proven",
        },
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
        known={"test_mutable_quadratic_objective_qp_7_highs": "looks into the object of highspy"},
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
            f"test_mutable_quadratic_{name}_0_gurobi_persistent": PRODUCTS
            for name in ("coefficient", "objective_qcp")
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
                )
            },
        },
    ),
    Suite(
        "gurobipy-pandas, its own tests",
        "gurobipy-pandas",
        source="gurobipy-pandas==1.2.2",
        paths=("tests",),
        environment=SHADOW,
        known={
            **{
                f"TestNonInteractiveMode.test_{name}": AT_ONCE
                for name in (
                    *("add_constrs_accessor_args", "add_constrs_accessor_expression"),
                    *("add_constrs_function", "add_vars_accessor", "add_vars_function_dataframe"),
                    *("add_vars_function_index", "add_vars_function_series"),
                )
            },
            **{
                f"TestNonlinear.test_{n}": FUNCTIONS for n in ("eval", "frame", "inequality", "log")
            },
            "TestNonlinearFromDataFrame.test_varseries_nlseries": FUNCTIONS,
        },
    ),
    Suite(
        "gurobipy-pandas, examples of its documentation",
        "gurobipy-pandas",
        (FOLDER / "documented_examples.py").read_text(),
        environment=SHADOW,
        long=True,
    ),
    Suite(
        "gurobi-optimods, its own tests",
        "gurobi-optimods",
        source="gurobi-optimods==3.2.0",
        paths=("tests",),
        arguments=("--ignore-glob=*opf*",),
        environment=SHADOW,
        left_out=(("opf", "optimal power flow: products of continuous variables"),),
        known={
            **{
                name: "reads the log of Gurobi"
                for name in (
                    *("TestOptimodDecorator.test_basic", "TestOptimodDecorator.test_logfile"),
                    *("TestOptimodDecorator.test_time_limit", "TestMVPBasic.test_logfile"),
                    *("TestMVPBasic.test_non_verbose", "TestMVPBasic.test_outputflag"),
                    "TestMVPBasic.test_params",
                )
            },
            "TestMVPFeatures.test_min_short_0": "expects the same values below 1e-8 of two models",
            "TestOverrideParams.test_user_override_worklimit": "solved within a limit of 0",
            "TestMaxFlow2.test_pandas": "another optimal flow than the one that is written down",
            "TestMinCostFlow3.test_networkx": "another optimal flow than the one written down",
            "TestMinCostFlow3.test_pandas": "another optimal flow than the one written down",
        },
        either={"test_large_matrix_time_limit": "half a second for 9,900 products of binaries"},
        long=True,
    ),
    Suite(
        "linopy, gurobi over gurobipy's interface",
        "linopy",
        source="linopy==0.10.1",
        paths=("test",),
        arguments=("-k", "gurobi", "--ignore=test/remote"),
        environment=SHADOW,
        known={
            f"test_quadratic_model_wo_constraint[{kind}-gurobi-mps-{names}]": (
                "HiGHS writes the file without the columns that have no cost and no row"
            )
            for kind in ("legacy", "v1")
            for names in ("False", "True")
        },
        long=True,
    ),
    Suite(
        "linopy, cbc",
        "linopy",
        source="linopy==0.10.1",
        paths=("test",),
        arguments=("-k", "cbc and not quadratic", "--ignore=test/remote"),
        links=("cbc",),
        left_out=(("tests of quadratic models", "CBC solves none"),),
        long=True,
    ),
    Suite(
        "cosa-scheduler, layers of networks",
        "cosa-scheduler",
        (FOLDER / "cosa_layers.py").read_text(),
        environment=SHADOW,
        long=True,
    ),
    Suite(
        "stream-dse, matrix products",
        "stream-dse",
        (FOLDER / "stream_products.py").read_text(),
        environment=SHADOW,
        long=True,
    ),
]
