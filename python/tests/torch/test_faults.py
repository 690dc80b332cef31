"""Faults planted in the rewriting, each of which the comparison with eager torch has to see."""

import pytest
import torch
from models import MODELS
from steps import eager_step, planned_step

import remat_bb
import remat_bb.torch as rt
from remat_bb.torch import memory, opaque, planner, rewrite


def differences(name: str) -> list[str]:
    """Differences of a planned step of a model from eager torch."""
    make, batch_of, budget = MODELS[name]
    model, batch = make(), batch_of()
    expected = eager_step(model, batch)
    step = rt.compile(model, budget=budget, costs="roofline", time_limit=2.0)
    found = planned_step(model, step, batch).differences(expected)
    assert step.report.plan.recomputed
    return found


def test_dropout_drawn_anew(monkeypatch):
    monkeypatch.setattr(rewrite.Emitter, "_random", lambda self, call: None)
    monkeypatch.setattr(memory, "STATE_COPIES", 0)
    found = differences("mlp dropout")
    assert found and "loss" not in found, "masks of the backward pass are others: gradients only"


def test_statistics_not_written(monkeypatch):
    run = rewrite.Emitter.run

    def without_copies(self, call):
        if call.node.target is not torch.ops.aten.copy_.default:
            run(self, call)

    monkeypatch.setattr(rewrite.Emitter, "run", without_copies)
    assert any("running_mean" in name for name in differences("resnet"))


def test_statistics_written_twice(monkeypatch):
    run = rewrite.Emitter.run

    def twice(self, call):
        run(self, call)
        if call.node.target is torch.ops.aten.add.Tensor and not call.needs:
            self.graph.call_function(torch.ops.aten.add_.Tensor, (self.read(call.node), 1))

    monkeypatch.setattr(rewrite.Emitter, "run", twice)
    assert any("num_batches_tracked" in name for name in differences("resnet"))


def test_a_value_freed_too_early(monkeypatch):
    """Memory of a saved tensor that is handed out again before its last reader."""
    old = planner.rewrite

    def hasty(joint, steps):
        graphs = old(joint, steps)
        graph = graphs.forward.graph
        *_, end = graph.nodes
        saved = [n for n in end.args[0][graphs.outputs :] if n.op == "call_function"]
        with graph.inserting_before(end):
            graph.call_function(torch.ops.aten.fill_.Scalar, (saved[0], 0.5))
        graphs.forward.recompile()
        return graphs

    monkeypatch.setattr(planner, "rewrite", hasty)
    assert differences("mlp")


def test_a_recomputation_left_out(monkeypatch):
    """A tensor that is kept where the plan computes it again is seen by the replay."""
    old = planner.rewrite
    left_out = []

    def forgetful(joint, steps):
        seen, kept = set(), []
        for step in steps:
            again = step[0] == "compute" and step[1] in seen
            if again and not left_out and step[1].startswith("addmm"):
                left_out.append(step[1])
                continue
            seen.add(step[1] if step[0] == "compute" else "")
            kept.append(step)
        return old(joint, kept)

    monkeypatch.setattr(planner, "rewrite", forgetful)
    monkeypatch.setattr(planner, "TIGHTENINGS", 0)
    make, batch_of, _ = MODELS["mlp"]
    with pytest.raises(remat_bb.InfeasibleBudget, match="once it is code"):
        # The budget is what the plan needs, to the byte.
        plan = rt.plan(make(), batch_of(), "60%", costs="roofline", time_limit=2.0)
        left_out.clear()
        budget = plan.peak_memory_bytes
        rt.compile(make(), budget=budget, costs="roofline", time_limit=2.0)(*batch_of())
    assert left_out


def test_memory_that_is_not_let_go_of(monkeypatch):
    """A saved tensor that the caller holds on to is seen by the measurement."""
    make, batch_of, budget = MODELS["mlp"]
    model, batch = make(), batch_of()
    held = []
    old = planner.rewrite

    def leaking(joint, steps):
        graphs = old(joint, steps)
        graph = graphs.forward.graph
        first = next(n for n in graph.nodes if n.target is torch.ops.aten.gelu.default)
        with graph.inserting_after(first):
            graph.call_function(lambda x: held.append(x), (first,))
        graphs.forward.recompile()
        return graphs

    monkeypatch.setattr(planner, "rewrite", leaking)
    monkeypatch.setattr(planner, "peak", lambda *_: memory.Peak(1, "nothing"))
    step = rt.compile(model, budget=budget, costs="roofline", time_limit=2.0)
    measured, _ = rt.measure(step, *batch, repeats=0)
    assert held and measured > step.report.plan.peak_memory_bytes


def test_an_operator_without_schema_is_refused():
    joint = torch.fx.symbolic_trace(lambda x: x + 1)
    with pytest.raises(opaque.UnsupportedGraph, match="no operator of torch.ops"):
        for node in joint.graph.nodes:
            if node.op == "call_function":
                opaque.check(node)
