"""Pipelines of ``torch.distributed.pipelining``: stages with plans."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import distributed, nn

from ... import _native
from ..._amounts import share_or_amount
from ...errors import InfeasibleBudget, InvalidArgument, RematError
from ..cost import Costs
from ..planner import Settings
from ..ranks import broadcast, exchanged
from ..stage_schedule import StageBytes, StageSchedule
from .intervals import Intervals
from .path import Objective, Path, shortest
from .pieces import Pieces, signature
from .search import search
from .stage import Loss, Stage


@dataclass(frozen=True)
class StageReport:
    """The plan of a stage.

    Attributes:
        begin, end: Names of its first piece and of the piece after its last one.
        nanoseconds: Time of one micro-batch: forward pass, backward pass and recomputation.
        base_nanoseconds: The same without recomputation.
        recomputed: Number of operators that run again.
        sizes: Its memory.
        budget_bytes: Its budget.
        in_flight: Micro-batches in flight.
    """

    begin: str
    end: str
    nanoseconds: int
    base_nanoseconds: int
    recomputed: int
    sizes: StageBytes
    budget_bytes: int
    in_flight: int


class Pipeline:
    """The stages of a model, made by :func:`pipeline`.

    Attributes:
        stages: The stages as modules, in order. Stages ``rank``, ``rank + devices``, ... belong to
            a device.
        cuts: Names of the submodules at which the later stages begin.
        objective: Predicted time of one step in nanoseconds: the sum of the stages' times, and the
            longest of them for each further micro-batch.
        bound: A lower bound of the objective of every cut at the positions, with every plan.
        gap: Their difference as a share of the objective.
        predicted_bytes: Peak of each device.
        budget_bytes: Budget of each device.
        reports: The plan of each stage.
        tied: Names of parameters that several stages have. Their gradients are to be summed up by
            the training loop.
    """

    def __init__(
        self,
        table: Intervals,
        answer: dict[str, Any],
        budgets: list[int],
        shared: list[tuple[str, ...]],
    ) -> None:
        self.cuts: list[str] = [table.pieces.names[cut] for cut in answer["cuts"][1:-1]]
        self.objective: float = answer["objective"]
        self.bound: float = answer["bound"]
        self.gap = max(0.0, 1.0 - self.bound / self.objective)
        self.budget_bytes = budgets
        self.stages: list[Stage] = []
        self.reports: list[StageReport] = []
        self._places, self._table = table.places, table
        self._path = Path(tuple(answer["cuts"]), self.objective)
        names = [*table.pieces.names, "the end"]
        for (stage, begin, end), plan in zip(self._path.intervals(), answer["plans"], strict=True):
            self.stages.append(
                Stage(
                    table.graph(begin, end),
                    table.loss_of(end),
                    table.of_stage(stage, plan["budget"]),
                    plan["plan"],
                )
            )
            self.reports.append(
                StageReport(
                    names[begin] or "the start",
                    names[end],
                    plan["time"],
                    plan["base"],
                    plan["recomputed"],
                    StageBytes(**plan["sizes"]),
                    plan["budget"],
                    table.places[stage].in_flight,
                )
            )
        devices = self._places[0].devices
        self.predicted_bytes = [
            self._places[rank].peak_bytes(
                {s: self.reports[s].sizes for s in range(rank, len(self.stages), devices)}
            )
            for rank in range(devices)
        ]
        owners = [{name for name, _ in stage.named_parameters()} for stage in self.stages]
        self.tied = [each for each in shared if sum(not own.isdisjoint(each) for own in owners) > 1]

    def report(self) -> str:
        """Cut, times and memory as text."""
        size = _native.format_bytes
        lines = [
            f"{len(self.stages)} stages, {self._places[0].microbatches} micro-batches, "
            f"{self._places[0].schedule}: {self.objective / 1e6:.3f} ms a step, at most "
            f"{self.gap:.2%} above the best cut"
        ]
        for number, each in enumerate(self.reports):
            extra = each.nanoseconds / each.base_nanoseconds - 1 if each.base_nanoseconds else 0
            lines.append(
                f"stage {number}, {each.begin} to {each.end}: {each.nanoseconds / 1e6:.3f} ms, "
                f"{each.recomputed} operators computed again ({extra:.2%} more time), "
                f"{each.in_flight} in flight"
            )
        for rank, (found, budget) in enumerate(
            zip(self.predicted_bytes, self.budget_bytes, strict=True)
        ):
            lines.append(f"device {rank}: {size(found)} of {size(budget)}")
        for names in self.tied:
            lines.append(f"tied across stages: {', '.join(names)}")
        return "\n".join(lines)

    __str__ = report

    def example_inputs(self, stage: int) -> tuple[torch.Tensor, ...]:
        """Tensors like the inputs of a stage in one micro-batch; the last stage's end with the
        target."""
        _, begin, end = self._path.intervals()[stage]
        return self._table.inputs(begin, end)

    def schedule(
        self, rank: int | None = None, device: Any = None, group: Any = None, **options: Any
    ) -> Any:
        """torch's schedule object for a device. ``step`` takes the batch on the first device, and
        ``target`` and ``losses`` on the last one.

        Args:
            rank: Number of the device; by default the rank of the process in ``group``.
            device: The device of its tensors; by default the device of the parameters.
            group: The process group of the pipeline.
            options: Options of the class, such as ``scale_grads``.
        """
        from torch.distributed import pipelining

        rank = distributed.get_rank(group) if rank is None else rank
        place, count = self._places[rank], len(self.stages)
        mine = list(range(rank, count, place.devices))
        own: list[Any] = []
        for stage, begin, end in self._path.intervals():
            if stage in mine:
                used = device or _device_of(self.stages[stage])
                own.append(
                    pipelining.PipelineStage(
                        self.stages[stage],
                        stage,
                        count,
                        used,
                        input_args=tuple(self._table.received(begin, end)),
                        output_args=tuple(self._table.outputs(begin, end)),
                        group=group,
                    )
                )
        classes = {"1f1b": pipelining.Schedule1F1B, "gpipe": pipelining.ScheduleGPipe}
        made = classes.get(place.schedule, pipelining.ScheduleInterleaved1F1B)
        stages: Any = own[0] if place.chunks == 1 else own
        found: Any = made(stages, place.microbatches, loss_fn=_own_loss, **options)
        step = found.step

        @functools.wraps(step)
        def with_labels(*inputs: Any, target: Any = None, **given: Any) -> Any:
            labels = {} if target is None else {"target": target, "labels": target}
            return step(*inputs, **labels, **{"return_outputs": False, **given})

        found.step = with_labels
        return found


def pipeline(
    module: nn.Module,
    example: torch.Tensor | Sequence[torch.Tensor],
    *,
    target: torch.Tensor,
    loss: Loss,
    stages: int,
    microbatches: int,
    budget: int | str | Sequence[int | str],
    schedule: str = "1f1b",
    split: Sequence[str] | None = None,
    costs: str | Costs = "measured",
    time_limit: float | str | None = "auto",
    extra_bytes: int = 0,
    optimizer: Any = None,
    threads: int | None = None,
    plan_cache: bool | str = True,
    cuts: Sequence[str] | None = None,
) -> Pipeline:
    """Cuts a model into stages for ``torch.distributed.pipelining`` and plans each of them.

    The cut has the least predicted time of a step among all positions of ``split``, with plans that
    keep the budget of each device: parameters, gradients, states of the optimizer, micro-batches in
    flight, and buffers of the schedule. In a process group the first process plans, and all use its
    answer.

    Args:
        module: The model. ``torch.export`` traces it, in its present mode.
        example: Inputs of one micro-batch.
        target: Target of one micro-batch.
        loss: The loss of the model's output and the target, a mean over the micro-batch. It is part
            of the last stage.
        stages: Number of stages.
        microbatches: Micro-batches of one step.
        budget: Memory of each device: one amount for all, or one for each. A share such as
            ``"70%"`` refers to the largest device without recomputation, with the cut of least
            time without a budget.
        schedule: ``"1f1b"``, ``"gpipe"``, or ``"interleaved:V"`` with ``V`` stages on each device,
            which share the budget of the device by their micro-batches in flight.
        split: Names of the submodules before which the model may be cut. ``None``: children of
            ``nn.Sequential`` and ``nn.ModuleList``.
        costs, time_limit, threads, plan_cache, optimizer: as for :func:`remat_bb.torch.compile`;
            the time is for each interval.
        extra_bytes: Other memory of each device.
        cuts: Names at which the later stages begin, to plan a given cut.

    Raises:
        InfeasibleBudget: no cut fits.
        InvalidArgument: for settings that exclude one another, unknown names, or fewer pieces than
            stages.
        RematError: ``torch.export`` refuses the model.
    """
    example = (example,) if isinstance(example, torch.Tensor) else tuple(example)
    places = [StageSchedule(schedule, s, stages, microbatches, "losses") for s in range(stages)]
    settings = Settings(
        1,
        costs,
        time_limit,
        extra_bytes,
        threads,
        plan_cache=plan_cache,
        optimizer=optimizer,
    )
    pieces = Pieces(module, example, split)
    if len(pieces) < stages:
        raise InvalidArgument(
            f"stages: the model has {len(pieces)} pieces, fewer than {stages} stages",
            remedy="give fewer stages, or names of more submodules in split",
        )
    table = Intervals(pieces, example, target, loss, places, settings)
    answer = _agreed(table, lambda: _planned(table, budget, cuts))
    return Pipeline(table, answer, answer["budgets"], pieces.tied())


def _planned(
    table: Intervals, budget: int | str | Sequence[int | str], cuts: Sequence[str] | None
) -> dict[str, Any]:
    """Cut and plans as a document."""
    places = table.places
    first = places[0]
    objective = Objective(first.microbatches, first.chunks)
    only = None if cuts is None else _named(table.pieces, cuts, len(places))
    if only is not None:
        table.restrict(only)
    devices = _budgets(table, budget, objective)
    for stage, place in enumerate(places):
        mine = range(place.device, len(places), place.devices)
        weight = sum(places[each].in_flight for each in mine)
        table.budgets[stage] = devices[place.device] * place.in_flight // weight
    found = search(table, objective)
    if found.path is None:
        raise _nothing_fits(table, objective, found.bound is None)
    plans = []
    for stage, begin, end in found.path.intervals():
        solved = table.known[stage, begin, end]
        plans.append(
            {
                "plan": solved.plan,
                "time": solved.time,
                "base": solved.base,
                "recomputed": solved.recomputed,
                "sizes": vars(solved.sizes),
                "budget": table.budgets[stage],
            }
        )
    return {
        "cuts": list(found.path.cuts),
        "objective": found.path.value,
        "bound": found.bound,
        "plans": plans,
        "budgets": devices,
    }


def _named(pieces: Pieces, cuts: Sequence[str], stages: int) -> tuple[int, ...]:
    """Positions of a given cut."""
    if len(cuts) != stages - 1:
        raise InvalidArgument(
            f"cuts: {len(cuts)} names for {stages} stages", remedy=f"give {stages - 1} names"
        )
    for name in cuts:
        if name not in pieces.names[1:]:
            raise InvalidArgument(
                f"cuts: the model cannot be cut at {name!r}",
                remedy=f"one of {', '.join(pieces.names[1:])}",
            )
    found = (0, *(pieces.names.index(name) for name in cuts), len(pieces))
    if list(found) != sorted(set(found)):
        raise InvalidArgument(
            f"cuts: {', '.join(cuts)} are not in the order of the model",
            remedy="give different names in order",
        )
    return found


def _budgets(
    table: Intervals, budget: int | str | Sequence[int | str], objective: Objective
) -> list[int]:
    """Budgets of all devices in bytes."""
    count = table.places[0].devices
    given = [budget] * count if isinstance(budget, (int, str)) else list(budget)
    if len(given) != count:
        raise InvalidArgument(
            f"budget: {len(given)} amounts for {count} devices",
            remedy="give one amount, or one for each device",
        )
    most = 0
    if any(isinstance(each, str) and each.strip().endswith("%") for each in given):
        free = shortest(len(table.places), len(table.pieces), table.lower, objective)
        assert free is not None
        peaks = [0] * count
        for stage, begin, end in free.intervals():
            peaks[table.places[stage].device] += table.plain_peak(stage, begin, end)
        most = max(peaks)
    return [share_or_amount(each, most) for each in given]


def _nothing_fits(table: Intervals, objective: Objective, proven: bool) -> InfeasibleBudget:
    """The error for budgets that no cut keeps, with the least memory found for each stage."""
    size = _native.format_bytes
    places, total = table.places, len(table.pieces)
    free = shortest(len(places), total, lambda _, begin, end: table.base(begin, end), objective)
    assert free is not None
    words, least = [], 0
    for stage, begin, end in free.intervals():
        tried = [known for (s, _, _), known in table.known.items() if s == stage]
        tried = tried or [table.solve(stage, begin, end)]
        needs = [known.needed for known in tried if known.needed is not None]
        if any(known.plan for known in tried):
            words.append(f"stage {stage} fits")
        elif needs:
            words.append(f"stage {stage} needs {size(min(needs))}")
            least = max(least, min(needs))
        else:
            words.append(f"stage {stage} has no plan")
    start, verb = ("no cut", "keeps") if proven else ("no plan was found for a cut", "within")
    return InfeasibleBudget(
        f"{start} of {total} pieces into {len(places)} stages {verb} the budget of "
        f"{size(max(table.budgets))} for each stage: {', '.join(words)} in the least of the "
        f"{len(table.known)} intervals tried",
        remedy="give more memory, more stages, or smaller micro-batches",
        budget_bytes=max(table.budgets),
        needed_bytes=least or None,
    )


def _agreed(table: Intervals, plan: Any) -> dict[str, Any]:
    """The first process's answer in a process group, else this one's.

    Raises:
        RematError: on all ranks, if the first has an error or one traces another model.
    """
    if not (distributed.is_available() and distributed.is_initialized()):
        return plan()  # type: ignore[no-any-return]
    whole = table.graph(0, len(table.pieces))
    texts = exchanged(signature(whole.graph, whole))
    for rank, text in enumerate(texts):
        if text != texts[0]:
            raise RematError(
                f"rank {rank} traces another model than rank 0",
                remedy="give the same model and example on all ranks",
            )
    found: Any = None
    if distributed.get_rank() == 0:
        try:
            found = plan()
        except Exception as error:
            # The other ranks wait for an answer.
            found = error if isinstance(error, RematError) else RematError(str(error))
    found = broadcast(found)
    if isinstance(found, RematError):
        raise found
    return found  # type: ignore[no-any-return]


def _own_loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The loss that the last stage has returned."""
    return output


def _device_of(module: nn.Module) -> torch.device:
    return next((p.device for p in module.parameters()), torch.device("cpu"))
