"""Replacement of other solvers by remat-bb: :func:`install` and :func:`uninstall`.

A package that is not imported yet is patched after its import.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import warnings
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from ..errors import InvalidArgument

HOMES = {
    "pulp": "pulp",
    "cvxpy": "cvxpy",
    "scipy": "scipy.optimize",
    "pyomo": "pyomo.environ",
    "gurobi": "gurobipy",
}
"""Module after whose import a name of :func:`install` is put in its place."""

BY_DEFAULT = ("pulp", "cvxpy", "pyomo")
"""Names of :func:`install` without arguments: those that replace no other package's functions."""

OLDEST_PULP = (2, 4)
"""Oldest version of PuLP that is taken."""

SHIM = "remat_bb.gurobi"
"""Module that takes the place of ``gurobipy``."""


def install(*names: str, **switches: bool) -> None:
    """Lets remat-bb answer in place of other solvers, in this process.

    Args:
        names: ``pulp`` (CBC and Gurobi classes of PuLP, problems without a solver), ``cvxpy``
            (``cp.GUROBI``, ``cp.CBC``, ``cp.GLPK_MI``, ``cp.SCIP``, ``cp.HIGHS`` and others),
            ``scipy`` (``scipy.optimize.milp`` and ``linprog``), ``pyomo``
            (``SolverFactory("remat_bb")`` without an import), ``gurobi`` (``import gurobipy``); by
            default ``pulp``, ``cvxpy`` and ``pyomo``.
        switches: The same names as keywords: ``install(scipy=True)``.

    Packages that are not imported yet are patched after their import.

    Raises:
        InvalidArgument: an unknown name, or ``gurobi`` if this version lacks it.
    """
    for name in _names(names, switches):
        if name == "gurobi":
            if not has_shim():
                raise InvalidArgument(
                    "this version of remat-bb has no remat_bb.gurobi", place="gurobi"
                )
            if HOMES[name] not in sys.modules:
                _hook().pending[HOMES[name]] = name
            elif sys.modules[HOMES[name]] is not importlib.import_module(SHIM):
                _replaced[HOMES[name]] = sys.modules[HOMES[name]]
                sys.modules[HOMES[name]] = importlib.import_module(SHIM)
        elif HOMES[name] in sys.modules:
            _apply(name)
        else:
            _hook().pending[HOMES[name]] = name


def uninstall(*names: str) -> None:
    """Reverts :func:`install` for some names or for all."""
    for name in _names(names, {}) if names else list(HOMES):
        home = HOMES[name]
        _hook().pending.pop(home, None)
        if name == "gurobi":
            shim = sys.modules.get(SHIM)
            if shim is not None and sys.modules.get(home) is shim:
                del sys.modules[home]
                if home in _replaced:
                    sys.modules[home] = _replaced.pop(home)
        elif name != "pyomo" and f"remat_bb.{name}" in sys.modules:
            sys.modules[f"remat_bb.{name}"].uninstall()


def has_shim() -> bool:
    """True if the module that replaces ``gurobipy`` exists."""
    return importlib.util.find_spec(SHIM) is not None


_replaced: dict[str, ModuleType] = {}


def _names(names: Sequence[str], switches: dict[str, bool]) -> list[str]:
    chosen = [*names, *(name for name, on in switches.items() if on)]
    for name in (*names, *switches):
        if name not in HOMES:
            raise InvalidArgument(
                f"{name!r} is none of {', '.join(HOMES)}", place="install", remedy=None
            )
    return chosen or ([] if switches else list(BY_DEFAULT))


def _apply(name: str) -> None:
    """Patches an imported package."""
    if name == "pulp" and _version(sys.modules[name]) < OLDEST_PULP:
        found = getattr(sys.modules[name], "__version__", "?")
        words = f"remat-bb leaves PuLP {found} alone: install 3.3, or any from 2.4 on"
        warnings.warn(words, stacklevel=2)
        return
    module = importlib.import_module(f"remat_bb.{name}")
    (module.register if name == "pyomo" else module.install)()


def _version(module: Any) -> tuple[int, ...]:
    words = str(getattr(module, "__version__", "0")).split(".")[:2]
    return tuple(int(word) if word.isdigit() else 0 for word in words)


class _Hook(importlib.abc.MetaPathFinder):
    """Finder that patches modules right after their import."""

    def __init__(self) -> None:
        self.pending: dict[str, str] = {}

    def find_spec(
        self, fullname: str, path: Any = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        """A spec whose loader runs the patch as well; ``None`` for other modules."""
        if fullname not in self.pending:
            return None
        name = self.pending[fullname]
        if name == "gurobi":
            del self.pending[fullname]
            return importlib.machinery.ModuleSpec(fullname, _Shim())
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(fullname, path, target)
            if spec is not None and spec.loader is not None:
                del self.pending[fullname]
                spec.loader = _Patching(spec.loader, name)
                return spec
        return None


class _Patching(importlib.abc.Loader):
    """Loader that runs a module and then patches it."""

    def __init__(self, inner: Any, name: str) -> None:
        self._inner = inner
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def create_module(self, spec: Any) -> Any:
        """The module made by its own loader."""
        return self._inner.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Runs the module, then the patch. After that the module has its own loader."""
        if module.__spec__ is not None:
            module.__spec__.loader = self._inner
        module.__loader__ = self._inner
        self._inner.exec_module(module)
        _apply(self._name)


class _Shim(importlib.abc.Loader):
    """Loader that replaces the module by the shim."""

    def create_module(self, spec: Any) -> Any:
        """``None``: Python makes a default module, which :meth:`exec_module` replaces."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Replaces the module by the shim."""
        sys.modules[module.__name__] = importlib.import_module(SHIM)


_the_hook: list[_Hook] = []


def _hook() -> _Hook:
    if not _the_hook:
        _the_hook.append(_Hook())
    if _the_hook[0] not in sys.meta_path:
        sys.meta_path.insert(0, _the_hook[0])
    return _the_hook[0]
