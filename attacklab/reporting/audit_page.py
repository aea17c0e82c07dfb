"""An audit as one page of HTML for people who sign things: what was claimed, tested and found, and what was not tested.

The page needs nothing beside itself: no script, no font, no picture from elsewhere. Whatever a target says in it is
escaped, and has no control characters.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from attacklab.auditing.flaws import flaw_of
from attacklab.auditing.ordinary import best
from attacklab.auditing.statistics.choosing import POWER
from attacklab.model.findings import WORST_FIRST, Finding, Verdict, environment, upper_text
from attacklab.reporting.rendering import render
from attacklab.reporting.screen import screen
from attacklab.reporting.wording import inputs_text, judged_text, repair_text, shown_by

SHOWN = (Verdict.VIOLATED, Verdict.ERROR)
"""The verdicts of findings that have a section of their own."""


def audit_page(findings: Sequence[Finding], when: datetime, *, place: str = "", command: str = "") -> str:
    """Return the page of an audit, as HTML.

    Args:
        findings: the findings of one target, at least one.
        when: the end of the audit.
        place: the target's source file; empty if it has none.
        command: the command line that made the findings; empty if there was none.
    """
    strongest = best(findings)
    tested = sorted(
        (finding for finding in findings if finding.verdict is not Verdict.NOT_APPLICABLE or finding.is_note),
        key=lambda finding: (finding is not strongest, not finding.refutes, WORST_FIRST.index(finding.verdict)),
    )
    return render(
        "audit_page.html",
        FILTERS,
        target=findings[0].target,
        version=findings[0].target_version,
        place=place,
        command=command,
        power=f"{POWER:.0%}",
        relation=next((finding.relation for finding in findings if finding.relation), None),
        screen=screen(findings, place, more="what follows"),
        tested=tested,
        shown=[finding for finding in tested if finding.verdict in SHOWN],
        not_tested=_not_tested(findings),
        outputs=sum(finding.trials for finding in findings),
        seconds=sum(finding.seconds for finding in findings),
        seeds=sorted({finding.seed for finding in findings if finding.seed is not None}),
        when=when,
        made_with=environment(),
    )


def _not_tested(findings: Sequence[Finding]) -> list[str]:
    """Return sentences on what this audit did not test or decide."""
    said: dict[str, list[str]] = {}
    for finding in findings:
        if finding.verdict is Verdict.NOT_APPLICABLE and not finding.is_note:
            said.setdefault("These attacks do not apply to this target", []).append(finding.attack)
        elif finding.verdict in (Verdict.INCONCLUSIVE, Verdict.ERROR):
            said.setdefault(f"Not decided: {finding.reason}", []).append(finding.attack)
    return [
        *(f"{why} ({', '.join(dict.fromkeys(attacks))})." for why, attacks in said.items()),
        "Pairs of inputs other than those that were tried, and events other than those that were chosen.",
        "Whether sensitivity, domain and neighbouring relation are declared as they are used in production.",
        "Time, memory, logs, and what several releases tell together, except where a finding speaks of them.",
        "Versions, machines and settings other than those named above.",
    ]


def _cells(finding: Finding) -> list[str]:
    """Return an attack's row: name, verdict, advantage, ceiling, smallest detectable advantage, event and inputs."""
    note = " (beyond the claim: a note)" if finding.is_note else ""
    shown, samples = finding.shown, finding.samples
    numbers = [f"{shown.advantage.estimate:.3g}", f"{shown.ceiling:.3g}"] if shown.advantage else ["", ""]
    detectable = samples.smallest_detectable if samples else None
    return [
        shown_by(finding),
        f"{finding.verdict_in_scope}{note}",
        *numbers,
        "" if detectable is None else upper_text(detectable),
        "; ".join(filter(None, (shown.event, f"inputs {inputs_text(finding)}" if finding.pair else ""))),
    ]


FILTERS: Mapping[str, Callable[..., Any]] = {
    "cells": _cells,
    "claim": judged_text,
    "flaw": flaw_of,
    "inputs": inputs_text,
    "repair": repair_text,
    "shown_by": shown_by,
}
"""The functions that the template calls, by name."""
