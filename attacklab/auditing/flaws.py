"""The flaws that the attacks find, in words for whoever has to repair one: the catalogue in `flaws.toml`."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import resources

from attacklab.model.findings import FAILURE, ON_LATTICE, TOO_LITTLE, Finding, Verdict

FAILS, LITTLE_NOISE, LATTICE = "fails", "little_noise", "lattice"
"""The names of the flaws that an attack may come across whatever it looks for."""

NAMES: Mapping[str, str] = {FAILURE: FAILS, TOO_LITTLE: LITTLE_NOISE, ON_LATTICE: LATTICE}
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
class Weakness:
    """An entry of the Common Weakness Enumeration.

    Attributes:
        number: its number there.
        title: its title there.
    """

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
    """A flaw.

    Attributes:
        name: that of the attack that looks for it, or one of `NAMES`.
        weakness: the sort of weakness in software that it is, as others number them.
        what: what it is, in a few sentences.
        example: about ten lines of Python that have it; they end in a `target`.
        leak: why it breaks a claim.
        repair: the usual repair, in one line.
        read: what explains it further, the first of them first.
    """

    name: str
    weakness: Weakness
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
    weaknesses = {int(number): Weakness(int(number), title) for number, title in data.pop("weaknesses").items()}
    return {
        name: Flaw(
            name,
            weaknesses[entry["cwe"]],
            entry["what"].strip(),
            entry["example"].strip(),
            entry["leak"].strip(),
            entry["repair"],
            tuple(sources[key] for key in entry["read"]),
        )
        for name, entry in data.items()
    }


def flaw_of(finding: Finding) -> Flaw | None:
    """The catalogue's entry of the flaw that a finding shows; None where its attack is somebody's own."""
    return catalogue().get(NAMES.get(finding.flaw, finding.attack))


def with_weakness(finding: Finding) -> Finding:
    """The finding with the number of the weakness that it shows, if it shows a flaw that is known."""
    flaw = flaw_of(finding) if finding.verdict is Verdict.VIOLATED else None
    return replace(finding, cwe=None if flaw is None else flaw.weakness.number)
