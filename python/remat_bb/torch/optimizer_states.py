"""Memory of an optimizer: its states, and its step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from .. import _native
from ..errors import InfeasibleBudget
from . import _compat, _compat_eager
from .eager import Places, Tracker
from .stand_ins import StandIns, optimizer_of
from .timeline import FIRST, OPTIMIZER, Timeline


@dataclass(frozen=True)
class OptimizerMemory:
    """Memory of an optimizer on one device, in bytes.

    Attributes:
        states_bytes: States after its first step.
        present_bytes: States that are there before it.
        step_bytes: The most that a step takes besides parameters, gradients and states.
    """

    states_bytes: int
    present_bytes: int
    step_bytes: int

    @property
    def missing_bytes(self) -> int:
        """States that the first step will make."""
        return max(0, self.states_bytes - self.present_bytes)

    def check(self, budget: int, held: int, gradients: int) -> None:
        """Raises :class:`InfeasibleBudget` if the optimizer's step exceeds a budget.

        Args:
            held: Memory held before the training step, states included.
            gradients: Bytes of all gradients.
        """
        needed = held + gradients + self.step_bytes
        if needed > budget:
            size = _native.format_bytes
            raise InfeasibleBudget(
                f"the optimizer's step needs {size(needed)}, above the budget of {size(budget)}: "
                f"{size(held)} are held, gradients take {size(gradients)}, and the step itself "
                f"{size(self.step_bytes)}",
                remedy="recomputation does not help there: foreach=False takes less, or give "
                f"{needed} bytes",
                budget_bytes=budget,
                needed_bytes=needed,
                node="optimizer.step()",
            )


def optimizer_memory(
    optimizer: Any, parameters: Sequence[torch.Tensor], device: torch.device
) -> OptimizerMemory:
    """Runs two steps of an optimizer on fake tensors.

    Args:
        optimizer: An optimizer with its states, its class, or a function that makes one from a list
            of parameters.
        parameters: The trainable parameters; their values are not read.
        device: The device whose memory counts.

    Raises:
        InvalidArgument: for other values of ``optimizer``.
        RematError: for an optimizer that needs values, and parameters without stand-ins.
    """
    line = Timeline()
    tracker = Tracker(line, Places({}), device)
    with _compat.unset_fake_temporarily():
        mode = _compat_eager.FakeTensorMode(allow_non_fake_inputs=True)
        with mode:
            stand_ins = StandIns(mode, None)
            made = [_parameter(each) for each in parameters]
            maker = optimizer_of(optimizer, made, stand_ins)
            held = [p for group in maker.param_groups for p in group["params"]]
            for parameter in held:
                parameter.grad = torch.empty_like(parameter)
            states = [x for x in tree_leaves([*maker.state.values()]) if _is_tensor(x)]
            with tracker, _compat_eager.foreach_of_fakes(), torch.no_grad():
                for tensor in (*held, *(p.grad for p in held)):
                    tracker.hold(tensor, "parameters")
                before = _live_bytes(line)
                for tensor in states:
                    tracker.hold(tensor, "optimizer states")
                present = _live_bytes(line) - before
                for phase in (FIRST, OPTIMIZER):
                    line.enter(phase)
                    maker.step()
                    after = _live_bytes(line)
    peaks = line.peaks()
    most = max(peaks[phase].bytes for phase in (FIRST, OPTIMIZER))
    return OptimizerMemory(after - before, present, max(0, most - after))


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


def _parameter(tensor: torch.Tensor) -> torch.nn.Parameter:
    """A fake parameter with the layout of another tensor."""
    made = torch.empty_strided(
        [int(n) for n in tensor.shape],
        [int(n) for n in tensor.stride()],
        dtype=tensor.dtype,
        device=tensor.device,
    )
    return torch.nn.Parameter(made)


def _live_bytes(line: Timeline) -> int:
    return sum(size for _, size in line.events)
