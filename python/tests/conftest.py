"""Fixtures of the tests: small instances, a plan, and the command."""

import importlib.metadata
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import remat_bb


def pytest_report_header(config: pytest.Config) -> str:
    """Says whether the tests in the folder torch run, and why not."""
    try:
        return f"remat_bb.torch: torch {importlib.metadata.version('torch')}"
    except importlib.metadata.PackageNotFoundError:
        return "remat_bb.torch: not tested, torch is not installed (scripts/torch-cpu PYTHON)"


@pytest.fixture(scope="session")
def chain() -> remat_bb.Instance:
    """Nine layers in a row, forward and backward: solved in a moment."""
    return remat_bb.Instance.zoo("chain?n=9")


@pytest.fixture(scope="session")
def plan(chain: remat_bb.Instance) -> remat_bb.Plan:
    """A plan that computes something again."""
    found = remat_bb.solve(chain, "70%")
    assert found.recomputed, "the budget is to force a recomputation"
    return found


@pytest.fixture(scope="session")
def choices() -> dict:
    """An instance with implementations, a by-product and an operator in place
    (docs/reference/formats.md)."""
    return {
        "schema": "remat-instance/1",
        "name": "two layers",
        "cost_unit": "us",
        "fixed_bytes": 4096,
        "nodes": [
            {
                "name": "conv",
                "op": "conv2d",
                "shape": [8, 16, 32, 32],
                "output_bytes": 524288,
                "implementations": [
                    {"name": "gemm", "cost": 310},
                    {"name": "winograd", "cost": 180, "workspace_bytes": 1048576},
                ],
            },
            {
                "name": "relu",
                "op": "relu",
                "needs": ["conv"],
                "output_bytes": 524288,
                "cost": 40,
                "in_place": {"on": "conv", "workspace_bytes": -524288},
            },
            {
                "name": "sign",
                "kind": "by_product",
                "parent": "relu",
                "output_bytes": 16384,
                "cost": 5,
            },
            {"name": "loss", "kind": "loss", "needs": ["relu"], "output_bytes": 4, "cost": 10},
            {
                "name": "drelu",
                "kind": "backward",
                "forward": "relu",
                "output_bytes": 524288,
                "implementations": [
                    {"name": "from output", "needs": ["relu", "loss"], "cost": 60},
                    {"name": "from sign", "needs": ["sign", "loss"], "cost": 65},
                ],
            },
            {
                "name": "dconv",
                "kind": "backward",
                "forward": "conv",
                "needs": ["drelu"],
                "output_bytes": 0,
                "fixed_bytes": 8192,
                "cost": 400,
            },
        ],
    }


@pytest.fixture(scope="session")
def command() -> list[str]:
    """The command `remat-bb` of the package under test."""
    script = Path(sys.executable).parent / "remat-bb"
    if script.exists():
        return [str(script)]
    assert shutil.which("remat-bb") is None, "another remat-bb would be tested"
    return [sys.executable, "-m", "remat_bb"]


@pytest.fixture
def run(command):
    """Runs the command, and returns what it printed with its exit code."""

    def call(*arguments: str, **options) -> subprocess.CompletedProcess:
        return subprocess.run(
            [*command, *arguments], capture_output=True, text=True, timeout=120, **options
        )

    return call
