"""Parameters: their names, ranges and defaults."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterator
from typing import Any

from .constants import GRB
from .errors import AttributeUnavailable, GurobiError

INFINITE = 1e20
"""Numbers from here on are infinite."""
_INF = float("inf")

# Name, type, default, least, most. Those in _USED have an effect.
_TABLE = """
AggFill int -1 -1 2000000000|Aggregate int 1 0 2|BarConvTol float 1e-8 0 1
BarCorrectors int -1 -1 2000000000|BarHomogeneous int -1 -1 1|BarIterLimit int 1000 0 2000000000
BarOrder int -1 -1 1|BarQCPConvTol float 1e-6 0 1|BestBdStop float inf -inf inf
BestObjStop float -inf -inf inf|BQPCuts int -1 -1 2|BranchDir int 0 -1 1|CliqueCuts int -1 -1 2
ConcurrentJobs int 0 0 2000000000|ConcurrentMethod int -1 -1 3|ConcurrentMIP int 1 1 64
CoverCuts int -1 -1 2|Crossover int -1 -1 4|CrossoverBasis int -1 -1 1|Cutoff float inf -inf inf
CutAggPasses int -1 -1 2000000000|CutPasses int -1 -1 2000000000|Cuts int -1 -1 3
DegenMoves int -1 -1 2000000000|Disconnected int -1 -1 2|DisplayInterval int 5 1 2000000000
DualImpliedCuts int -1 -1 2|DualReductions int 1 0 1|FeasibilityTol float 1e-6 1e-9 1e-2
FeasRelaxBigM float 1e6 0 inf|FlowCoverCuts int -1 -1 2|FlowPathCuts int -1 -1 2
FuncPieceError float 1e-3 1e-6 1e6|FuncPieceLength float 1e-2 1e-5 1e6
FuncPieceRatio float -1 -1 1|FuncPieces int 0 -2 2000000000|FuncMaxVal float 1e6 0 inf
FuncNonlinear int -1 -1 1|GomoryPasses int -1 -1 2000000000|GUBCoverCuts int -1 -1 2
Heuristics float 0.05 0 1|IgnoreNames int 0 0 1|IISMethod int -1 -1 3|ImpliedCuts int -1 -1 2
ImproveStartGap float 0 0 inf|ImproveStartNodes float inf 0 inf|ImproveStartTime float inf 0 inf
ImproveStartWork float inf 0 inf|InfProofCuts int -1 -1 2|InfUnbdInfo int 0 0 1|InputFile str ""
IntegralityFocus int 0 0 1|IntFeasTol float 1e-5 1e-9 1e-1|IterationLimit float inf 0 inf
JSONSolDetail int 0 0 1|LazyConstraints int 0 0 1|LiftProjectCuts int -1 -1 2
LPWarmStart int 1 0 2|LogFile str ""|LogToConsole int 1 0 1|LPMethod int -1 -1 5
MarkowitzTol float 0.0078125 0.0001 0.999|MemLimit float inf 0 inf|Method int -1 -1 6
MinRelNodes int -1 -1 2000000000|MIPFocus int 0 0 3|MIPGap float 1e-4 0 inf
MIPGapAbs float 1e-10 0 inf|MIPSepCuts int -1 -1 2|MIQCPMethod int -1 -1 1|MIRCuts int -1 -1 2
MixingCuts int -1 -1 2|ModKCuts int -1 -1 2|MultiObjMethod int -1 -1 2|MultiObjPre int -1 -1 2
MultiObjSettings str ""|NetworkAlg int -1 -1 1|NetworkCuts int -1 -1 2|NLPHeur int 1 0 1
NoRelHeurTime float 0 0 inf|NoRelHeurWork float 0 0 inf|NodefileDir str "."
NodefileStart float inf 0 inf|NodeLimit float inf 0 inf|NodeMethod int -1 -1 2
NonConvex int -1 -1 2|NormAdjust int -1 -1 3|NumericFocus int 0 0 3|OBBT int -1 -1 3
ObjNumber int 0 0 2000000000|ObjScale float 0 -1 inf|OptimalityTarget int -1 -1 1
OptimalityTol float 1e-6 1e-9 1e-2|OutputFlag int 1 0 1|PartitionPlace int 15 0 31
PerturbValue float 0.0002 0 inf|PoolGap float inf 0 inf|PoolGapAbs float inf 0 inf
PoolSearchMode int 0 0 2|PoolSolutions int 10 1 2000000000|PreCrush int 0 0 1
PreDepRow int -1 -1 1|PreDual int -1 -1 2|PreMIQCPForm int -1 -1 2|PrePasses int -1 -1 2000000000
PreQLinearize int -1 -1 2|PreSOS1BigM float -1 -1 1e10|PreSOS1Encoding int -1 -1 3
PreSOS2BigM float -1 -1 1e10|PreSOS2Encoding int -1 -1 3|PreSparsify int -1 -1 2
Presolve int -1 -1 2|ProjImpliedCuts int -1 -1 2|PSDCuts int -1 -1 2|PSDTol float 1e-6 0 inf
PumpPasses int -1 -1 2000000000|QCPDual int 0 0 1|Quad int -1 -1 1|Record int 0 0 1
RelaxLiftCuts int -1 -1 2|RINS int -1 -1 2000000000|RLTCuts int -1 -1 2|ResultFile str ""
ScaleFlag int -1 -1 3|ScenarioNumber int 0 0 2000000000|Seed int 0 0 2000000000
Sifting int -1 -1 2|SiftMethod int -1 -1 2|SimplexPricing int -1 -1 3|SoftMemLimit float inf 0 inf
SolFiles str ""|SolutionLimit int 2000000000 1 2000000000|SolutionNumber int 0 0 2000000000
SolutionTarget int -1 -1 1|StartNodeLimit int -1 -3 2000000000|StartNodeMethod int -1 -1 3
StartNumber int 0 -1 2000000000|StartTimeLimit float inf 0 inf|StartWorkLimit float inf 0 inf
StrongCGCuts int -1 -1 2|SubMIPCuts int -1 -1 2|SubMIPNodes int 500 -1 2000000000
Symmetry int -1 -1 2|Threads int 0 0 1024|ThreadLimit int 0 0 1024|TimeLimit float inf 0 inf
TuneCriterion int -1 -1 3|TuneOutput int 2 0 3|TuneResults int -1 -2 2000000000
TuneTimeLimit float -1 -1 inf|TuneTrials int 0 0 2000000000|UpdateMode int 1 0 1
VarBranch int -1 -1 3|WorkLimit float inf 0 inf|WorkerPassword str ""|WorkerPool str ""
ZeroHalfCuts int -1 -1 2|ZeroObjNodes int -1 -1 2000000000|TokenServer str ""
TSPort int -1 -1 65535|WLSAccessID str ""|WLSSecret str ""|LicenseID int 0 0 2000000000
ComputeServer str ""|ServerPassword str ""|ServerTimeout int 60 -1 2000000000|CSManager str ""
CSAPIAccessID str ""|CSAPISecret str ""|Username str ""|CSAppName str ""
CSIdleTimeout int -1 -1 2000000000|CloudAccessID str ""|CloudSecretKey str ""|CloudPool str ""
CSPriority int 0 -100 100|CSQueueTimeout float -1 -1 inf|CSRouter str ""|CSGroup str ""
CSTLSInsecure int 0 0 1|WLSToken str ""|WLSTokenDuration int 0 0 2000000000
WLSTokenRefresh float 0.9 0 1
"""

_USED = {
    *("BestBdStop", "BestObjStop", "Cutoff", "Cuts", "DualReductions"),
    *("FeasibilityTol", "Heuristics", "InfUnbdInfo", "IntFeasTol", "IterationLimit"),
    *("LazyConstraints", "LogFile", "LogToConsole", "MemLimit", "Method", "MIPGap"),
    *("MIPGapAbs", "NodeLimit", "ObjNumber", "OptimalityTol", "OutputFlag", "PoolGap"),
    *("PoolGapAbs", "PoolSearchMode", "PoolSolutions", "PreCrush", "Presolve", "QCPDual"),
    *("ResultFile", "Seed", "SoftMemLimit", "SolutionLimit", "SolutionNumber", "StartNumber"),
    *("Threads", "ThreadLimit", "TimeLimit", "UpdateMode", "WorkLimit", "DisplayInterval"),
    *("IISMethod", "LPMethod", "NonConvex"),
}


class Parameter:
    """A parameter: ``name``, ``kind`` (a type), ``default``, ``least`` and ``most``."""

    def __init__(self, words: str) -> None:
        self.name, kind, *rest = words.split()
        self.kind: type = {"int": int, "float": float, "str": str}[kind]
        self.least, self.most = -_INF, _INF
        if self.kind is str:
            self.default: Any = rest[0].strip('"')
        else:
            numbers = (float(word) for word in rest)
            self.default, self.least, self.most = numbers
            if self.kind is int:
                self.default = int(self.default)

    def checked(self, value: Any) -> Any:
        """The value in the parameter's type.

        Raises:
            GurobiError: the value has another type, or is out of range.
        """
        if isinstance(value, str) and value.lower() == "default" and self.kind is not str:
            return self.default
        if self.kind is str:
            return "" if value is None else str(value)
        try:
            number = float(value)
        except (TypeError, ValueError) as error:
            raise GurobiError(
                GRB.Error.INVALID_ARGUMENT, f"Parameter {self.name}: {value!r} is no number"
            ) from error
        if number >= 1e100:
            number = _INF
        if number <= -1e100:
            number = -_INF
        if not (self.least <= number <= self.most):
            raise GurobiError(
                GRB.Error.VALUE_OUT_OF_RANGE,
                f"Unable to set parameter {self.name} to value {value} (minimum is {self.least}, "
                f"maximum is {self.most})",
            )
        return int(number) if self.kind is int else number


def _parsed() -> dict[str, Parameter]:
    entries = [word for line in _TABLE.strip().splitlines() for word in line.split("|")]
    return {p.name.lower(): p for p in map(Parameter, entries)}


PARAMETERS = _parsed()
"""All parameters, by their name in small letters."""

_IGNORED: set[str] = set()
_WARNED: set[str] = set()


def ignored() -> list[str]:
    """Names of the parameters that were set in this process and have no effect."""
    return sorted(_IGNORED)


def found(name: str) -> list[Parameter]:
    """Parameters with a name, in any case of letters; ``*`` matches any letters."""
    word = str(name).lower()
    if "*" in word or "?" in word:
        import fnmatch

        return [p for key, p in PARAMETERS.items() if fnmatch.fnmatchcase(key, word)]
    one = PARAMETERS.get(word)
    return [] if one is None else [one]


def unknown(name: str) -> GurobiError:
    """The error for an unknown parameter name."""
    near = difflib.get_close_matches(name.lower(), PARAMETERS, 1)
    hint = f"; is it {PARAMETERS[near[0]].name}?" if near else ""
    return GurobiError(GRB.Error.UNKNOWN_PARAMETER, f"Unknown parameter '{name}'{hint}")


class Values:
    """Values of parameters, with the changed ones."""

    def __init__(self, other: Values | None = None) -> None:
        self.changed: dict[str, Any] = dict(other.changed) if other else {}

    def __getitem__(self, name: str) -> Any:
        key = name.lower()
        return self.changed.get(key, PARAMETERS[key].default)

    def set(self, name: str, value: Any, strict: bool = True) -> list[Parameter]:
        """Sets a parameter.

        Args:
            strict: False replaces the error for an unknown name by one warning on standard error,
                because tools set names of other solvers.

        Raises:
            GurobiError: for an unknown name, a value of another type or out of range.
        """
        known = found(name)
        if not known:
            if strict:
                raise unknown(name)
            if name not in _WARNED:
                _WARNED.add(name)
                print(f"remat-bb: {unknown(name)}: nothing is set", file=sys.stderr)
            return []
        for parameter in known:
            self.changed[parameter.name.lower()] = parameter.checked(value)
            if parameter.name not in _USED:
                _IGNORED.add(parameter.name)
            if parameter.name == "OutputFlag" and not self["OutputFlag"]:
                # A log file that is set later is still written.
                self.changed["logfile"] = ""
        return known

    def reset(self) -> None:
        """Sets all to their defaults."""
        self.changed.clear()

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        """Names and values of parameters that differ from their defaults."""
        for key, value in sorted(self.changed.items()):
            if value != PARAMETERS[key].default:
                yield PARAMETERS[key].name, value


class Params:
    """Parameters as attributes, in any case of letters: ``model.Params.TimeLimit = 60``."""

    def __init__(self, model: Any) -> None:
        object.__setattr__(self, "_model", model)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not found(name):
            raise AttributeUnavailable(GRB.Error.UNKNOWN_PARAMETER, str(unknown(name)))
        return self._model._values[name]

    def __setattr__(self, name: str, value: Any) -> None:
        if not found(name):
            raise AttributeUnavailable(GRB.Error.UNKNOWN_PARAMETER, str(unknown(name)))
        self._model._set_parameter(name, value, True)

    def __dir__(self) -> list[str]:
        return [p.name for p in PARAMETERS.values()]
