"""Prices of memory at the moments of a plan."""

import pytest

import remat_bb


def test_prices_are_rates_of_the_bound():
    instance = remat_bb.Instance.zoo("unet?batch=2")
    plan = remat_bb.solve(instance, budget="60%", gap=0.01)
    prices = plan.prices()
    assert prices and all(price > 0 for _, price in prices)
    assert all(0 <= at < len(plan.order) for at, _ in prices)
    rate = sum(price for _, price in prices)
    more = plan.budget_bytes // 25
    larger = remat_bb.solve(instance, budget=plan.budget_bytes + more, gap=0.001)
    # Duals of the relaxation at the smaller budget.
    assert larger.bound == pytest.approx(plan.bound - rate * more, rel=0.01)
    assert plan.prices(budget=plan.plain_peak_memory_bytes) == []
