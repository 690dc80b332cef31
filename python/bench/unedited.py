"""Trains models of transformers, peft, diffusers, Lightning and torch, unedited, within 80%.

    python python/bench/unedited.py [--only WORD ...] [--out FILE.csv]

Models are small configurations without pretrained weights, called as their packages have it:
`step(**inputs).loss.backward()`. Loss and gradients are compared in every bit with those of
`torch.compile(model, backend="aot_eager")` on a copy; the peak of the first step is measured. What
is refused has the words of the refusal in its row. Needs the packages named above.
"""

from __future__ import annotations

import argparse
import copy
import csv
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from measuring import header
from torch import Tensor, nn
from torch.nn import functional as F

import remat_bb.torch as rt

BUDGET = "80%"
WORDS = 211
COLUMNS = "model,package,operators,equal bits,peak of budget,predicted,recomputed,overhead,s,note"

Made = tuple[nn.Module, dict[str, Any]]


def tokens(batch: int = 8, length: int = 64) -> Tensor:
    return torch.randint(3, WORDS, (batch, length))


def language(kind: str, name: str, **options: Any) -> Callable[[], Made]:
    """A causal language model of transformers, called without a cache."""

    def make() -> Made:
        import transformers

        extra = {key: options.pop(key) for key in ("output_router_logits",) if key in options}
        config = getattr(transformers, f"{kind}Config")(vocab_size=WORDS, **options)
        model = getattr(transformers, f"{kind}{name}")(config)
        ids = tokens()
        return model, {"input_ids": ids, "labels": ids, "use_cache": False, **extra}

    return make


SMALL = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
}
GROUPED = SMALL | {"num_key_value_heads": 2}


def bert() -> Made:
    import transformers

    config = transformers.BertConfig(vocab_size=WORDS, **SMALL)
    ids = tokens()
    return transformers.BertForMaskedLM(config), {"input_ids": ids, "labels": ids}


def t5() -> Made:
    import transformers

    config = transformers.T5Config(
        vocab_size=WORDS,
        d_model=64,
        d_kv=16,
        d_ff=128,
        num_layers=2,
        num_heads=4,
        decoder_start_token_id=0,
    )
    ids = tokens()
    model = transformers.T5ForConditionalGeneration(config)
    return model, {"input_ids": ids, "labels": ids, "use_cache": False}


def vit() -> Made:
    import transformers

    config = transformers.ViTConfig(image_size=32, patch_size=4, **SMALL)
    x, y = torch.randn(8, 3, 32, 32), torch.randint(0, 2, (8,))
    return transformers.ViTForImageClassification(config), {"pixel_values": x, "labels": y}


def whisper() -> Made:
    import transformers

    config = transformers.WhisperConfig(
        vocab_size=WORDS,
        d_model=64,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=128,
        decoder_ffn_dim=128,
        num_mel_bins=16,
        max_source_positions=64,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
    )
    x, ids = torch.randn(4, 16, 128), tokens(4, 24)
    model = transformers.WhisperForConditionalGeneration(config)
    return model, {"input_features": x, "labels": ids, "use_cache": False}


def deberta() -> Made:
    import transformers

    config = transformers.DebertaV2Config(
        vocab_size=WORDS, relative_attention=True, pos_att_type=["p2c", "c2p"], **SMALL
    )
    ids = tokens()
    return transformers.DebertaV2ForMaskedLM(config), {"input_ids": ids, "labels": ids}


def convnext() -> Made:
    import transformers

    config = transformers.ConvNextConfig(hidden_sizes=[16, 32, 64, 64], depths=[1, 1, 2, 1])
    x, y = torch.randn(8, 3, 64, 64), torch.randint(0, 2, (8,))
    return transformers.ConvNextForImageClassification(config), {"pixel_values": x, "labels": y}


def segformer() -> Made:
    import transformers

    config = transformers.SegformerConfig(
        hidden_sizes=[16, 32, 32, 64],
        depths=[1, 1, 1, 1],
        num_attention_heads=[1, 2, 2, 4],
        decoder_hidden_size=32,
        num_labels=5,
    )
    x, y = torch.randn(4, 3, 64, 64), torch.randint(0, 5, (4, 64, 64))
    model = transformers.SegformerForSemanticSegmentation(config)
    return model, {"pixel_values": x, "labels": y}


def clip() -> Made:
    import transformers

    config = transformers.CLIPConfig(
        text_config=SMALL | {"vocab_size": WORDS, "eos_token_id": 2},
        vision_config=SMALL | {"image_size": 32, "patch_size": 8},
        projection_dim=32,
    )
    x = torch.randn(8, 3, 32, 32)
    inputs = {"input_ids": tokens(8, 32), "pixel_values": x, "return_loss": True}
    return transformers.CLIPModel(config), inputs


def lora() -> Made:
    import peft

    model, inputs = language("Llama", "ForCausalLM", **GROUPED)()
    config = peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj"], lora_dropout=0.1)
    return peft.get_peft_model(model, config), inputs


class Denoised(nn.Module):
    """A network of diffusers with the loss of its training scripts."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, noise: Tensor, *inputs: Tensor, **options: Tensor) -> Tensor:
        return F.mse_loss(self.network(*inputs, **options).sample, noise)


class Positional(nn.Module):
    """A module whose inputs come by number."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, **inputs: Tensor) -> Any:
        return self.module(*inputs.values())


def unet() -> Made:
    import diffusers

    network = diffusers.UNet2DModel(
        sample_size=16,
        block_out_channels=(32, 64),
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
        layers_per_block=1,
    )
    x = torch.randn(4, 3, 16, 16)
    inputs = {"noise": torch.randn_like(x), "x": x, "time": torch.randint(0, 1000, (4,))}
    return Positional(Denoised(network)), inputs


def dit() -> Made:
    import diffusers

    network = diffusers.DiTTransformer2DModel(
        sample_size=16, patch_size=2, num_layers=2, num_attention_heads=4, attention_head_dim=16
    )
    x = torch.randn(4, 4, 16, 16)
    inputs = {
        "noise": torch.randn(4, 4, 16, 16),
        "hidden_states": x,
        "timestep": torch.randint(0, 1000, (4,)),
        "class_labels": torch.randint(0, 1000, (4,)),
    }
    return Denoised(network), inputs


def autoencoder() -> Made:
    import diffusers

    network = diffusers.AutoencoderKL(
        block_out_channels=(32, 32),
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
        norm_num_groups=8,
    )
    x = torch.randn(4, 3, 32, 32)
    return Positional(Denoised(network)), {"noise": x, "x": x.clone()}


def lightning() -> Made:
    import lightning

    class Classifier(lightning.LightningModule):
        """A module of Lightning's own guide, whose forward pass returns the loss."""

        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(
                nn.Linear(64, 256), nn.ReLU(), nn.Dropout(0.1), nn.Linear(256, 10)
            )

        def forward(self, x: Tensor, y: Tensor) -> Tensor:
            return F.cross_entropy(self.body(x), y)

    return Classifier(), {"x": torch.randn(512, 64), "y": torch.randint(0, 10, (512,))}


class Encoded(nn.Module):
    """torch's own transformer."""

    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
        self.body = nn.TransformerEncoder(layer, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.body(x).square().mean()


MODELS: dict[str, tuple[str, Callable[[], Made]]] = {
    "gpt2": ("transformers", language("GPT2", "LMHeadModel", n_embd=64, n_layer=3, n_head=4)),
    "llama": ("transformers", language("Llama", "ForCausalLM", **GROUPED)),
    "qwen3": ("transformers", language("Qwen3", "ForCausalLM", head_dim=16, **GROUPED)),
    "gemma2": ("transformers", language("Gemma2", "ForCausalLM", head_dim=16, **GROUPED)),
    "phi3": ("transformers", language("Phi3", "ForCausalLM", pad_token_id=0, **GROUPED)),
    "mixtral": (
        "transformers",
        language(
            "Mixtral",
            "ForCausalLM",
            num_local_experts=4,
            output_router_logits=False,
            **GROUPED,
        ),
    ),
    "opt": (
        "transformers",
        language(
            "OPT",
            "ForCausalLM",
            hidden_size=64,
            ffn_dim=128,
            num_hidden_layers=3,
            num_attention_heads=4,
            word_embed_proj_dim=64,
        ),
    ),
    "bert": ("transformers", bert),
    "neox": ("transformers", language("GPTNeoX", "ForCausalLM", **SMALL)),
    "deberta": ("transformers", deberta),
    "convnext": ("transformers", convnext),
    "segformer": ("transformers", segformer),
    "clip": ("transformers", clip),
    "t5": ("transformers", t5),
    "vit": ("transformers", vit),
    "whisper": ("transformers", whisper),
    "lora": ("peft", lora),
    "unet": ("diffusers", unet),
    "dit": ("diffusers", dit),
    "autoencoder": ("diffusers", autoencoder),
    "classifier": ("lightning", lightning),
    "encoder": ("torch", lambda: (Encoded(), {"x": torch.randn(8, 64, 64)})),
}


def trained(run: Callable[..., Any], model: nn.Module, inputs: dict[str, Any]) -> list[Tensor]:
    """Loss and gradients of a step."""
    torch.manual_seed(7)
    found = run(**inputs)
    loss = found if isinstance(found, Tensor) else found.loss
    loss.backward()
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    return [loss.detach(), *gradients]


def row(name: str) -> dict[str, Any]:
    """The row of one model."""
    package, make = MODELS[name]
    torch._dynamo.reset()
    torch.manual_seed(0)
    line: dict[str, Any] = {"model": name, "package": package}
    try:
        model, inputs = make()
        twin = copy.deepcopy(model)
        start = time.perf_counter()
        step = rt.compile(model, budget=BUDGET, plan_cache=False, time_limit=10.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = trained(step, model, inputs)
            seconds = time.perf_counter() - start
            expected = trained(torch.compile(twin, backend="aot_eager"), twin, inputs)
    except Exception as error:  # noqa: BLE001
        words = f"{type(error).__name__}: {error}".splitlines()[0]
        return line | {"note": words}
    report = step.report
    equal = len(found) == len(expected) and all(map(torch.equal, found, expected))
    measured = report.measured_bytes or 0
    return line | {
        "operators": len(report.instance.nodes),
        "equal bits": "yes" if equal else "no",
        "peak of budget": f"{measured / report.budget_bytes:.4f}",
        "predicted": f"{report.predicted_bytes / report.budget_bytes:.4f}",
        "recomputed": len(report.plan.recomputed),
        "overhead": f"{report.overhead:.4f}",
        "s": f"{seconds:.1f}",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=[], help="words in the names of models")
    parser.add_argument("--out", type=Path, help="file of the table")
    options = parser.parse_args()
    torch.set_num_threads(1)
    chosen = [name for name in MODELS if not options.only or any(w in name for w in options.only)]
    lines = []
    for name in chosen:
        lines.append(row(name))
        print(", ".join(f"{key}: {value}" for key, value in lines[-1].items()), flush=True)
    if options.out is not None:
        with options.out.open("w", newline="") as file:
            file.write(header())
            writer = csv.DictWriter(file, COLUMNS.split(","), lineterminator="\n", restval="")
            writer.writeheader()
            writer.writerows(lines)


if __name__ == "__main__":
    sys.exit(main())
