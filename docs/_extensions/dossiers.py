"""Dossiers: for one version of a library what was tested, what covers which hazard, what was not, how to reproduce it.

All of it comes from the record of the experiment `libraries`, which publishes only what is publicly known, and from the
tables of the page on NIST SP 800-226, which say what tests each hazard.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attacklab.auditing.flaws import catalogue
from attacklab.model.findings import lower_text

ROOT = Path(__file__).parents[2]
RECORD = ROOT / "reports" / "measured" / "libraries.json"
NIST = ROOT / "docs" / "reference" / "nist_sp_800_226.md"


def dossier(name: str) -> Iterator[str]:
    """The page of one version.

    Args:
        name: an environment of `environments/`, or a library that the lab itself depends on.
    """
    rows = [row for row in _rows() if (row["environment"] or row["library"]) == name]
    if not rows:
        yield "**Not audited yet**: no record of it is kept. The lines below audit it.\n"
    else:
        yield from _tested(rows)
        yield from _hazards({row["attack"] for row in rows})
        yield from _not_tested({row["attack"] for row in rows})
    yield from _reproduced(name, rows)


def _tested(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    measured = rows[0]["measured"]
    mechanisms = list(dict.fromkeys(row["mechanism"] for row in rows))
    yield "## What was tested\n"
    machine = f"{measured['system']} {measured['machine']}, Python {measured['python']}"
    yield (
        f"{len(mechanisms)} mechanisms of {rows[0]['version']}, each claiming ε = 1, for some seconds each, on "
        f"{measured['date']} ({machine}). *Not detected* is not a proof: it says which advantage would have been "
        "detected. Of a mechanism that is refuted, only publicly known flaws are listed "
        "([SECURITY.md](../../../SECURITY.md)).\n"
    )
    yield "| mechanism | attack | verdict | ε at least | detectable | outputs |"
    yield "|---|---|---|---|---|---|"
    for row in rows:
        bound = "" if row["epsilon_lower"] is None else lower_text(row["epsilon_lower"])
        detectable = "" if row["smallest_detectable"] is None else f"{row['smallest_detectable']:.3g}"
        attack = row["attack"]  # of a record that may be older than the catalogue
        flaw = f"[{attack}](../flaws.md#{attack.replace('_', '-')})" if attack in catalogue() else attack
        verdict = f"{row['verdict']}, a [known flaw]({row['link']})" if row["link"] else row["verdict"]
        cells = [row["mechanism"], flaw, verdict, bound, detectable, f"{row['trials']:,}"]
        yield f"| {' | '.join(cells)} |"
    yield ""


def _hazards(attacks: set[str]) -> Iterator[str]:
    yield "## Which hazards of NIST SP 800-226 that covers\n"
    yield "| hazard | attacks that looked for it |\n|---|---|"
    for hazard, testing in _hazards_by_row().items():
        looked = sorted(testing & attacks)
        if looked:
            yield f"| {hazard} | {', '.join(looked)} |"
    yield "\nWhat each of them leaves untested: [NIST SP 800-226](../nist_sp_800_226.md).\n"


def _not_tested(attacks: set[str]) -> Iterator[str]:
    untested = [hazard for hazard, testing in _hazards_by_row().items() if not testing & attacks]
    yield "## What was not tested\n"
    yield "- Every function of the library that the table does not name, its accountants, and your code around it."
    yield "- An attack that the table does not name for a mechanism: it does not apply, or nothing of it may be listed."
    yield f"- Hazards that none of these attacks looks for: {'; '.join(untested)}.\n"


def _reproduced(name: str, rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    is_environment = (ROOT / "environments" / f"{name}.txt").is_file()
    library = name.rpartition("-")[0] if is_environment else name
    mechanism = rows[0]["mechanism"] if rows else "laplace"
    yield "## Reproduce it\n"
    yield f"    make .environments/{name}/.ready" if is_environment else "    make install"
    in_environment = f" --in-env {name}" if is_environment else ""
    yield f"    .venv/bin/attacklab audit {library}:{mechanism} --epsilon 1{in_environment}\n"


@functools.cache
def _rows() -> Sequence[Mapping[str, Any]]:
    rows: Sequence[Mapping[str, Any]] = json.loads(RECORD.read_text("utf-8"))["timings"]["rows"]
    return rows


@functools.cache
def _hazards_by_row() -> Mapping[str, set[str]]:
    """The attacks that look for each hazard of the page on NIST SP 800-226."""
    cells = re.findall(r"(?m)^\| (.+?) \|(.*?)\| .*\|$", NIST.read_text("utf-8"))
    return {hazard: set(re.findall(r"`(\w+)`", testing)) for hazard, testing in cells if hazard != "hazard"}
