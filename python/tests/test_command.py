"""The command `remat-bb` of the package: results, exit codes, pipes and interrupts."""

import json
import os
import re
import signal
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import remat_bb


def test_the_command_is_installed_with_the_package(command):
    try:
        package = metadata.distribution("remat-bb")
    except metadata.PackageNotFoundError:
        pytest.skip("the package is not installed, but imported from its sources")
    assert package.version == remat_bb.__version__
    entries = {entry.name: entry.group for entry in package.entry_points}
    assert entries == {"remat-bb": "console_scripts", "remat_bb": "torch_dynamo_backends"}
    assert Path(command[0]).name == "remat-bb" and Path(command[0]).parent == scripts()


def scripts() -> Path:
    """The folder of the environment's programs."""
    return Path(sys.executable).parent


def test_version_and_help(run):
    version = run("--version")
    # Builds for users have the commit behind the version.
    said = rf"remat-bb {re.escape(remat_bb.__version__)}( \([^ )]+\))?\n"
    assert version.returncode == 0 and re.fullmatch(said, version.stdout)
    assert "Usage: remat-bb" in run("--help").stdout


def test_exit_codes(run, tmp_path):
    assert run("solve", "zoo:chain?n=9", "--budget", "70%", "--quiet").returncode == 0
    usage = run("solve", "zoo:chain?n=9")
    assert usage.returncode == 2 and "--budget" in usage.stderr and usage.stdout == ""
    missing = run("solve", "nothing.json", "--budget", "70%", "--json", cwd=tmp_path)
    assert missing.returncode == 2 and json.loads(missing.stdout)["status"] == "error"
    infeasible = run("solve", "zoo:chain?n=9", "--budget", "10", "--json", "--quiet")
    assert infeasible.returncode == 3 and json.loads(infeasible.stdout)["status"] == "infeasible"
    limit = run(
        "solve", "zoo:resnet50?batch=8", "--budget", "45%", "--time-limit", "0", "--json", "--quiet"
    )
    assert limit.returncode == 4 and json.loads(limit.stdout)["objective"] is None


@pytest.mark.parametrize("name", ["cbc", "gurobi_cl"])
def test_a_link_of_another_name_is_the_stand_in(command, tmp_path, name):
    if len(command) != 1:
        pytest.skip("the package is not installed, but imported from its sources")
    link = tmp_path / name
    link.symlink_to(command[0])
    model = tmp_path / "model.lp"
    model.write_text("Minimize\n x + 2 y\nSubject To\n c: x + y >= 3\nBounds\n x <= 2\nEnd\n")
    out = tmp_path / "out.sol"
    arguments = {
        "cbc": ["-import", model, "-solve", "-solution", out],
        "gurobi_cl": [f"ResultFile={out}", model],
    }
    done = subprocess.run([link, *arguments[name]], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and f"answers to the name {name}" in done.stdout
    assert {"x", "2"} <= set(out.read_text().split())


def test_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "remat_bb", "zoo", "list"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0 and "llama" in done.stdout


@pytest.mark.skipif(os.name == "nt", reason="pipes and signals of POSIX")
def test_a_reader_that_goes_away_is_no_failure(command):
    process = subprocess.Popen(
        [*command, "zoo", "list"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.close()
    err = process.stderr.read()
    assert process.wait(timeout=60) == 0, err
    assert err == b""


def started(command: list[str], word: str) -> subprocess.Popen:
    """The command, once it has said a word on standard error."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        if word in line:
            break
    return process


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_ends_with_the_best_plan(command):
    arguments = [
        "solve",
        "zoo:resnet50?batch=8",
        "--budget",
        "60%",
        "--gap",
        "0",
        "--time-limit",
        "60s",
        "--json",
    ]
    process = started([*command, *arguments], "best")
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=50)
    assert process.returncode == 0, err
    assert "ending with the best plan so far" in err and "Traceback" not in err
    said = json.loads(out)
    assert said["status"] == "interrupted" and said["objective"] >= said["bound"]


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_a_second_ctrl_c_ends_at_once(command):
    arguments = [
        "solve",
        "zoo:llama?layers=100",
        "--budget",
        "80%",
        "--gap",
        "0",
        "--time-limit",
        "600s",
    ]
    process = started([*command, *arguments], "bound")
    # Until it ends by one of them: how soon the first is obeyed depends on the machine.
    while process.poll() is None:
        os.kill(process.pid, signal.SIGINT)
        try:
            process.wait(timeout=0.05)
        except subprocess.TimeoutExpired:
            pass
    assert process.returncode in (130, 0)
    assert "Traceback" not in process.stderr.read()
