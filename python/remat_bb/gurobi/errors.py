"""Errors of code written for gurobipy."""

from __future__ import annotations


class GurobiError(Exception):
    """An error with its number.

    Attributes:
        errno: Number of the error (``GRB.Error``).
        message: Text of the error.
    """

    def __init__(self, errno: int | str, message: str | None = None) -> None:
        # Some code raises the error with a message alone: it gets the first number.
        alone = isinstance(errno, str)
        self.errno = 10001 if alone else errno
        self.message = str(errno) if alone else message or ""
        super().__init__(self.message)

    def __str__(self) -> str:
        return self.message


class AttributeUnavailable(GurobiError, AttributeError):
    """An unknown attribute, or one without a value at the moment. Code catches either base
    class."""
