"""Training steps of JAX as instances: ``export(jax.grad(loss), parameters, batch)``.

The program traced by JAX becomes a graph of values in execution order. Calls of compiled and of
differentiated functions are inlined. A loop (``scan``, ``while``) or a branch is one operation,
whose body runs unchanged. XLA fuses element-wise operations into one kernel, so they become one
node unless a value between them has several readers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from . import _native
from ._amounts import share_or_amount
from ._names import MOST, NamesPlan, Search, cost_of, names_of, solved
from ._traced import Device, Operation, Value, check_device, document, fused, needed, peak_bytes
from .errors import InvalidArgument, RematError

try:
    import jax
    from jax.extend import core
except ImportError as error:
    raise RematError("remat_bb.jax: JAX is not installed", remedy="pip install jax") from error

__all__ = ["Device", "NamesPlan", "best_names", "export"]

# Operations whose output is their input with another shape or layout.
_VIEWS = {"reshape", "squeeze", "expand_dims", "transpose", "stop_gradient", "copy", "name"}
# Operations without cost that each reader repeats.
_MADE_WHERE_READ = {"broadcast_in_dim", "iota"}
# Operations that run as separate kernels.
_APART = {
    "dot_general",
    "ragged_dot_general",
    "conv_general_dilated",
    "sort",
    "gather",
    "scatter",
    "scatter-add",
    "scatter_add",
    "cumsum",
    "cumlogsumexp",
    "cummax",
    "cumprod",
    "fft",
    "cholesky",
    "triangular_solve",
    "custom_call",
    "pallas_call",
    "argmax",
    "argmin",
    "top_k",
    "reduce_window_sum",
    "reduce_window_max",
    "select_and_scatter_add",
    "random_bits",
    "concatenate",
}


def export(
    step: Callable[..., Any],
    *arguments: Any,
    name: str | None = None,
    device: Device | None = None,
    fuse: bool = True,
) -> _native.Instance:
    """The instance of a JAX function, such as a gradient or a whole training step.

    Args:
        step: The function, as for ``jax.make_jaxpr``. Leave out ``jax.checkpoint``: its
            recomputations stay in every plan.
        arguments: Its arguments; ``jax.ShapeDtypeStruct`` will do.
        name: Name of the instance; by default the name of the function.
        device: Device for the costs, which are nanoseconds of a roofline.
        fuse: False makes each operation a node.

    Returns:
        The instance. Nodes are named after their primitives, and ``op`` has the source line. Inputs
        and constants are in memory for the whole step, outputs at its end. XLA may choose another
        order and other fusions, so allow a margin in the budget.
    """
    called = name or str(getattr(step, "__name__", "step"))
    return _exported(step, arguments, called, device or Device(), fuse)


def best_names(
    make: Callable[[Any], Callable[..., Any]],
    *arguments: Any,
    budget: int | str,
    names: Sequence[str] | None = None,
    link: str | None = None,
    device: Device | None = None,
    most: int = MOST,
) -> NamesPlan:
    """The values of ``checkpoint_name`` to save, such that the step keeps a budget in least time.

    Every choice of names is another program of JAX. Its replay gives its cost and its peak, so the
    plan counts what ``jax.checkpoint`` really computes again.

    Args:
        make: Makes the step from a policy for ``jax.checkpoint``, for example
            ``lambda policy: jax.grad(partial(loss, policy=policy))``.
        arguments: Arguments of the step; ``jax.ShapeDtypeStruct`` will do.
        budget: Bytes, ``"6GiB"``, or a share such as ``"60%"`` of the peak of the program that
            saves everything.
        names: The names to decide about; by default all names of the program. Other names are not
            saved.
        link: The link over which values may go to host memory instead, as ``offload`` of
            :func:`remat_bb.solve`. Copies count in full, so the time is an upper bound: XLA may run
            computations meanwhile.
        device: Device for the costs.
        most: Programs that are traced at most. If there are more choices, the search is a local
            one, and the status ``"feasible"``.

    Raises:
        InvalidArgument: the program has no names, or none of ``names``.
        InvalidBudget: the budget cannot be read.
        InfeasibleBudget: no choice fits; the error has the least peak.
    """
    if isinstance(names, str):
        names = [names]
    if not isinstance(most, int) or most < 1:
        raise InvalidArgument(f"most: {most!r} is no number of programs", remedy="give 512")
    if device is not None:
        check_device(device)
    policies = jax.checkpoint_policies
    speeds = None if link is None else _native.host_link(link)

    def exported(policy: Any) -> _native.Instance:
        return _exported(make(policy), arguments, "step", device or Device(), True, speeds)

    def policy(save: Sequence[str], offload: Sequence[str]) -> Any:
        if not offload:
            return policies.save_only_these_names(*save)
        return policies.save_and_offload_only_these_names(
            names_which_can_be_saved=list(save),
            names_which_can_be_offloaded=list(offload),
            offload_src="device",
            offload_dst="pinned_host",
        )

    whole = make(policies.everything_saveable)
    found = names_of(jax.make_jaxpr(whole)(*arguments).jaxpr, core.jaxprs_in_params)
    for name in names or ():
        if name not in found:
            raise InvalidArgument(
                f"names: the program has no value of the name {name!r}",
                remedy=f"it has {', '.join(found)}" if found else "mark values: checkpoint_name",
            )
    chosen = found if names is None else list(dict.fromkeys(names))
    if found and not chosen:
        raise InvalidArgument("names: the list is empty", remedy=f"choose from {', '.join(found)}")
    base = exported(policies.everything_saveable)
    search = Search(exported, policy, chosen, link is not None, most)
    limit = share_or_amount(budget, base.peak_memory_bytes, 'give bytes, "6GiB" or "80%"')
    return solved(search, limit, cost_of(base))


def _exported(
    step: Callable[..., Any],
    arguments: Sequence[Any],
    name: str,
    device: Device,
    fuse: bool,
    link: dict[str, Any] | None = None,
) -> _native.Instance:
    """The instance of a step; copies to the host take the time of a link."""
    closed = jax.make_jaxpr(step)(*arguments)
    reader = _Reader(link)
    jaxpr = closed.jaxpr
    reader.enter(jaxpr)
    reader.read(jaxpr)
    results = [v for v in map(reader.value, jaxpr.outvars) if v is not None]
    operations = needed(reader.operations, results)
    if fuse:
        operations = fused(operations, results)
    inputs = sum(_nbytes(v.aval) for v in (*jaxpr.invars, *jaxpr.constvars))
    return _native.Instance(document(operations, results, inputs, name, device))


class _Reader:
    """The operations of a program, in the order of its equations.

    Attributes:
        operations: Operations read so far.
        of: For each variable the values behind it (empty for an input), and the bytes of inputs
            behind it.
    """

    def __init__(self, link: dict[str, Any] | None = None) -> None:
        self.link = link
        self.operations: list[Operation] = []
        self.of: dict[Any, tuple[list[Value], int]] = {}
        self.count: dict[str, int] = {}

    def enter(self, jaxpr: Any) -> None:
        """Registers the inputs of a program as resident memory."""
        for variable in (*jaxpr.invars, *jaxpr.constvars):
            self.of[variable] = ([], _nbytes(variable.aval))

    def sources(self, atom: Any) -> tuple[list[Value], int]:
        """Values behind a variable or a literal, and the bytes of inputs behind it."""
        return ([], 0) if isinstance(atom, core.Literal) else self.of[atom]

    def value(self, atom: Any) -> Value | None:
        """The value of a variable: ``None`` for inputs and literals."""
        values = self.sources(atom)[0]
        return values[0] if values else None

    def read(self, jaxpr: Any) -> None:
        for equation in jaxpr.eqns:
            self.equation(equation)

    def equation(self, equation: Any) -> None:
        primitive = equation.primitive.name
        inner = _opened(equation)
        if inner is not None:
            self.open(equation, inner)
            return
        atoms = [self.sources(atom) for atom in equation.invars]
        inputs = list(dict.fromkeys(v for values, _ in atoms for v in values))
        read = sum(count for _, count in atoms)
        if primitive in _VIEWS and len(equation.invars) == len(equation.outvars):
            for variable, atom in zip(equation.outvars, atoms):
                self.of[variable] = atom
            return
        if primitive in _MADE_WHERE_READ:
            self.of[equation.outvars[0]] = (inputs, read)
            return
        outputs = [self.named(primitive, variable.aval) for variable in equation.outvars]
        operation = Operation(
            op=_described(equation),
            outputs=outputs or [self.named(primitive, None)],
            inputs=inputs,
            read_bytes=read,
            work=_work(equation),
            fusible=primitive not in _APART and not _crosses(equation),
            once=bool(equation.effects),
            nanoseconds_besides=self._copied(equation),
        )
        bodies = list(core.jaxprs_in_params(equation.params))
        if bodies:
            self.close(operation, equation, bodies)
        self.operations.append(operation)
        for variable, value in zip(equation.outvars, outputs):
            self.of[variable] = ([value], 0)

    def open(self, equation: Any, inner: Any) -> None:
        """Inlines the body of a call."""
        jaxpr = getattr(inner, "jaxpr", inner)
        for variable in jaxpr.constvars:
            self.of[variable] = ([], _nbytes(variable.aval))
        # The same body may be called more than once: its variables stand for the latest call.
        for variable, atom in zip(jaxpr.invars, equation.invars):
            self.of[variable] = self.sources(atom)
        self.read(jaxpr)
        for variable, atom in zip(equation.outvars, jaxpr.outvars):
            self.of[variable] = self.sources(atom)

    def close(self, operation: Operation, equation: Any, bodies: list[Any]) -> None:
        """Makes a loop or branch one operation, with the work of all runs and the memory of one
        run."""
        operation.fusible, operation.work = False, 0.0
        runs = int(equation.params.get("length", 1))
        for body in bodies:
            jaxpr = getattr(body, "jaxpr", body)
            reader = _Reader(self.link)
            reader.enter(jaxpr)
            reader.read(jaxpr)
            results = [v for v in map(reader.value, jaxpr.outvars) if v is not None]
            inside = fused(needed(reader.operations, results), results)
            peak = peak_bytes(inside, results)
            operation.workspace_bytes = max(operation.workspace_bytes, peak)
            operation.work += runs * sum(o.work for o in inside)
            operation.nanoseconds_besides += runs * sum(o.nanoseconds_besides for o in inside)

    def _copied(self, equation: Any) -> int:
        """Nanoseconds of a copy between the memories of device and host over the link."""
        if self.link is None or not _crosses(equation):
            return 0
        copy = equation.outvars[0].aval
        way = "to" if _is_on_host(copy) else "from"
        speed = float(self.link[f"{way}_host_bytes_per_second"])
        return int(self.link["latency_ns"]) + round(1e9 * _size(copy) / speed)

    def named(self, primitive: str, aval: Any) -> Value:
        """A value with a new name; its size is 0 if the operation has no output."""
        number = self.count[primitive] = self.count.get(primitive, 0) + 1
        shape = getattr(aval, "shape", ())
        return Value(f"{primitive}.{number}", _nbytes(aval), [int(n) for n in shape])


def _opened(equation: Any) -> Any:
    """The body of a call that can be inlined; ``None`` for other equations."""
    if equation.primitive.name in ("scan", "while", "cond", "pallas_call", "shard_map"):
        return None
    for key in ("jaxpr", "call_jaxpr", "fun_jaxpr"):
        body = equation.params.get(key)
        inner = getattr(body, "jaxpr", body)
        if hasattr(inner, "eqns") and len(inner.invars) == len(equation.invars):
            return body
    return None


def _crosses(equation: Any) -> bool:
    """Returns true for a copy between the memories of device and host."""
    if equation.primitive.name != "device_put":
        return False
    sides = zip(equation.invars, equation.outvars)
    return any(_is_on_host(a.aval) != _is_on_host(b.aval) for a, b in sides)


def _is_on_host(aval: Any) -> bool:
    return str(getattr(aval, "memory_space", "")).endswith("Host")


def _nbytes(aval: Any) -> int:
    """Bytes in the memory of the device."""
    return 0 if _is_on_host(aval) else _size(aval)


def _size(aval: Any) -> int:
    size = math.prod(int(n) for n in getattr(aval, "shape", (0,)))
    return size * int(getattr(getattr(aval, "dtype", None), "itemsize", 0))


def _described(equation: Any) -> str:
    """Primitive and line of the user's source."""
    try:
        from jax._src.source_info_util import summarize

        place = summarize(equation.source_info).split(" ")[0]
    except (ImportError, AttributeError, TypeError):
        return str(equation.primitive.name)
    return f"{equation.primitive.name} {place.rsplit('/', 1)[-1]}"


def _work(equation: Any) -> float:
    """Floating point operations: two for each multiplication of a product or convolution, else one
    for each element of the larger of input and output."""
    primitive = equation.primitive.name
    outputs = sum(math.prod(getattr(v.aval, "shape", ())) for v in equation.outvars)
    if primitive == "dot_general":
        (contracted, _), _ = equation.params["dimension_numbers"]
        shape = equation.invars[0].aval.shape
        return float(2 * outputs * math.prod(shape[k] for k in contracted))
    if primitive == "conv_general_dilated":
        numbers = equation.params["dimension_numbers"]
        kernel = equation.invars[1].aval.shape
        return float(2 * outputs * math.prod(kernel) / kernel[numbers.rhs_spec[0]])
    inputs = [math.prod(getattr(v.aval, "shape", ())) for v in equation.invars]
    return float(max([outputs, *inputs]))
