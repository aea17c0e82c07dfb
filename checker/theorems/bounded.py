"""Theorems on mechanisms whose inputs are finitely many once they are clamped, so that every law can be found whole."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import partial
from itertools import pairwise, product
from typing import Any

from checker.core.certificate import Certificate, Conclusion, Refused, rational, require
from checker.core.tape import law
from checker.enclosures.elementary import exp
from checker.kinds.claims import Points, pure_epsilon, require_neighbours, statistical_claim
from checker.kinds.plain_answers import missing, numbers
from checker.kinds.ratios import BITS, greatest_ratio, shown, within
from checker.models.fixed_work_gaussian import clamped_gaussian, gaussian_tails
from checker.models.geometric import beyond_one, clamped_law

HALF, TINY = Fraction(1, 2), Fraction(1, 1 << 60)


def geometric_on_range(certificate: Certificate) -> Conclusion:
    """Show that an answer rounded into a range, plus two-sided geometric noise, clamped, keeps ε for every pair.

    The rounded answer is one of the range's integers, and moves by 1 at most (lemma `rounding-half-up`). The law of
    each of them is found whole and compared with the published one; every pair of successive ones is compared.

    Functions: `reference(answer, bits, **parameters)`. Parameters: eta, lower, upper.
    """
    epsilon = pure_epsilon(certificate)
    require_neighbours(certificate, "answers at most 1 apart")
    parameters = certificate.arguments()
    lower, upper = (require(parameters.get(name), int, name) for name in ("lower", "upper"))
    eta = parameters["eta"]
    decay = Fraction(eta.x, 1 << eta.y) ** eta.z
    sampler = partial(certificate.function("reference"), **parameters)
    laws = []
    for centre in range(lower, upper + 1):
        found, left = law(sampler, (centre,), depth=2 * (upper - lower) + 2)
        expected = {("int", output): mass for output, mass in clamped_law(centre, decay, lower, upper).items()}
        if left or found != expected:
            raise Refused(f"at {centre} the law is not the published one, or {left} of it is left open")
        laws.append(found)
    worst = max(greatest_ratio(one, other) for one, other in pairwise(laws))
    if not within(worst, epsilon):
        raise Refused(f"two successive answers lose {shown(worst)}, more than {epsilon}")
    tried = _require_rounding(sampler, beyond_one(decay), lower, upper)
    return Conclusion(
        f"{epsilon}-DP for every pair of answers at most 1 apart (at most {shown(worst)})",
        ("rounding-half-up",),
        {"laws": len(laws), "roundings": tried},
    )


def gaussian_on_range(certificate: Certificate) -> Conclusion:
    """Show that an answer rounded into a range, plus Gaussian noise of fixed work, clamped, keeps (ε, δ).

    The rounded answer is one of the range's integers, and moves by ⌈Δ⌉ at most (lemma `rounding-half-up`). The law of
    each of them is found whole and compared with the published one, whose tails are enclosed here; and the δ of every
    two that neighbours can have is added up, at each ε that is claimed.

    Functions: `reference(answer, bits, **parameters)`. Parameters: sigma, lower, upper. Neighbours: "answers at most Δ
    apart".
    """
    claim = statistical_claim(certificate)
    if not isinstance(claim, Points):
        raise Refused(f"this theorem is about (ε, δ), not {claim}")
    said = re.fullmatch(r"answers at most (\d+(?:/\d+)?) apart", certificate.neighbours)
    sensitivity = rational(said[1], "the sensitivity") if said else Fraction(0)
    parameters = certificate.arguments()
    lower, upper = (require(parameters.get(name), int, name) for name in ("lower", "upper"))
    sigma = Fraction(parameters["sigma"])
    if sensitivity <= 0 or sigma <= 0 or lower >= upper:
        raise Refused(f"neighbours are {certificate.neighbours!r}, sigma is {sigma}, the range {lower} to {upper}")
    sampler, laws = partial(certificate.function("reference"), **parameters), []
    tails = gaussian_tails(sigma**2, upper - lower)
    for centre in range(lower, upper + 1):
        found, left = law(sampler, (centre,), depth=2 * (upper - lower) + 2)
        expected = clamped_gaussian(centre, tails, lower, upper)
        if left or found != {("int", output): mass for output, mass in expected.items() if mass}:
            raise Refused(f"at {centre} the law is not the published one, or {left} of it is left open")
        laws.append(expected)
    farthest, shown_deltas = -int(-sensitivity // 1), []
    for epsilon, delta in claim.points:
        factor = exp(epsilon, BITS)[0] if epsilon else Fraction(1)
        worst = max(
            sum((max(mass - factor * other[output], Fraction(0)) for output, mass in one.items()), Fraction(0))
            for (place, one), (near, other) in product(enumerate(laws), repeat=2)
            if 0 < abs(place - near) <= farthest
        )
        if worst > delta:
            raise Refused(f"two answers need δ = {float(worst)} at ε = {epsilon}, more than {float(delta)}")
        shown_deltas.append(f"{float(worst):.3g}")
    tried = _require_rounding(sampler, tails[0], lower, upper)
    return Conclusion(
        f"{claim} for every pair of answers at most {sensitivity} apart (δ is at most {', '.join(shown_deltas)})",
        ("rounding-half-up",),
        {"laws": len(laws), "roundings": tried},
    )


class _Noise:
    """A source whose bits make the noise −1, 0 or 1: the first P[N ≤ −1] of all integers make it −1 or less."""

    def __init__(self, noise: int, beyond: Fraction) -> None:
        self._noise, self._beyond = noise, beyond

    def take(self, count: int) -> int:
        least = int(self._beyond * (1 << count))
        return {-1: least - 1, 0: 1 << count - 1, 1: (1 << count) - least}[self._noise]


def _require_rounding(sampler: Any, beyond: Fraction, lower: int, upper: int) -> int:
    """Check that answers are rounded to nearest, half upward, and clamped, by releases whose noise is known."""
    sources = [(noise, _Noise(noise, beyond)) for noise in (-1, 0, 1)]
    wholes = [*range(lower - 2, upper + 3), lower - (1 << 70), upper + (1 << 70)]
    shares = [half + near for half, near in product((-HALF, HALF), (Fraction(0), TINY, -TINY))] + [Fraction(1, 3)]
    places = [whole + share for whole, share in product(wholes, shares)]
    answers: list[tuple[Any, Fraction]] = [(place, place) for place in places]
    answers += [(float(place), Fraction(float(place))) for place in places]
    answers += numbers()
    answers += [(one, Fraction(lower)) for one in missing()]
    answers += [(float("inf"), Fraction(upper)), (-float("inf"), Fraction(lower)), (float("nan"), Fraction(lower))]
    for answer, place in answers:
        expected = (min(max(place, Fraction(lower)), Fraction(upper)) + HALF).__floor__()
        for noise, source in sources:
            found = sampler(answer, source)
            if type(found) is not int or found != min(max(expected + noise, lower), upper):
                raise Refused(f"{answer!r} of type {type(answer).__name__} is not rounded to {expected}")
    return len(answers)
