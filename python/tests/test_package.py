"""The package as such: types, docstrings, the guide and errors."""

import ast
import doctest
import importlib.util
import inspect
import pickle
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import remat_bb
from remat_bb import _native, errors

HERE = Path(remat_bb.__file__).parent
ROOT = Path(__file__).resolve().parent.parent.parent
FILES = ("_native.pyi", "_modelling.pyi", "_programs.pyi")
STUBS = [ast.parse((HERE / name).read_text()) for name in FILES]
STUB = [entry for stub in STUBS for entry in stub.body]


def documented():
    """Names of the native module with their docstrings in the stub."""
    for entry in STUB:
        if isinstance(entry, ast.ClassDef):
            yield entry.name, entry
            for member in entry.body:
                if isinstance(member, ast.FunctionDef) and not member.name.startswith("__"):
                    yield f"{entry.name}.{member.name}", member
        elif isinstance(entry, ast.FunctionDef):
            yield entry.name, entry


def test_the_stub_is_that_of_the_module():
    names = {name.split(".")[0] for name, _ in documented()} | {"__version__"}
    assert names == {
        name for name in dir(_native) if not name.startswith("__") or name == "__version__"
    }
    for name, entry in documented():
        found = _native
        for part in name.split("."):
            found = getattr(found, part)
        member = name.split(".")[-1]
        assert inspect.getdoc(found) or member.startswith("_") or member == "instance", (
            f"{name} has no docstring"
        )


def test_everything_public_has_a_docstring():
    for name in remat_bb.__all__:
        if name != "__version__":
            assert inspect.getdoc(getattr(remat_bb, name)), name
    assert (HERE / "py.typed").exists()


def test_types_check(tmp_path, monkeypatch):
    """The package by itself, and a user's program with one mistake."""
    mypy = pytest.importorskip("mypy.api")
    monkeypatch.chdir(tmp_path)
    # mypy takes no files out of an environment's packages. What needs others is checked with them.
    importers = [f"{word}.py" for word in ("jax", "onnx") if not importlib.util.find_spec(word)]
    # Modules for packages without types are not checked strictly, but in tests/dropin.
    importers += ["pulp.py", "cvxpy.py", "scipy.py", "pyomo.py", "_shadow"]
    importers += [] if importlib.util.find_spec("torch") else ["torch"]
    left_out = shutil.ignore_patterns("*.so", "__pycache__", *importers)
    shutil.copytree(HERE, "remat_bb", ignore=left_out)
    user = tmp_path / "user.py"
    user.write_text(
        "import remat_bb\n"
        "plan = remat_bb.solve('zoo:vgg16', '60%', on_progress=lambda look: print(look.gap))\n"
        "bound: int | None = plan.bound\n"
        "point: remat_bb.FrontierPoint = remat_bb.frontier(plan.instance, '40%..80%:3')[0]\n"
        "wrong: str = plan.objective\n"
    )
    (tmp_path / "mypy.ini").write_text(
        # torch's own types are those of every possible graph: its values are taken as they are.
        "[mypy]\nstrict = True\n"
        "[mypy-torch.*]\nfollow_imports = skip\nignore_missing_imports = True\n"
        "[mypy-scipy.*]\nignore_missing_imports = True\n"
        "[mypy-remat_bb.torch.*,remat_bb.gurobi.*]\ndisallow_subclassing_any = False\n"
        "warn_return_any = False\nwarn_unused_ignores = False\n"
        "disallow_untyped_decorators = False\n"
    )
    said, _, _ = mypy.run(["--cache-dir", "cache", "user.py", "remat_bb"])
    problems = [line for line in said.splitlines() if ": error:" in line]
    assert len(problems) == 1 and re.search(r"user.py:5: error: Incompatible types", problems[0]), (
        said
    )


def test_errors_keep_their_words_when_pickled(chain):
    with pytest.raises(remat_bb.InfeasibleBudget) as caught:
        remat_bb.solve(chain, 10)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value) and again.needed_bytes == caught.value.needed_bytes
    for name in remat_bb.__all__:
        found = getattr(remat_bb, name)
        if inspect.isclass(found) and issubclass(found, BaseException):
            assert issubclass(found, errors.RematError)


def test_examples_in_docstrings():
    found = doctest.testmod(remat_bb)
    assert found.attempted >= 4 and found.failed == 0


def snippets(page: Path) -> list[tuple[int, str]]:
    """Python code of a page, with the line that it begins at."""
    if not page.exists():
        return []
    text = page.read_text()
    return [
        (text[: match.start()].count("\n") + 2, match.group(1))
        for match in re.finditer(r"^```python\n(.*?)^```", text, re.M | re.S)
    ]


def test_the_guide_runs_as_it_is_printed(tmp_path, monkeypatch):
    """Examples with `>>>` show what they print, others run; all in one go, in a fresh folder."""
    guide = snippets(ROOT / "docs" / "reference" / "python.md")
    if not guide:
        pytest.skip("the guide is not there: the tests run apart from the repository")
    monkeypatch.chdir(tmp_path)
    names: dict = {"__name__": "guide"}
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    told = 0
    for line, code in guide:
        if ">>>" in code:
            test = doctest.DocTestParser().get_doctest(
                code, names, f"line {line}", "docs/reference/python.md", line
            )
            runner.run(test, clear_globs=False)
            names.update(test.globs)
            told += len(test.examples)
        else:
            exec(compile(code, f"docs/reference/python.md:{line}", "exec"), names)
    assert runner.summarize().failed == 0
    assert len(guide) > 5 and told > 10


@pytest.mark.parametrize("name", ["python/README.md", "README.md"])
def test_first_examples_run_as_they_are_printed(name, tmp_path, monkeypatch, capsys):
    """Each example in a fresh folder; those of torch run in their own tests."""
    code = [(line, code) for line, code in snippets(ROOT / name) if "import torch" not in code]
    if not code:
        pytest.skip(f"{name} is not there: the tests run apart from the repository")
    monkeypatch.chdir(tmp_path)
    for line, text in code:
        exec(compile(text, f"{name}:{line}", "exec"), {"__name__": "example"})
    assert "computed again" in capsys.readouterr().out


def test_importing_takes_nothing_else():
    code = """
import sys, remat_bb
print([name for name in ("networkx", "tqdm", "numpy", "torch") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "[]\n", done.stderr
