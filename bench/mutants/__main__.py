"""Break the constructors of `mechanisms/core` in one place each, and count which mistakes their tests notice."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from bench.mutants.operators import mutants
from bench.mutants.running import CORE, EQUIVALENT, KILLED, ROOT, SURVIVED, TIMED_OUT, run

RECORD, PAGE = ROOT / "reports" / "data" / "mutants.jsonl", ROOT / "reports" / "mutations.md"

LEFT_OUT = ("cells", "gaussian_claims", "gaussian_tails", "remainder")
"""Enclosures, whose mistakes mostly cost tightness or time; the tests hold them against mpmath."""

PARAGRAPHS = """\
# Mutants of the constructors

*Which mistakes in `mechanisms/core` do its tests notice?*

A mutant is a copy of the constructors with one mistake that people make: a bound or a constant off by one, a wrong
sign, another rounding, a narrower type, a clamp or a check left out, two names or arguments swapped. The {total} here
(seed {seed}) were chosen by digest from all that the operators make. {same} change nothing that a user can see; each
has its reason below. Of the other {counted} the tests in `tests/mechanisms/core` notice {caught} ({share:.1f} %):
{killed} fail a test, and {late} end by a limit on time. {survived} pass all tests.

The checker has no part in this score: it refuses every edit of these files, because their hashes stand in
`checker/readings.json`, and so it cannot tell a mistake from an improvement. What counts is what the tests notice.
The enclosures of tails ({left_out}) are not among these files: a mistake there mostly costs tightness or time, and
tests hold them against mpmath.

| module | fail a test | too slow | pass all tests | change nothing |
|---|---|---|---|---|
{modules}

## What passes all tests

{survivors}

## What changes nothing

{equivalents}

Written by `python -m bench.mutants` from [mutants.jsonl](data/mutants.jsonl), a line a mutant.
[All experiments](index.md).
"""


def main() -> None:
    """Make mutants, run the tests on each, and write the record and the page."""
    parser = argparse.ArgumentParser(prog="python -m bench.mutants", description=__doc__)
    parser.add_argument("--module", action="append", help="one of mechanisms/core; nothing is written [default: all]")
    parser.add_argument("--sample", type=int, default=300, help="how many mutants, 0 for all [default: 300]")
    parser.add_argument("--seed", type=int, default=0, help="which ones [default: 0]")
    parser.add_argument("--again", action="store_true", help="take from the record what was killed, and run the others")
    options = parser.parse_args()
    sources = {path.stem: path.read_text("utf-8") for path in sorted((ROOT / CORE).glob("*.py"))}
    names = options.module or [name for name in sources if name not in LEFT_OUT]
    chosen = [mutant for name in names for mutant in mutants(name, sources[name])]
    chosen = sorted(chosen, key=lambda mutant: mutant.rank(options.seed))[: options.sample or None]
    before = map(json.loads, RECORD.read_text("utf-8").splitlines()) if options.again else ()
    kept = {row["key"]: row for row in before if row["outcome"] in (KILLED, TIMED_OUT)}
    rows = [kept[mutant.key] for mutant in chosen if mutant.key in kept]
    left = [mutant for mutant in chosen if mutant.key not in kept]
    for row in run(left, sources, is_whole=not (options.module or options.again)):
        rows.append(row)
        print(f"{row['outcome']} in {row['seconds']:.0f} s: {row['key']}", flush=True)
        if not options.module:
            RECORD.write_text("".join(json.dumps(each, ensure_ascii=False) + "\n" for each in rows), "utf-8")
    print(dict(Counter(row["outcome"] for row in rows)))
    if not options.module:
        rows.sort(key=lambda row: (row["module"], row["line"], row["key"]))
        RECORD.write_text("".join(json.dumps(each, ensure_ascii=False) + "\n" for each in rows), "utf-8")
        PAGE.write_text(page(rows, options.seed), "utf-8")


def page(rows: Sequence[Mapping[str, Any]], seed: int) -> str:
    """Return the page in Markdown."""
    outcomes = Counter(row["outcome"] for row in rows)
    modules: dict[str, Counter[str]] = {}
    reasons: dict[str, str] = {}
    for row in rows:
        modules.setdefault(row["module"], Counter())[row["outcome"]] += 1
        if "reason" in row:
            reasons[row["reason"]] = reasons.get(row["reason"], "") + f"\n  - `{row['key']}`"
    counted, caught = len(rows) - outcomes[EQUIVALENT], outcomes[KILLED] + outcomes[TIMED_OUT]
    order = (KILLED, TIMED_OUT, SURVIVED, EQUIVALENT)
    return PARAGRAPHS.format(
        total=len(rows),
        seed=seed,
        left_out=", ".join(f"`{name}`" for name in LEFT_OUT),
        same=outcomes[EQUIVALENT],
        counted=counted,
        caught=caught,
        share=100 * caught / counted,
        killed=outcomes[KILLED],
        late=outcomes[TIMED_OUT],
        survived=outcomes[SURVIVED] or "None",
        modules="\n".join(
            f"| `{name}` | {' | '.join(str(counts[each]) for each in order)} |" for name, counts in modules.items()
        ),
        survivors="\n\n".join(f"`{row['module']}`:\n\n```diff\n{row['diff']}\n```" for row in rows if "diff" in row)
        or "Nothing.",
        equivalents="\n".join(f"- {reason}{keys}" for reason, keys in reasons.items()) or "Nothing.",
    )


if __name__ == "__main__":
    main()
