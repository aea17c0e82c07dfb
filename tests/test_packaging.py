"""The package: what it declares and needs, that it runs as a module and from its wheel, in a clone and without one."""

import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import sys
import sysconfig
import tomllib
from collections.abc import Sequence
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
import yaml

from attacklab.cli import COMMANDS
from tests.running import run

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

CITATION: dict[str, Any] = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
HOOK = PROJECT["tool"]["hatch"]["metadata"]["hooks"]["custom"]
OF_PAGES = ("jinja2", "jsonschema", "markdown_it", "matplotlib", "referencing")
BLOCK = f"""import sys
for name in {OF_PAGES}:
    sys.modules[name] = None
"""
TARGET = """import numpy as np
def naive(answer, trials, rng):
    return answer + rng.laplace(size=trials)
"""
COMMAND = "from attacklab.cli import main; main()"
LINE = ("audit", "target.py:naive", "--kind", "noise", "--epsilon", "1")

needs_hatchling = pytest.mark.skipif(importlib.util.find_spec("hatchling") is None, reason="hatchling is not installed")


def test_the_package_runs_as_a_module() -> None:
    done = run([sys.executable, "-m", "attacklab", "--help"])
    assert done.returncode == 0
    assert "audit" in done.stdout
    mistyped = run([sys.executable, "-m", "attacklab", "audti"])
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


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the wheel, in a folder of their own."""
    folder = tmp_path_factory.mktemp("wheel")
    wheel = built(copied_tree(folder / "tree", reverse=False), "wheel", folder / "dist")
    shutil.unpack_archive(wheel, folder / "installed", "zip")
    return folder / "installed"


@needs_hatchling
def test_the_wheel_holds_the_instrument_alone_and_its_script_runs(installed: Path, tmp_path: Path) -> None:
    assert {path.name.partition("-")[0] for path in installed.iterdir()} == {"attacklab"}
    assert (installed / "attacklab" / "py.typed").is_file()
    (entry,) = installed.glob("*.dist-info/entry_points.txt")
    module, function = re.findall(r"(?m)^attacklab = ([\w.]+):(\w+)$", entry.read_text("utf-8"))[0]
    done = _from_wheel(installed, tmp_path, f"from {module} import {function}; {function}()", "--help")
    assert done.returncode == 0, done.stderr
    listed = dict(re.findall(r"(?m)^  (\w+) +(.*)", done.stdout.partition("Commands:")[2]))
    assert list(listed) == [command.name for command in COMMANDS]
    assert [name for name, told in listed.items() if "(in a clone)" in told] == ["run", "demo", "challenge"]


@needs_hatchling
@pytest.mark.parametrize("words", [["challenge"], ["demo", "low_bits"], ["run", "low_bits"]])
def test_what_needs_a_clone_says_so_in_one_line_and_ends_with_2(
    installed: Path, tmp_path: Path, words: list[str]
) -> None:
    done = _from_wheel(installed, tmp_path, COMMAND, *words)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("attacklab: no experiments/ in this folder; run it from a checkout of the lab's repository")
    assert list(tmp_path.iterdir()) == []


def test_the_citation_is_of_this_version_and_by_the_same_authors() -> None:
    project = PROJECT["project"]
    assert CITATION["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= set(CITATION)
    assert [author["name"] for author in CITATION["authors"]] == [author["name"] for author in project["authors"]]
    for cited, declared in (("version", "version"), ("license", "license"), ("abstract", "description")):
        assert CITATION[cited] == project[declared]
    assert CITATION["keywords"] == project["keywords"]
    assert CITATION.get("repository-code", "") == HOOK["repository"]


def test_the_container_builds_the_wheel_from_the_files_that_it_copies_and_runs_without_rights(tmp_path: Path) -> None:
    """The commands of the image itself are not run: that takes a container engine."""
    text = (ROOT / "Containerfile").read_text("utf-8").replace("\\\n", " ")
    steps = [line.split(" ", 1) for line in text.splitlines() if line and not line.startswith("#")]
    for words in (shlex.split(rest) for word, rest in steps if word == "COPY"):
        *sources, target = words
        for source in sources:
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, tmp_path / target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / source, tmp_path / target)
    assert built(tmp_path, "wheel", tmp_path / "wheels").suffix == ".whl"
    last = steps[[word for word, _ in steps].index("FROM", 1) :]
    assert dict(last)["ENTRYPOINT"] == '["attacklab"]'
    assert dict(last)["USER"] == "attacklab"
    assert [word for word, _ in last].index("USER") > [word for word, _ in last].index("RUN")


def test_the_command_line_needs_nothing_that_draws_pages(tmp_path: Path) -> None:
    done = _without_pages(tmp_path, *LINE, "--json", "found.json", "--sarif", "found.sarif")
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("FAIL  naive")
    assert {path.name for path in tmp_path.iterdir()} == {"target.py", "found.json", "found.sarif"}


@pytest.mark.parametrize(
    "words", [(*LINE, "--html", "page.html"), ("vectors", ".", "--exec", "true")], ids=["page", "vectors"]
)
def test_what_needs_the_extra_says_so_in_one_line_before_anything_runs(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = _without_pages(tmp_path, *words)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.strip().splitlines()
    assert line.endswith("which is not installed: in a clone, pip install '.[pages]'")


INCLUDED = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["only-include"]
BUILT_FROM = ["attacklab", "pyproject.toml", ".gitignore", *INCLUDED]


def copied_tree(folder: Path, places: Sequence[str] = BUILT_FROM, *, reverse: bool) -> Path:
    """What the packages are built from, without what the interpreter or a build left there."""
    found = {
        path
        for place in places
        for path in ((ROOT / place).rglob("*") if (ROOT / place).is_dir() else [ROOT / place])
        if path.is_file() and not {"__pycache__", "dist"} & {*path.parts}
    }
    for number, path in enumerate(sorted(found, reverse=reverse)):
        copy = folder / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
        os.utime(copy, (1_700_000_000 + number, 1_700_000_000 + number))
    return folder


def built(tree: Path, kind: str, folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    done = run([sys.executable, "-c", BUILD, str(tree), kind, str(folder)], tree, SOURCE_DATE_EPOCH="1577836800")
    assert done.returncode == 0, done.stderr
    return folder / done.stdout.splitlines()[-1]


def _without_pages(folder: Path, *words: str) -> CompletedProcess[str]:
    """Run the command line in a fresh interpreter in which the modules of the extra cannot be imported."""
    (folder / "target.py").write_text(TARGET)
    return run([sys.executable, "-c", BLOCK + COMMAND, *words], folder, PYTEST_ADDOPTS="", PYTHONDONTWRITEBYTECODE="1")


def _from_wheel(installed: Path, folder: Path, code: str, *words: str) -> CompletedProcess[str]:
    """Run code in an interpreter that reads no path to this checkout, with the packages that are installed here."""
    paths = os.pathsep.join([str(installed), sysconfig.get_path("purelib")])
    return run([sys.executable, "-S", "-c", code, *words], folder, hidden=("PYTHONHOME",), PYTHONPATH=paths)
