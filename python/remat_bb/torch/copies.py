"""Copies of a plan: their numbers, tensors, and places in host memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from .. import _native
from ._compat import fx
from .host import Host, Slot
from .partition import Call, storage_bytes

ALIGNMENT = 64
"""Bytes that places on the host are multiples of, where that costs nothing: a cache line."""


@dataclass(frozen=True)
class Statement:
    """A statement of a plan in the form that the graphs run.

    Attributes:
        kind: ``"call"`` runs an operator; ``"take"`` makes a by-product of the latest run the
            current one; ``"end"`` requires all results; ``"offload"``, ``"wait"``, ``"prefetch"``
            and ``"release"`` belong to a copy.
        call: The operator of a run.
        value: The tensor of the statement; ``None`` for main values of a run.
        register: The register of the tensor.
        copy: Number of the copy to the host.
        fetch: Number of the copy from the host.
    """

    kind: str
    call: Call | None = None
    value: fx.Node | None = None
    register: int = -1
    copy: int = -1
    fetch: int = -1


@dataclass
class _Kept:
    """A copy on the host: its number, its tensor, and its source register, ``None`` after the
    wait."""

    copy: int
    value: fx.Node
    source: int | None


class Numbered:
    """Translation of the statements of a plan, in order; it numbers the copies.

    Attributes:
        sizes: Bytes of each copy to the host.
        lives: The first statement with the copy in host memory, and the first one without it again.
    """

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.lives: list[list[int]] = []
        self._fetches = 0
        self._statements = 0
        self._registers: dict[int, fx.Node] = {}
        self._buffers: dict[int, _Kept] = {}

    def fill(self, register: int, value: fx.Node | None) -> None:
        """Records a computation that fills a register."""
        self._statements += 1
        if value is not None:
            self._registers[register] = value

    def statement(self, given: tuple[Any, ...]) -> list[Statement]:
        """Statements for the graphs from a statement about a copy; empty for others."""
        self._statements += 1
        kind = given[0]
        if kind == "offload":
            register, buffer = given[1:]
            kept = _Kept(len(self.sizes), self._registers[register], register)
            self._buffers[buffer] = kept
            self.sizes.append(storage_bytes(kept.value.meta.get("val")))
            self.lives.append([self._statements, 0])
            return [Statement(kind, None, kept.value, register, kept.copy)]
        if kind == "wait":
            kept = self._buffers[given[1]]
            source, kept.source = kept.source, None
            return [] if source is None else [Statement(kind, None, kept.value, source, kept.copy)]
        if kind == "prefetch":
            buffer, register = given[1:]
            kept = self._buffers[buffer]
            self._registers[register] = kept.value
            self._fetches += 1
            return [Statement(kind, None, kept.value, register, kept.copy, self._fetches - 1)]
        if kind == "release":
            kept = self._buffers.pop(given[1])
            self.lives[kept.copy][1] = self._statements
            return [Statement(kind, None, kept.value, copy=kept.copy)]
        return []

    def host(self) -> Host | None:
        """Host memory with a place for each copy; ``None`` without copies."""
        if not self.sizes:
            return None
        lives = []
        for size, (begin, end) in zip(self.sizes, self.lives):
            lives.append((begin, end or self._statements + 1, size, min(ALIGNMENT, size & -size)))
        placed = _native.place(lives)
        slots = [Slot(offset, size) for offset, size in zip(placed.offsets, self.sizes)]
        return Host(slots, placed.height_bytes, self._device())

    def _device(self) -> torch.device:
        devices = {d for value in self._registers.values() if (d := device_of(value)) is not None}
        return next((d for d in devices if d.type == "cuda"), torch.device("cpu"))


def device_of(node: fx.Node) -> torch.device | None:
    """The device of a node's tensor; ``None`` for other values."""
    parts = tree_leaves(node.meta.get("val"))
    return next((part.device for part in parts if isinstance(part, torch.Tensor)), None)
