"""Graphs of a plan as a CUDA graph would capture them, as far as the processor shows it."""

import pytest
import torch
from models import Gpt

from remat_bb.torch import _compat, host
from remat_bb.torch.backend import traced
from remat_bb.torch.planner import Planner, Settings

READS_DEVICE = {
    torch.ops.aten._local_scalar_dense,
    torch.ops.aten.item,
    torch.ops.aten.nonzero,
    torch.ops.aten._unique2,
    torch.ops.aten._assert_async,
}
"""Operators that wait for a value of the device."""


def graphs_of(**options):
    """Both graphs of a plan for a small model."""
    model = Gpt(fused=False, dropout=options.pop("dropout", 0.0), length=64)
    settings = Settings("70%", costs="roofline", plan_cache=False, **options)
    batch = (torch.randint(0, 100, (4, 64)),)
    _, report, graphs = traced(model, batch, Planner(settings, stop="policies"))
    return report, [graphs.forward.graph, graphs.backward.graph]


def host_calls(graphs):
    """Calls that read the device, or a generator, or run code of the host."""
    found = set()
    for node in (node for graph in graphs for node in graph.nodes):
        packet = getattr(node.target, "overloadpacket", node.target)
        copied = packet is torch.ops.aten._to_copy and "device" in node.kwargs
        states = (_compat.run_and_save_rng_state, _compat.run_with_rng_state)
        if packet in READS_DEVICE or copied or node.target in (*states, *host.OPERATORS):
            found.add(str(getattr(node.target, "__name__", node.target)))
    return found


def test_recomputation_alone_never_reads_the_device():
    report, graphs = graphs_of()
    assert report.plan.recomputed
    assert host_calls(graphs) == set()


@pytest.mark.parametrize(
    "options, marks",
    [
        ({"dropout": 0.1}, {"run_and_save_rng_state", "run_with_rng_state"}),
        ({"offload": "12GB/s"}, {"offload", "wait", "prefetch", "arrive", "release"}),
    ],
    ids=["random numbers", "copies"],
)
def test_calls_that_end_a_capture(options, marks):
    """States of generators are read on the host, and copies have a ticket there."""
    _, graphs = graphs_of(**options)
    assert host_calls(graphs) and host_calls(graphs) <= marks
