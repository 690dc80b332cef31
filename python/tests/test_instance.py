"""Instances: every way to make one, back again, and errors that name the place."""

import gzip
import json
from pathlib import Path

import pytest

import remat_bb
from remat_bb import FileError, Instance, InvalidInstance


def test_properties(chain):
    assert chain.name == "chain?n=9"
    assert len(chain) == len(chain.nodes) == len(set(chain.nodes))
    assert chain.cost_unit == "ns" and chain.cost_unit_nanoseconds == 1.0
    assert chain.formulation == "checkmate" and not chain.has_implementations
    assert chain.peak_memory_bytes > chain.fixed_bytes
    assert chain.base_cost == sum(node["cost"] for node in chain.to_dict()["nodes"])
    assert len(chain.sha256) == 64
    assert f"{len(chain)} nodes" in repr(chain)
    assert chain.format_cost(2_500_000) == "2.500 ms"


def test_choices_take_monets_program(choices):
    instance = Instance(choices)
    assert instance.has_implementations and instance.has_loss
    assert instance.formulation == "monet"
    assert instance.name == "two layers" and instance.cost_unit == "us"
    assert instance.nodes[:2] == ["conv", "relu"]


def test_the_zoo_with_and_without_its_prefix(chain):
    assert Instance.zoo("zoo:chain?n=9") == chain
    assert Instance("zoo:chain?n=9") == chain
    assert Instance(chain) == chain
    assert Instance.zoo("chain?n=10") != chain
    names = [model["name"] for model in remat_bb.zoo_models()]
    assert "llama" in names and len(names) == len(set(names))
    default, meaning = remat_bb.zoo_models()[names.index("llama")]["parameters"]["layers"]
    assert int(default) > 0 and meaning


def test_dictionaries_and_files_round_trip(chain, choices, tmp_path):
    for instance in (chain, Instance(choices)):
        assert Instance(instance.to_dict()) == instance
        for name in ("graph.json", "graph.json.gz"):
            path = tmp_path / name
            instance.save(path)
            assert Instance(path) == Instance(str(path)) == Instance(path.read_bytes()) == instance
        assert (
            gzip.decompress((tmp_path / "graph.json.gz").read_bytes())
            == (tmp_path / "graph.json").read_bytes()
        )


def test_node_link_files_are_read(tmp_path):
    document = {
        "nodes": [{"id": "x", "time": 3, "size": 8}, {"id": "y", "time": 1, "size": 4}],
        "links": [{"source": "x", "target": "y"}],
    }
    path = tmp_path / "tiny.json"
    path.write_text(json.dumps(document))
    assert Instance(path).base_cost == Instance(document).base_cost == 4
    assert Instance(path).name == "tiny"


def test_numbers_of_other_libraries_are_numbers():
    class Whole:
        def __index__(self):
            return 7

    class Real:
        def __float__(self):
            return 2.5

    nodes = [{"name": "a", "cost": Real(), "output_bytes": Whole(), "shape": (Whole(), 1)}]
    node = Instance({"schema": "remat-instance/1", "cost_unit": "ms", "nodes": nodes}).to_dict()[
        "nodes"
    ][0]
    assert node["output_bytes"] == 7 and node["cost"] == 2500 and node["shape"] == [7, 1]


def document(**node) -> dict:
    fields = {"name": "a", "cost": 3, "output_bytes": 8, **node}
    return {"schema": "remat-instance/1", "nodes": [fields]}


@pytest.mark.parametrize(
    ("source", "place", "words"),
    [
        (document(cost="3"), "nodes[0].cost", 'found "3"'),
        (document(needs=["b"]), "nodes[0].needs[0]", '"b"'),
        (document(cots=3), "nodes[0].cots", "cots"),
        (document(cost={3}), "nodes[0].cost", "an object of type set"),
        (document(cost=float("nan")), "nodes[0].cost", "not finite"),
        (document(**{"shape": {1: 2}}), "nodes[0].shape", "the key 1 is no text"),
        ({"schema": "remat-instance/2", "nodes": []}, "schema", "remat-instance/1"),
        ({}, "", "the format is not recognised"),
        (7, "instance", "an object of type int"),
        ("zoo:vgg17", "zoo:vgg17", 'did you mean "vgg16"?'),
        ("zoo:vgg16?bach=3", "zoo:vgg16?bach=3", 'did you mean "batch"?'),
        (b"{", "bytes:1:2", "bytes"),
    ],
)
def test_errors_name_place_value_and_remedy(source, place, words):
    with pytest.raises(InvalidInstance) as caught:
        Instance(source)
    error = caught.value
    assert isinstance(error, ValueError) and isinstance(error, remat_bb.RematError)
    assert error.place == place
    assert words in str(error)
    assert error.remedy and error.remedy in str(error)


def test_errors_in_files_name_line_and_column(tmp_path):
    path = tmp_path / "net.json"
    path.write_text(
        '{"schema": "remat-instance/1",\n "nodes": [{"name": "a", "cost": -1, "output_bytes": 8}]}'
    )
    with pytest.raises(InvalidInstance) as caught:
        Instance(path)
    assert caught.value.place == f"{path}:2:34"
    assert "nodes[0].cost" in str(caught.value) and "-1" in str(caught.value)


def test_files_that_are_not_there_are_os_errors(tmp_path, chain):
    with pytest.raises(FileError, match="no such file") as caught:
        Instance(tmp_path / "nothing.json")
    assert isinstance(caught.value, OSError) and caught.value.place == str(
        tmp_path / "nothing.json"
    )
    with pytest.raises(FileError, match="did you mean the model zoo:vgg16?"):
        Instance("vgg16")
    with pytest.raises(FileError, match="missing"):
        chain.save(tmp_path / "missing" / "graph.json")
    assert list(Path(tmp_path).iterdir()) == []
