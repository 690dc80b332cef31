"""Version and platform, as in ``gurobipy.gurobi``."""

from __future__ import annotations

from .constants import GRB


def version() -> tuple[int, int, int]:
    """The version of gurobipy's interface that this module follows."""
    return (GRB.VERSION_MAJOR, GRB.VERSION_MINOR, GRB.VERSION_TECHNICAL)


def platform() -> str:
    """``remat-bb``: this is not Gurobi."""
    return "remat-bb"
