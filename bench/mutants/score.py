"""The score: which mutants were refused, which were killed by the ordinary tests, and which got away."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bench.mutants.kept import KEPT
from bench.mutants.mutant import Mutant
from bench.mutants.running import Outcome
from bench.mutants.trial import ACCEPTED

Row = dict[str, Any]


def row_of(mutant: Mutant, checked: Sequence[Outcome], tested: Outcome | None) -> Row:
    """Say everything about a mutant as JSON values.

    Args:
        mutant: which.
        checked: what became of its certificates.
        tested: what became of it in the ordinary tests; None if they have not run.

    Returns:
        `keeps` says what holds all the same, and `escapes` lists the targets whose certificates were accepted although
        nothing says that they keep their claim.
    """
    keeps = mutant.keeps or KEPT.get(mutant.key, "")
    accepted = [one for one in checked if one["outcome"] == ACCEPTED]
    return {
        "key": mutant.key,
        "module": mutant.module,
        "function": mutant.function,
        "before": mutant.before,
        "after": mutant.after,
        "effect": mutant.effect,
        "thought_up": mutant.thought_up,
        "keeps": keeps,
        "certificates": [
            {name: one.get(name, "") for name in ("target", "theorem", "outcome", "reason")} for one in checked
        ],
        "escapes": [] if keeps else [one["target"] for one in accepted],
        "tests": tested["outcome"] if tested else "",
        "test": tested["by"] if tested else "",
    }


def must_be_refused(rows: Iterable[Row]) -> list[Row]:
    """Return the mutants that break a claim or a law, of which some certificate speaks."""
    return [row for row in rows if not row["keeps"] and row["certificates"]]


def escaped(rows: Iterable[Row]) -> list[Row]:
    """Return the mutants of which a certificate was accepted that should not have been."""
    return [row for row in rows if row["escapes"]]


def families(rows: Iterable[Row]) -> Mapping[str, list[Row]]:
    """Sort mutants by the family of mechanisms, or the shared module, that they are of."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        family, _, inner = row["module"].partition("/")
        found.setdefault(family.replace("_", " ") if inner else "shared code", []).append(row)
    return dict(sorted(found.items()))
