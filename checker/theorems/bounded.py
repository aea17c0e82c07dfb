"""Theorems on mechanisms whose inputs are finitely many once they are clamped, so that every law can be found whole."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import pairwise, product
from typing import Any

from checker.core.certificate import Certificate, Conclusion, Refused, require
from checker.core.tape import law
from checker.kinds.claims import pure_epsilon, require_neighbours
from checker.kinds.plain_answers import missing, numbers
from checker.kinds.ratios import greatest_ratio, shown, within
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
    tried = _require_rounding(sampler, decay, lower, upper)
    return Conclusion(
        f"{epsilon}-DP for every pair of answers at most 1 apart (at most {shown(worst)})",
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


def _require_rounding(sampler: Any, decay: Fraction, lower: int, upper: int) -> int:
    """Check that answers are rounded to nearest, half upward, and clamped, by releases whose noise is known."""
    sources = [(noise, _Noise(noise, beyond_one(decay))) for noise in (-1, 0, 1)]
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
