"""Ways to switch remat-bb on: install, the runner, the variable, the shadow folder, the suites."""

import importlib.metadata
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import remat_bb
from remat_bb import _dropin, shadow

HERE = pathlib.Path(remat_bb.__file__).parent
ROOT = pathlib.Path(__file__).resolve().parents[3]
PTH = ROOT / "python" / "startup" / "purelib" / "remat_bb_dropin.pth"


def python(*arguments: str, cwd=None, **environment: str) -> subprocess.CompletedProcess:
    """Runs Python with the package on its path."""
    path = os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])
    inherited = {k: v for k, v in os.environ.items() if k != "REMAT_BB_DROPIN"}
    return subprocess.run(
        [sys.executable, *arguments],
        env={**inherited, "PYTHONPATH": path, **environment},
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
    )


def said(code: str, **environment: str) -> str:
    done = python("-W", "ignore", "-c", code, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_packages_are_patched_when_they_are_imported() -> None:
    pytest.importorskip("scipy")
    code = (
        "import sys, remat_bb\n"
        "remat_bb.install('scipy', pulp=True)\n"
        "assert 'scipy' not in sys.modules and 'pulp' not in sys.modules\n"
        "import scipy.optimize\n"
        "from scipy.optimize import milp\n"
        "print(milp.__module__, scipy.optimize.__spec__.name)\n"
        "remat_bb.uninstall('scipy')\n"
        "print(scipy.optimize.milp.__module__)\n"
        "remat_bb.install(scipy=True)\n"
        "print(scipy.optimize.linprog.__module__)\n"
    )
    lines = said(code).split()
    assert lines[:2] == ["remat_bb.scipy", "scipy.optimize"]
    assert lines[2].startswith("scipy.") and lines[3] == "remat_bb.scipy"


def test_names_are_checked_and_missing_packages_are_not_missed() -> None:
    with pytest.raises(remat_bb.InvalidArgument, match="'spam' is none of pulp"):
        remat_bb.install("spam")
    with pytest.raises(remat_bb.InvalidArgument, match="'spam' is none of pulp"):
        remat_bb.uninstall("spam")
    code = (
        "import sys, remat_bb\n"
        "from remat_bb import _dropin\n"
        "_dropin.HOMES['pulp'] = 'no_such_module'\n"
        "remat_bb.install()\n"
        "try:\n"
        "    import no_such_module\n"
        "except ModuleNotFoundError as error:\n"
        "    print(error.name)\n"
    )
    assert said(code) == "no_such_module"


def fake_shim() -> str:
    """Code that puts a module in the place of the shim for gurobipy."""
    return (
        "import sys, types, importlib.machinery, remat_bb\n"
        "fake = types.ModuleType('remat_bb.gurobi')\n"
        "fake.__spec__ = importlib.machinery.ModuleSpec('remat_bb.gurobi', None)\n"
        "sys.modules['remat_bb.gurobi'] = remat_bb.gurobi = fake\n"
    )


def test_gurobipy_is_the_shim() -> None:
    code = fake_shim() + (
        "remat_bb.install('gurobi')\n"
        "import gurobipy as gp\n"
        "assert gp is fake and sys.modules['gurobipy'] is fake\n"
        "remat_bb.uninstall('gurobi')\n"
        "assert 'gurobipy' not in sys.modules\n"
        "print('ok')\n"
    )
    assert said(code) == "ok"


def test_the_shadow_folder_has_a_gurobipy() -> None:
    done = python("-m", "remat_bb.shadow")
    folder = done.stdout.strip()
    assert done.returncode == 0 and folder == str(shadow.folder())
    code = fake_shim() + "import gurobipy\nassert gurobipy is fake\nprint('ok')\n"
    path = os.pathsep.join([folder, str(HERE.parent)])
    assert said(code, PYTHONPATH=path) == "ok"
    if _dropin.has_shim():
        code = "import gurobipy, remat_bb.gurobi\nprint(gurobipy is remat_bb.gurobi)"
        assert said(code, PYTHONPATH=path) == "True"


def test_the_runner_runs_scripts_and_modules(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("scipy")
    text = (
        "import os, sys\n"
        "from scipy.optimize import milp\n"
        "print(__name__, milp.__module__, sys.argv[1:], os.environ['REMAT_BB_DROPIN'])\n"
    )
    (tmp_path / "tool.py").write_text(text)
    for how in (["tool.py"], ["-m", "tool"]):
        done = python("-m", "remat_bb.run", "--scipy", *how, "--flag", "7", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip() == "__main__ remat_bb.scipy ['--flag', '7'] scipy"
    for wrong in ([], ["--spam", "tool.py"]):
        done = python("-m", "remat_bb.run", *wrong, cwd=tmp_path)
        assert done.returncode == 2 and "usage:" in done.stderr
    (tmp_path / "tool.py").write_text("raise SystemExit(5)\n")
    assert python("-m", "remat_bb.run", "tool.py", cwd=tmp_path).returncode == 5


@pytest.mark.skipif(not PTH.exists(), reason="the tests run apart from the repository")
def test_the_variable_switches_it_on_at_the_start(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("scipy")
    shutil.copy(PTH, tmp_path)
    code = (
        f"import site, sys; site.addsitedir({str(tmp_path)!r})\n"
        "print('remat_bb' in sys.modules)\n"
        "from scipy.optimize import milp\n"
        "print(milp.__module__)\n"
    )
    assert said(code).split()[0] == "False"
    assert said(code, REMAT_BB_DROPIN="scipy,pulp").split() == ["True", "remat_bb.scipy"]
    done = python("-c", code, REMAT_BB_DROPIN="spam,all")
    assert done.returncode == 0 and "'spam' is none of" in done.stderr
    assert done.stdout.split() == ["True", "remat_bb.scipy"]


def test_the_wheel_has_the_file() -> None:
    try:
        files = importlib.metadata.files("remat-bb") or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the package is on the path, not installed")
    if not any(file.name == "__init__.py" for file in files):
        pytest.skip("the package is installed to be edited")
    assert "remat_bb_dropin.pth" in {str(file) for file in files}


def test_types_of_modules_for_other_packages(tmp_path, monkeypatch) -> None:
    mypy = pytest.importorskip("mypy.api")
    monkeypatch.chdir(tmp_path)
    left_out = shutil.ignore_patterns(
        "*.so", "__pycache__", "torch", "jax.py", "onnx.py", "_shadow"
    )
    shutil.copytree(HERE, "remat_bb", ignore=left_out)
    said, _, _ = mypy.run(
        ["--cache-dir", "cache", "--ignore-missing-imports", "--follow-imports=skip", "remat_bb"]
    )
    assert "Success" in said, said


@pytest.mark.parametrize("package", ["pulp", "cvxpy", "scipy", "pyomo"])
def test_suites_of_the_packages(package: str) -> None:
    """The packages' own tests, with the failures that are named and no other."""
    script = ROOT / "python" / "bench" / "suites.py"
    if not script.exists():
        pytest.skip("the tests run apart from the repository")
    pytest.importorskip(package)
    if package == "pyomo":
        pytest.importorskip("parameterized")
    done = python(str(script), "--quick", package)
    assert done.returncode == 0, done.stdout + done.stderr
    assert package in done.stdout
