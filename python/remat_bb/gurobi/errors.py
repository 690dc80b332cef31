"""Errors of code written for gurobipy."""

from __future__ import annotations


class GurobiError(Exception):
    """An error with its number.

    Attributes:
        errno: Number of the error (``GRB.Error``).
        message: Words.
    """

    def __init__(self, errno: int | str, message: str | None = None) -> None:
        if isinstance(errno, str):
            # A message alone, as some code raises it.
            message, number = errno, 10001
        else:
            number = errno
        super().__init__(message)
        self.errno = number
        self.message = message or ""

    def __str__(self) -> str:
        return self.message


class AttributeUnavailable(GurobiError, AttributeError):
    """An attribute that there is not, or that has no value at the moment: code asks for either
    class."""
