"""Instances of traced programs: operations and values, fused as by a compiler."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .errors import InvalidType


@dataclass(frozen=True)
class Device:
    """Device of a roofline (Williams et al., CACM 2009).

    Attributes:
        flops: Floating point operations a second.
        bytes_per_second: Memory bandwidth.
        launch_ns: Launch time of each operation in nanoseconds.
    """

    flops: float = 1e14
    bytes_per_second: float = 1.5e12
    launch_ns: int = 2000

    def nanoseconds(self, work: float, traffic: float) -> int:
        """Time of an operation of ``work`` floating point operations that moves ``traffic``
        bytes: the longer of the two times, plus the launch."""
        return self.launch_ns + round(1e9 * max(work / self.flops, traffic / self.bytes_per_second))


def check_device(device: Any) -> None:
    """Refuses what is no :class:`Device`.

    Raises:
        InvalidType: it is none.
    """
    if not isinstance(device, Device):
        raise InvalidType(
            f"device: {device!r:.60} is no Device", remedy="give Device(flops=.., ..)"
        )


@dataclass(eq=False)
class Value:
    """A tensor with memory of its own."""

    name: str
    nbytes: int
    shape: Sequence[int] = ()


@dataclass(eq=False)
class Operation:
    """An operation of a traced program.

    Attributes:
        op: Operator, with details for the reader of a plan.
        outputs: Values that it makes, at least one; some may be unread.
        inputs: Values that it reads from earlier operations.
        read_bytes: Bytes that it reads of the program's inputs and constants.
        work: Floating point operations.
        workspace_bytes: Memory that it takes besides inputs and outputs.
        fusible: True if a compiler can fuse it with its only reader, or a reader with it.
        once: True if it must not be computed again.
        nanoseconds_besides: Time besides that of the roofline.
    """

    op: str
    outputs: list[Value]
    inputs: list[Value] = field(default_factory=list)
    read_bytes: int = 0
    work: float = 0.0
    workspace_bytes: int = 0
    fusible: bool = False
    once: bool = False
    nanoseconds_besides: int = 0

    def nanoseconds(self, device: Device) -> int:
        """Time of one run."""
        moved = self.read_bytes + sum(v.nbytes for v in (*self.inputs, *self.outputs))
        return device.nanoseconds(self.work, moved) + self.nanoseconds_besides


def needed(operations: Sequence[Operation], results: Iterable[Value]) -> list[Operation]:
    """Operations that the results need, and operations with effects (``once``)."""
    wanted: set[Value] = set(results)
    kept = []
    for operation in reversed(operations):
        if operation.once or not wanted.isdisjoint(operation.outputs):
            wanted.update(operation.inputs)
            kept.append(operation)
    return kept[::-1]


def fused(operations: Sequence[Operation], results: Iterable[Value]) -> list[Operation]:
    """The operations after fusion. A fusible operation with one output, whose only reader is
    fusible as well, becomes part of that reader. Its output then takes no memory."""
    readers: dict[Value, list[Operation]] = {}
    for operation in operations:
        for value in dict.fromkeys(operation.inputs):
            readers.setdefault(value, []).append(operation)
    kept = set(results)
    found = []
    for operation in operations:
        value = operation.outputs[0]
        at = readers.get(value, [])
        alone = operation.fusible and not operation.once and len(operation.outputs) == 1
        if not alone or value in kept or len(at) != 1 or not at[0].fusible:
            found.append(operation)
            continue
        reader = at[0]
        inputs = [v for v in reader.inputs if v is not value]
        reader.inputs = list(dict.fromkeys([*inputs, *operation.inputs]))
        reader.read_bytes += operation.read_bytes
        reader.work += operation.work
        reader.nanoseconds_besides += operation.nanoseconds_besides
        for source in operation.inputs:
            changed = [reader if r is operation else r for r in readers[source]]
            readers[source] = list(dict.fromkeys(changed))
    return found


def peak_bytes(operations: Sequence[Operation], results: Iterable[Value]) -> int:
    """Peak memory of the operations in their order, without memory held before them."""
    last: dict[Value, int] = {}
    for k, operation in enumerate(operations):
        for value in (*operation.inputs, *operation.outputs):
            last[value] = k
    for value in results:
        last[value] = len(operations)
    made = {v for operation in operations for v in operation.outputs}
    held = most = 0
    for k, operation in enumerate(operations):
        held += sum(v.nbytes for v in operation.outputs)
        most = max(most, held + operation.workspace_bytes)
        ended = {v for v in (*operation.inputs, *operation.outputs) if last[v] == k and v in made}
        held -= sum(v.nbytes for v in ended)
    return most


def document(
    operations: Sequence[Operation],
    results: Iterable[Value],
    fixed_bytes: int,
    name: str,
    device: Device,
) -> dict[str, Any]:
    """The instance of a program in the format ``remat-instance/1``. Each value that is read becomes
    a node, and further outputs of an operation become by-products of its first one. A last node
    needs the results.

    Args:
        operations: In execution order.
        results: Values that are in memory at the end.
        fixed_bytes: Memory of the program's inputs and constants.
    """
    results = list(dict.fromkeys(results))
    read: set[Hashable] = {v for operation in operations for v in operation.inputs}
    read.update(results)
    nodes: list[dict[str, Any]] = []
    for operation in operations:
        values = [v for v in operation.outputs if v in read] or operation.outputs[:1]
        unread = sum(v.nbytes for v in operation.outputs if v not in values)
        main, *others = values
        entry: dict[str, Any] = {
            "name": main.name,
            "op": operation.op,
            "shape": list(main.shape),
            "output_bytes": main.nbytes,
            "cost": operation.nanoseconds(device),
            "workspace_bytes": operation.workspace_bytes + unread + sum(v.nbytes for v in others),
            "needs": [v.name for v in dict.fromkeys(operation.inputs)],
        }
        if operation.once:
            entry["recompute"] = False
        nodes.append(entry)
        for value in others:
            nodes.append(
                {
                    "name": value.name,
                    "kind": "by_product",
                    "op": f"output of {main.name}",
                    "shape": list(value.shape),
                    "parent": main.name,
                    "needs": [main.name],
                    "output_bytes": value.nbytes,
                    "cost": 0,
                }
            )
    last = {"name": "end", "op": "end", "output_bytes": 0, "cost": 0, "recompute": False}
    nodes.append({**last, "needs": [v.name for v in results]})
    return {
        "schema": "remat-instance/1",
        "name": name,
        "cost_unit": "ns",
        "fixed_bytes": fixed_bytes,
        "nodes": nodes,
    }
