"""Test suites of other packages with remat-bb in the place of their solvers.

``python python/bench/suites.py [--quick] [--out FILE] [NAME ...]`` runs the suites whose packages
are installed; suites that are not part of an installed package are fetched from its source package
on PyPI. A test that fails must be named in :mod:`suite_list` with the reason, and a test that is
named must fail; else the exit code is 1. ``--out`` writes a table of the counts, and keeps what it
has of other versions.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import xml.etree.ElementTree as ElementTree
from collections import Counter
from dataclasses import dataclass, field

from suite_list import SUITES, VERSIONS, Suite


@dataclass
class Outcome:
    """Counts of a run, and what was not as it should be."""

    passed: int = 0
    skipped: int = 0
    known: int = 0
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0.0
    skips: Counter[str] = field(default_factory=Counter)
    not_run: str = ""


def unpacked(source: str) -> pathlib.Path | str:
    """Folder of a source package, fetched where it is not there; else the reason why it is not."""
    folder = pathlib.Path(sys.prefix, "suites", source)
    if not folder.exists():
        with tempfile.TemporaryDirectory() as empty:
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
            command += ["--no-binary", ":all:", "--dest", empty, source]
            done = subprocess.run(command, capture_output=True, text=True, timeout=300)
            packed = next(pathlib.Path(empty).glob("*.tar.gz"), None)
            if done.returncode != 0 or packed is None:
                return f"{source} cannot be fetched: {done.stderr.strip()[-200:]}"
            with tarfile.open(packed) as archive:
                archive.extractall(folder, filter="data")
    return next(folder.iterdir())


def run(suite: Suite, quick: bool) -> Outcome:
    """Runs a suite in a process of its own, one that is written here in a fresh folder."""
    left_out = suite.slow if quick else ()
    arguments = list(suite.arguments)
    if left_out:
        words = " or ".join(left_out)
        arguments = ["-k", f"({arguments[1]}) and not ({words})" if arguments else f"not ({words})"]
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        paths = [str(place / "test_suite.py")]
        (place / "test_suite.py").write_text(suite.module)
        report = place / "report.xml"
        if suite.source:
            found = unpacked(suite.source)
            if isinstance(found, str):
                return Outcome(not_run=found)
            place, paths = found, list(suite.paths)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "ignore"]
        command += ["--rootdir", str(place), f"--junitxml={report}", *arguments, *paths]
        environment = {**os.environ, **suite.environment}
        if suite.links:
            links = pathlib.Path(folder, "links")
            links.mkdir()
            for name in suite.links:
                (links / name).symlink_to(pathlib.Path(sys.executable).parent / "remat-bb")
            environment["PATH"] = f"{links}{os.pathsep}{environment['PATH']}"
        done = subprocess.run(
            command, cwd=place, env=environment, capture_output=True, text=True, timeout=540
        )
        if not report.exists():
            return Outcome(wrong=[done.stdout + done.stderr])
        return read(report, suite, left_out)


def read(report: pathlib.Path, suite: Suite, left_out: tuple[str, ...]) -> Outcome:
    """Counts of a report, and names of tests that are not as the suite has them."""
    outcome = Outcome()
    used = set()
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        name = f"{case.get('classname', '')}.{case.get('name', '')}"
        outcome.seconds += float(case.get("time", 0))
        entry = next((known for known in suite.known if ("." + name).endswith("." + known)), None)
        if case.find("failure") is not None or case.find("error") is not None:
            if any(word in name for word in suite.either):
                outcome.known += 1
            elif entry is None:
                outcome.wrong.append(f"failed: {name}")
            else:
                outcome.known += 1
                used.add(entry)
        elif (skip := case.find("skipped")) is not None:
            outcome.skipped += 1
            outcome.skips[" ".join((skip.get("message") or "no reason given").split())] += 1
        else:
            outcome.passed += 1
            if entry is not None:
                outcome.wrong.append(f"passed, though it is named as failing: {name}")
    for entry in suite.known:
        if entry not in used and not any(word in entry for word in left_out):
            outcome.wrong.append(f"named as failing, but not there: {entry}")
    return outcome


NAME, PACKAGE = 48, 24
"""Widths of columns."""
HEADER = (
    f"{'suite':{NAME}}{'package':{PACKAGE}}{'passed':>8}{'skipped':>9}{'known':>7}{'failed':>8}"
)


@dataclass
class Row:
    """What the table says of a suite: its line, and its lines of skipped tests."""

    line: str
    skips: list[str] = field(default_factory=list)


def recorded(out: pathlib.Path) -> dict[tuple[str, str], Row]:
    """The rows of a table that is there."""
    rows: dict[tuple[str, str], Row] = {}
    skips = False
    for line in out.read_text().splitlines() if out.exists() else ():
        if line.startswith("Known"):
            break
        if line.startswith("Skipped"):
            skips = True
        elif skips and line:
            suite, version, _ = line[2:].split(" | ", 2)
            if (suite, version) in rows:
                rows[suite, version].skips.append(line)
        elif line and not line.startswith(("#", "suite")):
            rows[line[:NAME].strip(), line[NAME : NAME + PACKAGE].strip()] = Row(line)
    return rows


def table(rows: dict[tuple[str, str], Row], out: pathlib.Path) -> None:
    """Writes the rows, and those of other versions that the file has, with the known failures."""
    kept = [row for _, row in sorted({**recorded(out), **rows}.items())]
    lines = ["# python python/bench/suites.py --out bench/results/dropin-suites.txt", "", HEADER]
    lines += [row.line for row in kept]
    lines += ["", "Skipped, with the reason that the package gives:"]
    lines += [line for row in kept for line in row.skips]
    known = sorted({(name, why) for suite in SUITES for name, why in suite.known.items()})
    lines += ["", "Known failures:"]
    lines += [f"  {name}: {why}" for name, why in known]
    lines += ["", "Not run, as the reason says:"]
    lines += [f"  {suite.name}: {name}: {why}" for suite in SUITES for name, why in suite.left_out]
    either = sorted({(name, why) for suite in SUITES for name, why in suite.either.items()})
    lines += ["", "Decided by time, known where they fail:"]
    lines += [f"  {name}: {why}" for name, why in either]
    out.write_text("\n".join(lines) + "\n")


def main() -> int:
    """Runs what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave out tests that take long")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("names", nargs="*", help="packages whose suites are run")
    arguments = parser.parse_args()
    rows: dict[tuple[str, str], Row] = {}
    failed = False
    for suite in SUITES:
        if not suite.applies() or (arguments.names and suite.package not in arguments.names):
            continue
        try:
            version = f"{suite.package} {importlib.metadata.version(suite.package)}"
        except importlib.metadata.PackageNotFoundError:
            print(f"{suite.name}: {suite.package} is not installed")
            continue
        if arguments.quick and (suite.long or version not in VERSIONS):
            why = "left out by --quick" if suite.long else f"none of {', '.join(VERSIONS)}"
            print(f"{suite.name}: {version}: {why}")
            continue
        outcome = run(suite, arguments.quick)
        if outcome.not_run:
            print(f"{suite.name}: {outcome.not_run}")
            continue
        line = f"{suite.name:{NAME}}{version:{PACKAGE}}{outcome.passed:8}{outcome.skipped:9}"
        line += f"{outcome.known:7}{len(outcome.wrong):8}"
        skips = sorted(outcome.skips.items())
        skips_lines = [f"  {suite.name} | {version} | {count} x {why}" for why, count in skips]
        rows[suite.name, version] = Row(line, skips_lines)
        print(line, f"{outcome.seconds:8.1f} s", flush=True)
        for line in outcome.wrong:
            print("   ", line)
        failed = failed or bool(outcome.wrong)
    if arguments.out:
        table(rows, arguments.out)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
