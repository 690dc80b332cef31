"""Operators that may run again, because equal arguments always give equal results.

The operators of ``aten`` and ``prims`` declare side effects by tags and schemas. Side effects of
other operators are unknown: they run only as often as in the model, unless they were declared with
:func:`pure`.
"""

from __future__ import annotations

from typing import Any, TypeVar

import torch.library

from ..errors import InvalidArgument
from . import _compat
from ._compat import fx

TRUSTED = ("aten", "prims")
"""Namespaces of torch's own operators, whose tags are complete."""

_DECLARED: set[str] = set()
"""Names of operators that were declared, without overload."""

Operator = TypeVar("Operator")


def pure(op: Operator) -> Operator:
    """Declares that an operator may run again in a plan.

    Its results must depend only on its arguments: not on a counter, file or generator of its own,
    nor on changes by other operators. With the tag ``torch.Tag.nondeterministic_seeded`` they may
    also depend on torch's default generator, whose state is saved for further runs.

    >>> @rt.pure                                             # doctest: +SKIP
    ... @torch.library.custom_op("mine::scale", mutates_args=())
    ... def scale(x: torch.Tensor) -> torch.Tensor: ...

    Args:
        op: The result of ``torch.library.custom_op``, an operator of ``torch.ops`` with or without
            its overload, or a name such as ``"mine::scale"``.

    Returns:
        The operator, so that this is a decorator.

    Raises:
        InvalidArgument: it is not an operator, or it changes its arguments.
    """
    packet = _packet(op)
    for overload in packet.overloads():
        if getattr(packet, overload)._schema.is_mutable:
            raise InvalidArgument(
                f"pure: {packet} changes its arguments in place",
                remedy="register a functional operator, which returns what it makes",
            )
    _DECLARED.add(packet._qualified_op_name)
    return op


def _packet(op: Any) -> Any:
    found = getattr(op, "_opoverload", op)
    if isinstance(found, _compat.OpOverload):
        found = found.overloadpacket
    if isinstance(found, str) and found.count("::") == 1:
        namespace, name = found.split("::")
        found = getattr(getattr(torch.ops, namespace), name.split(".")[0], None)
    if not isinstance(found, _compat.OpOverloadPacket):
        raise InvalidArgument(
            f"pure: {op!r} is no operator of torch.ops",
            remedy='give torch.ops.mine.scale, "mine::scale", or a custom operator',
        )
    return found


def is_known(target: Any) -> bool:
    """Returns true for an operator with known side effects: one of torch's own, or a declared
    one."""
    if not isinstance(target, _compat.OpOverload):
        return False
    name = target._schema.name
    if target.namespace in TRUSTED:
        return not _compat.is_defined_in_python(target) or target.namespace == "prims"
    return name in _DECLARED


def may_run_again(node: fx.Node) -> bool:
    """Returns true for a call that repeats its results, given the same arguments and, for random
    numbers, the same state of torch's default generator."""
    target = node.target
    return (
        is_known(target)
        and not target._schema.is_mutable
        and not _compat.is_effect(target)
        and not _compat.is_collective(node)
        and not _compat.has_own_generator(node)
    )
