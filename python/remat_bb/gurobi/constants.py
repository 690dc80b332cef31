"""Constants of gurobipy's public interface: ``GRB``."""

from __future__ import annotations


class _Status:
    LOADED = 1
    OPTIMAL = 2
    INFEASIBLE = 3
    INF_OR_UNBD = 4
    UNBOUNDED = 5
    CUTOFF = 6
    ITERATION_LIMIT = 7
    NODE_LIMIT = 8
    TIME_LIMIT = 9
    SOLUTION_LIMIT = 10
    INTERRUPTED = 11
    NUMERIC = 12
    SUBOPTIMAL = 13
    INPROGRESS = 14
    USER_OBJ_LIMIT = 15
    WORK_LIMIT = 16
    MEM_LIMIT = 17


class _Error:
    OUT_OF_MEMORY = 10001
    NULL_ARGUMENT = 10002
    INVALID_ARGUMENT = 10003
    UNKNOWN_ATTRIBUTE = 10004
    DATA_NOT_AVAILABLE = 10005
    INDEX_OUT_OF_RANGE = 10006
    UNKNOWN_PARAMETER = 10007
    VALUE_OUT_OF_RANGE = 10008
    NO_LICENSE = 10009
    SIZE_LIMIT_EXCEEDED = 10010
    CALLBACK = 10011
    FILE_READ = 10012
    FILE_WRITE = 10013
    NUMERIC = 10014
    IIS_NOT_INFEASIBLE = 10015
    NOT_FOR_MIP = 10016
    OPTIMIZATION_IN_PROGRESS = 10017
    DUPLICATES = 10018
    NODEFILE = 10019
    Q_NOT_PSD = 10020
    QCP_EQUALITY_CONSTRAINT = 10021
    NETWORK = 10022
    JOB_REJECTED = 10023
    NOT_SUPPORTED = 10024
    EXCEED_2B_NONZEROS = 10025
    INVALID_PIECEWISE_OBJ = 10026
    UPDATEMODE_CHANGE = 10027
    CLOUD = 10028
    MODEL_MODIFICATION = 10029
    CSWORKER = 10030
    TUNE_MODEL_TYPES = 10031
    SECURITY = 10032
    NOT_IN_MODEL = 20001
    FAILED_TO_CREATE_MODEL = 20002
    INTERNAL = 20003


class _Callback:
    POLLING = 0
    PRESOLVE = 1
    SIMPLEX = 2
    MIP = 3
    MIPSOL = 4
    MIPNODE = 5
    MESSAGE = 6
    BARRIER = 7
    MULTIOBJ = 8
    IIS = 9
    PRE_COLDEL = 1000
    PRE_ROWDEL = 1001
    PRE_SENCHG = 1002
    PRE_BNDCHG = 1003
    PRE_COECHG = 1004
    SPX_ITRCNT = 2000
    SPX_OBJVAL = 2001
    SPX_PRIMINF = 2002
    SPX_DUALINF = 2003
    SPX_ISPERT = 2004
    MIP_OBJBST = 3000
    MIP_OBJBND = 3001
    MIP_NODCNT = 3002
    MIP_SOLCNT = 3003
    MIP_CUTCNT = 3004
    MIP_NODLFT = 3005
    MIP_ITRCNT = 3006
    MIP_OPENSCENARIOS = 3007
    MIP_PHASE = 3008
    MIPSOL_SOL = 4001
    MIPSOL_OBJ = 4002
    MIPSOL_OBJBST = 4003
    MIPSOL_OBJBND = 4004
    MIPSOL_NODCNT = 4005
    MIPSOL_SOLCNT = 4006
    MIPSOL_OPENSCENARIOS = 4007
    MIPSOL_PHASE = 4008
    MIPNODE_STATUS = 5001
    MIPNODE_REL = 5002
    MIPNODE_OBJBST = 5003
    MIPNODE_OBJBND = 5004
    MIPNODE_NODCNT = 5005
    MIPNODE_SOLCNT = 5006
    MIPNODE_BRVAR = 5007
    MIPNODE_OPENSCENARIOS = 5008
    MIPNODE_PHASE = 5009
    MSG_STRING = 6001
    RUNTIME = 6002
    WORK = 6003
    BARRIER_ITRCNT = 7001
    BARRIER_PRIMOBJ = 7002
    BARRIER_DUALOBJ = 7003
    BARRIER_PRIMINF = 7004
    BARRIER_DUALINF = 7005
    BARRIER_COMPL = 7006
    MULTIOBJ_OBJCNT = 8001
    MULTIOBJ_SOLCNT = 8002
    MULTIOBJ_SOL = 8003
    IIS_CONSTRMIN = 9001
    IIS_CONSTRMAX = 9002
    IIS_CONSTRGUESS = 9003
    IIS_BOUNDMIN = 9004
    IIS_BOUNDMAX = 9005
    IIS_BOUNDGUESS = 9006


class _Names(type):
    """A class whose attributes equal their names: ``GRB.Attr.X == "X"``."""

    def __getattr__(cls, name: str) -> str:
        if name.startswith("_"):
            raise AttributeError(name)
        return name


class _Attr(metaclass=_Names):
    """Names of attributes."""


class _Param(metaclass=_Names):
    """Names of parameters."""


class _WithParts(type):
    """Constants that also belong to one of the parts: ``GRB.OPTIMAL``, ``GRB.ERROR_NUMERIC``."""

    def __getattr__(cls, name: str) -> int:
        part, word = (_Error, name[6:]) if name.startswith("ERROR_") else (_Status, name)
        if not word.startswith("_") and hasattr(part, word):
            return int(getattr(part, word))
        raise AttributeError(f"type object 'GRB' has no attribute {name!r}")


class GRB(metaclass=_WithParts):
    """Constants: senses, types, statuses, errors, codes of callbacks."""

    Status = _Status
    Error = _Error
    Callback = _Callback
    Attr = _Attr
    attr = _Attr
    Param = _Param
    param = _Param

    CONTINUOUS = "C"
    BINARY = "B"
    INTEGER = "I"
    SEMICONT = "S"
    SEMIINT = "N"
    LESS_EQUAL = "<"
    GREATER_EQUAL = ">"
    EQUAL = "="
    MINIMIZE = 1
    MAXIMIZE = -1
    INFINITY = 1e100
    UNDEFINED = 1e101
    MAXINT = 2000000000
    SOS_TYPE1 = 1
    SOS_TYPE2 = 2
    BASIC = 0
    NONBASIC_LOWER = -1
    NONBASIC_UPPER = -2
    SUPERBASIC = -3
    GENCONSTR_MAX = 0
    GENCONSTR_MIN = 1
    GENCONSTR_ABS = 2
    GENCONSTR_AND = 3
    GENCONSTR_OR = 4
    GENCONSTR_NORM = 5
    GENCONSTR_NL = 6
    GENCONSTR_INDICATOR = 7
    GENCONSTR_PWL = 8
    FEASRELAX_LINEAR = 0
    FEASRELAX_QUADRATIC = 1
    FEASRELAX_CARDINALITY = 2
    VERSION_MAJOR = 12
    VERSION_MINOR = 0
    VERSION_TECHNICAL = 0
    DEFAULT_CS_PORT = 61000
