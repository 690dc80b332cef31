"""Callbacks: their calls, and the methods that they may use."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Any

from .._dropin.log import Log
from .._native import Stop, TempConstr, Var
from .constants import GRB
from .errors import GurobiError
from .params import INFINITE

_NAME_OF_CODE = {
    value: name
    for name, value in vars(GRB.Callback).items()
    if isinstance(value, int) and value >= 1000
}


class Watched:
    """A solve with its callback: calls the callback and checks stopping rules.

    Points arrive on the searching thread and progress on the waiting thread. A lock makes calls of
    the callback exclusive.
    """

    def __init__(self, model: Any, callback: Callable[..., Any] | None) -> None:
        self.model = model
        self.callback = callback
        self.stop = Stop()
        self.reason: int | None = None
        self.error: BaseException | None = None
        self.started = time.monotonic()
        self.log = Log(
            lambda text: model._log(text, end=""), lambda: float(model._values["DisplayInterval"])
        )
        self.points = 0
        self.best: float | None = None
        self.look: Any = None
        self.lock = threading.RLock()
        takes_part = callback is not None
        self.lazy = takes_part and model._values["LazyConstraints"] == 1
        self.nodes = self.lazy or takes_part and model._values["PreCrush"] == 1
        self.rows: list[tuple[list[int], list[float], float, float]] = []
        self.wanted: dict[int, float] = {}
        self.points_to_try: list[list[float]] = []

    def options(self) -> dict[str, Any]:
        """Arguments of a solve whose callback adds rows or points."""
        if not self.nodes:
            return {}
        return {
            "separate": self.separate,
            "suggest": self.suggest,
            "lazy_rows": self.lazy,
            "at_nodes": True,
        }

    def separate(self, x: Any, objective: float, integral: bool) -> list[Any]:
        """Rows that the callback adds for a point, or for the relaxation at a node."""
        with self.lock:
            if integral:
                self.call(GRB.Callback.MIPSOL, **self.of_point(objective, x))
            else:
                look = self.look
                none = -GRB.INFINITY if self.model._program.maximise else GRB.INFINITY
                self.call(
                    GRB.Callback.MIPNODE,
                    MIPNODE_STATUS=GRB.OPTIMAL,
                    MIPNODE_REL=x,
                    MIPNODE_OBJBST=none if self.best is None else self.best,
                    MIPNODE_OBJBND=look.bound if look is not None else -none,
                    MIPNODE_NODCNT=float(look.nodes if look is not None else 0),
                    MIPNODE_SOLCNT=self.points,
                    MIPNODE_PHASE=0,
                    MIPNODE_OPENSCENARIOS=1,
                )
            self.use_wanted()
            rows, self.rows = self.rows, []
            return rows

    def use_wanted(self) -> float:
        """Completes the point that the callback has set, and queues it for a trial. Returns its
        objective, or infinity if it does not improve the incumbent."""
        none = float(GRB.INFINITY)
        if not self.wanted:
            return none
        point = [math.nan] * (1 + max(self.model._program.cols, default=-1))
        for handle, value in self.wanted.items():
            point[handle] = value
        self.wanted = {}
        found = self.model._program.complete(point)
        if found is None:
            return none
        objective, values = found
        self.points_to_try.append(values)
        sign = -1.0 if self.model._program.maximise else 1.0
        better = self.best is None or sign * objective < sign * self.best
        return float(objective) if better else none

    def suggest(self) -> list[list[float]]:
        """Points that the callback suggests for a trial."""
        with self.lock:
            points, self.points_to_try = self.points_to_try, []
            return points

    def of_point(self, objective: float, x: Any) -> dict[str, Any]:
        """Values for a callback at a point."""
        none = -GRB.INFINITY if self.model._program.maximise else GRB.INFINITY
        return {
            "MIPSOL_SOL": x,
            "MIPSOL_OBJ": objective,
            "MIPSOL_OBJBST": none if self.best is None else self.best,
            "MIPSOL_OBJBND": self.look.bound if self.look is not None else -none,
            "MIPSOL_NODCNT": float(self.look.nodes if self.look is not None else 0),
            "MIPSOL_SOLCNT": self.points,
            "MIPSOL_PHASE": 0,
            "MIPSOL_OPENSCENARIOS": 1,
        }

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
        """Logs the state of the search and calls the callback at ``MIP``."""
        self.look = look
        model = self.model
        self.log.progress(look)
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
        """Counts a new incumbent and calls the callback at ``MIPSOL``."""
        self.points += 1
        self.best = objective
        model = self.model
        self.check(objective, None)
        if self.points >= model._values["SolutionLimit"]:
            self.end(GRB.SOLUTION_LIMIT)
        # With lazy constraints the callback has seen the point already.
        if not self.lazy:
            self.call(GRB.Callback.MIPSOL, **self.of_point(objective, x))

    def check(self, objective: float | None, bound: float | None) -> None:
        """Ends the search if objective or bound reach the parameters ``BestObjStop`` or
        ``BestBdStop``."""
        values = self.model._values
        sign = -1.0 if self.model._program.maximise else 1.0
        wanted = values["BestObjStop"]
        if objective is not None and abs(wanted) < INFINITE and sign * objective <= sign * wanted:
            self.end(GRB.USER_OBJ_LIMIT)
        wanted = values["BestBdStop"]
        if bound is not None and abs(wanted) < INFINITE and sign * bound >= sign * wanted:
            self.end(GRB.USER_OBJ_LIMIT)


class Callbacks:
    """Methods of a model for use in callbacks."""

    _program: Any
    _values: Any
    _callback: dict[str, Any] | None
    _watched: Watched | None

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
        """Has no effect: each objective is solved to the end."""

    def _row_in_callback(self, name: str, lhs: Any, sense: Any, rhs: Any) -> None:
        watched = self._watched
        assert watched is not None
        if isinstance(lhs, TempConstr):
            difference, sign = lhs._difference, lhs._sense
        else:
            difference, sign = lhs - (0.0 if rhs is None else rhs), str(sense or "<")[0]
        cols, values, constant = self._terms_of(difference)  # type: ignore[attr-defined]
        lower = -math.inf if sign == "<" else -constant
        upper = math.inf if sign == ">" else -constant
        watched.rows.append((cols, values, lower, upper))

    def cbLazy(self, lhs: Any, sense: str | None = None, rhs: Any = None) -> None:
        """Adds a constraint to the model in a callback at ``MIPSOL`` or ``MIPNODE``.

        Raises:
            GurobiError: at another place, or without the parameter ``LazyConstraints``.
        """
        found = self._in_callback()
        watched = self._watched
        if watched is None or not watched.lazy:
            raise GurobiError(GRB.Error.CALLBACK, "cbLazy: set the parameter LazyConstraints to 1")
        if found["where"] not in (GRB.Callback.MIPSOL, GRB.Callback.MIPNODE):
            raise GurobiError(GRB.Error.CALLBACK, "cbLazy: this is for MIPSOL and MIPNODE")
        self._row_in_callback("cbLazy", lhs, sense, rhs)

    def cbCut(self, lhs: Any, sense: str | None = None, rhs: Any = None) -> None:
        """Adds a cut in a callback at ``MIPNODE``: a row that every solution satisfies.

        Raises:
            GurobiError: at another place.
        """
        if self._in_callback()["where"] != GRB.Callback.MIPNODE:
            raise GurobiError(GRB.Error.CALLBACK, "cbCut: this is for MIPNODE")
        self._row_in_callback("cbCut", lhs, sense, rhs)

    def cbSetSolution(self, vars: Any, solution: Any) -> None:
        """Sets values of variables in a point to be tried; missing values are searched for. With
        ``LazyConstraints`` or ``PreCrush`` the point is tried at the next node."""
        self._in_callback()
        watched = self._watched
        assert watched is not None
        if isinstance(vars, Var):
            watched.wanted[vars._handle] = float(solution)
            return
        if hasattr(vars, "keys"):
            pairs: Any = ((vars[key], solution[key]) for key in vars)
        else:
            pairs = zip(_each_var(vars), solution)
        for var, value in pairs:
            watched.wanted[var._handle] = float(value)

    def cbUseSolution(self) -> float:
        """Finds the best point with the values of ``cbSetSolution``, and queues it for the next
        node. Returns its objective, or infinity if it does not improve the incumbent."""
        self._in_callback()
        watched = self._watched
        return float(GRB.INFINITY) if watched is None else watched.use_wanted()


def _each_var(vars: Any) -> Any:
    return vars.tolist_flat() if hasattr(vars, "tolist_flat") else vars
