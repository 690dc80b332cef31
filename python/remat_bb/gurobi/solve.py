"""Solving a model: parameters in, status, points and callbacks out."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from ..errors import InvalidArgument, NoExactForm
from . import objectives
from .callbacks import Callbacks, Watched
from .constants import GRB
from .errors import GurobiError
from .params import INFINITE

_STATUS = {
    "optimal": GRB.OPTIMAL,
    "infeasible": GRB.INFEASIBLE,
    "unbounded": GRB.UNBOUNDED,
    "infeasible or unbounded": GRB.INF_OR_UNBD,
    "cutoff": GRB.CUTOFF,
    "time limit": GRB.TIME_LIMIT,
    "node limit": GRB.NODE_LIMIT,
    "iteration limit": GRB.ITERATION_LIMIT,
    "memory limit": GRB.MEM_LIMIT,
    "work limit": GRB.WORK_LIMIT,
    "interrupted": GRB.INTERRUPTED,
    "numeric": GRB.NUMERIC,
}
# Deterministic units for one of Gurobi's work units: about a second.
_TICKS = 1e9
# Range of tolerances of the search.
_LEAST_TOLERANCE, _MOST_TOLERANCE = 1e-9, 1e-3


class Solving(Callbacks):
    """Methods of a model for solving."""

    _program: Any
    _values: Any

    def _begin(self) -> None:
        self._answer: Any = None
        self._status = int(GRB.LOADED)
        self._runtime = 0.0
        self._callback = None
        self._watched = None
        self._objectives: list[objectives.Objective] = []
        self._quadratic: list[Any] = []
        self._iis_is_minimal: bool | None = None

    def _forget(self) -> None:
        self._answer = None
        self._status = int(GRB.LOADED)
        self._iis_is_minimal = None
        self._set_answer(None)  # type: ignore[attr-defined]

    def _is_mip(self) -> bool:
        return bool(self._program.needs_search)

    def _log(self, text: str, end: str = "\n") -> None:
        values = self._values
        if values["OutputFlag"] and values["LogToConsole"]:
            print(text, end=end, flush=True)
        if values["LogFile"]:
            with open(values["LogFile"], "a") as file:
                print(text, end=end, file=file)

    def _options(self) -> dict[str, Any]:
        """Arguments of a solve from the parameters."""
        values = self._values

        def number(name: str) -> int | None:
            value = values[name]
            return None if value >= INFINITE else int(value)

        def tolerance(name: str) -> float | None:
            if name.lower() not in values.changed:
                return None
            value = values[name]
            kept = min(max(value, _LEAST_TOLERANCE), _MOST_TOLERANCE)
            if kept != value:
                _warn_once(f"{name} = {value} is taken as {kept}")
            return float(kept)

        limits = [values["MemLimit"], values["SoftMemLimit"]]
        memory = min(limits)
        cutoff = values["Cutoff"]
        time_limit = values["TimeLimit"]
        pool = values["PoolSolutions"] if values["PoolSearchMode"] else 1
        method = values["Method"]
        options: dict[str, Any] = {
            "time_limit": None if time_limit >= INFINITE else time_limit,
            "gap": min(values["MIPGap"], 0.999999),
            "absolute_gap": min(values["MIPGapAbs"], 1e300),
            "threads": values["Threads"],
            "seed": values["Seed"],
            "node_limit": number("NodeLimit"),
            "iteration_limit": number("IterationLimit"),
            "work_limit": None
            if values["WorkLimit"] >= INFINITE
            else int(values["WorkLimit"] * _TICKS),
            "memory_limit": None if memory >= INFINITE else int(memory * 1e9),
            "cutoff": None if abs(cutoff) >= INFINITE else cutoff,
            "pool_size": min(pool, 100_000),
            "presolve": values["Presolve"] != 0,
            "cuts": values["Cuts"] != 0,
            "heuristics": values["Heuristics"] > 0,
            "algorithm": {0: "primal", 1: "dual", 2: "barrier"}.get(method, "auto"),
            "feasibility_tolerance": tolerance("FeasibilityTol"),
            "integrality_tolerance": tolerance("IntFeasTol"),
            "optimality_tolerance": tolerance("OptimalityTol"),
        }
        if values["PoolSearchMode"] == 2:
            gaps = (values["PoolGap"], values["PoolGapAbs"])
            options["best_points"] = True
            options["pool_gap"], options["pool_absolute_gap"] = (
                None if gap >= INFINITE else gap for gap in gaps
            )
        return options

    def optimize(self, callback: Callable[..., Any] | None = None) -> None:
        """Solves the model.

        Args:
            callback: Called with the model and a code (``GRB.Callback``) while it is solved.

        Raises:
            GurobiError: settings are invalid, or the model cannot be solved.
        """
        if self._watched is not None:
            raise GurobiError(GRB.Error.OPTIMIZATION_IN_PROGRESS, "the model is being solved")
        watched = Watched(self, callback)
        self._watched = watched
        program = self._program
        watched.log.begin(program, [(name, str(value)) for name, value in self._values])
        try:
            watched.call(
                GRB.Callback.PRESOLVE,
                **dict.fromkeys(
                    ("PRE_COLDEL", "PRE_ROWDEL", "PRE_SENCHG", "PRE_BNDCHG", "PRE_COECHG"), 0
                ),
            )
            starts = self._starts()  # type: ignore[attr-defined]
            if self._answer is not None and self._answer.objectives and self._is_mip():
                starts.append(self._answer.x())
            answer = objectives.solve(
                self,
                **self._options(),
                starts=starts,
                hints=self._hints(),  # type: ignore[attr-defined]
                stop=watched.stop,
                on_progress=watched.on_progress,
                on_point=watched.on_point,
                **watched.options(),
            )
        except BaseException as error:
            self._forget()
            if isinstance(error, InvalidArgument):
                formless = isinstance(error, NoExactForm)
                code = GRB.Error.NOT_SUPPORTED if formless else GRB.Error.INVALID_ARGUMENT
                raise GurobiError(code, f"remat-bb: {error}") from error
            raise
        finally:
            self._watched = None
            self._runtime = time.monotonic() - watched.started
        self._answer = answer
        self._iis_is_minimal = None
        self._set_answer(answer)  # type: ignore[attr-defined]
        self._status = _STATUS[answer.status]
        if answer.status == "interrupted" and watched.reason is not None:
            self._status = watched.reason
        if watched.error is not None:
            raise watched.error
        watched.log.end(answer)
        if self._values["ResultFile"]:
            self.write(self._values["ResultFile"])  # type: ignore[attr-defined]

    def _points(self) -> int:
        """Number of points; 0 for an unbounded linear program, as in gurobipy."""
        if self._answer is None or (self._status == GRB.UNBOUNDED and not self._is_mip()):
            return 0
        return len(self._answer.objectives)

    def terminate(self) -> None:
        """Ends the current solve with the best point so far."""
        if self._watched is not None:
            self._watched.end(GRB.INTERRUPTED)

    def __reduce__(self) -> Any:
        raise TypeError("a model cannot be pickled: write it to a file")


_WARNED: set[str] = set()


def _warn_once(text: str) -> None:
    if text not in _WARNED:
        _WARNED.add(text)
        print(f"remat-bb: {text}", file=sys.stderr)
