"""Copies of the checkout with one module of `mechanisms` edited; everything else in them is the checkout's own."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.mutants.listing import ROOT
from bench.mutants.mutant import Mutant

_NEEDED = ("attacklab", "bench", "checker", "experiments", "tests", "docs", "README.md", "pyproject.toml")


@contextmanager
def planted(mutant: Mutant | None, root: Path = ROOT) -> Iterator[Path]:
    """Make a checkout in a temporary folder whose mechanisms have one edit; None leaves them as they are."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as name:
        tree = Path(name)
        for entry in _NEEDED:
            (tree / entry).symlink_to(root / entry)
        shutil.copytree(root / "mechanisms", tree / "mechanisms", ignore=shutil.ignore_patterns("__pycache__"))
        if mutant is not None:
            (tree / mutant.path).write_text(mutant.text, "utf-8")
        yield tree


def environment_of(tree: Path) -> dict[str, str]:
    """Return the environment of a process that imports from a tree, and leaves nothing in the checkout."""
    return {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}


@contextmanager
def folder_for_certificates() -> Iterator[Path]:
    """Make a temporary folder for the certificates of the whole mechanisms."""
    with tempfile.TemporaryDirectory(prefix="whole-") as name:
        yield Path(name)
