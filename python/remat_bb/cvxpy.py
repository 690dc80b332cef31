"""remat-bb as a solver of CVXPY, for linear and convex quadratic problems, also with integers.

>>> import cvxpy as cp
>>> from remat_bb.cvxpy import REMAT
>>> x = cp.Variable(2, integer=True)
>>> problem = cp.Problem(cp.Maximize(x[0] + 2 * x[1]), [x >= 0, 2 * x[0] + 3 * x[1] <= 7])
>>> float(problem.solve(solver=REMAT(), time_limit=10))
4.0

``problem.solve`` takes the options of :meth:`remat_bb.Program.solve`, and options of CBC, Gurobi
and HiGHS by their names. After :func:`install` remat-bb also answers for ``cp.GUROBI``, ``cp.CBC``,
``cp.GLPK_MI``, ``cp.SCIP``, ``cp.HIGHS`` and others.
"""

from __future__ import annotations

import math
from typing import Any

import cvxpy.settings as s
import numpy as np
import scipy.sparse as sp
from cvxpy.error import SolverError
from cvxpy.reductions.solution import Solution, failure_solution
from cvxpy.reductions.solvers import defines, utilities
from cvxpy.reductions.solvers.conic_solvers.conic_solver import ConicSolver, dims_to_solver_dict

from ._dropin import running
from ._dropin.options import Settings
from ._native import Answer, Program
from .errors import RematError

GUROBI_GAP = 1e-4
"""Relative gap of ``cp.GUROBI`` where none is asked for: that solver's default."""

HIGHS_GAP = 1e-4
"""Relative gap of ``cp.HIGHS`` where none is asked for."""

INTERIOR = ("ECOS", "ECOS_BB", "OSQP")
"""Solvers of other kinds, whose linear problems are solved where they are not installed."""

_INF = math.inf


class REMAT(ConicSolver):
    """The solver. Pass an instance: ``problem.solve(solver=REMAT())``.

    Statuses: ``user_limit`` if a limit or Ctrl-C ended the search with a point,
    ``infeasible_inaccurate`` if it ended without one (as CVXPY does for Gurobi; infeasibility is
    not proven then). Linear problems have the duals of their constraints, infeasible ones a
    certificate.
    """

    MIP_CAPABLE = True
    BOUNDED_VARIABLES = True
    SUPPORTED_CONSTRAINTS = ConicSolver.SUPPORTED_CONSTRAINTS
    MI_SUPPORTED_CONSTRAINTS = SUPPORTED_CONSTRAINTS

    def name(self) -> str:
        """Name in messages and statistics."""
        return "REMAT"

    def supports_quad_obj(self) -> bool:
        """Whether an objective may have a convex quadratic part."""
        return True

    def import_solver(self) -> None:
        """Has no effect: the solver is part of this package."""

    def apply(self, problem: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Data of a problem for :meth:`solve_via_data`, and data for :meth:`invert`."""
        data, inverse = super().apply(problem)
        variable = problem.x
        data[s.BOOL_IDX] = [int(t[0]) for t in variable.boolean_idx]
        data[s.INT_IDX] = [int(t[0]) for t in variable.integer_idx]
        inverse["is_mip"] = bool(data[s.BOOL_IDX] or data[s.INT_IDX])
        if inverse["is_mip"]:
            data["init_value"] = utilities.stack_vals(problem.variables, math.nan)
        return data, inverse

    def solve_via_data(
        self,
        data: dict[str, Any],
        warm_start: bool,
        verbose: bool,
        solver_opts: dict[str, Any],
        solver_cache: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Solves ``minimize x P x / 2 + c x`` subject to ``A x + s = b``, with ``s`` zero or
        nonnegative; ``P`` may be missing.

        Returns:
            ``status`` of CVXPY, ``value``, ``primal``, ``dual``, and the ``answer``.

        Raises:
            SolverError: an option or the data is invalid.
        """
        settings = Settings(verbose=verbose)
        self._defaults(settings)
        options = self._options(solver_opts)
        options.update(options.pop("highs_options", None) or {})
        settings.update(options, self.name())
        start = None
        if warm_start and (data[s.BOOL_IDX] or data[s.INT_IDX]):
            start = data.get("init_value")
            integers = data[s.BOOL_IDX] + data[s.INT_IDX]
            if start is not None and np.isnan(np.asarray(start, float)[integers]).any():
                start = None  # values of other problems' variables are not worth a search
            previous = (solver_cache or {}).get(self.name())
            if previous is not None and len(previous) == len(data[s.C]):
                start = previous
        try:
            answer = running.solve(_program(data), settings, start)
        except RematError as error:
            raise SolverError(f"{self.name()}: {error}") from error
        x = answer.x()
        if solver_cache is not None and x is not None:
            solver_cache[self.name()] = x
        return {"status": _status(answer), "primal": x, "answer": answer}

    def _defaults(self, settings: Settings) -> None:
        """Sets the defaults of settings that the user leaves out."""

    def _options(self, given: dict[str, Any]) -> dict[str, Any]:
        """Options under names known to :class:`Settings`."""
        return dict(given)

    def invert(self, solution: dict[str, Any], inverse_data: dict[str, Any]) -> Solution:
        """The solution of the original problem."""
        answer, status = solution["answer"], solution["status"]
        attributes = {
            s.SOLVE_TIME: answer.seconds,
            s.NUM_ITERS: answer.lp_iterations,
            s.EXTRA_STATS: answer,
        }
        rows = inverse_data[self.EQ_CONSTR] + inverse_data[self.NEQ_CONSTR]
        if status in s.SOLUTION_PRESENT:
            value = answer.objective + inverse_data[s.OFFSET]
            duals = None
            if not inverse_data["is_mip"] and answer.duals is not None:
                duals = utilities.get_dual_values(
                    -running.clean(answer.duals), utilities.extract_dual_value, rows
                )
            primal = {inverse_data[self.VAR_ID]: solution["primal"]}
            return Solution(status, value, primal, duals, attributes)
        certificate: dict[Any, Any] = {}
        if status == s.INFEASIBLE and answer.farkas is not None:
            certificate = utilities.get_dual_values(
                -answer.farkas, utilities.extract_dual_value, rows
            )
        return failure_solution(status, attributes, certificate)

    def cite(self, data: Any) -> str:
        """A BibTeX entry."""
        return "@misc{remat-bb, title = {remat-bb}, howpublished = {github.com/remat-bb/remat-bb}}"


class _Named(REMAT):
    """The solver under the name of another solver, with that solver's gap and options."""

    def __init__(self, name: str, gap: float | None = None, interior: bool = False) -> None:
        super().__init__()
        self._name, self._gap, self._interior = name, gap, interior

    def name(self) -> str:
        return self._name

    def _defaults(self, settings: Settings) -> None:
        if self._gap is not None:
            settings.gap = self._gap

    def _options(self, given: dict[str, Any]) -> dict[str, Any]:
        if self._interior:  # tolerances and iterations of another kind of method
            return {name: given[name] for name in ("time_limit", "verbose") if name in given}
        options = dict(given)
        for inner in ("glpk", "scip_params"):
            options.update(options.pop(inner, None) or {})
        if "tm_lim" in options:  # milliseconds
            options["time_limit"] = options.pop("tm_lim") / 1000.0
        options.pop("msg_lev", None)
        return options


def _taken() -> list[_Named]:
    """Replacements for other solvers. Installed solvers of other kinds (``INTERIOR``) are not
    replaced."""
    names: list[tuple[str, float | None]] = [
        (s.GUROBI, GUROBI_GAP),
        (s.CBC, None),
        (s.GLPK, None),
        (s.GLPK_MI, None),
        (s.SCIP, None),
        (s.HIGHS, HIGHS_GAP),
    ]
    taken = [_Named(name, gap) for name, gap in names]
    installed = defines.installed_solvers()
    absent = [name for name in INTERIOR if name not in installed]
    return taken + [_Named(name, interior=True) for name in absent]


def _program(data: dict[str, Any]) -> Program:
    """The program of CVXPY's data: its columns are the variables, its rows the constraints."""
    cost = np.asarray(data[s.C], float)
    sides = np.asarray(data[s.B], float)
    dims = dims_to_solver_dict(data[s.DIMS])
    matrix = sp.csr_array(data[s.A])
    lower, upper = data.get(s.LOWER_BOUNDS), data.get(s.UPPER_BOUNDS)
    lower = np.full(len(cost), -_INF) if lower is None else np.array(lower, float)
    upper = np.full(len(cost), _INF) if upper is None else np.array(upper, float)
    kinds = np.full(len(cost), "C")
    kinds[data[s.INT_IDX]] = "I"
    kinds[data[s.BOOL_IDX]] = "B"
    program = Program()
    program.add_cols(lower, upper, cost, "".join(kinds.tolist()))
    if data.get(s.P) is not None:
        products = sp.coo_array(data[s.P])
        first, second = products.coords
        program.set_products(first, second, 0.5 * products.data)
    if len(sides):
        least = np.full(len(sides), -_INF)
        equations = dims[s.EQ_DIM]
        least[:equations] = sides[:equations]
        program.add_rows(least, sides, matrix.indptr, matrix.indices, matrix.data)
    return program


def _status(answer: Answer) -> str:
    """The CVXPY status of an answer."""
    known = {
        "optimal": s.OPTIMAL,
        "infeasible": s.INFEASIBLE,
        "unbounded": s.UNBOUNDED,
        "infeasible or unbounded": s.INFEASIBLE_OR_UNBOUNDED,
    }
    if answer.status in known:
        return known[answer.status]
    if answer.objective is not None:
        return s.USER_LIMIT if answer.status in running.LIMITS else s.OPTIMAL_INACCURATE
    return s.SOLVER_ERROR if answer.status == "numeric" else s.INFEASIBLE_INACCURATE


_LISTS = ("INSTALLED_SOLVERS", "INSTALLED_CONIC_SOLVERS", "INSTALLED_MI_SOLVERS")
_saved: list[tuple[dict[str, Any], str, Any]] = []


def _put(solvers: dict[str, Any], name: str, solver: Any) -> None:
    _saved.append((solvers, name, solvers.get(name)))
    solvers[name] = solver


def install() -> None:
    """Lets remat-bb answer for ``cp.GUROBI``, ``cp.CBC``, ``cp.GLPK``, ``cp.GLPK_MI``, ``cp.SCIP``
    and ``cp.HIGHS``, which ``cp.installed_solvers()`` then lists. It also answers for ``cp.ECOS``,
    ``cp.ECOS_BB`` and ``cp.OSQP`` if they are not installed. Installed solvers still solve
    nonlinear problems. A second call has no effect."""
    if _saved:
        return
    conic: dict[str, Any] = defines.SOLVER_MAP_CONIC
    quadratic: dict[str, Any] = defines.SOLVER_MAP_QP
    for solver in _taken():
        name = solver.name()
        own = conic.get(name)
        if name not in quadratic or not quadratic[name].is_installed():
            if own is not None and own.is_installed():
                _put(quadratic, name, own)
            elif name in quadratic:
                _put(quadratic, name, solver)
        _put(conic, name, solver)
    _renew()


def uninstall() -> None:
    """Reverts :func:`install`."""
    while _saved:
        solvers, name, own = _saved.pop()
        if own is None:
            del solvers[name]
        else:
            solvers[name] = own
    _renew()


def _renew() -> None:
    """Updates CVXPY's lists of installed solvers in place, because other modules hold them."""
    installed = defines.installed_solvers()
    wanted = {
        "INSTALLED_SOLVERS": installed,
        "INSTALLED_CONIC_SOLVERS": [n for n in installed if n in defines.SOLVER_MAP_CONIC],
        "INSTALLED_MI_SOLVERS": [n for n in installed if n in defines.MI_SOLVERS],
    }
    for name in _LISTS:
        held = getattr(defines, name, None)
        if isinstance(held, list):
            held[:] = wanted[name]
