"""Memory of a stage of a pipeline, from its joint graph and from the graphs of its plan."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

import torch

from . import _compat
from .cost import Costs
from .memory import Peak, side_peaks, sides, waiting_bytes
from .partition import Joint, distinct_bytes, storage_bytes
from .rewrite import Rewritten
from .stage_schedule import StageBytes, StageSchedule


def received(joint: Joint, numbers: Set[int]) -> frozenset[int]:
    """Places among the inputs of a joint graph that differ between micro-batches.

    Args:
        numbers: Numbers of the inputs of Dynamo's graph that are arguments of the call.
    """
    found = ((k, _compat.input_number(node)) for k, node in enumerate(joint.primals))
    return frozenset(place for place, number in found if number in numbers)


def sizes_before(joint: Joint, places: Set[int], other: int, gradients: int) -> StageBytes:
    """Memory of a stage that does not depend on its plan.

    Args:
        places: Inputs of the joint graph that differ between micro-batches.
        other: Memory besides the inputs of the graph.
        gradients: Gradients of the parameters.
    """
    values = (joint.primals[place].meta.get("val") for place in places)
    inputs = distinct_bytes(value for value in values if isinstance(value, torch.Tensor))
    outputs = {joint.base[n] for n in joint.forward_outputs if isinstance(n, _compat.fx.Node)}
    return StageBytes(
        fixed=joint.input_bytes() - inputs + other,
        inputs=inputs,
        input_gradients=sum(
            storage_bytes(node.meta.get("val")) for k, node in joint.gradients() if k in places
        ),
        outputs=sum(storage_bytes(n.meta.get("val")) for n in outputs if n in joint.call_of),
        tangents=sum(storage_bytes(node.meta.get("val")) for node in joint.tangents),
        gradients=gradients,
    )


def buffers_before(joint: Joint, places: Set[int], schedule: StageSchedule) -> int:
    """Buffers that a schedule has made before a stage is compiled, without those of one
    micro-batch's inputs."""
    sizes = sizes_before(joint, places, 0, 0)
    sent = 0 if schedule.is_last else sizes.tangents
    return (schedule.microbatches - 1) * sizes.inputs + schedule.microbatches * sent


def stage_peak(
    schedule: StageSchedule,
    sizes: StageBytes,
    graphs: Rewritten,
    costs: Costs,
    inputs: set[str],
    adds: Set[int],
) -> Peak:
    """Peak of a stage in its schedule with the graphs of a plan, which note the sizes of the stage.
    Other stages of its device do not count.

    Args:
        sizes: Memory that does not depend on the plan.
        inputs: Names of the inputs of the stage.
        adds: Inputs with present gradients, to which the backward graph adds its own.
    """
    forward, first = side_peaks(graphs, costs, inputs)
    later = side_peaks(graphs, costs, inputs, adds)[1]
    graphs.stage = replace(
        sizes,
        outputs=sides(graphs, inputs)[1][2],
        waiting=waiting_bytes(graphs, inputs),
        forward=forward.bytes,
        first_backward=first.bytes,
        backward=later.bytes,
    )
    most = max(forward, first, later, key=lambda each: each.bytes)
    return Peak(schedule.peak_bytes({schedule.stage: graphs.stage}), most.at)
