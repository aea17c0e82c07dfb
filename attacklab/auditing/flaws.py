"""The flaws that the attacks find, in words for whoever has to repair one: the catalogue in `flaws.toml`."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

from attacklab.model.findings import FAILURE, TOO_LITTLE

FAILS, LITTLE_NOISE = "fails", "little_noise"
"""The names of the flaws that an attack may come across whatever it looks for."""

NAMES: Mapping[str, str] = {FAILURE: FAILS, TOO_LITTLE: LITTLE_NOISE}
"""Those flaws as findings have them, in one line, and their names."""


@dataclass(frozen=True, slots=True)
class Source:
    """Something to read.

    Attributes:
        title: author, year and title.
        url: where it is.
    """

    title: str
    url: str

    def __str__(self) -> str:
        return f"{self.title}, {self.url}"


@dataclass(frozen=True, slots=True)
class Flaw:
    """A flaw.

    Attributes:
        name: that of the attack that looks for it, or one of `NAMES`.
        what: what it is, in a few sentences.
        example: about ten lines of Python that have it; they end in a `target`.
        leak: why it breaks a claim.
        repair: the usual repair, in one line.
        read: what explains it further, the first of them first.
    """

    name: str
    what: str
    example: str
    leak: str
    repair: str
    read: tuple[Source, ...]


@functools.cache
def catalogue() -> Mapping[str, Flaw]:
    """All flaws by their names."""
    data = tomllib.loads(resources.files("attacklab.auditing").joinpath("flaws.toml").read_text(encoding="utf-8"))
    sources = {name: Source(*source) for name, source in data.pop("sources").items()}
    return {
        name: Flaw(
            name,
            entry["what"].strip(),
            entry["example"].strip(),
            entry["leak"].strip(),
            entry["repair"],
            tuple(sources[key] for key in entry["read"]),
        )
        for name, entry in data.items()
    }
