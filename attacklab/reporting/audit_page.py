"""An audit as one page of HTML for people who sign things: what was claimed, tested and found, and what was not tested.

The page needs nothing beside itself: no script, no font, no picture from elsewhere. Whatever a target says in it is
escaped, and has no control characters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from attacklab.auditing.flaws import flaw_of
from attacklab.auditing.ordinary import best
from attacklab.auditing.statistics.power import POWER
from attacklab.model.findings import WORST_FIRST, Estimate, Finding, Verdict, environment, lower_text, upper_text
from attacklab.reporting.rendering import render
from attacklab.reporting.summary import UNDECIDED, detectable, summary
from attacklab.reporting.wording import claim_text, judged_text, pair_text, repair_text, shown_by

SHOWN = (Verdict.VIOLATED, Verdict.ERROR)
"""The verdicts of findings that have a section of their own."""


def audit_page(
    findings: Sequence[Finding],
    when: datetime,
    made_with: Mapping[str, str] | None = None,
    *,
    place: str = "",
    command: str = "",
) -> str:
    """The page.

    Args:
        findings: of one target; at least one.
        when: the end of the audit.
        made_with: versions and the machine, as `findings.environment` has them; those of this process by default.
        place: the file of the target, where it has one.
        command: the command line that made the findings, where there was one.

    Returns:
        HTML text.
    """
    strongest = best(findings)
    tested = sorted(
        (finding for finding in findings if finding.verdict is not Verdict.NOT_APPLICABLE),
        key=lambda finding: (finding is not strongest, not finding.refutes, WORST_FIRST.index(finding.verdict)),
    )
    shown = [finding for finding in tested if finding.verdict in SHOWN]
    return render(
        "audit_page.html",
        FILTERS,
        target=findings[0].target,
        version=findings[0].target_version,
        place=place,
        command=command,
        power=f"{POWER:.0%}",
        claims=list(dict.fromkeys(claim_text(finding) for finding in findings)),
        relation=next((finding.relation for finding in findings if finding.relation), None),
        headline=summary(findings),
        meaning=meaning(findings),
        tested=tested,
        shown=shown,
        not_tested=not_tested(findings),
        outputs=sum(finding.trials for finding in findings),
        seconds=sum(finding.seconds for finding in findings),
        seeds=sorted({finding.seed for finding in findings if finding.seed is not None}),
        when=when,
        made_with=environment() if made_with is None else made_with,
    )


def meaning(findings: Sequence[Finding]) -> str:
    """What that verdict rests on."""
    refuting = [finding for finding in findings if finding.refutes]
    if refuting:
        if any(finding.laws is not None for finding in refuting):
            return "The refutation rests on exact laws of outputs, not on samples; chance has no part in it."
        if any(finding.witness is not None for finding in refuting):
            return (
                "The refutation rests on runs on both inputs with the same noise, which show where the code around it "
                "leaks; it takes no part of the probability of a false alarm."
            )
        return (
            "The refutation rests on outputs that were drawn after the event had been chosen. Were the claim true, an "
            f"audit like this would refute it with a probability of {_odds(_alpha(findings))}."
        )
    shown = detectable(findings)
    if shown:
        return (
            "Each attack that reached a verdict looked for a flaw of its own. What it would have detected with a "
            f"probability of {POWER:.0%} is an advantage of {shown}, by its "
            "event; smaller leaks, and flaws that none of the attacks looks for, may be there."
        )
    undecided = [finding for finding in findings if finding.verdict in UNDECIDED]
    if undecided and not any(finding.verdict is Verdict.ERROR for finding in findings):
        return (
            f"None of the attacks could decide. {undecided[0].attack} says: {undecided[0].reason}. What the others say "
            "stands under what was not tested."
        )
    return "The findings below say what happened."


def not_tested(findings: Sequence[Finding]) -> list[str]:
    """What this audit says nothing about."""
    others = sorted({finding.attack for finding in findings if finding.verdict is Verdict.NOT_APPLICABLE})
    undecided: dict[str, list[str]] = {}
    for finding in findings:
        if finding.verdict in UNDECIDED:
            undecided.setdefault(finding.reason, []).append(finding.attack)
    failed = sorted({finding.attack for finding in findings if finding.verdict is Verdict.ERROR})
    return [
        *_named("What these attacks look for, because they do not apply to this target", others),
        *(f"Not decided by {', '.join(dict.fromkeys(attacks))}: {reason}." for reason, attacks in undecided.items()),
        *_named("What these attacks look for, because they ended in an error", failed),
        "Pairs of inputs other than those that were tried, and events other than those that were chosen.",
        "Whether sensitivity, domain and neighbouring relation are declared as they are used in production.",
        "Time, memory, logs, and what several releases tell together, except where a finding speaks of them.",
        "Versions, machines and settings other than those named above.",
    ]


def _named(text: str, attacks: Sequence[str]) -> list[str]:
    return [f"{text}: {', '.join(attacks)}."] if attacks else []


def _pair(finding: Finding) -> str:
    return pair_text(finding).removeprefix("pair").removeprefix(":").strip()


def _size(difference: Estimate) -> Estimate:
    """How far apart two rates are, whichever is the larger one."""
    if difference.estimate < 0:
        difference = Estimate(-difference.estimate, -difference.upper, -difference.lower)
    return replace(difference, lower=max(0.0, difference.lower))


def _alpha(findings: Sequence[Finding]) -> float:
    """The α of the whole audit, without what its shares' own rounding to doubles adds."""
    return float(f"{math.fsum(finding.alpha for finding in findings if finding.alpha is not None):.12g}")


def _odds(probability: float) -> str:
    """An upper bound on a probability as one in so many, and as a number."""
    return f"at most one in {float(lower_text(1 / probability, 2)):,.0f} ({upper_text(probability, 2)})"


def _read(finding: Finding) -> list[Any]:
    flaw = flaw_of(finding) if finding.refutes else None
    return [] if flaw is None else list(flaw.read)


FILTERS: Mapping[str, Callable[..., Any]] = {
    "pair": _pair,
    "size": _size,
    "judged": judged_text,
    "odds": _odds,
    "shown_by": shown_by,
    "up2": partial(upper_text, digits=2),
    "upper": upper_text,
    "repair": repair_text,
    "read": _read,
}
"""What the template calls."""
