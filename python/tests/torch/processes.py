"""Processes of one job after the other, for tests of several ranks.

A process that starts imports torch and its compiler, which takes longer than most jobs.
"""

import atexit
import gc
import socket
import traceback
from multiprocessing import connection, get_context
from typing import Any, Callable

import torch
from torch import distributed

# Seconds after which a job counts as stuck.
LIMIT = 300.0

_running: list[tuple[Any, connection.Connection]] = []


def _serve(rank: int, jobs: connection.Connection) -> None:
    """Runs jobs, and answers each with its error or None."""
    while (job := jobs.recv()) is not None:
        run, arguments = job
        problem = None
        try:
            run(rank, *arguments)
        except BaseException:
            problem = traceback.format_exc()
        if distributed.is_initialized():
            distributed.destroy_process_group()
        torch._dynamo.reset()
        gc.collect()
        jobs.send(problem)


def _start(count: int) -> None:
    context = get_context("spawn")
    while len(_running) < count:
        here, there = context.Pipe()
        process = context.Process(target=_serve, args=(len(_running), there), daemon=True)
        process.start()
        _running.append((process, here))


def end() -> None:
    """Ends all processes."""
    for process, _ in _running:
        process.kill()
        process.join()
    _running.clear()


atexit.register(end)


def on_each(count: int, run: Callable[..., None], *arguments: Any) -> None:
    """Calls ``run(rank, port, *arguments)`` on so many processes, with a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    _start(count)
    waiting = {}
    for rank in range(count):
        process, jobs = _running[rank]
        jobs.send((run, (port, *arguments)))
        waiting[jobs] = rank
    while waiting:
        ready = connection.wait(list(waiting), LIMIT)
        problems = ["stuck" for _ in waiting] if not ready else []
        for jobs in ready:
            rank = waiting.pop(jobs)
            try:
                problem = jobs.recv()
            except EOFError:
                problem = "the process has ended"
            if problem is not None:
                problems.append(f"rank {rank}: {problem}")
        if problems:
            # The others may wait for this rank.
            end()
            raise AssertionError("\n".join(problems))
