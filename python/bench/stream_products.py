"""Matrix products that stream-dse allocates on its example machines: cycles by its gurobipy backend
and by OR-Tools's GSCIP are the same."""

from __future__ import annotations

import importlib
import pathlib

import pytest

api = importlib.import_module("stream.api")
workload = importlib.import_module("stream.inputs.aie.workload.make_onnx_gemm")
HARDWARE = pathlib.Path(api.__file__).parent / "inputs" / "examples" / "hardware"
MACHINES = (
    *("tpu_like_quad_core", "eyeriss_like_dual_core", "simba_small"),
    "meta_prototype_dual_core_simd_offchip",
)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("sizes", [(64, 64, 64), (256, 128, 512)])
def test_product(machine: str, sizes: tuple[int, int, int], tmp_path: pathlib.Path) -> None:
    """Allocates a product on a machine."""
    product = workload.make_gemm_workload(*sizes, "bf16", "bf16")
    cycles = []
    for backend in ("gurobi", "ortools_gscip"):
        options = api.SolveOptions(backend=backend, time_limit_s=100, artifacts=False)
        hardware = str(HARDWARE / f"{machine}.yaml")
        place = str(tmp_path / backend)
        cycles.append(api.evaluate_mapping(hardware, product, place, None, options).cycles)
    assert cycles[0] == cycles[1] > 0
