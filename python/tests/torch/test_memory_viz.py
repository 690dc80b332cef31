"""Snapshots of plans, opened by torch's own viewer."""

import pickle

from torch.cuda import _memory_viz as viewer

import remat_bb


def test_the_viewer_of_torch_opens_snapshots(tmp_path):
    instance = remat_bb.Instance.zoo("resnet18?batch=32")
    plan = remat_bb.solve(instance, "70%", time_limit=3, gap=0.05)
    plan.to_snapshot(tmp_path / "memory.pickle")

    def read():
        return pickle.loads((tmp_path / "memory.pickle").read_bytes())

    for page in (
        viewer.trace_plot(read()),
        viewer.trace_plot(read(), plot_segments=True),
        viewer.trace_plot(read(), filter_freed=True),
        viewer.segment_plot(read()),
    ):
        assert "add_local_files" in page
    words = viewer.segsum(read())
    assert "segments: 1" in words
    # The printed events: one allocation and one release for each block that does not stay.
    printed = viewer.trace(read())
    assert "cudaMalloc" in printed and printed.count("\ndel ") > 0
    # Folded stacks of a flame graph; their bytes are those in use at the end.
    folded = viewer.memory(read(), format_flamegraph=str).splitlines()
    used = sum(int(line.rsplit(" ", 1)[1]) for line in folded if "active_allocated" in line)
    assert used == read()["segments"][0]["allocated_size"]
    assert any("fixed memory" in line for line in folded)
