"""The everyday interface of ``highspy``, with arrays for input and output, over :class:`Program`.

>>> from remat_bb.highs import Highs
>>> highs = Highs()
>>> _ = highs.setOptionValue("output_flag", False)
>>> _ = highs.addVar(0, 4), highs.changeColCost(0, -1.0)
>>> _ = highs.addRow(-highs.inf, 3, 1, [0], [1.0])
>>> _ = highs.run()
>>> highs.modelStatusToString(highs.getModelStatus()), highs.getSolution().col_value
('Optimal', [3.0])

Columns and rows are numbered by position; a deletion moves later ones up. Calls return a
:class:`HighsStatus`, as in ``highspy``; an unknown option gives ``kError``.
"""

from __future__ import annotations

import itertools
import math
import os
from typing import Any

import numpy as np

from ._dropin import reform, running
from ._dropin.highs_types import (
    BASIS_STATUS,
    DEFAULTS,
    EFFECTIVE,
    LETTERS,
    MODEL_STATUS,
    SEMI,
    WORDS,
    HessianFormat,
    HighsBasis,
    HighsBasisStatus,
    HighsHessian,
    HighsInfo,
    HighsLp,
    HighsModel,
    HighsModelStatus,
    HighsSolution,
    HighsSparseMatrix,
    HighsStatus,
    HighsVarType,
    MatrixFormat,
    ObjSense,
    by_rows,
    found,
    from_arguments,
    kHighsInf,
)
from ._dropin.options import Settings
from ._native import Answer, Program, __version__
from .errors import NoExactForm, RematError

__all__ = [
    "HessianFormat",
    "Highs",
    "HighsBasis",
    "HighsBasisStatus",
    "HighsHessian",
    "HighsInfo",
    "HighsLp",
    "HighsModel",
    "HighsModelStatus",
    "HighsSolution",
    "HighsSparseMatrix",
    "HighsStatus",
    "HighsVarType",
    "MatrixFormat",
    "ObjSense",
    "kHighsInf",
]

_OK, _ERROR = HighsStatus.kOk, HighsStatus.kError


class Highs:
    """A model that can be edited, with the result of its last solve."""

    inf = kHighsInf

    def __init__(self) -> None:
        self.clear()

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"remat-bb's Highs has no {name!r}: see docs/guides/drop-in")

    # Model.

    def clear(self) -> HighsStatus:
        """Removes the model and sets all options to their defaults."""
        self._options = dict(DEFAULTS)
        return self.clearModel()

    def clearModel(self) -> HighsStatus:
        """Removes the model."""
        self._program = Program()
        self._cols: list[int] = []
        self._rows: list[int] = []
        self._types: list[HighsVarType] = []
        self._names: list[dict[int, str]] = [{}, {}]
        self._start: list[float] | None = None
        return self.clearSolver()

    def clearSolver(self) -> HighsStatus:
        """Discards the result of the last solve."""
        self._answer: Answer | None = None
        self._seconds = 0.0
        return _OK

    def passModel(self, model: Any, *rest: Any) -> HighsStatus:
        """Replaces the model.

        Args:
            model: A :class:`HighsLp`, a :class:`HighsModel`, or ``num_col`` followed by
                ``num_row, num_nz, a_format, sense, offset, col_cost, col_lower, col_upper,
                row_lower, row_upper, a_start, a_index, a_value, integrality``.

        Returns:
            ``kError`` for arrays of wrong lengths.
        """
        hessian = None
        if rest:
            model = from_arguments(model, *rest)
        elif hasattr(model, "lp_"):
            model, hessian = model.lp_, model.hessian_
        options = self._options
        self.clearModel()
        self._options = options
        try:
            status = self._take(model)
        except (RematError, ValueError, IndexError):
            self.clearModel()
            return _ERROR
        return self.passHessian(hessian) if hessian and hessian.dim_ else status

    def passHessian(self, hessian: Any, *rest: Any) -> HighsStatus:
        """Sets the quadratic part of the objective, from a :class:`HighsHessian` or its fields."""
        hessian = HighsHessian(hessian, *rest[1:]) if rest else hessian
        parts = HighsHessian.products
        return self._edit(lambda: self._program.set_products(*parts(hessian, self._cols)))

    def _take(self, lp: Any) -> HighsStatus:
        count, rows = int(lp.num_col_), int(lp.num_row_)
        self._program.maximise = int(lp.sense_) == -1
        self._program.offset = float(lp.offset_)
        status = self.addCols(count, lp.col_cost_, lp.col_lower_, lp.col_upper_, 0, [], [], [])
        types = list(lp.integrality_)
        if types:
            self.changeColsIntegrality(count, range(count), types)
        matrix = lp.a_matrix_
        parts = np.asarray(matrix.start_), np.asarray(matrix.index_), np.asarray(matrix.value_)
        if int(matrix.format_) == MatrixFormat.kColwise:
            parts = by_rows(rows, count, *parts)
        if rows and status == _OK:
            status = self.addRows(rows, lp.row_lower_, lp.row_upper_, 0, *parts)
        for side, names in enumerate((lp.col_names_, lp.row_names_)):
            self._names[side] = {k: str(name) for k, name in enumerate(names) if name}
        return status

    def readModel(self, path: str | os.PathLike[str]) -> HighsStatus:
        """Reads an MPS or LP file."""
        self.clearModel()
        try:
            self._program = Program.read(path)
        except RematError:
            return _ERROR
        program = self._program
        self._cols, self._rows = list(program.cols), list(program.rows)
        integer, continuous = HighsVarType.kInteger, HighsVarType.kContinuous
        self._types = [continuous if program.kind(k) == "C" else integer for k in self._cols]
        named = [(program.col_name, self._cols), (program.row_name, self._rows)]
        self._names = [{k: name(k) or "" for k in keys} for name, keys in named]
        return _OK

    def writeModel(self, path: str | os.PathLike[str]) -> HighsStatus:
        """Writes an LP file (``.lp``) or an MPS file."""
        try:
            self._program.write(path)
        except RematError:
            return _ERROR
        return _OK

    def addVar(self, lower: float, upper: float) -> HighsStatus:
        """Adds a continuous column without cost."""
        return self.addCol(0.0, lower, upper, 0, [], [])

    def addVars(self, count: int, lower: Any, upper: Any) -> HighsStatus:
        """Adds continuous columns without cost."""
        return self.addCols(count, np.zeros(count), lower, upper, 0, [], [], [])

    def addCol(
        self, cost: float, lower: float, upper: float, num_nz: int, indices: Any, values: Any
    ) -> HighsStatus:
        """Adds a continuous column with entries in existing rows."""
        return self.addCols(1, [cost], [lower], [upper], num_nz, [0], indices, values)

    def addCols(
        self,
        count: int,
        cost: Any,
        lower: Any,
        upper: Any,
        num_nz: int,
        starts: Any,
        indices: Any,
        values: Any,
    ) -> HighsStatus:
        """Adds continuous columns with entries in existing rows."""
        try:
            first = self._program.add_cols(
                np.asarray(lower, float),
                np.asarray(upper, float),
                np.asarray(cost, float),
                "C" * count,
            )
            self._cols.extend(range(first, first + count))
            self._types.extend([HighsVarType.kContinuous] * count)
            ends = [*list(starts)[1:count], len(indices)]
            for k in range(count if len(indices) else 0):
                for at in range(int(starts[k]), int(ends[k])):
                    self._program.set_entry(
                        self._rows[int(indices[at])], first + k, float(values[at])
                    )
        except (RematError, IndexError):
            return _ERROR
        return self.clearSolver()

    def addRow(
        self, lower: float, upper: float, num_nz: int, indices: Any, values: Any
    ) -> HighsStatus:
        """Adds a row."""
        return self.addRows(1, [lower], [upper], num_nz, [0], indices, values)

    def addRows(
        self,
        count: int,
        lower: Any,
        upper: Any,
        num_nz: int,
        starts: Any,
        indices: Any,
        values: Any,
    ) -> HighsStatus:
        """Adds rows in compressed form; ``starts`` need not end with the number of entries."""
        try:
            indices = np.asarray(indices, np.int64)
            cols = np.asarray(self._cols, np.int64)[indices] if len(indices) else indices
            starts = [*map(int, list(starts)[:count]), len(indices)]
            first = self._program.add_rows(
                np.asarray(lower, float),
                np.asarray(upper, float),
                starts,
                cols,
                np.asarray(values, float),
            )
        except (RematError, IndexError):
            return _ERROR
        self._rows.extend(range(first, first + count))
        return self.clearSolver()

    def _edit(self, act: Any) -> HighsStatus:
        try:
            act()
        except (RematError, IndexError, ValueError):
            return _ERROR
        return self.clearSolver()

    def changeColCost(self, col: int, cost: float) -> HighsStatus:
        """Sets the cost of a column."""
        return self._edit(lambda: self._program.set_cost(self._cols[col], cost))

    def changeColsCost(self, count: int, cols: Any, costs: Any) -> HighsStatus:
        """Sets the costs of columns."""

        def act() -> None:
            for col, cost in zip(cols, costs):
                self._program.set_cost(self._cols[int(col)], float(cost))

        return self._edit(act)

    def changeColBounds(self, col: int, lower: float, upper: float) -> HighsStatus:
        """Sets the bounds of a column."""
        return self._edit(lambda: self._program.set_bounds(self._cols[col], lower, upper))

    def changeColsBounds(self, count: int, cols: Any, lower: Any, upper: Any) -> HighsStatus:
        """Sets the bounds of columns."""

        def act() -> None:
            for col, low, high in zip(cols, lower, upper):
                self._program.set_bounds(self._cols[int(col)], float(low), float(high))

        return self._edit(act)

    def changeRowBounds(self, row: int, lower: float, upper: float) -> HighsStatus:
        """Sets the sides of a row."""
        return self._edit(lambda: self._program.set_sides(self._rows[row], lower, upper))

    def changeCoeff(self, row: int, col: int, value: float) -> HighsStatus:
        """Sets an entry."""
        return self._edit(
            lambda: self._program.set_entry(self._rows[row], self._cols[col], float(value))
        )

    def changeColIntegrality(self, col: int, kind: Any) -> HighsStatus:
        """Sets the kind of a column."""
        return self.changeColsIntegrality(1, [col], [kind])

    def changeColsIntegrality(self, count: int, cols: Any, kinds: Any) -> HighsStatus:
        """Sets the kinds of columns."""

        def act() -> None:
            for col, kind in zip(cols, kinds):
                self._types[int(col)] = HighsVarType(int(kind))
                letter = LETTERS[self._types[int(col)]]
                self._program.set_kind(self._cols[int(col)], letter)

        return self._edit(act)

    def changeObjectiveSense(self, sense: Any) -> HighsStatus:
        """Sets the sense of the objective."""
        self._program.maximise = int(sense) == -1
        return self.clearSolver()

    def changeObjectiveOffset(self, offset: float) -> HighsStatus:
        """Sets the constant of the objective."""
        self._program.offset = float(offset)
        return self.clearSolver()

    def deleteCols(self, count: int, cols: Any) -> HighsStatus:
        """Removes columns; later ones move up."""
        gone = {int(col) for col in list(cols)[:count]}

        def act() -> None:
            self._program.remove_cols([self._cols[col] for col in gone])
            self._cols = [k for col, k in enumerate(self._cols) if col not in gone]
            self._types = [kind for col, kind in enumerate(self._types) if col not in gone]
            self._names[0], self._start = {}, None

        return self._edit(act)

    deleteVars = deleteCols

    def deleteRows(self, count: int, rows: Any) -> HighsStatus:
        """Removes rows; later ones move up."""
        gone = {int(row) for row in list(rows)[:count]}

        def act() -> None:
            self._program.remove_rows([self._rows[row] for row in gone])
            self._rows = [k for row, k in enumerate(self._rows) if row not in gone]
            self._names[1] = {}

        return self._edit(act)

    def passColName(self, col: int, name: str) -> HighsStatus:
        """Names a column."""
        self._names[0][col] = name
        return _OK

    def passRowName(self, row: int, name: str) -> HighsStatus:
        """Names a row."""
        self._names[1][row] = name
        return _OK

    def getColByName(self, name: str) -> tuple[HighsStatus, int]:
        """Position of a column; ``kError`` and -1 if no column has the name."""
        return found(self._names[0], name)

    def getRowByName(self, name: str) -> tuple[HighsStatus, int]:
        """Position of a row; ``kError`` and -1 if no row has the name."""
        return found(self._names[1], name)

    def getNumCol(self) -> int:
        """Number of columns."""
        return len(self._cols)

    def getNumRow(self) -> int:
        """Number of rows."""
        return len(self._rows)

    def getNumNz(self) -> int:
        """Number of entries."""
        return self._program.num_nonzeros

    def getInfinity(self) -> float:
        """The value of an absent bound."""
        return kHighsInf

    def getLp(self) -> HighsLp:
        """The model as arrays, by rows."""
        program = self._program
        position = {k: at for at, k in enumerate(self._cols)}
        entries = [program.entries(k) for k in self._rows]
        starts = list(itertools.accumulate(map(len, entries), initial=0))
        matrix = HighsSparseMatrix(
            MatrixFormat.kRowwise,
            len(self._cols),
            len(self._rows),
            starts,
            [position[col] for row in entries for col, _ in row],
            [value for row in entries for _, value in row],
        )
        bounds = [program.bounds(k) for k in self._cols]
        sides = [program.sides(k) for k in self._rows]
        return HighsLp(
            num_col_=len(self._cols),
            num_row_=len(self._rows),
            col_cost_=[program.cost(k) for k in self._cols],
            col_lower_=[low for low, _ in bounds],
            col_upper_=[high for _, high in bounds],
            row_lower_=[low for low, _ in sides],
            row_upper_=[high for _, high in sides],
            a_matrix_=matrix,
            integrality_=list(self._types),
            sense_=ObjSense.kMaximize if program.maximise else ObjSense.kMinimize,
            offset_=program.offset,
            model_name_=program.name,
        )

    # Options.

    def setOptionValue(self, name: str, value: Any) -> HighsStatus:
        """Sets an option; ``kError`` for an unknown one."""
        if name not in DEFAULTS:
            return _ERROR
        self._options[name] = value
        return _OK

    def getOptionValue(self, name: str) -> tuple[HighsStatus, Any]:
        """Value of an option."""
        return (_OK, self._options[name]) if name in DEFAULTS else (_ERROR, 0)

    def resetOptions(self) -> HighsStatus:
        """Sets all options to their defaults."""
        self._options = dict(DEFAULTS)
        return _OK

    def silent(self, turn_off_output: bool = True) -> None:
        """Turns the log off, or on again."""
        self._options["output_flag"] = not turn_off_output

    def version(self) -> str:
        """Version of remat-bb."""
        return __version__

    def setSolution(self, solution: Any, indices: Any = None, values: Any = None) -> HighsStatus:
        """Sets a point to start from: a :class:`HighsSolution`, or a number of entries, positions
        of columns and values. Missing values are searched for."""
        point = [math.nan] * len(self._cols)
        if indices is None:
            point = [float(value) for value in solution.col_value]
            if len(point) != len(self._cols):
                return _ERROR
        else:
            for col, value in zip(indices, values):
                point[int(col)] = float(value)
        self._start = point
        return _OK

    # Solving.

    def run(self) -> HighsStatus:
        """Solves the model. Ctrl-C ends it with the best point so far.

        Returns:
            ``kWarning`` if a limit ended the solve, ``kError`` after numerical trouble.
        """
        options = self._options
        settings = Settings(verbose=options["output_flag"] and options["log_to_console"])
        settings.update({k: v for k, v in options.items() if k in EFFECTIVE}, "Highs")
        if options["log_file"]:
            settings.log_path = options["log_file"]
        if options["solver"] in ("primal", "dual") or options["simplex_strategy"] == 4:
            settings.algorithm = "primal" if options["solver"] != "dual" else "dual"
        program = self._program
        start: list[float] | None = None
        if self._start is not None:
            start = [math.nan] * (max(self._cols, default=-1) + 1)
            for at, col in enumerate(self._cols):
                start[col] = self._start[at]
        self._answer = None
        before = set(program.cols), set(program.rows)
        bounds = {}
        switched: list[reform.Switched] = []
        try:
            for at, col in enumerate(self._cols):
                if self._types[at] in SEMI:
                    bounds[col] = program.bounds(col)
                    switched += reform.make_semicontinuous(program, col, f"column {at}")
            self._answer = running.solve(program, settings, start)
        except (reform.Unbounded, NoExactForm):
            return _ERROR
        finally:
            program.remove_rows([k for k in program.rows if k not in before[1]])
            program.remove_cols([k for k in program.cols if k not in before[0]])
            for col, (low, high) in bounds.items():
                program.set_bounds(col, low, high)
        self._switched = switched
        self._seconds += self._answer.seconds
        if self._answer.status in running.LIMITS:
            return HighsStatus.kWarning
        return _ERROR if self._answer.status == "numeric" else _OK

    solve = run
    optimize = run

    def getModelStatus(self) -> HighsModelStatus:
        """Ending of the last solve."""
        if self._answer is None:
            return HighsModelStatus.kNotset
        if not self._cols and self._answer.status == "optimal":
            return HighsModelStatus.kModelEmpty
        return MODEL_STATUS[self._answer.status]

    def modelStatusToString(self, status: HighsModelStatus) -> str:
        """A model status as text."""
        return WORDS.get(status, status.name)

    def getSolution(self) -> HighsSolution:
        """The best point with its duals: changes of the objective per unit."""
        answer = self._answer
        solution = HighsSolution()
        if answer is None or answer.objective is None:
            return solution
        x = reform.snap(answer.x(), self._switched)
        solution.value_valid = True
        solution.col_value = x[self._cols].tolist()
        solution.row_value = [
            math.fsum(value * float(x[col]) for col, value in self._program.entries(row))
            for row in self._rows
        ]
        if answer.duals is not None and not self._is_mip():
            solution.dual_valid = True
            solution.col_dual = running.clean(answer.reduced_costs[self._cols]).tolist()
            solution.row_dual = running.clean(answer.duals[self._rows]).tolist()
        return solution

    def getBasis(self) -> HighsBasis:
        """The optimal basis of a linear program."""
        answer = self._answer
        if answer is None or answer.basis is None or self._is_mip():
            return HighsBasis()
        cols, rows = answer.basis
        return HighsBasis(
            True,
            [BASIS_STATUS[cols[k]] for k in self._cols],
            [BASIS_STATUS[rows[k]] for k in self._rows],
        )

    def getInfo(self) -> HighsInfo:
        """Numbers about the last solve."""
        answer = self._answer
        info = HighsInfo()
        if answer is None:
            return info
        info.valid = True
        info.simplex_iteration_count = answer.lp_iterations
        if answer.objective is not None:
            info.objective_function_value = answer.objective
            info.primal_solution_status = 2
        elif self._is_mip():
            info.objective_function_value = -kHighsInf if self._program.maximise else kHighsInf
        if self._is_mip():
            info.mip_node_count, info.mip_dual_bound = answer.nodes, answer.bound
            info.mip_gap = running.relative_gap(answer)
        elif answer.duals is not None:
            info.dual_solution_status, info.basis_validity = 2, 1
        return info

    def getInfoValue(self, name: str) -> tuple[HighsStatus, Any]:
        """One of the numbers of :meth:`getInfo`."""
        info = self.getInfo()
        return (_OK, getattr(info, name)) if hasattr(info, name) else (_ERROR, 0)

    def getObjectiveValue(self) -> float:
        """Objective of the best point; 0 without a point."""
        return self.getInfo().objective_function_value

    def getDualRay(self) -> tuple[HighsStatus, bool, Any]:
        """A Farkas proof by row that a linear program is infeasible."""
        return self._ray("farkas", self._rows)

    def getPrimalRay(self) -> tuple[HighsStatus, bool, Any]:
        """A ray by column along which the objective of a linear program improves without limit."""
        return self._ray("ray", self._cols)

    def _ray(self, name: str, handles: list[int]) -> tuple[HighsStatus, bool, Any]:
        ray = None if self._answer is None else getattr(self._answer, name)
        if ray is None:
            return _OK, False, np.array([])
        return _OK, True, ray[handles]

    def getRunTime(self) -> float:
        """Total time of all solves of this model in seconds."""
        return self._seconds

    def _is_mip(self) -> bool:
        return self._program.has_integers or any(kind in SEMI for kind in self._types)
