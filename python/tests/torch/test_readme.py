"""The README's first example runs as it is printed, and its picture is drawn from its table."""

import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[3]
README = ROOT / "README.md"
pytestmark = pytest.mark.skipif(not README.is_file(), reason="the README is not here")


def test_the_first_example_keeps_its_budget(capsys):
    code = re.search(r"```python\n(.*?)```", README.read_text(), re.DOTALL)[1]
    names = {"__name__": "example"}
    exec(compile(code, "README.md", "exec"), names)
    report = names["step"].report
    assert report.predicted_bytes <= report.budget_bytes < report.instance.peak_memory_bytes
    assert report.plan.recomputed
    assert str(report) in capsys.readouterr().out


def test_the_bars_are_those_of_the_table():
    done = subprocess.run([sys.executable, ROOT / "scripts/readme", "--check"], check=False)
    assert done.returncode == 0
