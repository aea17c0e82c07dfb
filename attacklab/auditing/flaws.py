"""The flaws that the attacks find, in words for whoever has to repair one: the catalogue in `flaws.toml`."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources


@dataclass(frozen=True, slots=True)
class Source:
    """Something to read."""

    title: str  # author, year and title
    url: str

    def __str__(self) -> str:
        return f"{self.title}, {self.url}"


@dataclass(frozen=True, slots=True)
class Weakness:
    """An entry of the Common Weakness Enumeration, with its number and title there."""

    number: int
    title: str

    @property
    def url(self) -> str:
        """Where it is described."""
        return f"https://cwe.mitre.org/data/definitions/{self.number}.html"

    def __str__(self) -> str:
        return f"CWE-{self.number}: {self.title}"


@dataclass(frozen=True, slots=True)
class Flaw:
    """A flaw."""

    name: str  # the name of the attack that looks for it, or one of `repairs.NAMES`
    code: str  # its number, which never changes and is never given to another flaw
    title: str  # two words for it, for a narrow column
    sentence: str  # what it is, in at most 40 characters
    weakness: Weakness
    what: str  # what it is, in a few sentences
    example: str  # about ten lines of Python that have it; they end in a `target`
    leak: str  # why it breaks a claim
    repair: str  # the usual repair, in one line
    read: tuple[Source, ...]  # what explains it further, the first of them first


@functools.cache
def catalogue() -> Mapping[str, Flaw]:
    """All flaws by their names."""
    data = tomllib.loads(resources.files("attacklab.auditing").joinpath("flaws.toml").read_text(encoding="utf-8"))
    sources = {name: Source(*source) for name, source in data.pop("sources").items()}
    weaknesses = {int(number): Weakness(int(number), title) for number, title in data.pop("weaknesses").items()}
    return {
        name: Flaw(
            name=name,
            weakness=weaknesses[entry["cwe"]],
            read=tuple(sources[key] for key in entry["read"]),
            **{key: text.strip() for key, text in entry.items() if key not in ("cwe", "read")},
        )
        for name, entry in data.items()
    }
