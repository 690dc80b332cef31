"""Environments: initial parameters of models."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from . import left_out
from .constants import GRB
from .errors import GurobiError
from .params import Params, Values


class Env:
    """Initial parameters of the models made with it. It holds no licence and no memory: models
    outlive its closing."""

    def __init__(
        self,
        logfilename: str = "",
        empty: bool = False,
        params: dict[str, Any] | None = None,
        **_: Any,
    ) -> None:
        self._values = Values()
        self.params = Params(self)
        self.Params = self.params
        if logfilename:
            self._values.set("LogFile", logfilename)
        for name, value in (params or {}).items():
            self._values.set(name, value)

    def _set_parameter(self, name: str, value: Any, strict: bool) -> None:
        self._values.set(name, value, strict)

    def setParam(self, paramname: str, newvalue: Any) -> None:
        """Sets a parameter.

        Raises:
            GurobiError: for an unknown name, or a value out of range.
        """
        self._values.set(paramname, newvalue)

    def getParam(self, paramname: str) -> Any:
        """Value of a parameter."""
        return self.params.__getattr__(paramname)

    def resetParams(self) -> None:
        """Sets all parameters to their defaults."""
        self._values.reset()

    def writeParams(self, filename: str) -> None:
        """Writes parameters that differ from their defaults."""
        with open(filename, "w") as file:
            file.writelines(f"{name} {value}\n" for name, value in self._values)

    def start(self) -> None:
        """Has no effect: no licence is needed."""

    def close(self) -> None:
        """Has no effect: models outlive the environment."""

    def dispose(self) -> None:
        """Has no effect: models outlive the environment."""

    @staticmethod
    def OtherEnv(*_: Any, **__: Any) -> Env:
        """Refused: this is the only kind of environment.

        Raises:
            GurobiError: always.
        """
        raise GurobiError(GRB.Error.NOT_SUPPORTED, "Env.OtherEnv: there are no servers to reach")

    CloudEnv = OtherEnv
    ClientEnv = OtherEnv

    def __enter__(self) -> Env:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


left_out.refuse(Env, left_out.ENV_METHODS)

default_values = Values()
"""Parameters that models without an environment begin with: ``gurobipy.setParam`` sets them."""


def setParam(paramname: str, newvalue: Any, env: Env | None = None) -> None:  # noqa: N802
    """Sets a parameter of an environment, or of all later models without an environment."""
    (env._values if env is not None else default_values).set(paramname, newvalue, False)


def disposeDefaultEnv() -> None:  # noqa: N802
    """Sets the parameters of :func:`setParam` to their defaults."""
    default_values.reset()
