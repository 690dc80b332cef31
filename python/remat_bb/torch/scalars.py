"""Sizes and numbers among the inputs of a graph from Dynamo.

If a size or an integer has changed between calls, it is a symbol; a changed float is a tensor.
Sizes with a bucket (:mod:`remat_bb.torch.bounded`) stay symbols. Others become constants, and
Dynamo compiles again for the next value. An integer that only enters arithmetic with floating point
tensors becomes a tensor, as floats do.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from . import _compat
from ._compat import fx

ARITHMETIC = ("add", "sub", "mul", "truediv", "div", "iadd", "isub", "imul", "itruediv")
"""Operators whose numbers become tensors (``torch.fx.passes._tensorify_python_scalars``), of the
module ``operator``, of ``torch``, or methods."""
FUNCTIONS = {torch.sym_float, torch.sym_max, torch.sym_min} | {
    getattr(owner, name)
    for owner in (operator, torch)
    for name in ARITHMETIC
    if hasattr(owner, name)
}


def settle(module: fx.GraphModule, keeps: Callable[[Any], bool] = lambda size: False) -> None:
    """Makes constants of all symbols in a graph of Dynamo, except for integers that can be tensors.

    Dynamo guards the constants: another size or integer causes another compilation.

    Args:
        keeps: Returns true for sizes that stay symbols.
    """
    for node in module.graph.find_nodes(op="placeholder"):
        # Sizes that mix these integers with kept symbols then have kept symbols alone.
        number = node.meta.get("example_value")
        if isinstance(number, torch.SymInt) and not keeps(number) and not _is_factor(node):
            _fix(number)
    for node in module.graph.nodes:
        for value in tree_leaves(node.meta.get("example_value")):
            if isinstance(value, torch.Tensor):
                for size in _sizes(value):
                    if not keeps(size):
                        _fix(size)
    changed = False
    for node in module.graph.find_nodes(op="placeholder"):
        number = node.meta.get("example_value")
        if not isinstance(number, torch.SymInt) or _compat.constant_of(number) is not None:
            continue
        if keeps(number):
            continue
        if not _is_factor(node):
            _fix(number)
            continue
        with module.graph.inserting_after(node):
            made = module.graph.call_function(torch.sym_float, (node,))
        made.meta["example_value"] = torch.sym_float(number)
        for user in [user for user in node.users if user is not made]:
            user.replace_input_with(node, made)
        changed = True
    if changed:
        module.recompile()


def _sizes(tensor: torch.Tensor) -> Iterator[Any]:
    yield from tensor.shape
    if tensor.layout == torch.strided:
        yield from tensor.stride()
        yield tensor.storage_offset()


def _fix(size: Any) -> None:
    """Makes a symbol a constant. Sizes that depend on data stay, and are refused later."""
    if isinstance(size, torch.SymInt) and not _compat.depends_on_data(size):
        int(size)


def _is_factor(number: fx.Node) -> bool:
    """Returns true for a number whose only use is arithmetic with floating point tensors."""
    for user in number.users:
        name = user.target if user.op == "call_method" else None
        known = user.target in FUNCTIONS if user.op == "call_function" else name in ARITHMETIC
        others = [argument for argument in user.all_input_nodes if argument is not number]
        if not known or number in user.kwargs.values():
            return False
        value = user.meta.get("example_value")
        if isinstance(value, (torch.SymInt, torch.SymFloat)):
            if others or not _is_factor(user):
                return False
        elif not isinstance(value, torch.Tensor) or not value.dtype.is_floating_point:
            return False
        elif not all(_is_floating(argument) for argument in others):
            return False
    return True


def _is_floating(node: fx.Node) -> bool:
    value = node.meta.get("example_value")
    if isinstance(value, torch.Tensor):
        return value.dtype.is_floating_point
    return isinstance(value, torch.SymFloat)


def plain_numbers(graph: fx.Graph) -> None:
    """Writes constant symbols of a joint graph as numbers, and keeps all digits of numbers that
    become tensors."""
    for node in list(graph.nodes):
        value = node.meta.get("val")
        if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            constant = _compat.constant_of(value)
            if constant is not None:
                node.replace_all_uses_with(constant, propagate_meta=False)
        elif node.target is torch.ops.aten.scalar_tensor.default and is_number(node):
            # torch's pass uses the default type, whose 24 bits are too few for integers.
            if "dtype" not in node.kwargs and isinstance(value, _compat.FakeTensor):
                node.kwargs = {**node.kwargs, "dtype": torch.float64}
                with value.fake_mode:
                    node.meta["val"] = torch.empty((), dtype=torch.float64)


def is_number(node: fx.Node) -> bool:
    """Returns true for a tensor made from a number of the caller."""
    return node.target is torch.ops.aten.scalar_tensor.default and any(
        isinstance(argument.meta.get("val"), torch.SymInt) for argument in node.all_input_nodes
    )
