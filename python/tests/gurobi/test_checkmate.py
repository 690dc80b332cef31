"""Checkmate's published program in gurobipy's syntax: recognised, and solved as such."""

from __future__ import annotations

import pytest

import remat_bb

pytest.importorskip("numpy")
gp = pytest.importorskip("remat_bb.gurobi")

from checkmate import published  # noqa: E402


@pytest.mark.parametrize("name, share", [("zoo:chain?n=9", 0.7), ("zoo:vgg16", 0.8)])
def test_it_is_recognised_and_has_the_optimum_of_its_graph(name: str, share: float) -> None:
    instance = remat_bb.Instance(name)
    nodes = instance.to_dict()["nodes"]
    plan = remat_bb.solve(instance, int(share * instance.peak_memory_bytes))
    model, r, rows = published(gp, nodes, plan.budget_bytes - instance.fixed_bytes)
    assert rows == model.NumConstrs > len(nodes) ** 2
    model.Params.MIPGap = 0
    model.optimize()
    assert model._answer.recognised == ("checkmate", len(nodes))
    assert model.Status == gp.GRB.OPTIMAL and model.ObjVal == plan.objective
    # What is computed, read from the variables, is a plan of that cost.
    computed = [i for (_, i), var in r.items() if var.X == 1.0]
    assert sum(nodes[i]["cost"] for i in computed) == plan.objective
    assert set(var.X for var in r.values()) == {0.0, 1.0}


def test_a_program_without_a_plan_is_infeasible() -> None:
    instance = remat_bb.Instance("zoo:chain?n=9")
    nodes = instance.to_dict()["nodes"]
    model, _, _ = published(gp, nodes, max(n["output_bytes"] for n in nodes) * 1.5)
    model.optimize()
    assert model.Status == gp.GRB.INFEASIBLE and model.SolCount == 0


def test_a_second_solve_with_rows_removed_starts_from_the_first() -> None:
    """Checkmate's seeding: the program is solved with rows that force a known schedule, then
    without them."""
    instance = remat_bb.Instance("zoo:chain?n=9")
    nodes = instance.to_dict()["nodes"]
    budget = 0.8 * instance.peak_memory_bytes - instance.fixed_bytes
    model, r, _ = published(gp, nodes, budget)
    n = len(nodes)
    # Everything is computed again in every stage as far as it may be.
    seeds = [model.addLConstr(r[t, 0], gp.GRB.EQUAL, 1) for t in range(1, 4)]
    model.optimize()
    seeded = model.ObjVal
    model.remove(seeds)
    model.optimize()
    free, _, _ = published(gp, nodes, budget)
    free.optimize()
    assert model.ObjVal == free.ObjVal < seeded
    assert model.NumConstrs == free.NumConstrs and n > 0
