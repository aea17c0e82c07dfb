"""Precision: addition rounds to the grid of its larger operand, so low bits of y tell f(D) however large the noise.

The target computes y = fl(f(D) + n) for some floating-point number n. With p significant bits and 2^e ≤ |f(D)| <
2^(e+1), y is always a multiple of 2^(e−p). If |n| ≥ 2^(e−1), both operands are multiples of it, hence their rounded sum
is. Otherwise |y| ≥ 2^(e−1), and all numbers of that size are. So in binary64, f(D) = 1 gives only multiples of 2^−53,
while f(D) = 0 gives any number. The event used here is larger: every y for which no n at all satisfies fl(f(D) + n) =
y. For example, a negative y close to 0 needs n < −1 and is then a multiple of 2^−52.

There are two pairs. The first is the answers 0 and Δ, where the advantage is large unless Δ is small against the noise.
The second works however large the noise is: a power of two 2^k and the next number below it. If n lies in (−2^(k+1),
−2^k), it is a multiple of 2^(k−p+1), so a y in (−2^k, 0) is an even multiple of 2^(k−p) from the one answer and an odd
multiple from the other. If 2^k is the median of |n|, that happens with probability 1/8 for Laplace and 0.16 for
Gaussian noise. The adversary takes the power of two nearest to an estimate of the median.

The adversary knows the two answers and the outputs' format (it looks at some of them), but nothing of the sampler or
its scale. It bets that y can be reached from one answer and not from the other.

A negative result does not rule out a leak if y is computed in any other way than as one floating-point sum of the
answer and a number of the outputs' format. Nor does it rule out a leak if the numbers left out are too rare to be seen:
with noise of scale 1, the answers 1000 and 1001 leave out next to nothing that comes from the other.

Source: Haney, Desfontaines, Hartman, Shrestha and Hay 2022, 'Precision-based attacks and interval refining: how to
break, then fix, differential privacy on finite computers'. They test for multiples of one power of two, which is part
of the event here. The second pair is ours.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.base import Event, Probe, Scenario, as_floats, only_from, origin, pair_of_answers
from attacklab.errors import OutsideDomain
from attacklab.floats import Floats, Format, format_of
from attacklab.targets import Kind, Outputs, Target

PROBED = 1001
"""How many outputs the median size of the noise is estimated from."""


@dataclass(frozen=True)
class Precision:
    """The attack.

    Attributes:
        answers: the two true answers; by default the two pairs of the module's docstring.
    """

    answers: tuple[float, float] | None = None
    name: str = "precision"
    flaw: str = "some floats cannot be the sum of a true answer and any noise"

    def applies_to(self, target: Target) -> bool:
        """Additive noise only."""
        return target.kind is Kind.NOISE

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        """The pairs, with a bet on each of their two answers."""
        outputs = probe(self.answers[0] if self.answers else origin(target), PROBED)
        released = format_of(outputs)
        for answers in [self.answers] if self.answers else _pairs(target, outputs, released):
            with contextlib.suppress(OutsideDomain):
                pair, first, second = pair_of_answers(target, *answers)
                yield Scenario(pair, (_bet(first, second, released), _bet(second, first, released)))


def reachable(outputs: Floats, answer: float, released: Format) -> NDArray[np.bool_]:
    """Which outputs are the floating-point sum of an answer and some number of their format.

    The real numbers that round to y form an interval around y. Move that interval by the answer: if it contains a
    floating-point number n, it also contains the floating-point number next above or next below y − answer, whichever
    is on the same side as n. The rounded y − answer is one of these two.

    Args:
        outputs: any shape.
        answer: the true answer; it is rounded to the outputs' format.
        released: the outputs' format.

    Returns:
        A bool for each output; exact.
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
        f"y = {here!r} + n in floating point for some n, and y = {there!r} + n for no n",
        partial(only_from, here=here, there=there, reachable=partial(reachable, released=released)),
    )
