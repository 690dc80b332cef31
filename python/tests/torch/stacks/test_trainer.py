"""The Trainer of transformers with one changed line: accumulation, checkpointing that is on, LoRA,
autocast, and models of other kinds."""

# ruff: noqa: E402

import warnings

import pytest
import torch

pytest.importorskip("transformers", reason="transformers is not installed")
pytest.importorskip("accelerate", reason="accelerate is not installed")

from hugging import equal, llama, trained

import remat_bb.torch as rt

OPTIONS = {"costs": "roofline", "time_limit": 2.0}


def planned(model, folder, budget="70%", **options):
    handle = rt.attach(model, budget=budget, **OPTIONS)
    with warnings.catch_warnings():
        # The loss is part of the plan, so no warning says otherwise.
        warnings.filterwarnings("error", "the compiled part returns")
        return trained(model, folder, **options), handle


def test_ten_steps(tmp_path):
    found, handle = planned(llama(), tmp_path)
    assert equal(found, trained(llama(), tmp_path)) and len(found[0]) == 10
    (report,) = handle.reports
    assert report.plan.recomputed and report.measured_bytes <= report.budget_bytes
    assert report.measured_bytes == pytest.approx(report.predicted_bytes, rel=5e-3)


def test_accumulation_over_checkpoints_of_the_model(tmp_path):
    options = {"steps": 3, "gradient_accumulation_steps": 2}
    model = llama()
    model.gradient_checkpointing_enable()
    found, handle = planned(model, tmp_path, "1.5MiB", **options)
    twin = llama()
    twin.gradient_checkpointing_enable()
    assert equal(found, trained(twin, tmp_path, **options))
    first, second = handle.reports
    assert first.marked > 0 and not first.accumulated_bytes
    assert second.accumulated_bytes == sum(p.nbytes for p in model.parameters())
    assert "marks of torch.utils.checkpoint are replaced by the plan" in str(second)
    for report in handle.reports:
        assert report.measured_bytes <= report.budget_bytes


def test_lora(tmp_path):
    peft = pytest.importorskip("peft", reason="peft is not installed")

    def adapted():
        config = peft.LoraConfig(
            r=4, target_modules=["q_proj", "v_proj"], lora_dropout=0.1, task_type="CAUSAL_LM"
        )
        model = llama()
        torch.manual_seed(3)
        return peft.get_peft_model(model, config)

    found, handle = planned(adapted(), tmp_path, steps=3)
    assert equal(found, trained(adapted(), tmp_path, steps=3))
    assert handle.report.plan.recomputed and len(found[1][0]) == 2 * 2 * 2
    assert handle.report.measured_bytes <= handle.report.budget_bytes


def test_autocast(tmp_path):
    # AOTAutograd's operators differ from eager mode in some bits of bfloat16, plan or not.
    found, handle = planned(llama(), tmp_path, steps=3, bf16=True)
    unplanned = llama()
    unplanned.compile(backend="aot_eager", dynamic=False)
    assert equal(found, trained(unplanned, tmp_path, steps=3, bf16=True))
    assert handle.report.plan.recomputed
    assert handle.report.measured_bytes <= handle.report.budget_bytes
