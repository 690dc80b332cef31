"""Stubs of CUDA's libraries that scripts/torch-cpu makes: errors of torch.cuda are raised."""

import ctypes
import importlib.machinery
import importlib.util
import pathlib
import shutil
import subprocess
import sys

import pytest
import torch

SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "scripts" / "torch-cpu"


@pytest.fixture
def torch_cpu():
    loader = importlib.machinery.SourceFileLoader("torch_cpu", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("torch_cpu", loader))
    loader.exec_module(module)
    return module


@pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc")
def test_functions_return_what_their_kind_returns(torch_cpu, tmp_path):
    texts = "cudaGetErrorString cudaGetErrorName nvrtcGetErrorString ncclGetErrorString "
    texts += "ncclGetLastError cudnnGetErrorString cusparseGetErrorString cublasGetStatusString"
    codes = "cudaGetLastError cudaGetDeviceCount cuGetErrorString cuptiGetResultString cublasCreate"
    memory = "nvshmem_malloc nvshmem_ptr nvshmemx_mc_ptr __cudaRegisterFatBinary"
    names = {*texts.split(), *codes.split(), *memory.split()}
    torch_cpu.compile_stub("libstub.so.1", {"STUB_1": names}, tmp_path)
    library = ctypes.CDLL(str(tmp_path / "libstub.so.1"))
    for name in texts.split():
        getattr(library, name).restype = ctypes.c_char_p
        assert getattr(library, name)() == b"no device: libstub.so.1 is a stub"
    for name in memory.split():
        getattr(library, name).restype = ctypes.c_void_p
        assert getattr(library, name)() is None
    for name in codes.split():
        assert getattr(library, name)() == torch_cpu.NO_DEVICE


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_errors_of_cuda_do_not_end_the_process():
    """Whoever asks for a stream gets an exception, as models of transformers do."""
    words = (
        "import torch\nfor ask in (torch.cuda.is_current_stream_capturing, torch.cuda.Stream):\n"
    )
    words += "    try:\n        ask()\n    except Exception as error:\n        assert str(error)\n"
    subprocess.run([sys.executable, "-c", words], check=True, timeout=120)
