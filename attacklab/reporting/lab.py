"""Find the lab: the checkout that has experiments, demonstrations and challenges."""

import sys
import tomllib
from pathlib import Path
from typing import Any

from attacklab.model.errors import UsageError

FOLDER = "experiments"
"""The package of the lab's experiments."""

CORPUS = "corpus"
"""The package of experiments on the lab itself. It may be missing."""

MARKER = "pyproject.toml"
"""The file that marks a checkout of the lab: its table `[tool.attacklab]` names the package of experiments."""


def is_lab(root: Path) -> bool:
    """Whether the folder `experiments` at `root` is the lab's. Other folders of that name are never run.

    Raises:
        ValueError: there is a pyproject.toml that cannot be read.
    """
    return bool(project_table(root).get("experiments") == FOLDER)


def project_table(root: Path) -> dict[str, Any]:
    """Return the table `[tool.attacklab]` of the pyproject.toml in a folder; empty if there is none.

    Raises:
        UsageError: the file cannot be read, or `tool.attacklab` is not a table.
    """
    marker = root / MARKER
    try:
        tools = tomllib.loads(marker.read_text(encoding="utf-8")).get("tool", {})
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise UsageError(f"{marker} cannot be read: {error}; repair it") from error
    table = tools.get("attacklab", {}) if isinstance(tools, dict) else tools
    if not isinstance(table, dict):
        raise UsageError(f"{marker}: [tool.attacklab] must be a table, not {table!r}")
    return table


def enter_lab(root: Path) -> Path:
    """Make the lab in the folder `root` importable, and return `root`.

    Raises:
        ValueError: `root` is not a checkout of the lab.
    """
    if not is_lab(root):
        if not (root / FOLDER).is_dir():
            raise UsageError(f"no {FOLDER}/ in this folder; run it from a checkout of the lab's repository")
        raise UsageError(
            f"{FOLDER}/ in this folder is not the lab's: no {MARKER} beside it has "
            f'experiments = "{FOLDER}" under [tool.attacklab]; run it from a checkout of the lab'
        )
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    return root
