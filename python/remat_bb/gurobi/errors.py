"""Errors of code written for gurobipy."""

from __future__ import annotations


class GurobiError(Exception):
    """An error with its number.

    Attributes:
        errno: Number of the error (``GRB.Error``).
        message: Words.
    """

    def __init__(self, errno: int | str, message: str | None = None) -> None:
        # A message alone, as some code raises it, has the first number.
        alone = isinstance(errno, str)
        self.errno = 10001 if alone else errno
        self.message = str(errno) if alone else message or ""
        super().__init__(self.message)

    def __str__(self) -> str:
        return self.message


class AttributeUnavailable(GurobiError, AttributeError):
    """An attribute that there is not, or that has no value at the moment: code asks for either
    class."""
