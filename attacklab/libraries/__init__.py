"""Real DP libraries as targets, one file a library.

An adapter is a plain file: it imports nothing of this package, and its library only inside functions, so it can be read
where the library is not installed, and runs where only numpy and the library are. It defines

- `DISTRIBUTION`: the name under which pip installs the library;
- `UNSEEDED`: whether it draws from the operating system, so that no seed replays its outputs;
- `VERSIONS`, if mechanisms differ by version: for each mechanism, conditions on the versions that have it; see `fits`;
- `MECHANISMS`: by its name, what makes a mechanism. It takes keyword arguments (`epsilon`, `delta`, `bounds`) and
  returns a dict: `kind`, `release` (of many outputs, or of one value where the library cannot be seeded), and any other
  arguments of the constructor of that kind of `Target`. A claim of another kind than (ε, δ) stands there as JSON, under
  `claim`, a domain under `domain`. A sum or a mean states its `relation`: substitute if the number of records is
  public, add-remove if it is not.

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
        name: what precedes the colon in the names of its targets.
        distribution: the name under which pip installs it.
        unseeded: whether no seed replays its outputs.
        mechanisms: the names of its mechanisms.
        versions: for each mechanism that not every version has, conditions on those that have it; see `fits`.
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
        """The mechanisms that a version has."""
        return [name for name in self.mechanisms if fits(version, self.versions.get(name, ""))]


_HOLDS: dict[str, Callable[[Any, Any], bool]] = {">=": operator.ge, "<": operator.lt, "!=": operator.ne}


def numbers_of(version: str) -> tuple[int, ...]:
    """The release numbers of a version, without zeros at the end; none if it has no such form."""
    form = re.fullmatch(r"(\d+(?:\.\d+)*?)(?:\.0)*(?:\.?(?:a|b|rc|dev|post)\d+|\+[\w.]+)*", version)
    return tuple(map(int, form[1].split("."))) if form else ()


def fits(version: str, conditions: str) -> bool:
    """Whether the release numbers of a version fulfil conditions, such as `>=0.14.1,!=0.15.1`, or there are none."""
    stated = re.findall(r"(>=|<|!=)([^,]+)", conditions)
    return all(_HOLDS[relation](numbers_of(version), numbers_of(bound)) for relation, bound in stated)


def adapter_module(place: str) -> str | None:
    """The module with the targets of the library of this name; None if there is no such library."""
    return f"{__name__}.{place}_adapter" if place in NAMES else None


def adapter_file(place: str) -> str | None:
    """The same module as a file, for another interpreter."""
    return str(Path(__file__).with_name(f"{place}_adapter.py")) if place in NAMES else None


def library_of(spec: str) -> Library | None:
    """The library in a target's name `library:mechanism`, or None if the name is of another form."""
    place, separator, _ = spec.rpartition(":")
    return library(place) if separator and place in NAMES else None


def near_library(place: str) -> str:
    """The end of a message that there is no module of this name: the library that was probably meant."""
    near = difflib.get_close_matches(place, NAMES, n=1, cutoff=0.8)
    return f"; did you mean the library {near[0]!r}?" if near else ""


def library(name: str) -> Library:
    """Describe a library; a `UsageError` where there is no adapter of this name."""
    if name not in NAMES:
        raise UsageError(f"no library {name!r}; there are {', '.join(NAMES)}")
    made: Any = importlib.import_module(f"{__name__}.{name}_adapter")
    return Library(name, made.DISTRIBUTION, made.UNSEEDED, tuple(made.MECHANISMS), getattr(made, "VERSIONS", {}))
