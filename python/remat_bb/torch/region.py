"""Calls of a function that ``torch.compile`` has compiled for a backend of this package.

Some process-wide settings of Dynamo would end or drop plans. It keeps eight compilations of one
piece of code, and runs the ninth uncompiled; around data parallel modules it splits graphs. Calls
of planned functions change these settings.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from ..errors import RematError
from . import _compat
from .accumulate import reads_planned

ONE_PASS = (
    "add up the losses of a call before backward(), or call the step again for a second backward "
    "pass"
)


class Region:
    """The calls of all functions that one backend has compiled.

    Args:
        shares_budget: True if its graphs share one budget, so that one may read another's outputs.

    Attributes:
        runs: Runs of compiled graphs, with gradients or without.
    """

    def __init__(self, shares_budget: bool = False) -> None:
        self.shares_budget = shares_budget
        self.runs = 0
        self.told = False

    @contextmanager
    def call(self) -> Iterator[None]:
        """One call of a compiled function. Warns if the call trains without a plan because Dynamo
        passed no graph."""
        before = self.runs
        with _compat.dynamo_for_plans():
            yield
        if self.runs > before or self.told or not torch.is_grad_enabled():
            return
        # A pending exception says more than the warning.
        if sys.exc_info()[0] is None:
            self.told = True
            warnings.warn(
                "a compiled function ran without any compiled graph: torch.compile handed over "
                "none, so it trains without a plan and without a budget. Sharded modules (FSDP2), "
                "torch.compiler.disable, and stances that run eagerly do that; "
                "remat_bb.torch.compile plans sharded modules",
                stacklevel=4,
            )

    def counted(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """A compiled graph whose runs are counted, and whose backward pass runs once."""

        def counting(*arguments: Any) -> Any:
            self.runs += 1
            if not self.shares_budget and reads_planned(arguments):
                raise RematError(
                    "a compiled module reads the output of another planned module in the same "
                    "step, and each has the whole budget: together they may exceed it",
                    remedy="compile the model as a whole, or its blocks within one budget: "
                    'rt.regional(model, inputs, budget, blocks="layers.*")',
                )
            found = run(*arguments)
            _run_once(found)
            return found

        return counting


def _run_once(outputs: Any) -> None:
    """Makes a second backward pass of a graph raise an error with the reason."""
    nodes = [output.grad_fn for output in outputs if isinstance(output, torch.Tensor)]
    for node in _before(nodes):
        if _compat.is_compiled_node(node):
            node.register_prehook(_Once())
            return


def _before(nodes: list[Any]) -> Iterator[Any]:
    """Some autograd nodes, then their direct predecessors: outputs may be views of a graph's
    results."""
    nodes = [node for node in nodes if node is not None]
    yield from nodes
    for node in nodes:
        yield from (each for each, _ in node.next_functions if each is not None)


class _Once:
    """A hook that lets one backward pass through."""

    def __init__(self) -> None:
        self.ran = False

    def __call__(self, gradients: Any) -> None:
        if _compat.keeps_graph():
            raise RematError(
                "backward(retain_graph=True), or create_graph=True: saved tensors of a planned "
                "step are let go of one by one, which the plan counts on",
                remedy=ONE_PASS,
            )
        if self.ran:
            raise RematError(
                "a second backward pass through one call of a planned step: its saved tensors "
                "were let go of one by one in the first, which the plan counts on",
                remedy=ONE_PASS,
            )
        self.ran = True
