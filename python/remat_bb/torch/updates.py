"""Updates in the backward pass: the optimizer's step for a parameter when its gradient is ready.

The instance gets a node for each parameter. It needs the gradient, makes no output, runs once, and
*ends* the calls that read the parameter: these run before it, and never again behind it. So no
gradient is a result of the step, and a gradient is freed right behind its update. In the backward
graph the node is a call of :meth:`Updates.update`, which sets ``.grad``, runs the optimizer for
this parameter alone, and removes the gradient.

States, groups, schedulers and ``state_dict`` are those of the given optimizer. Its own ``step``
afterwards finds no gradients, so a training loop stays as it is.
"""

from __future__ import annotations

import copy
import inspect
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from ..errors import InvalidArgument, RematError
from . import _compat
from ._compat import fx
from .accumulate import shares_pending
from .budget import cuda_device
from .cost import Costs, Roofline
from .instance import UPDATE
from .optimizer_states import OptimizerMemory, optimizer_memory
from .partition import Call, Joint, storage_bytes
from .stand_ins import StandIns, optimizer_of

if TYPE_CHECKING:
    from .planner import Settings
    from .wrapped import Wrapped

IN_BACKWARD = "in_backward"
"""The value of ``updates`` for updates in the backward pass."""
AT_ONCE = ("foreach", "fused")
"""Options of optimizers that update all parameters in one call."""


def check_updates(settings: Settings, inner: str) -> None:
    """Raises :class:`InvalidArgument` for an unknown kind of updates, and for settings that exclude
    updates in the backward pass."""
    if settings.updates is None:
        return
    if settings.updates != IN_BACKWARD:
        raise InvalidArgument(
            f"updates: {settings.updates!r} is no time for updates",
            remedy=f'give "{IN_BACKWARD}", or None for updates after the step',
        )
    if settings.optimizer is None:
        raise InvalidArgument(
            "updates: no optimizer is known that could update parameters",
            remedy="give the optimizer of the training loop: optimizer=",
        )
    others = {
        'inner="inductor"': inner == "inductor",
        "agree": settings.agree,
        "accumulate": bool(settings.accumulate),
        "in_flight": settings.stage is not None or settings.pending > 1,
    }
    for name in (name for name, given in others.items() if given):
        raise InvalidArgument(
            f"updates: updates in the backward pass exclude {name}",
            remedy=f"leave out {name}, or updates",
        )
    if isinstance(settings.optimizer, torch.optim.Optimizer):
        _check_groups(settings.optimizer)


def check_optimizer(settings: Settings) -> None:
    """Raises :class:`InvalidArgument` if updates run by no optimizer with parameters."""
    is_made = isinstance(settings.optimizer, torch.optim.Optimizer)
    if settings.updates == IN_BACKWARD and not is_made:
        raise InvalidArgument(
            f"optimizer: {settings.optimizer!r:.80} holds no parameters to update",
            remedy="give the optimizer of the training loop itself",
        )


def check_processes(settings: Settings, wrapped: Wrapped) -> None:
    """Raises :class:`InvalidArgument` if gradients of several processes are averaged."""
    if settings.updates is not None and (wrapped.replicas or wrapped.sharding is not None):
        raise InvalidArgument(
            "updates: DistributedDataParallel and fully_shard average gradients behind the "
            "backward pass",
            remedy="leave out updates",
        )


def _check_groups(optimizer: torch.optim.Optimizer) -> None:
    for place, group in enumerate(optimizer.param_groups):
        for option in AT_ONCE:
            if group.get(option):
                raise InvalidArgument(
                    f"updates: group {place} of the optimizer has {option}=True, which updates "
                    "all parameters in one call",
                    remedy=f"make the optimizer with {option}=False",
                )
        if group.get("differentiable"):
            raise InvalidArgument(
                f"updates: group {place} of the optimizer has differentiable=True",
                remedy="make the optimizer with differentiable=False",
            )


def updater(settings: Settings) -> torch.optim.Optimizer | None:
    """The optimizer that updates in the backward pass; ``None`` for other settings."""
    made = settings.optimizer if settings.updates is not None else None
    return made if isinstance(made, torch.optim.Optimizer) else None


def with_optimizer(
    settings: Settings, joint: Joint, places: Set[int], costs: Costs
) -> tuple[Costs, OptimizerMemory | None]:
    """Memory of the optimizer of some settings, if there is one. With updates in the backward pass
    the joint graph gets them, and the costs know them.

    Args:
        places: Numbers of the inputs that are parameters.
    """
    if settings.optimizer is None:
        return costs, None
    device = cuda_device(joint) or torch.device("cpu")
    if settings.updates is not None:
        updates = Updates(settings.optimizer, joint, places, device)
        return UpdateCosts(costs, updates, joint), updates.memory
    trained = [joint.primals[place].meta["val"] for place in sorted(places)]
    return costs, optimizer_memory(settings.optimizer, trained, device)


class Updates:
    """Updates of the parameters of a joint graph.

    Args:
        optimizer: The optimizer, its class, or a function that makes one from a list of parameters.
        joint: The joint graph; it gets a call for each update.
        places: Numbers of the inputs that are parameters.
        device: The device whose memory counts.

    Attributes:
        places: The given places.
        memory: Memory of the optimizer.
        calls: Updates, with the number of the parameter's input.
    """

    def __init__(
        self, optimizer: Any, joint: Joint, places: Set[int], device: torch.device
    ) -> None:
        self.optimizer = optimizer
        self.places = frozenset(places)
        self.calls: dict[Call, int] = {}
        self._device = device
        self._alone: dict[Any, OptimizerMemory] = {}
        self._groups: dict[int, dict[str, Any]] = {}
        trained = [joint.primals[place].meta["val"] for place in sorted(places)]
        self.memory = optimizer_memory(optimizer, trained, device)
        with _compat.unset_fake_temporarily():
            shapes = [torch.empty(tensor.shape, device="meta") for tensor in trained]
            made = optimizer
            if not isinstance(optimizer, torch.optim.Optimizer):
                parameters: list[torch.Tensor] = [torch.nn.Parameter(s) for s in shapes]
                made = optimizer_of(optimizer, parameters, StandIns(None, None))
        _check_groups(made)
        self._template: torch.optim.Optimizer = made
        self._insert(joint)

    def _insert(self, joint: Joint) -> None:
        """Puts each update right behind its gradient and the calls that read its parameter."""
        place_of = {call: k for k, call in enumerate(joint.calls)}
        readers: dict[fx.Node, list[Call]] = {}
        for call in joint.calls:
            for source in call.inputs:
                readers.setdefault(source, []).append(call)
        behind: dict[int, list[Call]] = {}
        end = next(iter(joint.module.graph.find_nodes(op="output")))
        for place, gradient in joint.gradients():
            if place not in self.places:
                continue
            parameter = joint.primals[place]
            with joint.module.graph.inserting_before(end):
                number = joint.tensor_number(place)
                node = joint.module.graph.create_node(
                    "call_function",
                    self.update,
                    (number, gradient),
                    name=f"update_{parameter.name}",
                )
                node.meta[UPDATE] = place
            base = joint.base[gradient]
            call = Call(node, needs=[base] if base in joint.call_of else [], once=True)
            call.ends = [reader.name for reader in readers.get(parameter, ())]
            joint.base[node] = node
            joint.call_of[node] = call
            self.calls[call] = place
            last = [place_of[each] for each in readers.get(parameter, ())]
            last += [place_of[joint.call_of[value]] for value in call.needs]
            behind.setdefault(max(last, default=joint.forward), []).append(call)
        order: list[Call] = []
        for k, call in enumerate(joint.calls):
            order += [call, *behind.get(k, ())]
        joint.calls = order
        joint.update(self.calls)

    def alone(self, place: int, joint: Joint) -> OptimizerMemory:
        """Memory of the optimizer of one parameter; of several groups the most."""
        value = joint.primals[place].meta["val"]
        key = (tuple(value.shape), tuple(value.stride()), value.dtype, value.device)
        if key not in self._alone:
            found = [
                optimizer_memory(_maker(self._template, group), [value], self._device)
                for group in self._distinct_groups()
            ]
            self._alone[key] = max(found, key=lambda each: (each.step_bytes, each.states_bytes))
        return self._alone[key]

    def _distinct_groups(self) -> list[dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for group in self._template.param_groups:
            options = {k: v for k, v in group.items() if k not in ("params", "lr", "initial_lr")}
            found.setdefault(repr(sorted(options.items())), group)
        return list(found.values())

    def update(self, number: int, gradient: torch.Tensor) -> torch.Tensor | None:
        """Runs the optimizer for one parameter; part of the backward graph.

        Args:
            number: Number of the parameter among the graph's tensor inputs.
            gradient: Its gradient.

        Returns:
            ``None``, or the gradient if the backward pass does not accumulate into the parameter,
            as in ``torch.autograd.grad``.

        Raises:
            RematError: for a parameter that the optimizer does not have, that has hooks, or that
                another pending pass shares.
        """
        node = _compat.running_node()
        leaf = None if node is None else _compat.accumulating_leaf(node, number)
        if leaf is None:
            return gradient
        group = self._group(leaf)
        if leaf._backward_hooks or leaf._post_accumulate_grad_hooks:
            raise RematError(
                "a parameter has hooks that read its gradient, which its update has freed",
                remedy="remove the hooks, or updates",
            )
        if shares_pending(node, leaf):
            raise RematError(
                "two pending forward passes share a parameter that the first backward pass updates",
                remedy="run the backward pass of one step before the next step, or leave out "
                "updates",
            )
        with torch.no_grad():
            if leaf.grad is not None:
                gradient = leaf.grad.add_(gradient)
            leaf.grad = gradient
            try:
                self._step(leaf, group)
            finally:
                leaf.grad = None
        return None

    def _step(self, leaf: torch.Tensor, group: dict[str, Any]) -> None:
        optimizer = self.optimizer
        alone = {k: False if k in AT_ONCE else v for k, v in group.items()}
        groups, optimizer.param_groups = optimizer.param_groups, [{**alone, "params": [leaf]}]
        try:
            # Without counters of schedulers and hooks, which see the step of the training loop.
            inspect.unwrap(type(optimizer).step)(optimizer)
        finally:
            optimizer.param_groups = groups

    def _group(self, leaf: torch.Tensor) -> dict[str, Any]:
        groups = self.optimizer.param_groups
        found = self._groups.get(id(leaf))
        if found is None or not any(found is group for group in groups):
            self._groups = {id(p): group for group in groups for p in group["params"]}
            found = self._groups.get(id(leaf))
        if found is None:
            raise RematError(
                f"a parameter of shape {list(leaf.shape)} is no parameter of the optimizer that "
                "updates in the backward pass",
                remedy="give it to the optimizer, or set requires_grad=False",
            )
        return found


class UpdateCosts(Costs):
    """Costs of a step whose updates are in the backward pass.

    An update reads and writes the parameter and its states, and reads the gradient, at the memory
    bandwidth. Its workspace is the most that the optimizer's step takes for it.

    Args:
        costs: Costs of all other calls.
    """

    def __init__(self, costs: Costs, updates: Updates, joint: Joint) -> None:
        self._costs, self._updates, self._joint = costs, updates, joint
        self._roofline = costs if isinstance(costs, Roofline) else Roofline()

    def nanoseconds(self, call: Call) -> int:
        if call not in self._updates.calls:
            return self._costs.nanoseconds(call)
        value = self._joint.primals[self._updates.calls[call]].meta["val"]
        states = self._updates.alone(self._updates.calls[call], self._joint).states_bytes
        traffic = 3 * storage_bytes(value) + 2 * states
        return round(1e9 * traffic / self._roofline.bytes_per_second(value.device))

    def workspace_bytes(self, call: Call) -> int:
        if call not in self._updates.calls:
            return self._costs.workspace_bytes(call)
        return self._updates.alone(self._updates.calls[call], self._joint).step_bytes

    def estimated(self) -> dict[str, str]:
        return self._costs.estimated()

    @property
    def counts_workspaces(self) -> bool:
        return self._costs.counts_workspaces

    def storages(self, call: Call) -> list[int] | None:
        return None if call in self._updates.calls else self._costs.storages(call)

    def settle(self, calls: Iterable[Call]) -> None:
        self._costs.settle(call for call in calls if call not in self._updates.calls)


def _maker(template: torch.optim.Optimizer, group: dict[str, Any]) -> Callable[..., Any]:
    """A function that makes an optimizer with the options of a group, and no states."""

    def make(parameters: Iterable[torch.Tensor]) -> torch.optim.Optimizer:
        made = copy.copy(template)
        made.__dict__ = dict(vars(template))
        # A scheduler has put a function here that steps the original.
        made.__dict__.pop("step", None)
        alone = {k: False if k in AT_ONCE else v for k, v in group.items()}
        made.param_groups = [{**alone, "params": list(parameters)}]
        made.state = defaultdict(dict)
        return made

    return make


@contextmanager
def states_kept(optimizer: Any) -> Iterator[None]:
    """Restores the states of an optimizer at the end of the block."""
    if not isinstance(optimizer, torch.optim.Optimizer):
        yield
        return

    def kept(value: Any) -> Any:
        return value.detach().to("cpu", copy=True) if isinstance(value, torch.Tensor) else value

    before = {p: {k: (v, kept(v)) for k, v in s.items()} for p, s in optimizer.state.items()}
    try:
        yield
    finally:
        optimizer.state.clear()
        with torch.no_grad():
            for parameter, state in before.items():
                for value, old in state.values():
                    if isinstance(value, torch.Tensor):
                        value.copy_(old)
                optimizer.state[parameter] = {
                    k: value if isinstance(value, torch.Tensor) else old
                    for k, (value, old) in state.items()
                }
