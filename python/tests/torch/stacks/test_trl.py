"""TRL's SFTTrainer: its fused head runs by itself, the blocks before it share one budget."""

# ruff: noqa: E402

import pytest
import torch

pytest.importorskip("trl", reason="trl is not installed")
pytest.importorskip("datasets", reason="datasets is not installed")

import transformers
from datasets import Dataset
from hugging import ARGUMENTS, Recorder, equal, llama, losses_of
from tokenizers import Tokenizer, models, pre_tokenizers
from trl import SFTConfig, SFTTrainer

import remat_bb
import remat_bb.torch as rt

WORDS = "a b c d e f g h".split()


def tokenizer():
    numbers = {"<pad>": 0, "<eos>": 1, "<unk>": 2} | {w: k for k, w in enumerate(WORDS, 3)}
    made = Tokenizer(models.WordLevel(numbers, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"
    )


def trainer_of(model, folder, recorder):
    text = [" ".join(WORDS[(i * k) % 8] for k in range(31)) for i in range(64)]
    arguments = SFTConfig(str(folder), max_steps=10, bf16=False, **ARGUMENTS)
    return SFTTrainer(
        model,
        arguments,
        train_dataset=Dataset.from_dict({"text": text}),
        processing_class=tokenizer(),
        callbacks=[recorder],
    )


def run(folder, share=None):
    recorder = Recorder()
    trainer = trainer_of(llama(4), folder, recorder)
    handle = plain = None
    if share is not None:
        batch = {**next(iter(trainer.get_train_dataloader())), "fused_lm_head": True}
        model = trainer.model
        held = sum(x.nbytes for x in (*model.parameters(), *model.buffers()))
        held += sum(x.nbytes for x in batch.values() if isinstance(x, torch.Tensor))
        plain = rt.measure(lambda b: model(**b).loss, batch, repeats=0)[0]
        model.zero_grad()
        budget = held + int(share * plain)
        handle = rt.regional(
            model,
            batch,
            budget,
            blocks="model.layers.*",
            costs="roofline",
            threads=1,
            time_limit=0.4,
        )
        plain += held
    trainer.train()
    if handle is not None:
        # The trainer has turned checkpointing on, and the plans replace it.
        assert model.is_gradient_checkpointing and handle.reports[0].marked > 0
        model.zero_grad()
        found = held + rt.measure(lambda b: model(**b).loss, batch, repeats=0)[0]
        assert handle.measured_bytes == found <= handle.budget_bytes
    return (losses_of(trainer), recorder.gradients), handle, plain


def test_blocks_of_sft(tmp_path, monkeypatch):
    # The head works on this many words of the vocabulary at once: its buffer would hide the blocks.
    monkeypatch.setattr("trl.trainer.utils._CHUNKED_LOGPROB_CHUNK_SIZE", 64)
    expected, _, _ = run(tmp_path)
    found, handle, plain = run(tmp_path, 0.7)
    assert equal(found, expected)
    assert handle.measured_bytes <= handle.budget_bytes < plain and handle.overhead > 0


def test_the_fused_head_is_refused_with_the_way_out(tmp_path):
    trainer = trainer_of(llama(1), tmp_path, Recorder())
    rt.attach(trainer.model, budget="90%", costs="static")
    with pytest.raises(remat_bb.RematError, match="rt.regional"):
        trainer.train()
