"""Environments of pinned packages, one for each version of a library, so that versions are audited side by side.

In a checkout, `environments/LIBRARY-VERSION.txt` pins what `make libraries` installs into
`.environments/LIBRARY-VERSION/`. The name of such an environment stands for its interpreter.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from attacklab.libraries import numbers_of
from attacklab.model.errors import UsageError

PINNED, BUILT = "environments", ".environments"


@dataclass(frozen=True)
class Environment:
    """An environment with one version of a library. `name` is the name of the file that pins it, without .txt."""

    name: str
    library: str
    version: str
    python: Path
    is_missing: bool
    """Whether the environment has not been built."""

    @property
    def build(self) -> str:
        """The command that builds the environment."""
        return f"make {BUILT}/{self.name}/.ready"


def environments(root: Path) -> list[Environment]:
    """Return all environments of the checkout at `root`, by library and version; [] if `root` is not a checkout."""
    listed = []
    for pinned in (root / PINNED).glob("*-*.txt"):
        folder = root / BUILT / pinned.stem
        library, _, version = pinned.stem.rpartition("-")
        if not numbers_of(version):  # many folders have this name, and files of other kinds in them
            continue
        is_missing = not (folder / ".ready").is_file()
        listed.append(Environment(pinned.stem, library, version, folder / "bin" / "python", is_missing=is_missing))
    return sorted(listed, key=lambda environment: (environment.library, numbers_of(environment.version)))


def interpreter(name: str, root: Path) -> str:
    """Return the Python for `--in-env NAME`: NAME is an environment of the checkout, or the path of a Python.

    Raises:
        UsageError: it is neither, or the environment has not been built.
    """
    known = {environment.name: environment for environment in environments(root)}
    if name in known:
        if known[name].is_missing:
            raise UsageError(f"environment {name} has not been built; build it: {known[name].build}")
        return str(known[name].python)
    if "/" in name and shutil.which(name) is not None:
        return name
    names = ", ".join(known) or "none in this folder, which is not a checkout of the lab"
    raise UsageError(f"{name!r} is neither an environment nor a path to a Python; environments: {names}")
