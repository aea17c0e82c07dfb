"""Brings `mechanisms/` into the wheel as `exactdp/_mechanisms/`, without the naive twins, and the checker beside it.

The wheel has no package called `mechanisms` or `checker`, so the names are others in what it holds. A sdist holds the
files with these names already, and a wheel that is built from it takes them as they are.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).resolve().parents[2]
PLACE = "exactdp"
_NAMES = {name: re.compile(rf"(?<![\w.]){name}(?=\.\w| import)") for name in ("mechanisms", "checker")}


class RelocatedMechanisms(BuildHookInterface[Any]):
    """Writes the files with their new name to a folder that lasts as long as the build."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Add the files to what is built."""
        if not (Path(self.root) / PLACE / "_mechanisms").is_dir():
            self._folder = tempfile.TemporaryDirectory()
            files = [(package, path) for package in _NAMES for path in sorted((ROOT / package).rglob("*"))]
            for package, path in files:
                if path.suffix in (".py", ".json") and not path.stem.startswith("naive"):
                    place = f"_{path.relative_to(ROOT).as_posix()}"
                    copy = Path(self._folder.name, place)
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    copy.write_text(_NAMES[package].sub(f"exactdp._{package}", path.read_text("utf-8")), "utf-8")
                    build_data["force_include"][str(copy)] = f"{PLACE}/{place}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Remove the folder."""
        if folder := getattr(self, "_folder", None):
            folder.cleanup()
