"""Costs and workspaces of operator calls: measured, or from a roofline."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch.utils._pytree import tree_flatten, tree_map

from . import _compat, clock, collectives, opaque, rates
from ._compat import fx
from .partition import Call
from .retained import storages

_MEASURED: dict[tuple[Any, ...], Measurement] = {}
_REFUSED: dict[tuple[Any, ...], str] = {}
"""Why calls could not be measured."""
_STORAGES: dict[tuple[Any, ...], list[int]] = {}
"""Bytes of the storages of results that were run, by call."""
_ELSEWHERE: dict[tuple[Any, ...], dict[int, torch.device]] = {}
"""Devices of results, by call and place, that are on another one than the trace says. Seed and
offset of fused attention are on the processor in a run and on the GPU in a trace, and its backward
kernel reads them there (torch, ``_meta_registrations.py``, Note [Seed and Offset])."""


class Measurement(NamedTuple):
    """A measured call.

    Attributes:
        nanoseconds: Time of its kernels, or of the call on the processor.
        issue_nanoseconds: Time of the processor that issues it; 0 on the processor.
        workspace_bytes: Memory besides inputs and outputs.
    """

    nanoseconds: int
    issue_nanoseconds: int
    workspace_bytes: int


class Costs:
    """Costs of calls in nanoseconds and hidden workspaces in bytes."""

    def nanoseconds(self, call: Call) -> int:
        """Time of one run."""
        raise NotImplementedError

    def workspace_bytes(self, call: Call) -> int:
        """Memory that a run takes besides its inputs and outputs, and frees at its end."""
        raise NotImplementedError

    def estimated(self) -> dict[str, str]:
        """Operators whose costs are estimates because a measurement failed, each with the
        reason."""
        return {}

    @property
    def counts_workspaces(self) -> bool:
        """False if workspaces are unknown and count as 0."""
        return True

    def storages(self, call: Call) -> list[int] | None:
        """Bytes of the storage of each output in a run; ``None`` if unknown."""
        return None

    def settle(self, calls: Iterable[Call]) -> None:
        """Called with all calls of a step before its costs are read."""


class Roofline(Costs):
    """Costs from work and memory traffic, without running calls.

    Args:
        flops: Floating point operations a second; ``None``: by device and type of each call.
        bytes_per_second: Memory bandwidth; ``None``: by device.
        launch_ns: Launch time of each call; ``None``: by device.
        device: Name of a device of :data:`rates.KNOWN` in place of those of the tensors.

    The cost of a call is the longer of the two times (Williams et al., CACM 2009), plus the launch.
    """

    def __init__(
        self,
        flops: float | None = None,
        bytes_per_second: float | None = None,
        launch_ns: int | None = None,
        device: str | None = None,
    ) -> None:
        given = {"flops": flops, "bytes_per_second": bytes_per_second, "launch_ns": launch_ns}
        self._given: dict[str, Any] = {k: v for k, v in given.items() if v is not None}
        self._rates = None if device is None else rates.named(device)

    def nanoseconds(self, call: Call) -> int:
        if call.node.op == "placeholder":
            return 0
        values = [n.meta.get("val") for n in (*call.node.all_input_nodes, *call.values)]
        traffic = sum(_touched_bytes(value) for value in values)
        made = next((x for x in tree_flatten(values)[0] if isinstance(x, torch.Tensor)), None)
        result = next(
            (x for v in call.values for x in tree_flatten(v.meta.get("val"))[0] if _is_float(x)),
            made,
        )
        device = self.rates_on(None if result is None else result.device).of(
            None if result is None else result.dtype, _is_product(call.node)
        )
        device = replace(device, **self._given)
        return device.nanoseconds(_flops(call.node), traffic)

    def rates_on(self, device: torch.device | None) -> rates.Rates:
        """Rates of a device of the graph."""
        return rates.rates_of(device) if self._rates is None else self._rates

    def bytes_per_second(self, device: torch.device | None) -> float:
        """Memory bandwidth of a device of the graph."""
        given = self._given.get("bytes_per_second")
        return self.rates_on(device).bytes_per_second if given is None else float(given)

    def workspace_bytes(self, call: Call) -> int:
        return 0

    @property
    def counts_workspaces(self) -> bool:
        return False


def _is_float(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dtype.is_floating_point


class Measured(Costs):
    """Costs from runs of each distinct call on the device of its tensors.

    Times are the least of ``repeats`` runs on the processor, and their median on a GPU; torch's
    allocator gives workspaces. Results are kept for the life of the process. Inputs are made for
    one call at a time.

    On a GPU a step takes as long as its kernels, or as the processor takes to issue them. If all
    calls of a step take longer to issue, each call costs the longer of the two
    (:attr:`is_issue_bound`).

    Inputs have made-up values, so only torch's own operators (``aten``, ``prims``) are run.
    Operators that raise, and all others, get the costs of a :class:`Roofline` and no workspace.
    """

    def __init__(self, repeats: int = 5, times: bool = True) -> None:
        self.repeats = repeats if times else 0
        self.roofline = None if times else Roofline()
        self.is_issue_bound = False
        """True if the processor takes longer to issue the step than the GPU to compute it."""
        self._estimated: dict[str, str] = {}

    def settle(self, calls: Iterable[Call]) -> None:
        measured = [self._measured(call) for call in calls]
        issue = sum(each.issue_nanoseconds for each in measured)
        self.is_issue_bound = issue > sum(each.nanoseconds for each in measured)
        if any(each.issue_nanoseconds for each in measured):
            devices = {x.device for call in calls for x in _tensors(call.node)}
            for device in (d for d in devices if d.type == "cuda"):
                clock.forget(device)

    def nanoseconds(self, call: Call) -> int:
        if call.node.op == "placeholder":
            return 0
        if self.roofline is not None:
            return self.roofline.nanoseconds(call)
        found = self._measured(call)
        if self.is_issue_bound:
            return max(found.nanoseconds, found.issue_nanoseconds)
        return found.nanoseconds

    def workspace_bytes(self, call: Call) -> int:
        return self._measured(call).workspace_bytes

    def storages(self, call: Call) -> list[int] | None:
        self._measured(call)
        return None if call.node.op == "placeholder" else _STORAGES.get(_key(call.node))

    def _measured(self, call: Call) -> Measurement:
        if call.node.op == "placeholder" or opaque.changes(call.node):
            return Measurement(0, 0, 0)
        on_gpu = any(x.is_cuda for x in _tensors(call.node))
        settings = clock.kernel_settings() if on_gpu else ()
        key = (self.repeats > 0, settings, *_key(call.node))
        if key not in _MEASURED:
            if _compat.is_collective(call.node):
                _REFUSED[key] = collectives.ESTIMATED
            elif (reason := opaque.why_not_run(call.node)) is not None:
                _REFUSED[key] = reason
            else:
                try:
                    _MEASURED[key] = _run(call.node, self.repeats)
                except Exception as error:
                    if isinstance(error, torch.OutOfMemoryError):
                        # The memory of the failed call would be missing in the step.
                        torch.cuda.empty_cache()
                    _REFUSED[key] = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
            if key in _REFUSED:
                extra = max(opaque.loop_bytes(call.node), collectives.workspace_bytes(call.node))
                _MEASURED[key] = Measurement(Roofline().nanoseconds(call), 0, extra)
        if key in _REFUSED:
            self._estimated[opaque.label(call.node)] = _REFUSED[key]
        return _MEASURED[key]

    def estimated(self) -> dict[str, str]:
        return self._estimated


def _tensors(node: fx.Node) -> Iterator[torch.Tensor]:
    """Tensors that a call reads or makes."""
    values = [node.meta.get("val"), *(a.meta.get("val") for a in node.all_input_nodes)]
    return (x for x in tree_flatten(values)[0] if isinstance(x, torch.Tensor))


def name_of(costs: Costs) -> str:
    """Name of an instance; it mentions missing workspaces."""
    if costs.counts_workspaces:
        return "training step"
    return "training step, without workspaces of operators"


def _touched_bytes(value: Any) -> int:
    if isinstance(value, torch.Tensor):
        return value.numel() * value.element_size()
    if isinstance(value, (tuple, list)):
        return sum(_touched_bytes(part) for part in value)
    return 0


def _flops(node: fx.Node) -> float:
    """Floating point operations: two for each multiplication of products and convolutions, else one
    for each element."""
    if opaque.is_opaque(node):
        return opaque.flops(node, _flops)
    counter = _compat.flop_registry.get(getattr(node.target, "overloadpacket", None))
    value = node.meta.get("val")
    if counter is not None:
        arguments, options = _values(node)
        try:
            return float(counter(*arguments, **options, out_val=value))
        except (TypeError, ValueError, AssertionError):
            pass
    return float(value.numel()) if isinstance(value, torch.Tensor) else 0.0


def _is_product(node: fx.Node) -> bool:
    """Returns true for products and convolutions."""
    return getattr(node.target, "overloadpacket", None) in _compat.flop_registry


def _values(node: fx.Node) -> tuple[Any, Any]:
    def value(part: Any) -> Any:
        if not isinstance(part, fx.Node):
            return part
        body = opaque.body_of(part)
        return part.meta.get("val") if body is None else body.code

    return tree_map(value, node.args), tree_map(value, dict(node.kwargs))


def _key(node: fx.Node) -> tuple[Any, ...]:
    leaves, spec = tree_flatten(_values(node))

    def word(leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor):
            return (str(leaf.dtype), tuple(leaf.shape), leaf.stride(), str(leaf.device))
        return (type(leaf).__name__, str(leaf))

    return (str(node.target), str(spec), *map(word, leaves))


def _device_of(part: Any) -> torch.device | None:
    """The device of a value in a run, if it differs from the trace; else ``None``."""
    if isinstance(part, fx.Node) and part.target is operator.getitem:
        return _ELSEWHERE.get(_key(part.args[0]), {}).get(part.args[1])
    return None


def _note_devices(node: fx.Node, results: Any) -> None:
    """Records results whose device differs from the trace."""
    traced = node.meta.get("val")
    if not isinstance(results, (tuple, list)) or not isinstance(traced, (tuple, list)):
        return
    elsewhere = {
        k: real.device
        for k, (real, fake) in enumerate(zip(results, traced))
        if isinstance(real, torch.Tensor)
        and isinstance(fake, torch.Tensor)
        and real.device.type != fake.device.type
    }
    if elsewhere:
        _ELSEWHERE[_key(node)] = elsewhere


def _real_arguments(node: fx.Node) -> tuple[Any, Any]:
    """Real values for the arguments of a call."""

    def real(part: Any) -> Any:
        value = part.meta.get("val") if isinstance(part, fx.Node) else part
        if isinstance(part, fx.Node) and (body := opaque.body_of(part)) is not None:
            return body
        device = _device_of(part)
        return tree_map(lambda leaf: materialised(leaf, device, rows), value)

    rows = _least_size(node)
    return tree_map(real, node.args), tree_map(real, dict(node.kwargs))


def _least_size(node: fx.Node) -> int:
    """The least size of a dimension of the floating tensors that a call reads: indices below it are
    valid in all of them."""
    inputs = (a.meta.get("val") for a in node.all_input_nodes)
    shapes = [x.shape for x in tree_flatten(list(inputs))[0] if _is_float(x)]
    sizes = [int(n) for shape in shapes for n in shape if isinstance(n, int) and n > 0]
    return min(sizes, default=1)


def materialised(leaf: Any, device: torch.device | None = None, rows: int = 1) -> Any:
    """A real tensor with the layout of a fake one. A symbolic size becomes 1, and other values stay
    unchanged. Integers run through ``0 .. rows - 1``, as indices that spread over a table do."""
    if isinstance(leaf, torch.SymInt):
        return 1
    if not isinstance(leaf, torch.Tensor):
        return leaf
    span = 1 + sum((n - 1) * s for n, s in zip(leaf.shape, leaf.stride()))
    span = 0 if leaf.numel() == 0 else span
    storage = torch.zeros(span, dtype=leaf.dtype, device=device or leaf.device)
    if leaf.dtype.is_floating_point and span:
        if leaf.dtype.itemsize == 1:
            # Narrow types have no kernel for uniform_.
            storage = torch.empty(span, device=storage.device).uniform_(0.1, 1.0).to(leaf.dtype)
        else:
            storage.uniform_(0.1, 1.0)
    elif leaf.dtype == torch.bool:
        storage.fill_(True)
    elif leaf.dtype in (torch.int32, torch.int64) and rows > 1 and leaf.dim() > 0:
        storage = torch.arange(span, dtype=leaf.dtype, device=storage.device).remainder_(rows)
    return storage.as_strided(leaf.shape, leaf.stride())


def _run(node: fx.Node, repeats: int) -> Measurement:
    """Runs a single call."""
    with _compat.unset_fake_temporarily(), torch.no_grad():
        arguments, options = _real_arguments(node)
        leaves = tree_flatten((arguments, options))[0]
        devices = {x.device for x in leaves if isinstance(x, torch.Tensor)}
        value = node.meta.get("val")
        outputs = tree_flatten(value)[0]
        devices |= {x.device for x in outputs if isinstance(x, torch.Tensor)}
        cuda = next((d for d in devices if d.type == "cuda"), None)
        with torch.random.fork_rng(devices=[cuda] if cuda else []):
            results: Any = node.target(*arguments, **options)
            sizes = _STORAGES[_key(node)] = storages(results, leaves)
            del results
            if cuda is not None:
                sizes = [-(-size // 512) * 512 for size in sizes]
            found = []
            for given in opaque.alternatives(node, arguments):
                if cuda is not None:
                    found.append(_run_cuda(node, given, options, repeats, cuda, sum(sizes)))
                else:
                    found.append(_run_cpu(node.target, given, options, repeats, sum(sizes)))
            return Measurement(*map(max, zip(*found)))


def _run_cpu(target: Any, arguments: Any, options: Any, repeats: int, made: int) -> Measurement:
    nanoseconds = clock.on_processor(lambda: target(*arguments, **options), repeats)
    with _compat.traced_memory() as events:
        result = target(*arguments, **options)
    del result
    return Measurement(nanoseconds, 0, max(0, peak_bytes(events) - made))


def _run_cuda(
    node: fx.Node, arguments: Any, options: Any, repeats: int, device: torch.device, made: int
) -> Measurement:
    target: Any = node.target
    _note_devices(node, target(*arguments, **options))
    torch.cuda.synchronize(device)
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device)
    target(*arguments, **options)
    peak = torch.cuda.max_memory_allocated(device) - before
    kernels, issue = clock.on_gpu(lambda: target(*arguments, **options), repeats, device)
    return Measurement(kernels, issue, max(0, peak - made))


def peak_bytes(events: list[tuple[str, int, int]]) -> int:
    """Peak of the memory allocated since the first of these events, in bytes."""
    held = most = 0
    for _, _, size in events:
        held += size
        most = max(most, held)
    return most
