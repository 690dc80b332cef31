"""Compares estimated peaks with measured ones on 48 models.

    python python/bench/estimate.py [--only WORD ...] [--out FILE.csv]

Each model is estimated by `remat_bb.torch.estimate`, then trained for two eager steps under the
allocator's events. Models are those of `other_models.py` at two batch sizes, adapters of peft, and
models that the rules of `workspaces.py` were not made with (group "held out"). They run without an
optimizer, with AdamW or with momentum in turn. Needs torchvision, timm, transformers and peft.
"""

from __future__ import annotations

import argparse
import csv
import gc
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import other_models
import torch
from measuring import header
from torch import Tensor, nn

import remat_bb.torch as rt
from remat_bb.torch import _compat
from remat_bb.torch.cost import peak_bytes

COLUMNS = "model,group,optimizer,batch,phase,predicted,measured,error %,seconds,note".split(",")
OPTIMIZERS: dict[str, Any] = {
    "none": None,
    "AdamW": torch.optim.AdamW,
    "momentum": lambda parameters: torch.optim.SGD(parameters, lr=1e-3, momentum=0.9),
}
FACTORS = (1, 4)
"""Multiples of the batches of two rows in ``other_models.py``."""
SECOND = (
    "torchvision resnet50",
    "torchvision mobilenet_v3_small",
    "torchvision efficientnet_b0",
    "torchvision convnext_tiny",
    "timm resnet18",
    "timm vit_tiny_patch16_224",
    "timm convnext_atto",
    "timm regnety_002",
    "transformers gpt2",
    "transformers llama",
    "transformers bert",
    "transformers t5",
)
"""Models that are measured at the larger batch as well."""


def adapted(kind: str, targets: list[str], **options: Any) -> Callable[[], other_models.Made]:
    """A model of transformers with LoRA adapters of peft."""

    def make() -> other_models.Made:
        import peft

        model, inputs = other_models.words(kind, **options)()
        config = peft.LoraConfig(r=4, target_modules=targets)
        model.network = peft.get_peft_model(model.network, config)
        return model, inputs

    return make


ENDS = {"bos_token_id": 0, "eos_token_id": 0}
ADAPTED = {
    "peft gpt2": adapted("gpt2", ["c_attn"], **other_models.GPT2, **ENDS),
    "peft llama": adapted("llama", ["q_proj", "v_proj"], **other_models.DECODER),
    "peft mistral": adapted("mistral", ["q_proj", "v_proj"], **other_models.DECODER),
}

HELD_OUT: dict[str, Callable[[], other_models.Made]] = {
    "torchvision alexnet": other_models.torchvision("alexnet"),
    "torchvision vgg11_bn": other_models.torchvision("vgg11_bn"),
    "torchvision squeezenet1_1": other_models.torchvision("squeezenet1_1"),
    "torchvision shufflenet_v2_x1_0": other_models.torchvision("shufflenet_v2_x1_0"),
    "torchvision mnasnet1_0": other_models.torchvision("mnasnet1_0"),
    "torchvision resnext50_32x4d": other_models.torchvision("resnext50_32x4d"),
    "torchvision wide_resnet50_2": other_models.torchvision("wide_resnet50_2"),
    "torchvision regnet_x_400mf": other_models.torchvision("regnet_x_400mf"),
    "timm mobilenetv3_large_100": other_models.timm("mobilenetv3_large_100"),
    "timm ghostnet_100": other_models.timm("ghostnet_100"),
    "timm deit_tiny_patch16_224": other_models.timm("deit_tiny_patch16_224", img_size=64),
    "timm cait_xxs24_224": other_models.timm("cait_xxs24_224", img_size=64),
    "timm gmixer_12_224": other_models.timm("gmixer_12_224", img_size=64),
    "timm poolformer_s12": other_models.timm("poolformer_s12"),
    "timm resnetv2_50": other_models.timm("resnetv2_50"),
    "transformers qwen3": other_models.words("qwen3", **other_models.DECODER, head_dim=16),
    "transformers phi3": other_models.words("phi3", **other_models.DECODER, pad_token_id=0),
    "transformers opt": other_models.words(
        "opt",
        **other_models.SMALL,
        vocab_size=other_models.WORDS,
        ffn_dim=128,
        word_embed_proj_dim=64,
        max_position_embeddings=64,
    ),
    "transformers gpt_neox": other_models.words(
        "gpt_neox", **other_models.SMALL, vocab_size=other_models.WORDS, intermediate_size=128
    ),
    "transformers bloom": other_models.words(
        "bloom", hidden_size=64, n_layer=2, n_head=4, vocab_size=other_models.WORDS
    ),
}
"""Models that the rules for workspaces were not made with."""
ALL = {**other_models.MODELS, **ADAPTED, **HELD_OUT}

Case = tuple[str, str, int]


def cases() -> list[Case]:
    """Models with their optimizer and the multiple of their batch."""
    names = list(ALL)
    kinds = list(OPTIMIZERS)
    chosen = [(name, kinds[k % 3], FACTORS[0]) for k, name in enumerate(names)]
    return chosen + [(name, kinds[k % 3], FACTORS[1]) for k, name in enumerate(SECOND)]


def repeated(value: Any, factor: int) -> Any:
    """A batch repeated along its first dimension."""
    if not isinstance(value, Tensor):
        return value
    return value.repeat(factor, *([1] * (value.dim() - 1)))


def measured(model: nn.Module, inputs: tuple[Any, ...], optimizer: Any, before: int) -> int:
    """Peak of eager steps with the memory before them, in bytes."""
    trained = [p for p in model.parameters() if p.requires_grad]
    made = None if optimizer is None else optimizer(trained)
    gc.collect()
    with _compat.traced_memory() as events:
        for _ in range(1 if made is None else 2):
            model.zero_grad()
            model(*inputs).backward()
            if made is not None:
                made.step()
    return before + peak_bytes(events)


def row(case: Case) -> dict[str, Any]:
    """The row of one model."""
    name, kind, factor = case
    torch.manual_seed(0)
    model, batch = ALL[name]()
    model.train()
    inputs = tuple(repeated(x, factor) for x in batch)
    group = "held out" if name in HELD_OUT else ""
    found: dict[str, Any] = {
        "model": name,
        "group": group,
        "optimizer": kind,
        "batch": 2 * factor,
    }
    try:
        start = time.process_time()
        estimate = rt.estimate(model, inputs, OPTIMIZERS[kind])
        seconds = time.process_time() - start
        real = measured(model, inputs, OPTIMIZERS[kind], estimate.before_bytes)
    except Exception as error:  # noqa: BLE001
        return found | {"note": " ".join(f"{type(error).__name__}: {error}".split())[:200]}
    return found | {
        "phase": estimate.phase,
        "predicted": estimate.peak_bytes,
        "measured": real,
        "error %": f"{100 * (estimate.peak_bytes / real - 1):.4f}",
        "seconds": f"{seconds:.2f}",
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", help="models whose name has one of these words")
    parser.add_argument("--out", type=Path, help="CSV file")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    lines = []
    for case in cases():
        if options.only and not any(word in case[0] for word in options.only):
            continue
        lines.append(row(case))
        print(",".join(str(lines[-1].get(c, "")) for c in COLUMNS), flush=True)
        if options.out:
            with open(options.out, "w", newline="") as file:
                file.write(header())
                table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
                table.writeheader()
                table.writerows(lines)
    errors = [abs(float(line["error %"])) for line in lines if "error %" in line]
    print(f"{len(errors)} of {len(lines)} measured; largest error {max(errors, default=0):.4f}%")


if __name__ == "__main__":
    sys.exit(main())
