"""Private names of torch, and the check of its version.

Only this module of :mod:`remat_bb.torch` imports names that torch may rename without notice. It
follows torch 2.11.0.
"""

from __future__ import annotations

import logging
import operator
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from ..errors import RematError

try:
    import torch
except ImportError as error:
    raise RematError(
        "remat_bb.torch: PyTorch is not installed", remedy="pip install 'torch>=2.11'"
    ) from error

from .alarms import quiet_import, quiet_profiler  # noqa: E402

OLDEST = (2, 9)
"""Oldest version that has a custom partitioner (``torch._inductor.config``)."""
TESTED = ((2, 11), (2, 15))
"""Oldest and newest version that the tests have run with."""


def check_version(text: str) -> None:
    """Checks a version of torch against the known versions.

    Raises:
        RematError: the version is older than :data:`OLDEST`.

    A version outside :data:`TESTED` gives a warning.
    """
    found = re.match(r"(\d+)\.(\d+)", text)
    version = (int(found[1]), int(found[2])) if found else (0, 0)
    if version < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise RematError(
            f"remat_bb.torch: torch {text} has no custom partitioner",
            remedy=f"install torch {oldest} or later",
        )
    if not TESTED[0] <= version <= TESTED[1]:
        first, last = (".".join(map(str, end)) for end in TESTED)
        tested = first if first == last else f"{first} to {last}"
        warnings.warn(
            f"remat_bb.torch was tested with torch {tested}, this is {text}: compare gradients "
            "with those of a step without recomputation first",
            stacklevel=3,
        )


check_version(torch.__version__)

with quiet_import("torch.utils.flop_counter"):
    # Other modules of torch import it as well. The first import logs a message about Triton.
    from torch.utils.flop_counter import flop_registry

import torch._dynamo.config as dynamo_config  # noqa: E402
import torch._functorch.config as functorch_config  # noqa: E402
import torch._inductor.config as inductor_config  # noqa: E402
import torch.fx as fx  # noqa: E402
from torch._dispatch.python import no_python_dispatcher  # noqa: E402
from torch._dynamo.backends.common import aot_autograd  # noqa: E402
from torch._dynamo.backends.debugging import boxed_nop  # noqa: E402
from torch._dynamo.exc import BackendCompilerFailed, Unsupported  # noqa: E402
from torch._functorch._aot_autograd import descriptors  # noqa: E402
from torch._functorch.partitioners import (  # noqa: E402
    _extract_fwd_bwd_outputs as split_outputs,
)
from torch._functorch.partitioners import _is_primal as is_primal  # noqa: E402
from torch._functorch.partitioners import _is_tangent as is_tangent  # noqa: E402
from torch._functorch.partitioners import (  # noqa: E402
    cleanup_recompute_tags,
    default_partition,
    estimate_runtime,
    must_recompute,
)
from torch._guards import detect_fake_mode  # noqa: E402
from torch._inductor import custom_graph_pass  # noqa: E402
from torch._inductor.compile_fx import compile_fx, compile_fx_inner  # noqa: E402
from torch._ops import HigherOrderOperator, OpOverload, OpOverloadPacket  # noqa: E402
from torch._prims.rng_prims import run_and_save_rng_state, run_with_rng_state  # noqa: E402
from torch._subclasses.fake_tensor import (  # noqa: E402
    FakeTensor,
    FakeTensorMode,
    unset_fake_temporarily,
)
from torch.fx import node as fx_node  # noqa: E402
from torch.fx._lazy_graph_module import _make_graph_module as make_graph_module  # noqa: E402
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols  # noqa: E402
from torch.fx.node import has_side_effect  # noqa: E402
from torch.library import _defs as library_definitions  # noqa: E402
from torch.multiprocessing.reductions import StorageWeakRef  # noqa: E402
from torch.utils._ordered_set import OrderedSet  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402
from torch.utils._pytree import tree_leaves  # noqa: E402

SavedForBackwardsAOTOutput = descriptors.SavedForBackwardsAOTOutput
# torch 2.9 checks the version of every saved tensor.
SavedForBackwardsNoVcCheckAOTOutput = getattr(
    descriptors, "SavedForBackwardsNoVcCheckAOTOutput", SavedForBackwardsAOTOutput
)

InputMutationAOTOutput = descriptors.InputMutationAOTOutput

CustomGraphPass = custom_graph_pass.CustomGraphPass
CustomPartitionerFn = custom_graph_pass.CustomPartitionerFn
# torch 2.9 has no class of solvers and accepts functions.
CustomKnapsackSolver: Any = getattr(custom_graph_pass, "CustomKnapsackSolver", object)

# Listed so that linters count the names as used: other modules import them from here.
__all__ = [
    "BackendCompilerFailed",
    "CustomGraphPass",
    "CustomKnapsackSolver",
    "CustomPartitionerFn",
    "FakeTensor",
    "FakeTensorMode",
    "HigherOrderOperator",
    "InputMutationAOTOutput",
    "OpOverload",
    "OpOverloadPacket",
    "OrderedSet",
    "REDUCTION",
    "SavedForBackwardsAOTOutput",
    "SavedForBackwardsNoVcCheckAOTOutput",
    "StorageWeakRef",
    "TorchDispatchMode",
    "Unsupported",
    "accumulating_leaf",
    "aot_autograd",
    "backward_at_once",
    "boxed_nop",
    "break_in",
    "call_inputs",
    "changed_number",
    "cleanup_recompute_tags",
    "compile_fx",
    "compiled_node",
    "constant_of",
    "default_partition",
    "depends_on_data",
    "dynamo_for_plans",
    "estimate_runtime",
    "flop_registry",
    "fx",
    "has_own_generator",
    "has_side_effect",
    "inductor_config",
    "input_number",
    "is_backward",
    "is_collective",
    "is_defined_in_python",
    "is_compiled_node",
    "is_effect",
    "is_getitem",
    "is_primal",
    "is_profiled",
    "is_random",
    "is_region",
    "is_tangent",
    "is_view",
    "keeps_graph",
    "leaf_numbers",
    "leaves_of",
    "logs_skipped",
    "make_graph_module",
    "must_recompute",
    "no_python_dispatcher",
    "output_descriptors",
    "partition_region",
    "run_and_save_rng_state",
    "run_with_rng_state",
    "running_node",
    "split_outputs",
    "traced_memory",
    "tracing_mode",
    "unset_fake_temporarily",
    "watched_inductor",
    "with_dispatch",
]


_HIDDEN_VIEWS = (
    torch.ops.aten._unsafe_view.default,
    torch.ops.aten.unsafe_split.Tensor,
    torch.ops.aten.unsafe_split_with_sizes.default,
)


WAIT = "_c10d_functional::wait_tensor"
"""The wait for a collective, which returns its argument."""

REDUCTION = getattr(torch.Tag, "reduction", None)
"""Mark of operators that reduce; ``None`` before torch 2.10."""


def keeps_graph() -> bool:
    """Returns true if the running backward pass keeps its graph."""
    return bool(torch._C._autograd._get_current_graph_task_keep_graph())


def running_node() -> Any:
    """The running node of autograd's graph; ``None`` outside of backward passes."""
    return torch._C._current_autograd_node()


def compiled_node(node: Any) -> Any:
    """The autograd node of the compiled graph that made a tensor or its base; ``None`` for other
    tensors."""
    while node is not None and type(node).__name__ != "CompiledFunctionBackward":
        edges = node.next_functions
        node = edges[0][0] if len(edges) == 1 else None
    return node


def leaf_numbers(node: Any) -> set[int]:
    """Identities of the leaves whose gradients a node makes."""
    leaves = (getattr(edge[0], "variable", None) for edge in node.next_functions)
    return {id(leaf) for leaf in leaves if leaf is not None}


def accumulating_leaf(node: Any, place: int) -> Any:
    """The leaf behind a tensor input of a compiled graph, for its gradient from the backward pass.
    ``None`` if the input is no leaf, or if this pass does not accumulate into it, as in
    ``torch.autograd.grad``."""
    edges = node.next_functions
    target = edges[place][0] if place < len(edges) else None
    leaf = getattr(target, "variable", None)
    if leaf is None:
        return None
    try:
        return leaf if torch._C._will_engine_execute_node(target) else None
    except RuntimeError:
        # torch.autograd.grad captures the gradient.
        return None


def leaves_of(output: torch.Tensor) -> Iterator[torch.Tensor]:
    """Leaves that accumulate gradients in the backward pass of a tensor."""
    stack, seen = [output.grad_fn], set()
    while stack:
        node = stack.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if (leaf := getattr(node, "variable", None)) is not None:
            yield leaf
        stack += [edge[0] for edge in node.next_functions]


def input_number(node: fx.Node) -> int | None:
    """The number of a joint graph's input among the inputs of Dynamo's graph; ``None`` if it is not
    one of these."""
    return getattr(node.meta.get("desc"), "idx", None)


def call_inputs(module: fx.GraphModule) -> frozenset[int]:
    """Numbers of the tensor inputs of Dynamo's graph that do not belong to modules."""
    places = set()
    for place, node in enumerate(module.graph.find_nodes(op="placeholder")):
        source = getattr(node.meta.get("grapharg"), "source", None)
        if isinstance(node.meta.get("example_value"), torch.Tensor) and source is not None:
            of = source.guard_source
            if not (of.is_unspecialized_nn_module() or of.is_specialized_nn_module()):
                places.add(place)
    return frozenset(places)


def changed_number(descriptor: Any) -> int | None:
    """The number of the input of Dynamo's graph that receives an output of a forward graph as its
    new value; ``None`` for other outputs."""
    return getattr(getattr(descriptor, "mutated_input", None), "idx", None)


LOGGER_METHODS = ("debug", "info", "warn", "error", "exception", "critical", "fatal", "log")
"""Beginnings of the names of methods that write to a log."""


class _Methods(str):
    """A collection of the methods of loggers that JSON sees as a string. After compiling, torch
    writes its configuration as JSON, which has no functions."""

    def __iter__(self) -> Iterator[Any]:
        methods = vars(logging.Logger).items()
        return iter([method for name, method in methods if name.startswith(LOGGER_METHODS)])

    def __contains__(self, wanted: object) -> bool:
        return any(method is wanted for method in self)


@contextmanager
def logs_skipped() -> Iterator[None]:
    """Leaves calls of loggers out of graphs compiled in the block. Each call would break the
    graph."""
    key = "ignore_logging_functions"
    if not hasattr(dynamo_config, key):
        key = "ignore_logger_methods"
    if getattr(dynamo_config, key):
        # A choice of the user stays.
        yield
        return
    with dynamo_config.patch(**{key: _Methods()}):
        yield


LIMITS = ("recompile_limit", "accumulated_recompile_limit")
"""Compilations of one piece of code that Dynamo keeps. Behind them it runs the code as it is, or
fails with ``fullgraph=True``."""


@contextmanager
def dynamo_for_plans(**settings: Any) -> Iterator[None]:
    """Sets Dynamo's settings for calls of planned functions, and given others.

    The number of compilations is unlimited unless the user wants a failure at the limit. Graphs are
    not split for the buckets of data parallel modules. Marks of dynamic sizes are ignored, because
    each size has its own plan. Integers of modules may become numbers, as floats do. Dynamo notices
    frozen and unfrozen parameters and new hooks.
    """
    changes: dict[str, Any] = {
        "allow_ignore_mark_dynamic": True,
        "allow_unspec_int_on_nn_module": True,
        "skip_nnmodule_hook_guards": False,
        "skip_tensor_guards_with_matching_dict_tags": False,
        **settings,
    }
    if not dynamo_config.fail_on_recompile_limit_hit:
        changes.update(dict.fromkeys(LIMITS, sys.maxsize))
    if dynamo_config.optimize_ddp in (True, "ddp_optimizer"):
        changes["optimize_ddp"] = False
    # torch's own fast path for changing settings around calls.
    revert = dynamo_config._make_closure_patcher(**changes)()
    try:
        yield
    finally:
        revert()


def _hand_on_regions() -> None:
    """Makes ``torch.compile`` run calls of a function in the context of its backend.

    ``torch._dynamo.optimize`` reads the attribute ``backend_ctx_ctor`` of a backend, but the
    wrapper class of ``torch.compile`` drops it. Backends without a region stay unchanged. The
    attribute is set when the wrapper stores its backend, because the search for a backend by name
    may import this module in between.
    """
    wrapper = torch._TorchCompileWrapper

    def handing_on(self: Any, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        region = getattr(value, "remat_bb_region", None) if name == "compiler_fn" else None
        if region is not None:
            object.__setattr__(self, "backend_ctx_ctor", region.call)

    wrapper.__setattr__ = handing_on  # type: ignore[method-assign, assignment]


_hand_on_regions()


def is_compiled_node(node: Any) -> bool:
    """Returns true for the node of autograd that stands for a compiled graph."""
    return node.name() == "CompiledFunctionBackward"


def constant_of(number: Any) -> int | float | bool | None:
    """The value of a constant symbolic number, ``None`` for other ones."""
    if isinstance(number, torch.SymInt):
        return number.node.maybe_as_int()
    if isinstance(number, torch.SymFloat):
        return number.node.maybe_as_float()
    return number.node.maybe_as_bool()


def depends_on_data(number: torch.SymInt) -> bool:
    """Returns true for a size that is unknown before the graph runs."""
    return bool(free_unbacked_symbols(number))


@contextmanager
def with_dispatch() -> Iterator[None]:
    """Turns the dispatch of fake tensors on in the block, where torch has turned it off."""
    excluded = torch._C._dispatch_tls_local_exclude_set()
    for key in (torch._C.DispatchKey.Python, torch._C.DispatchKey.PythonTLSSnapshot):
        excluded = excluded.remove(key)
    with torch._C._ForceDispatchKeyGuard(torch._C._dispatch_tls_local_include_set(), excluded):
        yield


def is_profiled() -> bool:
    """Returns true while a profiler runs."""
    return bool(torch.autograd._profiler_enabled())


def break_in(module: Any) -> str | None:
    """The reason and the place of the graph break that ends a graph of Dynamo; ``None`` if the
    graph ends with its function."""
    reason = getattr(module, "compile_subgraph_reason", None)
    if reason is None or not reason.graph_break:
        return None
    words = str(reason.reason).strip().splitlines()
    place = reason.user_stack[-1] if reason.user_stack else None
    where = f" ({place.filename}:{place.lineno})" if place is not None else ""
    return f"{words[0] if words else 'graph break'}{where}"


def backward_at_once() -> Any:
    """A context in which AOTAutograd compiles the backward graph together with the forward graph,
    not in the first backward pass. Versions of torch without this setting compile it later."""
    if not hasattr(functorch_config, "force_non_lazy_backward_lowering"):
        return nullcontext()
    return functorch_config.patch(force_non_lazy_backward_lowering=True)


def watched_inductor(
    over: Callable[[Any, bool], Any], note: Callable[[Any, Any, bool], None]
) -> Callable[..., Any]:
    """Inductor's compiler of one graph, whose result runs as ``over(run, is_backward)``.

    Args:
        note: Called with the compiled graph, its inputs, and true for a backward graph.
    """

    def compiled(module: Any, inputs: Any, **options: Any) -> Any:
        code = compile_fx_inner(module, inputs, **options)
        run = getattr(code, "current_callable", None)
        if run is not None and not options.get("is_inference"):
            is_backward = bool(options.get("is_backward"))
            note(code, inputs, is_backward)
            code.current_callable = over(run, is_backward)
        return code

    return compiled


def tracing_mode() -> Any:
    """The mode of fake tensors of the running compilation; ``None`` outside."""
    return detect_fake_mode()


def is_random(node: fx.Node) -> bool:
    """Returns true if an operator draws random numbers."""
    return torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())


def has_own_generator(node: fx.Node) -> bool:
    """Returns true if a call draws from a generator among its arguments."""
    parts = tree_leaves((node.args, node.kwargs))
    values = (x.meta.get("val") if isinstance(x, fx.Node) else x for x in parts)
    return any(isinstance(value, torch.Generator) for value in values)


def is_defined_in_python(target: OpOverload) -> bool:
    """Returns true for an operator that ``torch.library`` has defined in this process."""
    return target.name() in library_definitions


def is_view(node: fx.Node) -> bool:
    """Returns true if a call returns views of its first tensor: by its schema, as an operator that
    hides the view from autograd, or as the wait for a collective."""
    target = node.target
    if not isinstance(target, OpOverload):
        return False
    return target.is_view or target in _HIDDEN_VIEWS or target.name() == WAIT


def is_backward(node: fx.Node) -> bool:
    """Returns true if the node was traced during the backward pass."""
    return node.meta.get("partitioner_tag") in ("is_backward", "must_be_in_backward")


def is_collective(node: fx.Node) -> bool:
    """Returns true if a call communicates with other processes."""
    return isinstance(node.target, OpOverload) and "c10d" in node.target.namespace


def is_effect(target: Any) -> bool:
    """Returns true for functions that torch keeps because of side effects: asserts, profiler
    ranges, switches of modes."""
    try:
        return target in fx_node._side_effectful_functions
    except TypeError:
        return False


def is_getitem(node: fx.Node) -> bool:
    """Returns true if the node picks one output of a call."""
    return node.op == "call_function" and node.target is operator.getitem


def is_region(joint_inputs: Any) -> bool:
    """Returns true for the joint graph of a region (``nested_compile_region``), which torch
    partitions before the joint graph of the model and without inputs."""
    return isinstance(joint_inputs, list) and not joint_inputs


def partition_region(module: fx.GraphModule, joint_inputs: Any, **options: Any) -> Any:
    """The graphs of a region, which save all values that its backward pass reads. The region is one
    call of the plan, which may run again."""
    options.pop("compiler", None)
    return default_partition(module, joint_inputs, **options)


def output_descriptors(saved: list[fx.Node], no_check: int, sizes: int = 0) -> list[Any]:
    """Descriptors of saved tensors, from position ``no_check`` on without a check of the version
    counter, and of ``sizes`` saved sizes behind them."""
    return [
        SavedForBackwardsNoVcCheckAOTOutput(k)
        if no_check <= k < len(saved)
        else SavedForBackwardsAOTOutput(k)
        for k in range(len(saved) + sizes)
    ]


@contextmanager
def traced_memory() -> Iterator[list[tuple[str, int, int]]]:
    """Records events of torch's CPU allocator in the block. At its end the list has ``(name, start
    in ns, bytes)`` for each allocation (``"[memory]"``, negative when freed) and each
    ``record_function`` label, in order of time."""
    from torch.profiler import ProfilerActivity, profile

    found: list[tuple[str, int, int]] = []
    options = {"activities": [ProfilerActivity.CPU], "profile_memory": True, "acc_events": True}
    with quiet_profiler(), profile(**options) as profiler:
        yield found
    events = profiler.profiler.kineto_results.events()
    for event in events:
        name = event.name()
        if name == "[memory]":
            if str(event.device_type()).endswith("CPU"):
                found.append((name, event.start_ns(), event.nbytes()))
        elif name.startswith("remat:"):
            found.append((name, event.start_ns(), 0))
    found.sort(key=lambda event: event[1])
