"""Break the constructors of `mechanisms/core` in one place each, and count which mistakes their tests notice."""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.mutants.operators import mutants
from bench.mutants.running import CORE, EQUIVALENT, KILLED, ROOT, SURVIVED, TIMED_OUT, run

RECORD, PAGE = ROOT / "reports" / "data" / "mutants.jsonl", ROOT / "reports" / "mutations.md"

LEFT_OUT = ("cells", "gaussian_claims", "gaussian_tails", "remainder")  # mistakes there mostly cost tightness or time


def main() -> None:
    """Make mutants, run the tests on each, and write the record and the page."""
    parser = argparse.ArgumentParser(prog="python -m bench.mutants", description=__doc__)
    parser.add_argument("--module", action="append", help="one of mechanisms/core; nothing is written [default: all]")
    parser.add_argument("--sample", type=int, default=400, help="how many mutants, 0 for all [default: 400]")
    parser.add_argument("--seed", type=int, default=0, help="which ones [default: 0]")
    parser.add_argument("--again", action="store_true", help="take from the record what was killed, and run the others")
    options = parser.parse_args()
    sources = {path.stem: path.read_text("utf-8") for path in sorted((ROOT / CORE).glob("*.py"))}
    names = options.module or [name for name in sources if name not in LEFT_OUT]
    chosen = [mutant for name in names for mutant in mutants(name, sources[name])]
    chosen.sort(key=lambda mutant: hashlib.sha256(f"{options.seed} {mutant.key}".encode()).digest())
    del chosen[options.sample or len(chosen) :]
    before = map(json.loads, RECORD.read_text("utf-8").splitlines()) if options.again else ()
    kept = {row["key"]: row for row in before if row["outcome"] in (KILLED, TIMED_OUT)}
    rows = [kept[mutant.key] for mutant in chosen if mutant.key in kept]
    for row in run([mutant for mutant in chosen if mutant.key not in kept], sources):
        rows.append(row)
        print(f"{row['outcome']} in {row['seconds']:.0f} s: {row['key']}", flush=True)
    print(dict(Counter(row["outcome"] for row in rows)))
    if not options.module:
        rows.sort(key=lambda row: (row["module"], row["line"], row["key"]))
        RECORD.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
        PAGE.write_text(page(rows, options.seed, sources), "utf-8")


def page(rows: Sequence[Mapping[str, Any]], seed: int, sources: Mapping[str, str]) -> str:
    """Return the page in Markdown, which says how many mutants the present sources no longer have."""
    today = {mutant.key for name, source in sources.items() for mutant in mutants(name, source)}
    gone = sum(row["key"] not in today for row in rows)
    outcomes = Counter(row["outcome"] for row in rows)
    modules: dict[str, Counter[str]] = {}
    reasons: dict[str, str] = {}
    for row in rows:
        modules.setdefault(row["module"], Counter())[row["outcome"]] += 1
        if "reason" in row:
            reasons[row["reason"]] = reasons.get(row["reason"], "") + f"\n  - `{row['key']}`"
    order = (KILLED, TIMED_OUT, SURVIVED, EQUIVALENT)
    lines = [f"| `{name}` | {' | '.join(str(counts[kind]) for kind in order)} |" for name, counts in modules.items()]
    diffs = [f"`{row['module']}`:\n\n```diff\n{row['diff']}\n```" for row in rows if "diff" in row]
    counted, caught = len(rows) - outcomes[EQUIVALENT], outcomes[KILLED] + outcomes[TIMED_OUT]
    return (
        Path(__file__)
        .with_name("page.txt")
        .read_text("utf-8")
        .format(
            total=len(rows),
            seed=seed,
            same=outcomes[EQUIVALENT],
            counted=counted,
            caught=caught,
            share=100 * caught / counted,
            killed=outcomes[KILLED],
            late=outcomes[TIMED_OUT],
            survived=outcomes[SURVIVED] or "None",
            older=f"\n\n**Older than the code**: {gone} of these mutants edit lines that have changed since."
            if gone
            else "",
            left_out=", ".join(f"`{name}`" for name in LEFT_OUT),
            modules="\n".join(lines),
            survivors="\n\n".join(diffs) or "Nothing.",
            equivalents="\n".join(f"- {reason}{keys}" for reason, keys in reasons.items()) or "Nothing.",
        )
    )


if __name__ == "__main__":
    main()
