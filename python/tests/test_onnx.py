"""Instances of ONNX graphs."""

import pathlib
from typing import Any

import pytest

onnx = pytest.importorskip("onnx")
ro = pytest.importorskip("remat_bb.onnx")

from onnx import TensorProto, helper  # noqa: E402

import remat_bb  # noqa: E402

DEVICE = ro.Device(flops=1e9, bytes_per_second=1e9, launch_ns=0)


def weight(name: str, *shape: int) -> Any:
    return helper.make_tensor(name, TensorProto.FLOAT, shape, bytes(_size(shape)), raw=True)


def _size(shape: tuple[int, ...]) -> int:
    size = 4
    for n in shape:
        size *= n
    return size


def model(*, first: Any = "batch", nodes: Any = None) -> Any:
    nodes = nodes or [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1], name="stem"),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("Add", ["r", "c"], ["a"]),
        helper.make_node("Flatten", ["a"], ["f"]),
        helper.make_node("MatMul", ["f", "b"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [first, 3, 32, 32])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [first, 10])],
        [weight("w", 16, 3, 3, 3), weight("b", 16 * 32 * 32, 10)],
    )
    return helper.make_model(graph)


def test_a_file_becomes_an_instance(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "net.onnx"
    onnx.save(model(), file)
    instance = ro.load(file, sizes={"batch": 8}, device=DEVICE)
    found = {node["name"]: node for node in instance.to_dict()["nodes"]}
    assert list(found) == ["c", "r", "a", "y", "end"]
    image = 8 * 16 * 32 * 32
    assert [found[n]["output_bytes"] for n in "cray"] == [4 * image, 4 * image, 4 * image, 4 * 80]
    assert found["c"]["cost"] == 2 * image * 3 * 9
    assert found["y"]["cost"] == 2 * 80 * 16 * 32 * 32
    assert found["r"]["cost"] == 2 * 4 * image
    fixed = 4 * (16 * 27 + 160 * 32 * 32 + 8 * 3 * 32 * 32)
    assert instance.peak_memory_bytes == fixed + 3 * 4 * image


def test_a_memory_hungry_graph_is_planned() -> None:
    count, names = 8, ["x"]
    nodes = []
    for k in range(count):
        nodes.append(helper.make_node("Relu", [names[-1]], [f"e{k}"]))
        names.append(f"e{k}")
    for k in range(count):
        nodes.append(helper.make_node("Add", [names[-1], f"e{count - 1 - k}"], [f"d{k}"]))
        names.append(f"d{k}")
    nodes[-1].output[0] = "y"
    graph = helper.make_graph(
        nodes,
        "skips",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1024])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1024])],
    )
    instance = ro.load(helper.make_model(graph))
    plan = remat_bb.solve(instance, "70%")
    assert plan.peak_memory_bytes <= 0.7 * instance.peak_memory_bytes
    assert plan.recomputed


def test_a_size_that_is_not_known_is_named() -> None:
    with pytest.raises(remat_bb.InvalidInstance, match="input x: dimension 0 .'batch'.") as caught:
        ro.load(model())
    assert caught.value.remedy == "sizes={'batch': 8}"
    with pytest.raises(remat_bb.InvalidInstance, match="no input has a dimension 'height'"):
        ro.load(model(), sizes={"batch": 8, "height": 3})


def test_a_shape_that_depends_on_data_is_named() -> None:
    nodes = [
        helper.make_node("NonZero", ["x"], ["n"]),
        helper.make_node("Cast", ["n"], ["y"], to=TensorProto.FLOAT),
    ]
    with pytest.raises(remat_bb.InvalidInstance, match="tensor n: dimension 1") as caught:
        ro.load(model(first=8, nodes=nodes))
    assert "shape inference" in caught.value.remedy


def test_a_file_of_another_kind_is_refused(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "notes.onnx"
    file.write_text("no model")
    with pytest.raises(remat_bb.InvalidInstance, match="no ONNX model"):
        ro.load(file)
    with pytest.raises(remat_bb.InvalidInstance, match="No such file"):
        ro.load(tmp_path / "gone.onnx")
