"""Workspaces of the calls of torch's operators in generated code.

Inductor chooses layouts of its own, such as channels last for convolutions, and workspaces depend
on them. So each distinct call of the code is run once, alone, with the layouts of the code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_leaves, tree_map

from . import _compat
from .cost import Costs, Measured, materialised, peak_bytes
from .partition import distinct_bytes
from .purity import TRUSTED
from .rewrite import Rewritten

_FOUND: dict[Any, int] = {}
"""Measured workspaces in bytes, by call."""


class CodeWorkspaces:
    """Workspaces of calls in generated code.

    Args:
        graphs: The graphs that the code was generated from.
        costs: Costs of their calls. If these are measured, calls of the code are measured as well;
            otherwise a call of the code has the workspace of the graph's call with equal shapes.
    """

    def __init__(self, graphs: Rewritten, costs: Costs) -> None:
        self._runs = isinstance(costs, Measured)
        self._known: dict[Any, tuple[str, int]] = {}
        for node, call in graphs.calls.items():
            if isinstance(node.target, _compat.OpOverload):
                key = _shapes(node.target, [a.meta.get("val") for a in node.all_input_nodes])
                size = costs.workspace_bytes(call)
                if key not in self._known or self._known[key][1] < size:
                    self._known[key] = call.name, size

    def of(self, operator: Any, arguments: Any, options: Any) -> tuple[str, int]:
        """Name and workspace in bytes of a call with fake tensors."""
        given = [x for x in tree_leaves((arguments, options)) if isinstance(x, torch.Tensor)]
        made = options.get("out")
        key = _shapes(operator, [x for x in given if x is not made])
        name, size = self._known.get(key, (str(operator), 0))
        if self._runs and operator.namespace in TRUSTED and given:
            measured = _measured(operator, arguments, options)
            size = size if measured is None else measured
        return name, size


def _shapes(operator: Any, arguments: Sequence[Any]) -> Any:
    """Operator without overload, and shapes of its tensors; their order does not matter."""
    shapes = sorted(tuple(a.shape) for a in arguments if isinstance(a, torch.Tensor))
    return str(operator.overloadpacket), tuple(shapes)


def _measured(operator: Any, arguments: Any, options: Any) -> int | None:
    """Workspace of a call that is run with made-up values; ``None`` if it raises."""
    leaves, form = tree_flatten((arguments, options))
    key = (str(operator), str(form), *map(_word, leaves))
    if key not in _FOUND:
        try:
            _FOUND[key] = _run(operator, arguments, options)
        except Exception:  # noqa: BLE001
            return None
    return _FOUND[key]


def _word(leaf: Any) -> Any:
    if isinstance(leaf, torch.Tensor):
        return str(leaf.dtype), tuple(leaf.shape), leaf.stride(), str(leaf.device)
    return type(leaf).__name__, str(leaf)


def _run(operator: Any, arguments: Any, options: Any) -> int:
    with _compat.unset_fake_temporarily(), torch.no_grad():
        arguments, options = tree_map(materialised, (arguments, options))
        given = [x for x in tree_leaves((arguments, options)) if isinstance(x, torch.Tensor)]
        device = next((x.device for x in given if x.device.type == "cuda"), None)
        with torch.random.fork_rng(devices=[device] if device else []):
            # The first run may take memory that later ones find.
            operator(*arguments, **options)
            if device is None:
                with _compat.traced_memory() as events:
                    result = operator(*arguments, **options)
                peak = peak_bytes(events)
            else:
                torch.cuda.synchronize(device)
                torch.cuda.reset_peak_memory_stats(device)
                before = torch.cuda.memory_allocated(device)
                result = operator(*arguments, **options)
                peak = torch.cuda.max_memory_allocated(device) - before
        held = {x.untyped_storage()._cdata for x in given}
        made = [x for x in tree_leaves(result) if isinstance(x, torch.Tensor)]
        own = distinct_bytes(x for x in made if x.untyped_storage()._cdata not in held)
    return max(0, peak - own)
