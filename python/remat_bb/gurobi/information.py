"""Version and platform, as ``gurobipy.gurobi`` tells them."""

from __future__ import annotations

from .constants import GRB


def version() -> tuple[int, int, int]:
    """The version of gurobipy's interface that this one follows."""
    return (GRB.VERSION_MAJOR, GRB.VERSION_MINOR, GRB.VERSION_TECHNICAL)


def platform() -> str:
    """``remat-bb``: this is not Gurobi."""
    return "remat-bb"
