"""Settings that exclude one another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import InvalidArgument

if TYPE_CHECKING:
    from .planner import Settings

CLASSES = ("tags", "regions", "blocks", "names")
"""Classes of plans that training stacks can execute."""


def check_class(settings: Settings) -> None:
    """Raises :class:`InvalidArgument` for an unknown class of plans, and for settings that exclude
    one."""
    if settings.plan_class is None:
        return
    if settings.plan_class not in CLASSES:
        raise InvalidArgument(
            f"plan_class: {settings.plan_class!r} is no class of plans",
            remedy=f"one of {', '.join(CLASSES)}",
        )
    others = {"offload": settings.offload is not None, "reorder": settings.reorder}
    for name in (name for name, given in others.items() if given):
        raise InvalidArgument(
            f"plan_class: plans of a class exclude {name}",
            remedy=f"leave out {name}, or plan_class",
        )


def check_in_flight(settings: Settings, inner: str) -> None:
    """Raises :class:`InvalidArgument` for an invalid number of micro-batches in flight, and for
    settings that exclude several."""
    stage = settings.stage
    if stage is None and (not isinstance(settings.in_flight, int) or settings.in_flight < 1):
        raise InvalidArgument(
            f"in_flight: {settings.in_flight!r} is no number of micro-batches",
            remedy="give a whole number from 1 on, or a StageSchedule",
        )
    others = {
        "offload": settings.offload is not None,
        "reorder": settings.reorder,
        "plan_class": settings.plan_class is not None,
        'inner="inductor"': inner == "inductor",
    }
    single = stage is None and settings.pending == 1
    for name in (name for name, given in others.items() if given and not single):
        raise InvalidArgument(
            f"in_flight: several micro-batches in flight exclude {name}",
            remedy=f"leave out {name}, or in_flight",
        )


def no_copies(what: str) -> InvalidArgument:
    """The error for copies to the host in an unsupported place."""
    return InvalidArgument(
        f"offload: {what} copy nothing to the host", remedy="use remat_bb.torch.compile"
    )
