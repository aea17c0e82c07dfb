"""Theorems on randomized response."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

from checker.core.certificate import Certificate, Conclusion, Refused
from checker.core.tape import Cut, Recorder, explore
from checker.enclosures.elementary import exp
from checker.kinds.claims import pure_epsilon, require_neighbours

DEPTH = 200
"""How many bits of the uniform number are looked at."""


def randomized_response(certificate: Certificate) -> Conclusion:
    """Show that a bit is told truly with probability e^ε/(1 + e^ε), and so keeps ε for both answers.

    The sampler compares a uniform number U, bit by bit, with p = 1/(1 + e^−ε). Each run that ends within `DEPTH` bits
    has decided U < p soundly: the numbers that begin with its bits lie on one side of p, as an enclosure of our own
    says, and the output is the truth below p and its opposite above. What is left open is one run of mass 2^−DEPTH.

    Functions: `reference(truth, bits, **parameters)`, and the `enclosure(epsilon, precision)` of p by which it decides.
    Parameters: epsilon.
    """
    claimed = pure_epsilon(certificate)
    require_neighbours(certificate, "either answer")
    parameters = certificate.arguments()
    epsilon = Fraction(parameters["epsilon"])
    if epsilon <= 0:
        raise Refused(f"epsilon must be above 0, not {epsilon}")
    sampler = partial(certificate.function("reference"), **parameters)
    low, high = (1 / (1 + end) for end in reversed(exp(-epsilon, DEPTH + 64)))
    runs = 0
    for truth in (True, False):
        open_mass = Fraction(0)
        for below, above, said in _told(sampler, truth):
            if said is Cut:
                open_mass += above - below
                continue
            runs += 1
            if type(said) is not bool or not (above <= low if said is truth else below >= high):
                raise Refused(
                    f"for {truth} and a number of [{below}, {above}) it says {said!r}; p is about {float(low)}"
                )
        if open_mass > Fraction(1, 1 << DEPTH):
            raise Refused(f"more than 2^-{DEPTH} of the runs are left open")
    precisions = _require_enclosures(certificate.function("enclosure"), epsilon)
    if epsilon > claimed:
        raise Refused(f"the answers' odds change by e^{epsilon}, more than e^{claimed}")
    return Conclusion(
        f"{epsilon}-DP for both answers: the truth with probability e^{epsilon}/(1 + e^{epsilon})",
        ("lazy-comparison",),
        {"runs": runs, "bits": DEPTH, "enclosures": precisions},
    )


def _require_enclosures(enclosure: Any, epsilon: Fraction) -> int:
    """Check that the mechanism's own enclosures of p hold it, and are as narrow as they should be."""
    precisions = [*range(64, 321, 64), 1024]
    for precision in precisions:
        low, high = (1 / (1 + end) for end in reversed(exp(-epsilon, precision + 64)))
        below, above = (Fraction(int(end.numerator), int(end.denominator)) for end in enclosure(epsilon, precision))
        if not (below <= low and high <= above and above - below <= Fraction(1, 1 << precision - 2)):
            raise Refused(f"at {precision} bits the mechanism takes p to lie between {below} and {above}")
    return len(precisions)


def _told(sampler: Any, truth: bool) -> Any:
    """Run on all bits; give the interval of the uniform number that each run stands for, and what it says."""
    for way, said in explore(lambda way: sampler(truth, _Single(way)), DEPTH):
        place, length = 0, 0
        for bit in way.uniforms:
            place, length = 2 * place + bit.low, length + 1
        yield Fraction(place, 1 << length), Fraction(place + 1, 1 << length), said


class _Single(Recorder):
    """A source that is asked for one bit at a time, and runs what is called."""

    def take(self, count: int) -> Any:
        if count != 1:
            raise Refused(f"{count} bits are asked for at once")
        return super().take(count)
