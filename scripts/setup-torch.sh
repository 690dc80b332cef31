#!/usr/bin/env bash
# Fetches libtorch 2.11.0 (the PyPI wheel, some 540 MB) into .torch, where the feature `torch` looks for it.
# Does nothing where it is there already. Needs Python 3 with pip.
set -euo pipefail
cd "$(dirname "$0")/.."

version=2.11.0
target=.torch
if [ "$(cat "$target/torch/build-version" 2>/dev/null)" = "$version" ]; then
    echo "libtorch $version is in $target"
    exit 0
fi
if ! python3 -m pip --version >/dev/null 2>&1; then
    echo "python3 with pip is needed to fetch libtorch (Debian: apt-get install python3-pip)" >&2
    exit 1
fi
rm -rf "$target"
python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore \
    --no-deps --no-compile --only-binary=:all: --target "$target" \
    "torch==$version" nvidia-cuda-runtime==13.0.96 nvidia-cuda-cupti==13.0.85
# What only Python and CUDA need is set aside for scripts/torch-cpu; a machine with a GPU brings its own.
mkdir "$target/python"
mv "$target"/torch/lib/libtorch_cuda*.so "$target"/torch/lib/libtorch_nvshmem.so "$target"/torch/lib/libtorch_python.so \
    "$target/python"
echo "$version" >"$target/torch/build-version"
echo "libtorch $version is in $target"
