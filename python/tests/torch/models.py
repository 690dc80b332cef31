"""Small models of the kinds that people train, written for the tests; each returns its loss."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint


class Mlp(nn.Module):
    """Linear layers with GELU and dropout."""

    def __init__(self, width: int = 128, depth: int = 6, dropout: float = 0.1) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.dropout = dropout

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = F.dropout(F.gelu(layer(x)), self.dropout, self.training)
        return x.square().mean()


class Attention(nn.Module):
    """Causal attention: written out with dropout, or by the fused operator."""

    def __init__(self, width: int, heads: int, fused: bool, dropout: float) -> None:
        super().__init__()
        self.heads, self.fused, self.dropout = heads, fused, dropout
        self.into = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        parts = self.into(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        query, key, value = parts[0], parts[1], parts[2]
        if self.fused:
            mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        else:
            scores = query @ key.transpose(-2, -1) / (width // self.heads) ** 0.5
            mask = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
            weights = scores.masked_fill(~mask, float("-inf")).softmax(-1)
            mixed = F.dropout(weights, self.dropout, self.training) @ value
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class GptBlock(nn.Module):
    """Attention and feed forward, each past a norm, with dropout at their ends."""

    def __init__(self, width: int, heads: int, fused: bool, dropout: float) -> None:
        super().__init__()
        self.dropout = dropout
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.mixer = Attention(width, heads, fused, dropout)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        x = x + F.dropout(self.mixer(self.norms[0](x)), self.dropout, self.training)
        hidden = F.gelu(self.wide(self.norms[1](x)))
        return x + F.dropout(self.narrow(hidden), self.dropout, self.training)


class Gpt(nn.Module):
    """Decoder blocks with tied embedding, and cross entropy."""

    def __init__(
        self,
        fused: bool,
        dropout: float = 0.0,
        width: int = 64,
        depth: int = 2,
        words: int = 101,
        length: int = 32,
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.places = nn.Parameter(0.02 * torch.randn(length, width))
        self.blocks = nn.ModuleList(GptBlock(width, 4, fused, dropout) for _ in range(depth))

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens) + self.places[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        scores = x @ self.embedding.weight.t()
        return F.cross_entropy(scores[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())


def rotate(x: Tensor) -> Tensor:
    """Rotary embedding of the places (Su et al., 2021)."""
    half = x.shape[-1] // 2
    rates = 10000.0 ** (-torch.arange(half, device=x.device) / half)
    angle = torch.arange(x.shape[-2], device=x.device)[:, None] * rates
    first, second = x[..., :half], x[..., half:]
    cosine, sine = angle.cos(), angle.sin()
    return torch.cat((first * cosine - second * sine, first * sine + second * cosine), -1)


class LlamaBlock(nn.Module):
    """RMS norm, grouped queries with rotary embedding, gated feed forward."""

    def __init__(self, width: int = 64, heads: int = 4, groups: int = 2) -> None:
        super().__init__()
        self.heads, self.groups, size = heads, groups, width // heads
        self.first, self.second = nn.RMSNorm(width), nn.RMSNorm(width)
        self.query = nn.Linear(width, heads * size, bias=False)
        self.key = nn.Linear(width, groups * size, bias=False)
        self.value = nn.Linear(width, groups * size, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.gate = nn.Linear(width, 3 * width, bias=False)
        self.up = nn.Linear(width, 3 * width, bias=False)
        self.down = nn.Linear(3 * width, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        y = self.first(x)
        query = self.query(y).view(batch, length, self.heads, -1).transpose(1, 2)
        key = self.key(y).view(batch, length, self.groups, -1).transpose(1, 2)
        value = self.value(y).view(batch, length, self.groups, -1).transpose(1, 2)
        key = rotate(key).repeat_interleave(self.heads // self.groups, 1)
        value = value.repeat_interleave(self.heads // self.groups, 1)
        mixed = F.scaled_dot_product_attention(rotate(query), key, value, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        y = self.second(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    """Blocks of Llama's kind."""

    def __init__(self, depth: int = 2, width: int = 64) -> None:
        super().__init__()
        self.blocks = nn.Sequential(*(LlamaBlock(width) for _ in range(depth)))

    def forward(self, x: Tensor) -> Tensor:
        return self.blocks(x).square().mean()


class Residual(nn.Module):
    """Two convolutions with batch norm, ReLU in place, and a way past them."""

    def __init__(self, width: int, wide: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(width, wide, 3, stride, 1, bias=False)
        self.second = nn.Conv2d(wide, wide, 3, 1, 1, bias=False)
        self.norms = nn.ModuleList(nn.BatchNorm2d(wide) for _ in range(2))
        self.past = nn.Conv2d(width, wide, 1, stride) if stride > 1 else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu_(self.norms[0](self.first(x)))
        return F.relu_(self.norms[1](self.second(y)) + self.past(x))


class Bottleneck(nn.Module):
    """A convolution between two narrow ones, with batch norm, and a way past them."""

    def __init__(self, width: int, wide: int, stride: int) -> None:
        super().__init__()
        inner = wide // 4
        self.first = nn.Conv2d(width, inner, 1, bias=False)
        self.second = nn.Conv2d(inner, inner, 3, stride, 1, bias=False)
        self.third = nn.Conv2d(inner, wide, 1, bias=False)
        self.norms = nn.ModuleList(nn.BatchNorm2d(n) for n in (inner, inner, wide))
        alike = width == wide and stride == 1
        self.past = nn.Identity() if alike else nn.Conv2d(width, wide, 1, stride)

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu_(self.norms[0](self.first(x)))
        y = F.relu_(self.norms[1](self.second(y)))
        return F.relu_(self.norms[2](self.third(y)) + self.past(x))


SMALL_RESNET = ((16, 16, 1), (16, 32, 2), (32, 32, 1), (32, 64, 2))
"""Width before and after, and stride, of each block."""


class Resnet(nn.Module):
    """Residual blocks and a classifier."""

    def __init__(self, blocks=SMALL_RESNET, kind: type[nn.Module] = Residual) -> None:
        super().__init__()
        first, last = blocks[0][0], blocks[-1][1]
        self.stem = nn.Sequential(
            nn.Conv2d(3, first, 3, padding=1, bias=False),
            nn.BatchNorm2d(first),
            nn.ReLU(inplace=True),
        )
        self.blocks = nn.Sequential(*(kind(*block) for block in blocks))
        self.head = nn.Linear(last, 10)

    def forward(self, x: Tensor, classes: Tensor) -> Tensor:
        return F.cross_entropy(self.head(self.blocks(self.stem(x)).mean((2, 3))), classes)


class Unet(nn.Module):
    """Three levels down and up, with the way down joined to the way up."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.down = nn.ModuleList(
            nn.Conv2d(3 if k == 0 else width << k - 1, width << k, 3, padding=1) for k in range(3)
        )
        self.up = nn.ModuleList(
            nn.Conv2d((width << k + 1) + (width << k), width << k, 3, padding=1) for k in range(2)
        )
        self.last = nn.Conv2d(width, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        held = []
        for k, layer in enumerate(self.down):
            x = F.relu(layer(x if k == 0 else F.max_pool2d(x, 2)))
            held.append(x)
        for k in (1, 0):
            x = F.interpolate(x, scale_factor=2)
            x = F.relu(self.up[k](torch.cat((x, held[k]), 1)))
        return self.last(x).square().mean()


class Separable(nn.Module):
    """Blocks of MobileNet's kind: wider, a convolution of each channel by itself, narrower."""

    def __init__(self, width: int = 8, depth: int = 2) -> None:
        super().__init__()
        layers = [nn.Conv2d(3, width, 3, padding=1)]
        wide = 4 * width
        for _ in range(depth):
            layers += [nn.Conv2d(width, wide, 1), nn.BatchNorm2d(wide), nn.ReLU6(inplace=True)]
            layers += [nn.Conv2d(wide, wide, 3, padding=1, groups=wide), nn.BatchNorm2d(wide)]
            layers += [nn.ReLU6(inplace=True), nn.Conv2d(wide, width, 1), nn.BatchNorm2d(width)]
        self.layers = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x).square().mean()


class Vit(nn.Module):
    """Patches with a class token, and torch's own encoder layers."""

    def __init__(self, width: int = 64, depth: int = 2) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, 4, 4)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        layer = nn.TransformerEncoderLayer(
            width, 4, 2 * width, 0.1, batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.head = nn.Linear(width, 10)

    def forward(self, x: Tensor, classes: Tensor) -> Tensor:
        y = self.patches(x).flatten(2).transpose(1, 2)
        y = torch.cat((self.token.expand(y.shape[0], -1, -1), y), 1)
        return F.cross_entropy(self.head(self.encoder(y)[:, 0]), classes)


class LowRank(nn.Module):
    """Frozen layers with trained ones of low rank beside them."""

    def __init__(self, width: int = 128, depth: int = 5) -> None:
        super().__init__()
        self.frozen = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.frozen.requires_grad_(False)
        self.into = nn.ModuleList(nn.Linear(width, 4, bias=False) for _ in range(depth))
        self.out = nn.ModuleList(nn.Linear(4, width, bias=False) for _ in range(depth))

    def forward(self, x: Tensor) -> Tensor:
        for frozen, into, out in zip(self.frozen, self.into, self.out):
            x = F.gelu(frozen(x) + out(into(F.dropout(x, 0.1, self.training))))
        return x.square().mean()


class Recurrent(nn.Module):
    """A cell over eight places in time."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(32, 64)

    def forward(self, x: Tensor) -> Tensor:
        state = x.new_zeros(x.shape[1], 64)
        for part in x:
            state = self.cell(part, state)
        return state.square().mean()


class Checkpointed(nn.Module):
    """Blocks that the user has wrapped in checkpoint() already."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Linear(128, 128), nn.GELU(), nn.Dropout(0.1)) for _ in range(6)
        )

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False)
        return x.square().mean()


class Parts(nn.Module):
    """Operators with views and several outputs: embedding, split, sort, norms."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.norm = nn.Embedding(50, 64), nn.BatchNorm1d(64)
        self.linear = nn.Linear(64, 64)

    def forward(self, words: Tensor, wanted: Tensor) -> Tensor:
        x = self.linear(self.embedding(words)).flatten(0, 1)
        first, second = F.silu(self.norm(x)).chunk(2, 1)
        order = F.instance_norm(first.reshape(1, 32, -1)).sort(-1)[0].square().mean()
        return F.mse_loss(first * second.tanh(), wanted) + order


def labelled() -> tuple[Tensor, ...]:
    """A batch of small pictures with classes."""
    return (*pictures(), torch.randint(0, 10, (8,)))


def frozen() -> nn.Module:
    """An MLP of which every other layer is frozen."""
    model = Mlp()
    for layer in model.layers[::2]:
        layer.requires_grad_(False)
    return model


def tokens() -> tuple[Tensor, ...]:
    """A batch of words."""
    return (torch.randint(0, 101, (8, 32)),)


def pictures() -> tuple[Tensor, ...]:
    """A batch of small pictures."""
    return (torch.randn(8, 3, 32, 32),)


MODELS = {
    "mlp": (lambda: Mlp(dropout=0.0), lambda: (torch.randn(512, 128),), "60%"),
    "mlp dropout": (Mlp, lambda: (torch.randn(512, 128),), "60%"),
    "gpt dropout": (lambda: Gpt(False, 0.1), tokens, "65%"),
    "gpt fused": (lambda: Gpt(True), tokens, "70%"),
    "llama": (Llama, lambda: (torch.randn(8, 32, 64),), "60%"),
    "resnet": (Resnet, labelled, "70%"),
    "unet": (Unet, pictures, "80%"),
    "separable": (Separable, lambda: (torch.randn(4, 3, 16, 16),), "75%"),
    "vit": (Vit, labelled, "75%"),
    "low rank": (LowRank, lambda: (torch.randn(512, 128),), "75%"),
    "recurrent": (Recurrent, lambda: (torch.randn(8, 64, 32),), "85%"),
    "checkpointed": (Checkpointed, lambda: (torch.randn(512, 128),), "70%"),
    "parts": (Parts, lambda: (torch.randint(0, 50, (8, 64)), torch.randn(512, 32)), "85%"),
    "frozen": (frozen, lambda: (torch.randn(512, 128),), "70%"),
}
"""Model, batch and a budget that forces recomputation, by name."""
