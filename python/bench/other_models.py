"""Trains models of torchvision, timm and transformers, unedited, within budgets.

    python python/bench/other_models.py [--only WORD ...] [--out FILE.csv]

Models are small configurations of their families without pretrained weights. For each one the step
is compiled without recomputation (budget 100%), at 60% of that peak, and near the least budget that
the solver finds a plan for. Loss, gradients and buffers of the latter two are compared in every bit
with the first, and peaks are measured. A model that is refused has the words of the refusal in its
row. Needs torchvision, timm and transformers that go with torch.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from measuring import Outcome, header, least_budget, outcome, peak
from torch import Tensor, nn
from torch.nn import functional as F

import remat_bb.torch as rt

SOLVER_SECONDS = 8.0
CLASSES = 10
WORDS = 211
COLUMNS = (
    "model,package,operators,budget,budget bytes,predicted bytes,measured bytes,equal bits,"
    "recomputed,overhead,gap,compile and plan s,note"
).split(",")


class Classified(nn.Module):
    """A network for pictures with its loss."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Tensor, classes: Tensor) -> Tensor:
        return F.cross_entropy(self.network(x), classes)


class Labelled(nn.Module):
    """A model of transformers that returns its own loss."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, **inputs: Tensor) -> Tensor:
        return self.network(**inputs).loss


Made = tuple[nn.Module, tuple[Any, ...]]


def pictures(network: nn.Module, size: int, batch: int = 2) -> Made:
    """A network and a batch of pictures."""
    return Classified(network), (torch.randn(batch, 3, size, size), torch.arange(batch) % CLASSES)


def torchvision(name: str, size: int = 64, **options: Any) -> Callable[[], Made]:
    """A model of torchvision."""

    def make() -> Made:
        import torchvision.models

        network = torchvision.models.get_model(name, weights=None, num_classes=CLASSES, **options)
        return pictures(network, size)

    return make


def timm(name: str, size: int = 64, **options: Any) -> Callable[[], Made]:
    """A model of timm."""

    def make() -> Made:
        import timm

        return pictures(timm.create_model(name, num_classes=CLASSES, **options), size)

    return make


class Named(nn.Module):
    """A model of transformers whose inputs come in a fixed order."""

    def __init__(self, network: nn.Module, names: tuple[str, ...]) -> None:
        super().__init__()
        self.network, self.names = network, names

    def forward(self, *inputs: Tensor) -> Tensor:
        return self.network(**dict(zip(self.names, inputs))).loss


def words(kind: str, **options: Any) -> Callable[[], Made]:
    """A model of transformers over words, two layers deep unless ``options`` say otherwise."""

    def make() -> Made:
        import transformers

        config = transformers.AutoConfig.for_model(kind, **options)
        head = transformers.AutoModelForCausalLM
        if kind in ("bert", "roberta", "distilbert"):
            head = transformers.AutoModelForMaskedLM
        if kind == "t5":
            head = transformers.AutoModelForSeq2SeqLM
        network = head.from_config(config)
        text = torch.randint(0, WORDS, (2, 32))
        return Named(network, ("input_ids", "labels")), (text, text.clone())

    return make


def vit() -> Made:
    """The vision transformer of transformers."""
    import transformers

    config = transformers.ViTConfig(
        image_size=32, patch_size=8, num_labels=CLASSES, **SMALL, intermediate_size=128
    )
    network = transformers.ViTForImageClassification(config)
    names = ("pixel_values", "labels")
    return Named(network, names), (torch.randn(2, 3, 32, 32), torch.arange(2))


def whisper() -> Made:
    """Whisper's encoder with a classifier of sounds."""
    import transformers

    config = transformers.WhisperConfig(
        d_model=64,
        encoder_layers=2,
        encoder_attention_heads=4,
        encoder_ffn_dim=128,
        num_mel_bins=16,
        max_source_positions=50,
        num_labels=CLASSES,
        vocab_size=WORDS,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
    )
    network = transformers.WhisperForAudioClassification(config)
    return Named(network, ("input_features", "labels")), (
        torch.randn(2, 16, 100),
        torch.arange(2),
    )


SMALL = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
DECODER = SMALL | {"vocab_size": WORDS, "num_key_value_heads": 2, "intermediate_size": 128}
ENDS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
GPT2 = {"vocab_size": WORDS, "n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 64}
T5 = {
    "use_cache": False,
    "vocab_size": WORDS,
    "d_model": 64,
    "d_kv": 16,
    "d_ff": 128,
    "num_layers": 2,
    "num_heads": 4,
}

MODELS: dict[str, Callable[[], Made]] = {
    "torchvision resnet50": torchvision("resnet50"),
    "torchvision mobilenet_v3_small": torchvision("mobilenet_v3_small"),
    "torchvision efficientnet_b0": torchvision("efficientnet_b0"),
    "torchvision convnext_tiny": torchvision("convnext_tiny"),
    "torchvision swin_t": torchvision("swin_t"),
    "torchvision vit_b_16": torchvision("vit_b_16", image_size=64),
    "torchvision densenet121": torchvision("densenet121"),
    "timm resnet18": timm("resnet18"),
    "timm vit_tiny_patch16_224": timm("vit_tiny_patch16_224", img_size=64),
    "timm convnext_atto": timm("convnext_atto"),
    "timm mixer_s32_224": timm("mixer_s32_224", img_size=64),
    "timm efficientnet_lite0": timm("efficientnet_lite0"),
    "timm swin_tiny_patch4_window7_224": timm(
        "swin_tiny_patch4_window7_224", img_size=64, window_size=4
    ),
    "timm regnety_002": timm("regnety_002"),
    "transformers gpt2": words("gpt2", **GPT2, **{k: 0 for k in ("bos_token_id", "eos_token_id")}),
    "transformers llama": words("llama", **DECODER),
    "transformers mistral": words("mistral", **DECODER),
    "transformers qwen2": words("qwen2", **DECODER),
    "transformers gemma": words("gemma", **DECODER, head_dim=16),
    "transformers mixtral": words("mixtral", **DECODER, num_local_experts=4),
    "transformers bert": words("bert", **SMALL, vocab_size=WORDS, intermediate_size=128),
    "transformers roberta": words(
        "roberta", **SMALL, **ENDS, vocab_size=WORDS, intermediate_size=128
    ),
    "transformers t5": words("t5", **T5, decoder_start_token_id=0),
    "transformers vit": vit,
    "transformers whisper": whisper,
}


def row(
    name: str, budget: int | str, model: nn.Module, batch: Any, reference: Outcome | None
) -> tuple[dict[str, Any], rt.Step, Outcome]:
    """One budget: the row of the table, the step, and its outcome."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    step = rt.compile(model, budget=budget, time_limit=SOLVER_SECONDS)
    start = time.perf_counter()
    found = outcome(model, step, batch)
    seconds = time.perf_counter() - start
    report = step.report
    measured = peak(model, step, batch, report.fixed_bytes)
    plan = report.plan
    different = [] if reference is None else found.differences(reference)
    note = ""
    if different:
        note = f"deviation {found.deviation(reference):.2g}: {' '.join(different[:3])}"
    if measured > report.budget_bytes:
        note += f" {measured - report.budget_bytes} bytes above the budget"
    line = {
        "model": name.partition(" ")[2],
        "package": name.partition(" ")[0],
        "operators": len(report.instance.nodes),
        "budget": budget if isinstance(budget, str) else "least",
        "budget bytes": report.budget_bytes,
        "predicted bytes": report.predicted_bytes,
        "measured bytes": measured,
        "equal bits": "reference" if reference is None else "no" if different else "yes",
        "recomputed": sum(plan.recomputed.values()),
        "overhead": f"{plan.overhead:.4f}",
        "gap": "" if plan.gap is None else f"{plan.gap:.4f}",
        "compile and plan s": f"{seconds:.1f}",
        "note": note.strip(),
    }
    return line, step, found


def judged(name: str) -> list[dict[str, Any]]:
    """Rows of a model, the last one with the error that ended it."""
    lines: list[dict[str, Any]] = []
    budget: int | str = "100%"
    try:
        torch.manual_seed(0)
        model, batch = MODELS[name]()
        model.train()
        line, step, reference = row(name, budget, model, batch, None)
        lines.append(line)
        whole = step.report.predicted_bytes
        least = least_budget(step.report.instance, whole)
        budget = "60%"
        # Where parameters and their gradients leave no 60%, halfway to the least.
        middle: int | str = budget if least < 0.58 * whole else (least + whole) // 2
        budget = budget if middle == budget else "half"
        lines.append(row(name, middle, model, batch, reference)[0] | {"budget": budget})
        budget = "least"
        # A little above the least: states of generators have room.
        lines.append(row(name, least + (whole - least) // 20, model, batch, reference)[0])
    except Exception as error:  # noqa: BLE001
        lines.append(failure(name, budget, error))
    return lines


def failure(name: str, budget: Any, error: Exception) -> dict[str, Any]:
    """The row of a budget that has no step."""
    words = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    package, _, model = name.partition(" ")
    return {"model": model, "package": package, "budget": budget, "note": words}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", help="models whose name has one of these words")
    parser.add_argument("--out", type=Path, help="CSV file; rows of other models in it stay")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    chosen = [n for n in MODELS if not options.only or any(w in n for w in options.only)]
    old: list[dict[str, Any]] = []
    if options.out and options.out.exists():
        with open(options.out, newline="") as file:
            old = list(csv.DictReader(line for line in file if not line.startswith("#")))
    for name in chosen:
        lines = judged(name)
        for line in lines:
            print(",".join(str(line.get(c, "")) for c in COLUMNS), flush=True)
        old = [x for x in old if f"{x['package']} {x['model']}" != name] + lines
        if options.out:
            write(options.out, old)
    good = [x for x in old if x.get("equal bits") == "yes" and not x.get("note")]
    print(f"{len(good)} rows with recomputation equal in every bit and within the budget")


def write(path: Path, lines: list[dict[str, Any]]) -> None:
    """Writes the table in the order of :data:`MODELS`."""
    places = {name: k for k, name in enumerate(MODELS)}
    lines.sort(key=lambda x: places.get(f"{x['package']} {x['model']}", len(places)))
    with open(path, "w", newline="") as file:
        file.write(header())
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(lines)


if __name__ == "__main__":
    sys.exit(main())
