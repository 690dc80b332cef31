"""Installs what ``REMAT_BB_DROPIN`` names, when Python starts.

``remat_bb_dropin.pth`` imports this module where the variable is set: ``pulp,cvxpy,scipy,gurobi``,
or ``all``. Packages are patched when they are imported. Mistakes are told on standard error and
end nothing.
"""

from __future__ import annotations

import os
import sys

VARIABLE = "REMAT_BB_DROPIN"
"""Environment variable with names of :func:`remat_bb.install`, separated by commas."""


def autoload(text: str) -> None:
    """Installs what a text names."""
    from ._dropin import HOMES, has_shim, install
    from .errors import RematError

    names = [name.strip().lower() for name in text.split(",") if name.strip()]
    if "all" in names:
        names.remove("all")
        names += [name for name in HOMES if name != "gurobi" or has_shim()]
    for name in names:
        try:
            install(name)
        except RematError as error:
            print(f"{VARIABLE}: {error}", file=sys.stderr)


autoload(os.environ.get(VARIABLE, ""))
