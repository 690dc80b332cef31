"""Memory of a piece of work, counted from the allocator's events, apart from the package's own."""

import gc

import torch


def peak_of(work) -> int:
    """The most bytes that the processor's allocator had handed out at a time since the beginning of
    a piece of work."""
    gc.collect()
    options = {"activities": [torch.profiler.ProfilerActivity.CPU], "profile_memory": True}
    with torch.profiler.profile(**options, acc_events=True) as profiler:
        work()
    live = most = 0
    for event in profiler.profiler.kineto_results.events():
        if event.name() == "[memory]":
            live += event.nbytes()
            most = max(most, live)
    return most


def bytes_of(*tensors) -> int:
    """Bytes of the storages of some tensors; ``None`` has none."""
    return sum(t.untyped_storage().nbytes() for t in tensors if t is not None)


def step_peak(model, batch, work) -> int:
    """The peak of a step with what is there before it: parameters, their gradients, buffers,
    batch."""
    there = [*model.parameters(), *(p.grad for p in model.parameters()), *model.buffers(), *batch]
    return bytes_of(*there) + peak_of(work)
