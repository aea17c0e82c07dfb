"""What code this process has loaded: a hash of each module, and the versions of installed packages.

The child of an isolated target loads this as a plain file in an interpreter that may be as old as Python 3.8: so it
imports nothing of the package and uses no newer syntax.
"""

from __future__ import annotations

import contextlib
import functools
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


def code_fingerprint() -> dict[str, str]:
    """The SHA-256 digest of the file of each loaded module, and the version of each installed package.

    Returns:
        Digests by the modules' names, and versions by the names of distributions. The standard library is left out: the
        interpreter's version tells it.
    """
    digests, packages = loaded_modules()
    return dict(sorted({**digests, **_versions(packages)}.items()))


def loaded_modules() -> tuple[dict[str, str], set[str]]:
    """The digests of the modules that are not installed, and the names of the packages that are."""
    digests, packages = {}, set()
    for name, module in sorted(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if not isinstance(file, str):  # a namespace package has no file
            continue
        if _is_installed(file):
            packages.add(name.partition(".")[0])
        elif _is_ours(file):
            with contextlib.suppress(OSError):  # it has been removed since
                digests[name] = _digest(file, os.stat(file).st_mtime_ns)  # noqa: PTH116
    return digests, packages


def changed(before: dict[str, str], now: dict[str, str]) -> list[str]:
    """The names of what is in both and differs; what only one of two processes has loaded yet tells nothing."""
    return sorted(name for name in set(before) & set(now) if before[name] != now[name])


def _is_installed(file: str) -> bool:
    return any(os.sep + place + os.sep in file for place in INSTALLED)


@functools.lru_cache(maxsize=1 << 16)
def _is_ours(file: str) -> bool:
    return os.path.isfile(file) and not os.path.realpath(file).startswith(_STANDARD)  # noqa: PTH113


@functools.lru_cache(maxsize=1 << 12)
def _digest(file: str, changed_at: int) -> str:  # noqa: ARG001 - of another time, it may be another digest
    with open(file, "rb") as code:  # noqa: PTH123
        return "sha256:" + hashlib.sha256(code.read()).hexdigest()[:16]


def _versions(packages: set[str]) -> dict[str, str]:
    return {f"the package {name}": version for package in packages for name, version in _distributions(package)}


@functools.lru_cache(maxsize=1 << 16)
def _distributions(package: str) -> list[tuple[str, str]]:
    """The names and versions of the distributions that a package came with."""
    from importlib import metadata  # here, since the child does not need it

    return [(name, metadata.version(name)) for name in _packages().get(package, ())]


@functools.lru_cache(maxsize=1 << 16)
def _packages() -> Any:
    from importlib import metadata  # as above

    return getattr(metadata, "packages_distributions", dict)()
