"""Options: one table for every door, and annotations that agree with it."""

import inspect
import typing

import pytest

import remat_bb
from remat_bb import _native, _types

GROUPS = {
    _types.SolveOptions: None,
    _types.FrontierOptions: "limit search workers program link phase",
    _types.BaselinesOptions: "workers program link phase",
    _types.MaxBatchOptions: "limit workers link phase",
    _types.LimitOptions: "limit workers",
}
SMALL = "zoo:chain?n=8"


@pytest.mark.parametrize("kind", GROUPS, ids=lambda kind: kind.__name__)
def test_annotations_are_the_table(kind):
    groups = GROUPS[kind]
    table = {
        row["name"]
        for row in _native.options_table()
        if groups is None or row["group"] in groups.split()
    }
    assert set(typing.get_type_hints(kind)) == table


def test_every_option_is_documented():
    kinds = [kind for name, kind in vars(_types).items() if name.endswith("Options")]
    documents = "\n".join(inspect.getdoc(kind) for kind in kinds)
    for row in _native.options_table():
        assert f"    {row['name']}: " in documents, row["name"]


def test_words_of_choices_are_taken():
    for row in _native.options_table():
        needed = {"offload": "pcie4"} if row["group"] in ("link", "phase", "release") else {}
        for word in row["words"]:
            options = {"effort": "quick", **needed, row["name"]: word}
            if row["name"] == "effort" and word == "full":
                continue
            instance = "zoo:resnet18?batch=1"
            assert remat_bb.solve(instance, "100%", threads=1, **options).objective


@pytest.mark.parametrize(
    ("name", "value", "error", "words"),
    [
        ("colour", "red", TypeError, "unexpected keyword argument 'colour'"),
        ("gap", "much", remat_bb.InvalidArgument, 'gap: "much": write a fraction'),
        ("threads", 1.5, remat_bb.InvalidArgument, "threads: a whole number from 0 to 1024"),
        ("lanes", 1025, remat_bb.InvalidArgument, "lanes: a whole number from 0 to 1024"),
        ("reorder", "yes", remat_bb.InvalidArgument, "reorder: True or False"),
        ("duplex", "half", remat_bb.InvalidArgument, "duplex: there is no link"),
        ("offload_phase", "later", remat_bb.InvalidArgument, 'write "any" or "loss"'),
        ("alignment", 48, remat_bb.InvalidArgument, 'alignment: "48": write a power of two'),
    ],
)
def test_wrong_options_are_named(name, value, error, words):
    with pytest.raises(error, match=words):
        remat_bb.solve(SMALL, "90%", **{name: value})


def test_options_of_other_functions_are_refused():
    with pytest.raises(TypeError, match="max_batch.. got an unexpected keyword argument 'gap'"):
        remat_bb.max_batch("zoo:chain?n=8", "1GiB", gap=0.1)


def test_an_alignment_asks_for_addresses():
    plan = remat_bb.solve(SMALL, "90%", effort="quick", alignment=64)
    assert plan.alignment_bytes == 64
