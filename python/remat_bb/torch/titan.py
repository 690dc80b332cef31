"""Door for torchtitan: its graph trainer takes tags from a search within a budget.

torchtitan stays as installed. Its option ``--module`` names the Python module with its
configurations, and this module offers all of the graph trainer's, with two options more:

>>> # torchrun ... -m torchtitan.train --module remat_bb.torch.titan \\
>>> #     --config graph_trainer_llama3_8b --compile.memory_budget 40GiB

Configurations of your own call :func:`with_budget`. The guide is
``docs/guides/pytorch/torchtitan.md``.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import importlib
import importlib.util
import logging
import os
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any

import torch

from .. import errors
from ._compat import fx
from .amounts import amount
from .cost import Costs, Measured, Roofline
from .link import Link
from .ranks import exchanged
from .step_graph import StepGraph, name_gradient_sums
from .tag_replay import Layout, Tags
from .tag_search import Found, TagSearch
from .titan_tags import as_executed, copied, put, taken

try:
    from torchtitan.experiments.graph_trainer import (  # type: ignore[import-not-found]
        configs,
        registry,
    )
    from torchtitan.tools.logging import logger  # type: ignore[import-not-found]
except ImportError as error:
    raise errors.InvalidArgument(
        f"torchtitan: its graph trainer cannot be imported: {error}",
        remedy="install torchtitan 0.3.0 or later beside torch",
    ) from error

NAME = "remat_bb"
"""Name of the policy: ``--compile.memory_policy remat_bb``."""
VARIABLE = "REMAT_BB_BUDGET"
"""Environment variable with the budget, if the option is not given."""
RIVALS = ("default", "full", "eager", "sac_and_offload")
"""Policies of torchtitan whose tags are starts of the search."""
GPU = Roofline(flops=4e14, bytes_per_second=2.5e12, launch_ns=2000)
"""Costs on a GPU: matrix products in bfloat16 and memory traffic as on an H100, and the launch in a
captured graph. Only ratios matter, and every rank has the same."""


@dataclasses.dataclass(kw_only=True, slots=True)
class CompileConfig(configs.GraphTrainerCompileConfig):
    """Options of the graph trainer, with those of the budget."""

    memory_policy: str = NAME
    """Policy: remat_bb, or one of torchtitan's (default, full, eager, sac_and_offload)."""

    memory_budget: str = ""
    """Budget of remat_bb for one step: bytes, an amount such as 40GiB, or a share such as 60% of
    the peak without recomputation. Parameters, inputs, activations and gradients count, states of
    the optimizer do not. Empty: the environment variable REMAT_BB_BUDGET."""

    memory_link: str = "pcie4"
    """Link to host memory for copies: pcie3, pcie4, pcie5, gh200, gb300 or a speed such as
    24GB/s. Empty: no copies. cpu_offload_budget_gb limits their size."""

    memory_costs: str = "roofline"
    """Times of operators: roofline, or measured (one process only)."""


def with_budget(config: Any, budget: int | str = "", **options: Any) -> Any:
    """Sets the policy of a ``GraphTrainer.Config``.

    Args:
        config: The configuration, which is changed.
        budget: As ``memory_budget`` of :class:`CompileConfig`.
        options: Further fields of :class:`CompileConfig`.

    Returns:
        The configuration.

    Raises:
        InvalidArgument: it is not a configuration of the graph trainer.
    """
    given = getattr(config, "compile", None)
    if not isinstance(given, configs.GraphTrainerCompileConfig):
        raise errors.InvalidArgument(
            f"config: {type(config).__qualname__} is no configuration of torchtitan's graph "
            "trainer",
            remedy="give one such as graph_trainer_llama3_8b() returns",
        )
    fields = {f.name: getattr(given, f.name) for f in dataclasses.fields(given)}
    fields |= {"memory_policy": NAME, "memory_budget": str(budget), **options}
    config.compile = CompileConfig(**fields)
    return config


@functools.cache
def _registries() -> list[Any]:
    """Modules with torchtitan's configurations of the graph trainer."""
    import torchtitan.experiments.graph_trainer as home  # type: ignore[import-not-found]

    found = []
    for each in pkgutil.iter_modules(home.__path__):
        name = f"{home.__name__}.{each.name}.config_registry"
        if each.ispkg and importlib.util.find_spec(name) is not None:
            found.append(importlib.import_module(name))
    return found


def __getattr__(name: str) -> Callable[[], Any]:
    if name.startswith("graph_trainer_"):
        for module in _registries():
            made = getattr(module, name, None)
            if callable(made):
                return lambda: with_budget(made())
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    names = {n for m in _registries() for n in dir(m) if n.startswith("graph_trainer_")}
    return sorted(names | {"with_budget"})


@registry.register_memory_policy(NAME)
def policy(gm: fx.GraphModule, *, config: Any) -> fx.GraphModule:
    """Tags the forward nodes of a step: torchtitan calls this with ``memory_policy="remat_bb"``.

    Raises:
        InvalidArgument: no budget was given.
        InvalidBudget: the budget cannot be read.
        InfeasibleBudget: no tags were found within it.
        UnsupportedGraph: the graph cannot be read.
        RematError: ranks found different tags.
    """
    options = config.compile
    name_gradient_sums(gm.graph)
    step = StepGraph(gm.graph, _costs(options, gm))
    search = _search(gm, step, config)
    budget = budget_bytes(options, search)
    found = search.best(budget)
    _check_ranks(found, config)
    put(gm, step, found.tags)
    _report(search, found, budget)
    if not as_executed(gm, step, found.tags, search.link, search.layout):
        logger.warning(
            "remat_bb: torchtitan's passes build another graph than the one whose peak was counted"
        )
    return gm


def _search(gm: fx.GraphModule, step: StepGraph, config: Any) -> TagSearch:
    options = config.compile
    link = str(getattr(options, "memory_link", "pcie4"))
    disabled = getattr(options, "disable_passes", ())
    copies = bool(link) and _on_gpu(gm) and "apply_cpu_offload_pass" not in disabled
    limit = int(options.cpu_offload_budget_gb * 2**30)
    return TagSearch(
        step,
        Link.of(link or "pcie4"),
        layout=Layout(options.cpu_offload_prefetch_n_layers, options.cpu_offload_defer_n_layers),
        offload=copies,
        host_bytes=limit if limit > 0 else None,
        policies=rivals(gm, step, config, copies),
    )


def rivals(
    gm: fx.GraphModule, step: StepGraph, config: Any, copies: bool = True
) -> dict[str, Tags]:
    """Tags that torchtitan's own policies give a step.

    Args:
        gm: The graph, which stays unchanged.
        step: The same graph, read.
        copies: False leaves out the policy that copies to the host.
    """
    found: dict[str, Tags] = {}
    for name in RIVALS:
        if name not in registry.MEMORY_POLICY_REGISTRY or (name == RIVALS[-1] and not copies):
            continue
        other, nodes = copied(gm)
        with _quiet():
            registry.MEMORY_POLICY_REGISTRY[name](other, config=config)
        found[name] = taken(step, nodes)
    return found


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Leaves out torchtitan's messages about tags that are not the plan's."""
    before = logger.manager.disable
    logging.disable(logging.INFO)
    try:
        yield
    finally:
        logging.disable(before)


def budget_bytes(options: Any, search: TagSearch) -> int:
    """The budget in bytes.

    Raises:
        InvalidArgument: no budget was given.
        InvalidBudget: it cannot be read.
    """
    given = str(getattr(options, "memory_budget", "") or os.environ.get(VARIABLE, "")).strip()
    if not given:
        raise errors.InvalidArgument(
            "memory_budget: none was given",
            remedy=f"add --compile.memory_budget 40GiB, or set {VARIABLE}",
        )
    if given.endswith("%"):
        try:
            return int(search.unplanned.peak_bytes * float(given[:-1]) / 100)
        except ValueError as error:
            raise errors.InvalidBudget(
                f"memory_budget: {given!r} is no percentage", remedy="give 60%"
            ) from error
    return amount(int(given) if given.isdigit() else given, "memory_budget")


def _costs(options: Any, gm: fx.GraphModule) -> Costs:
    word = str(getattr(options, "memory_costs", "roofline"))
    if word not in ("roofline", "measured"):
        raise errors.InvalidArgument(
            f"memory_costs: {word!r} is no way to find times", remedy="roofline or measured"
        )
    if word == "measured":
        if _processes() > 1:
            raise errors.InvalidArgument(
                "memory_costs: measured times differ between processes, and so would their plans",
                remedy="--compile.memory_costs roofline",
            )
        return Measured()
    return GPU if _on_gpu(gm) else Roofline()


def _on_gpu(gm: fx.GraphModule) -> bool:
    values = (node.meta.get("val") for node in gm.graph.find_nodes(op="placeholder"))
    return any(isinstance(v, torch.Tensor) and v.device.type != "cpu" for v in values)


def _processes() -> int:
    there = torch.distributed.is_available() and torch.distributed.is_initialized()
    return torch.distributed.get_world_size() if there else 1


def _check_ranks(found: Found, config: Any) -> None:
    """Compares the tags of all ranks, which run the same graph unless pipeline stages differ."""
    if _processes() == 1 or config.parallelism.pipeline_parallel_degree > 1:
        return
    own = tuple(sorted(found.tags.items()))
    if len(set(exchanged(hash_of(own)))) > 1:
        raise errors.RematError(
            "ranks found different tags, so their collectives would not meet: they traced "
            "different graphs",
            remedy="give every rank the same model, batch and options",
        )


def hash_of(tags: Any) -> str:
    """A text that is equal on two ranks for equal tags."""
    return hashlib.sha256(repr(tags).encode()).hexdigest()


def _report(search: TagSearch, found: Found, budget: int) -> None:
    base = search.unplanned
    logger.info(
        "remat_bb: counted peak %s of %s allowed, %s without tags; step %+.2f%%; %d replays",
        *map(_gib, (found.executed.peak_bytes, budget, base.peak_bytes)),
        added_percent(search, found.executed.time_ns),
        found.replays,
    )
    for start in search.starts:
        if start.name in RIVALS:
            fits = "fits" if start.executed.peak_bytes <= budget else "exceeds the budget"
            logger.info(
                "remat_bb: policy %s: counted peak %s, step %+.2f%%, %s",
                start.name,
                _gib(start.executed.peak_bytes),
                added_percent(search, start.executed.time_ns),
                fits,
            )


def added_percent(search: TagSearch, time_ns: int) -> float:
    """Added time of a step, in percent of the step without tags."""
    base = search.unplanned.time_ns
    return 100.0 * (time_ns - base) / base if base else 0.0


def _gib(size: int) -> str:
    return f"{size / 2**30:.3f} GiB"


def _pool(trainer: Any) -> None:
    """Reuses pinned buffers for copies, as torchtitan does for its own policy with copies."""
    if trainer.config.compile.memory_policy == NAME and trainer.device.type != "cpu":
        from torch._functorch._activation_offloading.offload_ops import pinned_memory_pool

        trainer._pinned_pool_ctx = pinned_memory_pool()
        trainer._pinned_pool_ctx.__enter__()


if "default" not in registry.POST_INIT_HOOKS:
    registry.register_post_init_hook("default")(_pool)
