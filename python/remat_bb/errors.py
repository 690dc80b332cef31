"""Exceptions of :mod:`remat_bb`: each names the problem, its place and a remedy.

Every exception is a :class:`RematError`. Errors in arguments and documents are ``ValueError`` as
well, and errors of files ``OSError``.
"""

from __future__ import annotations


class RematError(Exception):
    """Base of all exceptions of this package.

    Attributes:
        message: The problem.
        place: The file with line and column, the path of a value in a dictionary
            (``nodes[3].cost``), or the argument; ``None`` if unknown.
        remedy: A valid input or a way out; ``None`` if the message has all of it.
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
    """An instance that cannot be read or built. The message names file, field, value and remedy."""


class InvalidPlan(RematError, ValueError):
    """A plan or schedule that cannot be read, or belongs to another instance."""


class InvalidBudget(RematError, ValueError):
    """A budget that cannot be read."""


class InvalidArgument(RematError, ValueError):
    """Any other argument that is invalid or does not apply to the instance."""


class InvalidType(InvalidArgument, TypeError):
    """An argument of the wrong type."""


class NoExactForm(InvalidArgument):
    """A constraint or product of variables without an exact form in rows and integers."""


class InternalError(RematError, RuntimeError):
    """A bug in this package."""


class FileError(RematError, OSError):
    """A file that cannot be opened or written, with the message of the operating system."""


class PlanRefuted(RematError):
    """A plan or schedule that its replay refutes: it cannot be executed, or its recorded figures
    differ.

    Attributes:
        differences: Recorded figures that the replay does not confirm, each as text; empty if the
            plan cannot be executed.
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
    """A budget that is proven too small for every stage schedule in the order of the instance.

    Attributes:
        budget_bytes: The budget.
        needed_bytes: Bytes that the operator ``node`` needs by itself: its inputs, its output and
            fixed memory. No plan of the formulation fits into less. ``None`` for other proofs.
        known_bytes: The least budget for which a plan is known; ``None`` if there is no plan.
        node: The operator with that need.
        because: The proof as text, if any.
    """

    budget_bytes: int
    needed_bytes: int | None
    known_bytes: int | None
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
        known_bytes: int | None = None,
        node: str | None = None,
        because: str | None = None,
    ) -> None:
        super().__init__(message, place=place, remedy=remedy)
        self.budget_bytes = budget_bytes
        self.needed_bytes = needed_bytes
        self.known_bytes = known_bytes
        self.node = node
        self.because = because


class LimitReached(RematError):
    """A search that reached a limit before it found a first plan. Only the bound is proven.

    Attributes:
        budget_bytes: The budget.
        bound: Lower bound on the cost of stage schedules within the budget, in the instance's unit.
        seconds: Time of the search.
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


class JobsLost(RematError):
    """Jobs of a sweep whose workers died or failed at every attempt.

    Attributes:
        jobs: Numbers of the jobs without a result.
    """

    jobs: list[int]

    def __init__(
        self,
        message: str = "",
        *,
        place: str | None = None,
        remedy: str | None = None,
        jobs: list[int] | None = None,
    ) -> None:
        super().__init__(message, place=place, remedy=remedy)
        self.jobs = jobs or []
