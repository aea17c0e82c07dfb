"""Environments of pinned packages: which there are, which are built, and what `--in-env` names."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from attacklab import libraries
from attacklab.libraries.environments import environments, interpreter
from attacklab.model.errors import UsageError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "environments").mkdir()
    for name in ("fast-noise-1.2", "opendp-0.4.0", "opendp-0.16.0"):
        (tmp_path / "environments" / f"{name}.txt").write_text("numpy\n")
    built = tmp_path / ".environments" / "opendp-0.16.0"
    built.mkdir(parents=True)
    (built / ".ready").touch()
    return tmp_path


def test_an_environment_is_pinned_by_a_file_and_built_when_it_is_marked_ready(root: Path, tmp_path: Path) -> None:
    first, second, third = environments(root)  # in the order of their versions
    assert (first.name, first.library, first.version, first.is_missing) == ("fast-noise-1.2", "fast-noise", "1.2", True)
    assert second.version == "0.4.0"
    assert (third.name, third.library, third.version, third.is_missing) == ("opendp-0.16.0", "opendp", "0.16.0", False)
    assert first.build == "make .environments/fast-noise-1.2/.ready"
    assert environments(tmp_path / "no checkout") == []


def test_a_name_stands_for_the_interpreter_of_its_environment_and_a_path_for_itself(root: Path) -> None:
    assert interpreter("opendp-0.16.0", root) == str(root / ".environments" / "opendp-0.16.0" / "bin" / "python")
    assert interpreter(sys.executable, root) == sys.executable


def test_what_is_neither_or_has_not_been_built_is_refused_with_what_to_do(root: Path) -> None:
    missing = r"fast-noise-1\.2 has not been built; build it: make \.environments/fast-noise-1\.2"
    with pytest.raises(UsageError, match=missing):
        interpreter("fast-noise-1.2", root)
    for name in ("opendp", "/nowhere/python", "python3"):
        with pytest.raises(UsageError, match=r"environments: fast-noise-1\.2, opendp-0\.4\.0, opendp-0\.16\.0"):
            interpreter(name, root)


def test_every_pinned_environment_of_this_checkout_is_of_a_known_library_and_pins_its_version() -> None:
    for environment in environments(Path(__file__).parents[4]):
        known = libraries.library(environment.library)
        pinned = (Path(__file__).parents[4] / "environments" / f"{environment.name}.txt").read_text().splitlines()
        assert f"{known.distribution}=={environment.version}" in pinned
        assert any(line.startswith("numpy==") for line in pinned)
        assert all(line.count("==") == 1 for line in pinned)
