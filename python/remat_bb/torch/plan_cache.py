"""Plans of earlier processes, by graph and budget."""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import tempfile
from typing import Any

from .. import _native
from ..errors import RematError

VARIABLE = "REMAT_BB_PLAN_CACHE"
"""Environment variable with the folder of plans; ``0`` for none."""


def folder(asked: bool | str) -> pathlib.Path | None:
    """The folder of plans: the one that is named, by the setting or by the environment, else one
    in the user's cache; ``None`` where plans are not kept."""
    told = os.environ.get(VARIABLE, "")
    if asked is False or (asked is True and told == "0"):
        return None
    if isinstance(asked, str):
        return pathlib.Path(asked)
    if told:
        return pathlib.Path(told)
    home = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(home, "remat-bb", "plans")


def key(instance: _native.Instance, *words: Any) -> str:
    """Name of the entry of a graph and of what else a plan depends on.

    Costs are left out: where they are measured, no two processes have the same, and a plan is as
    valid for all of them.
    """
    document = instance.to_dict()
    for node in document["nodes"]:
        for name in ("cost", "recompute_cost"):
            node.pop(name, None)
    text = json.dumps([_native.__version__, words, document], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def load(place: pathlib.Path, instance: _native.Instance) -> _native.Plan | None:
    """The plan of an entry, replayed on an instance; ``None`` where there is none, or one that does
    not fit."""
    try:
        return _native.Plan.load(instance, json.loads(place.read_text()))
    except (OSError, ValueError, RematError):
        return None


def store(place: pathlib.Path, plan: _native.Plan) -> None:
    """Keeps a plan. Where the folder cannot be written to, it is not kept."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=place.parent, delete=False) as file:
            json.dump(plan.to_dict(), file)
        os.replace(file.name, place)
    except OSError:
        pass
