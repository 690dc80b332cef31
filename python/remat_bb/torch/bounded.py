"""Graphs with symbolic sizes, planned for the largest sizes of a bucket.

Dynamo keeps a size that has changed between calls as a symbol. Guards restrict it to a bucket.
While the graph is planned, fake values have the largest size of the bucket; then the symbolic ones
return. Bytes of tensors rarely decrease when a size grows. If they may, the largest bytes of any
size in the bucket count. So a moment of a step never needs more memory than planned, and the plan
keeps the budget at all sizes of the bucket.
"""

from __future__ import annotations

import itertools
import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map

from ..errors import InfeasibleBudget, LimitReached
from . import _compat, opaque
from . import _compat_sizes as sizes
from ._compat import fx
from .scalars import plain_numbers
from .size_buckets import Bucket, Rules

SYMBOLIC = "remat_symbolic"
"""Entry of a node's ``meta`` for its symbolic value while ``val`` is the value at the bounds."""
SIZES_TRIED = 2048
"""Sizes of a bucket at most that are tried for the largest bytes of a tensor."""
OPERATORS = {sizes.sympy.Add: operator.add, sizes.sympy.Mul: operator.mul}
"""Arithmetic of sizes with any number of terms."""


@dataclass(kw_only=True)
class Sized:
    """Part of a report about sizes.

    Attributes:
        sizes: Sizes that may change, each with its bucket; empty if all sizes are fixed.
        compilation: Number of this compilation among all of its backend, from 1 on.
        smaller_bytes: Bytes by which inputs of the latest step are smaller than at the largest
            sizes of the buckets.
    """

    sizes: list[Bucket] = field(default_factory=list)
    compilation: int = 1
    smaller_bytes: int = 0

    @property
    def held_bytes(self) -> int:
        """Memory held before the latest step."""
        return self.fixed_bytes - self.smaller_bytes  # type: ignore[attr-defined,no-any-return]


def is_size(node: Any) -> bool:
    """Returns true for a node of a joint graph whose value is a symbolic number."""
    return isinstance(node, fx.Node) and isinstance(node.meta.get(SYMBOLIC), sizes.NUMBERS)


def traced_value(node: fx.Node) -> Any:
    """The value of a node with symbolic sizes."""
    return node.meta.get(SYMBOLIC, node.meta.get("val"))


@dataclass
class Symbol:
    """A symbolic size of the inputs.

    Attributes:
        size: The size, as a symbolic integer.
        name: Its name for reports.
        below: The last size below its bucket.
        most: The largest size that the plan is valid for.
        reason: Why its bucket is smaller than the rule says; empty if it is not.
    """

    size: torch.SymInt
    name: str
    below: int
    most: int
    reason: str = ""

    def limit(self, most: int, reason: str) -> None:
        """Guards a smaller largest size."""
        self.most, self.reason = most, self.reason or reason
        sizes.guard(self.size <= most)

    def settle(self, reason: str) -> None:
        """Guards the size of the traced example as the only one."""
        most = sizes.hint(self.size)
        self.below, self.most, self.reason = most - 1, most, self.reason or reason
        sizes.guard(self.size == most)

    def bucket(self) -> Bucket:
        """The bucket for a report."""
        fixed = _compat.constant_of(self.size)
        if fixed is not None:
            return Bucket(self.name, int(fixed), int(fixed), self.reason or "the model fixes it")
        return Bucket(self.name, self.below + 1, self.most, self.reason)


class Bounds:
    """Bounds of the symbolic sizes of one graph of Dynamo.

    Args:
        symbols: The sizes.
        tensors: Numbers of the inputs with these sizes, with their fake values.
    """

    def __init__(self, symbols: Sequence[Symbol], tensors: dict[int, torch.Tensor]) -> None:
        self.symbols = list(symbols)
        self._tensors = tensors
        self._most_bytes = 0
        # The context of Dynamo's trace, and false once its guards are final.
        self._context: Any = None
        self._is_open = True
        self._values: dict[Any, int] = {}
        self._numbers: dict[Any, Any] = {}
        self._storages: dict[int, torch.Tensor] = {}
        self._most_of: dict[Any, int] = {}

    def within(
        self, module: fx.GraphModule, run: Callable[[], Any], narrows: bool
    ) -> tuple[fx.GraphModule, fx.GraphModule]:
        """The graphs of a joint graph, planned for the largest sizes.

        If these need more than the budget, the traced sizes become the largest. If the largest
        bytes of a tensor are not known, they become the only ones.

        Args:
            run: Plans the joint graph.
            narrows: False if other processes have to plan for the same sizes.

        Raises:
            InfeasibleBudget, LimitReached: as the solver does.
        """
        self._prepare(module)
        try:
            graphs = run()
        except (InfeasibleBudget, LimitReached):
            if not narrows or not self._is_open or not self._narrow():
                raise
            self.restore(module)
            self._prepare(module)
            graphs = run()
        self.restore(module, *graphs)
        at_most = {
            fake.untyped_storage()._cdata: self._number(fake.untyped_storage().nbytes())
            for fake in self._tensors.values()
        }
        self._most_bytes = sum(at_most.values())
        return graphs  # type: ignore[no-any-return]

    def keeps(self, size: Any) -> bool:
        """Returns true for a size whose symbols all have bounds."""
        known = {part for symbol in self.symbols for part in sizes.symbols(symbol.size)}
        return bool(sizes.symbols(size)) and sizes.symbols(size) <= known

    def traced(
        self, run: Callable[..., Any], module: fx.GraphModule, inputs: Sequence[Any], options: Any
    ) -> Any:
        """Runs a compiler of the graph. A later compilation repeats the first with its fake
        inputs, because guards cannot be added any more.

        Args:
            run: The compiler: a function of the graph, inputs and options.
        """
        if self._context is None:
            self._context = sizes.TracingContext.try_get()
            return run(module, inputs, options)
        self._is_open = False
        places = module.graph.find_nodes(op="placeholder")
        fakes = [node.meta.get("example_value", x) for node, x in zip(places, inputs)]
        with sizes.tracing(self._context):
            return run(module, fakes, options)

    def buckets(self) -> list[Bucket]:
        """The buckets for a report."""
        return [symbol.bucket() for symbol in self.symbols]

    def smaller_bytes(self, inputs: Sequence[Any]) -> int:
        """Bytes by which inputs of a graph are smaller than at the bounds."""
        storages = (inputs[place].untyped_storage() for place in self._tensors)
        return self._most_bytes - sum({s._cdata: s.nbytes() for s in storages}.values())

    def _prepare(self, module: fx.GraphModule) -> None:
        """Gives a joint graph its values at the bounds."""
        self._choose()
        if (node := self._unbounded(module)) is not None:
            for symbol in self.symbols:
                symbol.settle(f"the largest bytes of {node} are not known")
            self._choose()
        self.apply(module)

    def _narrow(self) -> bool:
        """Makes the traced sizes the largest ones. Returns false if they are already."""
        wide = [s for s in self.symbols if s.most > sizes.hint(s.size)]
        for symbol in wide:
            symbol.limit(sizes.hint(symbol.size), "no plan for larger sizes keeps the budget")
        return bool(wide)

    def _choose(self) -> None:
        """Chooses values of the symbols: the largest ones within the guards."""
        self._values, self._numbers, self._storages = {}, {}, {}
        self._most_of = {}
        for symbol in self.symbols:
            if not sizes.is_symbol(found := sizes.expression(symbol.size)):
                # Guards have made it a constant, or a multiple of another symbol.
                for part in sizes.symbols(symbol.size):
                    self._values.setdefault(part, sizes.value_of(symbol.size, part))
                continue
            most = sizes.upper(symbol.size)
            most = symbol.most if most is None else min(most, symbol.most)
            self._values[found] = min(most, self._values.get(found, most))
        for condition in sizes.guards(self.symbols[0].size):
            self._meet(condition)
        for symbol in self.symbols:
            if _compat.constant_of(symbol.size) is None:
                reached = sizes.number_at(sizes.expression(symbol.size), self._values)
                if reached < symbol.most:
                    symbol.limit(int(reached), "the model takes no larger ones")

    def _meet(self, condition: Any) -> None:
        """Lowers values until a guard holds. It holds for the values of the traced example."""
        for symbol in self.symbols:
            key = sizes.expression(symbol.size)
            if key not in self._values or key not in sizes.symbols(condition):
                continue
            while not sizes.holds(condition, self._values):
                if self._values[key] <= sizes.hint(symbol.size):
                    break
                self._values[key] -= 1

    def _lower(self) -> dict[Any, int]:
        return {
            sizes.expression(s.size): s.below + 1
            for s in self.symbols
            if sizes.is_symbol(sizes.expression(s.size))
        }

    def _unbounded(self, module: fx.GraphModule) -> str | None:
        """Finds the largest bytes of tensors that may shrink when a size grows.

        Returns:
            The name of a node whose largest bytes are not known; ``None`` if all are known.
        """
        lower = self._lower()
        for node in module.graph.nodes:
            for leaf in tree_leaves(node.meta.get("val")):
                if not isinstance(leaf, _compat.FakeTensor) or leaf.layout != torch.strided:
                    continue
                found = sizes.expression(leaf.untyped_storage().nbytes())
                if found in self._most_of or sizes.is_nondecreasing(found, lower):
                    continue
                values = list(self._combinations(sizes.symbols(found), lower))
                if not values:
                    return str(node.name)
                self._most_of[found] = max(int(sizes.number_at(found, each)) for each in values)
        return None

    def _combinations(self, symbols: set[Any], lower: dict[Any, int]) -> Iterator[dict[Any, int]]:
        """All values of some symbols in their buckets; no values if there are too many."""
        if not symbols <= lower.keys() & self._values.keys():
            return
        ordered = sorted(symbols, key=str)
        spans = [range(lower[s], self._values[s] + 1) for s in ordered]
        if math.prod(map(len, spans)) <= SIZES_TRIED:
            for values in itertools.product(*spans):
                yield dict(zip(ordered, values))

    def apply(self, module: fx.GraphModule) -> None:
        """Gives the nodes of a joint graph their values at the bounds."""
        plain_numbers(module.graph)
        _Arithmetic(module.graph, set(self._values)).replace()
        for node in _all_nodes(module):
            value = node.meta.get("val")
            leaves = tree_leaves(value)
            if any(sizes.is_symbolic(leaf) for leaf in leaves) and self._covers(leaves):
                node.meta[SYMBOLIC] = value
                node.meta["val"] = tree_map(self._at, value)

    def restore(self, *modules: fx.GraphModule) -> None:
        """Gives nodes their symbolic values again."""
        for module in modules:
            for node in _all_nodes(module):
                if SYMBOLIC in node.meta:
                    node.meta["val"] = node.meta.pop(SYMBOLIC)
            for node in module.graph.nodes:
                if node.target is _compat.run_and_save_rng_state:
                    picks = {user.args[1]: user.meta["val"] for user in node.users}
                    node.meta["val"] = tuple(
                        picks.get(k, v) for k, v in enumerate(node.meta["val"])
                    )

    def _covers(self, leaves: Iterable[Any]) -> bool:
        """Returns true if all symbols of some values have bounds. Other integers stay symbols."""
        known = self._values.keys()
        numbers = (
            part
            for leaf in leaves
            for part in (sizes.layout(leaf) if isinstance(leaf, torch.Tensor) else (leaf,))
        )
        return all(sizes.symbols(number) <= known for number in numbers)

    def _at(self, value: Any) -> Any:
        if isinstance(value, sizes.NUMBERS):
            return self._number(value)
        return self._tensor(value) if sizes.is_symbolic(value) else value

    def _number(self, number: Any) -> Any:
        found = sizes.expression(number)
        if found not in self._numbers:
            self._numbers[found] = sizes.number_at(found, self._values)
        return self._numbers[found]

    def _tensor(self, value: Any) -> torch.Tensor:
        """A fake tensor like another one, at the bounds."""
        shape = [self._number(n) for n in value.shape]
        with _compat.with_dispatch(), value.fake_mode:
            if value.layout != torch.strided:
                return torch.empty(shape, dtype=value.dtype, device=value.device)
            storage = value.untyped_storage()
            if storage._cdata not in self._storages:
                size = self._number(storage.nbytes())
                size = max(size, self._most_of.get(sizes.expression(storage.nbytes()), 0))
                made = torch.empty(size, dtype=torch.uint8, device=value.device)
                self._storages[storage._cdata] = made
            whole = self._storages[storage._cdata]
            count = whole.numel() // value.element_size()
            typed = whole[: count * value.element_size()].view(value.dtype)
            strides = [self._number(n) for n in value.stride()]
            found = typed.as_strided(shape, strides, self._number(value.storage_offset()))
            found = found.conj() if value.is_conj() else found
            return torch._neg_view(found) if value.is_neg() else found


class _Arithmetic:
    """Sizes of a joint graph as arithmetic with its inputs. Sizes read from tensors would keep the
    tensors in memory.

    Args:
        known: Symbols with bounds.
    """

    def __init__(self, graph: fx.Graph, known: set[Any]) -> None:
        self._graph = graph
        self._known = known
        self._made: dict[Any, Any] = {}
        self._last: fx.Node | None = None
        for node in graph.find_nodes(op="placeholder"):
            value = node.meta.get("val")
            if isinstance(value, torch.SymInt):
                self._made.setdefault(sizes.expression(value), node)
            self._last = node

    def replace(self) -> None:
        """Replaces sizes that are read from tensors, and removes checks of sizes, which Dynamo's
        guards repeat."""
        for node in list(self._graph.nodes):
            value = node.meta.get("val")
            if node.target is torch.ops.aten._assert_scalar.default:
                if sizes.symbols(node.args[0].meta.get("val")) <= self._known:
                    self._graph.erase_node(node)
            elif getattr(node.target, "overloadpacket", None) in sizes.SIZES_OF_TENSORS:
                found = sizes.expression(value)
                if sizes.symbols(value) <= self._known:
                    made = self._of(found)
                    if made is not None:
                        node.replace_all_uses_with(made, propagate_meta=False)
                        self._graph.erase_node(node)

    def _of(self, found: Any) -> Any:
        """The node of an expression, or a number; ``None`` for unknown functions."""
        if not isinstance(found, sizes.sympy.Basic) or found.is_Integer:
            return int(found)
        if found in self._made:
            return self._made[found]
        target = OPERATORS.get(found.func)
        if found.is_Pow and found.args[1].is_Integer and found.args[1] > 0:
            parts, target = [self._of(found.args[0])] * int(found.args[1]), operator.mul
        elif isinstance(found, sizes.FloorDiv):
            parts, target = [self._of(part) for part in found.args], operator.floordiv
        else:
            parts = [self._of(part) for part in found.args] if target else []
        if target is None or not parts or any(part is None for part in parts):
            return None
        made = parts[0]
        for part in parts[1:]:
            made = self._call(target, made, part)
        self._made[found] = made
        return made

    def _call(self, target: Any, *parts: Any) -> fx.Node:
        assert self._last is not None
        with self._graph.inserting_after(self._last):
            made = self._graph.call_function(target, parts)
        values = [part.meta["val"] if isinstance(part, fx.Node) else part for part in parts]
        made.meta["val"] = target(*values)
        self._last = made
        return made


def _all_nodes(module: fx.GraphModule) -> Iterator[fx.Node]:
    """Nodes of a graph and of the bodies of its operators."""
    for node in module.graph.nodes:
        yield node
        if (body := opaque.body_of(node)) is not None:
            yield from _all_nodes(body)


def bounds_of(module: fx.GraphModule, rules: Rules) -> Bounds | None:
    """Bounds of the sizes of a graph of Dynamo, with their guards; ``None`` without such sizes.

    Sizes that ``rules`` leaves alone, and integers that are no sizes, get no bounds.
    """
    places = list(module.graph.find_nodes(op="placeholder"))
    values = [node.meta.get("example_value") for node in places]
    given = {sizes.expression(v) for v in values if isinstance(v, torch.SymInt)}
    found: dict[Any, tuple[torch.SymInt, str, set[int]]] = {}
    for node, value in zip(places, values):
        if not isinstance(value, _compat.FakeTensor):
            continue
        for dimension, size in enumerate(value.shape):
            key = sizes.expression(size)
            if sizes.is_symbol(key) and key in given and not _compat.depends_on_data(size):
                name = f"dimension {dimension} of {_plain_name(node)}"
                found.setdefault(key, (size, name, set()))[2].add(dimension)
    made = []
    for size, name, dimensions in found.values():
        ends = rules.bounds(sizes.hint(size), dimensions)
        if ends is not None:
            symbol = Symbol(size, name, *ends)
            sizes.guard(size > symbol.below)
            sizes.guard(size <= symbol.most)
            made.append(symbol)
    if not made:
        return None
    known = {sizes.expression(symbol.size) for symbol in made}
    tensors = {
        place: value
        for place, value in enumerate(values)
        if isinstance(value, _compat.FakeTensor)
        and value.layout == torch.strided
        and any(sizes.symbols(n) & known for n in sizes.layout(value))
    }
    return Bounds(made, tensors)


def _plain_name(node: fx.Node) -> str:
    """The name of an argument from the name of its input."""
    found = re.sub(r"^l_((args|arguments|kwargs|options|inputs)_)?|_+$", "", node.name)
    return f"argument {found}" if found.isdigit() else found or node.name
