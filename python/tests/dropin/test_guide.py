"""Examples of the guide and of the modules' documentation."""

import doctest
import importlib
import pathlib
import re

import pytest

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "drop-in.md"


def snippets() -> list[str]:
    """Python code of the guide."""
    if not PAGE.exists():
        return []
    return re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)


@pytest.mark.parametrize("code", snippets())
def test_the_guide_runs_as_it_is_printed(code: str) -> None:
    for package in re.findall(r"^(?:import|from) (\w+)", code, re.M):
        pytest.importorskip(package)
    exec(compile(code, str(PAGE), "exec"), {"__name__": "guide"})


@pytest.mark.parametrize("name", ["pulp", "cvxpy", "scipy", "pyomo", "highs"])
def test_examples_in_docstrings(name: str) -> None:
    if name != "highs":
        pytest.importorskip("pyomo" if name == "pyomo" else name)
    found = doctest.testmod(importlib.import_module(f"remat_bb.{name}"))
    assert found.attempted >= 2 and found.failed == 0
