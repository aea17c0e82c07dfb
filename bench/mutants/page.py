"""The page of mutants, from their record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from bench.mutants.running import EQUIVALENT, KILLED, SURVIVED, TIMED_OUT

_PAGE = """\
# Mutants of the constructors

*Which mistakes in `mechanisms/core` do its tests notice?*

A mutant is a copy of the constructors with one mistake that people make: a bound or a constant off by one, a wrong
sign, another rounding, a narrower type, a clamp or a check left out, two names or arguments swapped. This sample of
{total} (seed {seed}) was chosen by digest from all that the operators make. {same} change nothing that anybody can see;
each has its reason below. Of the other {counted} the tests in `tests/mechanisms/core` notice {caught} ({share:.1f} %):
{killed} fail a test, and {late} end by a limit on time. {survived} pass all tests.

The checker has no part in this score: it refuses every edit of these files, because their hashes stand in
`checker/readings.json`, and so it cannot tell a mistake from an improvement. What tells is the tests, and a reader.

| module | mutants | equivalent | fail a test | too slow | pass all tests |
|---|---|---|---|---|---|
{modules}

## What passes all tests

{survivors}

## What changes nothing

{equivalents}

Written by `python -m bench.mutants` from [mutants.jsonl](data/mutants.jsonl), a line a mutant.
[All experiments](index.md).
"""


def page(rows: Sequence[Mapping[str, Any]], seed: int) -> str:
    """Return the page in Markdown."""
    outcomes = Counter(row["outcome"] for row in rows)
    counted = len(rows) - outcomes[EQUIVALENT]
    caught = outcomes[KILLED] + outcomes[TIMED_OUT]
    survivors = [f"In `{row['key'].split(': ')[0]}`:\n\n```diff\n{row['diff']}\n```" for row in rows if "diff" in row]
    reasons: dict[str, list[str]] = {}
    for row in rows:
        if row["outcome"] == EQUIVALENT:
            reasons.setdefault(row["reason"], []).append(row["key"])
    return _PAGE.format(
        total=len(rows),
        seed=seed,
        same=outcomes[EQUIVALENT],
        counted=counted,
        caught=caught,
        share=100 * caught / counted,
        killed=outcomes[KILLED],
        late=outcomes[TIMED_OUT],
        survived=outcomes[SURVIVED] or "None",
        modules="\n".join(map(_row, _by_module(rows).items())),
        survivors="\n\n".join(survivors) or "Nothing.",
        equivalents="\n".join(f"- {reason}\n" + _listed(keys) for reason, keys in reasons.items()) or "Nothing.",
    )


def _by_module(rows: Sequence[Mapping[str, Any]]) -> dict[str, Counter[str]]:
    counts: dict[str, Counter[str]] = {}
    for row in rows:
        counts.setdefault(row["module"], Counter())[row["outcome"]] += 1
    return counts


def _row(counted: tuple[str, Counter[str]]) -> str:
    module, outcomes = counted
    columns = [outcomes.total(), *(outcomes[each] for each in (EQUIVALENT, KILLED, TIMED_OUT, SURVIVED))]
    return f"| `{module}` | " + " | ".join(map(str, columns)) + " |"


def _listed(keys: Sequence[str]) -> str:
    return "\n".join(f"  - `{key}`" for key in keys)
