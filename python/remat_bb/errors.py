"""Exceptions of :mod:`remat_bb`: what is wrong, where, and what would be right.

Every exception is a :class:`RematError`. Those about arguments and documents are ``ValueError`` as
well, those about files ``OSError``.
"""

from __future__ import annotations


class RematError(Exception):
    """Base of all exceptions of this package.

    Attributes:
        message: What is wrong.
        place: The file with line and column, the path of a value in a dictionary
            (``nodes[3].cost``), or the argument; ``None`` where there is none.
        remedy: What would be right; ``None`` where the message says all.
    """

    message: str
    place: str | None
    remedy: str | None

    def __init__(
        self, message: str = "", *, place: str | None = None, remedy: str | None = None
    ) -> None:
        self.message = message
        self.place = place
        self.remedy = remedy
        whole = message if remedy is None or remedy in message else f"{message}; {remedy}"
        super().__init__(whole)


class InvalidInstance(RematError, ValueError):
    """An instance that cannot be read or built: names file, field, value and what would be
    right."""


class InvalidPlan(RematError, ValueError):
    """A plan or schedule that cannot be read, or is of another instance."""


class InvalidBudget(RematError, ValueError):
    """A budget that cannot be read."""


class InvalidArgument(RematError, ValueError):
    """Any other argument that is not what it should be, or does not apply to the instance."""


class InvalidType(InvalidArgument, TypeError):
    """An argument of a wrong type."""


class NoExactForm(InvalidArgument):
    """A constraint or product of variables that has no exact form with rows and integers."""


class InternalError(RematError, RuntimeError):
    """A fault of this package, as its message says."""


class FileError(RematError, OSError):
    """A file that cannot be opened or written, in the words of the system."""


class PlanRefuted(RematError):
    """A plan or schedule that its replay refutes: it cannot be executed, or is not what it says.

    Attributes:
        differences: What it claims and the replay does not confirm, each in words; empty where it
            cannot be executed.
    """

    differences: list[str]

    def __init__(
        self,
        message: str = "",
        *,
        place: str | None = None,
        remedy: str | None = None,
        differences: list[str] | None = None,
    ) -> None:
        super().__init__(message, place=place, remedy=remedy)
        self.differences = differences or []


class InfeasibleBudget(RematError):
    """A budget that is proven to be too small for any stage schedule in the order of the instance.

    Attributes:
        budget_bytes: The budget.
        needed_bytes: Bytes that some operator needs by itself, with its inputs, its output and what
            is fixed; no plan under the formulation fits into less. ``None`` where the proof is
            another one.
        node: The operator that needs them.
        because: The proof in words, where there is one.
    """

    budget_bytes: int
    needed_bytes: int | None
    node: str | None
    because: str | None

    def __init__(
        self,
        message: str = "",
        *,
        place: str | None = None,
        remedy: str | None = None,
        budget_bytes: int = 0,
        needed_bytes: int | None = None,
        node: str | None = None,
        because: str | None = None,
    ) -> None:
        super().__init__(message, place=place, remedy=remedy)
        self.budget_bytes = budget_bytes
        self.needed_bytes = needed_bytes
        self.node = node
        self.because = because


class LimitReached(RematError):
    """A search that ended, by its limits, before it found a first plan. Nothing is proven but the
    bound.

    Attributes:
        budget_bytes: The budget.
        bound: No stage schedule within the budget costs less, in the instance's unit.
        seconds: Time that the search took.
    """

    budget_bytes: int
    bound: int
    seconds: float

    def __init__(
        self,
        message: str = "",
        *,
        place: str | None = None,
        remedy: str | None = None,
        budget_bytes: int = 0,
        bound: int = 0,
        seconds: float = 0.0,
    ) -> None:
        super().__init__(message, place=place, remedy=remedy)
        self.budget_bytes = budget_bytes
        self.bound = bound
        self.seconds = seconds
