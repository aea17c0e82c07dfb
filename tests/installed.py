"""A fresh environment with the wheel of this tree, made without a registry: dependencies are those installed here."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.test_packaging import copied_tree

WITHOUT = ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME")
OFFLINE = {"PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_NO_CACHE_DIR": "1"}
"""What keeps pip from a registry: hatchling is among what is installed here (for pip, 0 sets this option)."""


def environment_without_lab(folder: Path) -> Path:
    """Make an environment that has all packages of this one but attacklab; gives the folder of its programs."""
    packages = folder / "packages"
    packages.mkdir(parents=True)
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if "attacklab" not in path.name and path.name not in ("pip", "setuptools"):
            (packages / path.name).symlink_to(path)
    done = run([sys.executable, "-m", "venv", str(folder / "made")], folder)
    assert done.returncode == 0, done.stderr
    (site,) = (folder / "made").glob("[Ll]ib/**/site-packages")
    (site / "packages.pth").write_text(f"{packages}\n", encoding="utf-8")
    return folder / "made" / ("Scripts" if sys.platform == "win32" else "bin")


def environment_with_wheel(folder: Path) -> Path:
    """Make such an environment with the wheel of this tree; gives the folder of its programs."""
    programs = environment_without_lab(folder)
    tree = copied_tree(folder / "tree", reverse=False)
    done = run([str(programs / "python"), "-m", "pip", "install", "--quiet", str(tree)], folder, OFFLINE)
    assert done.returncode == 0, done.stderr
    return programs


def run(
    command: Sequence[str], folder: Path, more: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program in a folder, without what points to this checkout."""
    environment = {name: value for name, value in os.environ.items() if name not in WITHOUT} | dict(more or {})
    return subprocess.run(  # noqa: S603 - our own code
        command, cwd=folder, env=environment, capture_output=True, text=True, encoding="utf-8", check=False
    )
