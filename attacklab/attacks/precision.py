"""Precision: addition rounds to the grid of its larger operand, so that the low bits of y tell f(D) whatever the noise.

y = fl(f(D) + n) for some floating-point number n. With p significant bits and 2^e ≤ |f(D)| < 2^(e+1), y is always a
multiple of 2^(e−p): if |n| ≥ 2^(e−1), both operands are multiples of it, hence their rounded sum; if not,
|y| ≥ 2^(e−1), and all such numbers are. From f(D) = 1 in binary64 only multiples of 2^−53 come, from f(D) = 0 any
number. The event here is the whole set that an answer leaves out, of which that is a part: y with no n at all such that
fl(f(D) + n) = y. Negative y close to 0, for one, need n < −1 and are multiples of 2^−52.

Two pairs. The answers 0 and Δ: the advantage is large while Δ is not small against the noise. And, however much noise
there is, a power of two 2^k and the number next below it: n in (−2^(k+1), −2^k) is a multiple of 2^(k−p+1), so that y
in (−2^k, 0) is an even multiple of 2^(k−p) from the one and an odd one from the other. That happens with probability
1/8 for Laplace and 0.16 for Gaussian noise if 2^k is the median of |n|; the adversary takes the power of two nearest to
an estimate of it.

The adversary knows the two answers and the outputs' format (a look at some tells), nothing of the sampler or its scale.
A negative result shows only that y is not one floating-point sum of these answers and a number of that format, or that
the numbers left out are too rare to be met: under noise of scale 1, the answers 1000 and 1001 leave out next to nothing
that comes from the other.

Source: Haney, Desfontaines, Hartman, Shrestha and Hay 2022, 'Precision-based attacks and interval refining: how to
break, then fix, differential privacy on finite computers'. They test for multiples of one power of two, which the set
here contains; the second pair is not in theirs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.base import Event, Probe, Scenario, as_floats, only_from
from attacklab.floats import Floats, Format, format_of
from attacklab.neighbours import NeighbouringPair
from attacklab.targets import Kind, Outputs, Target

PROBED = 1001
"""Outputs that the median size of the noise is estimated from."""


@dataclass(frozen=True)
class Precision:
    """The attack.

    Attributes:
        answers: the two true answers; by default the two pairs of the module's docstring.
    """

    answers: tuple[float, float] | None = None
    name: str = "precision"
    flaw: str = "some floats are no sum of a true answer and any number"

    def applies_to(self, target: Target) -> bool:
        """Additive noise only."""
        return target.kind is Kind.NOISE

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        """The pairs, a bet on either answer of each."""
        outputs = probe(self.answers[0] if self.answers else 0.0, PROBED)
        released = format_of(outputs)
        for first, second in [self.answers] if self.answers else _pairs(target, outputs, released):
            yield Scenario(
                NeighbouringPair.answers(first, second, sensitivity=target.sensitivity),
                (_bet(first, second, released), _bet(second, first, released)),
            )


def reachable(outputs: Floats, answer: float, released: Format) -> NDArray[np.bool_]:
    """Which outputs are the sum of an answer and any number of their format.

    The real numbers that round to y are an interval around y. If a floating-point number n lies in that interval moved
    by the answer, so does the floating-point number next above or next below y − answer, whichever is on the same side
    as n; the rounded y − answer is one of the two.

    Args:
        outputs: any shape.
        answer: the true answer, rounded to their format.
        released: their format.

    Returns:
        A bool an output; exact.
    """
    with np.errstate(all="ignore"):
        operand = released.rounded(np.array(answer))
        noise = released.rounded(outputs - operand)
        tried = (noise, released.next_above(noise), released.next_below(noise))
        found: NDArray[np.bool_] = np.logical_or.reduce([released.rounded(operand + n) == outputs for n in tried])
    return found


def _pairs(target: Target, outputs: Outputs, released: Format) -> Iterator[tuple[float, float]]:
    yield 0.0, released.at_most(target.sensitivity)
    median = float(np.median(np.abs(as_floats(outputs))))
    if outputs.dtype.kind != "f" or not 0 < median < math.inf:
        return
    power = released.rounded(np.array([2.0 ** round(math.log2(median))]))
    first, second = float(power[0]), float(released.next_below(power)[0])
    if first - second <= target.sensitivity:
        yield first, second


def _bet(here: float, there: float, released: Format) -> Event:
    return Event(
        f"the sum of {here!r} and some number, but of {there!r} and none",
        partial(only_from, here=here, there=there, reachable=partial(reachable, released=released)),
    )
