"""The command ``remat-bb fits FILE.py:NAME``: the memory of a training step in a user's file."""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import runpy
import sys
import time
from typing import Any

from . import _native
from .errors import InvalidArgument, RematError

FORM = re.compile(r"^(?P<file>.+\.py):(?P<name>[A-Za-z_]\w*)$")
FITS, ERROR, DOES_NOT_FIT, UNKNOWN = 0, 2, 3, 4
"""Exit codes."""


def takes(words: list[str]) -> bool:
    """Returns true for the words of a command line that this module handles: ``fits`` with a
    function in a file."""
    return words[:1] == ["fits"] and any(
        FORM.match(word) or word.endswith(".py") for word in words[1:]
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="remat-bb fits",
        description="Tells if a training step fits into an amount of memory, without running it. "
        "FILE.py:NAME is a function without arguments that returns (model, inputs) or (model, "
        "inputs, optimizer), as for remat_bb.torch.estimate. The file is run.",
        epilog="Exit codes: 0 the step fits, as it is or with recomputation; 2 bad usage or input, "
        "or a step that cannot be estimated; 3 it does not fit: the optimizer's step is above the "
        "budget, or no stage schedule fits; 4 no plan was found that fits.",
    )
    parser.add_argument("step", metavar="FILE.py:NAME")
    parser.add_argument("--budget", required=True, help="bytes, 24GiB, or cuda")
    parser.add_argument("--device", help="device of the step: cpu or cuda")
    parser.add_argument("--accumulate", action="store_true", help="gradients are there already")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def main(words: list[str]) -> int:
    """Runs the command with the words behind ``fits``; the exit code."""
    options = _parser().parse_args(words)
    start = time.perf_counter()
    try:
        # Standard output has the answer only; what the user's file prints goes beside it.
        with contextlib.redirect_stdout(sys.stderr):
            code, found, text = _answered(options)
    except Exception as error:
        # Torch and the user's own code raise anything.
        if not isinstance(error, RematError):
            error = InvalidArgument(f"{options.step}: {type(error).__name__}: {error}")
        if options.json:
            print(json.dumps(_failure(error)))
        print(f"error: {error}", file=sys.stderr)
        return ERROR
    if options.json:
        found["seconds"] = round(time.perf_counter() - start, 3)
        print(json.dumps(found))
    else:
        print(text)
    return code


def _answered(options: Any) -> tuple[int, dict[str, Any], str]:
    """Exit code, JSON object, and text."""
    import remat_bb.torch as rt

    model, inputs, optimizer = _step(options.step)
    fit = rt.fits(
        model,
        inputs,
        options.budget,
        optimizer,
        device=options.device,
        accumulate=options.accumulate,
    )
    found: dict[str, Any] = {
        "version": _native.__version__,
        "status": "optimal",
        "fits": "plain",
        "objective": None,
        "bound": None,
        "gap": None,
        "bound_scope": None,
        "seconds": None,
        "nodes": None,
        "lp_iterations": None,
        "budget_bytes": fit.budget_bytes,
        "least_budget_bytes": None,
        "overhead": None,
        **fit.estimate.to_dict(),
    }
    code, words = FITS, str(fit)
    if not fit:
        code, words = _with_plan(fit, found)
    return code, found, f"{words}\n{fit.estimate}"


def _with_plan(fit: Any, found: dict[str, Any]) -> tuple[int, str]:
    """Exit code and text of a step that does not fit as it is."""
    try:
        plan = fit.plan()
        words = fit.with_recomputation()
        if fit.estimate.optimizer_bytes <= fit.budget_bytes:
            found["least_budget_bytes"] = fit.estimate.least_budget_bytes
    except RematError as error:
        found |= {"status": "limit", "fits": "unknown"}
        return UNKNOWN, f"{fit}\nno plan: {error}"
    if plan is None and fit.is_refuted:
        found |= {"status": "infeasible", "fits": "no"}
        return DOES_NOT_FIT, words
    if plan is None:
        found |= {"status": "limit", "fits": "unknown"}
        return UNKNOWN, words
    found |= {"status": plan.status, "fits": "recomputation"}
    found["overhead"] = plan.overhead
    found |= {key: getattr(plan, key) for key in ("objective", "bound", "gap", "bound_scope")}
    return FITS, words


def _step(place: str) -> tuple[Any, Any, Any]:
    """Model, inputs and optimizer that a function in a file returns."""
    match = FORM.match(place)
    if match is None:
        raise InvalidArgument(f"{place}: this is no function in a file", remedy="FILE.py:NAME")
    file, name = match["file"], match["name"]
    try:
        names = runpy.run_path(file, run_name="remat_bb_fits")
    except SystemExit as error:
        raise InvalidArgument(
            f"{file}: it ends the program when it is run",
            remedy='put what trains behind if __name__ == "__main__":',
        ) from error
    except OSError as error:
        raise InvalidArgument(f"{file}: {error.strerror}", remedy="name a Python file") from error
    except Exception as error:
        raise InvalidArgument(f"{file}: {type(error).__name__}: {error}") from error
    if not callable(names.get(name)):
        raise InvalidArgument(
            f"{file}: it has no function {name!r}", remedy="name a function without arguments"
        )
    try:
        found = names[name]()
    except SystemExit as error:
        raise InvalidArgument(f"{place}: it ends the program", remedy="return the step") from error
    if not isinstance(found, tuple) or len(found) not in (2, 3):
        raise InvalidArgument(
            f"{place}: it returns {type(found).__name__}",
            remedy="return (model, inputs) or (model, inputs, optimizer)",
        )
    return found[0], found[1], found[2] if len(found) == 3 else None


def _failure(error: RematError) -> dict[str, Any]:
    """The JSON object of an error."""
    return {
        "version": _native.__version__,
        "status": "error",
        "code": ERROR,
        "message": error.message,
        "place": error.place,
        "remedy": error.remedy,
    }
