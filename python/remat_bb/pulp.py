"""remat-bb as a solver of PuLP, from 2.4 on.

>>> import pulp
>>> from remat_bb.pulp import REMAT
>>> problem = pulp.LpProblem("p", pulp.LpMaximize)
>>> x = problem.add_variable("x", 0, 3, cat="Integer")
>>> problem += 2 * x
>>> problem += 2 * x <= 5
>>> _ = problem.solve(REMAT(msg=False))
>>> x.varValue
2.0

The import registers the solver for ``pulp.getSolver("REMAT")``. After :func:`install` it also
serves ``PULP_CBC_CMD``, ``COIN_CMD``, ``GUROBI``, ``GUROBI_CMD`` and ``problem.solve()``.
"""

from __future__ import annotations

import math
import tempfile
import warnings
from typing import Any

import pulp
import pulp.apis
from pulp import constants as const

from ._dropin import reform, running
from ._dropin.options import Settings
from ._native import Answer, Program

GUROBI_GAP = 1e-4
"""Relative gap of ``GUROBI`` and ``GUROBI_CMD`` where none is asked for: that solver's default."""

EXACT_GAP = 1e-6
"""Relative gap up to which a search that ended by its gap is ``Optimal`` and not ``GapLimit`` in
PuLP 4."""

PATCHED = ("PULP_CBC_CMD", "COIN_CMD", "GUROBI", "GUROBI_CMD")
"""Classes of PuLP that :func:`install` patches, where PuLP has them."""

CHECKED = ("PULP_CBC_CMD", "COIN_CMD", "GUROBI_CMD")
"""Classes that refuse two variables of one name, as PuLP 3 has it where models go through files;
PuLP 4 has it for all but ``GUROBI``."""

SECOND_SECONDS = 10.0
"""Longest time that the linear program after a search may take: with the integers fixed for duals,
or with rows that may be violated for the values of an infeasible problem."""

_V4 = hasattr(pulp.LpProblem, "add_sos_group")
_INF = math.inf


class REMAT(pulp.LpSolver):
    """The solver. It runs in this process and writes no files.

    Args:
        mip: False solves the linear relaxation.
        msg: True prints a log.
        timeLimit: Seconds.
        gapRel, gapAbs: Relative and absolute gap at which a search ends.
        threads: Number of threads, all by default.
        warmStart: True starts from the variables' values (``setInitialValue``). Missing integers
            are searched for.
        options: Further settings of :meth:`remat_bb.Program.solve`, or of CBC, Gurobi and HiGHS by
            their names: ``["presolve off", "feasibility_tolerance=1e-9", ("MIPGap", 0.01)]``.
        logPath: A file for the log, which is then not printed.
        maxNodes: Largest number of nodes of the search.

    After a solve ``report`` has ``status``, ``objective``, ``bound``, ``gap``, ``nodes``,
    ``seconds`` and ``recognised``. Values of integer variables are integral.
    """

    name = "REMAT"

    def __init__(
        self,
        mip: bool = True,
        msg: bool = True,
        timeLimit: float | None = None,
        gapRel: float | None = None,
        gapAbs: float | None = None,
        presolve: bool | None = None,
        cuts: bool | None = None,
        strong: int | None = None,
        options: list[Any] | None = None,
        warmStart: bool = False,
        keepFiles: bool = False,
        path: str | None = None,
        threads: int | None = None,
        logPath: str | None = None,
        timeMode: str = "elapsed",
        maxNodes: int | None = None,
        seed: int | None = None,
        **solverParams: Any,
    ) -> None:
        super().__init__(
            mip=mip,
            msg=msg,
            options=options,
            timeLimit=timeLimit,
            gapRel=gapRel,
            gapAbs=gapAbs,
            presolve=presolve,
            cuts=cuts,
            strong=strong,
            warmStart=warmStart,
            threads=threads,
            logPath=logPath,
            maxNodes=maxNodes,
            seed=seed,
            **solverParams,
        )
        self.keepFiles = keepFiles
        self.tmpDir = tempfile.gettempdir()
        self.report: dict[str, Any] = {}

    def copy(self) -> REMAT:
        """A copy with all options."""
        copy = super().copy()
        copy.timeLimit = self.timeLimit
        copy.optionsDict = dict(self.optionsDict)
        copy.tmpDir = self.tmpDir
        return copy

    def available(self) -> bool:
        """True: the solver needs no installation and no licence."""
        return True

    def actualSolve(self, lp: Any, **kwargs: Any) -> Any:
        """Solves a problem and assigns values, duals and status; PuLP calls it."""
        return _solve(self, lp, **kwargs)


def _default_gap(solver: Any) -> float:
    """Relative gap up to which a solver reports a solution as optimal."""
    return GUROBI_GAP if solver.name.startswith("GUROBI") else EXACT_GAP


def _settings(solver: Any) -> Settings:
    """The settings of any solver object of PuLP."""
    settings = Settings(time_limit=solver.timeLimit, verbose=solver.msg)
    if _default_gap(solver) == GUROBI_GAP:
        settings.gap = GUROBI_GAP
    for name in ("gapRel", "gapAbs", "threads"):  # attributes of some classes of PuLP
        if getattr(solver, name, None) is not None:
            settings.set(name, getattr(solver, name))
    settings.update(solver.optionsDict, solver.name)
    settings.update(solver.options or [], solver.name)
    return settings


def _finite(bound: float | None, otherwise: float) -> float:
    return otherwise if bound is None else float(bound)


class _Built:
    """A problem of PuLP as a program. Its columns are ``variables`` and its rows ``rows``, both in
    order; columns of ordered sets follow. ``sides`` and ``entries`` belong to the rows."""

    def __init__(self, lp: Any, mip: bool) -> None:
        self.variables = list(lp.variables())
        if mip and not _V4:
            self.variables += _set_members(lp, {hash(v) for v in self.variables})
        self.rows = rows_of(lp)
        index = {hash(v): j for j, v in enumerate(self.variables)}
        self.program = Program(str(lp.name), maximise=lp.sense == const.LpMaximize)
        objective = lp.objective
        costs = [0.0] * len(self.variables)
        for variable, value in objective.items():
            costs[index[hash(variable)]] += float(value)
        self.program.add_cols(
            [_finite(v.lowBound, -_INF) for v in self.variables],
            [_finite(v.upBound, _INF) for v in self.variables],
            costs,
            "".join("I" if mip and v.cat == const.LpInteger else "C" for v in self.variables),
        )
        self.program.offset = float(objective.constant or 0.0)
        self._add_rows(index)
        self.switched: list[reform.Switched] = []
        if mip:
            self._add_sets(lp, index)

    def _add_rows(self, index: dict[int, int]) -> None:
        lower, upper, starts = [], [], [0]
        indices: list[int] = []
        values: list[float] = []
        for row in self.rows:
            side = -float(row.constant)
            lower.append(-_INF if row.sense == const.LpConstraintLE else side)
            upper.append(_INF if row.sense == const.LpConstraintGE else side)
            for variable, value in row.items():
                indices.append(index[hash(variable)])
                values.append(float(value))
            starts.append(len(indices))
        self.sides = lower, upper
        self.entries = starts, indices, values
        if self.rows:
            self.program.add_rows(*self.sides, *self.entries)

    def _add_sets(self, lp: Any, index: dict[int, int]) -> None:
        sets: list[tuple[int, list[tuple[float, int]]]] = []
        if _V4:
            for kind, _, pairs in lp._model.sos_export():
                sets.append((kind, [(weight, index[hash(self._by_id(v))]) for v, weight in pairs]))
        else:
            for kind, groups in ((1, lp.sos1), (2, lp.sos2)):
                for group in groups.values():
                    pairs = [(w, index[hash(v)]) for v, w in group.items()]
                    sets.append((kind, pairs))
        for kind, pairs in sets:
            cols = [col for _, col in sorted(pairs)]
            names = [self.variables[col].name for col in cols]
            try:
                self.switched += reform.add_sos(self.program, kind, cols, names)
            except reform.Unbounded as error:
                raise pulp.PulpSolverError(f"REMAT: {error}") from error

    def _by_id(self, number: int) -> Any:
        return next(v for v in self.variables if v.id == number)

    def fixed(self, x: Any) -> Answer:
        """Solves the linear program with the integers fixed at a point. Its duals are CBC's."""
        for col in self.program.cols:
            if self.program.kind(col) != "C":
                self.program.set_kind(col, "C")
                self.program.set_bounds(col, x[col], x[col])
        return self.program.solve(time_limit=SECOND_SECONDS)

    def least_violating(self) -> Answer:
        """A point of least total row violation, without integrality."""
        cols, rows = len(self.variables), len(self.rows)
        bounds = [self.program.bounds(col) for col in range(cols)]
        program = Program()
        # Of crossing bounds only the lower one is kept.
        program.add_cols(
            [low for low, _ in bounds],
            [max(low, high) for low, high in bounds],
            [0.0] * cols,
            "C" * cols,
        )
        program.add_cols([0.0] * 2 * rows, [_INF] * 2 * rows, [1.0] * 2 * rows, "C" * 2 * rows)
        starts, indices, values = self.entries
        wide_starts, wide_indices, wide_values = [0], [], []
        for i in range(rows):
            row = slice(starts[i], starts[i + 1])
            wide_indices += [*indices[row], cols + 2 * i, cols + 2 * i + 1]
            wide_values += [*values[row], 1.0, -1.0]
            wide_starts.append(len(wide_indices))
        if rows:
            program.add_rows(*self.sides, wide_starts, wide_indices, wide_values)
        return program.solve(time_limit=SECOND_SECONDS)

    def start(self) -> list[float]:
        """Values of the variables; NaN marks missing ones."""
        values = [v.value() for v in self.variables]
        return [math.nan if value is None else float(value) for value in values]


def rows_of(lp: Any) -> list[Any]:
    """The constraints of a problem in order. PuLP 4 has a method for them. PuLP 3.3 has a
    dictionary ``_constraints``, because ``constraints`` is deprecated. Earlier versions have only
    ``constraints``."""
    if _V4:
        return list(lp.constraints())
    held = getattr(lp, "_constraints", None)
    return list((lp.constraints if held is None else held).values())


def _set_members(lp: Any, known: set[int]) -> list[Any]:
    """Variables of PuLP 3 that occur only in ordered sets."""
    members = {}
    for group in (*lp.sos1.values(), *lp.sos2.values()):
        members.update({hash(v): v for v in group if hash(v) not in known})
    return list(members.values())


def _solve(solver: Any, lp: Any, callback: Any = None, **kwargs: Any) -> Any:
    """Solves a problem of PuLP with the options of any of its solver objects."""
    if callback is not None:
        raise pulp.PulpSolverError(f"{solver.name}: callbacks are not supported by remat-bb")
    begun = pulp.apis.core.clocks() if _V4 else None
    settings = _settings(solver)
    if solver.name in CHECKED or (_V4 and solver.name != "GUROBI"):
        lp.checkDuplicateVars()
    if settings.log_path and solver.msg:
        warnings.warn("`logPath` argument replaces `msg=1`. The log is written to the file.")
    built = _Built(lp, bool(solver.mip))
    start = None
    if solver.optionsDict.get("warmStart") or solver.optionsDict.get("mip_start"):
        start = built.start()
    answer = running.solve(built.program, settings, start)
    solver.report = {
        name: getattr(answer, name)
        for name in ("status", "objective", "bound", "nodes", "seconds", "recognised")
    }
    solver.report["gap"] = running.relative_gap(answer)
    found = answer.objective is not None and answer.status != "unbounded"
    shown = answer if found else None
    if answer.status == "infeasible" and not _V4:  # CBC keeps the point at which it stopped
        shown = built.least_violating()
    _assign(built, shown)
    if _V4:
        bound = answer.bound if math.isfinite(answer.bound) else None
        return solver.buildStats(
            lp,
            _status_of_4(answer, _default_gap(solver)),
            found,
            start=begun,
            best_bound=bound if lp.isMIP() else None,
        )
    status, solution = _status_of_3(answer, found)
    lp.assignStatus(status, solution)
    return status


def _assign(built: _Built, answer: Answer | None) -> None:
    """Assigns values, reduced costs, slacks and duals with CBC's signs. A slack is the side minus
    the activity; a dual is the change of the objective per unit of the side. With integers, the
    duals come from the linear program with the integers fixed."""
    point = None if answer is None else answer.x()
    x = duals = reduced = None
    if answer is not None and point is not None:
        x = reform.snap(point, built.switched).tolist()
        linear = built.fixed(x) if built.program.has_integers and answer.duals is None else answer
        if linear.duals is not None:
            duals = running.clean(linear.duals).tolist()
            reduced = running.clean(linear.reduced_costs).tolist()
    for j, variable in enumerate(built.variables):
        variable.varValue = None if x is None else x[j]
        variable.dj = None if reduced is None else reduced[j]
    values = {} if x is None else {hash(v): x[j] for j, v in enumerate(built.variables)}
    for i, row in enumerate(built.rows):
        row.pi = None if duals is None else duals[i]
        if x is None:
            row.slack = None
        else:
            activity = math.fsum(float(a) * values[hash(v)] for v, a in row.items())
            row.slack = -float(row.constant) - activity


def _status_of_3(answer: Answer, found: bool) -> tuple[int, int]:
    """Status and solution status of PuLP 3. As with CBC, a search that a limit ended with a
    solution is ``Optimal`` with ``Solution Found``."""
    if answer.status == "optimal":
        return const.LpStatusOptimal, const.LpSolutionOptimal
    if answer.status == "infeasible":
        return const.LpStatusInfeasible, const.LpSolutionInfeasible
    if answer.status == "unbounded":
        return const.LpStatusUnbounded, const.LpSolutionUnbounded
    if found:
        return const.LpStatusOptimal, const.LpSolutionIntegerFeasible
    if answer.status in running.LIMITS or answer.status == "cutoff":
        return const.LpStatusNotSolved, const.LpSolutionNoSolutionFound
    return const.LpStatusUndefined, const.LpSolutionNoSolutionFound


def _status_of_4(answer: Answer, gap: float) -> int:
    """The ending of a search as a status of PuLP 4; ``GapLimit`` if the gap is above ``gap``."""
    if answer.status == "optimal" and running.relative_gap(answer) > gap * (1 + 1e-6):
        return const.LpSolveStatus.GapLimit
    names = {
        "optimal": "Optimal",
        "infeasible": "Infeasible",
        "unbounded": "Unbounded",
        "cutoff": "GapLimit",
        "time limit": "TimeLimit",
        "work limit": "TimeLimit",
        "node limit": "NodeLimit",
        "iteration limit": "IterationLimit",
        "memory limit": "MemoryLimit",
        "interrupted": "Interrupted",
        "numeric": "NumericalError",
    }
    return getattr(const.LpSolveStatus, names.get(answer.status, "NumericalError"))


def register() -> None:
    """Registers the solver for ``pulp.getSolver("REMAT")`` and ``pulp.listSolvers()``."""
    if REMAT not in pulp.apis._all_solvers:
        pulp.apis._all_solvers.append(REMAT)


def _available(self: Any) -> bool:
    """True: remat-bb solves in place of the class."""
    return True


def _actual_solve(self: Any, lp: Any, **kwargs: Any) -> Any:
    """Solves with remat-bb."""
    return _solve(self, lp, **kwargs)


_MISSING = object()
_saved: list[tuple[Any, str, Any]] = []


def _set(owner: Any, name: str, value: Any) -> None:
    _saved.append((owner, name, vars(owner).get(name, _MISSING)))
    setattr(owner, name, value)


def install() -> None:
    """Makes remat-bb solve for PuLP's CBC and Gurobi classes, and for problems without a solver.

    Methods of the classes are replaced in place, so names imported before are patched, too. PuLP 4
    lacks ``PULP_CBC_CMD`` and gets it back. A second call has no effect.
    """
    if _saved:
        return
    for name in PATCHED:
        cls = getattr(pulp, name, None)
        if cls is not None:
            _set(cls, "available", _available)
            _set(cls, "actualSolve", _actual_solve)
    if not hasattr(pulp, "PULP_CBC_CMD"):
        cls = type("PULP_CBC_CMD", (REMAT,), {"name": "PULP_CBC_CMD", "__doc__": REMAT.__doc__})
        for module in (pulp, pulp.apis):
            _set(module, "PULP_CBC_CMD", cls)
        pulp.apis._all_solvers.append(cls)
    default = pulp.LpSolverDefault
    if getattr(default, "name", None) not in PATCHED:
        for module in _modules_with_default():
            _set(module, "LpSolverDefault", REMAT())


def uninstall() -> None:
    """Reverts :func:`install`."""
    while _saved:
        owner, name, value = _saved.pop()
        if value is _MISSING:
            delattr(owner, name)
        else:
            setattr(owner, name, value)
    solvers = pulp.apis._all_solvers
    solvers[:] = [s for s in solvers if not (s.name == "PULP_CBC_CMD" and issubclass(s, REMAT))]


def _modules_with_default() -> list[Any]:
    import sys

    names = ("pulp", "pulp.apis", "pulp.pulp", "pulp.core.lp_problem")
    modules = [sys.modules[name] for name in names if name in sys.modules]
    return [module for module in modules if hasattr(module, "LpSolverDefault")]


register()
