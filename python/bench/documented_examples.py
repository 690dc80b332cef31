"""The examples of gurobipy-pandas's documentation, cell by cell as they are; the objective of each
is compared with that of HiGHS for the model that was built."""

from __future__ import annotations

import pathlib
import re
from typing import Any

import gurobipy
import highspy
import pytest
from suites import unpacked

SOURCE = "gurobipy-pandas==1.2.2"
NAMES = ("projects", "regression", "unit-commitment", "workforce")


def best(model: Any, folder: pathlib.Path) -> float:
    """Objective that HiGHS finds for a model."""
    path = folder / "model.mps"
    model.write(str(path))
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.readModel(str(path))
    highs.run()
    return float(highs.getInfo().objective_function_value)


@pytest.mark.parametrize("name", NAMES)
def test_example(name: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs the cells of one."""
    source = unpacked(SOURCE)
    if isinstance(source, str):
        pytest.skip(source)
    folder = source / "docs" / "source" / "examples"
    cells = re.findall(
        r"```\{code-cell\}[^\n]*\n(.*?)```", (folder / f"{name}.md").read_text(), re.S
    )
    assert len(cells) > 5
    monkeypatch.chdir(folder)
    space: dict[str, Any] = {"__name__": "__main__"}
    models: list[Any] = []
    optimize = gurobipy.Model.optimize

    def compared(model: Any, *arguments: Any) -> None:
        optimize(model, *arguments)
        models.append(model)
        expected = best(model, tmp_path)
        assert model.ObjVal == pytest.approx(expected, rel=1e-4, abs=1e-6)

    monkeypatch.setattr(gurobipy.Model, "optimize", compared)
    for number, cell in enumerate(cells):
        # Options of the page, and commands of the notebook.
        lines = [line for line in cell.splitlines() if not re.match(r":\w|%|!", line)]
        try:
            exec(compile("\n".join(lines), f"{name}[{number}]", "exec"), space)
        except ModuleNotFoundError as error:
            if models:
                break  # The rest draws pictures.
            pytest.skip(f"{error.name} is not installed")
    assert models
