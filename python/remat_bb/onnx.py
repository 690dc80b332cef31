"""Inference graphs of ONNX as instances: ``load("model.onnx")``.

Each node of the graph becomes a node of the instance, in the order of the file, with costs of a
roofline. Weights and inputs are in memory for the whole run, outputs at its end.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from typing import Any

from . import _native
from ._traced import Device, Operation, Value, document, needed
from .errors import InvalidInstance, RematError

try:
    import onnx
    from onnx import shape_inference
except ImportError as error:
    raise RematError("remat_bb.onnx: ONNX is not installed", remedy="pip install onnx") from error

__all__ = ["Device", "load"]

# Operators whose output is their first input with another shape.
_VIEWS = {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity"}
# Operators that convolve or multiply matrices: each element of the output takes many products.
_CONVOLUTIONS = {"Conv", "ConvInteger", "QLinearConv"}
_PRODUCTS = {"MatMul", "Gemm", "MatMulInteger", "QLinearMatMul"}


def load(
    model: Any,
    *,
    sizes: Mapping[str, int] | None = None,
    name: str | None = None,
    device: Device | None = None,
) -> _native.Instance:
    """The instance of an ONNX model.

    Args:
        model: Name of a file, or an ``onnx.ModelProto``. Weights in other files are not read.
        sizes: A size for each named dimension of the inputs, such as ``{"batch": 8}``.
        name: Name of the instance; by default the name of the graph.
        device: Device for the costs, which are nanoseconds of a roofline.

    Raises:
        InvalidInstance: the file is no ONNX model, or the size of a tensor is unknown; the message
            names tensor and dimension.
    """
    graph = _inferred(_read(model), dict(sizes or {})).graph
    reader = _Reader(graph)
    for node in graph.node:
        reader.read(node)
    results = [v for v in (reader.values.get(o.name) for o in graph.output) if v is not None]
    operations = needed(reader.operations, results)
    called = name or graph.name or "graph"
    instance = document(operations, results, reader.fixed_bytes(), called, device or Device())
    return _native.Instance(instance)


def _read(model: Any) -> Any:
    if isinstance(model, onnx.ModelProto):
        found = onnx.ModelProto()
        found.CopyFrom(model)
        return found
    place = os.fspath(model)
    try:
        return onnx.load(place, load_external_data=False)
    except OSError as error:
        raise InvalidInstance(f"{place}: {error.strerror or error}", place=place) from error
    except Exception as error:  # protobuf's own, which has no public name
        raise InvalidInstance(
            f"{place}: no ONNX model: {error}", place=place, remedy="give a file of onnx.save"
        ) from error


def _inferred(model: Any, sizes: dict[str, int]) -> Any:
    """The model with sizes for its named dimensions, and with all shapes that ONNX can infer."""
    known = {i.name for i in model.graph.initializer}
    named: set[str] = set()
    for tensor in model.graph.input:
        if tensor.name in known:
            continue
        for position, size in enumerate(tensor.type.tensor_type.shape.dim):
            if size.HasField("dim_value"):
                continue
            word = size.dim_param
            named.add(word)
            if word not in sizes:
                called = f"{word!r}" if word else "without a name"
                raise InvalidInstance(
                    f"input {tensor.name}: dimension {position} ({called}) has no size",
                    place=tensor.name,
                    remedy=f"sizes={{{word!r}: 8}}" if word else "fix its shape in the model",
                )
            size.dim_value = sizes[word]
    if unknown := sorted(set(sizes) - named):
        raise InvalidInstance(
            f"sizes: no input has a dimension {unknown[0]!r}",
            place="sizes",
            remedy=f"one of {', '.join(sorted(filter(None, named))) or 'none'}",
        )
    for tensor in (*model.graph.value_info, *model.graph.output):
        tensor.type.tensor_type.ClearField("shape")
    del model.graph.value_info[:]
    return shape_inference.infer_shapes(model, data_prop=True)


class _Reader:
    """The operations of a graph.

    Attributes:
        operations: Operations read so far.
        values: Values by the names of tensors; ``None`` for inputs, weights and constants.
    """

    def __init__(self, graph: Any) -> None:
        self.operations: list[Operation] = []
        self.values: dict[str, Value | None] = {}
        self.types = {t.name: t.type for t in (*graph.value_info, *graph.output, *graph.input)}
        self.weights = {i.name: i for i in graph.initializer}
        self.inputs = [t.name for t in graph.input if t.name not in self.weights]
        self.constants: dict[str, Any] = {}
        for word in (*self.weights, *self.inputs):
            self.values[word] = None

    def fixed_bytes(self) -> int:
        """Memory of inputs, weights and constants."""
        there = (*self.weights.values(), *self.constants.values())
        weights = sum(_element_bytes(t.data_type) * _product(t.dims) for t in there)
        return weights + sum(_product(self.shape(t)) * self.element(t) for t in self.inputs)

    def shape(self, tensor: str) -> list[int]:
        """Shape of a tensor.

        Raises:
            InvalidInstance: the shape is unknown.
        """
        found = self.weights.get(tensor) or self.constants.get(tensor)
        if found is not None:
            return list(found.dims)
        kind = self.types.get(tensor)
        if kind is None or not kind.tensor_type.HasField("shape"):
            raise InvalidInstance(
                f"tensor {tensor}: its shape is not known",
                place=tensor,
                remedy="run onnxsim or onnxruntime's symbolic shape inference on the model first",
            )
        sizes = kind.tensor_type.shape.dim
        for position, size in enumerate(sizes):
            if not size.HasField("dim_value"):
                word = f" ({size.dim_param})" if size.dim_param else ""
                raise InvalidInstance(
                    f"tensor {tensor}: dimension {position}{word} depends on data",
                    place=tensor,
                    remedy="run onnxsim or onnxruntime's symbolic shape inference on the model "
                    "first",
                )
        return [int(size.dim_value) for size in sizes]

    def element(self, tensor: str) -> int:
        """Bytes of an element of a tensor."""
        found = self.weights.get(tensor) or self.constants.get(tensor)
        if found is not None:
            return _element_bytes(found.data_type)
        kind = self.types.get(tensor)
        return 0 if kind is None else _element_bytes(kind.tensor_type.elem_type)

    def read(self, node: Any) -> None:
        """Reads a node of the graph."""
        if node.op_type == "Constant":
            tensor = next((a.t for a in node.attribute if a.name == "value"), onnx.TensorProto())
            self.constants[node.output[0]] = tensor
            self.values[node.output[0]] = None
            return
        named = [word for word in node.input if word]
        for word in named:
            if word not in self.values:
                raise InvalidInstance(
                    f"node {node.name or node.op_type} reads {word}, which nothing before it makes",
                    place=word,
                    remedy="sort the nodes (onnx.checker.check_model)",
                )
        if node.op_type in _VIEWS or (node.op_type == "Dropout" and len(node.output) == 1):
            self.values[node.output[0]] = self.values[named[0]]
            if self.values[named[0]] is None:
                self.types.setdefault(node.output[0], self.types.get(named[0]))
            return
        outputs = []
        for word in node.output:
            if word:
                shape = self.shape(word)
                value = Value(word, _product(shape) * self.element(word), shape)
                self.values[word] = value
                outputs.append(value)
        sources = [self.values[word] for word in named]
        fixed = [word for word, value in zip(named, sources) if value is None]
        operation = Operation(
            op=f"{node.op_type} {node.name}".strip(),
            outputs=outputs,
            inputs=list(dict.fromkeys(v for v in sources if v is not None)),
            read_bytes=sum(_product(self.shape(w)) * self.element(w) for w in dict.fromkeys(fixed)),
            work=self.work(node, named),
        )
        self.operations.append(operation)

    def work(self, node: Any, named: list[str]) -> float:
        """Floating point operations: two for each multiplication of a product or convolution, else
        one for each element of the output."""
        made = sum(_product(self.shape(word)) for word in node.output if word)
        if node.op_type in _CONVOLUTIONS:
            kernel = self.shape(named[3 if node.op_type == "QLinearConv" else 1])
            return 2.0 * made * _product(kernel[1:])
        if node.op_type == "ConvTranspose":
            kernel = self.shape(named[1])
            return 2.0 * _product(self.shape(named[0])) * _product(kernel[1:])
        if node.op_type in _PRODUCTS:
            first = self.shape(named[0])
            turned = any(a.name == "transA" and a.i for a in node.attribute)
            return 2.0 * made * (first[0] if turned else first[-1])
        return float(made)


def _product(shape: Iterable[int]) -> int:
    return math.prod(shape)


def _element_bytes(data_type: int) -> int:
    """Bytes of an element: elements of four bits count as one byte, text as 0."""
    if data_type in (onnx.TensorProto.UNDEFINED, onnx.TensorProto.STRING):
        return 0
    return int(onnx.helper.tensor_dtype_to_np_dtype(data_type).itemsize)
