"""Brings `mechanisms/` into the wheel as `exactdp/_mechanisms/`, without the naive twins.

The wheel has no package called `mechanisms`, so the name is another one in what it holds. A sdist holds the files with
that name already, and a wheel that is built from it takes them as they are.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCE = Path(__file__).resolve().parents[2] / "mechanisms"
PLACE = "exactdp/_mechanisms"
_NAME = re.compile(r"\bmechanisms\.(?=\w)")


class RelocatedMechanisms(BuildHookInterface[Any]):
    """Writes the files with their new name to a folder that lasts as long as the build."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Add the files to what is built."""
        if not (Path(self.root) / PLACE).is_dir():
            self._folder = tempfile.TemporaryDirectory()
            for path in sorted(SOURCE.rglob("*.py")):
                if not path.stem.startswith("naive"):
                    place = path.relative_to(SOURCE).as_posix()
                    copy = Path(self._folder.name, place)
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    copy.write_text(_NAME.sub("exactdp._mechanisms.", path.read_text("utf-8")), "utf-8")
                    build_data["force_include"][str(copy)] = f"{PLACE}/{place}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Remove the folder."""
        if folder := getattr(self, "_folder", None):
            folder.cleanup()
