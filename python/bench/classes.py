"""The price of plans that a training stack can execute, against free plans.

    python python/bench/classes.py [--only WORD ...] [--seconds S] [--out FILE.csv]

Each of 20 networks is solved at five budgets: free, and within each class of plans. The price is
the cost of the class above the best plan found, free or not. Twelve networks are unedited models of
torchvision and transformers with static costs, which run no operator; the others are of the zoo.
Needs torchvision and transformers.
"""

from __future__ import annotations

import argparse
import csv
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import other_models
import torch
from measuring import header

import remat_bb
import remat_bb.torch as rt

CLASSES = ("tags", "regions", "blocks", "names")
BUDGETS = ("90%", "80%", "70%", "60%", "50%")
SECONDS = 5.0
COLUMNS = "network,operators,budget,class,status,overhead %,bound %,price %,seconds".split(",")
ZOO = (
    "zoo:resnet50",
    "zoo:unet",
    "zoo:densenet121",
    "zoo:mobilenet_v2",
    "zoo:gpt2?layers=6",
    "zoo:bert?layers=6",
    "zoo:llama?layers=4",
    "zoo:mixtral?layers=4",
)

BATCH, TEXT, SIZE = 16, 512, 224
WIDE = {"hidden_size": 512, "num_attention_heads": 8, "vocab_size": 8192}
DECODER = WIDE | {"intermediate_size": 1408, "num_key_value_heads": 4}


def pictures(name: str, **options: Any) -> Callable[[], other_models.Made]:
    """A model of torchvision."""

    def make() -> other_models.Made:
        import torchvision.models

        network = torchvision.models.get_model(name, weights=None, num_classes=1000, **options)
        return other_models.pictures(network, SIZE, BATCH)

    return make


def words(kind: str, head: str = "AutoModelForCausalLM", **options: Any) -> Any:
    """A model of transformers."""

    def make() -> other_models.Made:
        import transformers

        config = transformers.AutoConfig.for_model(kind, **options)
        network = getattr(transformers, head).from_config(config)
        text = torch.zeros(4, TEXT, dtype=torch.long)
        return other_models.Named(network, ("input_ids", "labels")), (text, text.clone())

    return make


TORCH: dict[str, Callable[[], other_models.Made]] = {
    "torchvision resnet18": pictures("resnet18"),
    "torchvision efficientnet_b0": pictures("efficientnet_b0"),
    "torchvision convnext_tiny": pictures("convnext_tiny"),
    "torchvision swin_t": pictures("swin_t"),
    "torchvision vit_b_16": pictures("vit_b_16"),
    "torchvision regnet_y_400mf": pictures("regnet_y_400mf"),
    "transformers gpt2": words(
        "gpt2", vocab_size=8192, n_embd=512, n_layer=6, n_head=8, bos_token_id=0, eos_token_id=0
    ),
    "transformers llama": words("llama", **DECODER, num_hidden_layers=8),
    "transformers qwen2": words("qwen2", **DECODER, num_hidden_layers=4),
    "transformers gemma": words("gemma", **DECODER, num_hidden_layers=4, head_dim=64),
    "transformers bert": words(
        "bert", "AutoModelForMaskedLM", **WIDE, num_hidden_layers=6, intermediate_size=2048
    ),
    "transformers t5": words(
        "t5",
        "AutoModelForSeq2SeqLM",
        use_cache=False,
        vocab_size=8192,
        d_model=512,
        d_ff=1024,
        num_layers=4,
        num_heads=8,
        decoder_start_token_id=0,
    ),
}


def instances(only: list[str] | None) -> Iterator[tuple[str, Any]]:
    """Networks and their instances."""
    for name in (*ZOO, *TORCH):
        if only and not any(word in name for word in only):
            continue
        if name.startswith("zoo:"):
            yield name, remat_bb.Instance.zoo(name.removeprefix("zoo:"))
            continue
        torch.manual_seed(0)
        model, batch = TORCH[name]()
        yield name, rt.export(model, batch)


def rows(name: str, instance: Any, budget: str, seconds: float) -> Iterator[dict[str, Any]]:
    """The rows of a network at a budget: the free plan first."""
    free = None
    for kind in (None, *CLASSES):
        line: dict[str, Any] = {
            "network": name,
            "operators": len(instance.nodes),
            "budget": budget,
            "class": kind or "free",
        }
        try:
            plan = remat_bb.solve(
                instance,
                budget,
                formulation="checkmate",
                plan_class=kind,
                time_limit=seconds,
                threads=1,
            )
        except remat_bb.InfeasibleBudget:
            yield line | {"status": "infeasible"}
            continue
        except remat_bb.LimitReached:
            yield line | {"status": "limit"}
            continue
        except remat_bb.RematError as error:
            yield line | {"status": str(error).split(";")[0]}
            continue
        base = plan.objective / (1.0 + plan.overhead)
        best = plan.objective if free is None else min(free, plan.objective)
        free = best if kind is None else free
        yield line | {
            "status": plan.status,
            "overhead %": f"{100 * plan.overhead:.2f}",
            "bound %": f"{100 * (plan.bound / base - 1):.2f}",
            "price %": f"{100 * (plan.objective / best - 1):.2f}",
            "seconds": f"{plan.seconds:.2f}",
        }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", help="networks whose name has one of these words")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="time of each solve")
    parser.add_argument("--out", type=Path, help="CSV file")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    lines: list[dict[str, Any]] = []
    for name, instance in instances(options.only):
        for budget in BUDGETS:
            for line in rows(name, instance, budget, options.seconds):
                lines.append(line)
                print(",".join(str(line.get(c, "")) for c in COLUMNS), flush=True)
        if options.out:
            with open(options.out, "w", newline="") as file:
                file.write(header())
                table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
                table.writeheader()
                table.writerows(lines)


if __name__ == "__main__":
    sys.exit(main())
