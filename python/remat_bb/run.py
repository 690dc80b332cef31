"""``python -m remat_bb.run [--pulp] [--cvxpy] [--scipy] [--pyomo] [--gurobi] script.py ...`` runs a
program with remat-bb in place of its solvers.

Without a switch all are set. ``-m module`` runs a module. Child processes of the program do the
same if the package is installed with its ``.pth`` file.
"""

from __future__ import annotations

import os
import runpy
import sys

from ._autoload import VARIABLE
from ._dropin import HOMES, has_shim, install
from .errors import RematError

USAGE = (
    "usage: python -m remat_bb.run "
    + " ".join(f"[--{name}]" for name in HOMES)
    + " (script.py | -m module) ..."
)


def main(arguments: list[str]) -> int:
    """Runs a script or module; returns 2 if the arguments are invalid."""
    names: list[str] = []
    while arguments and arguments[0].startswith("--"):
        switch = arguments.pop(0)
        if switch in ("--help", "-h"):
            print(USAGE)
            return 0
        if switch[2:] not in HOMES:
            print(f"{switch} is not known\n{USAGE}", file=sys.stderr)
            return 2
        names.append(switch[2:])
    as_module = arguments[:1] == ["-m"]
    if as_module:
        arguments.pop(0)
    if not arguments:
        print(USAGE, file=sys.stderr)
        return 2
    names = names or [name for name in HOMES if name != "gurobi" or has_shim()]
    try:
        install(*names)
    except RematError as error:
        print(error, file=sys.stderr)
        return 2
    os.environ[VARIABLE] = ",".join(names)
    target = arguments[0]
    sys.argv = list(arguments)
    if as_module:
        sys.path[0] = os.getcwd()
        runpy.run_module(target, run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(target))
        runpy.run_path(target, run_name="__main__")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
