"""Where the lab is, with experiments, demonstrations and challenges: a checkout."""

import sys
import tomllib
from pathlib import Path
from typing import Any

from attacklab.model.errors import UsageError

FOLDER = "experiments"
"""The package of the lab's experiments."""

CORPUS = "corpus"
"""The package of experiments on the lab itself, which need not be there."""

MARKER = "pyproject.toml"
"""In a checkout of the lab its table `[tool.attacklab]` names the package of experiments."""


def is_lab(root: Path) -> bool:
    """Whether the folder `experiments` at `root` is the lab's; many folders have that name, and are not run.

    Raises:
        ValueError: there is a pyproject.toml that cannot be read.
    """
    return bool(project_table(root).get("experiments") == FOLDER)


def project_table(root: Path) -> dict[str, Any]:
    """The table `[tool.attacklab]` of pyproject.toml in a folder; empty where there is none.

    Raises:
        UsageError: the file cannot be read, or the table is not one.
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
    """Make the lab at the folder `root` importable, and return that.

    Raises:
        ValueError: `root` is not a checkout.
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
