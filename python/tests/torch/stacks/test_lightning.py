"""Lightning: ``training_step`` is planned in place, its logs run after the step."""

# ruff: noqa: E402

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

lightning = pytest.importorskip("lightning", reason="lightning is not installed")

import remat_bb.torch as rt


class Lit(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.net = nn.Sequential(
            *(nn.Sequential(nn.Linear(64, 64), nn.GELU()) for _ in range(6)),
            nn.Dropout(0.1),
            nn.Linear(64, 1),
        )
        self.losses, self.gradients, self.validated = [], [], 0

    def training_step(self, batch, number):
        x, y = batch
        predicted = self.net(x)
        loss = nn.functional.mse_loss(predicted, y)
        self.log("train_loss", loss, on_step=True)
        self.log_dict({"twice": 2 * loss, "mean": predicted.mean()})
        return {"loss": loss, "predicted": predicted}

    def validation_step(self, batch, number):
        self.validated += 1
        self.log("val_loss", nn.functional.mse_loss(self.net(batch[0]), batch[1]))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

    def on_before_optimizer_step(self, optimizer):
        self.gradients.append([p.grad.clone() for p in self.parameters()])

    def on_train_batch_end(self, outputs, batch, number):
        metrics = self.trainer.callback_metrics
        self.losses.append(
            [outputs["loss"].item()] + [float(metrics[n]) for n in ("twice", "mean")]
        )


def fitted(model, folder, **options):
    lightning.seed_everything(1)
    data = TensorDataset(torch.randn(2560, 64), torch.randn(2560, 1))
    trainer = lightning.Trainer(
        max_steps=options.pop("max_steps", 10),
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=folder,
        **options,
    )
    trainer.fit(model, DataLoader(data, batch_size=256), DataLoader(data, batch_size=512))
    return model


def test_ten_steps_with_logs_and_validation(tmp_path):
    model = Lit()
    handle = rt.attach(model, budget=700_000, costs="roofline", accumulate=True)
    found, expected = fitted(model, tmp_path), fitted(Lit(), tmp_path)
    assert found.losses == expected.losses and len(found.losses) == 10
    assert found.validated == expected.validated > 0
    for mine, theirs in zip(found.gradients, expected.gradients, strict=True):
        assert all(map(torch.equal, mine, theirs))
    (report,) = handle.reports
    assert report.plan.recomputed and report.measured_bytes <= report.budget_bytes
    assert "log" not in vars(model)


def test_accumulation(tmp_path):
    options = {"max_steps": 3, "accumulate_grad_batches": 2}
    model = Lit()
    rt.attach(model, budget=700_000, costs="roofline", accumulate=True)
    found, expected = fitted(model, tmp_path, **options), fitted(Lit(), tmp_path, **options)
    assert found.losses == expected.losses and len(found.losses) == 6
    for mine, theirs in zip(found.gradients, expected.gradients, strict=True):
        assert all(map(torch.equal, mine, theirs))
