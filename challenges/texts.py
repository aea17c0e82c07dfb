"""What the judge says, in each language."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib import resources

from challenges.catalogue import CHALLENGES, Challenge

TEXTS: Mapping[str, Mapping[str, str]] = tomllib.loads(
    resources.files("challenges").joinpath("texts.toml").read_text(encoding="utf-8")
)


def text(language: str, key: str, **values: object) -> str:
    """A text with its places filled in."""
    return TEXTS[language][key].format(**values)


def described_claim(challenge: Challenge) -> str:
    """A claim as people write it."""
    delta = f", δ = {challenge.claim.delta:g}" if challenge.claim.delta else ""
    return f"ε = {challenge.claim.epsilon:g}{delta}"


def listed(language: str) -> list[str]:
    """The challenges, a line each: number, name and claim; then how to go on."""
    rows = [
        text(
            language,
            "row",
            number=number,
            name=challenge.name,
            claim=described_claim(challenge),
            what=text(language, challenge.name),
        )
        for number, challenge in enumerate(CHALLENGES, 1)
    ]
    return [text(language, "title"), *rows, text(language, "go_on")]
