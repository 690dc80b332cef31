"""Names of the modules whose calls made the nodes of a graph."""

from __future__ import annotations

import re
from typing import Any


def paths_of(node: Any) -> list[str]:
    """Names of the modules around a node from the outermost to the innermost, such as
    ``layers.0.attn``; empty outside of modules."""
    stack = (node.meta.get("nn_module_stack") or {}).values()
    return [plain for path, _ in stack if (plain := _plain(path))]


def _plain(path: str) -> str:
    """A path as ``named_modules`` gives it, from an expression of Dynamo such as
    ``L['self']._modules['layers']._modules['0']``."""
    path = re.sub(r"^L\['\w+'\]\.?", "", path)
    return re.sub(r"_modules\['(\w+)'\]|\[(\d+)\]", r"\1\2", path)
