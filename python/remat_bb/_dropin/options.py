"""Options of other solvers as arguments of :meth:`remat_bb.Program.solve`."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

LONGEST_SECONDS = 1e8
"""Time limits from here on, in seconds (about three years), are no limits."""

SMALLEST_TOLERANCE, LARGEST_TOLERANCE = 1e-10, 1e-3
"""Range of the feasibility and integrality tolerances; others are moved into it."""

_TABLE = {
    "time_limit": "timelimit seconds sec maxseconds maximumseconds maxtime tilim limitstime",
    "gap": "gap miprelgap mipgap ratiogap ratio gaprel relgap allowablefractiongap miprelstop "
    "limitsgap",
    "absolute_gap": "absolutegap mipabsgap mipgapabs allow allowablegap gapabs absgap mipabsstop "
    "limitsabsgap",
    "threads": "threads numberthreads solvethreads numthreads",
    "seed": "seed randomseed randomcbcseed",
    "node_limit": "nodelimit mipmaxnodes maxnodes maximumnodes maxn limitsnodes",
    "iteration_limit": "iterationlimit simplexiterationlimit maxiter maxiterations maxnumiteration",
    "work_limit": "worklimit",
    "cutoff": "cutoff",
    "presolve": "presolve preprocess",
    "cuts": "cuts",
    "heuristics": "heuristics heuristicsonoff mipheuristiceffort",
    "recognise": "recognise",
    "algorithm": "algorithm method solver simplexstrategy",
    "feasibility_tolerance": "feasibilitytolerance feasibilitytol primalfeasibilitytolerance "
    "primaltolerance primalt",
    "integrality_tolerance": "integralitytolerance intfeastol mipfeasibilitytolerance "
    "integertolerance integert",
    "optimality_tolerance": "optimalitytolerance optimalitytol dualfeasibilitytolerance "
    "dualtolerance dualt",
    "verbose": "verbose outputflag logtoconsole msg disp loglevel tee",
    "log_path": "logpath logfile",
}
_NAMES = {name: field for field, names in _TABLE.items() for name in names.split()}

# Options that choose a method, not a result: they are accepted without a warning.
_IGNORED = frozenset(
    "mipfocus concurrentmip numericfocus crossover presos1bigm presos2bigm integralityfocus "
    "nodefilestart nodefiledir softmemlimit memlimit infunbdinfo dualreductions reoptimize "
    "qcpdual nonconvex displayinterval symmetry varbranch branchdir parallel highsdebuglevel "
    "simplexscalestrategy simplexdualedgeweightstrategy ipmoptimalitytolerance ipmiterationlimit "
    "runcrossover mipdetectsymmetry timemode keepfiles path strong warmstart mipstart "
    "startnodelimit branch printingoptions env envoptions manageenv savefile usequadobj scaling "
    "automaticscaling premiqcpmethod prepasses aggregate prefeasibility objectivebound "
    "objectivetarget lazyconstraints precrush outputsolution writesolutiontofile".split()
)

_OFF = {"off", "no", "false", "none", "0"}


def _key(name: object) -> str:
    return "".join(c for c in str(name).lower() if c.isalnum())


def switch(value: Any) -> bool:
    """Converts an on/off value of any kind: ``True``, ``"on"``, ``"choose"``, ``-1`` (automatic),
    2."""
    return value.strip().lower() not in _OFF if isinstance(value, str) else bool(value)


def _algorithm(value: Any) -> str:
    words = str(value).strip().lower()
    if words in ("primal", "0") or words.endswith("primal"):
        return "primal"
    return "dual" if words in ("dual", "1", "simplex-dual", "ds") else "auto"


@dataclass
class Settings:
    """Settings of :meth:`remat_bb.Program.solve`; ``None`` keeps its default."""

    time_limit: Any = None
    gap: float | None = None
    absolute_gap: float | None = None
    threads: int | None = None
    seed: int | None = None
    node_limit: int | None = None
    iteration_limit: int | None = None
    work_limit: int | None = None
    cutoff: float | None = None
    presolve: Any = None
    cuts: Any = None
    heuristics: Any = None
    recognise: Any = None
    algorithm: Any = None
    feasibility_tolerance: float | None = None
    integrality_tolerance: float | None = None
    optimality_tolerance: float | None = None
    verbose: Any = False
    log_path: str | None = None

    def set(self, name: str, value: Any) -> bool:
        """Sets an option by its name in any known solver; false if no solver has the name."""
        key = _key(name)
        if key in _NAMES:
            if value is not None:
                setattr(self, _NAMES[key], value)
            return True
        return key in _IGNORED

    def update(
        self,
        options: Mapping[str, Any] | Iterable[Any],
        whose: str,
        category: type[Warning] = UserWarning,
    ) -> None:
        """Sets options from a mapping, or from a list of pairs and of texts such as ``"sec 20"``
        and ``"presolve=off"``. A warning of the category names each unknown option."""
        pairs = options.items() if isinstance(options, Mapping) else map(_pair, options)
        for name, value in pairs:
            if not self.set(name, value):
                words = f"{whose}: option {name!r} is not known and has no effect"
                warnings.warn(words, category, stacklevel=4)

    def arguments(self) -> dict[str, Any]:
        """Keyword arguments of :meth:`remat_bb.Program.solve`, clipped to their valid ranges."""
        given: dict[str, Any] = {}
        if self.time_limit is not None:
            limit = self.time_limit
            try:
                limit = max(0.0, float(limit))
            except (TypeError, ValueError):
                pass  # an amount in words, such as "5m"
            if isinstance(limit, str) or limit < LONGEST_SECONDS:
                given["time_limit"] = limit
        for name, largest in (("gap", 1.0), ("absolute_gap", math.inf)):
            value = getattr(self, name)
            if value is not None:
                given[name] = min(max(0.0, float(value)), largest)
        if self.threads is not None and int(self.threads) > 0:
            given["threads"] = int(self.threads)
        if self.seed is not None:
            given["seed"] = abs(int(self.seed))
        for name in ("node_limit", "iteration_limit", "work_limit"):
            value = getattr(self, name)
            if value is not None and 0 <= float(value) < 2**53:
                given[name] = int(float(value))
        if self.cutoff is not None and math.isfinite(float(self.cutoff)):
            given["cutoff"] = float(self.cutoff)
        for name in ("presolve", "cuts", "heuristics", "recognise"):
            value = getattr(self, name)
            if value is not None:
                given[name] = switch(value)
        if self.algorithm is not None:
            given["algorithm"] = _algorithm(self.algorithm)
        for name in ("feasibility_tolerance", "integrality_tolerance", "optimality_tolerance"):
            value = getattr(self, name)
            if value is not None:
                given[name] = min(max(float(value), SMALLEST_TOLERANCE), LARGEST_TOLERANCE)
        return given


def _pair(option: Any) -> tuple[str, Any]:
    if isinstance(option, str):
        name, _, value = option.strip().lstrip("-").replace("=", " ", 1).partition(" ")
        return name, value.strip() or True
    name, value = option
    return str(name), value
