"""Peaks of steps under Inductor: predicted by the replay of its code, and measured.

    python python/bench/inductor_peaks.py [--only WORD ...] [--shares 0.7 ...] [--out FILE.csv]

Each model's step is compiled with ``inner="inductor"`` for a share of its peak without
recomputation, without copies to the host and with copies. Its first step is measured by the events
of torch's allocator. The loss and gradients are compared with those of ``torch.compile`` alone.
Columns: bytes include parameters, buffers and the batch (fixed bytes); the error is the measured
peak over the predicted one, both without fixed bytes; deviation is the largest difference of a
gradient, as a share of that gradient's largest element. Gradients that are zero but for rounding
(biases in front of batch norms) are left out. Rows of models that do not run stay in the file.
Needs timm and transformers.
"""

from __future__ import annotations

import argparse
import copy
import csv
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from measuring import header
from other_models import DECODER, GPT2, Named, pictures
from torch import Tensor, nn
from torch.nn import functional as F

import remat_bb.torch as rt
from remat_bb.errors import RematError
from remat_bb.torch._compat import logs_skipped

HERE = Path(__file__).resolve()
sys.path.insert(0, str(HERE.parent.parent / "tests" / "torch"))

import models  # noqa: E402

OUT = HERE.parent.parent.parent / "bench" / "results" / "inductor-peaks.csv"
LINK = rt.Link(2 * 10**9, 2 * 10**9, 0, "half")
SECONDS = 3.0
COLUMNS = (
    "model,share,copies,fixed bytes,budget bytes,predicted bytes,measured bytes,error %,solves,"
    "fits,recomputed,copied,deviation,note"
).split(",")

Made = tuple[nn.Module, tuple[Any, ...]]


class GroupUnet(nn.Module):
    """Two levels down and up with group norms and SiLU."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.first = self._block(3, width)
        self.deep = self._block(width, 2 * width)
        self.second = self._block(3 * width, width)
        self.last = nn.Conv2d(width, 3, 1)

    @staticmethod
    def _block(inner: int, outer: int) -> nn.Module:
        layers: list[nn.Module] = []
        for width in (inner, outer):
            layers += [nn.Conv2d(width, outer, 3, padding=1), nn.GroupNorm(4, outer), nn.SiLU()]
        return nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        held = self.first(x)
        y = F.interpolate(self.deep(F.max_pool2d(held, 2)), scale_factor=2)
        return F.mse_loss(self.last(self.second(torch.cat((y, held), 1))), x)


class Encoder(nn.Module):
    """torch's own encoder layers."""

    def __init__(self, width: int = 64, depth: int = 3) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, 0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.encoder(x).square().mean()


class Norms(nn.Module):
    """Layer norms between narrow products."""

    def __init__(self, width: int = 128, depth: int = 6) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * depth))

    def forward(self, x: Tensor) -> Tensor:
        for k, layer in enumerate(self.layers):
            x = x + self.norms[2 * k + 1](F.gelu(layer(self.norms[2 * k](x))))
        return x.square().mean()


def of_tests(name: str) -> Callable[[], Made]:
    """A model of the tests."""
    make, batch_of, _ = models.MODELS[name]
    return lambda: (make(), batch_of())


def words(kind: str, **options: Any) -> Callable[[], Made]:
    """A decoder of transformers with a batch of 8 x 64 words."""

    def make() -> Made:
        import transformers

        config = transformers.AutoConfig.for_model(kind, **options)
        network = transformers.AutoModelForCausalLM.from_config(config)
        text = torch.randint(0, options["vocab_size"], (8, 64))
        return Named(network, ("input_ids", "labels")), (text, text.clone())

    return make


def small_vit() -> Made:
    """A small ViT of timm, three layers deep."""
    import timm

    network = timm.create_model("vit_tiny_patch16_224", num_classes=10, img_size=64, depth=3)
    return pictures(network, 64, 8)


MODELS: dict[str, Callable[[], Made]] = {
    "mlp": of_tests("mlp"),
    "gpt with dropout": of_tests("gpt dropout"),
    "resnet with batch norm": of_tests("resnet"),
    "separable convolutions": of_tests("separable"),
    "encoder layers": lambda: (Encoder(), (torch.randn(8, 64, 64),)),
    "layer norms": lambda: (Norms(), (torch.randn(512, 128),)),
    "unet with group norm": lambda: (GroupUnet(), (torch.randn(4, 3, 32, 32),)),
    "transformers gpt2": words("gpt2", **GPT2, bos_token_id=0, eos_token_id=0),
    "transformers llama": words("llama", **DECODER),
    "timm vit tiny": small_vit,
}


def run(model: nn.Module, step: Any, batch: tuple[Any, ...]) -> dict[str, Tensor]:
    """Loss and gradients of a step."""
    torch.manual_seed(7)
    loss = step(*batch)
    loss.backward()
    found = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    return {"loss": loss.detach(), **found}


NEGLIGIBLE = 1e-5
"""Share of the largest element of all gradients below which a gradient is zero but for rounding."""


def deviation(found: dict[str, Tensor], expected: dict[str, Tensor]) -> float:
    """Largest difference of a gradient, as a share of its largest element."""
    largest = {name: float(value.abs().max()) for name, value in expected.items()}
    least = NEGLIGIBLE * max(size for name, size in largest.items() if name != "loss")
    return max(
        float((found[name] - expected[name]).abs().max()) / size
        for name, size in largest.items()
        if size > least
    )


def others(path: Path, names: set[str]) -> list[dict[str, str]]:
    """Rows of a table without those of some models."""
    if not path.exists():
        return []
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    return [row for row in csv.DictReader(lines) if row["model"] not in names]


def measured(name: str, share: float, copies: bool, expected: dict[str, Tensor]) -> dict[str, Any]:
    """A row of the table."""
    torch.manual_seed(0)
    model, batch = MODELS[name]()
    torch._dynamo.reset()
    options: dict[str, Any] = {"offload": LINK} if copies else {}
    row: dict[str, Any] = {"model": name, "share": share, "copies": "yes" if copies else "no"}
    step = rt.compile(
        model,
        budget=f"{100 * share:g}%",
        inner="inductor",
        costs="roofline",
        time_limit=SECONDS,
        plan_cache=False,
        **options,
    )
    try:
        found = run(model, step, batch)
    except RematError as error:
        return {**row, "note": str(error).splitlines()[0]}
    report = step.report
    fixed, peak = report.fixed_bytes, report.measured_bytes or 0
    error = 100 * ((peak - fixed) / (report.predicted_bytes - fixed) - 1)
    return {
        **row,
        "fixed bytes": fixed,
        "budget bytes": report.budget_bytes,
        "predicted bytes": report.predicted_bytes,
        "measured bytes": peak,
        "error %": f"{error:.3f}",
        "solves": report.solves,
        "fits": "yes" if peak <= report.budget_bytes else "no",
        "recomputed": len(report.plan.recomputed),
        "copied": len(report.offloaded),
        "deviation": f"{deviation(found, expected):.1e}",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[""], help="words in names of models")
    parser.add_argument("--shares", nargs="*", type=float, default=[0.7])
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    names = [name for name in MODELS if any(word in name for word in options.only)]
    rows: list[dict[str, Any]] = list(others(options.out, set(names)))
    for name in names:
        torch.manual_seed(0)
        model, batch = MODELS[name]()
        torch._dynamo.reset()
        alone = torch.compile(copy.deepcopy(model), fullgraph=True, dynamic=False)
        with logs_skipped():
            expected = run(alone, alone, batch)
        expected = {key.removeprefix("_orig_mod."): value for key, value in expected.items()}
        for share in options.shares:
            for copies in (False, True):
                rows.append(measured(name, share, copies, expected))
                print(rows[-1], flush=True)
                with options.out.open("w", newline="") as file:
                    file.write(header())
                    table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
                    table.writeheader()
                    table.writerows(rows)


if __name__ == "__main__":
    main()
