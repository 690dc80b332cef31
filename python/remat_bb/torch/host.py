"""Host memory of a plan, and the operators of its graphs that copy.

Each run of the forward graph has a *lease* of one arena, which ends with the backward graph or when
autograd lets go of what the run saved. A *ticket* stands for it in the graphs: a tensor of eight
bytes that is saved with the others. What is on the host is neither saved nor seen by autograd.
"""

from __future__ import annotations

import itertools
import sys
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from ..errors import RematError
from . import _compat
from .carrier import Carrier, Done, carrier_of


@dataclass(frozen=True)
class Slot:
    """Place of a copy in the arena, in bytes."""

    offset: int
    size: int


@dataclass
class CopyUse:
    """Copies of a run, as counted.

    Attributes:
        to_host_bytes, from_host_bytes: Bytes copied each way.
        host_peak_bytes: Largest sum of what was on the host at a time.
        host_bytes: Bytes that are on the host now.
    """

    to_host_bytes: int = 0
    from_host_bytes: int = 0
    host_peak_bytes: int = 0
    host_bytes: int = 0


@dataclass
class Stored:
    """A tensor on the host.

    Attributes:
        place: Its bytes there.
        like: Type, shape and strides.
        done: End of the copy to the host.
    """

    place: torch.Tensor
    like: tuple[torch.dtype, torch.Size, tuple[int, ...]]
    done: Done


@dataclass
class UnderWay:
    """Device memory of copies that nothing has waited for, with their ends: kept while they run.

    Attributes:
        leaving: By the number of the copy to the host.
        coming: By the number of the copy from the host.
    """

    leaving: dict[int, tuple[Done, torch.Tensor]] = field(default_factory=dict)
    coming: dict[int, tuple[Done, torch.Tensor]] = field(default_factory=dict)


class Lease(bytearray):
    """Host memory of one run. Its eight bytes are those of the ticket, so it lives as long as that
    does.

    Attributes:
        host: Whose it is.
        arena: The memory.
        stored: What is there, by the number of the copy.
        under_way: Copies that nothing has waited for.
        use: What was copied.
    """

    host: Host
    arena: torch.Tensor
    stored: dict[int, Stored]
    under_way: UnderWay
    use: CopyUse


class Host:
    """Host memory for the copies of a plan, made once.

    Args:
        slots: Places of the copies to the host, by number.
        arena_bytes: Size of the memory of one run.
        device: Device of the tensors. On a GPU the memory is pinned.
        half: True if the link carries one direction at a time.

    Attributes:
        latest: What the latest run has copied.
        arenas: Number of arenas: the most runs whose backward pass was to come at a time.
    """

    def __init__(
        self, slots: Sequence[Slot], arena_bytes: int, device: torch.device, half: bool = False
    ) -> None:
        self.slots = list(slots)
        self.arena_bytes = arena_bytes
        self.device = device
        self.half = half
        self.latest = CopyUse()
        self.arenas = 0
        self._carrier: Carrier | None = None
        self._idle: list[torch.Tensor] = []

    def __deepcopy__(self, memo: Any) -> Host:
        # Copies of a graph copy to the same memory.
        return self

    @property
    def carrier(self) -> Carrier:
        """Who copies."""
        if self._carrier is None:
            self._carrier = carrier_of(self.device, self.half)
        return self._carrier

    def reserve(self) -> None:
        """Makes the memory of a run, if none is idle: before the first step, as memory that is
        pinned within one would stop it.

        Raises:
            RematError: the host has not so much.
        """
        if not self._idle:
            self._idle.append(self._arena())

    def _arena(self) -> torch.Tensor:
        pinned = self.device.type == "cuda"
        try:
            with _compat.unset_fake_temporarily():
                # Filled once: the first step finds its pages.
                arena = torch.zeros(
                    self.arena_bytes, dtype=torch.uint8, device="cpu", pin_memory=pinned
                )
        except RuntimeError as error:
            words = str(error).strip().partition("\n")[0]
            raise RematError(
                f"{self.arena_bytes} bytes of host memory for copies are not to be had: {words}",
                remedy="limit them: host_memory=",
            ) from error
        self.arenas += 1
        return arena

    def begin(self) -> torch.Tensor:
        """Begins a run: returns its ticket."""
        number = next(_NUMBERS)
        lease = Lease(number.to_bytes(8, sys.byteorder))
        lease.host = self
        try:
            lease.arena = self._idle.pop()
        except IndexError:
            lease.arena = self._arena()
        lease.stored, lease.under_way = {}, UnderWay()
        lease.use = self.latest = CopyUse()
        end = weakref.finalize(lease, self._ended, lease.arena, lease.under_way)
        end.atexit = False
        _LEASES[number] = lease
        self.carrier.begin()
        return torch.frombuffer(lease, dtype=torch.int64)

    def _ended(self, arena: torch.Tensor, under_way: UnderWay) -> None:
        """Takes an arena back. A run that was given up may have copies under way: their memory is
        let go of behind their ends."""
        for copies in (under_way.leaving, under_way.coming):
            for done, _ in copies.values():
                self.carrier.wait(done)
            copies.clear()
        self._idle.append(arena)


_LEASES: weakref.WeakValueDictionary[int, Lease] = weakref.WeakValueDictionary()
_NUMBERS = itertools.count(1)


def _lease(ticket: torch.Tensor) -> Lease:
    lease = _LEASES.get(int(ticket.item()))
    if lease is None:
        raise RematError(
            "host memory of a step was given back before its backward pass",
            remedy="leave what the step saves as it is: no hooks on saved tensors, no copies of "
            "its graph",
        )
    return lease


@_compat.has_side_effect
def offload(ticket: torch.Tensor, value: torch.Tensor, copy: int) -> None:
    """Starts the copy of a tensor to the host.

    Args:
        copy: Number of the copy to the host.
    """
    lease = _lease(ticket)
    slot, source = lease.host.slots[copy], bytes_of(value)
    size = source.numel()
    if size > slot.size:
        raise RematError(
            f"a tensor of {size} bytes is to go to the host, into {slot.size} bytes: shape "
            f"{list(value.shape)}, strides {list(value.stride())}",
            remedy="report this: the operator that made it has another layout than was traced",
        )
    place = lease.arena[slot.offset : slot.offset + size]
    done = lease.host.carrier.to_host(source, place)
    lease.stored[copy] = Stored(place, (value.dtype, value.shape, value.stride()), done)
    lease.under_way.leaving[copy] = (done, source)
    use = lease.use
    use.to_host_bytes += size
    use.host_bytes += size
    use.host_peak_bytes = max(use.host_peak_bytes, use.host_bytes)


@_compat.has_side_effect
def wait(ticket: torch.Tensor, value: torch.Tensor, copy: int) -> None:
    """Waits for a copy to the host: the tensor may be let go of from here on."""
    lease = _lease(ticket)
    found = lease.under_way.leaving.pop(copy, None)
    if found is not None:
        lease.host.carrier.wait(found[0])


@_compat.has_side_effect
def prefetch(ticket: torch.Tensor, copy: int, fetch: int) -> torch.Tensor:
    """Takes device memory for a tensor, and starts its copy from the host.

    Args:
        fetch: Number of the copy from the host.
    """
    lease = _lease(ticket)
    stored = lease.stored[copy]
    size = stored.place.numel()
    target = torch.empty(size, dtype=torch.uint8, device=lease.host.device)
    done = lease.host.carrier.from_host(stored.place, target, stored.done)
    lease.under_way.coming[fetch] = (done, target)
    lease.use.from_host_bytes += size
    dtype, shape, strides = stored.like
    return target.view(dtype).as_strided(shape, strides)


@_compat.has_side_effect
def arrive(ticket: torch.Tensor, value: torch.Tensor, fetch: int) -> None:
    """Waits for a copy from the host: the tensor may be read from here on."""
    lease = _lease(ticket)
    lease.host.carrier.wait(lease.under_way.coming.pop(fetch)[0])


@_compat.has_side_effect
def release(ticket: torch.Tensor, copy: int) -> None:
    """Lets go of a tensor on the host."""
    lease = _lease(ticket)
    lease.use.host_bytes -= lease.stored.pop(copy).place.numel()


OPERATORS = (offload, wait, prefetch, arrive, release)
"""Operators of the graphs, beside :meth:`Host.begin`."""


def bytes_of(value: torch.Tensor) -> torch.Tensor:
    """The part of a tensor's storage from its first to its last element, as bytes."""
    if value.numel() == 0:
        return value.new_empty(0, dtype=torch.uint8)
    span = 1 + sum((n - 1) * s for n, s in zip(value.shape, value.stride()))
    return value.as_strided((span,), (1,)).view(torch.uint8)
