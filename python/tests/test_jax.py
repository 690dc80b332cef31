"""Instances of JAX programs."""

import pytest

jax = pytest.importorskip("jax")
jnp = jax.numpy
rj = pytest.importorskip("remat_bb.jax")

import remat_bb  # noqa: E402

DEVICE = rj.Device(flops=1e9, bytes_per_second=1e9, launch_ns=0)


def array(*shape: int) -> object:
    return jax.ShapeDtypeStruct(shape, "float32")


def nodes(instance: remat_bb.Instance) -> dict[str, dict]:
    return {node["name"]: node for node in instance.to_dict()["nodes"]}


def mlp(weights: list, batch: object) -> object:
    for weight in weights:
        batch = jnp.tanh(batch @ weight)
    return jnp.sum(batch * batch)


def test_a_step_without_fusion_has_the_peak_of_its_program() -> None:
    weights, batch = [array(64, 64) for _ in range(4)], array(256, 64)
    instance = rj.export(jax.grad(mlp), weights, batch, fuse=False)
    jaxpr = jax.make_jaxpr(jax.grad(mlp))(weights, batch).jaxpr

    def size(variable: object) -> int:
        return variable.aval.size * variable.aval.dtype.itemsize

    views, free = {"transpose", "reshape"}, {"broadcast_in_dim", "copy"}
    alive = {v: v for v in jaxpr.invars}
    for equation in jaxpr.eqns:
        for out in equation.outvars:
            view = equation.primitive.name in views
            alive[out] = alive[equation.invars[0]] if view else out
    last = {}
    for k, equation in enumerate(jaxpr.eqns):
        for v in equation.invars:
            if not isinstance(v, jax.extend.core.Literal):
                last[alive[v]] = k
    last.update({alive[v]: len(jaxpr.eqns) for v in jaxpr.outvars})
    fixed = sum(map(size, jaxpr.invars))
    held, most = set(), 0
    for k, equation in enumerate(jaxpr.eqns):
        name = equation.primitive.name
        made = () if name in views | free else equation.outvars
        # Gradients of nothing are no values.
        held |= {v for v in made if v in last}
        most = max(most, sum(map(size, held)))
        held = {v for v in held if last[v] > k}
    assert instance.peak_memory_bytes == fixed + most


def test_what_one_operation_reads_is_computed_in_it() -> None:
    def chain(x: object) -> object:
        return jnp.sum(jnp.exp(jnp.sin(x) * 2 + jnp.ones((1, 8))))

    instance = rj.export(chain, array(16, 8), device=DEVICE)
    assert [n["op"].split()[0] for n in nodes(instance).values()] == ["reduce_sum", "end"]
    apart = rj.export(chain, array(16, 8), fuse=False)
    assert [n["op"].split()[0] for n in nodes(apart).values()] == [
        *("sin", "mul", "add", "exp", "reduce_sum", "end")
    ]

    def twice(x: object) -> object:
        y = jnp.sin(x)
        return jnp.sum(y @ y)

    assert "sin.1" in nodes(rj.export(twice, array(8, 8)))


def test_costs_follow_products_and_traffic() -> None:
    instance = rj.export(lambda a, b: a @ b, array(32, 64), array(64, 16), device=DEVICE)
    product = nodes(instance)["dot_general.1"]
    assert product["cost"] == 2 * 32 * 64 * 16
    copied = rj.export(lambda a: a + 1.0, array(1024), device=DEVICE)
    assert nodes(copied)["add.1"]["cost"] == 2 * 4 * 1024


def test_calls_are_opened_and_loops_are_one_operation() -> None:
    @jax.jit
    def inner(x: object) -> object:
        return jnp.sin(x)

    def step(x: object, weights: object) -> object:
        x = jax.checkpoint(lambda v: jnp.cos(inner(v)))(x)
        return jax.lax.scan(lambda c, w: (jnp.tanh(c @ w), None), x, weights)[0]

    found = nodes(rj.export(step, array(8, 8), array(5, 8, 8), device=DEVICE))
    assert list(found) == ["cos.1", "scan.1", "end"]
    # Five products, and the hyperbolic tangent of each.
    work = 5 * (2 * 8**3 + 8 * 8)
    assert found["scan.1"]["cost"] == work
    assert found["scan.1"]["workspace_bytes"] == 2 * 4 * 8 * 8


def test_a_plan_names_the_lines_of_the_source() -> None:
    instance = rj.export(jax.grad(mlp), [array(64, 64) for _ in range(12)], array(1024, 64))
    plan = remat_bb.solve(instance, "60%")
    assert plan.peak_memory_bytes <= 0.6 * instance.peak_memory_bytes
    assert plan.recomputed
    ops = {node["op"] for node in instance.to_dict()["nodes"]}
    assert any("test_jax.py" in op for op in ops)


def test_effects_happen_once() -> None:
    def step(x: object) -> object:
        y = jnp.sin(x)
        jax.debug.callback(lambda v: None, y)
        return y * 2

    found = nodes(rj.export(step, array(8)))
    (told,) = [n for n in found.values() if n["op"].startswith("debug_callback")]
    assert told["recompute"] is False
