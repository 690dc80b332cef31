"""Copies to host memory as operators of torch, which Inductor keeps and calls in their order.

The operators are those of :mod:`remat_bb.torch.host`. torch's own (``ao::offload``, ``ao::reload``)
exist only in later versions, need a GPU, and pin memory in each step. Each operator writes to the
ticket of its run, so that Inductor orders them among each other. ``arrive`` writes to the fetched
tensor, so that its readers come later; ``wait`` reads the copied one, so that it is freed later.
"""

from __future__ import annotations

import itertools
import weakref
from typing import Any

import torch

from ..errors import RematError
from . import _compat
from . import host as eager
from ._compat import fx
from .host import Host
from .rewrite import TICKET, Rewritten

NAMESPACE = "remat_bb"
LIBRARY = torch.library.Library(NAMESPACE, "FRAGMENT")

_HOSTS: weakref.WeakValueDictionary[int, Host] = weakref.WeakValueDictionary()
"""Host memory of plans by the number in their code; reports of the plans hold it."""
_NUMBERS = itertools.count(1)


def _begin(host: int) -> torch.Tensor:
    found = _HOSTS.get(host)
    if found is None:
        raise RematError(
            "host memory of a compiled step is gone: the step and its reports were dropped",
            remedy="keep the step, or its report, as long as its code runs",
        )
    return found.begin()


def _prefetch(
    ticket: torch.Tensor,
    copy: int,
    fetch: int,
    size: list[int],
    stride: list[int],
    dtype: torch.dtype,
    device: torch.device,
) -> torch.Tensor:
    if eager.has_strides(ticket, copy, stride):
        return eager.prefetch(ticket, copy, fetch)
    # Inductor has chosen another layout for the tensor than was traced.
    target = torch.empty_strided(size, stride, dtype=dtype, device=device)
    eager.fetch_into(ticket, copy, target)
    return target


def _arrive(ticket: torch.Tensor, value: torch.Tensor, fetch: int) -> None:
    eager.arrive_if_coming(ticket, fetch)


SCHEMAS: dict[str, tuple[str, Any]] = {
    "begin": ("(int host) -> Tensor", _begin),
    "offload": ("(Tensor(a!) ticket, Tensor value, int copy) -> ()", eager.offload),
    "wait": ("(Tensor(a!) ticket, Tensor value, int copy) -> ()", eager.wait),
    "prefetch": (
        "(Tensor(a!) ticket, int copy, int fetch, int[] size, int[] stride, ScalarType dtype, "
        "Device device) -> Tensor",
        _prefetch,
    ),
    "arrive": ("(Tensor(a!) ticket, Tensor(b!) value, int fetch) -> ()", _arrive),
    "release": ("(Tensor(a!) ticket, int copy) -> ()", eager.release),
}
"""Schema and implementation of each operator, by name."""


def _no_result(*arguments: Any) -> None:
    pass


def _fake_begin(host: int) -> torch.Tensor:
    return torch.empty(1, dtype=torch.int64)


def _fake_prefetch(
    ticket: torch.Tensor, copy: int, fetch: int, size: Any, stride: Any, dtype: Any, device: Any
) -> torch.Tensor:
    return torch.empty_strided(size, stride, dtype=dtype, device=device)


def _define() -> None:
    fakes = {"begin": _fake_begin, "prefetch": _fake_prefetch}
    for name, (schema, run) in SCHEMAS.items():
        # Copies are of bytes, so any layout will do.
        LIBRARY.define(name + schema, tags=(torch.Tag.flexible_layout,))
        LIBRARY.impl(name, run, "CompositeExplicitAutograd")
        torch.library.register_fake(
            f"{NAMESPACE}::{name}", fakes.get(name, _no_result), lib=LIBRARY
        )


_define()
OPERATORS = {
    function: getattr(getattr(torch.ops, NAMESPACE), name).default
    for name, function in (
        ("offload", eager.offload),
        ("wait", eager.wait),
        ("prefetch", eager.prefetch),
        ("arrive", eager.arrive),
        ("release", eager.release),
    )
}
"""The operator for each function of graphs that eager torch runs."""
BEGIN = torch.ops.remat_bb.begin.default


def as_operators(graphs: Rewritten) -> None:
    """Replaces the calls of a plan's copies with operators."""
    if graphs.host is None:
        return
    number = next(_NUMBERS)
    _HOSTS[number] = graphs.host
    for module in (graphs.forward, graphs.backward):
        for node in list(module.graph.nodes):
            if node.op != "call_function":
                continue
            if node.meta.get(TICKET):
                node.target, node.args = BEGIN, (number,)
            elif node.target is eager.prefetch:
                value = node.meta["val"]
                layout = list(value.shape), list(value.stride()), value.dtype, value.device
                node.target, node.args = OPERATORS[eager.prefetch], (*node.args, *layout)
            elif _is_copy(node):
                node.target = OPERATORS[node.target]
        module.recompile()


def _is_copy(node: fx.Node) -> bool:
    return any(node.target is function for function in OPERATORS)


def is_copy(operator: Any) -> bool:
    """Returns true for an operator of this module."""
    return isinstance(operator, _compat.OpOverload) and operator.namespace == NAMESPACE
