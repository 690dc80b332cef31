"""The eager step under fake tensors: every storage that torch would allocate, and when it frees it.

Operators run through a dispatch mode, below autograd and inside of composite operators. A storage
is freed when torch drops its last reference, as in a real step.
"""

from __future__ import annotations

import bisect
import gc
import random
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map

from ..errors import InvalidArgument, RematError
from . import _compat, _compat_eager
from .retained import REDUCED_IN_PLACE
from .stand_ins import StandIns, optimizer_of, swapped
from .timeline import BACKWARD, FIRST, FORWARD, OPTIMIZER, Life, Timeline
from .workspaces import workspace_bytes

aten = torch.ops.aten
ENGINE_SUM = aten.add.Tensor
ITEM = aten._local_scalar_dense.default


class Places:
    """The module that runs, in the forward pass and in the backward pass of its operators."""

    def __init__(self, modules: Mapping[str, torch.nn.Module]) -> None:
        self._names: dict[int, str] = {}
        for prefix, owner in modules.items():
            for name, module in owner.named_modules(prefix=prefix):
                self._names.setdefault(id(module), name)
        self._stack: list[str] = []
        # Numbers of autograd's nodes at which the running module changes.
        self._numbers: list[int] = []
        self._modules: list[str] = []

    @contextmanager
    def followed(self) -> Iterator[None]:
        """Follows calls of modules in the block."""
        with (
            _compat_eager.register_module_forward_pre_hook(self._begin),
            _compat_eager.register_module_forward_hook(self._end, always_call=True),
        ):
            yield

    def _begin(self, module: torch.nn.Module, *_: Any) -> None:
        self._stack.append(self._names.get(id(module), self._stack[-1] if self._stack else ""))
        self._note()

    def _end(self, *_: Any) -> None:
        if self._stack:
            self._stack.pop()
        self._note()

    def _note(self) -> None:
        self._numbers.append(_compat_eager.next_sequence())
        self._modules.append(self._stack[-1] if self._stack else "")

    def present(self) -> str:
        """Full name of the running module; empty outside of modules."""
        if self._stack:
            return self._stack[-1]
        number = _compat_eager.running_sequence()
        if number is None:
            return ""
        place = bisect.bisect_right(self._numbers, number) - 1
        return self._modules[place] if place >= 0 else ""


class Tracker(_compat.TorchDispatchMode):
    """A mode that notes the storages of all results in a timeline.

    Args:
        line: The timeline.
        places: The running module.
        device: The device whose memory counts.
    """

    def __init__(self, line: Timeline, places: Places, device: torch.device) -> None:
        super().__init__()
        self.line = line
        self.places = places
        self.device = device
        self._lives: dict[int, tuple[Life, weakref.ref[Any]]] = {}
        # References to a gradient that autograd's engine alone holds; None before calibrate.
        self._alone: tuple[int, int] | None = None
        self._calibrates = False

    def calibrate(self) -> None:
        """Counts the references to a gradient to which the engine would add in place."""
        leaf = torch.empty(2, device=self.device, requires_grad=True)
        twice = leaf * 2
        total = (twice * 3 + twice * 5).sum()
        self._calibrates = True
        try:
            torch.autograd.grad(total, leaf)
        finally:
            self._calibrates = False

    def hold(self, tensor: torch.Tensor, kind: str, module: str = "") -> None:
        """Notes the storage of a tensor from before the step."""
        self._note(tensor, "", kind, module)

    def life_of(self, tensor: torch.Tensor) -> Life | None:
        """The life of a tensor's storage."""
        entry = self._lives.get(tensor.untyped_storage()._cdata)
        return None if entry is None else entry[0]

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if function is ITEM and self.line.phase in (FIRST, OPTIMIZER):
            # A counter of steps.
            return 1.0 if args[0].dtype.is_floating_point else 1
        into = self._added_into(args) if function is ENGINE_SUM else None
        try:
            results = function(*args, **kwargs)
        except (*_compat_eager.NEEDS_VALUES, *_compat_eager.NO_FAKE) as error:
            raise self._refused(function, error) from error
        if into is not None:
            self._rename(into, results)
        for result in results if isinstance(results, (tuple, list)) else (results,):
            if isinstance(result, torch.Tensor):
                self._note(result, function)
        if self.device.type == "cpu" and self.line.phase in (FORWARD, BACKWARD):
            size = workspace_bytes(function, args, results)
            if size:
                module = self.places.present()
                life = self.line.allocate(size, module, str(function), "workspaces")
                self.line.free(life)
        if function in REDUCED_IN_PLACE and results.dim() == 0:
            self._widen(results, args)
        return results

    def _note(self, tensor: torch.Tensor, operator: Any, kind: str = "", module: str = "") -> None:
        if tensor.device.type != self.device.type or tensor.layout != torch.strided:
            return
        storage = tensor.untyped_storage()
        key, size = storage._cdata, self._rounded(int(storage.nbytes()))
        known = self._lives.get(key)
        if known is not None:
            known[0].kind = known[0].kind or kind
            if known[0].size == size or kind:
                return
            # The storage was resized.
            self.line.free(known[0])
        life = self.line.allocate(size, module or self.places.present(), str(operator), kind)
        self._lives[key] = life, weakref.ref(storage, lambda _: self._free(key, life))

    def _free(self, key: int, life: Life) -> None:
        if self._lives.get(key, (None,))[0] is life:
            del self._lives[key]
        if life.end is None:
            self.line.free(life)

    def _rounded(self, size: int) -> int:
        return -(-size // 512) * 512 if self.device.type == "cuda" else size

    def _added_into(self, args: Any) -> tuple[int, Life] | None:
        """The storage to which autograd's engine adds a second gradient in place. Under a dispatch
        mode the engine makes a new tensor."""
        old = args[0]
        if torch.is_grad_enabled() or not isinstance(old, torch.Tensor):
            return None
        if self._calibrates:
            self._alone = _compat_eager.references(old)
            return None
        if self.line.phase != BACKWARD or not isinstance(args[1], torch.Tensor):
            return None
        if _compat_eager.references(old) != self._alone or not _compat_eager.is_dense(old):
            return None
        key = old.untyped_storage()._cdata
        return (key, self._lives[key][0]) if key in self._lives else None

    def _rename(self, into: tuple[int, Life], result: torch.Tensor) -> None:
        """Moves a life from the storage of a sum's first term to the storage of the sum."""
        key, life = into
        storage = result.untyped_storage()
        if self._rounded(int(storage.nbytes())) != life.size:
            return
        del self._lives[key]
        new = storage._cdata
        self._lives[new] = life, weakref.ref(storage, lambda _: self._free(new, life))

    def _widen(self, loss: torch.Tensor, args: Any) -> None:
        """Counts a loss with the storage of its terms, which torch keeps."""
        terms = [x for x in args[:2] if isinstance(x, torch.Tensor)]
        count = torch.broadcast_shapes(*(x.shape for x in terms)).numel()
        key = loss.untyped_storage()._cdata
        if key not in self._lives:
            return
        life, reference = self._lives[key]
        size = self._rounded(count * loss.element_size())
        if size > life.size:
            self.line.free(life)
            life = self.line.allocate(size, life.module, life.operator, life.kind)
            storage = loss.untyped_storage()
            self._lives[key] = life, weakref.ref(storage, lambda _: self._free(key, life))

    def _refused(self, function: Any, error: Exception) -> RematError:
        where = self.places.present() or "the step"
        if isinstance(error, _compat_eager.NEEDS_VALUES):
            return RematError(
                f"estimate: {function} in {where} needs the values of tensors, and an estimate has "
                "only their sizes",
                remedy="choose an implementation of fixed sizes, or measure a step with "
                "remat_bb.torch.measure",
            )
        return RematError(
            f"estimate: {function} in {where} has no form without memory: {error}",
            remedy="register one with torch.library.register_fake, or measure a step with "
            "remat_bb.torch.measure",
        )


def loss_of(output: Any) -> torch.Tensor:
    """The loss of a model's output: a tensor (its sum if it has several elements), the attribute or
    entry ``loss``, or the first entry of a tuple.

    Raises:
        InvalidArgument: there is no loss that needs gradients.
    """
    loss = output
    if isinstance(loss, Mapping):
        loss = loss.get("loss")
    elif not isinstance(loss, (torch.Tensor, tuple, list)):
        loss = getattr(loss, "loss", None)
    if isinstance(loss, (tuple, list)) and loss:
        loss = loss[0]
    if not isinstance(loss, torch.Tensor) or not loss.requires_grad:
        shown = type(output).__name__
        if isinstance(output, torch.Tensor):
            shown = "a tensor without gradients"
        raise InvalidArgument(
            f"model: it returns {shown}, and there is no loss that needs gradients in it",
            remedy="give labels among the inputs, loss=, or trainable parameters",
        )
    return loss if loss.numel() == 1 else loss.sum()


Call = Callable[[], Any]


class Eager:
    """An eager training step of modules, run once under fake tensors.

    Attributes:
        line: The timeline of the step.
        has_optimizer: True if the timeline has the steps of an optimizer.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        modules: Mapping[str, torch.nn.Module],
        stand_ins: StandIns,
        device: torch.device,
    ) -> None:
        self.function = function
        self.modules = modules
        self.stand_ins = stand_ins
        self.line = Timeline()
        self.tracker = Tracker(self.line, Places(modules), device)
        self.has_optimizer = False

    def run(
        self,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        optimizer: Any,
        loss: Callable[[Any], torch.Tensor] | None,
        accumulate: bool,
    ) -> None:
        """Runs the step.

        Raises:
            RematError: for operators that need values, and tensors without stand-ins.
        """
        # Cycles of earlier code would be freed during the step.
        gc.collect()
        collects = gc.isenabled()
        gc.disable()
        state = random.getstate()
        try:
            with ExitStack() as stack:
                stack.enter_context(torch.enable_grad())
                stack.enter_context(self.stand_ins.mode)
                stack.enter_context(swapped(self.modules, self.stand_ins))
                stack.enter_context(self.tracker.places.followed())
                stack.enter_context(self.tracker)
                self._run(args, kwargs, optimizer, loss, accumulate)
        finally:
            random.setstate(state)
            if collects:
                gc.enable()
            self.stand_ins.forget()

    def _run(
        self,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        optimizer: Any,
        loss: Callable[[Any], torch.Tensor] | None,
        accumulate: bool,
    ) -> None:
        line, tracker = self.line, self.tracker
        tracker.calibrate()
        line.events.clear()
        parameters = self._hold_modules()
        trained = [p for p in parameters if p.requires_grad]
        args, kwargs = tree_map(self._input, (args, dict(kwargs)))
        maker = None if optimizer is None else optimizer_of(optimizer, trained, self.stand_ins)
        self._hold_states(maker)
        if accumulate:
            for p in trained:
                p.grad = torch.empty_like(p)
                self._hold(p.grad, "gradients")
        inputs = [x for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
        cached = torch.is_autocast_enabled(tracker.device.type)
        line.enter(FORWARD)
        scalar = self._forward(args, kwargs, loss)
        line.enter(BACKWARD)
        if cached:
            # A step leaves autocast before its backward pass.
            torch.clear_autocast_cache()
        with torch.autocast(tracker.device.type, enabled=False):
            scalar.backward()
        del scalar
        for tensor in (*parameters, *inputs):
            life = None if tensor.grad is None else tracker.life_of(tensor.grad)
            if life is not None:
                life.kind = "gradients"
        if maker is not None:
            self.has_optimizer = True
            with (
                _compat_eager.foreach_of_fakes(),
                torch.autocast(tracker.device.type, enabled=False),
            ):
                for phase in (FIRST, OPTIMIZER):
                    line.enter(phase)
                    maker.step()
        line.name_kinds()

    def _forward(self, args: Any, kwargs: Any, loss: Any) -> torch.Tensor:
        output = self.function(*args, **kwargs)
        return loss_of(output if loss is None else loss(output))

    def _hold(self, tensor: torch.Tensor, kind: str, module: str = "") -> None:
        self.tracker.hold(tensor, kind, module)

    def _input(self, value: Any) -> Any:
        made = self.stand_ins.of(value, "an input")
        if isinstance(made, torch.Tensor):
            self._hold(made, "inputs")
        return made

    def _hold_modules(self) -> list[torch.Tensor]:
        """Notes parameters and buffers; returns the parameters, each once."""
        found: dict[int, torch.Tensor] = {}
        for prefix, owner in self.modules.items():
            for name, module in owner.named_modules(prefix=prefix):
                for tensor in module._parameters.values():
                    if tensor is not None:
                        found.setdefault(id(tensor), tensor)
                        self._hold(tensor, "parameters", name)
                for value in tree_leaves(list(vars(module).values())):
                    if isinstance(value, torch.Tensor):
                        self._hold(value, "buffers", name)
        return list(found.values())

    def _hold_states(self, optimizer: torch.optim.Optimizer | None) -> None:
        if optimizer is None:
            return
        for tensor in tree_leaves([*optimizer.state.values()]):
            if isinstance(tensor, torch.Tensor):
                self._hold(tensor, "optimizer states")
        for group in optimizer.param_groups:
            for tensor in group["params"]:
                self._hold(tensor, "parameters")
