"""Pieces of a model between the positions at which it may be cut.

``torch.export`` traces the model into one graph of operators, each with the path of its module. The
graph is cut before operators; every stage becomes a module with the parameters of the original
under their names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_leaves

from ...errors import InvalidArgument, RematError
from .._compat import fx

CROSSING = 4
"""Tensors that may cross a cut. Each is sent and received for every micro-batch."""


class Pieces:
    """A traced model and the positions at which it may be cut.

    Args:
        module: The model.
        example: Inputs of one micro-batch.
        split: Names of the submodules before which it may be cut. ``None``: children of
            ``nn.Sequential`` and ``nn.ModuleList``, or else the model's own children.

    Attributes:
        names: Names of the positions: the first piece, and the submodules at which pieces begin.

    Raises:
        RematError: ``torch.export`` refuses the model, or sizes depend on data.
        InvalidArgument: for unknown names.
    """

    def __init__(
        self, module: nn.Module, example: Sequence[Any], split: Sequence[str] | None
    ) -> None:
        self.module = module
        self.graph_module = _exported(module, tuple(example))
        self.nodes = list(self.graph_module.graph.nodes)
        self.place = {node: place for place, node in enumerate(self.nodes)}
        self._check_sizes()
        self.end = len(self.nodes) - 1
        self._varying = self._of_inputs()
        self._crossing: dict[int, list[fx.Node]] = {}
        self._crossing[0] = [n for n in self.nodes if n.op == "placeholder"]
        self.starts, self.names = self._positions(split)

    def __len__(self) -> int:
        return len(self.starts)

    def _check_sizes(self) -> None:
        for node in self.nodes:
            for value in tree_leaves(node.meta.get("val")):
                sizes = value.shape if isinstance(value, torch.Tensor) else (value,)
                if any(isinstance(size, (torch.SymInt, torch.SymFloat)) for size in sizes):
                    raise RematError(
                        f"the sizes of {node.name} change between micro-batches, and stages of "
                        "pipelines receive tensors of fixed sizes",
                        remedy="give a model whose sizes do not depend on data",
                    )

    def _of_inputs(self) -> set[fx.Node]:
        """Values that depend on inputs or parameters. Every stage makes the others anew."""
        found: set[fx.Node] = set()
        for node in self.nodes:
            trained = node.op == "get_attr" and self._attribute(node).requires_grad
            if node.op == "placeholder" or trained or not found.isdisjoint(node.all_input_nodes):
                found.add(node)
            elif node.op == "call_function" and not _is_pure(node):
                found.add(node)
        return found

    def _attribute(self, node: fx.Node) -> torch.Tensor:
        value: Any = self.graph_module
        for part in str(node.target).split("."):
            value = getattr(value, part)
        return value  # type: ignore[no-any-return]

    def _positions(self, split: Sequence[str] | None) -> tuple[list[int], list[str]]:
        """Begin of each piece, and its name."""
        names = candidates(self.module) if split is None else list(split)
        known = {name for name, _ in self.module.named_modules()}
        for name in names:
            if name not in known:
                raise InvalidArgument(
                    f"split: the model has no submodule {name!r}",
                    remedy="give names as in named_modules()",
                )
        wanted: dict[int, str] = {}
        for name in names:
            places = [k for k, node in enumerate(self.nodes) if _is_within(node, name)]
            if not places:
                if split is not None:
                    raise InvalidArgument(
                        f"split: the model does not call {name!r}",
                        remedy="give submodules that run",
                    )
                continue
            wanted.setdefault(places[0], name)
            if split is None and name == names[-1] and places[-1] + 1 < self.end:
                wanted.setdefault(places[-1] + 1, f"after {name}")
        first = next(k for k, n in enumerate(self.nodes) if n.op == "call_function")
        starts, found = [0], [""]
        for place in sorted(wanted):
            if place <= first:
                continue
            reason = self._refused(place)
            if reason is None:
                starts.append(place)
                found.append(wanted[place])
            elif split is not None:
                raise InvalidArgument(
                    f"split: the model cannot be cut before {wanted[place]!r}: {reason}",
                    remedy="name another submodule",
                )
        return starts, found

    def crossing(self, place: int) -> list[fx.Node]:
        """Values that cross a position: made or received before, read at it or later."""
        if place not in self._crossing:
            before = [n for n in self.nodes[:place] if n in self._varying and n.op != "get_attr"]
            self._crossing[place] = [
                n for n in before if any(self.place[user] >= place for user in n.users)
            ]
        return self._crossing[place]

    def _refused(self, place: int) -> str | None:
        """The reason why no cut is possible at a position."""
        values = self.crossing(place)
        if len(values) > CROSSING:
            return f"{len(values)} tensors cross it, more than {CROSSING}"
        for node in values:
            value = node.meta.get("val")
            if not isinstance(value, torch.Tensor) or not value.is_floating_point():
                return f"{node.name} crosses it, which is no tensor of floating point numbers"
            if not value.is_contiguous():
                return f"{node.name} crosses it, which is not contiguous in memory"
        return None

    def outputs(self) -> list[fx.Node]:
        """Outputs of the model."""
        return [n for n in tree_leaves(self.nodes[-1].args[0]) if isinstance(n, fx.Node)]

    def interval(self, begin: int, end: int) -> fx.GraphModule:
        """The pieces from one number to another as a module. It takes and returns the tensors that
        cross its ends."""
        low = self.starts[begin]
        high = self.starts[end] if end < len(self) else self.end
        received = self.crossing(low)
        sent = self.crossing(high) if end < len(self) else self.outputs()
        graph = fx.Graph()
        copies: dict[fx.Node, fx.Node] = {}
        for node in received:
            copies[node] = graph.placeholder(node.name)
            copies[node].meta = dict(node.meta)

        def copied(node: fx.Node) -> fx.Node:
            if node not in copies:
                for argument in node.all_input_nodes:
                    copied(argument)
                copies[node] = graph.node_copy(node, lambda each: copies[each])
            return copies[node]

        for node in self.nodes[low:high]:
            if node.op == "call_function" and (node.users or not _is_pure(node)):
                copied(node)
        values = tuple(copied(node) for node in sent)
        graph.output(values[0] if len(values) == 1 else values)
        return fx.GraphModule(self.graph_module, graph)

    def tied(self) -> list[tuple[str, ...]]:
        """Names of parameters that the model has under several names."""
        names: dict[int, list[str]] = {}
        for name, value in self.module.named_parameters(remove_duplicate=False):
            names.setdefault(id(value), []).append(name)
        return [tuple(each) for each in names.values() if len(each) > 1]


def candidates(module: nn.Module) -> list[str]:
    """Names of the children of a model's outermost ``nn.Sequential`` and ``nn.ModuleList``, or
    else of its own children."""
    found: list[str] = []
    kinds = (nn.Sequential, nn.ModuleList)

    def visit(each: nn.Module, name: str) -> None:
        prefix = f"{name}." if name else ""
        if isinstance(each, kinds) and len(each) > 1:
            found.extend(f"{prefix}{child}" for child, _ in each.named_children())
            return
        for child, part in each.named_children():
            visit(part, f"{prefix}{child}")

    visit(module, "")
    return found or [name for name, _ in module.named_children()]


def signature(graph: fx.Graph, module: fx.GraphModule) -> str:
    """Text of a graph without names: equal for equal computations."""
    numbers: dict[fx.Node, int] = {}
    shared: dict[int, int] = {}
    lines = []
    for node in graph.nodes:
        numbers[node] = len(numbers)
        if node.op == "get_attr":
            value: Any = module
            for part in str(node.target).split("."):
                value = getattr(value, part)
            same = shared.setdefault(id(value), len(shared))
            words: Any = (same, tuple(value.shape), value.stride(), value.dtype)
            words += (value.requires_grad, str(value.device))
        elif node.op == "placeholder":
            value = node.meta["val"]
            words = (tuple(value.shape), value.stride(), value.dtype, str(value.device))
        else:
            words = fx.node.map_arg((node.args, node.kwargs), lambda each: f"%{numbers[each]}")
            words = (str(node.target), words)
        lines.append(f"{node.op} {words}")
    return "\n".join(lines)


def _exported(module: nn.Module, example: tuple[Any, ...]) -> fx.GraphModule:
    for place, value in enumerate(example):
        if not isinstance(value, torch.Tensor):
            raise InvalidArgument(
                f"example: input {place} is no tensor but {type(value).__name__}",
                remedy="give the tensors of one micro-batch",
            )
    try:
        return torch.export.export(module, example, strict=False).module(check_guards=False)
    except Exception as error:
        line = str(error).strip().partition("\n")[0]
        raise RematError(
            f"torch.export cannot trace the model: {type(error).__name__}: {line}",
            remedy="give a model whose sizes and branches do not depend on data",
        ) from error


def _is_within(node: fx.Node, name: str) -> bool:
    stack = node.meta.get("nn_module_stack") or {}
    paths = (str(path) for path, _ in stack.values())
    return node.op == "call_function" and any(
        path == name or path.startswith(f"{name}.") for path in paths
    )


def _is_pure(node: fx.Node) -> bool:
    """Returns true for operators that neither change tensors nor draw random numbers."""
    schema = getattr(node.target, "_schema", None)
    tags = getattr(node.target, "tags", ())
    random = torch.Tag.nondeterministic_seeded in tags
    return not random and (schema is None or not schema.is_mutable)
