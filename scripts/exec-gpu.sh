#!/usr/bin/env bash
# Runs plans on a GPU and writes what was predicted and what was measured: full-size networks under four budgets, the
# largest batch that trains within a fixed amount of memory with and without recomputation, and memory over time.
#
#   scripts/exec-gpu.sh [PROGRAM [FOLDER]]     PROGRAM: remat-bb with the feature torch; FOLDER: for the results
#
# Needs Python 3 with torch 2.11.0 (its libtorch is used) and a GPU; no toolchain: a stripped release binary from another
# machine will do. What can be set in the environment, with defaults:
#   DEVICE=cuda   BUDGETS="100 80 60 40"   LIMIT=16GiB   TIME=60s   REPEAT=5   PARTS="budgets batches timelines"
#   MODELS="zoo:resnet50?batch=96 zoo:unet?batch=8 zoo:vgg19?batch=64 zoo:gpt2?batch=8"
set -euo pipefail

program=${1:-target/release/remat-bb}
folder=${2:-exec-gpu}
device=${DEVICE:-cuda}
budgets=${BUDGETS:-100 80 60 40}
limit=${LIMIT:-16GiB}
time=${TIME:-60s}
repeat=${REPEAT:-5}
parts=${PARTS:-budgets batches timelines}
models=${MODELS:-zoo:resnet50?batch=96 zoo:unet?batch=8 zoo:vgg19?batch=64 zoo:gpt2?batch=8}

mkdir -p "$folder"
# cuBLAS gives the same bits each time only with a workspace of fixed size.
export CUBLAS_WORKSPACE_CONFIG=:4096:8
libtorch=$(python3 -c 'import importlib.util as u; print(u.find_spec("torch").submodule_search_locations[0])' 2>/dev/null || true)
if [ -n "$libtorch" ]; then
    export LD_LIBRARY_PATH=$libtorch/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi
{
    nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv,noheader 2>/dev/null || echo "no GPU: $device"
    "$program" --version
} | tee "$folder/machine.txt"

# A word for a model in file names.
word() { echo "$1" | sed 's/^zoo://; s/[^A-Za-z0-9]/-/g'; }
# A field of a JSON object on standard input.
field() { python3 -c 'import json, sys
value = json.load(sys.stdin)
for key in sys.argv[1].split("."): value = value[key]
print(value)' "$1"; }
bytes() { python3 -c 'import re, sys
number, unit = re.fullmatch(r"([0-9.]+)([KMG]?i?B?)", sys.argv[1]).groups()
print(int(float(number) * {"": 1, "B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}[unit]))' "$1"; }

# 1. Plans for several budgets, and the known heuristics' plans.
budgets() {
    for model in $models; do
        for budget in $budgets; do
            out=$folder/$(word "$model")-$budget.json
            code=0
            "$program" train-check "$model" --budget "$budget%" --device "$device" --time-limit "$time" \
                --repeat "$repeat" --json >"$out" 2>"${out%.json}.log" || code=$?
            [ "$code" = 0 ] || echo "$model at $budget%: exit code $code, see ${out%.json}.log"
        done
    done
    python3 - "$folder" <<'PYTHON' | tee "$folder/plans.txt"
import glob, json, sys

print(f"{'instance':44} {'budget':>12} {'strategy':20} {'predicted s':>11} {'measured s':>10} {'off':>7} "
      f"{'predicted':>12} {'measured':>12} {'off':>7} {'reserved':>12} gradients")
misses = []
for path in sorted(glob.glob(sys.argv[1] + "/*.json")):
    try:
        found = json.load(open(path))
    except ValueError:
        continue
    if "plans" not in found:
        continue
    for row in found["plans"]:
        name, budget = found["instance"], found["budget_bytes"]
        if row["measured_bytes"] is None:
            print(f"{name:44} {budget:12} {row['strategy']:20} needs more memory than the device has")
            continue
        time = row["measured_seconds"] / row["predicted_seconds"] - 1
        memory = row["measured_bytes"] / row["predicted_bytes"] - 1
        gradients = row["gradients"]
        difference = "reference" if gradients is None else f"{gradients['largest_relative_difference']:.1e}"
        print(f"{name:44} {budget:12} {row['strategy']:20} {row['predicted_seconds']:11.4f} {row['measured_seconds']:10.4f} "
              f"{time:+7.2%} {row['predicted_bytes']:12} {row['measured_bytes']:12} {memory:+7.2%} "
              f"{row['reserved_bytes']:12} {difference}")
        of = f"{name} at {budget}, {row['strategy']}"
        if abs(memory) > 0.03:
            misses.append(f"{of}: peak {memory:+.2%}")
        if row["strategy"] != "no recomputation" and row["measured_bytes"] > budget:
            misses.append(f"{of}: {row['measured_bytes'] - budget} bytes above the budget")
        if abs(time) > 0.05:
            misses.append(f"{of}: time {time:+.2%}")
print(f"\n{len(misses)} beyond 3% of memory, the budget, or 5% of time")
print("\n".join(misses))
PYTHON
}

# 2. The largest batch within a fixed amount of memory.
allowed=$(bytes "$limit")
# fits MODEL BATCH BUDGET: whether a plan is found that stays within the limit when it runs.
fits() {
    local profile=$folder/batch-profile.json plan=$folder/batch-plan.json
    "$program" profile "$1" --batch "$2" --device "$device" --repeat 3 --out "$profile" >/dev/null 2>&1 || return 1
    "$program" solve "$profile" --budget "$3" --time-limit "$time" --out "$plan" --quiet >/dev/null 2>&1 || return 1
    local found
    found=$("$program" exec "$profile" "$plan" --device "$device" --repeat 1 --json 2>/dev/null) || return 1
    [ "$(echo "$found" | field measured.peak_memory_bytes)" -le "$allowed" ]
}
# From the batch that the model names, if it names one.
largest() {
    local low=0 high
    high=$(echo "$1" | sed -n 's/.*[?&]batch=\([0-9]*\).*/\1/p')
    high=${high:-1}
    while fits "$1" "$high" "$2"; do low=$high; high=$((2 * high)); done
    while [ "$low" = 0 ] && [ "$high" -gt 1 ]; do
        local half=$((high / 2))
        if fits "$1" "$half" "$2"; then low=$half; else high=$half; fi
    done
    while [ $((high - low)) -gt $((1 + low / 50)) ]; do
        local middle=$(((low + high) / 2))
        if fits "$1" "$middle" "$2"; then low=$middle; else high=$middle; fi
    done
    echo "$low"
}
batches() {
    echo "largest batch within $limit, to 2%:" | tee "$folder/batches.txt"
    for model in $models; do
        # A budget that asks for nothing gives the plan without recomputation.
        plain=$(largest "$model" 100TiB)
        with=$(largest "$model" "$limit")
        echo "${model%%\?*}: $plain without recomputation, $with with" | tee -a "$folder/batches.txt"
    done
    rm -f "$folder/batch-profile.json" "$folder/batch-plan.json"
}

# 3. Memory over time, predicted and measured.
timelines() {
    for model in $models; do
        profile=$folder/profile-$(word "$model").json
        plan=$folder/plan-$(word "$model").json
        "$program" profile "$model" --device "$device" --repeat "$repeat" --out "$profile" >/dev/null
        if "$program" solve "$profile" --budget 60% --time-limit "$time" --out "$plan" --quiet >/dev/null; then
            "$program" exec "$profile" "$plan" --device "$device" --check --tolerance 3% --repeat "$repeat" \
                --svg "$folder/$(word "$model").svg" | tee -a "$folder/timelines.txt" || true
        fi
        # 4. The same with copies over the link that the profile measured.
        if "$program" solve "$profile" --budget 60% --offload on --time-limit "$time" --out "$plan" --quiet >/dev/null; then
            "$program" exec "$profile" "$plan" --device "$device" --check --tolerance 3% --repeat "$repeat" \
                | tee -a "$folder/copies.txt" || true
        fi
    done
}

for part in $parts; do
    "$part"
done
