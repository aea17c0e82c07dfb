"""A maintainer releases a version: what names, cites, packs and describes it agrees, before anything is published."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.test_packaging import PROJECT, ROOT, built

pytestmark = pytest.mark.slow

CITATION: dict[str, Any] = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
HOOK = PROJECT["tool"]["hatch"]["metadata"]["hooks"]["custom"]


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
