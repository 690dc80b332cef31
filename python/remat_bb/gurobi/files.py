"""Files of models, points, starts and parameters; copies."""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any

from .. import _native
from .._native import LinExpr, Var
from ..errors import RematError
from . import iis, quality
from .constants import GRB
from .errors import GurobiError

_PACKED = ("gz", "bz2", "7z", "xz", "zip")


def _suffix(path: str) -> tuple[str, str]:
    """The ending of a file name before compression, and the ending of the compression."""
    parts = os.path.basename(path).lower().split(".")
    packed = parts.pop() if len(parts) > 1 and parts[-1] in _PACKED else ""
    return parts[-1], packed


class Files:
    """Methods of a model that read and write."""

    _program: Any

    def write(self, filename: str) -> None:
        """Writes a file by its ending: ``.lp``, ``.mps``, ``.rew``, ``.rlp`` (the model), ``.sol``,
        ``.json`` (the best point), ``.mst`` (its integer part, or the start), ``.bas`` (the basis
        of a linear program), ``.ilp`` (the result of :meth:`computeIIS`), ``.prm`` (parameters).

        Raises:
            GurobiError: for an unknown ending, or if there is no data to write.
        """
        path = os.fspath(filename)
        model: Any = self
        kind, packed = _suffix(path)
        if packed and not (packed == "gz" and kind in ("lp", "mps")):
            raise GurobiError(
                GRB.Error.FILE_WRITE,
                f"write: '.{kind}.{packed}' cannot be written ({path}); .lp.gz and .mps.gz can",
            )
        try:
            match kind:
                case "lp" | "mps":
                    self._program.write(path)
                case "rew" | "rlp":
                    self._write_renamed(path, "mps" if kind == "rew" else "lp")
                case "sol":
                    _write_text(path, self._point_lines(model.getVars()))
                case "mst":
                    _write_text(path, self._start_lines())
                case "bas":
                    _write_text(path, self._basis_lines())
                case "ilp":
                    iis.write(self, path)
                case "prm":
                    _write_text(path, [f"{name}  {value}" for name, value in model._values])
                case "json":
                    _write_text(path, [self.getJSONSolution()])
                case word:
                    raise GurobiError(
                        GRB.Error.FILE_WRITE, f"write: no file ends in '.{word}' ({path})"
                    )
        except (OSError, RematError) as error:
            raise GurobiError(GRB.Error.FILE_WRITE, f"write: {error}") from error

    def _point_lines(self, variables: list[Any]) -> list[str]:
        model: Any = self
        lines = [f"# Solution for model {self._program.name}"]
        lines.append(f"# Objective value = {_number(model.ObjVal)}")
        return lines + [f"{v.VarName} {_number(v.X)}" for v in variables]

    def _start_lines(self) -> list[str]:
        model: Any = self
        if model.SolCount:
            integers = [v for v in model.getVars() if v.VType in "BIN"]
            return [f"# MIP start\n# Objective value = {_number(model.ObjVal)}"] + [
                f"{v.VarName} {_number(v.X)}" for v in integers
            ]
        starts = [(v.VarName, v.Start) for v in model.getVars()]
        given = [(name, value) for name, value in starts if value < GRB.UNDEFINED]
        if not given:
            raise GurobiError(GRB.Error.DATA_NOT_AVAILABLE, "write: there is no start")
        return ["# MIP start"] + [f"{name} {_number(value)}" for name, value in given]

    def _basis_lines(self) -> list[str]:
        """The basis in the format of MPS files: each basic variable with a nonbasic row."""
        model: Any = self
        rows = (c for c in model.getConstrs() if c.CBasis != 0)
        lines = [f"NAME {self._program.name}"]
        for var in model.getVars():
            match var.VBasis:
                case 0:
                    row = next(rows, None)
                    if row is not None:
                        word = "XU" if row.Sense == "<" else "XL"
                        lines.append(f" {word} {var.VarName} {row.ConstrName}")
                case -2:
                    lines.append(f" UL {var.VarName}")
        return [*lines, "ENDATA"]

    def getJSONSolution(self) -> str:
        """The answer as JSON text."""
        model: Any = self
        info = {
            "Status": model.Status,
            "Runtime": model.Runtime,
            "ObjVal": f"{model.ObjVal!r}" if model.SolCount else "1e+100",
            "ObjBound": f"{model.ObjBound!r}",
            "SolCount": model.SolCount,
            "NodeCount": model.NodeCount,
        }
        points = [
            {"VarName": v.VarName, "X": v.X}
            for v in (model.getVars() if model.SolCount else [])
            if v.X != 0
        ]
        return json.dumps({"SolutionInfo": info, "Vars": points})

    def read(self, filename: str) -> None:
        """Reads a start (``.sol``, ``.mst``), hints (``.hnt``) or parameters (``.prm``). A basis
        (``.bas``) has no effect: the start of the simplex does not change the answer.

        Raises:
            GurobiError: for an unknown ending, a file that cannot be opened, or an invalid line.
        """
        path = os.fspath(filename)
        kind, packed = _suffix(path)
        if packed or kind not in ("sol", "mst", "hnt", "prm", "attr", "bas"):
            raise GurobiError(GRB.Error.FILE_READ, f"read: {path} is no start and no parameters")
        model: Any = self
        try:
            with open(path) as file:
                lines = list(file)
        except OSError as error:
            raise GurobiError(GRB.Error.FILE_READ, f"read: {path}: {error.strerror}") from error
        for number, line in enumerate(lines if kind != "bas" else [], 1):
            text = line.strip()
            if not text or text.startswith("#"):
                continue
            # A name may contain blanks; the value is the last word.
            words = text.rsplit(maxsplit=1)
            if kind == "prm":
                words = text.split("#")[0].split()
            elif kind == "hnt" and model.getVarByName(words[0]) is None:
                words = words[0].rsplit(maxsplit=1)  # a priority follows the value
            if len(words) < 2:
                raise GurobiError(
                    GRB.Error.FILE_READ, f"read: {path}, line {number}: name and value belong there"
                )
            if kind == "prm":
                model.setParam(words[0], words[1])
                continue
            var = model.getVarByName(words[0])
            if var is not None:
                try:
                    value = float(words[1])
                except ValueError as error:
                    raise GurobiError(
                        GRB.Error.FILE_READ,
                        f"read: {path}, line {number}: {words[1]!r} is no number",
                    ) from error
                if kind == "hnt":
                    var.VarHintVal = value
                else:
                    var.Start = value

    # Copies.

    def _write_renamed(self, path: str, kind: str) -> None:
        """Writes the model with names by position: variables ``C0``.., constraints ``R0``.."""
        twin = self.copy()
        for k, var in enumerate(twin.getVars()):
            var.VarName = f"C{k}"
        for k, constr in enumerate(twin.getConstrs()):
            constr.ConstrName = f"R{k}"
        with tempfile.TemporaryDirectory(dir=os.path.dirname(path) or ".") as folder:
            made = os.path.join(folder, f"model.{kind}")
            twin._program.write(made)
            os.replace(made, path)

    def copy(self) -> Any:
        """An independent model with the same variables, constraints and parameters."""
        model: Any = self
        twin = type(model)()
        twin._copy_from(model)
        twin._values.changed.update(model._values.changed)
        for special in model.__dict__.get("_specials", []):
            twin._special(
                type(special),
                special._handle,
                special.GenConstrName,
                special.GenConstrType,
                None if special._parts is None else _moved(special._parts, twin),
            )
        for constr in model._quadratic:
            part = type(constr)(twin, constr._handle, constr.QCName, constr._expr, constr.QCSense)
            twin._quadratic.append(part)
        return twin

    def relax(self) -> Any:
        """A copy without integrality and ordered sets."""
        twin = self.copy()
        twin.remove(twin.getSOSs())
        for var in twin.getVars():
            var.VType = GRB.CONTINUOUS
        return twin

    def fixed(self) -> Any:
        """A copy whose integer variables are fixed at the best point: a linear program."""
        model: Any = self
        twin = self.copy()
        for var, own in zip(model.getVars(), twin.getVars()):
            if var.VType != GRB.CONTINUOUS:
                value = var.X
                own.VType = GRB.CONTINUOUS
                own.LB = own.UB = value
        return twin

    def convertToFixed(self) -> None:
        """Fixes the integer variables at the best point: the model becomes a linear program."""
        model: Any = self
        values = [(v, v.X) for v in model.getVars() if v.VType != GRB.CONTINUOUS]
        for var, value in values:
            var.VType = GRB.CONTINUOUS
            var.LB = var.UB = value

    def presolve(self) -> Any:
        """A plain copy: presolve runs within a solve."""
        return self.copy()

    def printStats(self) -> None:
        """Prints the sizes of the model."""
        program = self._program
        print(
            f"Statistics for model '{program.name}':\n"
            f"  Linear constraint matrix : {program.num_rows} rows, {program.num_cols} columns, "
            f"{program.num_nonzeros} nonzeros"
        )

    def printQuality(self) -> None:
        """Prints the violations of bounds and constraints at the best point."""
        worst, whole = quality.row_violation(self), quality.integer_violation(self)
        print(f"Solution quality:\n  Constraint violation: {worst:.8e}\n  Integrality: {whole:.8e}")

    def printAttr(self, attrs: Any, filter: str = "*") -> None:
        """Prints nonzero attributes of variables."""
        import fnmatch

        model: Any = self
        names = [attrs] if isinstance(attrs, str) else list(attrs)
        print("".join(f"{word:>13}" for word in ("Variable", *names)))
        for var in model.getVars():
            values = [var.getAttr(name) for name in names]
            if fnmatch.fnmatch(var.VarName, filter) and any(value != 0 for value in values):
                print("".join(f"{word!s:>13}" for word in (var.VarName, *values)))


def _moved(part: Any, model: Any) -> Any:
    """Parts of a constraint with the variables of another model."""
    if isinstance(part, Var):
        return model._var_at(part._handle)
    if isinstance(part, LinExpr):
        terms = [(part.getCoeff(k), _moved(part.getVar(k), model)) for k in range(part.size())]
        return LinExpr(terms) + part.getConstant()
    if isinstance(part, (list, tuple)):
        return type(part)(_moved(one, model) for one in part)
    return part


def _number(value: float) -> str:
    """Shortest text of a number; integers have no decimal point."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def _write_text(path: str, lines: list[str]) -> None:
    with open(path, "w") as file:
        file.writelines(f"{line}\n" for line in lines)


def read_model(make: Any, filename: str, env: Any) -> Any:
    """Reads a model from an MPS or LP file.

    Raises:
        GurobiError: the file cannot be read; the message names file, line and remedy.
    """
    try:
        program = _native.Program.read(os.fspath(filename))
    except (OSError, RematError) as error:
        raise GurobiError(GRB.Error.FILE_READ, f"read: {error}") from error
    model = make("", env)
    model._load(program)
    model._meet_specials()
    return model
