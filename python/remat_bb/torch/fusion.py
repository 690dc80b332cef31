"""Plans for Inductor: what its kernels write to memory are the units of the instance.

Inlined values (:mod:`remat_bb.torch.kernels`) are no nodes: each unit that reads them computes them
itself. A unit costs the bytes that it reads and writes, and its arithmetic beyond that.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import torch

from .. import _native
from ..errors import InfeasibleBudget, LimitReached
from . import _compat
from .cost import Costs, Measured, Roofline
from .instance import document
from .kernels import Operator, Peaks, fuse, inlined, operator_name, peaks
from .partition import Call, Joint, storage_bytes
from .planner import Planned, Planner, Report, budget_bytes
from .rewrite import Rewritten, rewrite


class Fused:
    """A joint graph whose calls are the units that Inductor's kernels write to memory.

    Attributes:
        calls: Units in execution order, named as the calls that they are made of.
        results: As those of the joint graph.
        inner: Inlined calls that each unit runs first, by its name.
        alone: Names of units that are kernels of their own.
    """

    def __init__(self, joint: Joint) -> None:
        place = {call: k for k, call in enumerate(joint.calls)}
        self.operators = [
            Operator(
                call.node,
                sorted({place[joint.call_of[v]] for v in call.needs}),
                int(k >= joint.forward),
            )
            for k, call in enumerate(joint.calls)
        ]
        fuse(self.operators)
        held = {
            k
            for k, call in enumerate(joint.calls)
            if call.once
            or call.random
            or len(call.values) != 1
            or call.values[0] is not call.node
            or call.values[0] in joint.results
            or operator_name(call.node) == "inductor_random"
        }
        sizes = [sum(storage_bytes(v.meta.get("val")) for v in call.values) for call in joint.calls]
        hidden = inlined(self.operators, sizes, held)
        self.results = joint.results
        self.calls: list[Call] = []
        self.inner: dict[str, list[Call]] = {}
        self.alone: set[str] = set()
        for k, call in enumerate(joint.calls):
            if k in hidden:
                continue
            parts = self._parts(k, hidden)
            calls = [joint.calls[p] for p in parts]
            unit = call
            if parts:
                inner = {joint.calls[p].node for p in parts}
                needs = dict.fromkeys(v for c in (*calls, call) for v in c.needs)
                inputs = dict.fromkeys(v for c in (*calls, call) for v in c.inputs)
                needed = [v for v in needs if v not in inner]
                unit = replace(call, needs=needed, inputs=list(inputs))
            self.calls.append(unit)
            self.inner[unit.name] = calls
            if not self.operators[k].elements:
                self.alone.add(unit.name)

    def _parts(self, place: int, hidden: set[int]) -> list[int]:
        """Inlined operators that one reads, directly and through others, in execution order."""
        found: set[int] = set()
        stack = [place]
        while stack:
            for k in self.operators[stack.pop()].needs:
                if k in hidden and k not in found:
                    found.add(k)
                    stack.append(k)
        return sorted(found)

    def expanded(self, steps: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Steps of a plan over the units as steps over the calls of the joint graph.

        Neighbours that read the same inlined value share it.
        """
        named = {call.name: call for call in self.calls}
        out: list[tuple[Any, ...]] = []
        made: set[str] = set()
        for step in steps:
            if step[0] != "compute" or step[1] not in named:
                out.append(step)
                continue
            for call in self.inner[step[1]]:
                if call.name not in made:
                    made.add(call.name)
                    out.append(("compute", call.name))
            out.append(step)
            if step[1] in self.alone:
                made.clear()
        return out


class FusedCosts(Costs):
    """Costs of units: bytes that they read and write, and what arithmetic takes beyond that.

    Args:
        base: Costs of single calls; workspaces of kernels of their own are theirs.
        fused: The units.
    """

    def __init__(self, base: Costs, fused: Fused) -> None:
        self.base = base
        self.fused = fused
        self.rate = _bytes_per_second(base, fused)
        self.units = {call.name: call for call in fused.calls}

    def nanoseconds(self, call: Call) -> int:
        inner = self.fused.inner.get(call.name)
        if inner is None or call.name in self.fused.alone:
            return self.base.nanoseconds(call)
        unit = self.units[call.name]
        values = [v.meta.get("val") for v in (*unit.needs, *unit.inputs, *unit.values)]
        found = 1e9 * sum(storage_bytes(v) for v in values) / self.rate
        for part in (*inner, call):
            values = [n.meta.get("val") for n in (*part.node.all_input_nodes, part.node)]
            traffic = 1e9 * sum(storage_bytes(v) for v in values) / self.rate
            found += max(0.0, self.base.nanoseconds(part) - traffic)
        return round(found)

    def workspace_bytes(self, call: Call) -> int:
        return self.base.workspace_bytes(call) if call.name in self.fused.alone else 0


_RATES: dict[str, float] = {}
RATE_BYTES = 1 << 24
"""Bytes of the tensor whose negation measures the traffic with memory."""


def _bytes_per_second(base: Costs, fused: Fused) -> float:
    """Traffic with the memory of the device that a graph runs on."""
    roofline = base if isinstance(base, Roofline) else getattr(base, "roofline", None)
    if isinstance(roofline, Roofline):
        return roofline.bytes_per_second
    if not isinstance(base, Measured):
        return Roofline().bytes_per_second
    values = (v.meta.get("val") for call in fused.calls for v in call.values)
    device = next((v.device for v in values if isinstance(v, torch.Tensor)), torch.device("cpu"))
    if str(device) not in _RATES:
        _RATES[str(device)] = _measured_rate(device)
    return _RATES[str(device)]


def _measured_rate(device: torch.device) -> float:
    def wait() -> None:
        if device.type == "cuda":
            torch.cuda.synchronize(device)

    best = math.inf
    with _compat.unset_fake_temporarily(), torch.no_grad():
        source = torch.zeros(RATE_BYTES // 4, device=device)
        target = torch.empty_like(source)
        for _ in range(5):
            wait()
            start = time.perf_counter()
            torch.neg(source, out=target)
            wait()
            best = min(best, time.perf_counter() - start)
    return 2 * RATE_BYTES / best


SLACK = 0.03
"""Share of a budget that may stay unused before a plan is made anew for what its kernels need."""


class FusionPlanner(Planner):
    """A partitioner for Inductor, whose units are those that its kernels write."""

    def __reduce__(self) -> Any:
        return (FusionPlanner, (self.settings, self.stop))

    def planned(self, joint: Joint) -> tuple[Report, Rewritten]:
        """The plan of a joint graph, and its graphs.

        Kernels of the plan may need more or less than it says: it is made once more, for the budget
        and the difference, and the cheaper one of those that fit is taken.

        Raises:
            InfeasibleBudget, LimitReached: as the solver does.
        """
        base = self.settings.cost_model()
        fused = Fused(joint)
        costs = FusedCosts(base, fused)
        fixed = joint.input_bytes() + self._extra_bytes(joint)
        instance = _native.Instance(document(fused, costs, fixed, "training step"))
        if self.stop == "instance":
            raise Planned(instance)
        budget = budget_bytes(self.settings.budget, instance, joint)
        inputs = {node.name for node in joint.primals}

        def made(allowed: int) -> tuple[_native.Plan, Rewritten, Peaks]:
            plan = self._solved(instance, allowed)
            graphs = rewrite(joint, fused.expanded(plan.steps))
            return plan, graphs, peaks(graphs, base, inputs)

        best = made(budget)
        unused = budget - fixed - best[2].least
        if unused < 0 or (best[0].recomputed and unused > SLACK * budget):
            try:
                other = made(budget + unused)
            except (InfeasibleBudget, LimitReached):
                other = best

            def worth(plan: tuple[_native.Plan, Rewritten, Peaks]) -> tuple[int, float]:
                return max(0, plan[2].least + fixed - budget), plan[0].overhead

            best = min(best, other, key=worth)
        plan, graphs, found = best
        peak = found.planned
        return Report(instance, plan, budget, peak.bytes + fixed, peak.at, fixed), graphs
