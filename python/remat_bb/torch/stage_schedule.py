"""Memory that a schedule of ``torch.distributed.pipelining`` holds beside its stages.

A schedule makes buffers before its first pass and keeps them: for each micro-batch one for every
tensor that a stage receives, and one for the gradient of every tensor that it sends. Its lists of
sends keep further tensors. :meth:`StageSchedule.passes` replays these references in the order of
torch's own schedules (``torch/distributed/pipelining/schedules.py`` of torch 2.11). Later versions
release sent tensors earlier, so the replay is an upper bound there.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from ..errors import InvalidArgument
from . import _compat_ranks

KEEPS = ("outputs", "losses", "latest")
"""Outputs of the last stage that a schedule keeps."""
Action = tuple[int, bool, int]
"""The stage of a pass, true if it is a backward pass, and the number of its micro-batch."""


@dataclass(frozen=True)
class StageBytes:
    """Memory of one stage for one micro-batch, in bytes.

    Attributes:
        fixed: Parameters, buffers, states of the optimizer and other memory, without gradients.
        inputs: Tensors that differ between micro-batches: received ones, targets.
        input_gradients: Gradients of these.
        outputs: Outputs of the stage.
        tangents: Gradients of the outputs.
        gradients: Gradients of the parameters.
        waiting: Outputs and saved tensors between the two passes.
        forward: Peak of the forward graph.
        first_backward: Peak of the backward graph, with outputs, saved tensors and tangents, if no
            parameter has a gradient yet.
        backward: The same if all parameters have gradients, which do not count.
    """

    fixed: int = 0
    inputs: int = 0
    input_gradients: int = 0
    outputs: int = 0
    tangents: int = 0
    gradients: int = 0
    waiting: int = 0
    forward: int = 0
    first_backward: int = 0
    backward: int = 0


@dataclass(frozen=True)
class Held:
    """Memory of one stage that is held while a pass of its device runs, in multiples of the sizes
    of :class:`StageBytes`.

    Attributes:
        waiting: Micro-batches between their two passes, without the one whose pass runs.
        input_gradients: Sent gradients that the schedule still refers to.
        outputs: Outputs that the schedule still refers to after their backward pass.
        has_gradients: True if an earlier backward pass has made gradients.
    """

    waiting: int
    input_gradients: int
    outputs: int
    has_gradients: bool


@dataclass(frozen=True)
class Pass:
    """A pass of one stage, or the end of a step.

    Attributes:
        stage: The stage; ``None`` at the end of a step.
        is_backward: True for a backward pass.
        held: Memory held by the stages of the device.
        merged: Outputs of all micro-batches that are copied into one tensor.
    """

    stage: int | None
    is_backward: bool
    held: dict[int, Held]
    merged: int = 0


@dataclass(frozen=True)
class StageSchedule:
    """The place of a stage in a schedule.

    Args:
        schedule: ``"1f1b"`` (``Schedule1F1B``), ``"gpipe"`` (``ScheduleGPipe``), or
            ``"interleaved:V"`` with ``V`` stages on each device (``ScheduleInterleaved1F1B``).
        stage: Number of the stage, from 0 on.
        stages: Number of all stages.
        microbatches: Micro-batches of one step.
        keeps: Outputs of the last stage that stay until the end of a step: ``"outputs"`` (all, and
            a copy of all as one tensor, as ``step`` does), ``"losses"`` (all, if the stage returns
            its loss), or ``"latest"`` (``return_outputs=False``). A loss outside of the stage and
            its targets do not count.
        keeps_gradients: True if parameters have gradients before the first pass, as after
            ``zero_grad(set_to_none=False)``.

    Raises:
        InvalidArgument: for an unknown schedule, and for numbers that it does not take.
    """

    schedule: str
    stage: int
    stages: int
    microbatches: int
    keeps: str = "outputs"
    keeps_gradients: bool = False

    def __post_init__(self) -> None:
        chunks = chunks_of(self.schedule)
        if self.keeps not in KEEPS:
            raise InvalidArgument(
                f"keeps: {self.keeps!r} are no outputs", remedy=f"one of {', '.join(KEEPS)}"
            )
        for name in ("stages", "microbatches"):
            if not isinstance(getattr(self, name), int) or getattr(self, name) < 1:
                raise InvalidArgument(
                    f"{name}: {getattr(self, name)!r} is no number of {name}",
                    remedy="give a whole number from 1 on",
                )
        if not isinstance(self.stage, int) or not 0 <= self.stage < self.stages:
            raise InvalidArgument(
                f"stage: {self.stage!r} is no stage of {self.stages}",
                remedy=f"give a number from 0 to {self.stages - 1}",
            )
        if self.stages % chunks:
            raise InvalidArgument(
                f"stages: {self.stages} stages do not divide into {chunks} for each device",
                remedy=f"give a multiple of {chunks}",
            )
        if self.schedule != "gpipe" and self.microbatches < self.stages // chunks:
            raise InvalidArgument(
                f"microbatches: {self.schedule} needs {self.stages // chunks} or more, not "
                f"{self.microbatches}",
                remedy="give more micro-batches, or fewer stages",
            )
        if chunks > 1:
            rounds = max(1, self.microbatches // self.devices)
            if self.microbatches % rounds:
                raise InvalidArgument(
                    f"microbatches: {self.schedule} on {self.devices} devices runs {rounds} "
                    f"rounds, which do not divide {self.microbatches} micro-batches",
                    remedy=f"give a multiple of {self.devices}",
                )

    @property
    def chunks(self) -> int:
        """Stages on each device."""
        return chunks_of(self.schedule)

    @property
    def devices(self) -> int:
        """Number of devices."""
        return self.stages // self.chunks

    @property
    def device(self) -> int:
        """The device of the stage: stages are dealt to devices in turn."""
        return self.stage % self.devices

    @property
    def is_last(self) -> bool:
        """True for the last stage."""
        return self.stage == self.stages - 1

    def actions(self) -> list[Action]:
        """Passes of the stage's device in order."""
        n, place = self.microbatches, self.stage
        if self.chunks > 1:
            return _compat_ranks.interleaved_actions(self.device, self.devices, self.chunks, n)
        if self.schedule == "gpipe":
            return [(place, back, k) for back in (False, True) for k in range(n)]
        warm = min(self.stages - place, n)
        found = [(place, False, k) for k in range(warm)]
        for k in range(n):
            found.append((place, True, k))
            if warm + k < n:
                found.append((place, False, warm + k))
        return found

    @property
    def in_flight(self) -> int:
        """Micro-batches of the stage between begin of their forward and end of their backward
        pass, at most."""
        most = count = 0
        for stage, is_backward, _ in self.actions():
            if stage == self.stage:
                count += -1 if is_backward else 1
                most = max(most, count)
        return most

    def passes(self) -> Iterator[Pass]:
        """Passes of the stage's device, with the memory that its stages hold in each."""
        mine = range(self.device, self.stages, self.devices)
        made: Counter[int] = Counter()
        done: Counter[int] = Counter()
        for stage, is_backward, _ in self.actions():
            held = {each: self._held(each, made, done, is_backward) for each in mine}
            if is_backward:
                own = held[stage]
                held[stage] = Held(
                    own.waiting - 1, own.input_gradients, own.outputs, own.has_gradients
                )
            yield Pass(stage, is_backward, held)
            (done if is_backward else made)[stage] += 1
        held = {each: self._held(each, made, done, True) for each in mine}
        last = self.stages - 1 in mine and self.keeps == "outputs"
        yield Pass(None, True, held, self.microbatches if last else 0)

    def _held(self, stage: int, made: Counter[int], done: Counter[int], is_backward: bool) -> Held:
        """Memory that a stage holds after some forward and backward passes.

        1F1B keeps the latest sent gradient until it sends the next one. Its variable of pending
        sends keeps the last output of the warm-up until the cool-down. GPipe and interleaved
        schedules keep all that they send until the step ends.
        """
        finished = done[stage]
        gradients = outputs = 0
        if stage > 0:
            gradients = min(finished, 1) if self.schedule == "1f1b" else finished
        if stage == self.stages - 1:
            if self.keeps != "latest":
                outputs = finished
            elif self.chunks == 1:
                # The schedule's variable for the latest output.
                is_old = made[stage] == finished if self.schedule == "1f1b" else False
                outputs = int(finished > 0 and is_old and not is_backward)
        elif self.schedule != "1f1b":
            outputs = finished
        else:
            warm = min(self.stages - stage, self.microbatches)
            # In the cool-down this variable refers to a sent gradient.
            steady = finished <= self.microbatches - warm
            outputs = int(warm > 1 and finished > warm - 2 and steady)
        return Held(
            made[stage] - finished, gradients, outputs, finished > 0 or self.keeps_gradients
        )

    def holds(self, stage: int, sizes: StageBytes, held: Held) -> int:
        """Bytes that a stage of the device holds while another one runs.

        Args:
            stage: Number of the stage.
            sizes: Its memory.
            held: Multiples of its sizes.
        """
        sent = 0 if stage == self.stages - 1 else sizes.tangents
        return (
            sizes.fixed
            + self.microbatches * (sizes.inputs + sent)
            + held.waiting * sizes.waiting
            + held.input_gradients * sizes.input_gradients
            + held.outputs * sizes.outputs
            + (sizes.gradients if held.has_gradients else 0)
        )

    def peak_bytes(self, sizes: dict[int, StageBytes]) -> int:
        """Peak of the memory of the stage's device over one step, in bytes.

        Args:
            sizes: Memory of some stages of the device. Memory of the others does not count.
        """
        return max(self._running(each, sizes) for each in self.passes())

    def _running(self, each: Pass, sizes: dict[int, StageBytes]) -> int:
        total = sum(self.holds(stage, own, each.held[stage]) for stage, own in sizes.items())
        if each.stage is None:
            return total + each.merged * sizes.get(self.stages - 1, StageBytes()).outputs
        if each.stage not in sizes:
            return total
        own = sizes[each.stage]
        if not each.is_backward:
            return total + own.forward
        # The buffers of the schedule hold the gradients of sent outputs.
        received = 0 if each.stage == self.stages - 1 else own.tangents
        peak = own.backward if each.held[each.stage].has_gradients else own.first_backward
        return total + peak - received

    def constant_bytes(self, sizes: StageBytes) -> int:
        """Memory of the stage that does not depend on its plan, in the backward pass with the most
        micro-batches in flight: the fixed part of a plan with :attr:`in_flight`.

        Args:
            sizes: Memory of the stage; ``waiting`` and the peaks are not read.
        """
        most = self.in_flight - 1
        found = [
            self.holds(self.stage, sizes, each.held[self.stage]) - most * sizes.waiting
            for each in self.passes()
            if each.stage == self.stage
            and each.is_backward
            and each.held[self.stage].waiting == most
        ]
        return max(found) - (0 if self.is_last else sizes.tangents)


def buffer_bytes(
    schedule: str,
    *,
    stage: int,
    stages: int,
    microbatches: int,
    received_bytes: int,
    sent_bytes: int,
    keeps: str = "outputs",
) -> int:
    """Memory that a schedule of ``torch.distributed.pipelining`` holds for one stage beside the
    stage's own: an upper bound in bytes, to be left free by a budget that does not count it.

    Args:
        schedule, stage, stages, microbatches, keeps: as for :class:`StageSchedule`.
        received_bytes: Inputs of the stage in one micro-batch.
        sent_bytes: Outputs of the stage in one micro-batch.
    """
    place = StageSchedule(schedule, stage, stages, microbatches, keeps)
    first, last = stage == 0, place.is_last
    sizes = StageBytes(
        inputs=received_bytes,
        input_gradients=0 if first else received_bytes,
        outputs=sent_bytes,
        tangents=0 if last else sent_bytes,
    )
    own = received_bytes
    held = max(
        place.holds(stage, sizes, each.held[stage]) + each.merged * sent_bytes
        for each in place.passes()
    )
    return held - own


def chunks_of(schedule: str) -> int:
    """Stages on each device under a schedule.

    Raises:
        InvalidArgument: for an unknown schedule.
    """
    if schedule in ("1f1b", "gpipe"):
        return 1
    found = re.fullmatch(r"interleaved:([1-9]\d*)", schedule) if isinstance(schedule, str) else None
    if found is None or int(found[1]) < 2:
        raise InvalidArgument(
            f"schedule: {schedule!r} is no schedule",
            remedy='give "1f1b", "gpipe", or "interleaved:V" with V stages on each device, 2 or '
            "more",
        )
    return int(found[1])
