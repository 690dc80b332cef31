"""Solving a model: parameters in, status, points and callbacks out."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from .._native import Stop, Var, __version__
from . import objectives
from .constants import GRB
from .errors import AttributeUnavailable, GurobiError
from .params import INFINITE

_STATUS = {
    "optimal": GRB.OPTIMAL,
    "infeasible": GRB.INFEASIBLE,
    "unbounded": GRB.UNBOUNDED,
    "cutoff": GRB.CUTOFF,
    "time limit": GRB.TIME_LIMIT,
    "node limit": GRB.NODE_LIMIT,
    "iteration limit": GRB.ITERATION_LIMIT,
    "memory limit": GRB.MEM_LIMIT,
    "work limit": GRB.WORK_LIMIT,
    "interrupted": GRB.INTERRUPTED,
    "numeric": GRB.NUMERIC,
}
# Deterministic units that one unit of Gurobi's work stands for: about a second.
_TICKS = 1e9
# Tolerances that the search takes.
_LEAST_TOLERANCE, _MOST_TOLERANCE = 1e-9, 1e-3


class _Watched:
    """A solve with its callback: asks whether it is to end, and tells the callback of it.

    Points arrive on the thread that searches, looks on the one that waits: one at a time reaches
    the callback.
    """

    def __init__(self, model: Solving, callback: Callable[..., Any] | None) -> None:
        self.model = model
        self.callback = callback
        self.stop = Stop()
        self.reason: int | None = None
        self.error: BaseException | None = None
        self.started = time.monotonic()
        self.told = self.started
        self.points = 0
        self.best: float | None = None
        self.look: Any = None
        self.lock = threading.RLock()

    def call(self, where: int, **values: Any) -> None:
        """Calls the callback."""
        if self.callback is None or self.error is not None:
            return
        with self.lock:
            self.model._callback = {"where": where, **values}
            try:
                self.callback(self.model, where)
            except BaseException as error:
                self.error = error
                self.stop.set()
            finally:
                self.model._callback = None

    def end(self, reason: int) -> None:
        """Ends the solve with a status."""
        self.reason = self.reason or reason
        self.stop.set()

    def on_progress(self, look: Any) -> None:
        """Takes a look at the search."""
        self.look = look
        model = self.model
        if time.monotonic() - self.told >= model._values["DisplayInterval"]:
            self.told = time.monotonic()
            best = "-" if look.objective is None else f"{look.objective:.8g}"
            model._log(
                f"{look.nodes:9} {look.open:9} {best:>16} {look.bound:16.8g}"
                f" {look.lp_iterations:10} {look.seconds:7.0f}s"
            )
        self.check(look.objective, look.bound)
        values = {
            "MIP_OBJBST": GRB.INFINITY if look.objective is None else look.objective,
            "MIP_OBJBND": look.bound,
            "MIP_NODCNT": float(look.nodes),
            "MIP_SOLCNT": self.points,
            "MIP_CUTCNT": 0,
            "MIP_NODLFT": float(look.open),
            "MIP_ITRCNT": float(look.lp_iterations),
            "MIP_PHASE": 0,
            "MIP_OPENSCENARIOS": 1,
        }
        if look.objective is None and model._program.maximise:
            values["MIP_OBJBST"] = -GRB.INFINITY
        self.call(GRB.Callback.MIP, **values)

    def on_point(self, objective: float, x: Any) -> None:
        """Takes a new best point."""
        self.points += 1
        self.best = objective
        bound = self.look.bound if self.look is not None else -GRB.INFINITY
        model = self.model
        self.check(objective, None)
        if self.points >= model._values["SolutionLimit"]:
            self.end(GRB.SOLUTION_LIMIT)
        self.call(
            GRB.Callback.MIPSOL,
            MIPSOL_SOL=x,
            MIPSOL_OBJ=objective,
            MIPSOL_OBJBST=objective,
            MIPSOL_OBJBND=bound,
            MIPSOL_NODCNT=float(self.look.nodes if self.look is not None else 0),
            MIPSOL_SOLCNT=self.points,
            MIPSOL_PHASE=0,
            MIPSOL_OPENSCENARIOS=1,
        )

    def check(self, objective: float | None, bound: float | None) -> None:
        """Ends the search where objective or bound are good enough."""
        values = self.model._values
        sign = -1.0 if self.model._program.maximise else 1.0
        wanted = values["BestObjStop"]
        if objective is not None and abs(wanted) < INFINITE and sign * objective <= sign * wanted:
            self.end(GRB.USER_OBJ_LIMIT)
        wanted = values["BestBdStop"]
        if bound is not None and abs(wanted) < INFINITE and sign * bound >= sign * wanted:
            self.end(GRB.USER_OBJ_LIMIT)


class Solving:
    """The part of a model that solves."""

    _program: Any
    _values: Any

    def _begin(self) -> None:
        self._answer: Any = None
        self._status = int(GRB.LOADED)
        self._runtime = 0.0
        self._callback: dict[str, Any] | None = None
        self._watched: _Watched | None = None
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

    def _log(self, text: str) -> None:
        values = self._values
        if not values["OutputFlag"]:
            return
        if values["LogToConsole"]:
            print(text, flush=True)
        if values["LogFile"]:
            with open(values["LogFile"], "a") as file:
                print(text, file=file)

    def _options(self) -> dict[str, Any]:
        """Arguments of a solve by the parameters."""
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
            "algorithm": {0: "primal", 1: "dual"}.get(method, "auto"),
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
            GurobiError: settings make no sense, or the model cannot be solved.
        """
        if self._watched is not None:
            raise GurobiError(GRB.Error.OPTIMIZATION_IN_PROGRESS, "the model is being solved")
        watched = _Watched(self, callback)
        self._watched = watched
        program = self._program
        self._log(
            f"remat-bb {__version__}: {program.num_rows} rows, {program.num_cols} columns, "
            f"{program.num_nonzeros} nonzeros"
        )
        try:
            watched.call(
                GRB.Callback.PRESOLVE,
                **dict.fromkeys(
                    ("PRE_COLDEL", "PRE_ROWDEL", "PRE_SENCHG", "PRE_BNDCHG", "PRE_COECHG"), 0
                ),
            )
            self._check_specials()  # type: ignore[attr-defined]
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
            )
        except BaseException:
            self._forget()
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
        self._log(self._summary())
        if self._values["ResultFile"]:
            self.write(self._values["ResultFile"])  # type: ignore[attr-defined]

    def _summary(self) -> str:
        answer = self._answer
        if answer.objective is None:
            return f"{answer.status}, no solution, bound {answer.bound:.8g}, {answer.seconds:.2f} s"
        return (
            f"{answer.status}, objective {answer.objective:.8g}, bound {answer.bound:.8g}, gap "
            f"{100 * answer.gap:.4f}%, {answer.nodes} nodes, {answer.seconds:.2f} s"
        )

    def terminate(self) -> None:
        """Ends the solve that is going on, with the best point so far."""
        if self._watched is not None:
            self._watched.end(GRB.INTERRUPTED)

    # In callbacks.

    def cbGet(self, what: int) -> Any:
        """A value in a callback, by its code (``GRB.Callback``)."""
        found = self._in_callback()
        name = _NAME_OF_CODE.get(what)
        watched = self._watched
        if name == "RUNTIME" and watched is not None:
            return time.monotonic() - watched.started
        if name == "WORK":
            return 0.0
        if name is None or name not in found:
            raise GurobiError(
                GRB.Error.CALLBACK,
                f"cbGet: {name or what} is not known at where = {found['where']}",
            )
        value = found[name]
        if name in ("MIPSOL_SOL", "MIPNODE_REL"):
            return [float(value[var]) for var in self._program.cols]
        return value

    def _in_callback(self) -> dict[str, Any]:
        if self._callback is None:
            raise GurobiError(GRB.Error.CALLBACK, "this is for callbacks alone")
        return self._callback

    def _values_in_callback(self, name: str, vars: Any) -> Any:
        point = self._in_callback().get(name)
        if point is None:
            raise GurobiError(GRB.Error.CALLBACK, f"{name}: not known at this place")
        if isinstance(vars, Var):
            return float(point[vars._handle])
        if hasattr(vars, "keys"):
            return type(vars)({key: float(point[var._handle]) for key, var in vars.items()})
        return [float(point[var._handle]) for var in _each_var(vars)]

    def cbGetSolution(self, vars: Any) -> Any:
        """Values of variables in the new point, at ``MIPSOL``."""
        return self._values_in_callback("MIPSOL_SOL", vars)

    def cbGetNodeRel(self, vars: Any) -> Any:
        """Values of variables in the relaxation, at ``MIPNODE``."""
        return self._values_in_callback("MIPNODE_REL", vars)

    def cbStopOneMultiObj(self, objnum: int) -> None:
        """Nothing: objectives are solved one after the other to their ends."""

    def __reduce__(self) -> Any:
        raise TypeError("a model cannot be pickled: write it to a file")


_NAME_OF_CODE = {
    value: name
    for name, value in vars(GRB.Callback).items()
    if isinstance(value, int) and value >= 1000
}
_WARNED: set[str] = set()


def _each_var(vars: Any) -> Iterable[Any]:
    return vars.tolist_flat() if hasattr(vars, "tolist_flat") else vars


def _warn_once(text: str) -> None:
    if text not in _WARNED:
        _WARNED.add(text)
        print(f"remat-bb: {text}", file=sys.stderr)


def no_value(name: str) -> AttributeUnavailable:
    """The error of an attribute that has no value at the moment."""
    return AttributeUnavailable(
        GRB.Error.DATA_NOT_AVAILABLE, f"Unable to retrieve attribute '{name}'"
    )
