"""The command ``remat-bb``: the command line of the project, in this process."""

from __future__ import annotations

import pathlib
import signal
import sys

from ._native import run_command

STAND_INS = ("cbc", "gurobi_cl")
"""Names under which the command does what the program of that name does."""


def main() -> int:
    """Runs the command line with the arguments of this process; the exit code."""
    # The command has its own ways with Ctrl-C. Python's handler would wait for the command's end.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # A link of another solver's name is how other tools call it.
    called = pathlib.Path(sys.argv[0]).stem
    return run_command([called if called in STAND_INS else "remat-bb", *sys.argv[1:]])
