"""The link between a device and host memory: given, or measured on a GPU."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import torch

from .. import _native
from ..errors import InvalidArgument

LATENCY_NS = 10_000
"""Time of every copy beside its bytes where a text gives speeds alone: what launching a copy and
waiting for it takes (PCIe, from the literature; not measured here)."""
SIZES = tuple(1 << k for k in range(16, 29, 2))
"""Sizes that are copied, in bytes: 64 KiB to 256 MiB."""
RUN_BYTES = 256 << 20
"""Bytes of one measured run, in one direction."""
RUN_COPIES = (4, 256)
"""Copies of one measured run, at least and at most."""
RUNS = 5
"""Runs of each size; the fastest counts, as whatever disturbs makes it longer."""
FULL_SHARE = 0.5
"""Share of the shorter one of two copies that runs beside the longer one in the other direction,
from which on a link is full duplex."""


@dataclass(frozen=True)
class Link:
    """A link to host memory.

    Attributes:
        to_host_bytes_per_second, from_host_bytes_per_second: Speeds of pinned copies.
        latency_ns: Fixed time of every copy.
        duplex: ``"full"`` if both directions run at the same time, else ``"half"``.
    """

    to_host_bytes_per_second: int
    from_host_bytes_per_second: int
    latency_ns: int = LATENCY_NS
    duplex: str = "full"

    def __post_init__(self) -> None:
        numbers = asdict(self)
        duplex = numbers.pop("duplex")
        for name, value in numbers.items():
            whole = isinstance(value, int) and not isinstance(value, bool)
            if not whole or not 0 <= value < 2**53:
                raise InvalidArgument(
                    f"offload: {name} is {value!r}", remedy="give a whole number from 0 to 2^53"
                )
        if duplex not in ("full", "half"):
            raise InvalidArgument(f"offload: duplex is {duplex!r}", remedy='give "full" or "half"')

    @classmethod
    def of(cls, given: str | Link) -> Link:
        """Converts a text to a link: ``"pcie3"``, ``"pcie4"``, ``"pcie5"``, ``"gh200"``,
        ``"gb300"``, a speed such as ``"12GB/s"``, or a speed for each direction,
        ``"24GB/s,50GB/s"``, with a latency of 10 us. A link stays unchanged.

        Raises:
            InvalidArgument: the argument is neither a link nor such a text.
        """
        if isinstance(given, Link):
            return given
        if not isinstance(given, str):
            raise InvalidArgument(
                f"offload: {given!r} is no link",
                remedy='give "pcie4", "12GB/s", or what measure_link returns',
            )
        known = _native.host_link(given)
        return cls(known["to_host_bytes_per_second"], known["from_host_bytes_per_second"])

    @property
    def least_bytes(self) -> int:
        """Size below which the latency of a copy exceeds the time for its bytes."""
        speed = max(self.to_host_bytes_per_second, self.from_host_bytes_per_second)
        return self.latency_ns * speed // 10**9


@dataclass(frozen=True)
class Copying:
    """Copies that plans may make.

    Attributes:
        link: The link.
        host_memory_bytes: Host memory for the copies of one step; ``None`` without a limit.
        phase: ``"any"``, or ``"loss"`` for copies to the host in the forward graph and copies back
            in the backward graph.
    """

    link: Link
    host_memory_bytes: int | None
    phase: str

    def document(self) -> dict[str, Any]:
        """The link as ``host_link`` of a ``remat-instance/1`` document."""
        found: dict[str, Any] = asdict(self.link)
        if self.host_memory_bytes is not None:
            found["host_memory_bytes"] = self.host_memory_bytes
        return found


def measure_link(device: torch.device | str | int | None = None) -> Link:
    """Measures the link of a GPU with copies of 64 KiB to 256 MiB between its memory and reused
    pinned host memory, in each direction and in both at once.

    The largest copies in one direction give the speeds, and the excess time of the smallest gives
    the latency.

    Args:
        device: The GPU; the current one by default.

    Raises:
        InvalidArgument: there is no such GPU. The processor has no link, so give speeds instead.
    """
    known = torch.device("cuda" if device is None else device)
    if known.type != "cuda" or not torch.cuda.is_available():
        where = "no GPU is there" if known.type == "cuda" else f"{known} has no link to the host"
        raise InvalidArgument(
            f"measure_link: {where}", remedy='give speeds, such as offload="12GB/s"'
        )
    with torch.cuda.device(known), torch.no_grad():
        return _measured_on(torch.device("cuda", torch.cuda.current_device()))


def _measured_on(device: torch.device) -> Link:
    most = SIZES[-1]
    on_device = [torch.empty(most, dtype=torch.uint8, device=device) for _ in range(2)]
    on_host = [
        torch.empty(most, dtype=torch.uint8, device="cpu", pin_memory=True) for _ in range(2)
    ]
    streams = [torch.cuda.Stream(device) for _ in range(2)]
    ways = ((on_device[0], on_host[0]), (on_host[1], on_device[1]))

    def seconds(size: int, copies: int, directions: tuple[int, ...]) -> float:
        def run() -> None:
            for _ in range(copies):
                for way in directions:
                    source, target = ways[way]
                    with torch.cuda.stream(streams[way]):
                        target[:size].copy_(source[:size], non_blocking=True)

        return fastest(run, lambda: torch.cuda.synchronize(device))

    return fitted([point(size, seconds) for size in SIZES])


def fastest(run: Callable[[], None], settle: Callable[[], None]) -> float:
    """Least time of a run in seconds; ``settle`` is called before and after each."""
    best = float("inf")
    for _ in range(RUNS):
        settle()
        start = time.perf_counter()
        run()
        settle()
        best = min(best, time.perf_counter() - start)
    return max(best, 1e-9)


@dataclass(frozen=True)
class Point:
    """Speeds for copies of one size, in bytes per second.

    Attributes:
        size: Bytes of each copy.
        to_host, from_host: Speed of each direction alone.
        both: Total speed of both directions at once.
    """

    size: int
    to_host: float
    from_host: float
    both: float


def point(size: int, seconds: Callable[[int, int, tuple[int, ...]], float]) -> Point:
    """Speeds for one size.

    Args:
        seconds: Function of size, number of copies and directions (0 to the host) that returns the
            time of these copies.
    """
    copies = min(max(RUN_BYTES // size, RUN_COPIES[0]), RUN_COPIES[1])
    total = copies * size
    alone = [total / seconds(size, copies, (way,)) for way in (0, 1)]
    return Point(size, alone[0], alone[1], 2 * total / seconds(size, copies, (0, 1)))


def fitted(points: list[Point]) -> Link:
    """The link with the given speeds, which are sorted by ascending size."""
    small, large = points[0], points[-1]
    beyond = [
        small.size * (1 / slow - 1 / fast)
        for slow, fast in ((small.to_host, large.to_host), (small.from_host, large.from_host))
    ]
    # Times of a byte in each direction alone.
    shorter, longer = sorted((1 / large.to_host, 1 / large.from_host))
    full = 2 / large.both <= longer + (1 - FULL_SHARE) * shorter
    return Link(
        int(large.to_host),
        int(large.from_host),
        round(max(0.0, *beyond) * 1e9),
        "full" if full else "half",
    )
