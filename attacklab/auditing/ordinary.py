"""How ordinary the inputs of a finding are, which finding represents all, and which flaw the findings support.

An attack picks inputs on which the flaw that it looks for would show. That the claim is refuted there supports the flaw
only if the claim is not refuted just as well where the flaw cannot be: if the noise is too small, a large integer or a
record far outside its bounds tells no more than any other input. Nor is an output impossible that both inputs give.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np

from attacklab.attacks import INTEGER_CAST, MISSING_CLIP, SPECIAL_VALUES, SUM_SENSITIVITY, BlackBox
from attacklab.auditing.flaws import NAMES, explained
from attacklab.auditing.statistics.betting import evidence
from attacklab.model.findings import FAILURE, TOO_LITTLE, VALUE_OF_TEXT, Certificate, Finding, Laws
from attacklab.model.targets import Target

ORDINARY = 4.0
"""Most decimal places, before or behind the point, of a number in an ordinary input."""

UNKNOWN = 400.0
"""The extremeness of unknown inputs, and of inputs with NaN, an infinity or −0.0: larger than for other doubles."""

ON_EXTREMES = frozenset(attack.name for attack in (INTEGER_CAST, MISSING_CLIP, SPECIAL_VALUES, SUM_SENSITIVITY))
"""The names of attacks on flaws that show on unusual inputs only. Too little noise shows in the same events."""

ON_IMPOSSIBLE = frozenset(("zero_rounding", "truncated_addition", "score_overflow"))
"""The names of attacks on flaws of selections by which an outcome has no weight, or almost none, on one input."""


def extremeness(pair: Mapping[str, Any] | None) -> float:
    """Return how far from ordinary the inputs of a pair are.

    Args:
        pair: as `findings.described_pair` gives it.

    Returns:
        About the most decimal places that it takes to write one of their numbers; more for longer inputs.
    """
    if pair is None:
        return UNKNOWN
    sides = [pair[side] for side in ("first", "second")]
    places = [_places(number) for side in sides for number in _numbers(side)]
    return max(places, default=0.0) + max(math.log10(1 + math.prod(side["shape"])) for side in sides)


def best(findings: Sequence[Finding]) -> Finding | None:
    """Return the finding that represents all that refute a claim; None if none does.

    A proof comes first, then a finding on ordinary inputs, then one by an attack other than the black box. Among equals
    the least extreme inputs come first, then the fewest trials, then the most evidence.
    """
    return min((finding for finding in findings if finding.refutes), key=_rank, default=None)


def supported(findings: Sequence[Finding], target: Target) -> list[Finding]:
    """Return the findings of one audit, each with the flaw that they support together and the call that repairs it."""
    named = [
        replace(finding, flaw=TOO_LITTLE) if _is_on_ordinary_inputs(finding) or _is_possible(finding) else finding
        for finding in findings
    ]
    if any(finding.flaw == TOO_LITTLE and _is_plain(finding.pair) for finding in named):
        named = [replace(finding, flaw=TOO_LITTLE) if _is_on_extremes(finding) else finding for finding in named]
    return [explained(finding, target) for finding in named]


def _rank(finding: Finding) -> tuple[bool, bool, bool, float, int, float]:
    far, samples = extremeness(finding.pair), finding.samples
    return (
        not isinstance(finding.evidence, Laws | Certificate),
        far > ORDINARY,
        finding.attack == BlackBox.name,
        round(far),
        samples.counts.trials if samples else 0,
        -evidence(finding.judged, samples.counts) if samples else 0.0,
    )


def _is_on_extremes(finding: Finding) -> bool:
    return finding.refutes and finding.attack in ON_EXTREMES and finding.flaw != FAILURE


def _is_on_ordinary_inputs(finding: Finding) -> bool:
    """Whether a finding of the attack on special values refutes the claim, but on ordinary inputs."""
    return _is_on_extremes(finding) and finding.attack == SPECIAL_VALUES.name and extremeness(finding.pair) <= ORDINARY


def _is_possible(finding: Finding) -> bool:
    """Whether an attack on what one input cannot give saw a loss of at most 2ε, which half the noise would have."""
    if not (finding.refutes and finding.attack in ON_IMPOSSIBLE and finding.flaw not in NAMES and finding.samples):
        return False
    counts = finding.samples.counts
    rates = np.array([counts.first, counts.second]) / counts.trials
    with np.errstate(divide="ignore", invalid="ignore"):
        losses = np.abs(np.diff(np.log([rates, 1 - rates])))
    return bool(np.all(losses <= 2 * finding.judged.epsilon))


def _is_plain(pair: Mapping[str, Any] | None) -> bool:
    """Whether each input has at most one number that is not 0, so that nothing can be lost in adding them."""
    sides = [] if pair is None else [list(_numbers(pair[side])) for side in ("first", "second")]
    return all(sum(number != 0 for number in side) <= 1 for side in sides)


def _numbers(described: Mapping[str, Any]) -> Iterator[float | int]:
    """Yield the numbers of a described input; a run of equal numbers gives one."""
    kind = str(described["dtype"])[:1]
    texts = described.get("hex") or described.get("readable") or [text for _, text in described.get("runs", ())]
    if kind in ("f", "i", "u"):
        yield from map(VALUE_OF_TEXT[kind], texts)
    else:
        yield from map(int, re.findall(r"\d+", described.get("literal", "")))


def _places(number: float | int) -> float:
    """Return how many decimal places a number takes besides the units; `UNKNOWN` for NaN, an infinity and −0.0."""
    if not math.isfinite(number) or (number == 0 and math.copysign(1.0, number) < 0):
        return UNKNOWN
    _, digits, exponent = Decimal(repr(number)).normalize().as_tuple()
    return max(len(digits) - 1 + int(exponent), 0) - min(int(exponent), 0)
