"""What code this process has loaded: a hash of each module, and the versions of installed packages.

The child of an isolated target loads this as a plain file in an interpreter that may be as old as Python 3.8: so it
imports nothing of the package and uses no newer syntax.
"""

from __future__ import annotations

import hashlib
import os
import sys
import sysconfig
from typing import Any

INSTALLED = ("site-packages", "dist-packages")
"""Folders of what is installed, which a version tells; everything else is hashed."""

_STANDARD = tuple(
    os.path.realpath(place) + os.sep for place in {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}
)


def loaded_code() -> dict[str, str]:
    """The SHA-256 digest of the file of each loaded module, and the version of each installed package.

    Returns:
        Digests by the modules' names, and versions by the names of distributions. The standard library is left out: the
        interpreter's version tells it.
    """
    found, packages = loaded_modules()
    return {**found, **_versions(packages)}


def loaded_modules() -> tuple[dict[str, str], set[str]]:
    """The digests of the modules that are not installed, and the names of the packages that are."""
    found, packages = {}, set()
    for name, module in sorted(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if not isinstance(file, str) or not os.path.isfile(file):  # noqa: PTH113 - a namespace package has no file
            continue
        if any(os.sep + place + os.sep in file for place in INSTALLED):
            packages.add(name.partition(".")[0])
        elif not os.path.realpath(file).startswith(_STANDARD):
            with open(file, "rb") as code:  # noqa: PTH123
                found[name] = "sha256:" + hashlib.sha256(code.read()).hexdigest()[:16]
    return found, packages


def changed(before: dict[str, str], now: dict[str, str]) -> list[str]:
    """The names of what is in both and differs; what only one of two processes has loaded yet tells nothing."""
    return sorted(name for name in set(before) & set(now) if before[name] != now[name])


def _versions(packages: set[str]) -> dict[str, str]:
    from importlib import metadata  # here, since the child does not need it

    distributions_of: Any = getattr(metadata, "packages_distributions", dict)()
    names = {distribution for package in packages for distribution in distributions_of.get(package, ())}
    return {f"the package {name}": metadata.version(name) for name in names}
