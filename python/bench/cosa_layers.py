"""CoSA's schedules of layers, by its own program as it is. Each answer is replayed from the values
of its variables alone: rows, products, the maximum and the objective."""

from __future__ import annotations

import importlib
import math
import pathlib
from typing import Any

import gurobipy
import pytest

cosa = importlib.import_module("cosa.cosa")
constants = importlib.import_module("cosa.cosa_constants")
inputs = importlib.import_module("cosa.cosa_input_objs")

CONFIGS = pathlib.Path(cosa.__file__).parent / "configs"
# As in CoSA's `run_timeloop`, for the levels of Simba.
SHARES = [[1, 0, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 0.25, 0.75], [0.33, 0.33, 0.33]]
SECONDS = 20


def terms_of(expression: Any, values: dict[Any, float]) -> float:
    """Value of a linear or quadratic expression, product by product."""
    linear = expression
    parts = []
    if isinstance(expression, gurobipy.QuadExpr):
        linear = expression.getLinExpr()
        for k in range(expression.size()):
            one, two = expression.getVar1(k), expression.getVar2(k)
            parts.append(expression.getCoeff(k) * values[one] * values[two])
    parts += [linear.getCoeff(k) * values[linear.getVar(k)] for k in range(linear.size())]
    return math.fsum([*parts, linear.getConstant()])


def excess(value: float, sense: str, side: float) -> float:
    """Violation of a relation."""
    return {"<": value - side, ">": side - value, "=": abs(value - side)}[sense]


def replay(model: Any) -> None:
    """Checks the answer of a model."""
    values = {var: var.X for var in model.getVars()}
    for var, value in values.items():
        assert var.LB - 1e-6 <= value <= var.UB + 1e-6
        assert var.VType == "C" or value == round(value)
    for row in model.getConstrs():
        assert excess(terms_of(model.getRow(row), values), row.Sense, row.RHS) <= 1e-6
    assert model.NumQConstrs == 4
    for row in model.getQConstrs():
        assert excess(terms_of(model.getQCRow(row), values), row.QCSense, row.QCRHS) <= 1e-6
    by_name = {var.VarName: value for var, value in values.items()}
    assert abs(by_name["max_it"] - max(by_name["a"], by_name["b"])) <= 1e-6
    objective = terms_of(model.getObjective(), values)
    assert objective == pytest.approx(model.ObjVal, rel=1e-9)
    assert model.ObjBound <= objective + 1e-6


@pytest.mark.parametrize(
    ("layer", "rows", "optimal"),
    [
        ("dlrm_graph/_outputs_213.yaml", 415, True),
        ("alexnet_graph/_outputs_input.2.yaml", 431, True),
        ("resnet50_graph/_outputs_input.2.yaml", 761, False),
    ],
)
def test_layer(
    layer: str, rows: int, optimal: bool, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Schedules a layer."""
    models: list[Any] = []

    class Kept(gurobipy.Model):
        def optimize(self, *arguments: Any) -> None:
            models.append(self)
            self.Params.OutputFlag = 0
            self.Params.TimeLimit = SECONDS
            super().optimize(*arguments)

    monkeypatch.setattr(cosa, "Model", Kept)
    monkeypatch.chdir(tmp_path)
    problem = inputs.Prob(CONFIGS / "workloads" / layer)
    arch = inputs.Arch(CONFIGS / "arch" / "simba.yaml")
    factors, _, _, _ = cosa.cosa(
        problem, arch, constants._A, constants._B, SHARES, global_buf_idx=4
    )
    assert [len(f) for f in factors] == [len(f) for f in problem.prob_factors]
    model = models[0]
    assert model.NumConstrs == rows
    replay(model)
    assert not optimal or model.Status == gurobipy.GRB.OPTIMAL
