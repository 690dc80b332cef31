"""The command ``remat-bb``: the command line of the project, in this process."""

from __future__ import annotations

import signal
import sys

from ._native import run_command


def main() -> int:
    """Runs the command line with the arguments of this process; the exit code."""
    # The command has its own ways with Ctrl-C. Python's handler would wait for the command's end.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return run_command(["remat-bb", *sys.argv[1:]])
