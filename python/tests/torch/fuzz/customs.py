"""Custom operators of the fuzz: random ones, with hidden state, declared as pure, with two
results."""

import torch

import remat_bb.torch as rt

SEEDED = torch.Tag.nondeterministic_seeded


class Hidden:
    """State of operators that no graph shows."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begins anew."""
        self.count = 0
        self.generator = torch.Generator().manual_seed(1)

    def state(self) -> tuple[int, bytes]:
        """The state, to be compared."""
        return self.count, bytes(self.generator.get_state().numpy())


HIDDEN = Hidden()


def _drop(x: torch.Tensor) -> torch.Tensor:
    return x * (torch.rand_like(x) > 0.3)


def _own_drop(x: torch.Tensor) -> torch.Tensor:
    return x * (torch.rand(x.shape, generator=HIDDEN.generator) > 0.3).to(x.dtype)


def _count(x: torch.Tensor) -> torch.Tensor:
    HIDDEN.count += 1
    return x * (1.0 + (HIDDEN.count % 7) / 8)


def _double(x: torch.Tensor) -> torch.Tensor:
    return 2.0 * x


def _both(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x.sin(), x.cos()


def _add(name: str, run, tags=(), declared: bool = False):
    made = torch.library.custom_op(f"remat_fuzz::{name}", run, mutates_args=(), tags=tags)
    made.register_fake(lambda x: torch.empty_like(x))
    made.register_autograd(
        lambda ctx, gradient: gradient * (ctx.saved_tensors[0] != 0),
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(output),
    )
    return rt.pure(made) if declared else made


drop = _add("drop", _drop)
tagged_drop = _add("tagged_drop", _drop, (SEEDED,))
own_drop = _add("own_drop", _own_drop)
own_tagged_drop = _add("own_tagged_drop", _own_drop, (SEEDED,))
count = _add("count", _count)
double = _add("double", _double)
pure_double = _add("pure_double", _double, declared=True)
pure_drop = _add("pure_drop", _drop, (SEEDED,), declared=True)

both = torch.library.custom_op("remat_fuzz::both", _both, mutates_args=())
both.register_fake(lambda x: (torch.empty_like(x), torch.empty_like(x)))
both.register_autograd(
    lambda ctx, a, b: a * ctx.saved_tensors[1] - b * ctx.saved_tensors[0],
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*output),
)
rt.pure(both)

CUSTOM = {
    name: globals()[name]
    for name in "drop tagged_drop own_drop own_tagged_drop count double pure_double pure_drop "
    "both".split()
}
"""The operators, by the name that programs call them by."""
