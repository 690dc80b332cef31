"""Who copies between device and host: at once on the processor, on streams of a GPU."""

from __future__ import annotations

from typing import Any, Protocol

import torch

Done = Any
"""A sign that a copy has ended: whoever made it knows how to wait for it."""


class Carrier(Protocol):
    """Copies of the steps of one plan, beside its computations."""

    def begin(self) -> None:
        """A run begins, into host memory that an earlier one may have used."""

    def to_host(self, source: torch.Tensor, target: torch.Tensor) -> Done:
        """Starts a copy to the host, behind all that was computed so far and earlier copies of its
        direction."""

    def from_host(self, source: torch.Tensor, target: torch.Tensor, after: Done) -> Done:
        """Starts a copy from the host, behind all that was computed so far, earlier copies of its
        direction, and the copy to the host."""

    def wait(self, done: Done) -> None:
        """Lets what is computed next begin no earlier than the end of a copy."""


class Immediate:
    """A carrier whose copies have ended when they are started: that of the processor, which has no
    link."""

    def begin(self) -> None:
        pass

    def to_host(self, source: torch.Tensor, target: torch.Tensor) -> Done:
        target.copy_(source)

    def from_host(self, source: torch.Tensor, target: torch.Tensor, after: Done) -> Done:
        target.copy_(source)

    def wait(self, done: Done) -> None:
        pass


class Streams:
    """A carrier with a stream for each direction of a GPU's link, or one for both.

    A copy starts behind an event of the stream that computes. That stream waits for the event of a
    copy before it goes on, so memory that it takes or lets go of is never in use by another stream,
    and the allocator need not be told of streams (``record_stream``, which makes peaks depend on
    times, is not called).

    Args:
        device: The GPU.
        half: True if one direction waits for the other.
        cuda: ``torch.cuda``, or what stands for it.
    """

    def __init__(self, device: torch.device, half: bool, cuda: Any = torch.cuda) -> None:
        self.device = device
        self.cuda = cuda
        self.out = cuda.Stream(device)
        self.back = self.out if half else cuda.Stream(device)

    def begin(self) -> None:
        # What an earlier run was still fetching is read before its place is written to.
        self.out.wait_stream(self.back)

    def to_host(self, source: torch.Tensor, target: torch.Tensor) -> Done:
        return self._copy(self.out, source, target)

    def from_host(self, source: torch.Tensor, target: torch.Tensor, after: Done) -> Done:
        self.back.wait_event(after)
        return self._copy(self.back, source, target)

    def wait(self, done: Done) -> None:
        self.cuda.current_stream(self.device).wait_event(done)

    def _copy(self, stream: Any, source: torch.Tensor, target: torch.Tensor) -> Done:
        computed, done = self.cuda.Event(), self.cuda.Event()
        computed.record(self.cuda.current_stream(self.device))
        stream.wait_event(computed)
        with self.cuda.stream(stream):
            self._move(source, target)
        done.record(stream)
        return done

    def _move(self, source: torch.Tensor, target: torch.Tensor) -> None:
        target.copy_(source, non_blocking=True)


def carrier_of(device: torch.device, half: bool) -> Carrier:
    """Who copies for a device."""
    return Streams(device, half) if device.type == "cuda" else Immediate()
