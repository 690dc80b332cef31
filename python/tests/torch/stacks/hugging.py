"""Small models, data and trainers of transformers, and a callback that records each step."""

import pytest
import torch
from torch.utils.data import Dataset

transformers = pytest.importorskip("transformers", reason="transformers is not installed")

VOCABULARY, LENGTH = 128, 32


def llama(depth: int = 2):
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=depth,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=2 * LENGTH,
        pad_token_id=0,
        eos_token_id=1,
        bos_token_id=2,
        use_cache=False,
    )
    return transformers.LlamaForCausalLM(config)


class Tokens(Dataset):
    """Random sentences, the same in every process."""

    def __len__(self) -> int:
        return 128

    def __getitem__(self, number: int):
        draws = torch.Generator().manual_seed(number)
        ids = torch.randint(3, VOCABULARY, (LENGTH,), generator=draws)
        return {"input_ids": ids, "labels": ids}


class Recorder(transformers.TrainerCallback):
    """Gradients before each step of the optimizer."""

    def __init__(self) -> None:
        self.gradients = []

    def on_pre_optimizer_step(self, args, state, control, model=None, **_):
        found = {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}
        self.gradients.append(found)


ARGUMENTS = {
    "per_device_train_batch_size": 4,
    "use_cpu": True,
    "report_to": [],
    "logging_steps": 1,
    "save_strategy": "no",
    "disable_tqdm": True,
    "seed": 1,
}


def trained(model, folder, steps: int = 10, **options):
    """Losses and gradients of a run of the Trainer."""
    arguments = transformers.TrainingArguments(
        str(folder), max_steps=steps, **{**ARGUMENTS, **options}
    )
    recorder = Recorder()
    trainer = transformers.Trainer(model, arguments, train_dataset=Tokens(), callbacks=[recorder])
    trainer.train()
    return losses_of(trainer), recorder.gradients


def losses_of(trainer) -> list[float]:
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]


def equal(first, second) -> bool:
    """True if the losses and gradients of two runs are equal in every bit."""
    (losses, gradients), (others, theirs) = first, second
    assert len(losses) == len(others) > 0 and len(gradients) == len(theirs) > 0
    same = losses == others
    for mine, other in zip(gradients, theirs):
        assert mine.keys() == other.keys() and mine
        same = same and all(torch.equal(value, other[name]) for name, value in mine.items())
    return same
