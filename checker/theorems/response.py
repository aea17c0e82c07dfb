"""Theorems on randomized response."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

from checker.core.certificate import Certificate, Conclusion, Refused
from checker.core.tape import Cut, Recorder, explore
from checker.enclosures.elementary import exp
from checker.kinds.claims import pure_epsilon, require_neighbours
from checker.kinds.lending import used
from checker.kinds.logistic_coin import logistic
from checker.kinds.near_thresholds import FARTHEST, require_endless

DEPTH = 200
"""How many bits of the uniform number are looked at."""


def randomized_response(certificate: Certificate) -> Conclusion:
    """Show that a bit is told truly with probability e^ε/(1 + e^ε), and so keeps ε for both answers.

    The sampler compares a uniform number U, bit by bit, with p = 1/(1 + e^−ε). Each run that ends within `DEPTH` bits
    has decided U < p soundly: the numbers that begin with its bits lie on one side of p, as an enclosure of our own
    says, and the output is the truth below p and its opposite above. What is left open is one run of mass 2^−DEPTH.
    That run is followed further, as far as `FARTHEST` bits of p.

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
        runs += _require_endless(sampler, truth, epsilon)
    precisions = _require_enclosures(_enclosure(certificate, sampler), epsilon)
    if epsilon > claimed:
        raise Refused(f"the answers' odds change by e^{epsilon}, more than e^{claimed}")
    return Conclusion(
        f"{epsilon}-DP for both answers: the truth with probability e^{epsilon}/(1 + e^{epsilon})",
        ("lazy-comparison",),
        {"runs": runs, "bits": FARTHEST, "enclosures": precisions},
    )


def _require_endless(sampler: Any, truth: bool, epsilon: Fraction) -> int:
    """Follow the run that is left open along the bits of p, and away from it."""
    require_endless(
        lambda leading, length, bits: sampler(truth, _Calling(bits.take)),  # noqa: ARG005
        lambda precision: logistic(epsilon, precision),
        0,
        (truth, not truth),
    )
    return 4


def _enclosure(certificate: Certificate, sampler: Any) -> Any:
    """Return the enclosure that the certificate names, which must be that by which the sampler decides."""
    source = _Calling(lambda _: 0)
    sampler(True, source)
    if len(source.called) != 1:
        raise Refused(f"{len(source.called)} samplers are called for one answer")
    deciding = used(source.called[0], "decide_logistic")
    found = certificate.function("enclosure")
    if used(deciding, "enclose_logistic") is not found:
        raise Refused("the coin is decided by another enclosure than the certificate names")
    return found


class _Calling:
    """A source of single bits that runs what is called, and notes it."""

    def __init__(self, take: Any) -> None:
        self.take = take
        self.called: list[Any] = []

    def call(self, function: Any, *arguments: Any) -> Any:
        """Run a sampler."""
        self.called.append(function)
        return function(*arguments, self)


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
