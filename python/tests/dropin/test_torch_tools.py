"""PyTorch's own integer programs, unedited, with PuLP's and SciPy's solver replaced."""

import itertools
import random

import pytest

import remat_bb

pytest.importorskip("torch._functorch")  # not "torch": a folder beside has that name
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture
def installed():
    remat_bb.install("pulp", "scipy")
    yield
    remat_bb.uninstall("pulp", "scipy")


def test_the_knapsack_of_the_partitioner(installed) -> None:
    pytest.importorskip("scipy")
    from torch._functorch._activation_checkpointing.knapsack import ilp_knapsack

    draw = random.Random(0)
    for _ in range(12):
        n = draw.randint(2, 9)
        memory, runtime = ([draw.random() for _ in range(n)] for _ in range(2))
        most = 0.4 * sum(memory)
        value, saved, recomputed = ilp_knapsack(memory, runtime, most)
        assert sorted(saved + recomputed) == list(range(n))
        assert sum(memory[k] for k in saved) <= most + 1e-6
        best = max(
            sum(itertools.compress(runtime, keep))
            for keep in itertools.product((0, 1), repeat=n)
            if sum(itertools.compress(memory, keep)) <= most
        )
        assert value == pytest.approx(best, rel=1e-4)


def test_the_policy_of_selective_checkpointing(installed) -> None:
    pulp = pytest.importorskip("pulp")
    if not hasattr(pulp.LpVariable, "matrix"):
        pytest.skip("PyTorch's program is written for PuLP below 4")
    from torch.distributed._tools.sac_estimator import SACStats
    from torch.distributed._tools.sac_ilp import get_optimal_checkpointing_policy_per_module

    draw = random.Random(4)
    for _ in range(8):
        n = 8
        memory = [draw.randint(1, 50) for _ in range(n)]
        runtime = [draw.random() for _ in range(n)]
        names = [f"op{k}" for k in range(n)]
        stats = SACStats(names, runtime, memory, [2], [4, 5], [], [(7, 6)], False)
        policy = get_optimal_checkpointing_policy_per_module(stats, 0.5)
        most = -(-sum(memory) // 2)
        fit = [
            keep
            for keep in itertools.product((0, 1), repeat=n)
            if not keep[2] and keep[4] == keep[5] and keep[6] == keep[7]
            if sum(itertools.compress(memory, keep)) <= most
        ]
        assert tuple(policy) in fit
        best = max(sum(itertools.compress(runtime, keep)) for keep in fit)
        assert sum(itertools.compress(runtime, policy)) >= best / 1.05 - 1e-9
