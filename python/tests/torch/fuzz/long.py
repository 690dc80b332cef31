"""Judges many random modules: ``python long.py COUNT [FIRST_SEED] [SECONDS]``."""

from __future__ import annotations

import collections
import os
import sys
import time

os.environ["REMAT_BB_PLAN_CACHE"] = "0"

import torch  # noqa: E402
from grammar import drawn  # noqa: E402
from judge import described, judged, shrunk  # noqa: E402

PROGRESS_EVERY = 50
"""Modules between two lines that say how far it is."""


def main() -> None:
    count, first, seconds = (int(word) for word in [*sys.argv[1:], "0", "0"][:3])
    torch.set_num_threads(1)
    kinds: collections.Counter[str] = collections.Counter()
    reasons: collections.Counter[str] = collections.Counter()
    faults = recomputed = 0
    start = time.monotonic()
    for seed in range(first, first + count):
        if seconds and time.monotonic() - start > seconds:
            break
        program = drawn(seed)
        finding = judged(program)
        kinds[finding.kind] += 1
        recomputed += finding.recomputed
        if (seed + 1 - first) % PROGRESS_EVERY == 0:
            print(f"up to seed {seed}: {dict(kinds)}", flush=True)
        if finding.kind in ("refused", "invalid"):
            reasons[f"{finding.kind}: {finding.words[:110]}"] += 1
        if finding.is_fault:
            faults += 1
            print(f"seed {seed} {finding.kind}: {finding.words}", flush=True)
            if faults <= 20:
                print(described(*shrunk(program, finding)), flush=True)
    for reason, number in reasons.most_common(20):
        print(f"{number:6} {reason}")
    print(f"{sum(kinds.values())} modules, {recomputed} operators computed again: {dict(kinds)}")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
