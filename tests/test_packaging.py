"""The package: what it declares, that it runs as a module and from its wheel, and that two builds have equal bytes."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PYTHONS = re.findall(r"Python :: (3\.\d+)", " ".join(PROJECT["project"]["classifiers"]))
BUILD = """
import os, sys
from hatchling import build
os.chdir(sys.argv[1])
print(getattr(build, "build_" + sys.argv[2])(sys.argv[3]))
"""

needs_hatchling = pytest.mark.skipif(importlib.util.find_spec("hatchling") is None, reason="hatchling is not installed")


def test_the_package_runs_as_a_module() -> None:
    done = _run([sys.executable, "-m", "attacklab", "--help"], ROOT)
    assert done.returncode == 0
    assert "audit" in done.stdout
    mistyped = _run([sys.executable, "-m", "attacklab", "audti"], ROOT)
    assert (mistyped.returncode, mistyped.stdout) == (2, "")


def test_the_named_pythons_begin_with_the_oldest_that_is_required() -> None:
    assert PYTHONS[0] == PROJECT["project"]["requires-python"].removeprefix(">=")
    assert len(PYTHONS) == 3


@needs_hatchling
@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_two_builds_from_two_folders_have_equal_bytes(tmp_path: Path, kind: str) -> None:
    """File times differ between the folders, and one was filled in reverse."""
    first = built(copied_tree(tmp_path / "first", reverse=False), kind, tmp_path / "dist")
    again = built(copied_tree(tmp_path / "second", reverse=True), kind, tmp_path / "again")
    assert first.name == again.name
    assert hashlib.sha256(first.read_bytes()).digest() == hashlib.sha256(again.read_bytes()).digest()


@needs_hatchling
def test_the_wheel_holds_the_instrument_alone_and_its_script_runs(tmp_path: Path) -> None:
    wheel = built(copied_tree(tmp_path / "tree", reverse=False), "wheel", tmp_path / "dist")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extractall(tmp_path / "installed")
    assert {name.split("/")[0].partition("-")[0] for name in names} == {"attacklab"}
    assert {"attacklab/__main__.py", "attacklab/py.typed"} <= set(names)
    (entry,) = (tmp_path / "installed").glob("*.dist-info/entry_points.txt")
    module, function = re.findall(r"(?m)^attacklab = ([\w.]+):(\w+)$", entry.read_text("utf-8"))[0]
    code = f"import sys; sys.argv = ['attacklab', '--help']; from {module} import {function}; {function}()"
    done = _run([sys.executable, "-c", code], tmp_path, tmp_path / "installed")
    assert done.returncode == 0, done.stderr
    assert "audit" in done.stdout


def copied_tree(folder: Path, *, reverse: bool) -> Path:
    """What the packages are built from, without what the interpreter left there."""
    places = [
        "attacklab",
        "pyproject.toml",
        ".gitignore",
        *PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["only-include"],
    ]
    found = {
        path
        for place in dict.fromkeys(places)
        for path in ((ROOT / place).rglob("*") if (ROOT / place).is_dir() else [ROOT / place])
        if path.is_file() and "__pycache__" not in path.parts
    }
    for number, path in enumerate(sorted(found, reverse=reverse)):
        copy = folder / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
        os.utime(copy, (1_700_000_000 + number, 1_700_000_000 + number))
    return folder


def built(tree: Path, kind: str, folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    done = _run([sys.executable, "-c", BUILD, str(tree), kind, str(folder)], tree)
    assert done.returncode == 0, done.stderr
    return folder / done.stdout.splitlines()[-1]


def _run(command: list[str], cwd: Path, *path: Path) -> subprocess.CompletedProcess[str]:
    given = os.environ.get("PYTHONPATH", "")
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1577836800"}
    environment["PYTHONPATH"] = os.pathsep.join([*map(str, path), *filter(None, [given])])
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)  # noqa: S603 - our own code
