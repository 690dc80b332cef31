"""One plan on all ranks: decisions of the first rank, and digests that all ranks compare.

All functions are collectives of the default group: every rank calls them in the same order.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import distributed

from .. import _native
from ..errors import RematError
from . import _compat

SAME = "run the same model with batches of equal sizes on all ranks"


@contextmanager
def _outside_tracing() -> Iterator[None]:
    """Calls real collectives in the block while a graph is traced.

    Under torch's dispatcher in Python a call holds the interpreter's lock while it waits for gloo's
    threads. These need the lock to free tensors, and both would wait for ever.
    """
    with _compat.unset_fake_temporarily(), _compat.no_python_dispatcher():
        yield


def exchanged(value: Any) -> list[Any]:
    """The values of all ranks."""
    found: list[Any] = [None] * distributed.get_world_size()
    with _outside_tracing():
        distributed.all_gather_object(found, value)
    return found


def broadcast(value: Any) -> Any:
    """The first rank's value."""
    found = [value]
    with _outside_tracing():
        distributed.broadcast_object_list(found, src=0)
    return found[0]


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def lines_of(instance: _native.Instance) -> list[list[Any]]:
    """For each node its name, operator, bytes and needs: all but costs, which ranks measure on
    their own."""
    nodes = instance.to_dict()["nodes"]
    keys = ("name", "op", "output_bytes", "workspace_bytes", "needs", "recompute")
    return [[node.get(key) for key in keys] for node in nodes]


@dataclass
class Ranks:
    """Agreement about one compilation.

    Args:
        agree: True if all ranks use one plan. Otherwise, and in a process without a group, each
            method returns the rank's own value.

    Attributes:
        digest: Digest of graph, sizes and plan, equal on all ranks; ``None`` without agreement.
    """

    agree: bool
    digest: str | None = None
    _met: bool = field(default=False, repr=False)

    @property
    def active(self) -> bool:
        """True if the plan is common to several ranks."""
        return self.agree and distributed.is_available() and distributed.is_initialized()

    def same(self, value: Any) -> Any:
        """The first rank's value."""
        return broadcast(value) if self.active else value

    def worst(self, size: int) -> int:
        """The largest value of all ranks."""
        return max(exchanged(size)) if self.active else size

    @contextmanager
    def meeting(self) -> Iterator[None]:
        """Lets other ranks know of an error in the block before they have met (:meth:`check`).
        Otherwise they would wait for this rank."""
        try:
            yield
        except Exception as error:
            if self.active and not self._met:
                self._met = True
                exchanged({"error": f"{type(error).__name__}: {error}"})
            raise

    def check(self, instance: _native.Instance, budget: int, fixed: int) -> int:
        """Compares graphs and sizes of all ranks.

        Args:
            budget: This rank's budget in bytes.
            fixed: Memory held before this rank's step.

        Returns:
            The budget that leaves this rank as much memory above ``fixed`` as the rank with the
            least has.

        Raises:
            RematError: on all ranks, if one of them has another graph or could not make one.
        """
        if not self.active:
            return budget
        self._met = True
        lines = lines_of(instance)
        claim = {"graph": _digest(lines), "free": budget - fixed}
        claim["torch"] = torch.__version__
        claims = exchanged(claim)
        for rank, each in enumerate(claims):
            if "error" in each:
                raise RematError(f"rank {rank} has no plan: {each['error']}", remedy=SAME)
        for rank, each in enumerate(claims):
            if each["torch"] != claims[0]["torch"]:
                raise RematError(
                    f"rank {rank} has torch {each['torch']}, rank 0 has {claims[0]['torch']}",
                    remedy="install one version on all ranks",
                )
        if any(each["graph"] != claims[0]["graph"] for each in claims):
            self._raise_other_graph(lines)
        return fixed + min(each["free"] for each in claims)

    def _raise_other_graph(self, lines: list[list[Any]]) -> None:
        own = _difference(broadcast(lines), lines)
        reasons = exchanged(own)
        rank = next(rank for rank, reason in enumerate(reasons) if reason is not None)
        raise RematError(
            f"rank {rank} compiles another graph than rank 0: {reasons[rank]}", remedy=SAME
        )

    def solved(
        self, instance: _native.Instance, search: Callable[[], _native.Plan]
    ) -> tuple[_native.Plan, str | None]:
        """The first rank's plan, with its status.

        Raises:
            RematError: errors of the first rank's search, on all ranks.
        """
        if not self.active:
            plan = search()
            return plan, plan.status
        found: Any = None
        if distributed.get_rank() == 0:
            try:
                plan = search()
                found = plan.to_dict(), plan.status
            except Exception as error:
                # The other ranks wait for an answer.
                found = error if isinstance(error, RematError) else RematError(str(error))
        found = broadcast(found)
        if isinstance(found, RematError):
            raise found
        document, status = found
        return _native.Plan.load(instance, document), status

    def sign(self, instance: _native.Instance, plan: _native.Plan, code: list[str]) -> None:
        """Compares digests of the finished plan.

        Args:
            code: The generated graphs as text.

        Raises:
            RematError: on all ranks, if one of them has another plan or other graphs.
        """
        if not self.active:
            return
        parts = {
            "the instance": _digest(lines_of(instance)),
            "the plan": _digest([list(step) for step in plan.steps]),
            "the generated code": _digest(code),
        }
        claims = exchanged(parts)
        for rank, each in enumerate(claims):
            for part, digest in each.items():
                if digest != claims[0][part]:
                    raise RematError(
                        f"rank {rank} disagrees with rank 0 about {part}: digest {digest[:12]}, "
                        f"not {claims[0][part][:12]}",
                        remedy=SAME,
                    )
        self.digest = _digest(parts)


def _difference(first: list[list[Any]], other: list[list[Any]]) -> str | None:
    """The first difference of two graphs in words; ``None`` if they are equal."""
    for place, (left, right) in enumerate(zip(first, other)):
        if left != right:
            mine, theirs = (f"{n} ({op}, {size} bytes)" for n, op, size, *_ in (right, left))
            if mine == theirs:
                mine, theirs = (f"{n} needs {needs}" for n, _, _, _, needs, _ in (right, left))
            return f"its node {place} is {mine}, not {theirs}"
    if len(first) != len(other):
        return f"it has {len(other)} nodes, not {len(first)}"
    return None
