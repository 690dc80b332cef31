"""Steps with and without a plan, compared in every bit."""

import copy

import torch


class Outcome:
    """Loss, gradients and buffers of a model after a step."""

    def __init__(self, model, loss) -> None:
        self.loss = loss.detach().clone()
        self.gradients = {
            name: None if p.grad is None else p.grad.clone() for name, p in model.named_parameters()
        }
        self.buffers = {name: b.clone() for name, b in model.named_buffers()}

    def differences(self, other: "Outcome") -> list[str]:
        """Names of what is not the same in every bit."""
        found = [] if torch.equal(self.loss, other.loss) else ["loss"]
        for mine, theirs in ((self.gradients, other.gradients), (self.buffers, other.buffers)):
            assert mine.keys() == theirs.keys()
            for name, value in mine.items():
                same = value is None and theirs[name] is None
                if not same and not (
                    value is not None
                    and theirs[name] is not None
                    and torch.equal(value, theirs[name])
                ):
                    found.append(name)
        return found


def eager_step(model, batch, seed: int = 7) -> Outcome:
    """A step of a copy of the model, without recomputation."""
    twin = copy.deepcopy(model)
    torch.manual_seed(seed)
    loss = twin(*batch)
    loss.backward()
    return Outcome(twin, loss)


def planned_step(model, step, batch, seed: int = 7) -> Outcome:
    """A step of the model itself, as it was compiled."""
    torch.manual_seed(seed)
    loss = step(*batch)
    loss.backward()
    return Outcome(model, loss)
