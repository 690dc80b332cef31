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


class LimitOptions(TypedDict, total=False):
    """How long a search may take, on which threads, and from which seed.

    Attributes:
        time_limit: Seconds, a time such as ``"10m"``, or a ``timedelta``, after which the search
            ends with the best answer so far. Without it the work is fixed.
        threads: Worker threads; one per core by default. Changes the time, not the answer.
        seed: Seed of all random choices; 0 by default.
    """

    time_limit: Duration | None
    threads: int | None
    seed: int


class SearchOptions(LimitOptions, total=False):
    """How far a search for plans goes.

    Attributes:
        gap: Relative gap ``(objective - bound) / objective`` at which a plan counts as optimal and
            the search ends: a fraction or text such as ``"1%"``. 0.0001 by default; with a time
            limit the search then goes on for a while.
        effort: Work where there is no time limit: ``"full"`` takes minutes, ``"quick"`` seconds for
            graphs of some hundred nodes. It ends with the root of the tree, whose bound may leave a
            gap.
        lanes: Nodes of the tree that are solved side by side. This changes the tree.
    """

    gap: float | str | None
    effort: str
    lanes: int


class ProgramOptions(TypedDict, total=False):
    """The formulation.

    Attributes:
        formulation: ``"checkmate"`` (one implementation of each operator; Jain et al., MLSys 2020)
            or ``"monet"`` (implementations, masks and in-place operators are chosen too; Shah et
            al., ICLR 2021). By default ``"monet"`` where the instance offers such choices and has a
            loss.
    """

    formulation: str | None


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


class BaselinesOptions(ProgramOptions, LinkOptions, total=False):
    """Options of :func:`baselines`.

    Attributes:
        threads: As for :func:`solve`.
        seed: It has no effect: the strategies draw from seeds of their own.
    """

    threads: int | None
    seed: int


class MaxBatchOptions(LimitOptions, LinkOptions, total=False):
    """Options of :func:`max_batch`."""


class FrontierOptions(SearchOptions, ProgramOptions, LinkOptions, total=False):
    """Options of :func:`frontier`."""


class SolveOptions(FrontierOptions, total=False):
    """Options of :func:`solve`.

    Attributes:
        offload_release: ``"at-once"``, the default, or ``"continuous"`` for a bound over plans
            whose memory is free byte by byte as it is sent. The plan is always one of a machine,
            which frees it when the copy is complete.
        reorder: True chooses the order of first computations, too, where the graph leaves a choice;
            ``bound_scope`` tells the plans that the bound is over. Without a time limit the work is
            up to three times that of a solve, beside the search of orders.
        addresses: True gives everything that the plan takes an offset in one arena
            (``plan.addresses``, ``plan.arena_bytes``), as :meth:`Plan.place` does. The last tenth
            of the time limit is for that.
        alignment: Number of bytes that offsets are multiples of, a power of two; by default as the
            sizes suggest. The plan has addresses then.
    """

    offload_release: str
    reorder: bool
    addresses: bool
    alignment: int | None
