"""A grid of small solves on every engine: equal bytes, lost workers, busy cores.

    python python/bench/fleet.py --jobs 200 --engines threads,processes
    python python/bench/fleet.py --jobs 10000 --engines threads,loky,dask,ray --kill

Each line has the engine, seconds, own processor seconds, jobs per second, own processor time over
own and idle time of the machine, killed workers, and whether the merged bytes equal the bytes of
the first engine.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import remat_bb

BUDGETS = 20
MODELS = 5
# Seconds between two samples of processor time.
SAMPLE = 0.5


def grid(jobs: int, starts: bool = True) -> dict:
    """A grid with about this number of jobs."""
    seeds = max(1, jobs // (BUDGETS * MODELS))
    return {
        "models": [f"zoo:chain?n={n}" for n in range(3, 3 + MODELS)],
        "budgets": f"40%..100%:{BUDGETS}",
        "seeds": list(range(seeds)),
        "starts": starts,
        "settings": {"effort": "quick"},
    }


def children(pid: int) -> set[int]:
    """All processes below one."""
    parents = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int(stat(int(entry.name))[1])
            except (OSError, IndexError):
                continue
    found, new = set(), {pid}
    while new:
        found |= new
        new = {child for child, parent in parents.items() if parent in new} - found
    return found


def stat(pid: int) -> list[str]:
    """Fields of a process after its name."""
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()


class Meter:
    """Processor seconds of this process and those below it, and idle seconds of the machine."""

    def __init__(self) -> None:
        self.own: dict[int, float] = {}
        self.base = self._sample()
        self.idle = self._idle()
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        while not self.over.wait(SAMPLE):
            self._sample()

    def _sample(self) -> dict[int, float]:
        tick = os.sysconf("SC_CLK_TCK")
        for pid in children(os.getpid()):
            try:
                fields = stat(pid)
            except OSError:
                continue
            self.own[pid] = (int(fields[11]) + int(fields[12])) / tick
        return dict(self.own)

    @staticmethod
    def _idle() -> float:
        fields = Path("/proc/stat").read_text().split("\n")[0].split()
        return (int(fields[4]) + int(fields[5])) / os.sysconf("SC_CLK_TCK")

    def used(self) -> tuple[float, float]:
        """Own processor seconds, and their share of own and idle ones."""
        self.over.set()
        self.thread.join()
        self._sample()
        own = sum(used - self.base.get(pid, 0.0) for pid, used in self.own.items())
        return own, own / max(own + self._idle() - self.idle, 1e-9)


class Killer:
    """Kills a random worker again and again, until so many died."""

    def __init__(self, workers: Callable[[], list[int]], most: int, pause: float) -> None:
        self.killed = 0
        self.over = threading.Event()
        self.workers, self.most, self.pause = workers, most, pause
        self.random = random.Random(7)
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        while self.killed < self.most and not self.over.wait(self.pause):
            alive = self.workers()
            if alive:
                try:
                    os.kill(self.random.choice(alive), signal.SIGKILL)
                    self.killed += 1
                except ProcessLookupError:
                    continue

    def stop(self) -> int:
        self.over.set()
        self.thread.join()
        return self.killed


@contextmanager
def engine(name: str, workers: int) -> Iterator[tuple[object, Callable[[], list[int]]]]:
    """An engine, and the processes of its workers."""
    if name == "one":
        with ThreadPoolExecutor(1) as pool:
            yield pool, lambda: []
    elif name == "threads":
        yield None, lambda: []
    elif name == "processes":
        made: list[ProcessPoolExecutor] = []

        def make() -> ProcessPoolExecutor:
            made.append(ProcessPoolExecutor(workers))
            return made[-1]

        yield make, lambda: list(made[-1]._processes or {}) if made else []
        for pool in made:
            pool.shutdown()
    elif name == "loky":
        from loky import get_reusable_executor

        loky: list = []

        def reusable():
            loky[:] = [get_reusable_executor(max_workers=workers, timeout=600)]
            return loky[0]

        yield reusable, lambda: list(loky[0]._processes or {}) if loky else []
        reusable().shutdown()
    elif name == "dask":
        import dask
        from distributed import Client, LocalCluster

        dask.config.set({"distributed.logging.distributed": "critical"})
        with LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as local:
            with Client(local) as client:
                pids = lambda: list(client.run(os.getpid).values())  # noqa: E731
                yield client, pids
    elif name == "ray":
        import ray

        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
        yield remat_bb.ray_executor(num_cpus=1), lambda: []
        ray.shutdown()
    else:
        sys.exit(f"{name!r} is no engine: one, threads, processes, loky, dask, ray")


def run(name: str, asked: dict, workers: int, kills: int, pause: float) -> str:
    """Sweeps on an engine, prints a line, and returns the merged bytes."""
    with tempfile.TemporaryDirectory() as folder, engine(name, workers) as (executor, pids):
        killer = Killer(pids, kills, pause) if kills else None
        begun, meter = time.perf_counter(), Meter()
        merged = remat_bb.sweep(asked, executor=executor, folder=folder, tries=5)
        seconds, (own, share) = time.perf_counter() - begun, meter.used()
        killed = killer.stop() if killer else 0
        text = merged.to_csv()
    rate = len(merged) / seconds
    print(
        f"{name:10} {seconds:8.1f} s  {own:7.1f} CPU s {rate:7.1f} jobs/s  cores {share:5.1%}",
        end="",
    )
    print(f"  killed {killed:3}", end="")
    return text


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--engines", default="threads,processes")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument(
        "--kill", action="store_true", help="kill workers of processes, loky and dask"
    )
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--pause", type=float, default=2.0, help="seconds between two kills")
    parser.add_argument(
        "--no-starts", action="store_true", help="also run without neighbours' starts"
    )
    chosen = parser.parse_args()
    asked = grid(chosen.jobs)
    reference = None
    for name in chosen.engines.split(","):
        kills = chosen.kills if chosen.kill and name in ("processes", "loky", "dask") else 0
        text = run(name, asked, chosen.workers, kills, chosen.pause)
        reference = reference or text
        print("  equal" if text == reference else "  DIFFERENT", flush=True)
        if text != reference:
            sys.exit(1)
    if chosen.no_starts:
        run("threads", grid(chosen.jobs, starts=False), chosen.workers, 0, 0.0)
        print("  without starts")


if __name__ == "__main__":
    main()
