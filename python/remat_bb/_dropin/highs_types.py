"""Records and enumerations in the shape of ``highspy``."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

kHighsInf = math.inf
"""Bounds and sides from 1e20 on are infinite as well."""


class _Named(enum.IntEnum):
    def __str__(self) -> str:
        return f"{type(self).__name__}.{self.name}"


class HighsStatus(_Named):
    """Outcome of a call."""

    kError = -1
    kOk = 0
    kWarning = 1


class HighsModelStatus(_Named):
    """Ending of a solve."""

    kNotset = 0
    kLoadError = 1
    kModelError = 2
    kPresolveError = 3
    kSolveError = 4
    kPostsolveError = 5
    kModelEmpty = 6
    kOptimal = 7
    kInfeasible = 8
    kUnboundedOrInfeasible = 9
    kUnbounded = 10
    kObjectiveBound = 11
    kObjectiveTarget = 12
    kTimeLimit = 13
    kIterationLimit = 14
    kUnknown = 15
    kSolutionLimit = 16
    kInterrupt = 17
    kMemoryLimit = 18
    kHighsInterrupt = 19


class HighsVarType(_Named):
    """Kind of a column."""

    kContinuous = 0
    kInteger = 1
    kSemiContinuous = 2
    kSemiInteger = 3
    kImplicitInteger = 4


LETTERS = {
    HighsVarType.kContinuous: "C",
    HighsVarType.kInteger: "I",
    HighsVarType.kSemiContinuous: "C",
    HighsVarType.kSemiInteger: "I",
    HighsVarType.kImplicitInteger: "C",
}
SEMI = (HighsVarType.kSemiContinuous, HighsVarType.kSemiInteger)


class ObjSense(_Named):
    """Sense of the objective."""

    kMinimize = 1
    kMaximize = -1


class MatrixFormat(_Named):
    """Order of a matrix in compressed form."""

    kColwise = 1
    kRowwise = 2


class HessianFormat(_Named):
    """Part of a Hessian that is stored."""

    kTriangular = 1
    kSquare = 2


class HighsBasisStatus(_Named):
    """Place of a column or row in a basis."""

    kLower = 0
    kBasic = 1
    kUpper = 2
    kZero = 3
    kNonbasic = 4


MODEL_STATUS = {
    "optimal": HighsModelStatus.kOptimal,
    "infeasible": HighsModelStatus.kInfeasible,
    "unbounded": HighsModelStatus.kUnbounded,
    "infeasible or unbounded": HighsModelStatus.kUnboundedOrInfeasible,
    "cutoff": HighsModelStatus.kObjectiveBound,
    "time limit": HighsModelStatus.kTimeLimit,
    "work limit": HighsModelStatus.kTimeLimit,
    "node limit": HighsModelStatus.kSolutionLimit,
    "iteration limit": HighsModelStatus.kIterationLimit,
    "memory limit": HighsModelStatus.kMemoryLimit,
    "interrupted": HighsModelStatus.kInterrupt,
    "numeric": HighsModelStatus.kSolveError,
}
"""Model status by the status of an :class:`remat_bb.Answer`."""

WORDS = {
    HighsModelStatus.kNotset: "Not Set",
    HighsModelStatus.kModelEmpty: "Empty",
    HighsModelStatus.kOptimal: "Optimal",
    HighsModelStatus.kInfeasible: "Infeasible",
    HighsModelStatus.kUnbounded: "Unbounded",
    HighsModelStatus.kObjectiveBound: "Bound on objective reached",
    HighsModelStatus.kTimeLimit: "Time limit reached",
    HighsModelStatus.kIterationLimit: "Iteration limit reached",
    HighsModelStatus.kSolutionLimit: "Solution limit reached",
    HighsModelStatus.kInterrupt: "Interrupted by user",
    HighsModelStatus.kMemoryLimit: "Memory limit reached",
    HighsModelStatus.kSolveError: "Solve error",
}
"""Texts of model statuses."""

BASIS_STATUS = {
    "B": HighsBasisStatus.kBasic,
    "L": HighsBasisStatus.kLower,
    "U": HighsBasisStatus.kUpper,
    "F": HighsBasisStatus.kZero,
}
"""Basis status by the letters of :attr:`remat_bb.Answer.basis`."""

DEFAULTS: dict[str, Any] = {
    "time_limit": kHighsInf,
    "mip_rel_gap": 1e-4,
    "mip_abs_gap": 1e-6,
    "mip_max_nodes": 2**31 - 1,
    "mip_feasibility_tolerance": 1e-6,
    "primal_feasibility_tolerance": 1e-7,
    "dual_feasibility_tolerance": 1e-7,
    "simplex_iteration_limit": 2**31 - 1,
    "objective_bound": kHighsInf,
    "threads": 0,
    "random_seed": 0,
    "presolve": "choose",
    "solver": "choose",
    "parallel": "choose",
    "simplex_strategy": 1,
    "simplex_scale_strategy": 2,
    "mip_detect_symmetry": True,
    "mip_heuristic_effort": 0.05,
    "run_crossover": "on",
    "output_flag": True,
    "log_to_console": True,
    "log_file": "",
    "highs_debug_level": 0,
}
"""Options that are known, with their defaults."""

EFFECTIVE = frozenset(
    "time_limit mip_rel_gap mip_abs_gap mip_max_nodes mip_feasibility_tolerance "
    "primal_feasibility_tolerance dual_feasibility_tolerance simplex_iteration_limit "
    "threads random_seed presolve".split()
)
"""Options that the search heeds, where they were set or their default is one of a search."""


@dataclass
class HighsSparseMatrix:
    """A matrix in compressed form."""

    format_: MatrixFormat = MatrixFormat.kColwise
    num_col_: int = 0
    num_row_: int = 0
    start_: Any = field(default_factory=lambda: [0])
    index_: Any = field(default_factory=list)
    value_: Any = field(default_factory=list)


@dataclass
class HighsLp:
    """A linear or mixed-integer program as arrays."""

    num_col_: int = 0
    num_row_: int = 0
    col_cost_: Any = field(default_factory=list)
    col_lower_: Any = field(default_factory=list)
    col_upper_: Any = field(default_factory=list)
    row_lower_: Any = field(default_factory=list)
    row_upper_: Any = field(default_factory=list)
    a_matrix_: HighsSparseMatrix = field(default_factory=HighsSparseMatrix)
    integrality_: Any = field(default_factory=list)
    sense_: ObjSense = ObjSense.kMinimize
    offset_: float = 0.0
    model_name_: str = ""
    col_names_: list[str] = field(default_factory=list)
    row_names_: list[str] = field(default_factory=list)


@dataclass
class HighsHessian:
    """The matrix ``Q`` of an objective ``c x + x Q x / 2``, by columns: one triangle, or all."""

    dim_: int = 0
    format_: Any = HessianFormat.kTriangular
    start_: Any = field(default_factory=list)
    index_: Any = field(default_factory=list)
    value_: Any = field(default_factory=list)

    def products(self, handles: list[int]) -> tuple[Any, Any, Any]:
        """First columns, second columns and factors of its products, with the columns' handles."""
        index = np.asarray(self.index_, dtype=np.int64)
        value = np.asarray(self.value_, dtype=float)
        starts: Any = np.append(np.asarray(self.start_, dtype=np.int64)[: self.dim_], len(index))
        column: Any = np.repeat(np.arange(self.dim_), np.diff(starts))
        whole = int(self.format_) == HessianFormat.kSquare
        cols = np.asarray(handles, dtype=np.int64)
        return cols[index], cols[column], np.where((index == column) | whole, 0.5 * value, value)


@dataclass
class HighsModel:
    """A model: its ``lp_``, and its ``hessian_`` if the objective is quadratic."""

    lp_: HighsLp = field(default_factory=HighsLp)
    hessian_: HighsHessian = field(default_factory=HighsHessian)


@dataclass
class HighsSolution:
    """A point with its duals, by position."""

    value_valid: bool = False
    dual_valid: bool = False
    col_value: list[float] = field(default_factory=list)
    col_dual: list[float] = field(default_factory=list)
    row_value: list[float] = field(default_factory=list)
    row_dual: list[float] = field(default_factory=list)


@dataclass
class HighsBasis:
    """A basis, by position."""

    valid: bool = False
    col_status: list[HighsBasisStatus] = field(default_factory=list)
    row_status: list[HighsBasisStatus] = field(default_factory=list)


@dataclass
class HighsInfo:
    """Numbers about a solve: ``primal_solution_status`` is 2 with a point and 0 without,
    ``mip_node_count`` -1 without integers."""

    valid: bool = False
    objective_function_value: float = 0.0
    mip_dual_bound: float = 0.0
    mip_gap: float = kHighsInf
    mip_node_count: int = -1
    simplex_iteration_count: int = 0
    ipm_iteration_count: int = 0
    crossover_iteration_count: int = 0
    pdlp_iteration_count: int = 0
    qp_iteration_count: int = 0
    primal_solution_status: int = 0
    dual_solution_status: int = 0
    basis_validity: int = 0
    max_integrality_violation: float = 0.0


def by_rows(rows: int, cols: int, starts: Any, indices: Any, values: Any) -> tuple[Any, Any, Any]:
    """Converts a matrix in compressed form from columns to rows."""
    counts: Any = np.diff(np.append(starts[:cols], len(indices)))
    of: Any = np.repeat(np.arange(cols), counts)
    order = np.argsort(indices, kind="stable")
    new = np.concatenate(([0], np.cumsum(np.bincount(indices.astype(np.int64), minlength=rows))))
    return new, of[order], values[order]


def from_arguments(
    num_col: int,
    num_row: int,
    num_nz: int,
    a_format: Any,
    sense: Any,
    offset: float,
    cost: Any,
    lower: Any,
    upper: Any,
    row_lower: Any,
    row_upper: Any,
    starts: Any,
    indices: Any,
    values: Any,
    integrality: Any = (),
) -> HighsLp:
    """The arguments of ``passModel`` as a record."""
    matrix = HighsSparseMatrix(
        MatrixFormat(int(a_format)), num_col, num_row, starts, indices, values
    )
    return HighsLp(
        num_col_=num_col,
        num_row_=num_row,
        col_cost_=cost,
        col_lower_=lower,
        col_upper_=upper,
        row_lower_=row_lower,
        row_upper_=row_upper,
        a_matrix_=matrix,
        integrality_=list(integrality),
        sense_=ObjSense(int(sense)),
        offset_=offset,
    )


def found(names: dict[int, str], name: str) -> tuple[HighsStatus, int]:
    """The position of a name."""
    position = next((k for k, held in names.items() if held == name), -1)
    return (HighsStatus.kOk if position >= 0 else HighsStatus.kError), position
