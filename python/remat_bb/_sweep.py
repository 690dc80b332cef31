"""Grids of solves on any engine: packs of jobs out, results back, lost packs again."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Union

from . import _native
from ._executors import Engine, Pool
from ._merged import Merged, merge
from ._native import Instance
from .errors import InvalidArgument, JobsLost

GridSource = Union[str, os.PathLike[str], Mapping[str, Any]]

# Packs that wait or run at the same time, for each worker if their number is known.
_AHEAD = 3
_AHEAD_UNKNOWN = 64
# Seconds between two looks at the packs: they grow while no pack ends.
_TICKS = (0.002, 0.05)


def sweep(
    grid: GridSource,
    *,
    executor: Engine | None = None,
    pack: int = 20,
    folder: str | os.PathLike[str] | None = None,
    tries: int = 3,
    ahead: int | None = None,
    progress: bool = False,
) -> Merged:
    """Solves every combination of a grid on any engine, and merges the results.

    Each job's result is a file in ``folder``, named by a hash of its content. A lost worker costs
    its unfinished jobs alone, and a further call with the same folder goes on. Results do not
    depend on the engine, on its failures, or on results that were there before.

    Args:
        grid: A grid file, or a dictionary of the same shape, whose ``"models"`` may be
            :class:`Instance` objects too. ``docs/guides/a-thousand-solves.md`` describes it.
        executor: Any object with ``submit(function, *args)`` whose result has ``done()`` and
            ``result()``: executors of ``concurrent.futures``, loky, executorlib or submitit, a
            ``dask.distributed.Client``, :func:`ray_executor`. A function that makes such an object
            is called again when the engine breaks. By default threads of this process.
        pack: Least number of jobs that travel together.
        folder: Folder of the results. Workers that have it write into it, and all send their
            results back as well. By default a temporary one, which ends with the result.
        tries: Attempts at a pack without any new result before it is given up.
        ahead: Largest number of packs in flight. By default three for each worker, or 64 if the
            engine does not say how many it has.
        progress: True for a bar (``tqdm``, if installed).

    Returns:
        The merged table. Jobs whose solve fails have the status ``"error"``.

    Raises:
        JobsLost: jobs whose worker died or failed each time; all others have their results.
        InvalidArgument: the grid is wrong; the message names file and key.
        KeyboardInterrupt: the results so far are in the folder.
    """
    native = _native_grid(grid)
    _check(pack=pack, tries=tries, **({} if ahead is None else {"ahead": ahead}))
    temporary = None
    if folder is None:
        temporary = tempfile.TemporaryDirectory(prefix="remat-bb-")
        folder = temporary.name
    place = Path(folder).absolute()
    native.save(place)
    driver = _Driver(native, place, tries)
    pool = Pool(executor)
    with _Bar(len(native), progress) as bar:
        try:
            driver.run(pool, pack, ahead, bar.show)
            merged = merge(place, partial=bool(driver.lost))
            if merged.refuted:
                driver.forget(set(merged.refuted))
                driver.run(pool, pack, ahead, bar.show)
                merged = merge(place, partial=bool(driver.lost))
        finally:
            pool.close()
    if driver.lost:
        raise driver.error()
    # The temporary folder lives as long as its table.
    merged._keep = temporary
    return merged


def work(payload: bytes, folder: str | None) -> list[tuple[str, str]]:
    """A worker's part of a sweep: the keys and texts of the results of a pack."""
    return _native.grid_work(payload, folder)


def _check(**numbers: int) -> None:
    for name, number in numbers.items():
        if not isinstance(number, int) or isinstance(number, bool) or number < 1:
            raise InvalidArgument(f"{name}: {number!r} is no number above 0", place=name)


def _native_grid(grid: GridSource) -> _native.Grid:
    if not isinstance(grid, Mapping):
        return _native.Grid.read(Path(grid))
    document = {key: value for key, value in grid.items() if value is not None}
    instances: dict[str, Instance] = {}
    models = document.get("models", [])
    if isinstance(models, (str, Instance, os.PathLike)):
        models = [models]
    if isinstance(models, Iterable):
        document["models"] = [_model(model, instances) for model in models]
    try:
        text = json.dumps(document)
    except (TypeError, ValueError) as error:
        raise InvalidArgument(f"grid: {error}", place="grid") from error
    return _native.Grid.of(text, instances)


def _model(model: Any, instances: dict[str, Instance]) -> Any:
    if isinstance(model, os.PathLike):
        return os.fspath(model)
    if not isinstance(model, Instance):
        return model
    name = base = model.name.removeprefix("zoo:") or "instance"
    number = 1
    while name in instances:
        number += 1
        name = f"{base} ({number})"
    instances[name] = model
    return name


@dataclass
class _Pack:
    """Chains that travel together, and the attempts at them without a new result."""

    chains: list[int]
    tries: int = 0
    left: int = 0


class _Driver:
    """Keeps a bounded number of packs in flight until every job has its result."""

    def __init__(self, grid: _native.Grid, folder: Path, tries: int) -> None:
        self.grid = grid
        self.folder = folder
        self.tries = tries
        chains = grid.keys()
        self.keys = [[key for _, key in jobs] for jobs in chains]
        self.jobs = [[job for job, _ in jobs] for jobs in chains]
        self._last: BaseException = JobsLost()
        self.done: set[str] = set()
        self.lost: list[tuple[_Pack, BaseException]] = []

    def forget(self, keys: set[str]) -> None:
        """Takes results back that are wrong."""
        for key in keys:
            (self.folder / "results" / f"{key}.json").unlink(missing_ok=True)
        self.done -= keys

    def run(self, pool: Pool, pack: int, ahead: int | None, show: Callable[[int], None]) -> None:
        """Works on all chains that are not complete."""
        self._look(key for keys in self.keys for key in keys)
        show(len(self.done))
        packs = self.grid.packs(self._open(range(len(self.keys))), pack)
        queue = deque(_Pack(chains) for chains in packs)
        limit = ahead or (pool.workers or 0) * _AHEAD or _AHEAD_UNKNOWN
        suspects = self._fly(pool, queue, limit, show)
        # A pack that was lost with others may be innocent: alone it shows.
        for suspect in suspects:
            suspect.tries = 0
            for lost in self._fly(pool, deque([suspect]), 1, show):
                self.lost.append((lost, self._last))

    def error(self) -> JobsLost:
        """The error that names the jobs without a result."""
        jobs = [
            job
            for pack, _ in self.lost
            for chain in pack.chains
            for job, key in zip(self.jobs[chain], self.keys[chain])
            if key not in self.done
        ]
        words = "; ".join(self.grid.words(job) for job in jobs[:3])
        more = f" and {len(jobs) - 3} more" if len(jobs) > 3 else ""
        cause = self.lost[0][1]
        error = JobsLost(
            f"{len(jobs)} jobs have no result after {self.tries} attempts each: {words}{more};"
            f" the last failure was {type(cause).__name__}: {cause}",
            remedy="call again with the same folder, more memory or fewer workers",
            jobs=jobs,
        )
        error.__cause__ = cause
        return error

    def _fly(
        self, pool: Pool, queue: deque[_Pack], limit: int, show: Callable[[int], None]
    ) -> list[_Pack]:
        """Runs packs; returns those that were given up."""
        flying: list[tuple[Any, _Pack]] = []
        given_up: list[_Pack] = []
        tick = _TICKS[0]
        try:
            while queue or flying:
                while queue and len(flying) < limit:
                    pack = queue.popleft()
                    try:
                        flying.append((self._submit(pool, pack), pack))
                    except Exception as error:
                        self._failed(pack, error, queue, given_up)
                        break
                ended = [pair for pair in flying if pair[0].done()]
                flying = [pair for pair in flying if pair not in ended]
                for call, pack in ended:
                    try:
                        self._take(call.result())
                    except Exception as error:
                        self._failed(pack, error, queue, given_up)
                if ended:
                    show(len(self.done))
                tick = _TICKS[0] if ended else min(tick * 1.5, _TICKS[1])
                if not ended:
                    time.sleep(tick)
        except BaseException:
            for call, _ in flying:
                getattr(call, "cancel", lambda: None)()
            raise
        return given_up

    def _submit(self, pool: Pool, pack: _Pack) -> Any:
        pack.left = self._count(pack)
        payload = self.grid.payload(self._open(pack.chains))
        return pool.submit(work, payload, str(self.folder))

    def _take(self, results: list[tuple[str, str]]) -> None:
        for key, text in results:
            if not _native.grid_has(self.folder, key):
                _native.grid_put(self.folder, key, text)
            self.done.add(key)

    def _failed(
        self, pack: _Pack, error: Exception, queue: deque[_Pack], given_up: list[_Pack]
    ) -> None:
        """Queues a failed pack again; results that it left in the folder count as progress."""
        if isinstance(error, InvalidArgument):
            # The same input fails again anywhere.
            raise error
        self._last = error
        self._look(key for chain in pack.chains for key in self.keys[chain])
        pack.chains = self._open(pack.chains)
        if not pack.chains:
            return
        pack.tries = 0 if self._count(pack) < pack.left else pack.tries + 1
        (given_up if pack.tries >= self.tries else queue).append(pack)

    def _open(self, chains: Iterable[int]) -> list[int]:
        return [chain for chain in chains if any(key not in self.done for key in self.keys[chain])]

    def _count(self, pack: _Pack) -> int:
        return sum(key not in self.done for chain in pack.chains for key in self.keys[chain])

    def _look(self, keys: Iterable[str]) -> None:
        """Takes note of complete results in the folder."""
        there = {entry.name for entry in os.scandir(self.folder / "results")}
        new = (key for key in keys if key not in self.done and f"{key}.json" in there)
        self.done.update(key for key in new if _native.grid_has(self.folder, key))


class _Bar:
    """A ``tqdm`` bar that counts jobs, if one is wanted and installed."""

    def __init__(self, total: int, wanted: bool) -> None:
        self._bar: Any = None
        if wanted:
            try:
                self._bar = import_module("tqdm.auto").tqdm(total=total, unit="job")
            except ImportError:
                pass

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def show(self, done: int) -> None:
        """Shows the number of jobs with a result."""
        if self._bar is not None:
            self._bar.update(done - self._bar.n)
