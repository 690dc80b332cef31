"""Private names of torch about symbolic sizes: expressions, ranges and guards."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sympy  # type: ignore[import-untyped,unused-ignore]
import torch
from torch._guards import TracingContext, tracing
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._sympy.functions import FloorDiv, Max, Min

__all__ = ["FloorDiv", "Max", "Min", "TracingContext", "sympy", "tracing"]

NUMBERS = (torch.SymInt, torch.SymFloat, torch.SymBool)
SIZES_OF_TENSORS = frozenset(
    getattr(torch.ops.aten, name)
    for name in ("sym_size", "sym_stride", "sym_numel", "sym_storage_offset")
)
"""Operators that read a size from a tensor."""


def expression(number: Any) -> Any:
    """The expression of a number; a plain number is its own."""
    return number.node.expr if isinstance(number, NUMBERS) else number


def symbols(number: Any) -> set[Any]:
    """Free symbols of a number or expression."""
    found = expression(number)
    return set(found.free_symbols) if isinstance(found, sympy.Basic) else set()


def is_symbol(found: Any) -> bool:
    """Returns true for an expression of a single symbol."""
    return isinstance(found, sympy.Symbol)


def environment(number: Any) -> Any:
    """The environment of a symbolic number, which has guards and ranges."""
    return number.node.shape_env


def guard(condition: Any) -> None:
    """Adds a condition of symbols, which holds in the traced example, to the guards of the
    graph."""
    if not bool(condition):
        raise AssertionError(f"{condition} does not hold in the traced example")


def hint(number: Any) -> int:
    """The value of a size in the traced example."""
    return int(number.node.hint)


def upper(number: Any) -> int | None:
    """The largest value of a size that the guards allow; ``None`` without a limit."""
    found = environment(number).bound_sympy(expression(number)).upper
    return int(found) if isinstance(found, (int, sympy.Integer)) else None


def guards(number: Any) -> list[Any]:
    """Conditions of the graph about symbols, as expressions."""
    return [each.expr for each in environment(number).guards]


def _terms(values: dict[Any, int]) -> dict[Any, Any]:
    return {symbol: sympy.Integer(value) for symbol, value in values.items()}


def holds(condition: Any, values: dict[Any, int]) -> bool:
    """Returns false for a condition that some values of its symbols violate."""
    try:
        return condition.xreplace(_terms(values)) is not sympy.false
    except (ArithmeticError, TypeError, ValueError):
        return True


def number_at(found: Any, values: dict[Any, int]) -> int | float | bool:
    """The value of an expression for given values of its symbols."""
    if not isinstance(found, sympy.Basic):
        return found  # type: ignore[no-any-return]
    reached = found.xreplace(_terms(values))
    if reached in (sympy.true, sympy.false):
        return bool(reached)
    return int(reached) if reached.is_integer else float(reached)


def is_symbolic(value: Any) -> bool:
    """Returns true for a number with symbols, and for a tensor with such sizes or strides."""
    if isinstance(value, NUMBERS):
        return True
    return isinstance(value, FakeTensor) and any(isinstance(n, NUMBERS) for n in layout(value))


def layout(value: torch.Tensor) -> tuple[Any, ...]:
    """Sizes of a tensor, and its strides and offset if it has these."""
    if value.layout != torch.strided:
        return tuple(value.shape)
    return (*value.shape, *value.stride(), value.storage_offset())


def is_nondecreasing(found: Any, lower: dict[Any, int]) -> bool:
    """Returns true if an expression is known not to decrease in any of its symbols, from given
    least values on.

    A polynomial in the symbols' distances from their least values does not decrease if it has no
    negative coefficient besides the constant one. Sums, maxima and products of such terms with
    values of at least 0, and quotients by positive constants, do not decrease either.
    """
    if not isinstance(found, sympy.Basic) or not found.free_symbols:
        return True
    if not set(found.free_symbols) <= lower.keys():
        return False
    shifts = {s: sympy.Dummy(nonnegative=True, integer=True) + least for s, least in lower.items()}
    moved = sympy.expand(found.xreplace(shifts))
    if moved.is_polynomial():
        terms = moved.as_coefficients_dict()
        return all(factor >= 0 for term, factor in terms.items() if term.free_symbols)
    if isinstance(found, FloorDiv):
        over, under = found.args
        return bool(under.is_number and under > 0 and is_nondecreasing(over, lower))
    if isinstance(found, (sympy.Add, sympy.Max, sympy.Min, Max, Min)):
        return all(is_nondecreasing(part, lower) for part in found.args)
    if isinstance(found, sympy.Mul):
        return all(
            is_nondecreasing(part, lower) and number_at(part, lower) >= 0 for part in found.args
        )
    return False


def sources(number: Any) -> Iterable[Any]:
    """Names of the inputs that a symbol comes from."""
    return environment(number).var_to_sources.get(expression(number), ())  # type: ignore[no-any-return]


def value_of(number: Any, symbol: Any) -> int:
    """The value of a symbol in the traced example."""
    env = environment(number)
    known = getattr(env, "backed_var_to_val", None) or env.var_to_val
    return int(known[symbol])
