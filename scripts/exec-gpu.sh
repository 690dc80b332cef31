#!/usr/bin/env bash
# Ten minutes on a GPU: figures of remat_bb.torch and of the executor, the most useful first. Each part has a deadline,
# and each figure is written as it is found.
#
#   scripts/exec-gpu.sh [PROGRAM [FOLDER]]     PROGRAM: remat-bb with the feature torch; FOLDER: for the results
#
# Needs Python 3 with torch 2.11, whose libtorch PROGRAM uses, and remat_bb (PYTHONPATH or installed). From the
# environment: SECONDS_IN_ALL=570, and SMALL=1 for a trial with tiny models on the processor.
set -uo pipefail
cd "$(dirname "$0")/.."

program=${1:-target/release/remat-bb}
folder=${2:-exec-gpu}
small=${SMALL:-}
end=$((SECONDS + ${SECONDS_IN_ALL:-570}))
device=cuda
share=70%
models=('resnet50?batch=96' 'gpt2?batch=8&dtype=bf16&param_dtype=bf16&grad_dtype=bf16' 'unet?batch=8' 'vgg19?batch=64')
if [ -n "$small" ]; then
    device=cpu
    share=95%
    models=('gpt2?batch=2&layers=2&d_model=64&heads=4&seq=32&vocab=100&positions=32')
fi
mkdir -p "$folder"
log=$folder/figures.txt
: >"$log"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export REMAT_BB_PLAN_CACHE=0 PYTHONUNBUFFERED=1 KINETO_LOG_LEVEL=99
libtorch=$(python3 -c 'import importlib.util as u; print(u.find_spec("torch").submodule_search_locations[0])')/lib
version=$(python3 -c 'import torch; print(torch.__version__)')
case $version in
2.11.*) ;;
*) echo "torch $version: the executor is built for 2.11, and its parts may fail" | tee -a "$log" ;;
esac

# part SECONDS NAME COMMAND...: runs within its time and the time that is left.
part() {
    local most=$1 name=$2 left=$((end - SECONDS)) from=$SECONDS code=0
    shift 2
    if [ "$left" -lt 10 ]; then
        echo "== $name: no time left" | tee -a "$log"
        return
    fi
    echo "== $name" | tee -a "$log"
    timeout -k 5 "$((most < left ? most : left))" "$@" 2>"$work/errors" | tee -a "$log" || code=$?
    if [ "$code" != 0 ]; then
        failed=1
        { echo "   exit code $code" && tail -n 5 "$work/errors"; } | tee -a "$log"
    fi
    echo "   $((SECONDS - from)) s" | tee -a "$log"
}
figures() { part "$1" "${*:2}" python3 python/bench/on_gpu.py "${@:2}" ${small:+--small}; }
executed() {
    local file=$work/${1%%\?*}
    local run='set -e; export LD_LIBRARY_PATH=$4
        "$0" profile "zoo:$1" --device "$3" --repeat 3 --out "$2.json" >/dev/null
        "$0" solve "$2.json" --budget "$5" --time-limit 5s --out "$2.plan" --quiet >/dev/null
        "$0" exec "$2.json" "$2.plan" --device "$3" --check --tolerance 3% --repeat 3
        "$0" exec "$2.json" "$2.plan" --device "$3" --asynchronous --repeat 3'
    part 70 "executor $1" bash -c "$run" "$program" "$1" "$file" "$device" "$libtorch" "$share"
}

failed=0
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,memory.total --format=csv,noheader 2>/dev/null |
    tee -a "$log"
figures 45 facts
figures 40 costs
figures 150 compare
export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
figures 80 cap
figures 120 compare
unset PYTORCH_CUDA_ALLOC_CONF
for model in "${models[@]}"; do
    executed "$model"
done
if [ -z "$small" ]; then
    part 150 "tests" python3 -m pytest -q -x -p no:cacheprovider python/tests/torch/test_on_gpu.py
fi
exit "$failed"
