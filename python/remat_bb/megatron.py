"""The best list of Megatron's ``recompute_modules`` within a budget, from the shapes of a model.

Megatron computes the modules of such a list again in the backward pass. For ``layernorm``,
``moe_act`` and ``mla_up_proj`` only the output is discarded; for ``core_attn``, ``mlp``, ``moe``
and ``shared_experts`` everything within the module, whose input stays. Each list is another
program. This module builds the program of each list, and judges it by its replayed cost and peak.

Tensors that Megatron saves are those of Korthikanti et al., "Reducing Activation Recomputation in
Large Transformer Models", MLSys 2023, section 4, with flash attention and a gated activation.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, fields

from . import _native
from ._amounts import amount
from ._names import cost_of
from ._traced import Device, Operation, Value, check_device, document
from .errors import InfeasibleBudget, InvalidArgument, InvalidType

__all__ = ["Listed", "ListPlan", "Model", "best_list", "program"]

DISCARDING = ("layernorm", "moe_act", "mla_up_proj")
"""Modules whose output alone is discarded."""
CHECKPOINTED = ("core_attn", "mlp", "moe", "shared_experts")
"""Modules that are checkpointed as a whole."""
H100 = Device(flops=5e14, bytes_per_second=2.6e12, launch_ns=3000)
"""Rates that large kernels of one H100 reach in bfloat16."""
NEEDED = ("layers", "hidden", "heads", "tokens", "sequence", "in_flight", "tensor_parallel")
"""Numbers of a model that are at least 1."""
HALF, FULL = 2, 4
"""Bytes of a number in bfloat16 and in float32."""


@dataclass(frozen=True)
class Model:
    """Shapes of the layers on one GPU.

    Attributes:
        layers: Layers on this GPU.
        hidden: Width of the residual stream.
        heads, kv_heads, head_width: Attention heads, those of keys and values, and their width;
            by default as many as heads, and hidden / heads.
        ffn: Inner width of dense layers or of the shared expert; 0 for none.
        experts, top_k, moe_ffn: Experts, those for each token, and their inner width; 0 for dense
            layers.
        q_rank, kv_rank: Ranks of multi-head latent attention; 0 for plain attention.
        vocabulary: Words; 0 without embedding and loss on this GPU.
        tokens: Tokens of a micro-batch on this GPU: sequence times batch.
        sequence: Length of a sequence.
        in_flight: Micro-batches whose forward pass precedes the first backward pass.
        tensor_parallel: GPUs that share each layer; sequence parallelism is on.
        fixed_bytes: Memory of weights, gradients and optimizer.
    """

    layers: int
    hidden: int
    heads: int
    tokens: int
    sequence: int
    kv_heads: int = 0
    head_width: int = 0
    ffn: int = 0
    experts: int = 0
    top_k: int = 0
    moe_ffn: int = 0
    q_rank: int = 0
    kv_rank: int = 0
    vocabulary: int = 0
    in_flight: int = 1
    tensor_parallel: int = 1
    fixed_bytes: int = 0

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            least = 1 if each.name in NEEDED else 0
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise InvalidArgument(
                    f"{each.name}: {value!r} is no whole number from {least} on",
                    remedy="give the model's shape",
                )
        self._check_parts()
        if not self.ffn and not self.experts:
            raise InvalidArgument(
                "ffn: the layers have neither a dense part nor experts",
                remedy="give ffn=, or experts=, top_k= and moe_ffn=",
            )
        if self.experts and not (self.top_k and self.moe_ffn):
            raise InvalidArgument(
                "experts: top_k and moe_ffn are missing", remedy="give top_k= and moe_ffn="
            )
        if self.experts and self.top_k > self.experts:
            raise InvalidArgument(
                f"top_k: {self.top_k} is more than the {self.experts} experts",
                remedy="give the experts of each token",
            )

    def _check_parts(self) -> None:
        """Raises :class:`InvalidArgument` for sizes that do not divide."""
        for name, whole, part in (
            ("kv_heads", self.heads, self.kv_heads or self.heads),
            ("tensor_parallel", self.heads, self.tensor_parallel),
            ("tensor_parallel", self.hidden, self.tensor_parallel),
        ):
            if whole % part:
                raise InvalidArgument(
                    f"{name}: {part} does not divide {whole}", remedy="give a divisor"
                )

    def modules(self) -> tuple[str, ...]:
        """Modules of these layers that Megatron can compute again."""
        found = ["core_attn", "layernorm"]
        if self.q_rank or self.kv_rank:
            found.append("mla_up_proj")
        if self.experts:
            found += ["moe_act", "moe"] + (["shared_experts"] if self.ffn else [])
        else:
            found.append("mlp")
        return tuple(found)


@dataclass(frozen=True)
class Listed:
    """A list, and what it does.

    Attributes:
        modules: The list; empty for no recomputation.
        cost: Time of the step in nanoseconds.
        peak_memory_bytes: Peak of the step.
        overhead: Extra time over the step without recomputation, as a fraction.
        saved_bytes: Peak without recomputation less this peak; negative if it is higher.
    """

    modules: tuple[str, ...]
    cost: int
    peak_memory_bytes: int
    overhead: float
    saved_bytes: int


@dataclass(frozen=True)
class ListPlan:
    """The cheapest list within a budget.

    Attributes:
        recompute_modules: The list.
        budget_bytes: The budget.
        best: Time and peak of the list.
        all: All lists, by time.
    """

    recompute_modules: tuple[str, ...]
    budget_bytes: int
    best: Listed
    all: tuple[Listed, ...]

    @property
    def arguments(self) -> list[str]:
        """Options of Megatron's command line."""
        if not self.recompute_modules:
            return []
        return ["--recompute-granularity", "selective", "--recompute-modules"] + list(
            self.recompute_modules
        )

    def __str__(self) -> str:
        size = _native.format_bytes
        lines = [
            f"recompute_modules: {' '.join(self.recompute_modules) or 'none'}, peak "
            f"{size(self.best.peak_memory_bytes)} of {size(self.budget_bytes)}, "
            f"{self.best.overhead:.2%} more time (best of {len(self.all)} lists)"
        ]
        for each in self.all:
            if len(each.modules) == 1:
                sign = "-" if each.saved_bytes >= 0 else "+"
                lines.append(
                    f"  {each.modules[0]:<15} {sign}{size(abs(each.saved_bytes)):>10} "
                    f"{each.overhead:7.2%} more time"
                )
        return "\n".join(lines)


def best_list(model: Model, budget: int | str, device: Device = H100) -> ListPlan:
    """The list of ``recompute_modules`` that keeps a budget in least time. All lists are tried.

    Args:
        model: Shapes of the layers.
        budget: Memory of the GPU: bytes or an amount such as ``"80GiB"``.
        device: Device for the costs.

    Raises:
        InvalidBudget: the budget cannot be read.
        InfeasibleBudget: no list fits; the error has the least peak.
    """
    if not isinstance(model, Model):
        raise InvalidType(f"model: {model!r:.60} is no Model", remedy="give Model(layers=.., ..)")
    check_device(device)
    limit = amount(budget, "the budget")
    names = model.modules()
    lists = [c for k in range(len(names) + 1) for c in itertools.combinations(names, k)]
    judged = [(modules, program(model, modules, device)) for modules in lists]
    base, peak = cost_of(judged[0][1]), judged[0][1].peak_memory_bytes
    found = []
    for modules, instance in judged:
        cost, needed = cost_of(instance), instance.peak_memory_bytes
        found.append(Listed(modules, cost, needed, cost / base - 1.0, peak - needed))
    found.sort(key=lambda each: (each.cost, each.peak_memory_bytes, each.modules))
    best = next((each for each in found if each.peak_memory_bytes <= limit), None)
    if best is None:
        least = min(found, key=lambda each: each.peak_memory_bytes)
        raise InfeasibleBudget(
            f"no list of recompute_modules fits into {_native.format_bytes(limit)}; "
            f"{' '.join(least.modules) or 'no recomputation'} needs "
            f"{_native.format_bytes(least.peak_memory_bytes)}",
            remedy=f"give {least.peak_memory_bytes} bytes, fewer tokens, or more GPUs",
            budget_bytes=limit,
            needed_bytes=least.peak_memory_bytes,
        )
    return ListPlan(best.modules, limit, best, tuple(found))


def program(
    model: Model, recompute_modules: Sequence[str], device: Device = H100
) -> _native.Instance:
    """The training step of a list as an instance: its nodes run once each, in this order.

    Raises:
        InvalidArgument: a module is unknown, or the layers do not have it.
    """
    for name in recompute_modules:
        if name not in model.modules():
            raise InvalidArgument(
                f"recompute_modules: the layers have no module {name!r}",
                remedy=f"one of {', '.join(model.modules())}",
            )
    step = _Step(model, frozenset(recompute_modules))
    operations, results = step.written()
    return _native.Instance(
        document(operations, results, model.fixed_bytes, "Megatron's step", device)
    )


@dataclass(frozen=True)
class _Operator:
    """An operator of the forward pass.

    Attributes:
        module: Its module in Megatron.
        inputs, output: Names of values.
        numbers, width: Elements of the output, and bytes of each.
        work: Floating point operations.
        saves: Values that its backward operator reads.
        aside: Bytes of a by-product that its backward operator reads.
    """

    module: str
    inputs: tuple[str, ...]
    output: str
    numbers: int
    work: float = 0.0
    saves: tuple[str, ...] = ()
    width: int = HALF
    aside: int = 0


def _layer(model: Model) -> list[_Operator]:
    """The operators of a layer, from ``x`` to ``y``."""
    tokens, hidden, parts = model.tokens, model.hidden, model.tensor_parallel
    stream = tokens * hidden // parts
    width = model.head_width or hidden // model.heads
    queries = model.heads * width // parts
    keys = (model.kv_heads or model.heads) * width // parts
    found = [_Operator("layernorm", ("x",), "norm1", stream, 8.0 * stream, ("x",))]
    if model.q_rank or model.kv_rank:
        rank = model.q_rank + model.kv_rank
        found += [
            _product("qkv_down_proj", "norm1", "down", tokens, hidden, rank),
            _product("mla_up_proj", "down", "qkv", tokens, rank, queries + 2 * keys),
        ]
    else:
        found.append(_product("qkv_linear", "norm1", "qkv", tokens, hidden, queries + 2 * keys))
    # A causal mask halves the products of scores and of values.
    attention = 2.0 * tokens * model.sequence * queries
    logs = tokens * max(1, model.heads // parts) * FULL
    found += [
        _Operator(
            "core_attn",
            ("qkv",),
            "context",
            tokens * queries,
            attention,
            ("qkv", "context"),
            aside=logs,
        ),
        _Operator(
            "attn_proj",
            ("context",),
            "attended",
            stream,
            2.0 * tokens * queries * hidden,
            ("context",),
        ),
        _Operator("add", ("x", "attended"), "middle", stream, float(stream)),
        _Operator("layernorm", ("middle",), "norm2", stream, 8.0 * stream, ("middle",)),
    ]
    ends = []
    if model.experts:
        routed = tokens * model.top_k
        found += [
            _Operator(
                "router",
                ("norm2",),
                "scores",
                tokens * model.experts,
                2.0 * tokens * hidden * model.experts,
                ("norm2",),
                width=FULL,
            ),
            _Operator("moe", ("norm2", "scores"), "sent", routed * hidden, 0.0, ("scores",)),
            *_gated("moe", "moe_act", "sent", "experts", routed, hidden, model.moe_ffn),
            _Operator("moe", ("experts",), "combined", stream, float(routed * hidden)),
        ]
        ends.append("combined")
    if model.ffn:
        module = "shared_experts" if model.experts else "mlp"
        inner = model.ffn // parts
        found += _gated(module, module, "norm2", "dense", tokens, hidden, inner)
        ends.append("dense")
    found.append(_Operator("add", ("middle", *ends), "y", stream, float(stream)))
    return found


def _product(module: str, source: str, output: str, rows: int, width: int, to: int) -> _Operator:
    return _Operator(module, (source,), output, rows * to, 2.0 * rows * width * to, (source,))


def _gated(
    module: str, act: str, source: str, output: str, rows: int, width: int, inner: int
) -> list[_Operator]:
    """A gated product: two products side by side, the activation, and a product back."""
    up, bent = f"{output}.up", f"{output}.act"
    return [
        _product(module, source, up, rows, width, 2 * inner),
        _Operator(act, (up,), bent, rows * inner, 8.0 * rows * inner, (up,)),
        _product(module, bent, output, rows, inner, width),
    ]


class _Step:
    """Writes the operations of a step."""

    def __init__(self, model: Model, chosen: frozenset[str]) -> None:
        self.model, self.chosen = model, chosen
        self.layer = _layer(model)
        self.operations: list[Operation] = []
        self.values: dict[tuple[int, int, str], Value] = {}
        # Values that recomputation has made again.
        self.again: dict[tuple[int, int, str], Value] = {}

    def written(self) -> tuple[list[Operation], list[Value]]:
        """The operations, and the values at the end."""
        model = self.model
        stream = HALF * model.tokens * model.hidden // model.tensor_parallel
        batches = range(model.in_flight)
        for batch in batches:
            entry = self._add("embedding", f"{batch}.embedding", stream, [], float(stream))
            for k in range(model.layers):
                self.values[batch, k, "x"] = entry
                for operator in self.layer:
                    self._forward(batch, k, operator)
                entry = self.values[batch, k, "y"]
        gradients = []
        for batch in batches:
            gradient = self._loss(batch, stream)
            for k in reversed(range(model.layers)):
                gradient = self._backward(batch, k, gradient)
            gradients.append(gradient)
        # The gradient of the embedding's output is read there.
        done = self._add("embedding", "embedding.backward", 0, gradients, 0.0)
        return self.operations, [done]

    def _add(
        self,
        op: str,
        name: str,
        size: int,
        inputs: Sequence[Value],
        work: float,
        aside: int = 0,
    ) -> Value:
        made = Value(name, size)
        others = [Value(f"{name}.aside", aside)] if aside else []
        self.operations.append(Operation(op, [made, *others], list(inputs), work=work))
        return made

    def _forward(self, batch: int, k: int, operator: _Operator, prefix: str = "") -> Value:
        at = {**self.values, **(self.again if prefix else {})}
        inputs = [at[batch, k, name] for name in operator.inputs]
        name = f"{prefix}{batch}.{k}.{operator.output}"
        size = operator.numbers * operator.width
        made = self._add(operator.module, name, size, inputs, operator.work, operator.aside)
        into = self.again if prefix else self.values
        into[batch, k, operator.output] = made
        if operator.aside:
            into[batch, k, f"{operator.output}.aside"] = self.operations[-1].outputs[1]
        return made

    def _loss(self, batch: int, stream: int) -> Value:
        """The gradient of the last layer's output."""
        model = self.model
        last = self.values[batch, model.layers - 1, "y"]
        if not model.vocabulary:
            return self._add("receive", f"{batch}.gradient", stream, [last], 0.0)
        words = model.tokens * model.vocabulary // model.tensor_parallel
        work = 2.0 * words * model.hidden
        logits = self._add("output_layer", f"{batch}.logits", HALF * words, [last], work)
        lost = self._add("loss", f"{batch}.loss", FULL * words, [logits], 8.0 * words)
        return self._add("output_layer", f"{batch}.gradient", stream, [lost, last], 2 * work)

    def _backward(self, batch: int, k: int, gradient: Value) -> Value:
        """The backward pass of a layer: the gradient of its input from that of its output."""
        of: dict[str, list[Value]] = {"y": [gradient]}
        for operator in reversed(self.layer):
            arriving = of.pop(operator.output)
            saved = [self._saved(batch, k, name, operator) for name in operator.saves]
            if operator.aside:
                saved.append(self._saved(batch, k, f"{operator.output}.aside", operator))
            name = f"{batch}.{k}.{operator.output}.backward"
            sizes = [self.values[batch, k, source].nbytes for source in operator.inputs]
            if operator.module == "add":
                # Gradients of added values are the same tensor.
                for source in operator.inputs:
                    of.setdefault(source, []).extend(arriving)
                continue
            # Products and attention have gradients of both factors.
            factor = 2.0 if operator.work > 16.0 * operator.numbers else 1.0
            inputs = list(dict.fromkeys([*arriving, *saved]))
            made = self._add(
                operator.module, name, sizes[0], inputs, factor * operator.work, sum(sizes[1:])
            )
            outputs = [made, *self.operations[-1].outputs[1:]]
            for source, value in zip(operator.inputs, outputs):
                of.setdefault(source, []).append(value)
        parts = list(dict.fromkeys(of["x"]))
        return self._add("add", f"{batch}.{k}.x.backward", parts[0].nbytes, parts, 0.0)

    def _saved(self, batch: int, k: int, name: str, reader: _Operator) -> Value:
        """A value for the backward pass: saved, or computed again."""
        key = (batch, k, name)
        if key in self.again:
            return self.again[key]
        producer = next((o for o in self.layer if name.startswith(o.output + ".aside")), None)
        producer = producer or next((o for o in self.layer if o.output == name), None)
        if producer is None or not self._is_dropped(producer, name, reader):
            return self.values[key]
        for source in producer.inputs:
            self._saved(batch, k, source, producer)
        self._forward(batch, k, producer, "again.")
        return self.again[key]

    def _is_dropped(self, producer: _Operator, name: str, reader: _Operator) -> bool:
        """Returns true if a value is not saved for a backward operator."""
        module, chosen = producer.module, self.chosen
        if module in DISCARDING and module in chosen:
            return True
        around = {"moe_act": "moe"}.get(module, module)
        inside = {"moe_act": "moe"}.get(reader.module, reader.module)
        # A checkpoint keeps what leaves the module, and drops what its own backward pass reads.
        return around in CHECKPOINTED and around in chosen and inside == around
