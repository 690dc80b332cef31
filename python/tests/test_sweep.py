"""Grids: equal tables on every engine, lost workers, wrong files, errors."""

import json
import os
import re
import subprocess
import sys
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

import remat_bb
from remat_bb import _sweep

ROOT = Path(__file__).resolve().parents[2]


def grid(**more):
    graph = remat_bb.Instance.zoo("chain?n=5&bytes=7")
    return {
        "models": ["zoo:chain?n=4", graph],
        "budgets": "50%..100%:4",
        "seeds": [0, 1],
        "settings": {"effort": "quick"},
        **more,
    }


@pytest.fixture(scope="module")
def wanted(tmp_path_factory):
    """The table of one process, and its folder."""
    folder = tmp_path_factory.mktemp("one") / "runs"
    return remat_bb.sweep(grid(), folder=folder), folder


def spawned():
    return ProcessPoolExecutor(2, mp_context=get_context("spawn"))


def test_the_table_has_every_job_in_order(wanted, tmp_path):
    table, folder = wanted
    assert len(table) == 16 and [row["job"] for row in table] == list(range(16))
    assert {row["status"] for row in table} <= {"optimal", "feasible", "infeasible"}
    for row in table:
        if row["objective"] is not None:
            assert (
                row["bound"] <= row["objective"] and row["peak_memory_bytes"] <= row["budget_bytes"]
            )
            assert table.plan(row["job"]).objective == row["objective"]
    assert "16 jobs" in repr(table) and table.columns == ["model", "seed"]
    assert table.to_csv(tmp_path / "t.csv") == (tmp_path / "t.csv").read_text()
    assert "seconds" not in table.to_csv() and "seconds" in table.times()
    assert len(table.pictures(tmp_path / "pictures")) == 2
    assert remat_bb.merge(folder).to_csv() == table.to_csv()
    assert table.records()[0]["model"] == "zoo:chain?n=4"


def test_parquet_has_the_rows_of_the_table(wanted, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    wanted[0].to_parquet(tmp_path / "table.parquet")
    rows = parquet.read_table(tmp_path / "table.parquet").to_pylist()
    assert rows == wanted[0].records()


@pytest.mark.parametrize("pack", [1, 7, 100])
def test_threads_and_packs_change_no_byte(wanted, pack):
    with ThreadPoolExecutor(2) as pool:
        table = remat_bb.sweep(grid(), executor=pool, pack=pack)
    assert table.to_csv() == wanted[0].to_csv()


class Lossy:
    """An engine that loses calls: the worker's process dies before or after its work."""

    def __init__(self, losses):
        self.losses = losses
        self.calls = 0

    def submit(self, function, *args):
        self.calls += 1
        answer = Future()
        loss = self.losses.get(self.calls)
        # No folder of the driver is visible to these workers.
        payload, _ = args
        if loss == "before":
            answer.set_exception(OSError("lost"))
            return answer
        results = function(payload, "/nowhere")
        if loss == "after":
            answer.set_exception(OSError("lost"))
        else:
            answer.set_result(results)
        return answer


def test_lost_packs_are_submitted_again_and_need_no_common_folder(wanted):
    engine = Lossy({1: "before", 3: "after", 4: "after"})
    table = remat_bb.sweep(grid(), executor=engine, pack=4)
    assert table.to_csv() == wanted[0].to_csv()
    assert engine.calls == 4 + 3


def test_jobs_that_are_lost_each_time_are_named(tmp_path):
    poisoned = Lossy(dict.fromkeys(range(1, 100), "before"))
    with pytest.raises(
        remat_bb.JobsLost, match="16 jobs have no result after 2 attempts"
    ) as caught:
        remat_bb.sweep(grid(), executor=poisoned, tries=2, folder=tmp_path / "runs")
    assert sorted(caught.value.jobs) == list(range(16))
    assert "OSError: lost" in str(caught.value) and "same folder" in caught.value.remedy
    with pytest.raises(remat_bb.InvalidArgument, match="16 of 16 jobs have no result"):
        remat_bb.merge(tmp_path / "runs")
    assert remat_bb.merge(tmp_path / "runs", partial=True).missing == 16


def test_a_lost_worker_breaks_the_pool_and_costs_a_resubmission(wanted, tmp_path):
    pools = []

    class Deadly:
        """A pool whose first worker ends."""

        def __init__(self):
            self.pool = spawned()
            pools.append(self)

        def submit(self, function, *args):
            if len(pools) == 1:
                # A worker that is killed while it waits for work keeps a lock, and pools of Python
                # 3.11 then hang now and then. This one ends in its work.
                return self.pool.submit(os._exit, 1)
            return self.pool.submit(function, *args)

    table = remat_bb.sweep(grid(), executor=Deadly, pack=4, folder=tmp_path / "runs")
    for made in pools:
        made.pool.shutdown(wait=False, cancel_futures=True)
    assert len(pools) == 2 and table.to_csv() == wanted[0].to_csv()


def test_a_sweep_resumes_and_replaces_wrong_files(wanted, tmp_path):
    folder = tmp_path / "runs"
    remat_bb.sweep(grid(seeds=[0]), folder=folder)
    files = sorted((folder / "results").iterdir())
    files[0].write_text(files[0].read_text()[:50])
    files[1].write_text(files[2].read_text())
    kept = files[3].stat().st_mtime_ns
    table = remat_bb.sweep(grid(), folder=folder)
    assert table.to_csv() == wanted[0].to_csv() and table.refuted == []
    assert files[3].stat().st_mtime_ns == kept


def test_the_command_makes_the_same_bytes_in_killed_shards(wanted, tmp_path):
    document = grid()
    document["models"][1].save(tmp_path / "graph.json")
    models = ["zoo:chain?n=4", "graph.json"]
    lines = [f"models = {models}", "budgets = '50%..100%:4'", "seeds = [0, 1]"]
    (tmp_path / "grid.toml").write_text("\n".join([*lines, "[settings]", "effort = 'quick'"]))

    def sweep(*more):
        command = [sys.executable, "-m", "remat_bb", "sweep", "grid.toml", "--resume", "runs", "-q"]
        return subprocess.Popen([*command, *more], cwd=tmp_path, stdout=subprocess.DEVNULL)

    for k in (1, 2, 3):
        killed = sweep("--shard", f"{k}/3")
        killed.kill()
        killed.wait()
    for k in (3, 1, 2):
        assert sweep("--shard", f"{k}/3").wait() == 0
    table = remat_bb.merge(tmp_path / "runs")
    strip = [
        re.sub(r"graph.json|chain\?bytes=7&n=5|chain\?n=5&bytes=7", "G", text)
        for text in (table.to_csv(), wanted[0].to_csv())
    ]
    assert strip[0] == strip[1]


@pytest.mark.parametrize("variable", ["SLURM_ARRAY_TASK_ID", "HQ_TASK_ID", "JOB_COMPLETION_INDEX"])
def test_recipes_of_the_guide_cover_the_grid(variable, tmp_path):
    """The command of each recipe, with a stand-in for the engine that sets its variable."""
    guide = ROOT / "docs" / "guides" / "a-thousand-solves.md"
    if not guide.exists():
        pytest.skip("the guide is not there: the tests run apart from the repository")
    text = guide.read_text().replace("\\\n", " ")
    line = next(
        one
        for one in re.findall(r"exec remat-bb sweep.*(?:\n +--shard.*)?", text)
        if variable in one
    )
    line = " ".join(line.split()).rstrip("'")
    (tmp_path / "grid.toml").write_text(
        "models = 'zoo:chain?n=4'\nbudgets = '60%..100%:4'\nchain = 1\nseeds = [0, 1]\n"
        "[settings]\neffort = 'quick'\n"
    )
    count = 64 if variable == "HQ_TASK_ID" else 16
    first = 0 if variable == "JOB_COMPLETION_INDEX" else 1
    launcher = tmp_path / "remat-bb"
    launcher.write_text(f'#!/bin/sh\nexec {sys.executable} -m remat_bb "$@"\n')
    launcher.chmod(0o755)
    for index in range(first, first + 8):
        environment = {
            **os.environ,
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
            variable: str(index),
            "SLURM_ARRAY_TASK_COUNT": str(count),
            "SLURM_CPUS_PER_TASK": "1",
        }
        subprocess.run(
            ["bash", "-c", line], cwd=tmp_path, env=environment, check=True, capture_output=True
        )
    assert remat_bb.merge(tmp_path / "runs").missing == 0


def test_the_manifest_of_the_guide_is_an_indexed_job():
    yaml = pytest.importorskip("yaml")
    guide = ROOT / "docs" / "guides" / "a-thousand-solves.md"
    if not guide.exists():
        pytest.skip("the guide is not there: the tests run apart from the repository")
    text = re.search(r"```yaml\n(.*?)```", guide.read_text(), re.S).group(1)
    job = yaml.safe_load(text)
    assert job["kind"] == "Job" and job["spec"]["completionMode"] == "Indexed"
    [container] = job["spec"]["template"]["spec"]["containers"]
    assert f'/{job["spec"]["completions"]}"' in container["args"][0]


def test_wrong_grids_and_arguments_are_refused(tmp_path):
    with pytest.raises(remat_bb.InvalidArgument, match="grid: budget: there is no such key"):
        remat_bb.sweep({"models": "zoo:vgg16", "budget": "60%"})
    with pytest.raises(remat_bb.InvalidArgument, match="pack: 0"):
        remat_bb.sweep(grid(), pack=0)
    with pytest.raises(remat_bb.InvalidType, match="executor: an object of type int"):
        remat_bb.sweep(grid(), executor=3)
    with pytest.raises(remat_bb.InvalidArgument, match="no.toml"):
        remat_bb.sweep(tmp_path / "no.toml")
    with pytest.raises(remat_bb.InvalidArgument, match="grid.json"):
        remat_bb.merge(tmp_path)
    with pytest.raises(remat_bb.InvalidArgument, match="vgg17"):
        remat_bb.sweep(grid(models=["zoo:vgg17"]))


def test_pipelines_are_jobs_as_well():
    table = remat_bb.sweep(
        {"models": "zoo:chain?n=6", "stages": [2, 3], "microbatches": 4, "budgets": ["60%", "100%"]}
    )
    assert {row["status"] for row in table} <= {"optimal", "feasible", "infeasible", "limit"}
    with pytest.raises(remat_bb.InvalidArgument, match="is a pipeline"):
        table.plan(next(row["job"] for row in table if row["plan"]))
    assert json.loads(table._table.json())["rows"][0]["overhead_percent"] is None


def test_the_worker_function_is_found_by_name():
    assert _sweep.work.__module__ == "remat_bb._sweep" and _sweep.work.__qualname__ == "work"
