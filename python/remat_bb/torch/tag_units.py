"""Decisions of a policy of tags: one for each value, and starts of a search from minimum cuts.

A *unit* is a call with its picks, or a tensor with its changes in place. Its state is saved,
recomputed or offloaded. Views are always made again, because that takes neither time nor memory.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from .link import Link
from .step_graph import NO_LAYER, StepGraph, copy_ns
from .tag_replay import OFFLOADED, RECOMPUTED, SAVED, Tags


@dataclass(eq=False)
class Unit:
    """One decision.

    Attributes:
        members: Places of its nodes: calls first, then picks and waits.
        states: States that it may have.
        bytes: Bytes of its values.
        cost_ns: Time of one run.
        offload: Places of its nodes that are offloaded.
        copy_bytes: Bytes of these.
        needs: Numbers of units whose values it reads.
        required: True if the backward pass reads its values, also through views.
        kind: Equal for units at the same place of different layers.
        boundary: True if another layer reads its values.
    """

    members: list[int]
    states: tuple[str, ...]
    bytes: int
    cost_ns: int
    offload: list[int]
    copy_bytes: int
    needs: list[int] = field(default_factory=list)
    required: bool = False
    kind: tuple[str, ...] = ()
    boundary: bool = False


class Units:
    """The decisions of a step.

    Attributes:
        units: All decisions, in the order of the forward pass.
        fixed: Tags of nodes without a choice.
        kinds: Numbers of the units of each kind, in the order of the forward pass.
    """

    def __init__(self, step: StepGraph, link: Link) -> None:
        self.step = step
        self.link = link
        self.units: list[Unit] = []
        self.fixed: dict[int, str] = {}
        self._unit_of: dict[int, int] = {}
        self._read()
        self._connect()
        self.kinds: dict[tuple[str, ...], list[int]] = {}
        self._name_kinds()

    def tags(self, states: Sequence[str]) -> dict[int, str]:
        """Tags of all nodes that may carry one.

        Args:
            states: One for each unit.
        """
        found = dict(self.fixed)
        for unit, state in zip(self.units, states):
            for k in unit.members:
                found[k] = SAVED if state == OFFLOADED else state
            if state == OFFLOADED:
                for k in unit.offload:
                    found[k] = OFFLOADED
        return found

    def states(self, tags: Tags) -> list[str]:
        """The states nearest to tags that another policy gave."""
        found = []
        for unit in self.units:
            own = {tags.get(k, SAVED) for k in unit.members}
            state = RECOMPUTED if tags.get(unit.members[0]) == RECOMPUTED else SAVED
            state = OFFLOADED if OFFLOADED in own else state
            found.append(state if state in unit.states else SAVED)
        return found

    def _read(self) -> None:
        step = self.step
        joined = {k: parts for parts in step.together for k in parts}
        for k in range(len(step.nodes)):
            if not step.taggable[k] or k in self._unit_of:
                continue
            if step.inherits(k) and step.inputs[k][0] in self._unit_of:
                self._join(k, self._unit_of[step.inputs[k][0]])
                continue
            if step.aliases[k] and k not in joined:
                self.fixed[k] = SAVED if step.once[k] else RECOMPUTED
                continue
            unit = Unit([], (SAVED,), 0, 0, [], 0)
            self.units.append(unit)
            for part in joined.get(k, [k]):
                self._join(part, len(self.units) - 1)
        for unit in self.units:
            once = any(self.step.once[k] for k in unit.members)
            states = [SAVED] if once else [SAVED, RECOMPUTED]
            if unit.offload:
                states.append(OFFLOADED)
            unit.states = tuple(states)

    def _join(self, k: int, number: int) -> None:
        step, unit = self.step, self.units[number]
        self._unit_of[k] = number
        unit.members.append(k)
        unit.bytes += step.bytes(k)
        unit.cost_ns += step.cost_ns[k]
        if step.may_offload[k]:
            unit.offload.append(k)
            unit.copy_bytes += step.slot_bytes(k)

    def _connect(self) -> None:
        """Finds what units need, through views, and what the backward pass reads."""
        step = self.step
        under: list[frozenset[int]] = []
        for k in range(len(step.nodes)):
            below = frozenset().union(*(under[s] for s in step.inputs[k]))
            own = self._unit_of.get(k)
            if own is not None:
                unit = self.units[own]
                unit.needs = sorted({*unit.needs, *(below - {own})})
                self._note_readers(k, below, own)
                under.append(frozenset((own,)))
                continue
            view = k in self.fixed and step.aliases[k]
            if not view:
                self._note_readers(k, below, None)
            under.append(below if view else frozenset())

    def _note_readers(self, k: int, below: frozenset[int], own: int | None) -> None:
        step = self.step
        for number in below:
            unit = self.units[number]
            if number == own:
                continue
            unit.required |= step.backward[k]
            layer = step.layer[unit.members[0]]
            if not step.backward[k] and step.layer[k] != layer and step.layer[k] != NO_LAYER:
                unit.boundary = True

    def _name_kinds(self) -> None:
        """Names units by their module within the layer, their operator, and which of these they
        are."""
        step = self.step
        counts: dict[tuple[int, str, str], int] = {}
        for number, unit in enumerate(self.units):
            first = unit.members[0]
            layer = step.layer[first]
            module = step.module[first]
            if layer != NO_LAYER:
                module = module.split(".", 2)[2] if module.count(".") > 1 else "layer"
            word = str(step.nodes[first].target)
            place = counts.get((layer, module, word), 0)
            counts[(layer, module, word)] = place + 1
            where = "" if layer != NO_LAYER else "outside"
            unit.kind = (where, module, word, str(place), str(unit.bytes))
            self.kinds.setdefault(unit.kind, []).append(number)

    # Starts.

    def copying_ns(self, unit: Unit) -> int:
        """Time of both copies of a unit's values."""
        size, link = unit.copy_bytes, self.link
        return copy_ns(link, size, True) + copy_ns(link, size, False)

    def cut(self, price: float, keep_boundaries: bool, copy_share: float | None) -> list[str]:
        """States of least total price, if each byte that is saved has a price in nanoseconds.

        What the backward pass reads is saved, offloaded, or made from what it needs, which is then
        available as well. That is a closure of least weight, found by a minimum cut (Picard,
        Management Science 1976). Lifetimes are left out.

        Args:
            price: Nanoseconds a byte.
            keep_boundaries: Save what other layers read.
            copy_share: Share of the time of copies that counts, because most of it passes beside
                operators; ``None`` for no copies.
        """
        count = len(self.units)
        flow = _Flow(2 * count + 2)
        source, sink = 2 * count, 2 * count + 1
        cheaper = []
        for number, unit in enumerate(self.units):
            kept = price * unit.bytes
            cost = kept
            if OFFLOADED in unit.states and copy_share is not None:
                cost = min(kept, copy_share * self.copying_ns(unit))
            cheaper.append(cost < kept)
            gain = cost - unit.cost_ns
            fixed = keep_boundaries and unit.boundary
            if not unit.required:
                flow.add(number, sink, cost)
            if RECOMPUTED not in unit.states or fixed or gain <= 0:
                continue
            flow.add(source, count + number, gain)
            if not unit.required:
                flow.add(count + number, number, float("inf"))
            for need in unit.needs:
                if not self.units[need].required:
                    flow.add(count + number, need, float("inf"))
        reached = flow.reached(source, sink)
        states = []
        for number, unit in enumerate(self.units):
            if count + number in reached:
                states.append(RECOMPUTED)
            elif cheaper[number] and (unit.required or number in reached):
                states.append(OFFLOADED)
            else:
                states.append(SAVED)
        return states


class _Flow:
    """A maximum flow by shortest augmenting paths in levels (Dinic 1970)."""

    def __init__(self, count: int) -> None:
        self.edges: list[list[int]] = [[] for _ in range(count)]
        self.to: list[int] = []
        self.left: list[float] = []

    def add(self, a: int, b: int, capacity: float) -> None:
        for start, end, size in ((a, b, capacity), (b, a, 0.0)):
            self.edges[start].append(len(self.to))
            self.to.append(end)
            self.left.append(size)

    def _levels(self, source: int) -> dict[int, int]:
        levels = {source: 0}
        queue = deque((source,))
        while queue:
            n = queue.popleft()
            for edge in self.edges[n]:
                if self.left[edge] > 1e-6 and self.to[edge] not in levels:
                    levels[self.to[edge]] = levels[n] + 1
                    queue.append(self.to[edge])
        return levels

    def reached(self, source: int, sink: int) -> set[int]:
        """Nodes that the source reaches after a maximum flow."""
        while sink in (levels := self._levels(source)):
            tried = [0] * len(self.edges)
            while self._augment(source, sink, levels, tried):
                pass
        return set(levels)

    def _augment(self, source: int, sink: int, levels: dict[int, int], tried: list[int]) -> bool:
        """Sends flow along one path; false if there is none."""
        path: list[int] = []
        n = source
        while n != sink:
            edges = self.edges[n]
            while tried[n] < len(edges):
                edge = edges[tried[n]]
                ahead = self.to[edge]
                if self.left[edge] > 1e-6 and levels.get(ahead, -1) == levels[n] + 1:
                    break
                tried[n] += 1
            else:
                if not path:
                    return False
                back = path.pop()
                n = self.to[back ^ 1]
                tried[n] += 1
                continue
            path.append(edge)
            n = ahead
        size = min(self.left[edge] for edge in path)
        for edge in path:
            self.left[edge] -= size
            self.left[edge ^ 1] += size
        return True
