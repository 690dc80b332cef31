"""Types of arguments, for annotations alone."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping
from typing import Any, TypedDict, Union

from ._native import Instance, Plan

# A networkx.DiGraph is taken as well; NetworkX need not be there, so it is no type of its own here.
InstanceSource = Union[Instance, str, os.PathLike[str], bytes, Mapping[str, Any], Any]
PlanSource = Union[Plan, str, os.PathLike[str], Mapping[str, Any]]
Budget = Union[int, float, str]
Duration = Union[float, str, datetime.timedelta]


class LinkOptions(TypedDict, total=False):
    """Keyword arguments of functions whose plans may copy tensors to host memory and back.

    Attributes:
        offload: The link: ``"on"`` for the instance's own ``host_link``, ``"pcie3"``, ``"pcie4"``,
            ``"pcie5"``, ``"gh200"``, ``"gb300"``, a speed such as ``"12GB/s"``, or one each way,
            ``"24GB/s,50GB/s"``. Without it there are no copies.
        host_memory: Host memory for the copies: bytes or an amount such as ``"64GiB"``; by default
            that of the link, where it has a limit.
        link_latency: Time of every copy, whatever its size: text with a unit such as ``"10us"``, or
            a duration in seconds; by default that of the link.
        duplex: ``"full"`` for copies both ways at the same time, or ``"half"``; by default that of
            the link.
        offload_phase: ``"any"``, the default, or ``"loss"`` for copies to the host before the loss
            and copies back after it.
    """

    offload: str | None
    host_memory: Budget | None
    link_latency: Duration | None
    duplex: str | None
    offload_phase: str


class SolveLinkOptions(LinkOptions, total=False):
    """Those of :func:`solve`.

    Attributes:
        offload_release: ``"at-once"``, the default, or ``"continuous"`` for a bound over plans
            whose memory is free byte by byte as it is sent. The plan is always one of a machine,
            which frees it when the copy is complete.
    """

    offload_release: str
