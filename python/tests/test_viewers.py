"""Files for viewers: snapshots as the viewers of PyTorch count them, traces and CSV."""

import csv
import json
import pickle

import pytest

import remat_bb
from remat_bb import FileError


def balanced(events, segment):
    """The peak of a device's events, and its blocks at the end. Every release is of a block in
    use, and no two blocks in use overlap."""
    used, total, peak, time = {}, 0, 0, 0
    low, high = segment["address"], segment["address"] + segment["total_size"]
    for event in events:
        assert event["time_us"] >= time
        time = event["time_us"]
        start, size = event["addr"], event["size"]
        if event["action"] == "alloc":
            assert low <= start and start + size <= high
            assert all(start + size <= a or b <= start for a, b in used.items())
            used[start] = start + size
            total += size
            peak = max(peak, total)
        elif event["action"] == "free_completed":
            assert used.pop(start) == start + size
            total -= size
    return peak, used


def devices(path):
    """The peak of each device of a snapshot, after checks of its form."""
    snapshot = pickle.loads(path.read_bytes())
    peaks = []
    assert len(snapshot["segments"]) == len(snapshot["device_traces"])
    for segment, events in zip(snapshot["segments"], snapshot["device_traces"], strict=True):
        peak, used = balanced(events, segment)
        peaks.append(peak)
        blocks = segment["blocks"]
        assert sum(block["size"] for block in blocks) == segment["total_size"]
        active = [block for block in blocks if block["state"] == "active_allocated"]
        assert {b["address"]: b["address"] + b["size"] for b in active} == used
        assert segment["allocated_size"] == sum(block["size"] for block in active)
        allocated = [event for event in events if event["action"] == "alloc"]
        assert all(event["frames"] and event["category"] for event in allocated)
        # The viewer in the browser fails on categories without this one.
        assert "unknown" in {event.get("category") for event in events}
    return snapshot, peaks


def test_a_snapshot_has_the_peak_and_the_reasons_of_a_plan(plan, tmp_path):
    path = tmp_path / "memory.pickle"
    plan.to_snapshot(path)
    snapshot, peaks = devices(path)
    assert peaks == [plan.peak_memory_bytes]
    assert snapshot["allocator_settings"]["peak_memory_bytes"] == str(plan.peak_memory_bytes)
    events = [e for e in snapshot["device_traces"][0] if e["action"] == "alloc"]
    again = [event for event in events if event["category"] == "recomputed"]
    assert len(again) == sum(plan.recomputed.values())
    for event in again:
        own, reason = event["frames"][:2]
        assert own["filename"] in plan.recomputed and reason["name"].startswith("recomputed for")
        assert plan.steps[own["line"]][1] == own["filename"]
    # Parameters are blocks with names, from the begin on.
    fixed = [event for event in events if event["category"] == "fixed memory"]
    assert sum(event["size"] for event in fixed) == plan.instance.fixed_bytes
    plan.to_snapshot(tmp_path / "again.pickle")
    assert path.read_bytes() == (tmp_path / "again.pickle").read_bytes()


def test_addresses_of_a_plan_are_those_of_its_blocks(plan, tmp_path):
    placed = plan.place(time_limit=5)
    path = tmp_path / "memory.pickle"
    placed.to_snapshot(path)
    snapshot, peaks = devices(path)
    assert peaks == [plan.peak_memory_bytes]
    (segment,) = snapshot["segments"]
    assert segment["total_size"] == placed.arena_bytes
    tensors = {offset for kind, _, offset, _ in placed.addresses if kind == "tensor"}
    events = [e for e in snapshot["device_traces"][0] if e["action"] == "alloc"]
    kinds = ("activations", "gradients", "recomputed")
    blocks = {e["addr"] - segment["address"] for e in events if e["category"] in kinds}
    assert blocks == tensors


def test_copies_fill_the_host_as_a_device(tmp_path):
    chain = remat_bb.Instance.zoo("chain?n=9")
    plan = remat_bb.solve(chain, "60%", offload="pcie4", time_limit=5)
    assert plan.copies
    path = tmp_path / "memory.pickle"
    plan.to_snapshot(path)
    assert devices(path)[1] == [plan.peak_memory_bytes, plan.host_peak_bytes]


@pytest.mark.parametrize("semantics", ["checkmate", "monet"])
def test_nodes_in_place_take_over_the_block(choices, semantics, tmp_path):
    instance = remat_bb.Instance(choices)
    plan = remat_bb.solve(instance, "100%", formulation=semantics)
    path = tmp_path / "memory.pickle"
    plan.to_snapshot(path)
    assert devices(path)[1] == [plan.peak_memory_bytes]


def test_snapshots_of_pipelines_orders_and_lives(run, tmp_path):
    graph, pipeline, order, path = (
        "zoo:chain?n=8",
        *(tmp_path / name for name in ("pipeline.json", "order.json", "memory.pickle")),
    )
    table = tmp_path / "lives.csv"
    table.write_text("id,lower,upper,size\nx,0,2,4\ny,1,3,8\nz,2,4,4\n")
    further = ("--stages", "2", "--microbatches", "4", "--budget", "60%")
    run("pipeline", graph, *further, "--out", str(pipeline))
    run("plan-memory", graph, "--out", str(order))
    for subject in ((graph, pipeline), (graph, order), (graph,), (table,)):
        done = run("show", *map(str, subject), "--snapshot", str(path), "--json")
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        if "devices" in found:
            wanted = [device["peak_memory_bytes"] for device in found["devices"]]
        else:
            wanted = [found["peak_memory_bytes"]]
        assert devices(path)[1] == wanted


def test_traces_and_tables_of_a_plan(plan, tmp_path):
    plan.to_trace(tmp_path / "step.json")
    trace = json.loads((tmp_path / "step.json").read_text())
    counted = [e for e in trace["traceEvents"] if e["ph"] == "C" and e["name"] == "memory"]
    assert max(event["args"]["bytes"] for event in counted) == plan.peak_memory_bytes
    plan.to_trace(tmp_path / "step.json.gz")
    assert (tmp_path / "step.json.gz").read_bytes()[:2] == b"\x1f\x8b"
    plan.to_csv(tmp_path / "memory.csv")
    with (tmp_path / "memory.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(plan.steps)
    assert max(int(row["memory_bytes"]) for row in rows) == plan.peak_memory_bytes


def test_a_missing_folder_is_named(plan, tmp_path):
    for write in (plan.to_trace, plan.to_snapshot, plan.to_csv):
        with pytest.raises(FileError, match="nowhere"):
            write(tmp_path / "nowhere" / "file")
