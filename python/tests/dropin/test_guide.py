"""Examples of the guide and of the modules' documentation."""

import doctest
import importlib
import pathlib
import re

import pytest

GUIDE = pathlib.Path(__file__).resolve().parents[3] / "docs/guides/drop-in"


def snippets() -> list[str]:
    """Python code of the pages of the guide."""
    texts = [page.read_text() for page in sorted(GUIDE.glob("*.md"))]
    return [
        code for text in texts for code in re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    ]


@pytest.mark.parametrize("code", snippets())
def test_the_guide_runs_as_it_is_printed(code: str) -> None:
    for package in re.findall(r"^(?:import|from) (\w+)", code, re.M):
        pytest.importorskip(package)
    exec(compile(code, str(GUIDE), "exec"), {"__name__": "guide"})


@pytest.mark.parametrize("name", ["pulp", "cvxpy", "scipy", "pyomo", "highs"])
def test_examples_in_docstrings(name: str) -> None:
    if name != "highs":
        pytest.importorskip("pyomo" if name == "pyomo" else name)
    found = doctest.testmod(importlib.import_module(f"remat_bb.{name}"))
    assert found.attempted >= 2 and found.failed == 0
