"""Private names of torch for training by several processes: FSDP2, DDP and functional collectives.

Like :mod:`remat_bb.torch._compat`, for torch 2.11 to 2.15.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import distributed

from ._compat import WAIT, OpOverload, fx

if distributed.is_available():
    import torch.distributed._functional_collectives  # noqa: F401  (registers the operators)

GATHERS = ("all_gather_into_tensor",)
"""Functional collectives whose result depends on their argument alone, on all ranks."""


def _collective(name: str) -> Any:
    return getattr(torch.ops._c10d_functional, name).default


def is_wait(node: fx.Node) -> bool:
    """Returns true for the wait behind an asynchronous collective. It returns its argument."""
    target = node.target
    return isinstance(target, OpOverload) and target.name() == WAIT


def is_gather(node: fx.Node) -> bool:
    """Returns true for an all-gather, which every rank may run again."""
    target = node.target
    if not isinstance(target, OpOverload) or target.namespace != "_c10d_functional":
        return False
    return target._schema.name.partition("::")[2] in GATHERS


def all_gather(source: torch.Tensor, group: str, size: int) -> torch.Tensor:
    """The tensors of all ranks of a group, one behind the other along the first dimension."""
    made = _collective("all_gather_into_tensor")(source, size, group)
    return _collective("wait_tensor")(made)  # type: ignore[no-any-return]


def reduce_scatter(source: torch.Tensor, kind: str, group: str, size: int) -> torch.Tensor:
    """This rank's part of the sum (``"sum"``) or mean (``"avg"``) over a group."""
    made = _collective("reduce_scatter_tensor")(source, kind, size, group)
    return _collective("wait_tensor")(made)  # type: ignore[no-any-return]


def fsdp_state(module: torch.nn.Module) -> Any:
    """The state that ``fully_shard`` has attached to a module; ``None`` for other modules."""
    from torch.distributed.fsdp._fully_shard._fsdp_state import _get_module_fsdp_state

    return _get_module_fsdp_state(module)


def fsdp_groups(state: Any) -> list[Any]:
    """Groups of parameters of a state of ``fully_shard``."""
    # torch before 2.14 has one group for a state.
    groups = getattr(state, "_fsdp_param_groups", None)
    return list(groups) if groups is not None else [g for g in [state._fsdp_param_group] if g]


def fsdp_places(parameter: Any) -> list[tuple[torch.nn.Module, str]]:
    """Modules that hold a sharded parameter, each with its name there."""
    info = parameter._module_info
    return [
        (info.module, info.param_name),
        *zip(info.shared_modules, info.shared_param_names, strict=True),
    ]


def fsdp_hooks(state: Any) -> Iterator[tuple[dict[int, Any], int, bool]]:
    """Hooks of a state around forward passes: the module's hooks, the key among them, and true for
    a hook before the pass."""
    handles = {id(h): h for h in (state._pre_forward_hook_handle, state._post_forward_hook_handle)}
    for handle in handles.values():
        for each in getattr(handle, "handles", (handle,)):
            hooks = each.hooks_dict_ref()
            if hooks is not None and each.id in hooks:
                yield hooks, each.id, any(hooks is m._forward_pre_hooks for m in state._modules)


def fsdp_reduction(parameter: Any, group: Any) -> tuple[torch.dtype, float | None, float | None]:
    """The type in which ``fully_shard`` sums up gradients of a parameter, and the divisors before
    and after the sum; without divisors the mean is taken instead of a sum."""
    from torch.distributed.fsdp._fully_shard import _fsdp_collectives

    kind = parameter.reduce_dtype
    if kind is None:
        # From torch 2.15 on gradients follow the type of the shard.
        follows = getattr(parameter, "sharded_grad_dtype", None)
        kind = follows or parameter.param_dtype or parameter.orig_dtype
    before, after, operation, _ = _fsdp_collectives._get_gradient_divide_factors(
        group._reduce_scatter_process_group, None, kind, group.device.type, None, False
    )
    if operation == distributed.ReduceOp.AVG:
        return kind, None, None
    return kind, before or 1.0, after or 1.0


def fsdp_refusal(parameter: Any, group: Any) -> str | None:
    """The reason why gathers of a sharded parameter cannot be part of a plan; ``None`` if they
    can."""
    from torch.distributed.fsdp._fully_shard import _fsdp_common

    mesh = parameter.mesh_info
    if type(mesh) is not _fsdp_common.FSDPMeshInfo:
        return "the mesh replicates as well (HSDP), and plans cover meshes of one dimension"
    if parameter.is_dtensor:
        return "it is a DTensor before sharding (tensor parallel), and plans cover plain tensors"
    if parameter.fsdp_placement.dim != 0:
        return f"it is sharded along dimension {parameter.fsdp_placement.dim}, not 0"
    if parameter.offload_to_cpu:
        return "CPUOffloadPolicy copies it to the host, which no plan counts"
    if hasattr(parameter._sharded_local_tensor, "fsdp_pre_all_gather"):
        return "its tensor has its own all-gather (fsdp_pre_all_gather)"
    if not group.reduce_grads:
        return "set_requires_gradient_sync(False) keeps whole gradients, which no plan counts"
    if group.gradient_divide_factor is not None:
        return "set_gradient_divide_factor changes how gradients are averaged"
    if group._all_reduce_hook is not None:
        return "set_all_reduce_hook changes how gradients are averaged"
    if getattr(group, "force_sum_reduction_for_comms", False):
        return "set_force_sum_reduction_for_comms changes how gradients are averaged"
    return None


def ddp_bucket_bytes(module: Any) -> int:
    """Bytes of the buckets in which a DistributedDataParallel averages gradients."""
    return sum(p.nbytes for p in module.parameters() if p.requires_grad)


def interleaved_actions(
    device: int, devices: int, chunks: int, microbatches: int
) -> list[tuple[int, bool, int]]:
    """Passes of a device under ``ScheduleInterleaved1F1B``: stage, true for a backward pass, and
    number of the micro-batch.

    Args:
        devices: Number of devices.
        chunks: Stages on each of them.
        microbatches: Micro-batches of one step.
    """
    from torch.distributed.pipelining import schedules

    # An object without stages, because stages need a process group.
    order = object.__new__(schedules.ScheduleInterleaved1F1B)
    order.pp_group_size, order.n_local_stages = devices, chunks
    order._n_microbatches = microbatches
    order.number_of_rounds = max(1, microbatches // devices)
    order.microbatches_per_round = microbatches // order.number_of_rounds
    found = order._calculate_single_rank_operations(device)
    return [
        (action.stage_index, action.computation_type != schedules.FORWARD, action.microbatch_index)
        for action in found
        if action is not None and action.is_compute_op
    ]


def releases_sends() -> bool:
    """True if schedules of pipelines release sent tensors before the step ends."""
    from torch.distributed.pipelining import schedules

    return hasattr(schedules, "_wait_and_release_fwd_send")
