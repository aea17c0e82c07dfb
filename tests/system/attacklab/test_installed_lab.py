"""Somebody installs `attacklab[lab]` and has no clone: experiments, demonstrations and challenges run all the same."""

from __future__ import annotations

import ast
import os
import re
import shutil
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from attacklab.cli import COMMANDS
from tests.system.installed import OFFLINE, environment_with_wheel, run
from tests.system.test_packaging import PROJECT, ROOT, built, needs_hatchling

LAB = ROOT / "wheels" / "attacklab-lab"
LAB_PROJECT = tomllib.loads((LAB / "pyproject.toml").read_text("utf-8"))
FOLDERS = ("challenges", "checker", "environments", "experiments", "mechanisms")
SOLUTION = ROOT / "tests" / "system" / "challenges" / "solutions" / "add_noise.py"

pytestmark = needs_hatchling


def copied(folder: Path, *, reverse: bool) -> Path:
    """Copy what the wheel is built from, in one order or the other, and return the project's folder."""
    found = [path for place in (LAB, *(ROOT / name for name in FOLDERS)) for path in place.rglob("*")]
    kept = [path for path in found if path.is_file() and not {"__pycache__", "dist"} & {*path.parts}]
    for number, path in enumerate(sorted(kept, reverse=reverse)):
        copy = folder / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
        os.utime(copy, (1_700_000_000 + number, 1_700_000_000 + number))
    return folder / LAB.relative_to(ROOT)


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/RECORD")}


@pytest.fixture(scope="module")
def attacklab(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The script of the wheel, in an environment that has the lab's wheel too."""
    folder = tmp_path_factory.mktemp("lab")
    programs = environment_with_wheel(folder)
    install = [str(programs / "python"), "-m", "pip", "install", "--quiet", "--no-deps", str(LAB)]
    done = run(install, folder, OFFLINE)
    assert done.returncode == 0, done.stderr
    return str(programs / "attacklab")


def test_every_command_is_listed(attacklab: str, tmp_path: Path) -> None:
    listed = re.findall(r"(?m)^  (\w+)  ", run([attacklab, "--help"], tmp_path).stdout.partition("Commands:\n")[2])
    assert listed == [command.name for command in COMMANDS]


def test_an_experiment_runs_and_is_written_to_this_folder(attacklab: str, tmp_path: Path) -> None:
    done = run([attacklab, "run", "zero_rounding", "pumpkin_auction", "--budget", "0"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["reports-lab"]
    page = (tmp_path / "reports-lab" / "zero_rounding.md").read_text("utf-8")
    assert "violated" in page


def test_a_demonstration_is_shown(attacklab: str, tmp_path: Path) -> None:
    done = run([attacklab, "demo", "low_bits"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "the claim allows 0.050" in done.stdout


def test_what_is_handed_in_is_judged(attacklab: str, tmp_path: Path) -> None:
    assert run([attacklab, "challenge"], tmp_path).returncode == 0
    shutil.copy(SOLUTION, tmp_path)
    done = run([attacklab, "challenge", "check", SOLUTION.name], tmp_path)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "PASSED")


def test_experiments_are_listed_and_targets_only_in_a_checkout(attacklab: str, tmp_path: Path) -> None:
    listed = run([attacklab, "list"], tmp_path).stdout
    assert "zero_rounding" in listed
    assert "Targets, named" not in listed


def test_a_folder_called_experiments_is_not_run(attacklab: str, tmp_path: Path) -> None:
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "__init__.py").write_text("raise SystemExit('run')\n")
    for start in ([attacklab], [str(Path(attacklab).with_name("python")), "-m", "attacklab"]):
        done = run([*start, "demo", "low_bits"], tmp_path)
        assert done.returncode == 0, done.stderr


def test_the_wheel_holds_its_packages_in_one_folder_and_its_sdist_makes_the_same(tmp_path: Path) -> None:
    """Two builds from two folders, filled in different orders, have equal bytes; from the sdist, equal files."""
    first = built(copied(tmp_path / "first", reverse=False), "wheel", tmp_path / "dist")
    second = built(copied(tmp_path / "second", reverse=True), "wheel", tmp_path / "again")
    with tarfile.open(built(tmp_path / "first" / "wheels" / "attacklab-lab", "sdist", tmp_path / "dist")) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    third = built(next((tmp_path / "unpacked").iterdir()), "wheel", tmp_path / "third")
    assert first.read_bytes() == second.read_bytes()
    assert contents(first) == contents(third)
    names = {name for name in contents(first) if ".dist-info/" not in name}
    tracked = {path.relative_to(ROOT).as_posix() for name in FOLDERS for path in (ROOT / name).rglob("*.*")}
    kept = {name for name in tracked if "__pycache__" not in name and (ROOT / name).is_file()}
    assert names == {"attacklab_lab/__init__.py", *(f"attacklab_lab/{name}" for name in kept)}


def test_the_versions_are_one_and_what_is_imported_is_declared() -> None:
    lab, own = LAB_PROJECT["project"], PROJECT["project"]
    assert lab["version"] == own["version"]
    assert f"attacklab=={own['version']}" in lab["dependencies"]
    assert own["optional-dependencies"]["lab"] == [f"attacklab-lab=={own['version']}"]
    declared = {re.match(r"[\w-]+", text)[0] for text in lab["dependencies"] + own["dependencies"]}
    imported = set()
    for path in (path for name in FOLDERS for path in (ROOT / name).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                imported.add(node.module.partition(".")[0])
    assert imported - sys.stdlib_module_names - {*FOLDERS} <= declared
