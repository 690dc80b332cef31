"""torchtitan's graph trainer with the policy ``remat_bb``: nothing of torchtitan is edited."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
import torch

pytest.importorskip(
    "torchtitan.experiments.graph_trainer.registry",
    reason="torchtitan 0.3.0 or later is not installed",
)

from titan_models import Run, measured, option_fields, quiet, run_of, traced  # noqa: E402
from torchtitan.config import ConfigManager  # noqa: E402
from torchtitan.experiments.graph_trainer import registry  # noqa: E402

from remat_bb.errors import InfeasibleBudget, InvalidArgument, InvalidBudget  # noqa: E402
from remat_bb.torch import Roofline, titan  # noqa: E402
from remat_bb.torch.link import Link  # noqa: E402
from remat_bb.torch.step_graph import StepGraph, name_gradient_sums  # noqa: E402
from remat_bb.torch.tag_replay import OFFLOADED, Layout, replay  # noqa: E402
from remat_bb.torch.tag_search import TagSearch, Tuning  # noqa: E402
from remat_bb.torch.tag_units import Units  # noqa: E402
from remat_bb.torch.titan_tags import executed_graph, replayed_structure, structure  # noqa: E402

LINK = Link.of("pcie4")
KINDS = ("llama3", "deepseek_v3")
CONFIG = "graph_trainer_llama3_debugmodel_sdpa_cross_entropy_loss"


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    quiet()
    yield


def read(run: Run) -> tuple:
    module, inputs = traced(run)
    name_gradient_sums(module.graph)
    return module, inputs, StepGraph(module.graph, Roofline())


@pytest.mark.parametrize("kind", KINDS)
def test_replays_are_the_graphs_that_torchtitan_builds(kind: str) -> None:
    module, inputs, step = read(run_of(kind, length=32, batch=1))
    units = Units(step, LINK)
    expected, plain = measured(module, inputs)
    assert replay(step, {}, LINK).peak_bytes == plain
    copies = 0
    for seed in range(6):
        generator = random.Random(seed)
        weights = [generator.random() for _ in range(3)]
        names = ("saved", "recomputed", OFFLOADED)
        states = []
        for unit in units.units:
            (word,) = generator.choices(names, weights)
            states.append(word if word in unit.states else "saved")
        tags = units.tags(states)
        layout = Layout(generator.randrange(3), 1 + generator.randrange(2))
        executed = replay(step, tags, LINK, layout, order=True)
        made = executed_graph(module, step, tags, layout)
        made.graph.lint()
        assert structure(made) == replayed_structure(step, executed)
        outputs, peak = measured(made, inputs)
        assert executed.peak_bytes == peak
        assert all(torch.equal(a, b) for a, b in zip(outputs, expected))
        copies += executed.host_bytes > 0
    assert copies > 3


@pytest.mark.parametrize("kind,chunks", [("llama3", 0), ("llama3", 8), ("deepseek_v3", 0)])
def test_the_trainer_keeps_a_budget_with_equal_bits(kind: str, chunks: int) -> None:
    size = {"length": 256, "batch": 2, "chunks": chunks}
    plain = run_of(kind, enable_passes=False, **size)
    loss, gradients = plain.step()
    run = run_of(kind, memory_budget="80%", **size)
    own_loss, own = run.step()
    assert torch.equal(loss, own_loss)
    assert len(own) == len(gradients) > 30
    assert all(torch.equal(a, b) for a, b in zip(own, gradients))
    again = [n for n in run.trainer._traced_step.gm.graph.nodes if n.name.endswith("_recomputed")]
    assert len(again) > 10
    module, inputs = traced(run)
    peaks = [measured(gm, inputs)[1] for gm in (module, run.trainer._traced_step.gm)]
    assert peaks[1] <= 0.8 * peaks[0]


def test_no_policy_of_torchtitan_is_cheaper_within_a_budget() -> None:
    run = run_of("llama3", length=512, batch=2)
    module, _, step = read(run)
    costs = Roofline(flops=1e12, bytes_per_second=1e12, launch_ns=100)
    step = StepGraph(module.graph, costs)
    rivals = titan.rivals(module, step, run.trainer.config)
    assert set(rivals) == set(titan.RIVALS)
    search = TagSearch(step, LINK, policies=rivals, tuning=Tuning(replays=40, rounds=1, starts=1))
    low, high = search.least_bytes, search.unplanned.peak_bytes
    cheaper = 0
    for k in range(20):
        budget = low + (high - low) * k // 19
        found = search.best(budget)
        assert found.executed.peak_bytes <= budget
        theirs = [
            s.executed.time_ns
            for s in search.starts
            if s.name in titan.RIVALS and s.executed.peak_bytes <= budget
        ]
        assert not theirs or found.executed.time_ns <= min(theirs)
        cheaper += bool(theirs) and found.executed.time_ns < min(theirs)
    assert cheaper >= 15


def test_torchtitan_finds_the_policy_by_the_name_of_a_module() -> None:
    arguments = ["--module", "remat_bb.torch.titan", "--config", CONFIG]
    config = ConfigManager().parse_args([*arguments, "--compile.memory_budget", "6GiB"])
    assert config.compile.memory_policy == "remat_bb" in registry.MEMORY_POLICY_REGISTRY
    assert config.compile.memory_budget == "6GiB"
    assert config.compile.enable
    other = ConfigManager().parse_args([*arguments, "--compile.memory_policy", "full"])
    assert other.compile.memory_policy == "full"
    theirs = ConfigManager().parse_args(["--module", "graph_trainer.llama3", "--config", CONFIG])
    assert option_fields(theirs.compile) < option_fields(config.compile)
    with pytest.raises(ValueError, match="graph_trainer_deepseek_v3_16b"):
        ConfigManager().parse_args(["--module", "remat_bb.torch.titan", "--config", "nothing"])


def test_own_configurations_get_a_budget() -> None:
    from torchtitan.experiments.graph_trainer.llama3 import config_registry

    config = titan.with_budget(getattr(config_registry, CONFIG)(), "40GiB", memory_link="")
    assert (config.compile.memory_policy, config.compile.memory_budget) == ("remat_bb", "40GiB")
    assert config.compile.memory_link == ""
    with pytest.raises(InvalidArgument, match="no configuration of torchtitan's graph trainer"):
        titan.with_budget(object(), "40GiB")


def test_budgets_that_cannot_be_kept_or_read_stop_the_step(monkeypatch) -> None:
    monkeypatch.delenv(titan.VARIABLE, raising=False)
    small = {"length": 16, "batch": 1}
    with pytest.raises(InvalidArgument, match=f"none was given.*{titan.VARIABLE}"):
        run_of("llama3", **small).step()
    with pytest.raises(InvalidBudget, match="'much' is no amount of memory"):
        run_of("llama3", memory_budget="much", **small).step()
    with pytest.raises(InvalidBudget, match="no percentage"):
        run_of("llama3", memory_budget="x%", **small).step()
    with pytest.raises(InvalidArgument, match="memory_costs: 'guess'"):
        run_of("llama3", memory_budget="90%", memory_costs="guess", **small).step()
    monkeypatch.setenv(titan.VARIABLE, "1MiB")
    with pytest.raises(InfeasibleBudget, match="give at least"):
        run_of("llama3", **small).step()
