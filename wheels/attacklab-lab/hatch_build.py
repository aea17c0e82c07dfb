"""Brings the lab into the wheel as folders of `attacklab_lab/`, which `attacklab` puts on the path.

Their names stay what they are in a checkout, and an environment has no package called `experiments`. A sdist holds them
in that place already.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

CHECKOUT = Path(__file__).resolve().parents[2]
PLACE = "attacklab_lab"
FOLDERS = ("challenges", "checker", "environments", "experiments", "mechanisms")
KINDS = (".csv", ".json", ".md", ".py", ".toml", ".txt")


class LabOfTheCheckout(BuildHookInterface[Any]):
    """Adds the folders to what is built."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Add each file, unless it is in its place."""
        for folder in FOLDERS:
            if not (Path(self.root) / PLACE / folder).is_dir():
                for path in sorted((CHECKOUT / folder).rglob("*")):
                    if path.suffix in KINDS:
                        build_data["force_include"][str(path)] = f"{PLACE}/{path.relative_to(CHECKOUT).as_posix()}"
