"""Amounts of memory as text."""

from __future__ import annotations

from .errors import InvalidBudget

UNITS = {"": 1, "B": 1, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
UNITS |= {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def amount(text: int | str, name: str = "budget", remedy: str | None = None) -> int:
    """Bytes of an amount such as ``"6GiB"``.

    Args:
        name: The name of the argument.
        remedy: What would be right, for the message; from the name by default.

    Raises:
        InvalidBudget: the amount cannot be read.
    """
    if isinstance(text, int) and not isinstance(text, bool) and text > 0:
        return text
    if isinstance(text, str):
        word = text.strip()
        digits = word.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ")
        unit = UNITS.get(word[len(digits) :].strip().upper())
        try:
            number = float(digits)
        except ValueError:
            number = 0.0
        if unit is not None and 0 < number < 2**53:
            return int(number * unit)
    other = ', "80%" or "device"' if name == "budget" else ""
    raise InvalidBudget(
        f"{name}: {text!r} is no amount of memory", remedy=remedy or f'give bytes, "6GiB"{other}'
    )


def share_or_amount(text: int | str, peak_memory_bytes: int, remedy: str | None = None) -> int:
    """Bytes of an amount, or of a share of a peak such as ``"80%"``.

    Raises:
        InvalidBudget: the budget cannot be read.
    """
    if isinstance(text, str) and text.strip().endswith("%"):
        try:
            return int(peak_memory_bytes * float(text.strip()[:-1]) / 100)
        except (ValueError, OverflowError) as error:
            raise InvalidBudget(f"budget: {text!r} is no percentage", remedy="80%") from error
    return amount(text, remedy=remedy)
