"""Interfaces to gurobipy of other packages, which find it in the shadow folder."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from remat_bb.shadow import folder

pytest.importorskip("numpy")

PULP = """
import pulp
problem = pulp.LpProblem("p", pulp.LpMaximize)
x, y = pulp.LpVariable("x", 0, 9, cat="Integer"), pulp.LpVariable("y", 0)
problem += 3 * x + 2 * y + 1
problem += 2 * x + y <= 7.5, "first"
problem += x + 3 * y <= 6, "second"
solver = pulp.GUROBI(msg=0, timeLimit=60, gapRel=0)
assert solver.available() and problem.solve(solver) == 1
assert (x.varValue, y.varValue, pulp.value(problem.objective)) == (3.0, 1.0, 12.0)
problem += x >= 8
assert problem.solve(pulp.GUROBI(msg=0)) == -1
"""

CVXPY = """
import cvxpy as cp, numpy as np
z, w = cp.Variable(3, boolean=True), cp.Variable(2)
goal = cp.Problem(cp.Maximize(z @ [4, 5, 3]), [z @ [2, 3, 2] <= 4])
assert "GUROBI" in cp.installed_solvers()
assert goal.solve(solver=cp.GUROBI, TimeLimit=60) == 7.0 and list(z.value) == [1, 0, 1]
near = cp.Problem(cp.Minimize(cp.norm1(w - np.array([1, 2]))), [cp.sum(w) == 1])
assert abs(near.solve(solver=cp.GUROBI) - 2) < 1e-9
assert abs(abs(near.constraints[0].dual_value) - 1) < 1e-9
"""

PYOMO = """
import pyomo.environ as pyo
m = pyo.ConcreteModel()
m.x = pyo.Var(domain=pyo.NonNegativeIntegers, bounds=(0, 9))
m.y, m.b = pyo.Var(domain=pyo.NonNegativeReals), pyo.Var(domain=pyo.Binary)
m.goal = pyo.Objective(expr=3 * m.x + 2 * m.y - m.b + 1, sense=pyo.maximize)
m.one = pyo.Constraint(expr=2 * m.x + m.y <= 7.5 + m.b)
m.two = pyo.Constraint(expr=m.x + 3 * m.y <= 6)
for name in ("gurobi_direct", "gurobi_persistent", "appsi_gurobi"):
    m.x.value = m.y.value = None
    solver = pyo.SolverFactory(name)
    if name == "gurobi_persistent":
        solver.set_instance(m)
        solver.solve()
    else:
        solver.solve(m)
    assert (pyo.value(m.goal), m.x.value, m.y.value) == (13.0, 4.0, 0.5), name
"""


@pytest.mark.parametrize("package, code", [("pulp", PULP), ("cvxpy", CVXPY), ("pyomo", PYOMO)])
def test_an_interface_finds_the_module(package: str, code: str) -> None:
    pytest.importorskip(package)
    environment = {**os.environ, "PYTHONPATH": str(folder())}
    said = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True
    )
    assert said.returncode == 0, said.stderr
