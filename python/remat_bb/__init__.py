"""Rematerialization: which tensors of a training step to keep and which to compute again, within a
memory budget.

>>> import remat_bb
>>> instance = remat_bb.Instance.zoo("vgg16?batch=32")
>>> plan = remat_bb.solve(instance, "80%")
>>> plan.status
'optimal'
>>> plan.peak_memory_bytes <= plan.budget_bytes
True

:func:`solve` finds plans by branch, price and cut, and replays them step by step. Bounds hold for
stage schedules: operators run for the first time in the order of the instance, and between two
first runs each operator runs at most once, in that order. The guide is ``docs/reference/python.md``
of the project.
"""

from ._dropin import install, uninstall
from ._executors import ray_executor
from ._memory import order, order_baselines, place, place_baselines, plan_memory
from ._merged import Merged, merge
from ._native import (
    Answer,
    Baseline,
    Frontier,
    FrontierPoint,
    Instance,
    MaxBatch,
    MemoryPlan,
    Order,
    OrderBaseline,
    PlaceBaseline,
    Placement,
    Plan,
    Program,
    ProgramProgress,
    Progress,
    Verified,
    __version__,
    format_bytes,
    zoo_models,
)
from ._solve import baselines, explain, frontier, improve, max_batch, solve, verify
from ._sweep import sweep
from .errors import (
    FileError,
    InfeasibleBudget,
    InternalError,
    InvalidArgument,
    InvalidBudget,
    InvalidInstance,
    InvalidPlan,
    InvalidType,
    JobsLost,
    LimitReached,
    NoExactForm,
    PlanRefuted,
    RematError,
)

__all__ = [
    "Answer",
    "Baseline",
    "FileError",
    "Frontier",
    "FrontierPoint",
    "InfeasibleBudget",
    "Instance",
    "InternalError",
    "InvalidArgument",
    "InvalidBudget",
    "InvalidInstance",
    "InvalidPlan",
    "InvalidType",
    "JobsLost",
    "LimitReached",
    "MaxBatch",
    "MemoryPlan",
    "Merged",
    "NoExactForm",
    "Order",
    "OrderBaseline",
    "PlaceBaseline",
    "Placement",
    "Plan",
    "PlanRefuted",
    "Program",
    "ProgramProgress",
    "Progress",
    "RematError",
    "Verified",
    "__version__",
    "baselines",
    "explain",
    "format_bytes",
    "frontier",
    "improve",
    "install",
    "max_batch",
    "merge",
    "order",
    "order_baselines",
    "place",
    "place_baselines",
    "plan_memory",
    "ray_executor",
    "solve",
    "sweep",
    "uninstall",
    "verify",
    "zoo_models",
]
