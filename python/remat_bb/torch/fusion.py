"""Plans for Inductor: the units of the instance are the values that its kernels write to memory.

Inlined values (:mod:`remat_bb.torch.kernels`) are not nodes: each unit that reads them computes
them itself. The cost of a unit is the time of its reads and writes, plus arithmetic beyond that.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import torch

from .. import _native
from ..errors import InfeasibleBudget, LimitReached
from ._compat import fx
from .budget import budget_bytes
from .clock import measured_traffic
from .cost import Costs, Measured, Roofline, name_of
from .generated import Generated, replayed
from .host_operators import as_operators
from .instance import document
from .kernels import Operator, Peaks, fuse, inlined, is_pointwise, operator_name, peaks
from .partition import Call, Joint, storage_bytes
from .planner import Planned, Planner, Settings
from .report import Report
from .retained import widen
from .rewrite import Rewritten, rewrite
from .updates import with_optimizer


class Fused:
    """A joint graph with one call for each unit that Inductor's kernels write to memory.

    Attributes:
        calls: Units in execution order, with the names of their calls.
        forward: Number of the first units that make up the forward graph.
        results, held: As in the joint graph.
        inner: Calls that each unit runs first, by its name: inlined calls, and calls whose value
            the unit overwrites.
        own: The call of the joint graph with the name of each unit.
        alone: Names of calls that run as separate kernels.
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
        hidden |= self._overwritten(hidden, sizes, held)
        self.results, self.held = joint.results, joint.held
        self.forward = sum(k not in hidden for k in range(joint.forward))
        self.calls: list[Call] = []
        self.inner: dict[str, list[Call]] = {}
        self.own: dict[str, Call] = {}
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
            self.own[unit.name] = call
        self.alone = {call.name for call, o in zip(joint.calls, self.operators) if not o.elements}

    def _overwritten(self, hidden: set[int], sizes: list[int], held: set[int]) -> set[int]:
        """Places of values that their only reader overwrites in place. Successive kernels make
        both, and keeping the second value instead of the first is never worse."""
        readers: dict[int, set[int]] = {}
        for place in range(len(self.operators)):
            if place not in hidden:
                for part in (place, *self._parts(place, hidden)):
                    for k in self.operators[part].needs:
                        readers.setdefault(k, set()).add(place)
        found: set[int] = set()
        taken: set[int] = set()
        for place in reversed(range(len(self.operators))):
            if place in hidden or place in held or len(readers.get(place, ())) != 1:
                continue
            (reader,) = readers[place]
            operator = self.operators[reader]
            if (
                reader not in taken
                and sizes[reader] == sizes[place] > 0
                and operator.phase == self.operators[place].phase
                and is_pointwise(operator.node)
            ):
                found.add(place)
                taken.add(reader)
        return found

    def _parts(self, place: int, hidden: set[int]) -> list[int]:
        """Inlined operators that an operator reads directly or indirectly, in execution order."""
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

        Neighbouring units share an inlined value that they all read.
        """
        named = {call.name: call for call in self.calls}
        out: list[tuple[Any, ...]] = []
        made: set[str] = set()
        for step in steps:
            if step[0] != "compute" or step[1] not in named:
                out.append(step)
                continue
            inner = self.inner[step[1]]
            for call in inner:
                if call.name not in made:
                    made.add(call.name)
                    out.append(("compute", call.name))
            out.append(step)
            if any(name in self.alone for name in (step[1], *(c.name for c in inner))):
                made.clear()
        return out


class FusedCosts(Costs):
    """Costs of units: time of their reads and writes, plus arithmetic beyond that.

    Args:
        base: Costs of single calls, and workspaces of separate kernels.
        fused: The units.
    """

    def __init__(self, base: Costs, fused: Fused) -> None:
        self.base = base
        self.fused = fused
        self.rate = _bytes_per_second(base, fused)

    def nanoseconds(self, call: Call) -> int:
        inner = self.fused.inner[call.name]
        call = self.fused.own[call.name]
        alone = [part for part in (*inner, call) if part.name in self.fused.alone]
        found = float(sum(self.base.nanoseconds(part) for part in alone))
        fused = [part for part in (*inner, call) if part.name not in self.fused.alone]
        kept = {part.node for part in fused if part is not call}
        moved = {v for part in fused for v in (*part.needs, *part.inputs)} - kept
        if call.name not in self.fused.alone:
            moved.update(call.values)
        found += self._traffic(moved)
        for part in fused:
            own = self._traffic({*part.needs, *part.inputs, *part.values})
            found += max(0.0, self.base.nanoseconds(part) - own)
        return round(found)

    def _traffic(self, values: set[fx.Node]) -> float:
        """Time to read or write values once, in nanoseconds."""
        return 1e9 * sum(storage_bytes(v.meta.get("val")) for v in values) / self.rate

    def workspace_bytes(self, call: Call) -> int:
        parts = (*self.fused.inner[call.name], call)
        alone = [self.base.workspace_bytes(p) for p in parts if p.name in self.fused.alone]
        return max(alone, default=0)

    def estimated(self) -> dict[str, str]:
        return self.base.estimated()


_RATES: dict[str, float] = {}


def _bytes_per_second(base: Costs, fused: Fused) -> float:
    """Memory bandwidth of the device of a graph."""
    values = (v.meta.get("val") for call in fused.calls for v in call.values)
    device = next((v.device for v in values if isinstance(v, torch.Tensor)), torch.device("cpu"))
    roofline = base if isinstance(base, Roofline) else getattr(base, "roofline", None)
    if isinstance(roofline, Roofline):
        return roofline.bytes_per_second(device)
    if not isinstance(base, Measured):
        return Roofline().bytes_per_second(device)
    if str(device) not in _RATES:
        _RATES[str(device)] = measured_traffic(device)
    return _RATES[str(device)]


SLACK = 0.03
"""Share of a budget that may stay unused before a plan is made anew for what its kernels need."""


class FusionPlanner(Planner):
    """A partitioner for Inductor with units from its kernels.

    Attributes:
        replans: True if a second plan may be made for what the code of the first one needs.
        corrected: The budget of the step and that of the plan, while a second plan is made.
    """

    replans = True
    corrected: tuple[int, int] | None = None
    # The latest report, its graphs, and their costs, until the generated code is replayed.
    _made: tuple[Report, Rewritten, Costs] | None = None

    def __init__(self, settings: Settings, stop: str | None = None, replays: bool = False) -> None:
        super().__init__(settings, stop)
        self._replays = replays

    def __reduce__(self) -> Any:
        return (FusionPlanner, (self.settings, self.stop, self._replays))

    def fresh(self) -> FusionPlanner:
        return type(self)(self.settings, self.stop, self._replays)

    def uuid(self) -> str:
        # Inductor's cache must not hand out the code of the first plan for the second.
        return super().uuid() if self.corrected is None else f"{super().uuid()} {self.corrected}"

    def planned(self, joint: Joint) -> tuple[Report, Rewritten]:
        """The plan of a joint graph, and its graphs.

        The kernels may need more or less memory than the plan predicts. Unless the generated code
        is replayed, a second plan then gets the budget corrected by the difference, and the cheaper
        plan that fits is taken.

        Raises:
            InfeasibleBudget, LimitReached: as the solver does.
        """
        base, copying = self.settings.cost_model(), self.settings.copying()
        for call in joint.calls:
            widen(call.node, base.storages(call))
        base.settle(joint.calls)
        fused = Fused(joint)
        costs = FusedCosts(base, fused)
        gradients = self._accumulated(joint)
        # Updates in the backward pass exclude Inductor, so the costs stay.
        _, states = with_optimizer(self.settings, joint, gradients.places, base)
        fixed = joint.input_bytes() + self._extra_bytes(joint, states) + gradients.counted
        instance = _native.Instance(document(fused, costs, fixed, name_of(base), copying))
        if self.stop == "instance":
            raise Planned(instance)
        budget = budget_bytes(self.settings.budget, instance, joint)
        budget = self.ranks.check(instance, budget, fixed)
        allowed = budget
        if self.corrected is not None:
            budget, allowed = self.corrected
        if states is not None:
            states.check(budget, fixed - gradients.counted, gradients.bytes)
        inputs = {node.name for node in joint.primals}

        def made(allowed: int) -> tuple[_native.Plan, Rewritten, Peaks]:
            plan, _ = self._solved(instance, allowed, 1.0)
            graphs = rewrite(joint, fused.expanded(plan.steps))
            if graphs.host is not None and copying is not None:
                graphs.host.half = copying.link.duplex == "half"
            return plan, graphs, peaks(graphs, base, inputs)

        best = made(allowed)
        unused = budget - fixed - best[2].least
        # Processes that agree must solve equally often, so they skip the second plan.
        wrong = unused < 0 or (best[0].recomputed and unused > SLACK * budget)
        if wrong and not self.settings.agree and not self._replays:
            try:
                other = made(budget + unused)
            except (InfeasibleBudget, LimitReached):
                other = best

            def worth(plan: tuple[_native.Plan, Rewritten, Peaks]) -> tuple[int, float]:
                return max(0, plan[2].least + fixed - budget), plan[0].overhead

            best = min(best, other, key=worth)
        plan, graphs, found = best
        peak = found.planned
        report = Report(instance, plan, budget, peak.bytes + fixed, peak.at, fixed)
        self.ranks.sign(instance, plan, [graphs.forward.code, graphs.backward.code])
        report.digest = self.ranks.digest
        report.states_bytes = 0 if states is None else states.states_bytes
        report.accumulated_bytes = gradients.counted
        report.counts_workspaces = base.counts_workspaces
        report.accumulating_bytes = peak.bytes + fixed - gradients.counted + gradients.bytes
        as_operators(graphs)
        self._made = report, graphs, base
        return report, graphs

    def replay(self, report: Report, generated: Generated) -> None:
        """Puts the peak of the generated code into the report of the latest plan. The estimate
        stays if the code cannot be replayed."""
        made, self._made = self._made, None
        if made is None or made[0] is not report:
            return
        found = replayed(generated, made[1], made[2])
        if found is None:
            return
        before = report.predicted_bytes
        report.predicted_bytes = report.fixed_bytes + found.bytes
        report.predicted_at = found.at
        report.replayed = True
        report.accumulating_bytes += report.predicted_bytes - before
