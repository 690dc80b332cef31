"""Twins of ``scipy.optimize.milp`` and ``scipy.optimize.linprog``: same signatures, same results.

>>> from remat_bb.scipy import milp
>>> milp([-1, -2], integrality=1, bounds=(0, 3)).x
array([3., 3.])

SciPy's own functions read the arguments, so errors and warnings are SciPy's. :func:`install`
replaces SciPy's functions by the twins.
"""

from __future__ import annotations

import math
import sys
from typing import Any
from warnings import warn

import numpy as np
import scipy.optimize
import scipy.sparse as sp
from scipy.optimize import OptimizeResult, OptimizeWarning
from scipy.optimize._linprog_util import _check_result, _LPProblem, _parse_linprog
from scipy.optimize._milp import _milp_iv

from ._dropin import reform, running
from ._dropin.options import Settings
from ._native import Answer, Program

HIGHS_GAP = 1e-4
"""Relative gap of searches where none is asked for: that of SciPy's solver."""

ROUNDING = 1e-9
"""Relative room for rounding between a gap that is asked for and the gap that is reported."""

METHODS = ("highs", "highs-ds", "highs-ipm")
"""Methods of ``linprog`` that are taken as they are; others warn."""

DEPRECATED = ("simplex", "revised simplex", "interior-point")
"""Methods of ``linprog`` that SciPy deprecates; they are taken as ``highs``, with a warning."""

CHECK_TOLERANCE = 1e-9
"""Tolerance that SciPy's check of a result derives its own from."""

_INF = math.inf
_WORDS = {
    "optimal": (0, "Optimization terminated successfully. "),
    "time limit": (1, "Time limit reached. "),
    "work limit": (1, "Work limit reached. "),
    "node limit": (1, "Node limit reached. "),
    "iteration limit": (1, "Iteration limit reached. "),
    "memory limit": (1, "Memory limit reached. "),
    "interrupted": (1, "Interrupted. "),
    "infeasible": (2, "The problem is infeasible. "),
    "unbounded": (3, "The problem is unbounded. "),
    "infeasible or unbounded": (4, "The problem is infeasible or unbounded. "),
}


def milp(
    c: Any,
    *,
    integrality: Any = None,
    bounds: Any = None,
    constraints: Any = None,
    options: dict[str, Any] | None = None,
) -> OptimizeResult:
    """Mixed-integer linear programming, as ``scipy.optimize.milp``.

    Args:
        c: Costs, to be minimised.
        integrality: 0 continuous, 1 integer, 2 semicontinuous, 3 semi-integer, for each column or
            for all.
        bounds: A ``scipy.optimize.Bounds``, or a value that converts to one.
        constraints: ``scipy.optimize.LinearConstraint`` objects, or values that convert to them.
        options: ``disp``, ``presolve``, ``time_limit``, ``node_limit``, ``mip_rel_gap``, and
            options of :meth:`remat_bb.Program.solve` and of HiGHS by their names.

    Returns:
        ``x``, ``fun``, ``status`` (0 optimal, 1 a limit, 2 infeasible, 3 unbounded, 4 other),
        ``success``, ``message``, ``mip_node_count``, ``mip_dual_bound``, ``mip_gap``. Integer
        columns have integral values.

    Raises:
        ValueError: as SciPy's function.
    """
    taken = _milp_iv(c, integrality, bounds, constraints, dict(options or {}))
    costs, kinds, lower, upper, starts, indices, values, least, most, given = taken
    matrix = sp.csr_array(sp.csc_array((values, indices, starts), shape=(len(least), len(costs))))
    answer, x = _run(costs, matrix, least, most, lower, upper, kinds, given)
    status, message = _words(answer)
    result = {
        "status": status,
        "message": message,
        "success": status == 0,
        "x": x,
        "fun": None if x is None else answer.objective,
        "mip_node_count": None,
        "mip_dual_bound": None,
        "mip_gap": None,
    }
    if x is not None and np.any(kinds):
        result.update(_search(answer))
    return OptimizeResult(result)


def linprog(
    c: Any,
    A_ub: Any = None,
    b_ub: Any = None,
    A_eq: Any = None,
    b_eq: Any = None,
    bounds: Any = (0, None),
    method: str = "highs",
    callback: Any = None,
    options: dict[str, Any] | None = None,
    x0: Any = None,
    integrality: Any = None,
) -> OptimizeResult:
    """Linear programming, as ``scipy.optimize.linprog``.

    Returns:
        ``x``, ``fun``, ``slack``, ``con``, ``status``, ``success``, ``message``, ``nit``, and
        ``ineqlin``, ``eqlin``, ``lower``, ``upper``, each with ``residual`` and ``marginals``
        (changes of the objective per unit of the side or bound). With integers the marginals are 0,
        and the result has ``mip_node_count``, ``mip_dual_bound`` and ``mip_gap``.

    Raises:
        ValueError: as SciPy's function.
        NotImplementedError: a callback is given.
    """
    chosen = method.lower()
    if chosen not in METHODS + DEPRECATED:
        raise ValueError(f"Unknown solver '{method}'")
    if x0 is not None and chosen != "revised simplex":
        warn("x0 is used only when method is 'revised simplex'. ", OptimizeWarning, stacklevel=2)
    if np.any(integrality) and chosen != "highs":
        integrality = None
        words = "Only `method='highs'` supports integer constraints. Ignoring `integrality`."
        warn(words, OptimizeWarning, stacklevel=2)
    integrality = np.broadcast_to(integrality, np.shape(c)) if np.any(integrality) else None
    if chosen in DEPRECATED:
        words = f"`method='{chosen}'` is deprecated; remat-bb takes it as `method='highs'`."
        warn(words, DeprecationWarning, stacklevel=2)
        chosen = "highs"
    if callback is not None:
        raise NotImplementedError("HiGHS solvers do not support the callback interface.")
    problem = _LPProblem(c, A_ub, b_ub, A_eq, b_eq, bounds, None, integrality)
    problem, given = _parse_linprog(problem, dict(options or {}), chosen)
    tolerance = given.pop("tol", CHECK_TOLERANCE)
    result = _linear(problem, given)
    result["status"], result["message"] = _check_result(
        result["x"],
        result["fun"],
        result["status"],
        result["slack"],
        result["con"],
        problem.bounds,
        tolerance,
        result["message"],
        integrality,
    )
    result["success"] = result["status"] == 0
    return OptimizeResult(result)


def _linear(problem: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The result of ``linprog`` for a problem in SciPy's form."""
    costs, above, sides, equal, values, bounds, _, integrality = problem
    lower, upper = np.array(bounds[:, 0], float), np.array(bounds[:, 1], float)
    matrix = sp.csr_array(sp.vstack((sp.csr_array(above), sp.csr_array(equal)), format="csr"))
    least = np.concatenate((np.full(len(sides), -_INF), values))
    most = np.concatenate((sides, values))
    kinds = np.zeros(len(costs), int) if integrality is None else np.asarray(integrality, int)
    answer, x = _run(costs, matrix, least, most, lower, upper, kinds, given)
    status, message = _words(answer)
    searched = bool(np.any(kinds))
    if not searched and status != 0:
        x = None  # as in SciPy, a linear program has a point only if it is optimal
    parts: dict[str, Any] = dict.fromkeys(("slack", "con", "below", "beyond"))
    marginals: dict[str, Any] = dict.fromkeys(("ineqlin", "eqlin", "lower", "upper"))
    if x is not None:
        rest = most - matrix @ x
        parts["slack"], parts["con"] = rest[: len(sides)], rest[len(sides) :]
        parts["below"], parts["beyond"] = x - lower, upper - x
        duals, at_lower, at_upper = _marginals(answer, len(costs), len(most))
        marginals = {
            "ineqlin": duals[: len(sides)],
            "eqlin": duals[len(sides) :],
            "lower": at_lower,
            "upper": at_upper,
        }
    residuals = zip(marginals.items(), (parts[k] for k in ("slack", "con", "below", "beyond")))
    result: dict[str, Any] = {
        name: OptimizeResult({"residual": residual, "marginals": marginal})
        for (name, marginal), residual in residuals
    }
    result.update(
        x=x,
        fun=None if x is None else answer.objective,
        slack=parts["slack"],
        con=parts["con"],
        status=status,
        message=message,
        nit=answer.lp_iterations,
        crossover_nit=0,
    )
    if x is not None:
        counts = {"mip_node_count": 0, "mip_dual_bound": 0.0, "mip_gap": 0.0}
        result.update(_search(answer) if searched else counts)
    return result


def _marginals(answer: Answer, cols: int, rows: int) -> tuple[Any, Any, Any]:
    """Duals of the rows, and reduced costs of columns at their lower and at their upper bound."""
    lower, upper = np.zeros(cols), np.zeros(cols)
    if answer.duals is None or answer.basis is None:
        return np.zeros(rows), lower, upper
    letters = np.array(list(answer.basis[0][:cols]))
    reduced = running.clean(answer.reduced_costs[:cols])
    lower[letters == "L"] = reduced[letters == "L"]
    upper[letters == "U"] = reduced[letters == "U"]
    return running.clean(answer.duals[:rows]), lower, upper


def _run(
    costs: Any,
    matrix: Any,
    least: Any,
    most: Any,
    lower: Any,
    upper: Any,
    kinds: Any,
    given: dict[str, Any],
) -> tuple[Answer, Any]:
    """Solves a program; returns the answer, and its point without the columns of reformulations."""
    integer = (kinds == 1) | (kinds == 3)
    program = Program()
    for low, high in ((lower, upper), (least, most)):
        never = (low == _INF) | (high == -_INF)  # no number is infinite
        low[never], high[never] = 1.0, 0.0
    program.add_cols(lower, upper, costs, "".join(np.where(integer, "I", "C").tolist()))
    if len(least):
        program.add_rows(least, most, matrix.indptr, matrix.indices, matrix.data)
    switched = []
    for col in np.flatnonzero(kinds >= 2):
        switched += reform.make_semicontinuous(program, int(col), f"column {col}")
    settings = Settings(gap=HIGHS_GAP)
    settings.update(_valid(given), "remat_bb.scipy", OptimizeWarning)
    if settings.gap is not None:
        settings.gap *= 1.0 - ROUNDING  # so the reported gap is not above the wanted gap
    answer = running.solve(program, settings)
    x = answer.x()
    if answer.status == "unbounded" or _words(answer)[0] == 4:
        x = None
    return answer, None if x is None else reform.snap(x, switched)[: len(costs)]


def _valid(given: dict[str, Any]) -> dict[str, Any]:
    """Options with valid values; other options are left out with a warning."""
    valid = {}
    for name, value in given.items():
        if value is None:
            continue
        if name in ("disp", "presolve", "log_to_console", "output_flag"):
            fits = isinstance(value, (bool, np.bool_))
        elif name == "simplex_dual_edge_weight_strategy":
            fits = value in ("dantzig", "devex", "steepest", "steepest-devex")
        else:
            fits = not isinstance(value, (int, float)) or value >= 0
        if fits:
            valid[name] = value
        else:
            warn(f"Option {name} is {value!r}, which it cannot be.", OptimizeWarning, stacklevel=5)
    return valid


def _words(answer: Answer) -> tuple[int, str]:
    """Status and message in SciPy's terms."""
    status, words = _WORDS.get(answer.status, (4, "Numerical difficulties encountered. "))
    return status, f"{words}(remat-bb: {answer.status})"


def _search(answer: Answer) -> dict[str, Any]:
    return {
        "mip_node_count": answer.nodes,
        "mip_dual_bound": answer.bound,
        "mip_gap": running.relative_gap(answer),
    }


_saved: list[tuple[Any, str, Any]] = []


def install() -> None:
    """Replaces SciPy's functions by :func:`milp` and :func:`linprog`. Names imported from SciPy
    before keep SciPy's functions. A second call has no effect."""
    if _saved:
        return
    homes = {"milp": "scipy.optimize._milp", "linprog": "scipy.optimize._linprog"}
    for name, twin in (("milp", milp), ("linprog", linprog)):
        for module in (scipy.optimize, sys.modules[homes[name]]):
            _saved.append((module, name, getattr(module, name)))
            setattr(module, name, twin)


def uninstall() -> None:
    """Reverts :func:`install`."""
    while _saved:
        module, name, value = _saved.pop()
        setattr(module, name, value)
