"""Which finding of a record a proof of concept shows, in which direction, and how many fresh trials show it again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from attacklab.auditing.ordinary import extremeness
from attacklab.model import bisection
from attacklab.model.claims import OutputAndWork, directions
from attacklab.model.errors import UsageError
from attacklab.model.findings import Finding, Verdict

ALPHA = 1e-9  # the probability of a false alarm, were the claim true

FEWEST, MOST = 100, 100 << 17
"""The least and the largest number of trials of a script."""

DEVIATIONS = 4.0
"""By how many standard deviations the counts of a script may be off before it misses what was found."""

DOUBTFUL = 2.0
"""By how many standard deviations the finding's own counts are taken to be off."""


class Direction(NamedTuple):
    """A way in which an event can break a claim.

    Attributes:
        of_first: whether it is too likely on the first input of the pair; on the second otherwise.
        complement: whether it is the opposite of the event that is too likely.
    """

    of_first: bool
    complement: bool


DIRECTIONS = tuple(Direction(of_first, complement) for of_first in (True, False) for complement in (False, True))
"""In the order of `directions`."""


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
        numbered = findings[number - 1]
        if attack not in (None, numbered.attack):
            raise UsageError(f"finding {number} is one of {numbered.attack}, not of {attack}; leave one of the two out")
        return _shown(numbered)
    named = [finding for finding in findings if attack in (None, finding.attack)]
    if not named:
        attacks = ", ".join(dict.fromkeys(finding.attack for finding in findings)) or "none"
        raise UsageError(f"the file has no finding of {attack}; its attacks are {attacks}" if attack else "no findings")
    violated = [finding for finding in named if finding.verdict is Verdict.VIOLATED]
    if not violated:
        verdicts = ", ".join(dict.fromkeys(str(finding.verdict) for finding in named))
        raise UsageError(
            f"no finding{f' of {attack}' if attack else ''} is violated ({verdicts}); there is nothing to show"
        )
    return _shown(min(violated, key=_weakness))


def direction_and_trials(finding: Finding) -> tuple[Direction, int]:
    """The direction in which the finding's counts, or its exact probabilities, break the claim most clearly.

    Returns:
        That, and how many trials of each input a script takes: enough if the true rates are a little less clear than
        those seen.

    Raises:
        UsageError: it has neither, or they keep the claim.
    """
    first, second, seen = _rates(finding)
    turned = dict(zip(DIRECTIONS, directions((first, first), (second, second)), strict=True))
    needed = {direction: _needed(finding, *rates) for direction, rates in turned.items()}
    direction = min(needed, key=needed.__getitem__)
    if math.isinf(needed[direction]):
        raise UsageError(
            f"the rates that {finding.attack} saw, {first:.3g} and {second:.3g}, keep the claim in so few trials"
        )
    likely, unlikely = turned[direction]
    careful = _needed(
        finding,
        max(0.0, likely - DOUBTFUL * _deviation(likely, seen)),
        min(1.0, unlikely + DOUBTFUL * _deviation(unlikely, seen)),
    )
    return direction, int(min(MOST, 4 * needed[direction] if math.isinf(careful) else careful))


def bound(happened: float, trials: int, above: bool) -> float:
    """A lower or upper bound on the probability of what happened in so many of so many trials.

    By Chernoff's inequality it is wrong with a probability of at most ALPHA / 2.
    """
    rate = happened / trials
    inside, outside = rate, float(above)
    for _ in range(60):  # bisection
        middle = (inside + outside) / 2
        if trials * relative_entropy(rate, middle) <= math.log(2 / ALPHA):
            inside = middle
        else:
            outside = middle
    return outside


def relative_entropy(p: float, q: float) -> float:
    """How far a coin of probability p is from one of probability q, in nats."""
    sides = ((p, q), (1 - p, 1 - q))
    return sum(mass_p * math.log(mass_p / mass_q) if mass_q else math.inf for mass_p, mass_q in sides if mass_p)


def _shown(finding: Finding) -> Finding:
    if finding.verdict is not Verdict.VIOLATED:
        raise UsageError(
            f"the finding of {finding.attack} is not violated but {finding.verdict}; there is nothing to show"
        )
    if finding.pair is None:
        raise UsageError(f"the finding of {finding.attack} names no pair of inputs, so no outputs can show it")
    if finding.code is None and isinstance(finding.claim, OutputAndWork):
        raise UsageError(
            f"the finding of {finding.attack} is about a claim that covers work, for which no script is written; "
            "run its replay line instead"
        )
    if finding.code is None:
        raise UsageError(
            f"the finding of {finding.attack} does not hold its event as Python source; make it again with "
            "attacklab audit TARGET --json FILE"
        )
    return finding


def _weakness(finding: Finding) -> tuple[bool, bool, float, float]:
    """How little a finding is worth showing: those that can be shown come first, and a note about robustness last."""
    try:
        trials = float(direction_and_trials(finding)[1])
    except UsageError:
        trials = math.inf
    is_hidden = finding.code is None or math.isinf(trials)
    return is_hidden, not finding.refutes, round(extremeness(finding.pair)), trials


def _rates(finding: Finding) -> tuple[float, float, int]:
    """How often the event was seen on either input, of how many trials; for exact probabilities, of very many."""
    if finding.laws is not None and finding.first is not None and finding.second is not None:
        return finding.first.lower, finding.second.upper, MOST
    counts = finding.counts
    if counts is None or not counts.trials:
        raise UsageError(f"the finding of {finding.attack} has no counts of its event; name one of attacklab audit")
    return counts.first / counts.trials, counts.second / counts.trials, counts.trials


def _deviation(rate: float, trials: int) -> float:
    """The standard deviation of a rate, were one more trial of either kind seen."""
    smoothed = (rate * trials + 1) / (trials + 2)
    return math.sqrt(smoothed * (1 - smoothed) / trials)


def _needed(finding: Finding, likely: float, unlikely: float) -> float:
    """About the least number of trials at which counts near these rates break the claim; infinite if none does."""

    def breaks(trials: int) -> bool:
        low = likely - DEVIATIONS * math.sqrt(likely * (1 - likely) / trials)
        high = unlikely + DEVIATIONS * math.sqrt(unlikely * (1 - unlikely) / trials)
        if not (0 < low <= 1 and high < 1):
            return False
        bounds = bound(low * trials, trials, above=False), bound(high * trials, trials, above=True)
        return finding.judged.excess(*bounds) > 0

    return max(FEWEST, bisection.first(breaks, start=FEWEST, most=MOST, precision=0.1) or math.inf)
