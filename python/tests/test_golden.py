"""Calls of Python have the answers of the command line, as ``cli/tests/golden`` keeps them."""

import json
import pathlib
import re
import shlex

import pytest

import remat_bb

GOLDEN = pathlib.Path(__file__).parents[2] / "cli" / "tests" / "golden"
pytestmark = pytest.mark.skipif(not GOLDEN.is_dir(), reason="the command line's tests are not here")


def answers(command):
    """Words and kept JSON of the calls of a command that succeed."""
    kept = "".join(path.read_text() for path in sorted(GOLDEN.glob("*.txt")))
    pattern = rf"^\$ remat-bb {command} ([^\n]*)\nexit 0\n(\{{.*?^\}})"
    found = re.findall(pattern, kept, re.MULTILINE | re.DOTALL)
    return [pytest.param(shlex.split(line), json.loads(answer), id=line) for line, answer in found]


def call(words):
    """The source, and the options of the command line as keywords."""
    source, *rest = words
    if (inputs := GOLDEN / "inputs" / source).exists():
        source = inputs
    options, k = {}, 0
    while k < len(rest):
        name = rest[k].removeprefix("--").replace("-", "_")
        is_switch = k + 1 == len(rest) or rest[k + 1].startswith("--")
        options[name] = True if is_switch else rest[k + 1]
        k += 1 if is_switch else 2
    for name in ("json", "quiet", "out", "schedule_out"):
        options.pop(name, None)
    for name in ("seed", "alignment", "budget", "in_flight"):
        if str(options.get(name)).isdecimal():
            options[name] = int(options[name])
    return source, options


@pytest.mark.parametrize("words, kept", answers("solve"))
def test_solve(words, kept):
    source, options = call(words)
    plan = remat_bb.solve(source, options.pop("budget"), **options)
    names = "status objective bound gap bound_scope budget_bytes peak_memory_bytes base_cost"
    for name in (names + " cost_unit formulation arena_bytes alignment_bytes").split():
        assert getattr(plan, name) == kept[name], name
    assert plan.instance.sha256 == kept["instance_sha256"]
    assert plan.overhead == pytest.approx(kept["overhead_percent"] / 100)
    assert plan.search == {name: kept[name] for name in ("nodes", "lp_iterations", "moves")}
    copies = kept["offload"] or {}
    for name in ("to_host_bytes", "from_host_bytes", "host_peak_bytes", "idle"):
        assert getattr(plan, name) == copies.get(name, 0), name


@pytest.mark.parametrize("words, kept", answers("sweep"))
def test_frontier(words, kept):
    source, options = call(words)
    found = remat_bb.frontier(source, options.pop("budgets").split(","), **options)
    assert [point.budget_bytes for point in found] == [p["budget_bytes"] for p in kept["points"]]
    for point, other in zip(found, kept["points"], strict=True):
        for name in ("status", "objective", "bound", "gap", "bound_scope", "peak_memory_bytes"):
            assert getattr(point, name) == other[name], name


@pytest.mark.parametrize("words, kept", answers("baselines"))
def test_baselines(words, kept):
    source, options = call(words)
    found = remat_bb.baselines(source, options.pop("budget"), **options)
    # The command compares with a solve of its own.
    others = [other for other in kept["strategies"] if other["name"] != "remat-bb"]
    assert [each.name for each in found] == [other["name"] for other in others]
    for each, other in zip(found, others, strict=True):
        assert (each.fits, each.objective) == (other["fits"], other["cost"]), each.name
        assert each.peak_memory_bytes == other["peak_memory_bytes"], each.name


@pytest.mark.parametrize("words, kept", answers("order"))
def test_order(words, kept):
    source, options = call(words)
    found = remat_bb.order(source, **options)
    for name in ("status", "peak_memory_bytes", "bound", "gap"):
        assert getattr(found, name) == kept[name], name


@pytest.mark.parametrize("words, kept", [*answers("lp"), *answers("mip")])
def test_programs(words, kept):
    source, options = call(words)
    if not isinstance(source, pathlib.Path) or set(options) - {"algorithm", "seed"}:
        pytest.skip("a file that an earlier command writes, or an option of files")
    found = remat_bb.Program.read(source).solve(**options)
    assert (found.status, found.objective) == (kept["status"], kept["objective"])
    # The command `lp` shows the bound of the certificate, which is less by rounding.
    assert found.bound == pytest.approx(kept["bound"])
