"""Host memory of a plan, and the copy operators of its graphs.

Each run of the forward graph has a *lease* of one arena. The lease ends with the backward graph, or
when autograd frees the saved tensors of the run. A *ticket* stands for it in the graphs: a saved
tensor of eight bytes. Autograd neither saves nor sees tensors on the host.
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
from .pinned import pinned


@dataclass(frozen=True)
class Slot:
    """Place of a copy in the arena, in bytes."""

    offset: int
    size: int


@dataclass
class CopyUse:
    """Counted copies of a run.

    Attributes:
        to_host_bytes, from_host_bytes: Bytes copied in each direction.
        host_peak_bytes: Peak of the bytes on the host.
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
        place: Its bytes in host memory.
        like: Type, shape and strides.
        done: End of the copy to the host.
    """

    place: torch.Tensor
    like: tuple[torch.dtype, torch.Size, tuple[int, ...]]
    done: Done


@dataclass
class UnderWay:
    """Device memory and end of each pending copy, kept until a wait.

    Attributes:
        leaving: By the number of the copy to the host.
        coming: By the number of the copy from the host.
    """

    leaving: dict[int, tuple[Done, torch.Tensor]] = field(default_factory=dict)
    coming: dict[int, tuple[Done, torch.Tensor]] = field(default_factory=dict)


class Lease(bytearray):
    """Host memory of one run. Its eight bytes are the memory of the ticket, so both live equally
    long.

    Attributes:
        host: Its owner.
        arena: The memory.
        stored: Tensors in the arena, by the number of the copy.
        under_way: Pending copies.
        use: Counters of its copies.
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
        latest: Counters of the latest run's copies.
        arenas: Number of arenas: the largest number of runs with a pending backward pass.
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
        # Copies of a graph share the memory.
        return self

    @property
    def carrier(self) -> Carrier:
        """The carrier of the copies."""
        if self._carrier is None:
            self._carrier = carrier_of(self.device, self.half)
        return self._carrier

    def reserve(self) -> None:
        """Allocates the memory of a run unless an arena is idle. Called before the first step,
        because pinning memory within a step would stop it.

        Raises:
            RematError: the host lacks the memory.
        """
        if not self._idle:
            self._idle.append(self._arena())

    def _arena(self) -> torch.Tensor:
        try:
            with _compat.unset_fake_temporarily():
                if self.device.type == "cuda":
                    arena = pinned(self.arena_bytes)
                else:
                    # Filling maps the pages before the first step.
                    arena = torch.zeros(self.arena_bytes, dtype=torch.uint8, device="cpu")
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
        """Takes an arena back. An abandoned run may have pending copies, whose memory is freed
        after their ends."""
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
    """Waits for a copy to the host. After that the tensor may be freed."""
    lease = _lease(ticket)
    found = lease.under_way.leaving.pop(copy, None)
    if found is not None:
        lease.host.carrier.wait(found[0])


@_compat.has_side_effect
def prefetch(ticket: torch.Tensor, copy: int, fetch: int) -> torch.Tensor:
    """Allocates device memory for a tensor, and starts its copy from the host.

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
    """Waits for a copy from the host. After that the tensor may be read."""
    lease = _lease(ticket)
    lease.host.carrier.wait(lease.under_way.coming.pop(fetch)[0])


def has_strides(ticket: torch.Tensor, copy: int, stride: Sequence[int]) -> bool:
    """Returns true if a tensor on the host has given strides."""
    return list(_lease(ticket).stored[copy].like[2]) == list(stride)


def fetch_into(ticket: torch.Tensor, copy: int, target: torch.Tensor) -> None:
    """Copies a tensor from the host into one with other strides, and waits for it."""
    lease = _lease(ticket)
    stored = lease.stored[copy]
    lease.host.carrier.wait(stored.done)
    dtype, shape, strides = stored.like
    target.copy_(stored.place.view(dtype).as_strided(shape, strides))
    lease.use.from_host_bytes += stored.place.numel()


def arrive_if_coming(ticket: torch.Tensor, fetch: int) -> None:
    """Waits for a copy from the host unless that is done."""
    coming = _lease(ticket).under_way.coming
    if fetch in coming:
        _lease(ticket).host.carrier.wait(coming.pop(fetch)[0])


@_compat.has_side_effect
def release(ticket: torch.Tensor, copy: int) -> None:
    """Frees a tensor on the host."""
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
