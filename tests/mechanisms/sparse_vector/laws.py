"""Laws of reports, by their definition: sums over the threshold's noise, in doubles."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import exp, inf, log, prod

Report = tuple[bool, ...]

WIDTH = 60
"""How many scales from 0 the threshold's noise is summed to; e^−60 is left out."""


def mass(value: int, scale: float) -> float:
    """P[N = value] of discrete Laplace noise."""
    q = exp(-1 / scale)
    return (1 - q) / (1 + q) * q ** abs(value)


def at_least(value: int, scale: float) -> float:
    """P[N ≥ value] of discrete Laplace noise; 1 or 0 if its scale is 0."""
    if scale == 0:
        return float(value <= 0)
    q = exp(-1 / scale)
    return q**value / (1 + q) if value > 0 else 1 - q ** (1 - value) / (1 + q)


def chance(
    report: Report, answers: Sequence[int], threshold: int, positives: float, scales: tuple[float, float]
) -> float:
    """The probability of a report, for noise of these scales on the threshold and on each answer."""
    reach = int(WIDTH * scales[0]) + 1
    asked = list(zip(report, answers, strict=True))[: last_asked(report, positives)]
    found = 0.0
    for noise in range(-reach, reach + 1):
        above = {answer: at_least(threshold + noise - answer, scales[1]) for answer in set(answers)}
        found += mass(noise, scales[0]) * prod(above[one] if said else 1 - above[one] for said, one in asked)
    return found


def law(answers: Sequence[int], threshold: int, positives: float, scales: tuple[float, float]) -> dict[Report, float]:
    """The probability of each report."""
    reports = (report for report in product((False, True), repeat=len(answers)) if sum(report) <= positives)
    return {report: chance(report, answers, threshold, positives, scales) for report in reports}


def last_asked(report: Report, positives: float) -> int:
    """After how many answers the mechanism stops."""
    if sum(report) < positives:
        return len(report)
    return len(report) - report[::-1].index(True)


def loss(first: dict[Report, float], second: dict[Report, float]) -> float:
    """The largest privacy loss of a report, in either direction."""
    found = 0.0
    for report, p in first.items():
        q = second[report]
        if (p > 1e-250) != (q > 1e-250):
            return inf
        if p > 1e-250:
            found = max(found, abs(log(p / q)))
    return found
