"""The latest reports of a process, for backends that are named by text and have no handle."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from ..errors import InvalidArgument

if TYPE_CHECKING:
    from .report import Report

KEPT = 64
"""Reports of a process that are kept. Each holds its instance and plan."""

_LATEST: deque[Report] = deque(maxlen=KEPT)


def note(report: Report) -> None:
    """Appends a report."""
    _LATEST.append(report)


def drop(report: Report) -> None:
    """Removes a report, whose plan is not used."""
    for place, known in enumerate(_LATEST):
        if known is report:
            del _LATEST[place]
            return


def reports(model: Any = None) -> list[Report]:
    """Reports of compilations, the latest one last.

    Args:
        model: A module given to :func:`remat_bb.torch.attach`, a block of
            :func:`remat_bb.torch.regional`, or a step of :func:`remat_bb.torch.compile`. ``None``:
            the latest 64 compilations of the process, those of
            ``torch.compile(..., backend="remat_bb")`` included.

    Raises:
        InvalidArgument: the model is none of these.
    """
    from .report import Report

    if model is None:
        return list(_LATEST)
    for each in (model, *getattr(model, "__dict__", {}).values()):
        found = getattr(each, "reports", None)
        if isinstance(found, list) and all(isinstance(x, Report) for x in found):
            return found
    raise InvalidArgument(
        f"model: this {type(model).__name__} has no plan of its own",
        remedy="give a module from rt.attach or a step from rt.compile, or leave it out: "
        "rt.reports() has the latest reports of the process",
    )
