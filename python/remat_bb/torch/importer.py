"""Order graphs of modules, functions and graphs of fx: ``remat-order/1`` documents."""

from __future__ import annotations

import gzip
import json
import os
import pathlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from ..errors import InvalidArgument, RematError
from . import _compat
from ._compat import fx
from .flow import Flow
from .planner import Planned
from .reorder import measured_workspace
from .step import plain_errors


def order_graph(
    function: fx.GraphModule | Callable[..., Any],
    inputs: Sequence[Any] | None = None,
    *,
    freeable: Iterable[str] | None = None,
    optimizer_states: int | None = None,
    workspaces: bool = False,
    name: str | None = None,
    file: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """The operators of a training step, or of inference, as a ``remat-order/1`` document: for
    ``remat_bb.order``, ``remat_bb.plan_memory``, and ``remat-bb order FILE``.

    AOTAutograd traces a module or function without running it. The result is the joint graph of
    forward and backward pass, or the forward graph if no tensor needs gradients. Parameters,
    buffers and the batch are resident; gradients are results, unless ``optimizer_states`` is given.

    Args:
        function: Returns the loss; or a graph of operators with fake values.
        inputs: Arguments of a call, which may be fake tensors; ``None`` for a graph.
        freeable: As for :func:`reorder`.
        optimizer_states: Tensors that the optimizer holds for each parameter: 0 for SGD, 1 with
            momentum, 2 for Adam. An update of each parameter then reads its gradient, which is
            freed afterwards. The update follows all other readers of the parameter. States are
            resident.
        workspaces: True measures the workspaces of operators on their device.
        name: Name of the graph; by default the name of the function.
        file: Path of a file for the document, gzipped if it ends in ``.gz``.

    Raises:
        UnsupportedGraph: for a graph that cannot be read.
        RematError: for a function that breaks into several graphs.
        InvalidArgument: for a module without inputs, or optimizer states with a graph or inference.
    """
    if inputs is None:
        if not isinstance(function, fx.GraphModule):
            raise InvalidArgument(
                f"inputs: {_name(function)} cannot be traced without", remedy="give its arguments"
            )
        if optimizer_states is not None:
            raise InvalidArgument(
                "optimizer_states: gradients of a traced graph are not known",
                remedy="give the module and its inputs",
            )
        document = _document(Flow(function.graph, freeable), name or _name(function), workspaces)
    else:
        module, outputs = traced_graph(function, inputs)
        module.graph.eliminate_dead_code()
        flow = Flow(module.graph, freeable)
        document = _document(flow, name or _name(function), workspaces)
        if optimizer_states is not None:
            _add_updates(document, flow, outputs, optimizer_states)
    if file is not None:
        _write(document, pathlib.Path(file))
    return document


def traced_graph(function: Callable[..., Any], inputs: Sequence[Any]) -> tuple[fx.GraphModule, int]:
    """The joint graph of a function, or its inference graph, functionalised.

    Returns:
        The graph, and the number of its outputs that are not gradients.

    Raises:
        RematError: for a function that breaks into several graphs, and one without operators.
    """

    def joint(module: fx.GraphModule, given: Any, **options: Any) -> Any:
        if _compat.is_region(given):
            return _compat.partition_region(module, given, **options)
        raise Planned((module, options["num_fwd_outputs"]))

    def inference(module: fx.GraphModule, _: Any) -> Any:
        output = next(iter(module.graph.find_nodes(op="output")))
        raise Planned((module, len(output.args[0])))

    made = _compat.aot_autograd(
        fw_compiler=inference,
        bw_compiler=inference,
        inference_compiler=inference,
        partition_fn=joint,
        keep_inference_input_mutations=True,
    )
    compiled = torch.compile(function, backend=made, fullgraph=True, dynamic=False)
    fake = next((x.fake_mode for x in inputs if isinstance(x, _compat.FakeTensor)), None)
    try:
        with plain_errors(), _compat.logs_skipped():
            if fake is not None:
                with fake:
                    compiled(*inputs)
            else:
                compiled(*inputs)
    except Planned as planned:
        return planned.outcome  # type: ignore[no-any-return]
    raise RematError(
        f"{_name(function)}: there is no operator in it, or it was compiled before",
        remedy="give a function of tensors",
    )


def _document(flow: Flow, name: str, workspaces: bool) -> dict[str, Any]:
    return flow.document(name, measured_workspace(flow) if workspaces else None)


def _add_updates(document: dict[str, Any], flow: Flow, outputs: int, states: int) -> None:
    """Adds an update of each parameter that has a gradient.

    Args:
        outputs: Number of outputs of the graph that are not gradients.
        states: Tensors that the optimizer holds for each parameter.
    """
    if states < 0:
        raise InvalidArgument(f"optimizer_states: {states} is negative", remedy="0, 1 or 2")
    output = next(iter(flow.graph.find_nodes(op="output")))
    gradients = output.args[0][outputs:]
    inputs = [n for n in flow.placeholders if _compat.is_primal(n)]
    pairs = [(g, p) for g, p in zip(gradients, inputs) if isinstance(g, fx.Node)]
    if not pairs:
        raise InvalidArgument(
            "optimizer_states: nothing in it needs gradients", remedy="give a step that trains"
        )
    tensors, operators = document["tensors"], document["operators"]
    by_name = {tensor["name"]: tensor["id"] for tensor in tensors}
    held = {s for a in output.args[0][:outputs] if isinstance(a, fx.Node) for s in flow.held(a)}
    for gradient, parameter in pairs:
        read = [by_name[s.name] for s in flow.held(gradient)]
        for storage in flow.held(gradient):
            if storage not in held:
                tensors[by_name[storage.name]].pop("result", None)
        written = [by_name[s.name] for s in flow.held(parameter)]
        place = len(operators)
        operators.append(
            {
                "id": place,
                "name": f"update of {parameter.name}",
                "kind": "update",
                "inputs": list(dict.fromkeys((*read, *written))),
                "outputs": [],
                "writes": written,
            }
        )
        before = [
            operator["id"]
            for operator in operators[:place]
            if not set(written).isdisjoint(operator["inputs"])
        ]
        document["sound_order_edges"] += [[k, place] for k in before]
        size = sum(tensors[k]["bytes"] for k in written)
        document["unused_resident_bytes"] = document.get("unused_resident_bytes", 0) + states * size
        document["base_bytes"] += states * size


def _name(function: Any) -> str:
    if isinstance(function, torch.nn.Module):
        return type(function).__name__
    return str(getattr(function, "__name__", type(function).__name__))


def _write(document: dict[str, Any], path: pathlib.Path) -> None:
    text = json.dumps(document).encode()
    if path.suffix == ".gz":
        text = gzip.compress(text, mtime=0)
    try:
        path.write_bytes(text)
    except OSError as error:
        raise RematError(f"{path}: {error.strerror}", remedy="give a path to write to") from error
