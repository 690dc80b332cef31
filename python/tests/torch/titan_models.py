"""torchtitan's graph trainer on the processor, one process: its own methods trace, tag and run."""

from __future__ import annotations

import importlib
import logging
from dataclasses import dataclass, fields
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, fx
from torch.utils._python_dispatch import _disable_current_modes
from torchtitan.components.loss import CrossEntropyLoss
from torchtitan.distributed.utils import get_spmd_context
from torchtitan.experiments.graph_trainer.chunked_loss import ChunkedLossWrapperWithParamGrads
from torchtitan.experiments.graph_trainer.common_utils import annotate_module_fqns
from torchtitan.experiments.graph_trainer.make_fx_tracer import (
    extract_train_state,
    minimal_fx_tracer,
)
from torchtitan.experiments.graph_trainer.remove_noop_passes import (
    canonicalize_graph_pass,
    eliminate_dead_code_pass,
)
from torchtitan.experiments.graph_trainer.trainer import GraphTrainer, make_fwd_bwd_step

from remat_bb.torch import titan
from remat_bb.torch.live import Live, _Frugal

WORDS = 2048
"""Size of the vocabulary of torchtitan's debug models."""
KERNELS = ["annotate_flex_attention_for_regional_inductor_pass", "regional_inductor_pass"]
"""Passes that compile kernels, and find none without FlexAttention."""


@dataclass
class Run:
    """A trainer with a batch.

    Attributes:
        trainer: torchtitan's, without its loop, data and process group.
        model: Its model.
        batch: Arguments of :meth:`GraphTrainer.forward_backward_step`.
    """

    trainer: Any
    model: torch.nn.Module
    batch: dict[str, Any]

    def step(self) -> tuple[Tensor, list[Tensor]]:
        """Loss and gradients of a step."""
        self.model.zero_grad(set_to_none=True)
        loss = self.trainer.forward_backward_step(**self.batch)
        return loss, [p.grad for p in self.model.parameters()]


def quiet() -> None:
    """Leaves out torchtitan's messages."""
    logging.getLogger().setLevel(logging.WARNING)


def run_of(kind: str, length: int = 128, batch: int = 2, chunks: int = 0, **options: Any) -> Run:
    """A debug model of torchtitan with attention that runs on the processor.

    Args:
        kind: ``"llama3"``, ``"qwen3"`` or ``"deepseek_v3"``.
        length: Words of a text.
        chunks: Parts of the loss, as in torchtitan's own configurations; 0 for one.
        options: Fields of :class:`titan.CompileConfig`.
    """
    home = importlib.import_module(f"torchtitan.experiments.graph_trainer.{kind}")
    spec = home.model_registry("debugmodel", attn_backend="sdpa")
    torch.manual_seed(0)
    with torch.device("meta"):
        model = spec.model.build()
    model.to_empty(device="cpu")
    with torch.no_grad():
        model.init_states(buffer_device=None)
    annotate_module_fqns(model)
    plain = CrossEntropyLoss.Config(global_vocab_size=WORDS)
    trainer = object.__new__(GraphTrainer)
    if chunks:
        loss: Any = ChunkedLossWrapperWithParamGrads.Config(num_chunks=chunks, loss_fn=plain)
        trainer.loss_fn = loss.build()
        trainer.loss_fn.set_lm_head(model.lm_head)
        model._skip_lm_head = True
    else:
        loss = plain
        trainer.loss_fn = loss.build()
    trainer.model_parts = [model]
    one = SimpleNamespace(pp_enabled=False, cp_enabled=False, tp=1)
    one.get_optional_mesh = lambda names: None
    trainer.parallel_dims = one
    trainer.train_context = get_spmd_context()
    trainer.model_config = spec.model
    trainer.device = torch.device("cpu")
    trainer.tokenizer = None
    trainer.ntokens_seen = 0
    trainer._traced_step = None
    given = {"enable": True, "disable_passes": ["cudagraph_pass", *KERNELS], **options}
    trainer.config = SimpleNamespace(
        compile=titan.CompileConfig(**given),
        model_spec=SimpleNamespace(model=spec.model),
        loss=loss,
        parallelism=SimpleNamespace(
            pipeline_parallel_degree=1,
            tensor_parallel_degree=1,
            data_parallel_shard_degree=1,
            context_parallel_degree=1,
            expert_parallel_degree=1,
            fsdp_reshard_after_forward="default",
            spmd_backend="partial_dtensor",
        ),
    )
    words, labels = (torch.randint(0, WORDS, (batch, length)) for _ in range(2))
    places = torch.arange(length, dtype=torch.int32)[None].expand(batch, length)
    return Run(
        trainer,
        model,
        {
            "input_dict": {"input": words, "positions": places},
            "labels": labels,
            "global_valid_tokens": torch.tensor(float(labels.numel())),
        },
    )


def traced(run: Run) -> tuple[fx.GraphModule, list[Any]]:
    """The graph of a step before a policy tags it, and values of its inputs."""
    inputs, labels, more = run.trainer.post_dataloading_process(
        dict(run.batch["input_dict"]), run.batch["labels"]
    )
    given = (inputs, labels, run.batch["global_valid_tokens"], more)
    step = make_fwd_bwd_step(run.model, run.trainer.loss_fn)
    with run.trainer.train_context():
        made = minimal_fx_tracer(step, module=run.model)(*given)
    gm = canonicalize_graph_pass(eliminate_dead_code_pass(made.gm))
    state, _ = extract_train_state(run.model, None)
    leaves = torch.utils._pytree.tree_leaves(({"model": state, "optim": {}}, given))
    return gm, leaves


def option_fields(config: Any) -> set[str]:
    """Names of the options of a configuration."""
    return {field.name for field in fields(config)}


class _Device(Live):
    """Counts without storages on the host."""

    def __init__(self, held: list[Tensor]) -> None:
        self.host: list[Tensor] = []
        super().__init__(held)

    def _add(self, tensor: Tensor) -> None:
        key = tensor.untyped_storage()._cdata
        if all(key != each.untyped_storage()._cdata for each in self.host):
            super()._add(tensor)


class _WithCopies(_Frugal):
    """Runs copies to the host, which need a GPU, as copies on the processor."""

    def __init__(self, module: fx.GraphModule, counted: _Device) -> None:
        super().__init__(module)
        self._counted = counted

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        name = str(target)
        if name == "ao.offload.default":
            with _disable_current_modes():
                self._counted.host.append(args[0].clone())
            return self._counted.host[-1]
        if name == "ao.wait_tensor.default":
            return args[0]
        if name == "ao.reload.default":
            made = torch.empty_strided(args[2], args[3], dtype=args[0].dtype)
            with _disable_current_modes():
                made.copy_(args[0])
            return made
        return super().call_function(target, args, kwargs)


def measured(module: fx.GraphModule, inputs: list[Any]) -> tuple[Any, int]:
    """Outputs and peak of an executed graph, as ``measure_graph``, without bytes on the host."""
    counted = _Device([x for x in inputs if isinstance(x, Tensor)])
    run = _WithCopies(module, counted)
    with torch.no_grad(), counted:
        outputs = run.boxed_run(list(inputs))
    return outputs, counted.peak_bytes
