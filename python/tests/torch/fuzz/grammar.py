"""Random modules: programs of statements over tensors of one shape, written as Python text.

Every value that a program names has rows by :data:`WIDTH` elements; a rule of the grammar reads one
or two of them, goes through other shapes, types and storages, and makes a further one. So rules
follow each other in any order, and a statement can be left out.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field, replace

import torch
from customs import CUSTOM
from torch import nn
from torch.nn import functional

WIDTH = 16
"""Elements of a row: a multiple of 8."""

# In rules `a`, `b` are values, `o` the one to make, `v` one of its own, `w` a matrix, `p` a vector
# of the parameters, `m` a buffer, `n` a counter, `i` integers, `z` numbers of the batch, `B` the
# rows, `N` the width.
RULES = {
    "pointwise": """
o = functional.gelu(a)
o = functional.gelu(a, approximate="tanh")
o = torch.tanh(a)
o = a.sin() * b.cos()
o = torch.exp(-a.abs())
o = functional.silu(a) + b
o = functional.softplus(a)
o = functional.leaky_relu(a, 0.1)
o = a.clamp(-1.0, 1.0)
o = torch.where(a > b, a, 0.5 * b)
o = a / (1.0 + b.square())
o = torch.addcmul(a, b, b, value=0.5)
o = torch.lerp(a, b, 0.25)
o = functional.elu(a).sqrt().nan_to_num(0.5)
o = torch.maximum(a, b)
o = a * p + p
o = functional.hardswish(a)
o = torch.sigmoid(a).pow(2)
""",
    "product": """
o = a @ w
o = functional.linear(a, w, p)
o = a @ w.t()
o = torch.tanh(a @ w[:, : N // 2]) @ w[: N // 2]
o = torch.bmm(a.view(B, 1, N), w.expand(B, N, N)).view(B, N)
o = torch.einsum("bi,ij,bj->bj", a, w, b)
v = a.view(B, 4, N // 4); o = (v @ v.transpose(1, 2) @ v).reshape(B, N)
o = (a.t() @ b @ w).sum(0) + a
o = torch.addmm(b, a, w, beta=0.5)
""",
    "view": """
o = a.t().contiguous().t() + b
o = a.view(B, 4, N // 4).permute(0, 2, 1).reshape(B, N)
o = torch.cat([a[:, N // 2 :], b[:, : N // 2]], 1)
v = a.chunk(2, 1); o = torch.cat([v[1], v[0] * v[1]], 1)
v = a.split([N // 4, 3 * N // 4], 1); o = torch.cat([v[1].sin(), v[0]], 1)
o = a[:, :1].expand(B, N) * b
o = a.unfold(1, 2, 2).sum(-1).repeat(1, 2)
o = a.narrow(1, 2, N // 2).repeat_interleave(2, 1)
o = torch.stack([a, b], 1).flatten(1)[:, ::2]
v = a.unbind(1); o = torch.stack([*v[1:], v[0].cos()], 1)
o = a.flip(1).roll(3, 1)
o = a.diagonal().sum() * b
o = a.squeeze().unsqueeze(0).reshape(B, N).clone()
o = a.as_strided((B, N), (N, 1)) if a.is_contiguous() else a.clone()
o = a.view(torch.int32).view(torch.float32) * b
v = a.detach(); o = v.sin() * b
o = a.movedim(0, 1).clone(memory_format=torch.contiguous_format).movedim(0, 1)
o = a.view(B, 1, 4, N // 4).contiguous(memory_format=torch.channels_last).sin().reshape(B, N)
""",
    "copy": """
o = a.clone()
o = a.contiguous()
o = functional.dropout(a, 0.0)
v = a.clone(); o = v.clone().sin() + v
o = a.to(torch.float32, copy=True).cos()
v = torch.complex(a, b).conj(); o = torch.view_as_real(v.clone()).sum(-1)
v = torch.complex(a, b).conj(); o = (v.imag.clone() * 2).sin() + v.real
v = torch.complex(a, b); o = (v * v.conj()).abs()
v = torch.fft.rfft(a); o = torch.fft.irfft(v * v.conj(), n=N)
o = a[:, : N // 2].clone().repeat(1, 2)
""",
    "in place": """
o = a.add_(b)
o = a.mul_(0.5)
o = a.sigmoid_()
v = a.sin(); v[:, ::2].mul_(0.5); o = v
v = a.clone(); v.view(-1)[3:11].add_(1.0); o = v * b
v = a * 1.5; v[:, 1] = b[:, 2]; o = v
v = a.cos(); v.t()[2:5].fill_(0.25); o = v
v = a + b; v.masked_fill_(v > 0.5, 0.0); o = v
v = a.exp().clamp_(max=3.0); v.sub_(b).div_(2.0); o = v
o = functional.relu(a + 0.1, inplace=True)
v = a.new_zeros(B, N); v.copy_(b); v[0] += a.sum(0); o = v
v = a.sin(); v[i[:2] % B] = b[:2]; o = v
v = torch.zeros_like(a); v.scatter_add_(1, i[:B, None] % N, a[:, :1]); o = v + b
v = a.tanh(); v.index_add_(0, i[:3] % B, b[:1].expand(3, N)); o = v
v = a.sin(); b2 = v[:, :4]; b2 += 1; o = v.cos() + b2.sum()
""",
    "reduction": """
o = torch.softmax(a, 1) * b
o = torch.log_softmax(a, 0)
o = functional.layer_norm(a, (N,), p, p)
o = functional.group_norm(a, 4)
o = functional.rms_norm(a, (N,), p)
o = functional.instance_norm(a.view(B, 4, N // 4)).reshape(B, N)
o = functional.normalize(a, dim=1)
o = a - a.mean(1, keepdim=True)
o = a * torch.var(b, 1, keepdim=True)
v = torch.var_mean(a, 0); o = (a - v[1]) * torch.rsqrt(v[0] + 1e-3)
v = a.max(1, keepdim=True); o = b * v.values + (v.indices.float() * 0.01)
v = a.topk(4, 1); o = b.scatter_add(1, v.indices, v.values)
v = a.sort(1); o = v.values * b.gather(1, v.indices)
o = a.cumsum(1).logsumexp(1, keepdim=True) + b
o = torch.cumprod(a.tanh(), 1) + a.amin(0)
o = a.norm(dim=1, keepdim=True) * b
v = torch.linalg.qr(w); o = a @ v.Q
o = (a.median(1, keepdim=True).values + b.kthvalue(2, 1, keepdim=True).values) * a
""",
    "index": """
o = a.gather(1, (i[:, None] + i[None, :]).repeat(1, N)[: i.shape[0], :N][:1].expand(B, N) % N)
o = a[i[torch.arange(B) % i.shape[0]] % B]
o = functional.embedding(i[torch.arange(B) % i.shape[0]] % N, w) + a
o = a.index_select(1, torch.arange(N - 1, -1, -1))
o = torch.take_along_dim(a, a.argsort(1), 1)
o = a * functional.one_hot(i[:1] % N, N)
o = torch.tril(a) + torch.triu(b, 1)
o = a.masked_select(torch.ones_like(a, dtype=torch.bool)).view(B, N) if False else a.sin()
o = functional.pad(a[:, 2:], (1, 1), value=0.5)
o = functional.embedding_bag(i[:8].view(4, 2) % N, w).sum(0) * a
""",
    "net": """
o = functional.conv1d(a.view(B, 1, N), p.view(1, 1, N)[:, :, :3], padding=1).view(B, N)
v = functional.conv2d(a.view(B, 1, 4, N // 4), w[:, :9].reshape(N, 1, 3, 3), padding=1);
    o = v.sum(1).view(B, N)
v = functional.max_pool1d(a.view(B, 1, N), 2); o = v.view(B, N // 2).repeat(1, 2)
o = functional.avg_pool1d(a.view(B, 1, N), 2).view(B, N // 2).repeat(1, 2) + b
v = functional.interpolate(a.view(B, 1, N), scale_factor=2.0, mode="linear");
    o = v.view(B, 2 * N)[:, :N]
v = a.view(B, 2, 2, N // 4); o = functional.scaled_dot_product_attention(v, v, v).reshape(B, N)
v = a.view(1, 1, B, N);
    o = functional.scaled_dot_product_attention(v, v.sin(), v, is_causal=True).view(B, N)
o = functional.batch_norm(a, None, None, p, p, training=True)
o = functional.batch_norm(a, m, m.abs(), training=False)
o = functional.glu(torch.cat([a, b], 1), 1)
o = functional.mse_loss(a, b) + a
o = functional.smooth_l1_loss(a, b, reduction="none")
o = functional.huber_loss(a, b) * a
o = functional.cross_entropy(a, i[torch.arange(B) % i.shape[0]] % N) * b
o = functional.kl_div(a.log_softmax(1), b.softmax(1), reduction="batchmean") + a
o = functional.cosine_similarity(a, b, 1)[:, None] * a
""",
    "random": """
o = functional.dropout(a, 0.3)
o = functional.dropout(a, 0.5) + functional.dropout(a, 0.5)
o = a * torch.rand_like(a)
o = a + torch.randn(B, N) * 0.1
o = torch.bernoulli(torch.sigmoid(a)) * b
o = functional.rrelu(a, training=True)
o = functional.alpha_dropout(a, 0.2)
o = functional.feature_dropout(a.view(B, 4, N // 4), 0.3).reshape(B, N)
o = functional.gumbel_softmax(a, dim=1)
o = a[torch.randperm(B)]
o = a * torch.randint(0, 2, (B, 1))
o = functional.dropout(a.sin(), 0.4, inplace=True)
v = a.view(B, 2, 2, N // 4);
    o = functional.scaled_dot_product_attention(v, v, v, dropout_p=0.3).reshape(B, N)
v = torch.empty_like(a).uniform_(0.1, 0.9); o = a * v
v = a.sin(); v.add_(torch.rand(1)); o = v
o = b.gather(1, torch.multinomial(torch.softmax(a, 1), 2)).repeat(1, N // 2)
o = torch.normal(a, 0.1)
""",
    "custom": """
o = drop(a)
o = tagged_drop(a)
o = own_drop(a) + b
o = own_tagged_drop(a)
o = count(a)
o = count(a) * count(b)
o = double(a).sin()
o = pure_double(a).cos()
o = pure_drop(a)
v = both(a); o = v[0] * v[1]
v = both(a); o = v[1] + b
o = drop(a.detach()) * b
""",
    "dtype": """
o = (a.to(torch.bfloat16) @ w.to(torch.bfloat16)).to(torch.float32)
o = (a.double() * b).float()
o = a.half().sin().float()
o = (a > 0).to(torch.float32) * b
o = (a.to(torch.bfloat16).sin() * b).to(torch.float32)
o = torch.sum(a, 1, keepdim=True, dtype=torch.float64).float() * b
with torch.autocast("cpu", torch.bfloat16): v = functional.gelu(functional.linear(a, w, p))
    ¦ o = v.float()
with torch.autocast("cpu", torch.bfloat16): v = (a @ w).softmax(1) @ w ¦ o = v.float() + a
o = (a * 10).to(torch.int32).to(torch.float32) * b + a
o = a.to(torch.float8_e4m3fn).to(torch.float32) * b
""",
    "buffer": """
m.mul_(0.9).add_(a.detach().mean(0), alpha=0.1); o = a + m
o = a * m; m.mul_(0.5)
m.copy_(a.detach()[0]); o = a.sin() + m
n.add_(1); o = a / (1.0 + n)
o = functional.batch_norm(a, m, m2, p, p, training=True)
o = functional.batch_norm(a, m, m2, training=True) + m * b
v = m.clone(); m.add_(1.0); o = v * a + m
m[::2].add_(0.25); o = a * m.sin()
m.lerp_(b.detach().sum(0), 0.1); o = (m * a).cos()
n.add_(1); n.mul_(2); o = a * (n % 5)
with torch.no_grad(): m.add_(a.mean(0)) ¦ o = a + m
z.mul_(0.5); o = a * z
o = a + z; z[1:3].add_(b.detach()[1:3])
""",
}
"""Statements by their kind. ``;`` parts statements of a rule, ``¦`` those behind a block; a rule
goes on in indented lines."""


def rules(kind: str) -> list[str]:
    """The rules of a kind."""
    return RULES[kind].strip().replace("\n    ", " ").splitlines()


@dataclass(frozen=True)
class Statement:
    """A use of a rule: its text, and numbers that choose what it reads."""

    kind: str
    text: str
    picks: tuple[int, int, int, int, int, int]


@dataclass(frozen=True)
class Program:
    """A module and what a loop does with it.

    Attributes:
        statements: The statements of its forward pass.
        ending: What it returns, of :data:`ENDINGS`.
        loop: What the loop does in turn, of :data:`LOOPS`.
        rows: Rows of the batches.
        input_needs_gradient: True if the batch needs a gradient.
        frozen: True if every third parameter needs none.
        seed: Seed of parameters, batches and random numbers.
    """

    statements: tuple[Statement, ...]
    ending: str
    loop: str
    rows: tuple[int, ...]
    input_needs_gradient: bool
    frozen: bool
    seed: int

    def without(self, place: int) -> Program:
        """The program without one statement."""
        kept = self.statements[:place] + self.statements[place + 1 :]
        return replace(self, statements=kept)


ENDINGS = {
    "one": "last.square().mean()",
    "sum": "(last.sin() + other).mean()",
    "aux": "(last.square().mean(), other.detach())",
    "two": "(last.square().mean(), other.cos().mean())",
    "values": "(last.square().mean(), other)",
    "criterion": "functional.cross_entropy(last, i[torch.arange(B) % i.shape[0]] % N)",
}
LOOPS = ("step", "accumulate", "two forwards", "sizes", "evaluation", "optimizer")


def drawn(seed: int) -> Program:
    """The program of a seed."""
    source = random.Random(seed)
    kinds = list(RULES)
    favoured = source.sample(kinds, 4)
    statements = []
    for _ in range(source.randint(3, 14)):
        kind = source.choice(favoured if source.random() < 0.7 else kinds)
        text = source.choice(rules(kind))
        picks = tuple(source.randrange(1 << 16) for _ in range(6))
        statements.append(Statement(kind, text, picks))
    loop = source.choice(LOOPS)
    return Program(
        tuple(statements),
        source.choice(list(ENDINGS)),
        loop,
        (32, 20) if loop == "sizes" else (source.choice((16, 32, 64)),),
        source.random() < 0.2,
        source.random() < 0.2,
        seed,
    )


@dataclass
class Text:
    """The text of a program's forward pass, with the numbers of its parameters and buffers."""

    lines: list[str] = field(default_factory=list)
    matrices: int = 0
    vectors: int = 0
    buffers: int = 0


def written(program: Program) -> Text:
    """The forward pass of a program, as Python's text."""
    text = Text()
    text.lines += ["def forward(self, x, i, z):", "    B, N = x.shape[0], x.shape[1]"]
    values = ["x"]
    for place, statement in enumerate(program.statements):
        first, second, matrix, vector, buffer, _ = statement.picks
        # Late values are read more often than early ones.
        a = values[-1 - min(first % 8, first % len(values)) % len(values)]
        b = values[second % len(values)]
        names = {"a": a, "b": b, "o": f"o{place}", "v": f"v{place}", "b2": f"c{place}"}
        # A third of the time one that is there already.
        for key, number, letter in (("w", matrix, "matrices"), ("p", vector, "vectors")):
            count = getattr(text, letter)
            fresh = number % 3 or not count
            setattr(text, letter, count + bool(fresh))
            names[key] = f"self.{letter[0]}{count if fresh else number % count}"
        names["m"] = f"self.b{2 * (buffer % 2)}"
        names["m2"] = f"self.b{2 * (buffer % 2) + 1}"
        names["n"] = "self.counter"
        for block in statement.text.split("¦"):
            inside = block.strip().startswith("with ")
            head, _, rest = block.strip().partition(": ") if inside else ("", "", block.strip())
            if inside:
                text.lines.append(f"    {_named(head, names)}:")
            for part in rest.split(";"):
                indent = "        " if inside else "    "
                text.lines.append(indent + _named(part.strip(), names))
        values.append(f"o{place}")
    other = values[len(values) // 2]
    text.lines += [f"    last, other = {values[-1]}, {other}"]
    text.lines += [f"    return {ENDINGS[program.ending]}"]
    return text


def _named(part: str, names: dict[str, str]) -> str:
    return re.sub(
        r"(?<![\w.\"])([a-z]\d?)\b(?!\"|=(?!=))",
        lambda found: names.get(found[1], found[1]),
        part,
    )


class Drawn(nn.Module):
    """The module of a program."""

    def __init__(self, program: Program) -> None:
        super().__init__()
        text = written(program)
        self.text = "\n".join(text.lines)
        made = torch.Generator().manual_seed(program.seed)
        for kind, count, shape in (
            ("m", text.matrices, (WIDTH, WIDTH)),
            ("v", text.vectors, (WIDTH,)),
        ):
            for k in range(count):
                value = torch.randn(shape, generator=made) * 0.4
                needs = not (program.frozen and k % 3 == 2)
                self.register_parameter(f"{kind}{k}", nn.Parameter(value, requires_grad=needs))
        # The input goes through it, so that every step has a gradient.
        self.first = nn.Parameter(torch.randn(WIDTH, generator=made))
        for k in range(4):
            self.register_buffer(f"b{k}", torch.rand(WIDTH, generator=made) + 0.5)
        self.register_buffer("counter", torch.zeros((), dtype=torch.int64))
        space = {"torch": torch, "functional": functional, **CUSTOM}
        exec(compile(self.text, f"<program {program.seed}>", "exec"), space)
        self.run = space["forward"].__get__(self)

    def forward(self, x, i, z):
        return self.run(x * self.first, i, z)
