"""Cache of plans of earlier processes, by graph, budget, kind of costs, effort, device and
versions.

A plan that was proven optimal for nearly equal costs is an answer. Any other plan starts a search,
and a better result replaces it.
"""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import tempfile
from dataclasses import dataclass
from typing import Any

import torch

from .. import _native
from ..errors import RematError
from .clock import kernel_settings

VARIABLE = "REMAT_BB_PLAN_CACHE"
"""Environment variable with the folder of plans; ``0`` for none."""
ENTRIES = 512
"""Entries of a folder at most; those that were not used for longest go."""
FOLDER_BYTES = 1 << 28
"""Bytes of a folder at most."""
COST_SHARE = 0.25
"""Difference of two measurements of the costs of a graph, as a share of their sum, up to which a
plan that is best for one is taken for the other."""


@dataclass(frozen=True)
class Entry:
    """A plan of an earlier process.

    Attributes:
        plan: The plan, replayed on the present instance.
        is_answer: True if the plan was proven optimal for nearly equal costs.
        searches: Number of searches behind the plan.
    """

    plan: _native.Plan
    is_answer: bool
    searches: int


def folder(asked: bool | str) -> pathlib.Path | None:
    """The folder of plans: from the setting, the environment, or the user's cache; ``None`` if
    plans are not kept."""
    told = os.environ.get(VARIABLE, "")
    if asked is False or (asked is True and told == "0"):
        return None
    if isinstance(asked, str):
        return pathlib.Path(asked)
    if told:
        return pathlib.Path(told)
    home = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(home, "remat-bb", "plans")


def machine(device: torch.device | None) -> str:
    """Name of the hardware that costs depend on, and settings that choose its kernels."""
    if device is not None:
        return ", ".join([torch.cuda.get_device_name(device), *kernel_settings()])
    return f"{torch.backends.cpu.get_cpu_capability()}, {torch.get_num_threads()} threads"


def key(instance: _native.Instance, measured: bool, *words: Any) -> str:
    """Name of an entry: a digest of the graph and all other inputs of a plan.

    Args:
        measured: True if costs are measured. They differ between processes, so the entry stores
            them with the plan and the name leaves them out.
        words: Other inputs of the plan.
    """
    document = instance.to_dict()
    if measured:
        for node in document["nodes"]:
            for name in ("cost", "recompute_cost"):
                node.pop(name, None)
    versions = (_native.__version__, torch.__version__)
    text = json.dumps([versions, measured, words, document], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def load(place: pathlib.Path, instance: _native.Instance) -> Entry | None:
    """Reads an entry; ``None`` if it is missing or does not fit the instance."""
    try:
        found = json.loads(place.read_text())
        plan = _native.Plan.load(instance, found["plan"])
        is_near = _is_near(found["costs"], _costs(instance))
        entry = Entry(plan, bool(found["proven"]) and is_near, int(found["searches"]))
        os.utime(place)
        return entry
    except (OSError, ValueError, KeyError, TypeError, RematError):
        return None


def store(place: pathlib.Path, plan: _native.Plan, searches: int) -> None:
    """Stores a plan; does not fail if the folder is not writable."""
    found = {
        "plan": plan.to_dict(),
        "costs": _costs(plan.instance),
        "proven": plan.status == "optimal",
        "searches": searches,
    }
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=place.parent, delete=False) as file:
            json.dump(found, file)
        os.replace(file.name, place)
        _evict(place.parent)
    except OSError:
        pass


def _evict(folder: pathlib.Path) -> None:
    """Removes the least recently used entries beyond the limits of a folder."""
    entries = []
    for place in folder.glob("*.json"):
        try:
            found = place.stat()
        except OSError:
            # Another process has removed the entry.
            continue
        entries.append((found.st_mtime_ns, place.name, found.st_size))
    left = 0
    for count, (_, name, size) in enumerate(sorted(entries, reverse=True), 1):
        left += size
        if count > ENTRIES or left > FOLDER_BYTES:
            (folder / name).unlink(missing_ok=True)


def _costs(instance: _native.Instance) -> list[int]:
    return [int(node.get("cost", 0)) for node in instance.to_dict()["nodes"]]


def _is_near(before: list[int], now: list[int]) -> bool:
    """Returns true if two measurements of a graph's costs are equal up to a common factor and
    noise."""
    if len(before) != len(now):
        return False
    sums = max(1, sum(before)), max(1, sum(now))
    apart = sum(abs(a / sums[0] - b / sums[1]) for a, b in zip(before, now))
    return apart <= COST_SHARE
