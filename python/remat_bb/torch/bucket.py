"""Reuse of plans for other sizes of a graph: batches of other lengths, the last batch."""

from __future__ import annotations

import hashlib
import json

from .. import _native
from ..errors import RematError

WIDTH = 0.125
"""Difference of two peaks without recomputation, as a share of the larger one, up to which a plan
for one size is tried for another: its recomputations are those of about the same budget."""
SIZES = ("cost", "recompute_cost", "output_bytes", "workspace_bytes", "shape")
"""Entries of a node that depend on sizes."""


class Buckets:
    """Plans of one planner, by graph."""

    def __init__(self) -> None:
        self._plans: dict[str, list[tuple[int, _native.Plan]]] = {}

    def keep(self, instance: _native.Instance, plan: _native.Plan) -> None:
        """Keeps a plan for later sizes of its graph."""
        self._plans.setdefault(_shape(instance), []).append((instance.peak_memory_bytes, plan))

    def near(self, instance: _native.Instance) -> _native.Plan | None:
        """The plan of the nearest size of a graph, replayed on this size; ``None`` if no plan
        fits."""
        peak = instance.peak_memory_bytes
        known = self._plans.get(_shape(instance), [])
        found = min(known, key=lambda each: abs(each[0] - peak), default=None)
        if found is None or abs(found[0] - peak) > WIDTH * max(found[0], peak):
            return None
        try:
            return _native.Plan.load(instance, found[1].to_dict())
        except RematError:
            return None


def _shape(instance: _native.Instance) -> str:
    """A digest of a graph without its sizes."""
    document = instance.to_dict()
    nodes = [{k: v for k, v in node.items() if k not in SIZES} for node in document["nodes"]]
    return hashlib.sha256(json.dumps(nodes, sort_keys=True).encode()).hexdigest()
