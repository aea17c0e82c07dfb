"""Where the lab is, with experiments, demonstrations and challenges: a checkout, or the package `attacklab-lab`."""

from __future__ import annotations

import importlib.util
import sys
import tomllib
from pathlib import Path

from attacklab.model.errors import UsageError

FOLDER = "experiments"
"""The package of the lab's experiments."""

MARKER = "pyproject.toml"
"""In a checkout of the lab its table `[tool.attacklab]` names the package of experiments."""

INSTALLED = "attacklab_lab"
"""The package of `pip install 'attacklab[lab]'`: its folder has the packages of a checkout."""


def is_lab(root: Path) -> bool:
    """Whether the folder `experiments` at `root` is the lab's; many folders have that name, and are not run.

    Raises:
        ValueError: there is a pyproject.toml that cannot be read.
    """
    marker = root / MARKER
    if not marker.is_file():
        return False
    try:
        tools = tomllib.loads(marker.read_text(encoding="utf-8")).get("tool", {})
    except ValueError as error:
        raise UsageError(f"{marker} is not TOML: {error}; repair it, or run this from a checkout of the lab") from error
    return bool(tools.get("attacklab", {}).get("experiments") == FOLDER)


def find_lab(root: Path) -> Path | None:
    """The checkout at `root`, or else the lab that is installed, if there is one.

    Raises:
        ValueError: there is a pyproject.toml that cannot be read.
    """
    if is_lab(root):
        return root
    installed = importlib.util.find_spec(INSTALLED)
    return Path(installed.origin).parent if installed and installed.origin else None


def enter_lab(root: Path) -> Path:
    """Make the lab for the folder `root` importable, and return where it is.

    Raises:
        ValueError: `root` is not a checkout, and no lab is installed.
    """
    lab = find_lab(root)
    if lab is None and not (root / FOLDER).is_dir():
        raise UsageError(
            f"no {FOLDER}/ in this folder; run it from a checkout of the lab's repository, or install the lab: "
            "pip install 'attacklab[lab]'"
        )
    if lab is None:
        raise UsageError(
            f"{FOLDER}/ in this folder is not the lab's: no {MARKER} beside it has "
            f'experiments = "{FOLDER}" under [tool.attacklab]; run it from a checkout of the lab, or install the lab: '
            "pip install 'attacklab[lab]'"
        )
    if str(lab) not in sys.path:
        sys.path.insert(0, str(lab))
    return lab
