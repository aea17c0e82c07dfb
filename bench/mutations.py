"""Mutants of the exact mechanisms: what the checker refuses, beside what the ordinary tests notice.

A mutant is a copy of the mechanisms with one edit. Its certificates are written anew by its own code, so that nothing
is refused because a source has changed. Operators make a sample of the edits; others were thought up to get past the
checker. Outcomes are kept in `bench/data/mutants.jsonl`, and a mutant runs again when what decides on it has
changed; the ordinary tests, which take hours, run by `make mutants` alone.

Source: DeMillo, Lipton and Sayward 1978, 'Hints on Test Data Selection' (mutation testing).
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from attacklab.reporting.experiment import Collected, Data, Settings
from attacklab.reporting.figures import Figure, Panel, Role, Series
from bench.mutants.listing import mutants
from bench.mutants.running import JOURNAL, KILLED, SURVIVED, TIMED_OUT, Journal, check_mutants, run_whole
from bench.mutants.score import escaped, families, must_be_refused, row_of
from bench.mutants.trees import folder_for_certificates
from bench.mutants.trial import REFUSED

QUESTION = "Does the checker refuse certificates of mechanisms that are broken in one place?"

QUICK_TARGETS = ("exact_randomized_response",)
QUICK_MUTANTS = 6
PARAGRAPH = """\
{total} mutants, each with one edit: {sampled} made by operators and chosen by digest, {thought_up} thought up to get
past the checker. Of {broken} that break a law or a claim, and that a certificate speaks of, the checker accepts
{escaped}; {refused} are refused with a reason and {late} end by a time limit alone. {tests} {keeping} mutants keep
their law or their claim all the same, each with the reason in the data: {same} have the same law and {weaker} another
law that keeps every claim. Of these the checker accepts {tolerated} and refuses {cautious}, which costs a proof and no
privacy. {untouched} No certificate is refused here because a source has changed: each is written anew by the mutant's
own code, and where that is refused it is tried with the evidence of the whole mechanism as well. These mutants gauge
what they try and no more: of {outside} edits of an outside review, each of which falsifies what a certificate states,
the checker accepted {outside_accepted} (docs/explanations/what_a_proof_means.md says of which kinds).{escapes}"""

OUTSIDE, OUTSIDE_ACCEPTED = 113, 34
"""The edits of that review, which are not kept here, and how many of them were accepted."""


def collect(settings: Settings) -> Collected:
    """Write and check the certificates of all mutants; in a quick run of a few, without the journal."""
    listed = mutants()
    journal = Journal(None if settings.quick else JOURNAL)
    with folder_for_certificates() as folder:
        whole = run_whole(folder, QUICK_TARGETS if settings.quick else ())
        if settings.quick:
            listed = sorted((one for one in listed if whole.targets_of(one)), key=lambda one: one.key)[:QUICK_MUTANTS]
        checked = check_mutants(listed, whole, folder, journal)
    rows = [row_of(one, checked[one.key], journal.kept(f"tests of {one.key}")) for one in listed]
    seconds: dict[str, float] = {}
    for one in (outcome for found in checked.values() for outcome in found):
        seconds[one["target"]] = max(seconds.get(one["target"], 0.0), one["seconds"])
    return Collected(measured={"mutants": rows}, timings={"seconds_of_certificates": seconds})


def figures(data: Data) -> list[Figure]:
    """Draw, for each family, how many mutants there are, how many are refused and how many the tests kill."""
    sorted_rows = families(must_be_refused(data["measured"]["mutants"]))
    places = range(len(sorted_rows))
    lists = list(sorted_rows.values())
    counted = [
        Series(label="broken", role=Role.CEILING, x=list(map(len, lists)), y=list(places), marks_only=True),
        Series(
            label="not accepted by the checker",
            role=Role.EXACT,
            x=[len(rows) - len(escaped(rows)) for rows in lists],
            y=list(places),
            marks_only=True,
        ),
    ]
    if any(row["tests"] for rows in lists for row in rows):
        killed = [sum(row["tests"] in (KILLED, TIMED_OUT) for row in rows) for rows in lists]
        counted.append(
            Series(label="killed by the ordinary tests", role=Role.NAIVE, x=killed, y=list(places), marks_only=True)
        )
    panel = Panel(
        title="Mutants that break a law or a claim",
        x_label="mutants",
        y_label="",
        series=counted,
        y_names=list(sorted_rows),
    )
    return [Figure(name="mutations", caption="Mutants of each family, and what notices them.", panels=(panel,))]


def explain(data: Data) -> str:
    """Say what the checker refuses."""
    rows = data["measured"]["mutants"]
    broken = must_be_refused(rows)
    refused = [row for row in broken if not row["escapes"]]
    late = [row for row in refused if all(one["outcome"] == TIMED_OUT for one in row["certificates"])]
    keeping = [row for row in rows if row["keeps"]]
    spoken_of = [row for row in keeping if row["certificates"]]
    cautious = [row for row in spoken_of if any(one["outcome"] == REFUSED for one in row["certificates"])]
    untouched = [row for row in rows if not row["certificates"]]
    return PARAGRAPH.format(
        total=len(rows),
        sampled=sum(not row["thought_up"] for row in rows),
        thought_up=sum(row["thought_up"] for row in rows),
        broken=len(broken),
        escaped=len(escaped(rows)) or "none",
        refused=len(refused) - len(late),
        late=len(late),
        tests=_of_tests(broken),
        keeping=len(keeping),
        same=sum(row["keeps"].startswith("law") for row in keeping),
        weaker=sum(row["keeps"].startswith("claim") for row in keeping),
        tolerated=len(spoken_of) - len(cautious),
        cautious=len(cautious),
        outside=OUTSIDE,
        outside_accepted=OUTSIDE_ACCEPTED,
        untouched=f"Of {len(untouched)} mutants no certificate speaks." if untouched else "",
        escapes="".join(f"\n\n- accepted: {_named(row)}" for row in escaped(rows)),
    )


def explain_timings(data: Data) -> str:
    """Say how long a certificate takes."""
    seconds = data["timings"]["seconds_of_certificates"].values()
    return f"Writing and checking one mutant's certificate took at most {max(seconds, default=0):.0f} s here."


def _of_tests(broken: list[dict[str, Any]]) -> str:
    outcomes = Counter(row["tests"] for row in broken if row["tests"])
    tested = outcomes.total()
    if not tested:
        return "The ordinary tests have not run on these mutants; `make mutants` runs them."
    only = sum(row["tests"] == SURVIVED and not row["escapes"] for row in broken)
    return (
        f"The ordinary tests of the same folders, run on {tested} of them, kill {outcomes[KILLED]} and hang on "
        f"{outcomes[TIMED_OUT]}; {only} pass all of these tests, and the checker alone notices them."
    )


def _named(row: dict[str, Any]) -> str:
    place = f"`{row['module']}:{row['function']}`"
    return f"{place}, `{row['before']}` made `{row['after']}`, of {', '.join(row['escapes'])}"
