"""Steps of modules that ``fully_shard`` (FSDP2) has sharded: gathers are nodes of the graph.

``torch.compile`` traces no hook of ``fully_shard``. During a call of a step these hooks are off,
and each sharded parameter is replaced by a stub of full shape without memory. Dynamo traces the
module as if it were whole. Then :func:`lowered` replaces each stub in Dynamo's graph by the shard
of this rank and an all-gather in front of its first reader. The derivative of the all-gather is the
reduce-scatter that ``fully_shard`` runs: the same sums in every bit.

The plan decides which gathered parameters are kept for the backward pass and which are gathered
again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._pytree import tree_map

from ..errors import InvalidArgument
from . import _compat, _compat_ranks
from ._compat import fx

SHARD = "_remat_shard"
"""Attribute of stubs, and of the autograd nodes of shards: the :class:`Shard`."""


class Shard:
    """The shard of a parameter on this rank.

    Args:
        parameter: The parameter, as ``fully_shard`` keeps it.
        group: Its group of parameters.
    """

    def __init__(self, parameter: Any, group: Any) -> None:
        self.parameter = parameter
        self.group = group
        self.places = _compat_ranks.fsdp_places(parameter)
        self.stub = torch.nn.Parameter(self._empty(), requires_grad=False)
        setattr(self.stub, SHARD, self)

    def _empty(self) -> torch.Tensor:
        """A tensor of the parameter's full shape without memory."""
        held = self.parameter
        kind = held.param_dtype or held.orig_dtype
        made = torch.empty(held._orig_size, dtype=kind, device=self.group.device)
        made.untyped_storage().resize_(0)
        return made

    @property
    def leaf(self) -> Any:
        """The parameter that the optimizer steps: a ``DTensor``."""
        return self.parameter.sharded_param

    @property
    def data(self) -> torch.Tensor:
        """This rank's values in one dimension, padded to equal length on all ranks."""
        data: torch.Tensor = self.parameter._sharded_param_data
        return data

    def local(self) -> torch.Tensor:
        """The input of the graph: the padded values, connected with the leaf."""
        found: torch.Tensor = _Local.apply(self.leaf, self)
        return found

    def part(self, gradient: torch.Tensor) -> torch.Tensor:
        """This rank's gradient out of a padded one."""
        held = self.parameter
        return gradient.as_strided(held.sharded_size, held.contiguous_sharded_stride, 0)

    def gathering(self) -> tuple[Any, ...]:
        """Arguments of :func:`gathered` behind the shard."""
        held, mesh = self.parameter, self.parameter.mesh_info
        kind, before, after = _compat_ranks.fsdp_reduction(held, self.group)
        group = mesh.shard_process_group
        size = tuple(held._orig_size)
        return size, held.param_dtype, kind, before, after, group.group_name, group.size()


class _Local(torch.autograd.Function):
    """The padded values of a shard; the gradient becomes a ``DTensor``."""

    @staticmethod
    def forward(ctx: Any, leaf: torch.Tensor, shard: Shard) -> torch.Tensor:
        ctx.set_materialize_grads(False)
        setattr(ctx, SHARD, shard)
        return shard.data.detach()

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor | None) -> Any:  # type: ignore[override]
        if gradient is None:
            return None, None
        shard: Shard = getattr(ctx, SHARD)
        return shard.parameter.to_sharded_dtensor(shard.part(gradient)), None


class _Gathered(torch.autograd.Function):
    """All-gather of a shard; the derivative is a reduce-scatter."""

    @staticmethod
    def forward(
        ctx: Any,
        shard: torch.Tensor,
        size: tuple[int, ...],
        kind: torch.dtype | None,
        sums: torch.dtype,
        before: float | None,
        after: float | None,
        group: str,
        ranks: int,
    ) -> torch.Tensor:
        ctx.reduction = sums, before, after, group, ranks
        ctx.shard = shard.numel(), shard.dtype
        part = shard if kind is None else shard.to(kind)
        whole = _compat_ranks.all_gather(part, group, ranks)
        count = 1
        for length in size:
            count *= length
        return whole.narrow(0, 0, count).view(size)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:  # type: ignore[override]
        sums, before, after, group, ranks = ctx.reduction
        count, kind = ctx.shard
        # As fully_shard does it: padded, converted, averaged, converted back.
        flat = gradient.to(sums).reshape(-1)
        if missing := count * ranks - flat.numel():
            flat = torch.nn.functional.pad(flat, (0, missing))
        if before is not None and before != 1.0:
            flat = flat / before
        flat = _compat_ranks.reduce_scatter(flat, "avg" if after is None else "sum", group, ranks)
        if after is not None and after != 1.0:
            flat = flat / after
        return flat.to(kind), *[None] * 7


def gathered(shard: torch.Tensor, *arguments: Any) -> torch.Tensor:
    """The whole parameter of a shard."""
    found: torch.Tensor = _Gathered.apply(shard, *arguments)
    return found


def shard_of(tensor: Any) -> Shard | None:
    """The shard of a stub; ``None`` for other values."""
    return getattr(tensor, SHARD, None) if isinstance(tensor, torch.nn.Parameter) else None


class Lowered:
    """A graph of Dynamo whose stubs are shards and gathers.

    Args:
        shards: Shards by the numbers of the graph's inputs.
    """

    def __init__(self, shards: dict[int, Shard]) -> None:
        self.shards = shards

    def given(self, inputs: Sequence[Any]) -> list[Any]:
        """The inputs of the changed graph for inputs of the original."""
        return [x if (shard := shard_of(x)) is None else shard.local() for x in inputs]

    def traced(self, inputs: Sequence[Any]) -> list[Any]:
        """The inputs for tracing: shards have fixed sizes, which Dynamo has not seen."""
        mode = _compat.tracing_mode()
        if mode is None:
            return list(inputs)
        fixed = {
            place: mode.from_tensor(inputs[place], static_shapes=True) for place in self.shards
        }
        return [fixed.get(place, each) for place, each in enumerate(inputs)]


def lowered(module: fx.GraphModule, inputs: Sequence[Any]) -> Lowered | None:
    """Replaces stubs among the inputs of a graph of Dynamo by shards and gathers; ``None`` without
    stubs."""
    shards = {place: shard for place, x in enumerate(inputs) if (shard := shard_of(x)) is not None}
    if not shards:
        return None
    places = list(module.graph.find_nodes(op="placeholder"))
    for place, shard in shards.items():
        node = places[place]
        value = node.meta.pop("example_value", None)
        first = next((each for each in module.graph.nodes if each in node.users), None)
        if first is None:
            continue
        with module.graph.inserting_before(first):
            made = module.graph.call_function(gathered, (node, *shard.gathering()))
        made.meta = {"example_value": value, "stack_trace": first.meta.get("stack_trace")}
        node.replace_all_uses_with(made, delete_user_cb=lambda user, made=made: user is not made)
    module.recompile()
    return Lowered(shards)


class Sharding:
    """All parameters of some modules that ``fully_shard`` has sharded.

    Args:
        modules: Modules with a state of ``fully_shard``, outer ones first.
    """

    def __init__(self, modules: Sequence[torch.nn.Module]) -> None:
        self.states = list(dict.fromkeys(_compat_ranks.fsdp_state(each) for each in modules))
        self._start()
        self.shards = [
            Shard(parameter, group)
            for state in self.states
            for group in _compat_ranks.fsdp_groups(state)
            for parameter in group.fsdp_params
        ]

    def _start(self) -> None:
        for state in self.states:
            # The outermost module starts all modules within it.
            state._lazy_init()

    @contextmanager
    def active(self) -> Iterator[None]:
        """Replaces parameters by stubs, and turns the hooks of ``fully_shard`` off.

        Raises:
            InvalidArgument: for settings of ``fully_shard`` that no plan covers.
        """
        self._start()
        for shard in self.shards:
            self._check(shard)
        hooks = [each for state in self.states for each in self._hooks(state)]
        parameters = [(*place, shard) for shard in self.shards for place in shard.places]
        held = [module._parameters[name] for module, name, _ in parameters]
        kept = [table[key] for table, key, _ in hooks]
        try:
            for module, name, shard in parameters:
                shard.stub.requires_grad_(shard.leaf.requires_grad)
                module._parameters[name] = shard.stub
            for table, key, hook in hooks:
                table[key] = hook
            yield
        finally:
            for (module, name, _), before in zip(parameters, held, strict=True):
                module._parameters[name] = before
            for (table, key, _), before in zip(hooks, kept, strict=True):
                table[key] = before

    def _check(self, shard: Shard) -> None:
        reason = _compat_ranks.fsdp_refusal(shard.parameter, shard.group)
        if reason is not None:
            name = shard.parameter._param_fqn or shard.places[0][1]
            raise InvalidArgument(
                f"fully_shard: parameter {name}: {reason}",
                remedy="use fully_shard on a mesh of one dimension with its defaults or a "
                "MixedPrecisionPolicy, or train this module without a plan",
            )

    def _hooks(self, state: Any) -> Iterator[tuple[dict[int, Any], int, Callable[..., Any]]]:
        """Hooks in place of the hooks of a state: they only convert types."""
        policy = state._mp_policy
        before = policy.param_dtype if policy.cast_forward_inputs else None
        for table, key, is_before in _compat_ranks.fsdp_hooks(state):
            kind = before if is_before else policy.output_dtype
            yield table, key, (_converts_inputs(kind) if is_before else _converts_outputs(kind))


_HOOKS: dict[Any, Any] = {}


def _converts_inputs(kind: torch.dtype | None) -> Callable[..., Any]:
    """A hook that converts floating point arguments of a module."""

    def convert(module: Any, arguments: Any, options: Any) -> Any:
        if kind is None:
            return None
        return tree_map(converted, arguments), tree_map(converted, options)

    converted = _conversion(kind)
    return _HOOKS.setdefault(("inputs", kind), convert)  # type: ignore[no-any-return]


def _converts_outputs(kind: torch.dtype | None) -> Callable[..., Any]:
    """A hook that converts floating point results of a module."""

    def convert(module: Any, arguments: Any, output: Any) -> Any:
        return None if kind is None else tree_map(converted, output)

    converted = _conversion(kind)
    return _HOOKS.setdefault(("outputs", kind), convert)  # type: ignore[no-any-return]


def _conversion(kind: torch.dtype | None) -> Callable[[Any], Any]:
    def converted(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.is_floating_point():
            return value.to(kind)
        return value

    return converted
