"""Carriers of copies between device and host: immediate on the processor, with streams on a GPU."""

from __future__ import annotations

from typing import Any, Protocol

import torch

Done = Any
"""A sign that a copy has ended: whoever made it knows how to wait for it."""


class Carrier(Protocol):
    """Carrier of the copies of one plan, in parallel to its computations."""

    def begin(self) -> None:
        """Begins a run. Its host memory may have been used by an earlier run."""

    def to_host(self, source: torch.Tensor, target: torch.Tensor) -> Done:
        """Starts a copy to the host, after all earlier computations and earlier copies in its
        direction."""

    def from_host(self, source: torch.Tensor, target: torch.Tensor, after: Done) -> Done:
        """Starts a copy from the host, after all earlier computations, earlier copies in its
        direction, and the copy to the host."""

    def wait(self, done: Done) -> None:
        """Makes later computations wait for the end of a copy."""


class Immediate:
    """The carrier of the processor, which has no link: a copy ends within the call that starts
    it."""

    def begin(self) -> None:
        pass

    def to_host(self, source: torch.Tensor, target: torch.Tensor) -> Done:
        target.copy_(source)

    def from_host(self, source: torch.Tensor, target: torch.Tensor, after: Done) -> Done:
        target.copy_(source)

    def wait(self, done: Done) -> None:
        pass


class Streams:
    """A carrier with one stream for each direction of a GPU's link, or one stream for both.

    A copy starts after an event of the computing stream. That stream waits for the event of a copy
    before it goes on, so other streams never use memory that it allocates or frees.
    ``record_stream``, which makes peaks depend on times, is therefore not needed.

    Args:
        device: The GPU.
        half: True if one direction waits for the other.
        cuda: ``torch.cuda``, or a substitute.
    """

    def __init__(self, device: torch.device, half: bool, cuda: Any = torch.cuda) -> None:
        self.device = device
        self.cuda = cuda
        self.out = cuda.Stream(device)
        self.back = self.out if half else cuda.Stream(device)

    def begin(self) -> None:
        # Pending fetches of an earlier run read their places before new copies overwrite them.
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
    """The carrier for a device."""
    return Streams(device, half) if device.type == "cuda" else Immediate()
