"""Instances of joint graphs: one node for each value, in the format ``remat-instance/1``."""

from __future__ import annotations

from typing import Any, Protocol

import torch

from ._compat import fx
from .copies import device_of
from .cost import Costs
from .link import Copying, Link
from .modules import paths_of
from .partition import Call, storage_bytes

UPDATE = "remat_update"
"""Mark of nodes that update a parameter."""
END = "end of step"
"""Name of the node that needs all results: it costs nothing and runs last."""


class Units(Protocol):
    """Calls in execution order, the first ``forward`` of them in the forward pass; values that are
    in memory at the end (``results``), and values that the caller holds (``held``)."""

    calls: list[Call]
    forward: int
    results: set[fx.Node]
    held: set[fx.Node]


def staying(joint: Units, link: Link) -> set[fx.Node]:
    """Values that are not copied to the host. The caller holds them, or the latency of their copy
    exceeds the time for their bytes. Or they are not on the main device, their storage holds more
    than their elements, or they are not strided tensors."""
    values = [value for call in joint.calls for value in call.values]
    sizes = {value: storage_bytes(value.meta.get("val")) for value in values}
    on: dict[torch.device | None, int] = {}
    for value, size in sizes.items():
        on[device_of(value)] = on.get(device_of(value), 0) + size
    device = max(on, key=lambda each: on[each], default=None)

    def stays(value: fx.Node) -> bool:
        tensor = value.meta.get("val")
        if not isinstance(tensor, torch.Tensor) or tensor.layout != torch.strided:
            return True
        small = sizes[value] < max(1, link.least_bytes)
        if int(tensor.untyped_storage().nbytes()) > tensor.numel() * tensor.element_size():
            return True
        return small or value in joint.held or device_of(value) != device

    return {value for value in values if stays(value)}


def operator_of(node: fx.Node) -> str:
    """The operator of a call, for display."""
    if node.op == "placeholder":
        return "input"
    return "update" if UPDATE in node.meta else str(node.target)


def document(
    joint: Units, costs: Costs, fixed_bytes: int, name: str, copying: Copying | None = None
) -> dict[str, Any]:
    """The instance of a joint graph.

    The main value of a call is a forward or backward node, each further value a by-product without
    cost. The same call makes the by-products, so they also count as its workspace. Calls that
    change other tensors, communicate, or come from outside are computed once.

    Args:
        costs: Costs in nanoseconds and workspaces in bytes, by call.
        fixed_bytes: Memory that is resident in every plan, inputs of the graph included.
        name: Name of the instance.
        copying: Copies to the host that plans may make.
    """
    stay = set() if copying is None else staying(joint, copying.link)
    nodes: list[dict[str, Any]] = []
    for place, call in enumerate(joint.calls):
        value = call.node.meta.get("val")
        sizes = [storage_bytes(v.meta.get("val")) for v in call.values]
        entry: dict[str, Any] = {
            "name": call.name,
            "kind": "forward" if place < joint.forward else "backward",
            "op": operator_of(call.node),
            "output_bytes": sizes[0] if sizes else 0,
            "cost": costs.nanoseconds(call),
            "workspace_bytes": costs.workspace_bytes(call) + call.unused_bytes + sum(sizes[1:]),
            "needs": [v.name for v in call.needs],
        }
        main = call.values[0].meta.get("val") if call.values else value
        if hasattr(main, "shape"):
            entry["shape"] = list(main.shape)
        if place < joint.forward and (paths := paths_of(call.node)):
            entry["module"] = paths[-1]
        if call.once:
            entry["recompute"] = False
        if call.ends:
            entry["ends"] = call.ends
        if copying is not None and (not call.values or call.values[0] in stay):
            entry["offload"] = False
        if copying is not None and copying.phase == "loss" and place == joint.forward - 1:
            entry["kind"] = "loss"
        nodes.append(entry)
        for value, size in zip(call.values[1:], sizes[1:]):
            part = {
                "name": value.name,
                "kind": "by_product",
                "op": f"output {value.args[1]}",
                "parent": call.name,
                "needs": [call.name],
                "output_bytes": size,
                "cost": 0,
            }
            if value in stay:
                part["offload"] = False
            nodes.append(part)
    # The last node needs all results, because an unread by-product would be left out.
    last = {"name": END, "kind": "backward", "op": "end", "output_bytes": 0, "cost": 0}
    last["recompute"] = False
    last["needs"] = [v.name for call in joint.calls for v in call.values if v in joint.results]
    nodes.append(last)
    found: dict[str, Any] = {
        "schema": "remat-instance/1",
        "name": name,
        "cost_unit": "ns",
        "fixed_bytes": fixed_bytes,
        "nodes": nodes,
    }
    if copying is not None:
        last["offload"] = False
        found["host_link"] = copying.document()
    return found
