"""The best policy of JAX over names: which values of ``checkpoint_name`` to save within a budget.

``jax.checkpoint`` with ``save_only_these_names`` computes everything again in the backward pass
except values with these names. Each choice of names is therefore another program. This module
traces the program of each choice, and judges it by its replayed cost and peak.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from . import _native
from .errors import InfeasibleBudget, InvalidArgument

SAVE, DROP, OFFLOAD = "save", "drop", "offload"
MOST = 512
"""Programs that are traced at most."""

Choice = tuple[str, ...]
"""What happens to each name, in the order of the names."""


@dataclass(frozen=True)
class Judged:
    """A program for one choice.

    Attributes:
        choice: What happens to each name.
        cost: Time of the step in nanoseconds.
        peak_memory_bytes: Its peak, inputs included.
    """

    choice: Choice
    cost: int
    peak_memory_bytes: int


@dataclass(frozen=True)
class NamesPlan:
    """The names to save within a budget.

    Attributes:
        save, offload, drop: Names by what happens to their values.
        policy: The policy for ``jax.checkpoint``.
        budget_bytes: The budget.
        peak_memory_bytes: Peak of the program with this policy.
        overhead: Extra time over the program that saves everything, as a fraction.
        status: ``"optimal"`` if every choice was traced, else ``"feasible"``.
        programs: Number of programs that were traced.
        frontier: Choices that no other one beats in both time and memory, by time.
    """

    save: tuple[str, ...]
    offload: tuple[str, ...]
    drop: tuple[str, ...]
    policy: Any
    budget_bytes: int
    peak_memory_bytes: int
    overhead: float
    status: str
    programs: int
    frontier: tuple[Judged, ...]

    def __str__(self) -> str:
        size = _native.format_bytes
        words = f"save {', '.join(self.save) or 'no name'}"
        if self.offload:
            words += f", offload {', '.join(self.offload)}"
        return (
            f"{words}: peak {size(self.peak_memory_bytes)} of {size(self.budget_bytes)}, "
            f"{self.overhead:.2%} more time ({self.status} of {self.programs} programs)"
        )


def names_of(jaxpr: Any, inner: Callable[[Any], Iterable[Any]]) -> list[str]:
    """Names of a program, in the order in which they first occur.

    Args:
        inner: The programs within the parameters of an equation.
    """
    found: dict[str, None] = {}
    for equation in jaxpr.eqns:
        if equation.primitive.name == "name":
            found[str(equation.params["name"])] = None
        for body in inner(equation.params):
            found.update(dict.fromkeys(names_of(getattr(body, "jaxpr", body), inner)))
    return list(found)


class Search:
    """Choices for names, traced when they are needed.

    Args:
        export: The instance of the program with a policy.
        policy: The policy of names to save and names to offload; both empty saves nothing.
        names: The names.
        offloads: True if values may be offloaded.
        most: Programs that are traced at most.
    """

    def __init__(
        self,
        export: Callable[[Any], _native.Instance],
        policy: Callable[[Sequence[str], Sequence[str]], Any],
        names: Sequence[str],
        offloads: bool,
        most: int,
    ) -> None:
        self._export = export
        self.policy = policy
        self.names = tuple(names)
        self.kinds = (SAVE, DROP, OFFLOAD) if offloads else (SAVE, DROP)
        self._most = most
        self.judged: dict[Choice, Judged] = {}

    def of(self, choice: Choice, kind: str) -> tuple[str, ...]:
        """Names of a choice with one outcome."""
        return tuple(name for name, each in zip(self.names, choice) if each == kind)

    def judge(self, choice: Choice) -> Judged:
        """Time and peak of the program for a choice."""
        if choice not in self.judged:
            policy = self.policy(self.of(choice, SAVE), self.of(choice, OFFLOAD))
            instance = self._export(policy)
            self.judged[choice] = Judged(choice, cost_of(instance), instance.peak_memory_bytes)
        return self.judged[choice]

    def run(self, budget: int) -> bool:
        """Judges all choices if these are few, else those on a way from all names saved to one that
        fits, and its neighbours. Returns true for all."""
        if len(self.kinds) ** len(self.names) <= self._most:
            for choice in itertools.product(self.kinds, repeat=len(self.names)):
                self.judge(choice)
            return True
        # The change that frees most memory for its time comes first.
        here = self.judge((SAVE,) * len(self.names))
        self.judge((DROP,) * len(self.names))
        while here.peak_memory_bytes > budget and len(self.judged) < self._most:
            near = [self.judge(choice) for choice in self._near(here.choice, onward=True)]
            better = [each for each in near if each.peak_memory_bytes < here.peak_memory_bytes]
            if not better:
                break
            start = here
            here = max(better, key=lambda each: _rate(start, each))
        self._descend(budget)
        return False

    def _descend(self, budget: int) -> None:
        """Changes one name or two at a time while a cheaper choice fits."""
        while (best := self.best(budget)) is not None:
            for choice in self._near(best.choice, onward=False):
                if len(self.judged) >= self._most:
                    return
                self.judge(choice)
            found = self.best(budget)
            if found is None or found.choice == best.choice:
                return

    def _near(self, choice: Choice, onward: bool) -> list[Choice]:
        """Choices with one other outcome; with ``onward`` only names that are saved change, else
        also pairs of names exchange their outcomes."""
        found = []
        for k, now in enumerate(choice):
            if onward and now != SAVE:
                continue
            found += [(*choice[:k], kind, *choice[k + 1 :]) for kind in self.kinds if kind != now]
        if not onward:
            for i, j in itertools.combinations(range(len(choice)), 2):
                if choice[i] != choice[j]:
                    other = list(choice)
                    other[i], other[j] = other[j], other[i]
                    found.append(tuple(other))
        return found

    def best(self, budget: int) -> Judged | None:
        """The cheapest choice within a budget, and of these the one of least peak."""
        fitting = [x for x in self.judged.values() if x.peak_memory_bytes <= budget]
        return min(fitting, key=lambda x: (x.cost, x.peak_memory_bytes), default=None)

    def frontier(self) -> tuple[Judged, ...]:
        """Choices that no other judged one beats."""
        found: list[Judged] = []
        for each in sorted(self.judged.values(), key=lambda x: (x.cost, x.peak_memory_bytes)):
            if not found or each.peak_memory_bytes < found[-1].peak_memory_bytes:
                found.append(each)
        return tuple(found)


def _rate(before: Judged, after: Judged) -> float:
    return (before.peak_memory_bytes - after.peak_memory_bytes) / max(1, after.cost - before.cost)


def cost_of(instance: _native.Instance) -> int:
    """Cost of each node once, in nanoseconds."""
    return sum(int(node.get("cost", 0)) for node in instance.to_dict()["nodes"])


def solved(search: Search, budget: int, base_cost: int) -> NamesPlan:
    """The plan of a search.

    Raises:
        InvalidArgument: the program has no names.
        InfeasibleBudget: no traced choice fits.
    """
    if not search.names:
        raise InvalidArgument(
            "names: the program has no names",
            remedy='mark values in it: jax.ad_checkpoint.checkpoint_name(value, "attention")',
        )
    complete = search.run(budget)
    best = search.best(budget)
    if best is None:
        least = min(search.judged.values(), key=lambda x: x.peak_memory_bytes)
        saved = ", ".join(search.of(least.choice, SAVE)) or "no name"
        every = "no choice of names" if complete else "no choice of names that was tried"
        raise InfeasibleBudget(
            f"{every} fits into {_native.format_bytes(budget)}; to save {saved} needs "
            f"{_native.format_bytes(least.peak_memory_bytes)}",
            remedy=f"give {least.peak_memory_bytes} bytes, or name values between the present ones",
            budget_bytes=budget,
            needed_bytes=least.peak_memory_bytes,
        )
    save, offload, drop = (search.of(best.choice, kind) for kind in (SAVE, OFFLOAD, DROP))
    return NamesPlan(
        save=save,
        offload=offload,
        drop=drop,
        policy=search.policy(save, offload),
        budget_bytes=budget,
        peak_memory_bytes=best.peak_memory_bytes,
        overhead=best.cost / max(1, base_cost) - 1.0,
        status="optimal" if complete else "feasible",
        programs=len(search.judged),
        frontier=search.frontier(),
    )
