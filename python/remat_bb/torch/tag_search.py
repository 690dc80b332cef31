"""Search for tags within a budget, on the exact replay of the executor.

Starts are minimum cuts for a row of prices a byte, and the tags of other policies. The cheapest
start within the budget is improved: equal units of all layers change together first, single units
then. Work is counted in replays, so every rank finds the same tags.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import InfeasibleBudget
from .link import Link
from .step_graph import StepGraph
from .tag_replay import OFFLOADED, RECOMPUTED, SAVED, Executed, Layout, Tags, replay
from .tag_units import Units

PRICES = 12
"""Prices a byte for which minimum cuts are found, at most: just above those at which a kind of
units is recomputed rather than saved."""
COPY_SHARES = (0.02, 0.3)
"""Shares of the time of copies that count in minimum cuts."""


@dataclass(frozen=True)
class Tuning:
    """Limits of a search.

    Attributes:
        replays: Replays of one search for one budget, besides the starts.
        rounds: Passes over all units.
        starts: Starts that are improved, on each side of the budget.
        trials: Changes that are compared before the best one is made.
    """

    replays: int = 400
    rounds: int = 3
    starts: int = 3
    trials: int = 12


@dataclass(frozen=True)
class Start:
    """Tags from which a search begins.

    Attributes:
        name: What made them.
        states: States of units, the nearest to the tags.
        tags: By the place of a node.
        executed: Peak, time and host bytes of the tags.
    """

    name: str
    states: list[str]
    tags: dict[int, str]
    executed: Executed


@dataclass(frozen=True)
class Found:
    """Tags that were found.

    Attributes:
        tags: By the place of a node.
        executed: Peak, time and host bytes of them.
        start: Name of the start that they come from.
        replays: Replays that the search took.
    """

    tags: dict[int, str]
    executed: Executed
    start: str
    replays: int


class TagSearch:
    """Starts for one step, and searches from them for budgets.

    Args:
        step: The step.
        link: Link to the host; its copies count in the time.
        layout: Places of copies.
        offload: False to leave copies to the host out.
        host_bytes: Largest size of all copies on the host; ``None`` without a limit.
        policies: Tags of other policies by name.
        tuning: Limits.

    Attributes:
        least_bytes: Least peak among the starts.
        unplanned: What the step executes without tags.
    """

    def __init__(
        self,
        step: StepGraph,
        link: Link,
        *,
        layout: Layout = Layout(),
        offload: bool = True,
        host_bytes: int | None = None,
        policies: Mapping[str, Tags] | None = None,
        tuning: Tuning = Tuning(),
    ) -> None:
        self.step = step
        self.link = link
        self.layout = layout
        self.host_bytes = host_bytes
        self.tuning = tuning
        self.units = Units(step, link)
        self.offload = offload
        self._known: dict[tuple[str, ...], Executed] = {}
        self.unplanned = replay(step, {}, link, layout)
        self.starts = [Start("no tags", [SAVED] * len(self.units.units), {}, self.unplanned)]
        self._add_cuts()
        for name, tags in (policies or {}).items():
            self.add(name, tags)

    def add(self, name: str, tags: Tags) -> Executed:
        """Adds the tags of another policy, or of a solver, to the starts."""
        executed = replay(self.step, tags, self.link, self.layout)
        self.starts.append(Start(name, self.units.states(tags), dict(tags), executed))
        return executed

    def _add_cuts(self) -> None:
        seen: set[tuple[str, ...]] = set()
        for number, price in enumerate(self._prices()):
            for kept in (True, False):
                for share in (None, *COPY_SHARES) if self.offload else (None,):
                    states = self.units.cut(price, kept, share)
                    if tuple(states) in seen:
                        continue
                    seen.add(tuple(states))
                    words = ("layers" if kept else "", f"copies {share}" if share else "")
                    name = " ".join(w for w in ("cut", str(number), *words) if w)
                    self.starts.append(self._made(name, states))

    def _prices(self) -> list[float]:
        """Prices a byte, in nanoseconds."""
        units = [u for u in self.units.units if u.bytes and u.required and len(u.states) > 1]
        # Kinds of few bytes change little.
        total = sum(u.bytes for u in units)
        held: dict[float, int] = {}
        for unit in units:
            ratio = float(f"{unit.cost_ns / unit.bytes:.3g}")
            held[ratio] = held.get(ratio, 0) + unit.bytes
        found = sorted(ratio for ratio, size in held.items() if size * 200 >= total)
        thin = -(-len(found) // PRICES)
        chosen = [ratio * 1.01 + 1e-12 for ratio in found[::-1][:: max(thin, 1)][::-1]]
        return [*chosen, 1e6 * (chosen[-1] + 1)] if chosen else []

    def run(self, states: Sequence[str]) -> Executed:
        """What the executor makes of states of units."""
        key = tuple(states)
        if key not in self._known:
            self._known[key] = replay(self.step, self.units.tags(states), self.link, self.layout)
        return self._known[key]

    @property
    def least_bytes(self) -> int:
        return min(start.executed.peak_bytes for start in self.starts)

    def allowed(self, executed: Executed) -> bool:
        """Returns true if copies fit into host memory."""
        return self.host_bytes is None or executed.host_bytes <= self.host_bytes

    def best(self, budget: int) -> Found:
        """The cheapest tags that the search finds within a budget.

        Args:
            budget: Bytes of the counted peak.

        Raises:
            InfeasibleBudget: no tags were found within it; ``known_bytes`` is the least peak found.
        """
        before = len(self._known)
        fits = [s for s in self.starts if self.allowed(s.executed)]
        within = sorted((s for s in fits if s.executed.peak_bytes <= budget), key=_order)
        near = sorted((s for s in fits if s.executed.peak_bytes > budget), key=_excess)
        candidates = within[: self.tuning.starts] + self._lowered(within, near, budget)
        candidates = [c for c in candidates if c.executed.peak_bytes <= budget]
        if not candidates:
            least = min(s.executed.peak_bytes for s in (*self.starts, *self._lowered([], near, 0)))
            raise InfeasibleBudget(
                f"budget: no tags were found that keep {budget} bytes: the least counted peak is "
                f"{least} bytes",
                remedy=f"give at least {least} bytes",
                budget_bytes=budget,
                known_bytes=least,
            )
        best = min(candidates, key=_order)
        for start in sorted(candidates, key=_order)[: self.tuning.starts]:
            states = self._improved(start.states, budget)
            if states is not None:
                best = min(best, self._made(start.name, states), key=_order)
        return Found(best.tags, best.executed, best.name, len(self._known) - before)

    def _made(self, name: str, states: list[str]) -> Start:
        return Start(name, states, self.units.tags(states), self.run(states))

    def _lowered(self, within: list[Start], near: list[Start], budget: int) -> list[Start]:
        """Starts made of those that exceed the budget: lowered, and mixed by layers with the
        cheapest one within."""
        limit = within[0].executed.time_ns if within else None
        cheaper = [s for s in near if limit is None or s.executed.time_ns < limit]
        found = []
        for start in cheaper[: self.tuning.starts]:
            states, _ = self._lower(start.states, budget)
            found.append(self._made(start.name, states))
            for base in within[: self.tuning.starts]:
                for last in (False, True):
                    states = self._mixed(base.states, start.states, last, budget)
                    found.append(self._made(f"{start.name}, {base.name}", states))
        return found

    def _mixed(self, base: list[str], other: list[str], last: bool, budget: int) -> list[str]:
        """States of one start in the first or the last layers, as many as fit, and of another in
        the rest."""
        step, units = self.step, self.units.units
        layers = sorted({step.layer[u.members[0]] for u in units}, reverse=last)

        def mix(count: int) -> list[str]:
            chosen = set(layers[:count])
            inside = (step.layer[u.members[0]] in chosen for u in units)
            return [o if there else b for b, o, there in zip(base, other, inside)]

        low, high = 0, len(layers)
        while low + 1 < high:
            middle = (low + high) // 2
            if self._keeps(mix(middle), budget):
                low = middle
            else:
                high = middle
        return mix(low)

    # Moves.

    def _keeps(self, states: Sequence[str], budget: int) -> bool:
        executed = self.run(states)
        return executed.peak_bytes <= budget and self.allowed(executed)

    def _improved(self, states: Sequence[str], budget: int) -> list[str] | None:
        """States from a descent: changes that save time within the budget, dearest first."""
        now = list(states)
        if not self._keeps(now, budget):
            # Another policy may tag views as well, which units do not say.
            now, executed = self._lower(now, budget)
            if executed.peak_bytes > budget or not self.allowed(executed):
                return None
        left = self.tuning.replays
        groups = [numbers for numbers in self.units.kinds.values() if len(numbers) > 1]
        singles = [[number] for number in range(len(self.units.units))]
        for _ in range(self.tuning.rounds):
            start = self.run(now).time_ns
            for moves in (groups, singles):
                now, left = self._descent(now, moves, budget, left)
            if left <= 0 or self.run(now).time_ns == start:
                break
        return now

    def _descent(
        self, now: list[str], moves: Sequence[list[int]], budget: int, left: int
    ) -> tuple[list[str], int]:
        units = self.units.units
        trials = []
        for numbers in moves:
            for state in self._others(now, numbers):
                gain = sum(self._spent(k, now[k]) - self._spent(k, state) for k in numbers)
                if gain > 0:
                    trials.append((-gain, numbers, state))
        trials.sort(key=lambda each: each[0])
        time = self.run(now).time_ns
        for _, numbers, state in trials:
            if left <= 0:
                break
            changed = list(now)
            for k in numbers:
                if state in units[k].states:
                    changed[k] = state
            if changed == now:
                continue
            left -= 1
            executed = self.run(changed)
            fits = executed.peak_bytes <= budget and self.allowed(executed)
            if fits and executed.time_ns < time:
                now, time = changed, executed.time_ns
        return now, left

    def _others(self, now: Sequence[str], numbers: Sequence[int]) -> list[str]:
        first = self.units.units[numbers[0]]
        return [s for s in first.states if any(now[k] != s for k in numbers) and self._open(s)]

    def _open(self, state: str) -> bool:
        return self.offload or state != OFFLOADED

    def _spent(self, number: int, state: str) -> int:
        """Time that a state takes by itself; a quarter of a copy, which mostly runs beside
        operators."""
        unit = self.units.units[number]
        if state == RECOMPUTED:
            return unit.cost_ns
        return self.units.copying_ns(unit) // 4 if state == OFFLOADED else 0

    def _lower(self, states: Sequence[str], budget: int) -> tuple[list[str], Executed]:
        """States of a lower peak: units that are alive at the peak are changed, those with most
        bytes for their time first, until the peak fits."""
        now = list(states)
        executed = self.run(now)
        left = self.tuning.replays
        while executed.peak_bytes > budget and left > 0:
            best: tuple[float, list[str], Executed] | None = None
            for changed in self._relieving(now, executed):
                left -= 1
                result = self.run(changed)
                saved = executed.peak_bytes - max(result.peak_bytes, budget)
                if saved <= 0 or not self.allowed(result):
                    continue
                price = (result.time_ns - executed.time_ns) / saved
                if best is None or price < best[0]:
                    best = (price, changed, result)
            if best is None:
                break
            _, now, executed = best
        return now, executed

    def _relieving(self, now: list[str], executed: Executed) -> list[list[str]]:
        """Changes of units that are alive at the peak, of single ones and of all of their kind:
        those with most bytes for their time."""
        units = self.units.units
        trials = []
        for k, unit in enumerate(units):
            if not unit.bytes or executed.alive.isdisjoint(unit.members):
                continue
            for state in unit.states:
                if state != now[k] and self._open(state):
                    trials.append((self._spent(k, state) / unit.bytes, k, state))
        trials.sort()
        found: list[list[str]] = []
        kinds: set[tuple[tuple[str, ...], str]] = set()
        for _, k, state in trials:
            if len(found) >= self.tuning.trials:
                break
            own = units[k].kind
            if (own, state) in kinds:
                continue
            kinds.add((own, state))
            for numbers in ([k], self.units.kinds[own]):
                changed = list(now)
                for each in numbers:
                    if state in units[each].states and now[each] == now[k]:
                        changed[each] = state
                if changed not in found:
                    found.append(changed)
        return found


def _order(start: Start) -> tuple[int, int]:
    return start.executed.time_ns, start.executed.peak_bytes


def _excess(start: Start) -> tuple[int, int]:
    return start.executed.peak_bytes, start.executed.time_ns
