"""Orders and addresses: what is found is replayed here, step by step."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import remat_bb

GRAPH: dict[str, Any] = {
    "schema": "remat-order/1",
    "name": "four",
    "operators": [
        {"outputs": [0, 1]},
        {"inputs": [0], "outputs": [2]},
        {"inputs": [1]},
        {"inputs": [2]},
    ],
    "tensors": [{"bytes": 4}, {"bytes": 6}, {"bytes": 9}],
}


def peak(graph: dict[str, Any], order: list[int]) -> int:
    """Peak of an order: outputs are taken, memory is read, then inputs go that nobody reads."""
    size = [tensor["bytes"] for tensor in graph["tensors"]]
    left = [0] * len(size)
    for operator in graph["operators"]:
        for tensor in operator.get("inputs", []):
            left[tensor] += 1
    memory = most = 0
    for k in order:
        operator = graph["operators"][k]
        memory += sum(size[tensor] for tensor in operator.get("outputs", []))
        most = max(most, memory)
        for tensor in operator.get("inputs", []):
            left[tensor] -= 1
            memory -= size[tensor] * (left[tensor] == 0)
    return most


def test_an_order_is_optimal_and_replays(tmp_path: Path) -> None:
    found = remat_bb.order(GRAPH)
    assert (found.status, found.peak_memory_bytes, found.bound) == ("optimal", 13, 13)
    assert peak(GRAPH, found.order) == 13 and found.program_peak_bytes == peak(GRAPH, [0, 1, 2, 3])
    found.save(tmp_path / "order.json")
    saved = json.loads((tmp_path / "order.json").read_text())
    assert saved == found.to_dict() and saved["order"] == found.order
    file = tmp_path / "graph.json"
    file.write_text(json.dumps(GRAPH))
    assert remat_bb.order(file).order == found.order
    assert remat_bb.order(GRAPH, budget=12).status == "infeasible"


def test_known_rules_are_no_better_than_the_best_order() -> None:
    rules = {rule.name: rule for rule in remat_bb.order_baselines(GRAPH)}
    for rule in rules.values():
        assert rule.peak_memory_bytes == peak(GRAPH, rule.order) >= 13
    assert rules["program"].order == [0, 1, 2, 3]
    with pytest.raises(remat_bb.InvalidArgument, match="variant"):
        remat_bb.order_baselines(GRAPH, variant="any")


def test_known_ways_place_without_clashes_or_say_why_not() -> None:
    lives = [(0, 2, 4), (1, 3, 8), (2, 5, 4), (1, 4, 2)]
    ways = remat_bb.place_baselines(lives)
    least = remat_bb.place(lives).height_bytes
    for way in ways:
        assert way.offsets is not None and way.because is None
        ends = [offset + life[2] for offset, life in zip(way.offsets, lives)]
        assert max(ends) == way.height_bytes and way.height_bytes >= least
        for k, a in enumerate(lives):
            for q, b in enumerate(lives[:k]):
                apart = a[1] <= b[0] or b[1] <= a[0]
                assert apart or ends[k] <= way.offsets[q] or ends[q] <= way.offsets[k]


def test_addresses_of_a_memory_plan_do_not_clash() -> None:
    plan = remat_bb.plan_memory("zoo:unet?batch=1")
    order = remat_bb.order("zoo:unet?batch=1")
    assert plan.status == "optimal" and plan.bound == order.bound
    assert plan.base_memory_bytes + plan.height_bytes == plan.peak_memory_bytes == plan.bound
    assert min(plan.offsets.values()) == 0
    assert max(plan.offsets.values()) < plan.height_bytes


def test_placements_do_not_clash() -> None:
    numbers = random.Random(3)
    for _ in range(40):
        lives = []
        for _ in range(numbers.randrange(1, 12)):
            begin = numbers.randrange(10)
            lives.append((begin, begin + numbers.randrange(1, 6), numbers.randrange(1, 20)))
        placed = remat_bb.place(lives)
        pairs = list(zip(lives, placed.offsets))
        for k, ((begin, end, size), offset) in enumerate(pairs):
            for (other_begin, other_end, other_size), other in pairs[:k]:
                together = begin < other_end and other_begin < end
                assert not (together and offset < other + other_size and other < offset + size)
        height = max(offset + life[2] for life, offset in pairs)
        assert placed.status == "optimal" and placed.height_bytes == height == placed.bound
        assert placed.load_bytes <= height


def test_what_makes_no_sense_is_named() -> None:
    with pytest.raises(remat_bb.InvalidArgument, match="variant"):
        remat_bb.order(GRAPH, variant="loud")
    with pytest.raises(remat_bb.InvalidInstance, match="operators"):
        remat_bb.order({**GRAPH, "operators": 3})
    with pytest.raises(remat_bb.InvalidArgument, match="upper"):
        remat_bb.place([(3, 1, 5)])
    assert remat_bb.place([(0, 2, 4), (1, 3, 8)], capacity=11).status == "infeasible"
    assert remat_bb.place([(-5, 2, 4, 0), (-1, 2**63 - 1, 4)]).height_bytes == 8
