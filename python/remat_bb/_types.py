"""Types of arguments, for annotations alone."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping
from typing import Any, TypedDict, Union

from ._native import Instance, Plan

# A networkx.DiGraph is accepted as well. It is no type here because NetworkX is optional.
InstanceSource = Union[Instance, str, os.PathLike[str], bytes, Mapping[str, Any], Any]
PlanSource = Union[Plan, str, os.PathLike[str], Mapping[str, Any]]
Budget = Union[int, float, str]
Duration = Union[float, str, datetime.timedelta]


class LimitOptions(TypedDict, total=False):
    """Time limit, threads and seed of a search.

    Attributes:
        time_limit: Seconds, a time such as ``"10m"``, or a ``timedelta``, after which the search
            ends with the best answer so far. By default the amount of work is fixed.
        threads: Worker threads; one per core by default. They change the time, not the answer.
        seed: Seed of all random choices; 0 by default.
    """

    time_limit: Duration | None
    threads: int | None
    seed: int


class SearchOptions(LimitOptions, total=False):
    """Gap, effort and lanes of a search for plans.

    Attributes:
        gap: Relative gap ``(objective - bound) / objective`` at which a plan counts as optimal and
            the search ends: a fraction or text such as ``"1%"``, 0.0001 by default. With a time
            limit the search goes on for a while after that.
        effort: Amount of work without a time limit: ``"full"`` takes minutes, ``"quick"`` seconds
            for graphs of some hundred nodes. ``"quick"`` ends with the root of the tree, whose
            bound may leave a gap.
        lanes: Number of tree nodes in a round, which threads solve in parallel. It changes the
            tree.
        bound_scope: Plans that the bound covers: ``"widest"`` (all plans in the order of the graph,
            or in any order where no other one matters), or ``"stage-schedules"``.
    """

    gap: float | str | None
    effort: str
    lanes: int
    bound_scope: str


class ProgramOptions(TypedDict, total=False):
    """The formulation.

    Attributes:
        formulation: ``"checkmate"`` (one implementation of each operator; Jain et al., MLSys 2020)
            or ``"monet"`` (chooses implementations, masks and in-place operators as well; Shah et
            al., ICLR 2021). ``"monet"`` is the default if the instance offers such choices and has
            a loss.
    """

    formulation: str | None


class LinkOptions(TypedDict, total=False):
    """Keyword arguments of functions whose plans may copy tensors to host memory and back.

    Attributes:
        offload: The link: ``"on"`` for the instance's own ``host_link``, ``"pcie3"``, ``"pcie4"``,
            ``"pcie5"``, ``"gh200"``, ``"gb300"``, a speed such as ``"12GB/s"``, or a speed for each
            direction, ``"24GB/s,50GB/s"``. By default plans make no copies.
        host_memory: Host memory for the copies: bytes or an amount such as ``"64GiB"``; by default
            the limit of the link, if it has one.
        link_latency: Fixed time of every copy: text with a unit such as ``"10us"``, or a duration
            in seconds; by default the latency of the link.
        duplex: ``"full"`` for copies in both directions at the same time, or ``"half"``; by default
            the mode of the link.
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
        seed: Ignored: the strategies have seeds of their own.
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
        plan_class: ``"tags"``, ``"regions"``, ``"blocks"`` or ``"names"`` for the best plan that a
            training stack can execute; the default is all plans. ``bound_scope`` names the class.
        in_flight: Micro-batches in flight on this stage of a pipeline. While one of them runs, each
            of the others holds what the step keeps between its two passes. The default is the
            number of the instance, or 1.
        offload_release: ``"at-once"``, the default, or ``"continuous"`` for a bound over plans that
            free memory byte by byte while it is sent. The returned plan always frees the memory
            when the copy is complete.
        reorder: True chooses the order of first computations, too, if the graph leaves a choice;
            ``bound_scope`` names the plans that the bound covers. Without a time limit the work is
            up to three times the work of a solve, besides the search of orders.
        addresses: True gives each piece of the plan's memory an offset in one arena
            (``plan.addresses``, ``plan.arena_bytes``), as :meth:`Plan.place` does. The last tenth
            of the time limit is reserved for that.
        alignment: Alignment of offsets in bytes, a power of two; by default it follows from the
            sizes. With an alignment the plan has addresses.
    """

    plan_class: str | None
    in_flight: int | None
    offload_release: str
    reorder: bool
    addresses: bool
    alignment: int | None
