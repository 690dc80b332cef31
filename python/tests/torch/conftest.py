"""Setting of the tests of remat_bb.torch, which are left out where torch is not installed."""

import os
from pathlib import Path

import pytest

try:
    import torch
except ImportError:
    torch = None


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leaves the tests out where torch is not installed."""
    return True if torch is None and collection_path.name.startswith("test_") else None


def pytest_report_header(config: pytest.Config) -> str:
    """Says what they run with, or why they do not."""
    if torch is None:
        return "remat_bb.torch: not tested, torch is not installed (scripts/torch-cpu PYTHON)"
    return f"remat_bb.torch: torch {torch.__version__}"


if torch is not None:
    torch.set_num_threads(1)
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")


@pytest.fixture(autouse=True)
def fresh():
    """Nothing compiled before, and the same random numbers in every test."""
    if torch is not None:
        torch._dynamo.reset()
        torch.manual_seed(0)
    yield
