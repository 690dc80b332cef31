"""Orders of real models' graphs: the program's, Inductor's, and the best, with its proven bound.

    python python/bench/torch_order.py [--only WORD ...] [--out FILE.txt]

Models are those of torchvision and transformers with their own sizes, random weights and the batch
that the row says; the U-Net is written here. Rows: ``inference`` (evaluation, no gradients),
``joint`` (forward and backward pass, gradients stay) and ``step`` (each gradient is read by an
update of its parameter and goes). Peaks in bytes have weights, buffers and batch in them. Column
``Inductor`` is the order that Inductor takes of those of its rules (``program``, ``lpmf``, ``bfs``,
``dfs``) on the same operators, replayed; ``estimate`` is what it says of that order, by which it
takes it; ``best rule`` is the best of the four when replayed. Graphs of the first batch are run on
the processor with random values: peaks before and after are counted by storages, and results are
compared in every bit.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from measuring import header
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils._pytree import tree_leaves

import remat_bb
import remat_bb.torch as rt
from remat_bb.torch.importer import traced_graph

SEED = 7
REPEATS = 3
"""Searches whose least time is told."""


class Loss(nn.Module):
    """A network with the loss of its classes; its output where it is evaluated."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Tensor, classes: Tensor | None = None) -> Tensor:
        out = self.network(x)
        out = getattr(out, "logits", out)
        return out if classes is None else F.cross_entropy(out, classes)


class Words(nn.Module):
    """A language model with the loss of its next words; its scores where it is evaluated."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, words: Tensor, classes: Tensor | None = None) -> Tensor:
        scores = self.network(words).logits
        if classes is None:
            return scores
        return F.cross_entropy(scores.flatten(0, 1), classes.flatten())


class Unet(nn.Module):
    """Four levels down and up (Ronneberger et al., 2015), padded, with batch norm."""

    def __init__(self, width: int = 32, classes: int = 2) -> None:
        super().__init__()

        def pair(into: int, out: int) -> nn.Module:
            layers: list[nn.Module] = []
            for source in (into, out):
                layers += [nn.Conv2d(source, out, 3, padding=1, bias=False), nn.BatchNorm2d(out)]
                layers += [nn.ReLU(inplace=True)]
            return nn.Sequential(*layers)

        sizes = [width << k for k in range(5)]
        self.down = nn.ModuleList(pair(a, b) for a, b in zip([3, *sizes], sizes))
        self.wider = nn.ModuleList(
            nn.ConvTranspose2d(2 * size, size, 2, 2) for size in reversed(sizes[:-1])
        )
        self.up = nn.ModuleList(pair(2 * size, size) for size in reversed(sizes[:-1]))
        self.last = nn.Conv2d(width, classes, 1)

    def forward(self, x: Tensor) -> Tensor:
        held = []
        for level, layer in enumerate(self.down):
            x = layer(x if level == 0 else F.max_pool2d(x, 2))
            held.append(x)
        held.pop()
        for wider, layer in zip(self.wider, self.up):
            x = layer(torch.cat((held.pop(), wider(x)), 1))
        return self.last(x)


Made = tuple[nn.Module, tuple[Tensor, Tensor]]


def pictures(name: str, size: int = 224, **options: Any) -> Callable[[int], Made]:
    """A network of torchvision and a batch of pictures."""

    def make(batch: int) -> Made:
        import torchvision.models

        network = torchvision.models.get_model(name, weights=None, **options)
        return Loss(network), (torch.randn(batch, 3, size, size), torch.arange(batch) % 10)

    return make


def unet(batch: int) -> Made:
    """The U-Net and pictures of 128 by 128."""
    return Loss(Unet()), (torch.randn(batch, 3, 128, 128), torch.zeros(batch, 128, 128).long())


def gpt2(batch: int) -> Made:
    """GPT-2 small with dropout, 128 words."""
    from transformers import GPT2Config, GPT2LMHeadModel

    network = GPT2LMHeadModel(GPT2Config(use_cache=False, attn_implementation="eager"))
    words = torch.arange(batch * 128).view(batch, 128) % 50257
    return Words(network), (words, words.roll(-1, 1))


def bert(batch: int) -> Made:
    """Two blocks of BERT base's size with dropout, 128 words."""
    from transformers import BertConfig, BertForMaskedLM

    config = BertConfig(num_hidden_layers=2, attn_implementation="eager")
    words = torch.arange(batch * 128).view(batch, 128) % 30522
    return Words(BertForMaskedLM(config)), (words, words.roll(-1, 1))


MODELS: dict[str, tuple[Callable[[int], Made], tuple[int, ...]]] = {
    "resnet18": (pictures("resnet18"), (1, 32)),
    "resnet50": (pictures("resnet50"), (1, 32)),
    "mobilenet_v2": (pictures("mobilenet_v2"), (1, 32)),
    "googlenet": (pictures("googlenet", aux_logits=False, init_weights=False), (1, 32)),
    "unet": (unet, (1, 8)),
    "bert, 2 blocks": (bert, (1, 8)),
    "gpt2": (gpt2, (1, 8)),
}
"""Models, and the batches of their rows; those of the first are run."""

COLUMNS = (
    f"{'model':<15} {'batch':>5} {'graph':<9} {'ops':>5} {'program':>12} {'estimate':>12} "
    f"{'Inductor':>12} {'by':<7} {'best rule':>12} {'best':>12} {'bound':>12} "
    f"{'gap':>6} {'saved':>7} {'by rule':>7} {'s':>7}  counted when run"
)


def values(module: Any) -> list[Any]:
    """Random values of the inputs of a graph."""
    generator = torch.Generator().manual_seed(SEED)
    found: list[Any] = []
    for node in module.graph.find_nodes(op="placeholder"):
        like = node.meta["val"]
        if like.dtype.is_floating_point:
            found.append(torch.rand(like.shape, generator=generator, dtype=like.dtype))
        else:
            found.append(torch.zeros(like.shape, dtype=like.dtype))
    return found


def run(module: Any) -> tuple[list[Tensor], int]:
    """Results of a graph from :data:`SEED`, and its peak."""
    inputs = values(module)
    held = list(inputs)
    torch.manual_seed(SEED)
    outputs, peak = rt.measure_graph(module, inputs)
    results = [x.clone() for x in tree_leaves(outputs) if isinstance(x, Tensor)]
    return results + [x for x in held if isinstance(x, Tensor)], peak


def equal(one: Tensor, other: Tensor) -> bool:
    """Returns true for equal bits: what is no number is equal to itself."""
    return torch.equal(*(x.reshape(-1).view(torch.uint8) for x in (one, other)))


def row(name: str, batch: int, graph: str, model: nn.Module, inputs: Any, executed: bool) -> str:
    """One line of the table."""
    torch._dynamo.reset()
    estimate = inductor = by = rule = counted = ""
    if graph == "step":
        document = rt.order_graph(model, inputs, optimizer_states=0)
        found = remat_bb.order(document)
        seconds = min([found.seconds, *(remat_bb.order(document).seconds for _ in range(2))])
        operators = len(document["operators"])
        before, after, bound = found.program_peak_bytes, found.peak_memory_bytes, found.bound
        against = ""
    else:
        module, _ = traced_graph(model, inputs)
        module.graph.eliminate_dead_code()
        document = rt.order_graph(module)
        seconds = min(remat_bb.order(document).seconds for _ in range(REPEATS))
        if executed:
            results, first = run(module)
        report = rt.reorder(module, name=name)
        operators = report.operators
        before, after, bound = report.before_bytes, report.after_bytes, report.bound_bytes
        own = report.inductor
        assert own is not None
        estimate, inductor, by = str(own.peaks[own.rule]), str(own.bytes), own.rule
        least = min(own.replayed.values())
        rule, against = str(least), f"{1 - after / least:.2%}"
        if executed:
            again, second = run(module)
            same = all(map(equal, results, again))
            exact = (first, second) == (before, after)
            counted = "as predicted" if exact else f"{first} and {second}"
            counted += ", equal bits" if same else ", OTHER BITS"
    assert before is not None
    return (
        f"{name:<15} {batch:>5} {graph:<9} {operators:>5} {before:>12} {estimate:>12} "
        f"{inductor:>12} {by:<7} {rule:>12} {after:>12} {bound:>12} "
        f"{(after - bound) / after:>6.2%} {1 - after / before:>7.2%} {against:>7} "
        f"{seconds:>7.3f}  {counted}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=[], help="words in the names of models")
    parser.add_argument("--out", type=Path, help="file that the table is written to as well")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    lines = ["Orders of real models' graphs", "=" * 29, ""]
    lines += [line[2:] for line in header().splitlines()] + ["", COLUMNS]
    print("\n".join(lines))
    for name, (make, batches) in MODELS.items():
        if arguments.only and not any(word in name for word in arguments.only):
            continue
        for batch in batches:
            model, (x, classes) = make(batch)
            for graph in ("inference", "joint", "step"):
                model.train(graph != "inference")
                begun = time.perf_counter()
                executed = batch == batches[0]
                if graph == "inference":
                    with torch.no_grad():
                        line = row(name, batch, graph, model, (x,), executed)
                else:
                    line = row(name, batch, graph, model, (x, classes), executed)
                print(line, flush=True)
                print(f"{time.perf_counter() - begun:.1f} s in all", file=sys.stderr)
                lines.append(line)
            del model, x, classes
    if arguments.out:
        arguments.out.write_text("\n".join(line.rstrip() for line in lines) + "\n")


if __name__ == "__main__":
    main()
