"""Real DP libraries as targets, one file a library.

An adapter is a plain file: it imports nothing of this package, and its library only inside functions, so it can be read
where the library is not installed, and runs where only numpy and the library are. It defines

- `DISTRIBUTION`: the name under which pip installs the library;
- `UNSEEDED`: whether it draws from the operating system, so that no seed replays its outputs;
- `VERSIONS`, if mechanisms differ by version: for each mechanism, conditions on the versions that have it; see `fits`;
- `MECHANISMS`: a dict from the name of each mechanism to a function that makes it. The function takes keyword arguments
  (`epsilon`, `delta`, `bounds`) and returns a dict: `kind`, `release` (which returns many outputs, or one where the
  library cannot be seeded), and any other arguments of the constructor of that kind of `Target`. A claim other than
  (ε, δ) is JSON under `claim`, and a domain is under `domain`. A sum or a mean states its `relation`: substitute if the
  number of records is public, add-remove if it is not.

`ValueError` from an adapter's release means that the mechanism does not take this answer; the lab reports it as the
target's failure.
"""

from __future__ import annotations

import difflib
import importlib
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from attacklab.model.errors import UsageError

NAMES = (
    *("numpy", "scipy", "diffprivlib", "opendp", "pydp", "pipelinedp", "tumult", "smartnoise"),
    *("torch", "jax", "opacus", "jax_privacy"),
)


@dataclass(frozen=True)
class Library:
    """What is known about a library without importing it.

    Attributes:
        name: the part before the colon in the names of the library's targets.
        distribution: the name under which pip installs it.
        unseeded: whether no seed replays its outputs.
        mechanisms: the names of its mechanisms.
        versions: for each mechanism that some versions lack, conditions on the versions that have it; see `fits`.
    """

    name: str
    distribution: str
    unseeded: bool
    mechanisms: tuple[str, ...]
    versions: Mapping[str, str]

    @property
    def installed(self) -> str | None:
        """The version installed in this interpreter, or None."""
        try:
            return metadata.version(self.distribution)
        except metadata.PackageNotFoundError:
            return None

    def mechanisms_of(self, version: str) -> list[str]:
        """Return the names of the mechanisms that a version of the library has."""
        return [name for name in self.mechanisms if fits(version, self.versions.get(name, ""))]


_HOLDS: dict[str, Callable[[Any, Any], bool]] = {">=": operator.ge, "<": operator.lt, "!=": operator.ne}


def numbers_of(version: str) -> tuple[int, ...]:
    """Return the release numbers of a version, without zeros at the end; none if the version has another form."""
    form = re.fullmatch(r"(\d+(?:\.\d+)*?)(?:\.0)*(?:\.?(?:a|b|rc|dev|post)\d+|\+[\w.]+)*", version)
    return tuple(map(int, form[1].split("."))) if form else ()


def fits(version: str, conditions: str) -> bool:
    """Whether a version's release numbers meet conditions such as `>=0.14.1,!=0.15.1`; True without conditions."""
    stated = re.findall(r"(>=|<|!=)([^,]+)", conditions)
    return all(_HOLDS[relation](numbers_of(version), numbers_of(bound)) for relation, bound in stated)


def adapter_module(place: str) -> str | None:
    """Return the name of the adapter module of the library of this name; None if there is no such library."""
    return f"{__name__}.{place}_adapter" if place in NAMES else None


def adapter_file(place: str) -> str | None:
    """Return the path of the adapter module's file, for another interpreter; None if there is no such library."""
    return str(Path(__file__).with_name(f"{place}_adapter.py")) if place in NAMES else None


def library_of(spec: str) -> Library | None:
    """Return the library in a target's name `library:mechanism`; None if the name has another form."""
    place, separator, _ = spec.rpartition(":")
    return library(place) if separator and place in NAMES else None


def near_library(place: str) -> str:
    """Return the end of a message about an unknown module: the library that was probably meant, or an empty text."""
    near = difflib.get_close_matches(place, NAMES, n=1, cutoff=0.8)
    return f"; did you mean the library {near[0]!r}?" if near else ""


def library(name: str) -> Library:
    """Return the description of a library; raise `UsageError` if there is no adapter of this name."""
    if name not in NAMES:
        raise UsageError(f"no library {name!r}; there are {', '.join(NAMES)}")
    made: Any = importlib.import_module(f"{__name__}.{name}_adapter")
    return Library(name, made.DISTRIBUTION, made.UNSEEDED, tuple(made.MECHANISMS), getattr(made, "VERSIONS", {}))
