"""The README's first example runs as it is printed, and its picture is drawn from its table."""

import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[3]
README = ROOT / "README.md"
pytestmark = pytest.mark.skipif(not README.is_file(), reason="the README is not here")


JUDGED = """
report = step.report
assert report.predicted_bytes <= report.budget_bytes < report.instance.peak_memory_bytes
assert report.plan.recomputed
"""


def test_the_first_example_keeps_its_budget(tmp_path):
    code = re.search(r"```python\n(.*?)```", README.read_text(), re.DOTALL)[1]
    (tmp_path / "example.py").write_text(code + JUDGED)
    command = [sys.executable, "example.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "operators computed again" in done.stdout


def test_the_bars_are_those_of_the_table():
    done = subprocess.run([sys.executable, ROOT / "scripts/readme", "--check"], check=False)
    assert done.returncode == 0
