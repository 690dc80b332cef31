"""Steps of random modules with a plan against those of ``torch.compile(backend="aot_eager")``."""

from __future__ import annotations

import copy
import sys
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from customs import HIDDEN
from grammar import WIDTH, Drawn, Program, written
from schedules import random_schedules
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import remat_bb
import remat_bb.torch as rt

SHARES = (0.6, 0.8, 0.95)
"""Budgets that the solver is asked for in turn, as shares of the peak without recomputation."""
SOLVED_SHARE = 10
"""One program of so many is planned by the solver, the others have random schedules."""
ANY_BUDGET = 1 << 40
"""A budget into which every schedule fits."""
NEAR = 1e-3
"""Difference, absolute or as a share, that rounding alone may make between two runs."""
PEAK_SHARE = 0.005
"""Share of the predicted peak by which the counted one may be larger."""


@dataclass(frozen=True)
class Finding:
    """What came of a program.

    Attributes:
        kind: ``"equal"``; ``"refused"``, in words of the package; ``"invalid"``, as aot_eager does
            not run it either; ``"wrong"``, ``"raised"`` or ``"peak"``.
        words: Reason, or what differs.
        recomputed: Operators that ran again.
    """

    kind: str
    words: str = ""
    recomputed: int = 0

    @property
    def is_fault(self) -> bool:
        """True for what must not be."""
        return self.kind in ("wrong", "raised", "peak")


class Counter(TorchDispatchMode):
    """Bytes of storages that operators make while graphs run, until they are let go of.

    Attributes:
        peak: The most bytes at a time.
        begun: True once the first forward pass has begun.
        done: True behind the first backward pass.
    """

    supports_higher_order_operators = True

    def __init__(self) -> None:
        super().__init__()
        self.live: dict[int, tuple[Any, int]] = {}
        self.fixed: dict[int, Any] = {}
        self.peak = 0
        self.begun = False
        self.done = False

    def begin(self, arguments: list[Any], is_forward: bool) -> None:
        """Takes note of what a graph is given: inputs of the step do not count."""
        self.begun = True
        for tensor in arguments:
            if isinstance(tensor, torch.Tensor):
                storage = tensor.untyped_storage()
                if is_forward:
                    self.fixed[storage._cdata] = StorageWeakRef(storage)
                else:
                    self._add(tensor)
        self._count()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for part in tree_leaves(result):
            if isinstance(part, torch.Tensor):
                self._add(part)
        self._count()
        return result

    def _add(self, tensor: torch.Tensor) -> None:
        storage = tensor.untyped_storage()
        if storage._cdata in self.fixed:
            return
        known = self.live.get(storage._cdata)
        if known is None or known[0].expired():
            self.live[storage._cdata] = (StorageWeakRef(storage), storage.nbytes())

    def _count(self) -> None:
        self.live = {key: known for key, known in self.live.items() if not known[0].expired()}
        self.peak = max(self.peak, sum(size for _, size in self.live.values()))


@contextmanager
def counted_graphs(counter: Counter):
    """Runs the graphs of the first step with a plan under a counter."""
    compat = sys.modules["remat_bb.torch.backend"]._compat
    plain = compat.boxed_nop

    def over(graph: Any, inputs: Any) -> Callable[..., Any]:
        run = plain(graph, inputs)

        def counted(arguments: list[Any]) -> Any:
            if counter.done:
                return run(arguments)
            # The graph that runs first is the forward graph.
            is_forward = not counter.begun
            counter.begin(arguments, is_forward)
            with counter:
                results = run(arguments)
            counter.done = not is_forward
            return results

        counted._boxed_call = True
        return counted

    compat.boxed_nop = over
    try:
        yield
    finally:
        compat.boxed_nop = plain


def _batches(program: Program) -> list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
    made = torch.Generator().manual_seed(program.seed + 1)
    batches = []
    for rows in program.rows * (2 if len(program.rows) == 1 else 1):
        x = torch.randn(rows, WIDTH, generator=made)
        x.requires_grad_(program.input_needs_gradient)
        i = torch.randint(0, 1000, (rows,), generator=made)
        z = torch.randn(rows, WIDTH, generator=made)
        z.requires_grad_(program.input_needs_gradient)
        batches.append((x, i, z))
    return batches


def trained(program: Program, module: Drawn, step: Callable[..., Any]) -> list[Any]:
    """Runs the loop of a program.

    Returns:
        What can be seen behind each of its parts: results, gradients, buffers, and states of
        generators.
    """
    HIDDEN.reset()
    torch.manual_seed(program.seed)
    batches = _batches(program)
    seen: list[Any] = []

    def look(*results: Any) -> None:
        gradients = [p.grad for p in module.parameters()]
        gradients += [part.grad for batch in batches for part in batch[::2]]
        kept = [*results, *gradients, *module.state_dict().values(), batches[0][2]]
        seen.append([None if x is None else x.detach().clone() for x in kept])
        seen.append((torch.get_rng_state(), HIDDEN.state()))

    def forward(batch: Any) -> list[torch.Tensor]:
        x, i, z = batch
        # Tensors that need a gradient can be changed in place where they are no leaves.
        found = step(x, i, z * 1.0 if z.requires_grad else z)
        return list(found) if isinstance(found, tuple) else [found]

    def backward(results: list[torch.Tensor]) -> None:
        total = sum(r.sum() * (1 + k) for k, r in enumerate(results) if r.requires_grad)
        total.backward()

    def whole(batch: Any) -> None:
        results = forward(batch)
        look(*results)
        if program.ending == "two" and program.seed % 2:
            # The other loss has no gradient.
            results = results[:1]
        backward(results)
        look()

    whole(batches[0])
    if program.loop == "accumulate":
        whole(batches[1])
    elif program.loop == "two forwards":
        first, second = forward(batches[0]), forward(batches[1])
        backward([*second, *first])
        look(*first, *second)
    elif program.loop == "sizes":
        module.zero_grad(set_to_none=True)
        whole(batches[1])
    elif program.loop == "evaluation":
        module.eval()
        with torch.no_grad():
            look(*forward(batches[1]))
        module.train()
        whole(batches[0])
    elif program.loop == "optimizer":
        optimizer = torch.optim.AdamW(module.parameters(), lr=1e-2)
        for batch in batches:
            optimizer.step()
            optimizer.zero_grad()
            whole(batch)
    return seen


def _bits(value: torch.Tensor) -> bytes:
    return bytes(value.contiguous().view(-1).view(torch.uint8).numpy())


def differences(found: list[Any], expected: list[Any]) -> str:
    """Words for the first difference of two runs; empty where every bit is the same."""
    for place, (mine, theirs) in enumerate(zip(found, expected, strict=True)):
        if isinstance(mine, tuple):
            if not torch.equal(mine[0], theirs[0]) or mine[1] != theirs[1]:
                return f"look {place}: states of generators"
            continue
        for k, (a, b) in enumerate(zip(mine, theirs, strict=True)):
            if (a is None) != (b is None):
                return f"look {place}: value {k} is there for one alone"
            if a is not None and (a.shape != b.shape or _bits(a) != _bits(b)):
                return f"look {place}: value {k} differs by {(a - b).abs().max()} of {b.norm()}"
    return ""


def are_near(found: Any, expected: Any) -> bool:
    """Whether what two runs show in one look agrees but for rounding. A gradient that is not there
    is as one of zeros: eager mode and compiled steps differ in that."""
    if isinstance(found, tuple):
        return False

    def near(a: torch.Tensor | None, b: torch.Tensor | None) -> bool:
        if a is None or b is None:
            a, b = (torch.zeros(()) if value is None else value for value in (a, b))
        return torch.allclose(a, b.to(a.dtype), NEAR, NEAR, True)

    return all(near(a, b) for a, b in zip(found, expected, strict=True))


def judged(program: Program) -> Finding:
    """Trains a module with a plan and without."""
    torch._dynamo.reset()
    module = Drawn(program)
    twin = copy.deepcopy(module)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            plain = torch.compile(twin, backend="aot_eager", fullgraph=True, dynamic=False)
            expected = trained(program, twin, plain)
        except Exception as error:
            return Finding("invalid", _short(error))
        if program.seed % SOLVED_SHARE:
            with random_schedules(program.seed) as again:
                finding = _planned(program, copy.deepcopy(module), ANY_BUDGET, expected)
            return replace(finding, recomputed=max(again, default=0))
        for share in SHARES:
            finding = _planned(program, copy.deepcopy(module), f"{share:.0%}", expected)
            if not finding.words.startswith(("InfeasibleBudget", "LimitReached")):
                break
        return finding


def _planned(program: Program, module: Drawn, budget: int | str, expected: list[Any]) -> Finding:
    torch._dynamo.reset()
    counter = Counter()
    step = rt.compile(module, budget=budget, costs="static", time_limit=2.0, plan_cache=False)
    try:
        with counted_graphs(counter):
            found = trained(program, module, step)
    except (rt.UnsupportedGraph, remat_bb.InfeasibleBudget, remat_bb.LimitReached) as error:
        return Finding("refused", _short(error))
    except Exception as error:
        return Finding("raised", _short(error))
    recomputed = max(len(report.plan.recomputed) for report in step.reports)
    if words := differences(found, expected):
        # In torch 2.11 aot_eager adds to a counter once more in the backward pass: `n.add_(1)` and
        # then `a / (1.0 + n)` has a wrong gradient.
        eager = Drawn(program)
        # The first look that differs: a wrong gradient changes all that an optimizer does later.
        looks = zip(found, expected, trained(program, eager, eager), strict=True)
        mine, theirs, plain = next(look for look in looks if differences([look[0]], [look[1]]))
        if are_near(mine, plain) and not are_near(theirs, plain):
            return Finding("invalid", "aot_eager is far from eager mode, the plan is near")
        return Finding("wrong", words, recomputed)
    report = step.reports[0]
    predicted = report.predicted_bytes - report.fixed_bytes
    if counter.peak > predicted + PEAK_SHARE * report.predicted_bytes:
        words = f"{counter.peak} bytes counted, {predicted} predicted"
        return Finding("peak", f"{words} at {report.predicted_at}", recomputed)
    return Finding("equal", "", recomputed)


def _short(error: Exception) -> str:
    inner = getattr(error, "inner_exception", None) or error
    lines = [line for line in str(inner).splitlines() if line.strip()]
    return f"{type(inner).__name__} {lines[0] if lines else ''}"[:300]


def shrunk(program: Program, finding: Finding) -> tuple[Program, Finding]:
    """The program without statements that its fault does not need."""
    place = 0
    while place < len(program.statements):
        smaller = program.without(place)
        try:
            other = judged(smaller)
        except Exception:
            other = Finding("invalid")
        if other.kind == finding.kind:
            program, finding = smaller, other
        else:
            place += 1
    return program, finding


def described(program: Program, finding: Finding) -> str:
    """A fault in words, with the program's text."""
    text = "\n".join(written(program).lines)
    return (
        f"seed {program.seed}, loop {program.loop!r}, rows {program.rows}, gradient of the batch "
        f"{program.input_needs_gradient}, frozen {program.frozen}\n"
        f"{finding.kind}: {finding.words}\n{text}\n"
    )
