"""Pipelines: cuts of models, plans of their stages, and steps on several processes."""

import copy
import gc
import os
import socket
from pathlib import Path

import pytest
import torch
from torch import distributed, nn
from torch.multiprocessing import spawn

import remat_bb.torch as rt
from remat_bb.torch import _compat, _compat_ranks
from remat_bb.torch.cost import peak_bytes

needs_gloo = pytest.mark.skipif(
    not distributed.is_gloo_available(), reason="torch was built without gloo"
)

WIDTH, LENGTH, WORDS, ROWS = 64, 64, 101, 8
OPTIONS = {"costs": "roofline", "time_limit": 0.5, "plan_cache": False}


class GptBlock(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows, length, width = x.shape
        parts = self.qkv(self.first(x)).view(rows, length, 3, 4, width // 4)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(rows, length, width))
        return x + self.down(nn.functional.gelu(self.up(self.second(x))))


class Gpt(nn.Module):
    def __init__(self, depth: int = 4, tied: bool = False) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.places = nn.Parameter(0.02 * torch.randn(LENGTH, WIDTH))
        self.blocks = nn.ModuleList(GptBlock() for _ in range(depth))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS, bias=False)
        if tied:
            self.head.weight = self.words.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.words(tokens) + self.places[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class LlamaBlock(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)
        self.q, self.o = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(2))
        self.k, self.v = (nn.Linear(WIDTH, WIDTH // 2, bias=False) for _ in range(2))
        self.gate, self.up = (nn.Linear(WIDTH, 3 * WIDTH, bias=False) for _ in range(2))
        self.down = nn.Linear(3 * WIDTH, WIDTH, bias=False)

    def forward(self, x: torch.Tensor, turn: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        rows, length, width = x.shape

        def heads(part: torch.Tensor) -> torch.Tensor:
            return part.view(rows, length, -1, 16).transpose(1, 2)

        def turned(part: torch.Tensor) -> torch.Tensor:
            left, right = part.chunk(2, -1)
            return part * turn[0] + torch.cat((-right, left), -1) * turn[1]

        y = self.first(x)
        q, k, v = turned(heads(self.q(y))), turned(heads(self.k(y))), heads(self.v(y))
        k, v = (part.repeat_interleave(2, 1) for part in (k, v))
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(mixed.transpose(1, 2).reshape(rows, length, width))
        y = self.second(x)
        return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self, depth: int = 6) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.ModuleList(LlamaBlock() for _ in range(depth))
        self.norm, self.head = nn.RMSNorm(WIDTH), nn.Linear(WIDTH, WORDS, bias=False)
        self.register_buffer("rates", 1e4 ** (-torch.arange(0, 8) / 8.0), persistent=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        # Every stage makes these tables anew, because they depend on no input.
        angles = torch.outer(torch.arange(tokens.shape[1]), self.rates).repeat(1, 2)
        turn = (angles.cos(), angles.sin())
        x = self.words(tokens)
        for layer in self.layers:
            x = layer(x, turn)
        return self.head(self.norm(x))


def loss_of(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten())


def planned(model: nn.Module, **options) -> rt.Pipeline:
    tokens = torch.randint(0, WORDS, (ROWS, LENGTH))
    return rt.pipeline(model, tokens, target=tokens.roll(1), loss=loss_of, **{**OPTIONS, **options})


CASES = {
    "gpt 1f1b": (Gpt, 2, {"stages": 2, "microbatches": 4}),
    "gpt interleaved": (Gpt, 2, {"stages": 4, "microbatches": 4, "schedule": "interleaved:2"}),
    "llama 1f1b": (Llama, 4, {"stages": 4, "microbatches": 6}),
}


def process(rank: int, port: int, folder: str, case: str) -> None:
    """One of the processes: two steps of the pipeline, and the unsplit step."""
    kind, devices, options = CASES[case]
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    distributed.init_process_group("gloo", rank=rank, world_size=devices)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = kind()
    whole, count = copy.deepcopy(model), options["microbatches"]
    pipeline = planned(model, budget="75%", **options)
    mine = pipeline.stages[rank::devices]
    for stage in mine:
        # Compiles outside of the measured part.
        number = pipeline.stages.index(stage)
        inputs = pipeline.example_inputs(number)
        is_last = stage is pipeline.stages[-1]
        output = stage(*inputs[:-1], labels=inputs[-1]) if is_last else stage(*inputs)
        output.backward(torch.ones_like(output))
        stage.zero_grad()
    del inputs, output
    torch.manual_seed(1)
    tokens = torch.randint(0, WORDS, (count * ROWS, LENGTH))
    held = {p.untyped_storage().data_ptr(): p.nbytes for s in mine for p in s.parameters()}
    held |= {b.untyped_storage().data_ptr(): b.nbytes for s in mine for b in s.buffers()}
    losses: list[torch.Tensor] = []
    gc.collect()
    with _compat.traced_memory() as events:
        schedule = pipeline.schedule(rank)
        given = (tokens.clone(),) if rank == 0 else ()
        named = {"target": tokens.clone(), "losses": losses} if rank == devices - 1 else {}
        for _ in range(2):
            losses.clear()
            for stage in mine:
                stage.zero_grad()
            schedule.step(*given, **named)
    expected = []
    for part in tokens.chunk(count):
        expected.append(loss_of(whole(part), part))
        expected[-1].backward()
    for parameter in whole.parameters():
        parameter.grad.div_(count)
    truth = dict(whole.named_parameters())
    found = {
        "equal": {
            name: torch.equal(parameter.grad, truth[name].grad)
            for stage in mine
            for name, parameter in stage.named_parameters()
        },
        "losses": rank < devices - 1 or all(map(torch.equal, losses, expected)),
        "peak": sum(held.values()) + peak_bytes(events),
        "predicted": pipeline.predicted_bytes[rank],
        "budget": pipeline.budget_bytes[rank],
        "recomputed": sum(report.recomputed for report in pipeline.reports),
        "cuts": pipeline.cuts,
        "names": sorted(truth),
        "report": pipeline.report(),
    }
    torch.save(found, Path(folder, str(rank)))
    distributed.destroy_process_group()


@needs_gloo
@pytest.mark.parametrize("case", CASES)
def test_steps_on_several_processes(tmp_path, case):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    devices = CASES[case][1]
    spawn(process, (port, str(tmp_path), case), nprocs=devices)
    found = [torch.load(tmp_path / str(rank)) for rank in range(devices)]
    print(found[0]["report"])
    names = [name for each in found for name in each["equal"]]
    assert sorted(names) == found[0]["names"], "each parameter has one stage"
    for rank, each in enumerate(found):
        print(case, rank, each["peak"], each["predicted"], each["budget"])
        assert all(each["equal"].values()) and each["losses"], "equal in every bit"
        assert each["cuts"] == found[0]["cuts"] and each["recomputed"] > 0
        assert each["peak"] <= 1.005 * each["predicted"] and each["peak"] <= each["budget"]
        # Later versions of torch release sent tensors before the step ends.
        if not _compat_ranks.releases_sends():
            assert each["peak"] >= 0.995 * each["predicted"]
