"""The page and the machine-readable list of vulnerable primitives, as text."""

from __future__ import annotations

import json
import os
from pathlib import Path

from experiments.primitives import Entry, Listing

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "vulnerable_primitives.md"
LIST = ROOT / "docs" / "reference" / "vulnerable_primitives.json"

HEAD = """\
# Vulnerable primitives

Functions of common libraries that are unfit for the noise or the selections of differential privacy. None of them
promises to be fit: they are made for simulation. What makes them unfit is public, and linked. For programs there is
[vulnerable_primitives.json](vulnerable_primitives.json); both are written by `python -m experiments.primitives` from
`experiments/data/vulnerable_primitives.toml`.

A function that is not listed has not been looked at.

| status | how the list knows |
|---|---|
| shown | a test of the lab runs the function, and an attack refutes what a textbook program does with it |
| measured | audits of the library refuted it; its flaws are in `experiments/data/expected_failures.json` |
| documented | its own documentation or source says what makes it unfit; the lab did not run it |
"""


def page(listing: Listing) -> str:
    """The page."""
    flaws, primitives = listing["flaws"], listing["primitives"]
    parts = [HEAD, "## The flaws\n\n| flaw | what an adversary gains |\n|---|---|"]
    parts[-1] += "".join(f"\n| {flaw['title']} | {flaw['effect']} |" for flaw in flaws) + "\n"
    advice = [f"- **{remedy['id']}**: {remedy['advice']}" for remedy in listing["remedies"]]
    parts.append("## What to use instead\n\n" + "\n".join(advice) + "\n")
    titles = {flaw["id"]: flaw["title"] for flaw in flaws}
    for language in dict.fromkeys(entry["language"] for entry in primitives):
        parts.append(f"## {language}\n")
        parts += [_entry(entry, titles) for entry in primitives if entry["language"] == language]
    return "\n".join(parts)


def json_text(listing: Listing) -> str:
    """The machine-readable list."""
    return json.dumps(listing, ensure_ascii=False, indent=1) + "\n"


def _entry(entry: Entry, titles: dict[str, str]) -> str:
    functions = ", ".join(f"`{function}`" for function in entry["functions"])
    shown = "; ".join(f"{refuted['attack']} refutes `{refuted['use']}`" for refuted in entry["demonstrations"])
    since, until, status = entry["since"], entry["until"], entry["status"]
    versions = "all known" if since == until else f"since {since}, until {until}"
    lines = [
        f"**{entry['library']}**: {functions} ({entry['purpose']})\n",
        f"- Flaws: {', '.join(titles[flaw] for flaw in entry['flaws'])}. {entry['why']}",
        f"- Versions: {versions}. Instead: {entry['remedy']}. Status: {status}{f' ({shown})' if shown else ''}.",
        f"- Evidence: {', '.join(map(_linked, entry['evidence']))}.\n",
    ]
    return "\n".join(lines)


def _linked(evidence: Entry) -> str:
    link = evidence["link"]
    public = link.startswith("https://")
    return f"[{evidence['what']}]({link if public else os.path.relpath(ROOT / link, PAGE.parent)})"
