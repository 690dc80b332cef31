"""Installs the replacements named in ``REMAT_BB_DROPIN`` when Python starts.

``remat_bb_dropin.pth`` imports this module if the variable is set, for example to
``pulp,cvxpy,scipy,gurobi`` or ``all``. A package is patched right after its import. An error is
printed on standard error, and Python goes on.
"""

from __future__ import annotations

import os
import sys

VARIABLE = "REMAT_BB_DROPIN"
"""Environment variable with names of :func:`remat_bb.install`, separated by commas."""


def autoload(text: str) -> None:
    """Installs the names in a comma-separated text."""
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
