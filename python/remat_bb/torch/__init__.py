"""PyTorch training steps within a memory budget.

>>> import remat_bb.torch as rt                          # doctest: +SKIP
>>> step = rt.compile(loss_of, budget="6GiB")            # doctest: +SKIP
>>> step(batch).backward()                               # doctest: +SKIP

AOTAutograd traces the joint graph of forward and backward pass, which becomes an instance. Its plan
becomes the two graphs that run. Needs torch 2.9 or later; 2.11 and 2.15 are tested. The guide is
``docs/guides/pytorch/index.md`` of the project.
"""

from .attach import Attached, attach
from .backend import (
    backend,
    budget,
    compile,
    compile_with_budget,
    export,
    measure,
    plan,
)
from .cost import Costs, Measured, Roofline
from .estimate import estimate, fits
from .estimated import Estimate, Fit
from .importer import order_graph
from .inductor_memory import InductorEstimates
from .knapsack import KnapsackSolver
from .latest import reports
from .link import Link, measure_link
from .live import measure_graph
from .opaque import UnsupportedGraph
from .pipelines import Pipeline, pipeline
from .planner import Settings
from .purity import pure
from .regional import Regional, regional
from .reorder import OrderReport, ReorderPass, reorder
from .report import Report
from .sac import Policies, checkpoint_policies
from .stage_schedule import StageBytes, StageSchedule, buffer_bytes
from .step import Step

__all__ = [
    "Attached",
    "Costs",
    "Estimate",
    "Fit",
    "InductorEstimates",
    "KnapsackSolver",
    "Link",
    "Measured",
    "OrderReport",
    "Pipeline",
    "Policies",
    "ReorderPass",
    "Regional",
    "Report",
    "Roofline",
    "Settings",
    "StageBytes",
    "StageSchedule",
    "Step",
    "UnsupportedGraph",
    "attach",
    "backend",
    "budget",
    "buffer_bytes",
    "checkpoint_policies",
    "compile",
    "compile_with_budget",
    "estimate",
    "export",
    "fits",
    "measure",
    "measure_graph",
    "measure_link",
    "order_graph",
    "pipeline",
    "plan",
    "pure",
    "regional",
    "reorder",
    "reports",
]
