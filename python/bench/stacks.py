"""Training stacks with and without a budget: peaks, bits, seconds to the first step and for a step.

    python python/bench/stacks.py [--only WORD ...] [--out FILE.csv]

Each stack trains five ways: ``eager``; ``compiled`` without a plan, with all saved (backend
``aot_eager_default_partitioner``) and with torch's own cuts (``min cut``, backend ``aot_eager``);
and planned with all memory (``100%``) and with less (``70%``). TRL's blocks are
compiled one by one: its budget is a share of the memory that the step takes beside parameters and
batch, ``compiled`` and ``min cut`` compile the blocks, and its default of gradient checkpointing is
off. Peaks are those of one step: measured by
``remat_bb.torch.measure`` without a plan, and by the watch of a planned one (with gradients of
earlier steps during the forward pass, where the trainer frees these late). ``first s`` is the time
from the start of the trainer to the first step of the optimizer, planning included. ``step ms`` is
the least time between two steps of the optimizer; steps that a watch measures are slower. ``equal``
says whether ten losses and all gradients equal those of ``compiled`` in every bit.
"""

from __future__ import annotations

import argparse
import csv
import logging
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from measuring import header
from torch import nn

import remat_bb.torch as rt

sys.path[:0] = [
    str(Path(__file__).parents[1] / "tests" / "torch" / part) for part in (".", "stacks")
]

STEPS, BATCH, LENGTH = 10, 8, 128
ROUNDS = 3
"""Runs of each way, in turn; the least time between two steps counts."""
COMPILED = {"compiled": "aot_eager_default_partitioner", "min cut": "aot_eager"}
WAYS = ("eager", *COMPILED, "100%", "70%")
FIELDS = ("stack", "way", "budget", "peak", "first s", "step ms", "overhead", "equal")
OPTIONS = {"costs": "measured", "plan_cache": False}
OUT = Path(__file__).parents[2] / "bench" / "results" / "stacks.csv"


@dataclass
class Run:
    """Losses, gradients and times of a training run."""

    losses: list[float] = field(default_factory=list)
    gradients: list[list[torch.Tensor]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)

    def step(self, model: nn.Module) -> None:
        """Notes the gradients before a step of the optimizer, and the time."""
        self.times.append(time.perf_counter())
        found = [p.grad for p in model.parameters() if p.grad is not None]
        self.gradients.append([gradient.clone() for gradient in found])

    def equals(self, other: Run) -> bool:
        """True if the runs are equal in every bit."""
        mine = [x for step in self.gradients for x in step]
        theirs = [x for step in other.gradients for x in step]
        assert len(self.losses) == len(other.losses) == STEPS and len(mine) == len(theirs)
        return self.losses == other.losses and all(map(torch.equal, mine, theirs))


def llama() -> Any:
    """A small language model."""
    import transformers

    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=512,
        hidden_size=256,
        intermediate_size=512,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=LENGTH,
        use_cache=False,
        pad_token_id=0,
        bos_token_id=2,
        eos_token_id=1,
    )
    return transformers.LlamaForCausalLM(config)


def sentences() -> list[dict[str, torch.Tensor]]:
    """Batches for ten steps."""
    draws = torch.Generator().manual_seed(1)
    ids = torch.randint(3, 512, (STEPS * BATCH, LENGTH), generator=draws)
    return [{"input_ids": row, "labels": row} for row in ids]


def batch_of() -> dict[str, torch.Tensor]:
    rows = sentences()[:BATCH]
    return {name: torch.stack([row[name] for row in rows]) for name in rows[0]}


class Lit:
    """Makes a module of Lightning around the small language model."""

    @staticmethod
    def made(run: Run) -> Any:
        import lightning

        class Module(lightning.LightningModule):
            def __init__(self) -> None:
                super().__init__()
                self.net = llama()

            def training_step(self, batch: Any, number: int) -> Any:
                loss = self.net(**batch).loss
                self.log("loss", loss)
                return loss

            def configure_optimizers(self) -> Any:
                return torch.optim.AdamW(self.parameters())

            def on_before_optimizer_step(self, optimizer: Any) -> None:
                run.step(self)

            def on_train_batch_end(self, outputs: Any, batch: Any, number: int) -> None:
                run.losses.append(outputs["loss"].item())

        return Module()


def trainer(run: Run, prepare: Callable[..., None]) -> None:
    """transformers.Trainer."""
    hugging(run, prepare, lambda options: _trainer(*options))


def _trainer(model: Any, folder: str, callback: Any, options: dict[str, Any]) -> Any:
    import transformers

    arguments = transformers.TrainingArguments(folder, **options)
    return transformers.Trainer(model, arguments, train_dataset=sentences(), callbacks=[callback])


def trl(run: Run, prepare: Callable[..., None]) -> None:
    """trl.SFTTrainer."""
    hugging(run, prepare, lambda options: _sft(*options))


def _sft(model: Any, folder: str, callback: Any, options: dict[str, Any]) -> Any:
    import datasets
    import test_trl
    import trl.trainer.utils
    from trl import SFTConfig, SFTTrainer

    # The head's buffer of 32768 words would hide a model with a small vocabulary.
    trl.trainer.utils._CHUNKED_LOGPROB_CHUNK_SIZE = 64
    rows = [{"input_ids": row["input_ids"].tolist()} for row in sentences()]
    return SFTTrainer(
        model,
        SFTConfig(folder, bf16=False, gradient_checkpointing=False, **options),
        train_dataset=datasets.Dataset.from_list(rows),
        processing_class=test_trl.tokenizer(),
        callbacks=[callback],
    )


def hugging(run: Run, prepare: Callable[..., None], make: Callable[..., Any]) -> None:
    """A trainer of the transformers family."""
    import transformers

    class Recorder(transformers.TrainerCallback):
        def on_pre_optimizer_step(self, args, state, control, model=None, **_):  # type: ignore
            run.step(model)

    options = {
        "max_steps": STEPS,
        "per_device_train_batch_size": BATCH,
        "use_cpu": True,
        "report_to": [],
        "logging_steps": 1,
        "save_strategy": "no",
        "disable_tqdm": True,
    }
    with tempfile.TemporaryDirectory() as folder:
        made = make((llama(), folder, Recorder(), options))
        batch = next(iter(made.get_train_dataloader()))
        prepare(made.model, batch)
        made.train()
        run.losses += [x["loss"] for x in made.state.log_history if "loss" in x]


def lightning_(run: Run, prepare: Callable[..., None]) -> None:
    """lightning.Trainer."""
    import lightning

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    model = Lit.made(run)
    prepare(model, batch_of())
    lightning.Trainer(
        max_steps=STEPS,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    ).fit(model, torch.utils.data.DataLoader(sentences(), batch_size=BATCH))


def accelerate_(run: Run, prepare: Callable[..., None]) -> None:
    """The loop of accelerate's documentation."""
    from accelerate import Accelerator

    model = llama()
    prepare(model, batch_of())
    accelerator = Accelerator(cpu=True)
    loader = torch.utils.data.DataLoader(sentences(), batch_size=BATCH)
    optimizer = torch.optim.AdamW(model.parameters())
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        loss = model(**batch).loss
        accelerator.backward(loss)
        run.losses.append(loss.item())
        run.step(model)
        optimizer.step()
        optimizer.zero_grad()


def loop(run: Run, prepare: Callable[..., None]) -> None:
    """A plain loop."""
    model = llama()
    prepare(model, batch_of())
    optimizer = torch.optim.AdamW(model.parameters())
    for batch in torch.utils.data.DataLoader(sentences(), batch_size=BATCH):
        loss = model(**batch).loss
        loss.backward()
        run.losses.append(loss.item())
        run.step(model)
        optimizer.step()
        optimizer.zero_grad()


STACKS = {
    "plain loop": loop,
    "transformers Trainer": trainer,
    "accelerate": accelerate_,
    "lightning Trainer": lightning_,
    "trl SFTTrainer": trl,
}


def held(model: nn.Module, batch: dict[str, Any]) -> int:
    """Bytes before a step."""
    there = (*model.parameters(), *model.buffers(), *batch.values())
    return sum(x.nbytes for x in there if isinstance(x, torch.Tensor))


def trained(stack: str, way: str) -> tuple[Run, dict[str, Any]]:
    """A run of a stack, and the cells of its row."""
    run, cells = Run(), {"stack": stack, "way": way}
    begin = 0.0
    handles: list[Any] = []
    peaks: list[Callable[[], int]] = []

    def prepare(model: Any, batch: dict[str, Any]) -> None:
        nonlocal begin
        net = getattr(model, "net", model)
        if stack.startswith("trl"):
            batch = {**batch, "fused_lm_head": True}
        before = held(model, batch)

        def peak() -> int:
            net.zero_grad()
            found = rt.measure(lambda given: net(**given).loss, batch, repeats=0)[0]
            net.zero_grad()
            return before + found

        torch.manual_seed(3)
        peaks.append(peak)
        begin = time.perf_counter()
        if way in COMPILED:
            blocks = model.model.layers if stack.startswith("trl") else [net]
            for block in blocks:
                block.compile(backend=COMPILED[way], dynamic=False)
        elif way != "eager" and stack.startswith("trl"):
            share = float(way.rstrip("%")) / 100
            chosen = {"costs": "measured"}
            budget = before + int(share * (peak() - before))
            blocks = "model.layers.*"
            handles.append(rt.regional(model, batch, budget, blocks, **chosen))
        elif way != "eager":
            handles.append(rt.attach(model, budget=way, **OPTIONS))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        STACKS[stack](run, prepare)
    cells["first s"] = f"{run.times[0] - begin:.2f}"
    apart = [b - a for a, b in zip(run.times, run.times[1:])]
    cells["step ms"] = round(1e3 * min(apart), 1)
    if not handles:
        cells["peak"] = peaks[0]()
    else:
        (handle,) = handles
        source = handle if isinstance(handle, rt.Regional) else handle.report
        cells["budget"], cells["peak"] = source.budget_bytes, source.measured_bytes
        cells["overhead"] = f"{source.overhead:.4f}"
    return run, cells


def _others(place: Path, ran: set[str]) -> list[dict[str, Any]]:
    """Rows of a file for other stacks than those that ran."""
    if not place.exists():
        return []
    with place.open(newline="") as file:
        lines = [line for line in file if not line.startswith("#")]
    return [row for row in csv.DictReader(lines) if row["stack"] not in ran]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[""], help="words in names of stacks")
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for stack in STACKS:
        if not any(word in stack for word in options.only):
            continue
        runs: dict[str, Run] = {}
        found: dict[str, dict[str, Any]] = {}
        for way in WAYS * ROUNDS:
            torch._dynamo.reset()
            run, cells = trained(stack, way)
            first = found.setdefault(way, cells)
            first["step ms"] = min(first["step ms"], cells["step ms"])
            runs.setdefault(way, run)
        for way, cells in found.items():
            cells["equal"] = "yes" if runs[way].equals(runs["compiled"]) else "no"
            print(cells, flush=True)
            rows.append(cells)
    # Rows of stacks that did not run stay in the file.
    rows = _others(options.out, {row["stack"] for row in rows}) + rows
    with options.out.open("w", newline="") as file:
        file.write(header())
        table = csv.DictWriter(file, FIELDS, lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


if __name__ == "__main__":
    main()
