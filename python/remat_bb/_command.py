"""The command ``remat-bb``: the command line of the project, in this process."""

from __future__ import annotations

import pathlib
import signal
import sys

from . import _fits
from ._native import run_command

STAND_INS = ("cbc", "gurobi_cl")
"""Names under which the command does what the program of that name does."""


def main() -> int:
    """Runs the command line with the arguments of this process; the exit code."""
    if _fits.takes(sys.argv[1:]):
        return _fits.main(sys.argv[2:])
    # The command handles Ctrl-C itself. Python's handler would wait until the command returns.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Other tools call the command through a link with the name of another solver.
    called = pathlib.Path(sys.argv[0]).stem
    return run_command([called if called in STAND_INS else "remat-bb", *sys.argv[1:]])
