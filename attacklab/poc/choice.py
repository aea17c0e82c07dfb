"""Which finding of a record a proof of concept shows."""

from __future__ import annotations

import math
from collections.abc import Sequence

from attacklab.errors import UsageError
from attacklab.findings import Finding, Verdict
from attacklab.ordinary import extremeness
from attacklab.poc.trials import ALPHA, direction_of, enough_trials


def chosen_finding(findings: Sequence[Finding], *, attack: str | None = None, number: int | None = None) -> Finding:
    """The strongest finding of a refuted claim, or the one that was asked for.

    A refutation is stronger than a note about robustness. Of several, that on the most ordinary inputs is shown, which
    a reader can check by eye; of those, the one that the fewest outputs show.

    Args:
        findings: of a record, in its order.
        attack: the name of the attack whose finding it must be.
        number: the finding's place in the record, from 1.

    Raises:
        UsageError: no finding is that one, it refutes no claim, or it cannot be shown.
    """
    if number is not None:
        if not 1 <= number <= len(findings):
            raise UsageError(f"there is no finding {number}; the file has {len(findings)}")
        found = findings[number - 1]
        if attack not in (None, found.attack):
            raise UsageError(f"finding {number} is one of {found.attack}, not of {attack}; leave one of the two out")
        return _shown(found)
    known = [finding for finding in findings if attack in (None, finding.attack)]
    if not known:
        named = ", ".join(dict.fromkeys(finding.attack for finding in findings)) or "none"
        raise UsageError(f"the file has no finding of {attack}; its attacks are {named}" if attack else "no findings")
    violated = [finding for finding in known if finding.verdict is Verdict.VIOLATED]
    if not violated:
        verdicts = ", ".join(dict.fromkeys(str(finding.verdict) for finding in known))
        raise UsageError(
            f"no finding{f' of {attack}' if attack else ''} is violated ({verdicts}); there is nothing to show"
        )
    return _shown(min(violated, key=_weakness))


def _weakness(finding: Finding) -> tuple[bool, bool, float, float]:
    """How little a finding is worth showing: those that can be shown come first, and a note about robustness last."""
    try:
        trials = float(enough_trials(finding, direction_of(finding), ALPHA))
    except UsageError:
        trials = math.inf
    is_hidden = finding.code is None or math.isinf(trials)
    return is_hidden, not finding.refutes, round(extremeness(finding.pair)), trials


def _shown(finding: Finding) -> Finding:
    if finding.verdict is not Verdict.VIOLATED:
        raise UsageError(
            f"the finding of {finding.attack} is not violated but {finding.verdict}; there is nothing to show"
        )
    if finding.pair is None:
        raise UsageError(f"the finding of {finding.attack} names no pair of inputs, so no outputs can show it")
    if finding.code is None:
        raise UsageError(
            f"the finding of {finding.attack} does not hold its event as Python source; make it again with "
            "attacklab audit TARGET --json FILE"
        )
    return finding
