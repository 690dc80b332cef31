"""The merged results of a grid."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from . import _native
from ._native import Plan
from .errors import InvalidArgument, LimitReached

COLUMNS = (
    "instance",
    "budget_bytes",
    "budget_percent",
    "status",
    "objective",
    "overhead_percent",
    "peak_memory_bytes",
    "bound",
    "bound_scope",
    "gap",
    "plain_peak_bytes",
    "base_cost",
    "cost_unit",
    "plan",
    "result",
)
"""Columns of the table after the job's number and the axes."""


class Merged:
    """The results of a grid as one table, with monotone frontiers.

    A plan serves each easier job of its model, and a bound holds for each harder one. The table
    does not depend on the machines or the order in which jobs were solved.

    Attributes:
        folder: The folder of the results.
        columns: Names of the axes.
        rows: A dictionary for each job, in the order of jobs: ``job``, ``values`` on the axes,
            ``instance``, ``budget_bytes``, ``status``, ``objective``, ``peak_memory_bytes``,
            ``bound``, ``gap`` and more; ``docs/reference/json/merge.md`` describes all.
        missing: Number of jobs without a result.
        refuted: Keys of result files that are incomplete or wrong, which were left out.
    """

    def __init__(self, folder: Path, table: _native.GridTable) -> None:
        document = json.loads(table.json())
        self.folder = folder
        self.columns: list[str] = document["columns"]
        self.rows: list[dict[str, Any]] = document["rows"]
        self.missing: int = document["missing"]
        self.refuted: list[str] = document["refuted"]
        self._table = table
        # The temporary folder of the results, which ends with this object.
        self._keep: object = None

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def __getitem__(self, job: int) -> dict[str, Any]:
        return self.rows[job]

    def __repr__(self) -> str:
        statuses = [row["status"] for row in self.rows]
        counts = ", ".join(f"{statuses.count(s)} {s}" for s in sorted(set(statuses)))
        return f"Merged({str(self.folder)!r}, {len(self.rows)} jobs: {counts})"

    def plan(self, job: int) -> Plan:
        """The plan of a job, replayed on the instance of its axes.

        Raises:
            LimitReached: the job has no plan.
            InvalidArgument: the job is a pipeline; its result file has the plan.
        """
        row = self.rows[job]
        if row["plan"] is None:
            raise LimitReached(f"job {job} has no plan: its status is {row['status']!r}")
        if "stages" in self.columns:
            file = self.folder / "results" / f"{row['plan']}.json"
            raise InvalidArgument(f"job {job} is a pipeline; the key 'plan' of {file} has it")
        instance, text = _native.grid_plan(self.folder, job, row["plan"])
        return Plan.load(instance, json.loads(text or "null"))

    def records(self) -> list[dict[str, Any]]:
        """The table as flat dictionaries, for ``pandas.DataFrame``."""
        return [
            {"job": row["job"], **row["values"], **{name: row[name] for name in COLUMNS}}
            for row in self.rows
        ]

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """The table as CSV. It has no times: any way to the same results gives the same bytes."""
        return _written(path, self._table.csv())

    def times(self, path: str | os.PathLike[str] | None = None) -> str:
        """Seconds of each solve as CSV."""
        return _written(path, self._table.times())

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Writes the table as Parquet.

        Raises:
            ImportError: ``pyarrow`` is not installed.
        """
        pyarrow = import_module("pyarrow")
        parquet = import_module("pyarrow.parquet")
        table = pyarrow.Table.from_pylist(self.records(), schema=self._schema(pyarrow))
        parquet.write_table(table, path)

    def pictures(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Draws the frontiers of each model as SVG into a folder; the files."""
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        files = []
        for name, text in self._table.pictures():
            file = place / f"{name}.svg"
            file.write_text(text)
            files.append(file)
        return files

    def _schema(self, pyarrow: Any) -> Any:
        whole = {
            "budget_bytes",
            "objective",
            "peak_memory_bytes",
            "bound",
            "plain_peak_bytes",
            "base_cost",
        }
        real = {"budget_percent", "overhead_percent", "gap"}
        types = [("job", pyarrow.int64())]
        types += [(name, pyarrow.string()) for name in self.columns]
        for name in COLUMNS:
            kind = pyarrow.float64() if name in real else pyarrow.string()
            types.append((name, pyarrow.int64() if name in whole else kind))
        return pyarrow.schema(types)


def _written(path: str | os.PathLike[str] | None, text: str) -> str:
    if path is not None:
        Path(path).write_text(text)
    return text


def merge(folder: str | os.PathLike[str], *, partial: bool = False) -> Merged:
    """Merges the results of a folder of :func:`sweep` or ``remat-bb sweep GRID.toml --resume``.

    Every plan is replayed.

    Args:
        partial: True to merge although jobs have no result; their status is ``"missing"``.

    Raises:
        InvalidArgument: it is no folder of results, or jobs have no result.
    """
    place = Path(folder)
    merged = Merged(place, _native.grid_merge(place))
    if merged.missing and not partial:
        first = next(row for row in merged.rows if row["status"] == "missing")
        raise InvalidArgument(
            f"{place}: {merged.missing} of {len(merged)} jobs have no result, the first is job"
            f" {first['job']} ({first['values']})",
            place="folder",
            remedy="sweep the grid again with this folder, or give partial=True",
        )
    return merged
