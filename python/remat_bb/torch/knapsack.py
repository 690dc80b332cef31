"""An exact solver for the knapsack of torch's own ``activation_memory_budget``."""

from __future__ import annotations

import hashlib
import math
import warnings
from typing import Any

import torch

from .. import _native
from ..errors import InvalidArgument
from . import _compat
from ._compat import fx
from .cost import Costs, Measured, Roofline
from .partition import Call
from .purity import is_known

UNIT = 1 << 40
"""Parts that a unit of torch's budget is divided into: sizes are rounded up to one, and the
capacity down."""


class KnapsackSolver(_compat.CustomKnapsackSolver):
    """Exact choice of the saved tensors under torch's own budget.

    >>> import torch._functorch.config as config             # doctest: +SKIP
    >>> config.activation_memory_budget = 0.5                # doctest: +SKIP
    >>> config.activation_memory_budget_solver = KnapsackSolver()  # doctest: +SKIP

    torch's interface covers only the saved tensors. Its budget is a share of saved bytes, not a
    peak; each operator runs at most twice, and a later min-cut makes the final choice.
    :func:`remat_bb.torch.compile` has no such limits. Operators that draw random numbers are always
    saved: torch would draw other numbers in a second run, and gradients would be wrong.

    Args:
        costs: ``"torch"`` for torch's runtimes (``activation_memory_budget_runtime_estimator``),
            ``"measured"``, ``"roofline"``, or an object with the methods of :class:`Costs`.
    """

    def __init__(self, costs: str | Costs = "torch") -> None:
        models: dict[str, Costs | None] = {
            "torch": None,
            "measured": Measured(),
            "roofline": Roofline(),
        }
        if isinstance(costs, str) and costs not in models:
            raise InvalidArgument(
                f"costs: {costs!r} is no cost model", remedy=f"one of {', '.join(models)}"
            )
        self.name = costs if isinstance(costs, str) else repr(costs)
        self.costs = models[costs] if isinstance(costs, str) else costs

    def __call__(
        self,
        memory: list[float],
        joint_graph: fx.Graph,
        max_memory: float,
        node_info: Any,
        all_recomputable_banned_nodes: list[fx.Node],
        **_: Any,
    ) -> tuple[list[int], list[int]]:
        """Chooses the saved nodes.

        Args:
            memory: Size of each node, in units of the budget.
            joint_graph, node_info: Not read.
            max_memory: The budget.
            all_recomputable_banned_nodes: The nodes.

        Returns:
            Places of saved nodes, and places of the others.
        """
        nodes = all_recomputable_banned_nodes
        weights = [math.ceil(UNIT * size) for size in memory]
        room = int(UNIT * max_memory)
        fixed = [k for k, node in enumerate(nodes) if _draws(node)]
        room -= sum(weights[k] for k in fixed)
        if room < 0:
            warnings.warn(
                "activation_memory_budget: operators that draw random numbers take more than the "
                "budget; they are saved all the same, as gradients would be wrong otherwise",
                stacklevel=2,
            )
        free = [k for k in range(len(nodes)) if k not in set(fixed)]
        with _compat.with_dispatch():
            profits = [max(1, round(self._runtime(nodes[k]))) for k in free]
        chosen, exact = _native.knapsack([weights[k] for k in free], profits, max(0, room))
        if not exact:
            warnings.warn("the knapsack was not solved to its optimum", stacklevel=2)
        saved = sorted({*fixed, *(free[k] for k in chosen)})
        kept = set(saved)
        return saved, [k for k in range(len(nodes)) if k not in kept]

    def _runtime(self, node: fx.Node) -> float:
        if self.costs is None:
            return float(_compat.estimate_runtime(node))
        if _compat.is_getitem(node):
            (node,) = node.all_input_nodes
        return float(self.costs.nanoseconds(Call(node, values=[node])))

    def uuid(self) -> str:
        """Key of the caches of torch: version of this package and of torch, and the costs."""
        words = f"{_native.__version__} {torch.__version__} knapsack {self.name}"
        return hashlib.sha256(words.encode()).hexdigest()


def _draws(node: fx.Node) -> bool:
    """Returns true for a call that draws random numbers or may have a hidden state, and for picks
    of its outputs."""
    if _compat.is_getitem(node):
        (node,) = node.all_input_nodes
    hidden = isinstance(node.target, _compat.OpOverload) and not is_known(node.target)
    return hidden or _compat.is_random(node) or "random" in str(node.target)
