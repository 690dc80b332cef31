"""Lists of Megatron's recompute_modules from shapes."""

import pytest

import remat_bb
from remat_bb.megatron import Model, best_list, program

MIB = 2**20
QWEN = dict(
    layers=12,
    hidden=2048,
    heads=32,
    kv_heads=4,
    head_width=128,
    experts=128,
    top_k=8,
    moe_ffn=768,
    tokens=4096,
    sequence=4096,
    in_flight=4,
)
"""Twelve layers of Qwen3-30B-A3B."""
LLAMA = dict(layers=8, hidden=4096, heads=32, kv_heads=8, ffn=14336, tokens=4096, sequence=4096)
DEEPSEEK = dict(
    layers=4,
    hidden=7168,
    heads=128,
    head_width=192,
    q_rank=1536,
    kv_rank=512,
    ffn=2048,
    experts=256,
    top_k=8,
    moe_ffn=2048,
    tokens=1024,
    sequence=1024,
)


def alone(plan):
    return {each.modules[0]: each for each in plan.all if len(each.modules) == 1}


def test_the_activation_of_experts_pays_and_attention_does_not():
    found = alone(best_list(Model(**QWEN), "200GiB"))
    assert set(found) == {"core_attn", "layernorm", "moe_act", "moe"}
    # All saved activations of experts go, except the one that is made again.
    act = 4096 * 8 * 768 * 2
    assert found["moe_act"].saved_bytes == (12 * 4 - 1) * act
    attention = found["core_attn"]
    assert attention.overhead > 3 * found["moe_act"].overhead
    assert attention.saved_bytes < found["moe_act"].saved_bytes / 50
    # Both norms of all layers and batches, without one of each kind.
    norms = 2 * 4096 * 2048 * 2
    assert 0.9 * 12 * 4 * norms < found["layernorm"].saved_bytes <= 12 * 4 * norms


@pytest.mark.parametrize("shape", [QWEN, LLAMA, DEEPSEEK])
def test_the_best_list_is_the_cheapest_that_fits(shape):
    model = Model(**shape)
    everything = best_list(model, "4TiB")
    assert everything.recompute_modules == () and everything.arguments == []
    assert len(everything.all) == 2 ** len(model.modules())
    peaks = sorted({each.peak_memory_bytes for each in everything.all})
    for budget in (peaks[0], peaks[len(peaks) // 2], peaks[-2]):
        plan = best_list(model, budget)
        instance = program(model, plan.recompute_modules)
        cost = sum(node["cost"] for node in instance.to_dict()["nodes"])
        assert (instance.peak_memory_bytes, cost) == (plan.best.peak_memory_bytes, plan.best.cost)
        fitting = [each.cost for each in everything.all if each.peak_memory_bytes <= budget]
        assert plan.best.cost == min(fitting) and plan.best.peak_memory_bytes <= budget
    with pytest.raises(remat_bb.InfeasibleBudget, match="no list of recompute_modules") as error:
        best_list(model, peaks[0] - 1)
    assert error.value.needed_bytes == peaks[0]


def test_a_free_plan_is_never_more_expensive_than_a_list():
    model = Model(**{**LLAMA, "layers": 3})
    plain = program(model, ())
    for each in best_list(model, "4TiB").all:
        free = remat_bb.solve(plain, each.peak_memory_bytes, time_limit=2)
        assert free.bound <= each.cost


def test_what_is_computed_again():
    def again(*modules):
        nodes = program(Model(**{**DEEPSEEK, "layers": 1}), modules).to_dict()["nodes"]
        return {n["name"].split(".", 3)[3] for n in nodes if n["name"].startswith("again.")} - {
            "context.aside"
        }

    assert again() == set()
    assert again("layernorm") == {"norm1", "norm2"}
    assert again("moe_act") == {"experts.act"}
    assert again("mla_up_proj") == {"qkv"}
    assert again("core_attn") == {"context"}
    assert again("shared_experts") == {"dense.up", "dense.act"}
    assert again("moe") == {"sent", "experts.up", "experts.act"}


def test_errors():
    with pytest.raises(remat_bb.InvalidArgument, match="no module 'moe_act'") as error:
        program(Model(**LLAMA), ["moe_act"])
    assert "core_attn, layernorm, mlp" in error.value.remedy
    with pytest.raises(remat_bb.InvalidArgument, match="ffn"):
        Model(layers=1, hidden=8, heads=1, tokens=1, sequence=1)
    with pytest.raises(remat_bb.InvalidArgument, match="top_k"):
        Model(layers=1, hidden=8, heads=1, tokens=1, sequence=1, experts=4)
    for name, value in (
        ("layers", 0),
        ("layers", 1.5),
        ("in_flight", "4"),
        ("tensor_parallel", 0),
        ("tensor_parallel", 3),
        ("kv_heads", 5),
        ("vocabulary", -1),
    ):
        with pytest.raises(remat_bb.InvalidArgument, match=f"{name}: "):
            Model(**{**LLAMA, name: value})
    with pytest.raises(remat_bb.InvalidArgument, match="top_k: 200"):
        Model(**{**QWEN, "top_k": 200})
    with pytest.raises(remat_bb.RematError, match="device: 'h100'"):
        best_list(Model(**LLAMA), "30GiB", device="h100")
    with pytest.raises(remat_bb.InvalidBudget, match="80%"):
        best_list(Model(**LLAMA), "80%")
