"""Setting of the tests of remat_bb.torch, which are left out where torch is not installed."""

import importlib.metadata
import os

import pytest

# The folder itself could be imported by that name.
try:
    importlib.metadata.version("torch")
except importlib.metadata.PackageNotFoundError:
    # The header of the run says so.
    collect_ignore_glob = ["*.py"]
else:
    import torch

    # Plans of earlier runs would hide what the planner does.
    os.environ["REMAT_BB_PLAN_CACHE"] = "0"
    # More threads than cores wait for each other; results are compared in every bit.
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def fresh():
    """Nothing compiled before, and the same random numbers in every test."""
    torch._dynamo.reset()
    torch.manual_seed(0)
