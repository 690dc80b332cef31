"""Modules of stages, each with the plan of its step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from ... import _native
from ...errors import RematError
from .._compat import fx
from ..accumulate import Given
from ..backend import _maker, traced
from ..partition import Joint
from ..planner import Planned, Planner, Settings
from ..report import Report
from ..step import Step, step_of

Loss = Callable[..., torch.Tensor]
"""The loss of the model's output and the target."""


class StagePlanner(Planner):
    """A planner that uses a known plan, unless the graph has changed.

    Attributes:
        known: The plan as a document; ``None``: the solver makes one.
    """

    known: dict[str, Any] | None = None

    def _solved(
        self, instance: _native.Instance, budget: int, share: float, starts: Any = ()
    ) -> tuple[_native.Plan, str | None]:
        known, self.known = self.known, None
        if known is not None:
            try:
                return _native.Plan.load(instance, known), None
            except RematError:
                # Another version of torch traces another graph.
                pass
        return super()._solved(instance, budget, share, starts)


class Tracer(Planner):
    """A planner that ends a compilation with the joint graph and its inputs."""

    def _graphs(self, gm: fx.GraphModule, joint_inputs: Any, **options: Any) -> Any:
        raise Planned((Joint(gm, options["num_fwd_outputs"]), self.given))


def function_of(graph: nn.Module, loss: Loss | None) -> Callable[..., Any]:
    """The step of a stage.

    Args:
        graph: Its pieces.
        loss: The loss of the last stage, whose step also takes the target.
    """
    if loss is None:
        return lambda *inputs: graph(*inputs)
    return lambda *inputs: loss(graph(*inputs[:-1]), inputs[-1])


def joint_of(
    graph: nn.Module, loss: Loss | None, inputs: tuple[torch.Tensor, ...]
) -> tuple[Joint, Given]:
    """The joint graph of a stage's step, and its inputs.

    Raises:
        RematError: no part of the stage needs gradients.
    """
    return traced(function_of(graph, loss), inputs, Tracer(Settings(1)))  # type: ignore[no-any-return]


class Stage(nn.Module):
    """A stage of a pipeline, to be wrapped by ``PipelineStage``.

    Parameters and buffers have their names in the model. The first call compiles the step.

    Args:
        graph: Its pieces.
        loss: The loss of the last stage; ``None`` for the others.
        settings: Settings of its plan.
        plan: Its plan as a document.
    """

    graph: fx.GraphModule
    loss: Loss | None
    step: Step

    def __init__(
        self,
        graph: fx.GraphModule,
        loss: Loss | None,
        settings: Settings,
        plan: dict[str, Any],
    ) -> None:
        super().__init__()
        self._parameters, self._buffers = graph._parameters, graph._buffers
        self._modules = graph._modules
        self._non_persistent_buffers_set = graph._non_persistent_buffers_set
        planner = StagePlanner(settings)
        planner.known, planner.holds_loss = plan, loss is not None
        step = step_of(function_of(graph, loss), planner, _maker("eager"))
        # The graph shares its state with this module, so it is no child.
        self.__dict__.update(graph=graph, loss=loss, step=step)

    @property
    def report(self) -> Report:
        """The report of the compiled step.

        Raises:
            RematError: the stage was not called yet.
        """
        return self.step.report

    def forward(self, *inputs: torch.Tensor, labels: torch.Tensor | None = None) -> Any:
        """Outputs of the stage, or the loss of the last stage if it gets labels."""
        if self.loss is None:
            return self.step(*inputs)
        if labels is None:
            return self.graph(*inputs)
        return self.step(*inputs, labels)
