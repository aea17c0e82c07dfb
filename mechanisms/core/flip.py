"""Randomized response: one private bit, released as it is or flipped.

Sources: Warner 1965, 'Randomized Response'; as local DP, Kasiviswanathan et al. 2011, 'What Can We Learn Privately?',
section 4.1; shuffled, Cheu, Smith, Ullman, Zeber and Zhilyaev 2019, 'Distributed Differential Privacy via Shuffling'.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from gmpy2 import mpq

from mechanisms.coins import bernoulli, uniform_below
from mechanisms.core.claims import ApproximateDP, Claim
from mechanisms.core.numbers import convert, count, exact, positive, rational, vector
from mechanisms.core.rounding import exp_above, log_above, rounding
from mechanisms.core.term import Mechanism, OneByOne, Relation
from mechanisms.randomness import RandomBits

_STEP = 64  # bits by which an enclosure is narrowed; also how much finer it is than the bits it is compared with


@dataclass(frozen=True)
class Response(Mechanism):
    """Release the bit with probability e^ε/(1 + e^ε), and its opposite otherwise: the ratio of the two is e^ε.

    A uniform real is compared with that probability bit by bit, until further bits cannot change the result. The
    probability is irrational for a rational ε, so the comparison ends.
    """

    epsilon: Fraction

    relation: ClassVar[Relation] = "bit"

    def __post_init__(self) -> None:
        convert(self, positive, "epsilon")

    @property
    def claim(self) -> Claim:
        """ε-DP."""
        return ApproximateDP(self.epsilon)

    def prepared(self, data: Any) -> OneByOne:
        """Return an object that draws outputs for the bit `data != 0`; see `Mechanism.prepared`."""
        truth = exact("the bit", data) != 0
        return OneByOne(lambda bits: truth == bits.call(logistic_coin, self.epsilon))


@dataclass(frozen=True)
class RationalResponse(Mechanism):
    """Release the opposite of the bit with a rational probability p ≤ 1/2, else the bit: the ratio is (1 − p)/p."""

    flip: Fraction

    relation: ClassVar[Relation] = "bit"

    def __post_init__(self) -> None:
        object.__setattr__(self, "flip", _flip(self.flip))

    @property
    def claim(self) -> Claim:
        """ε-DP with ε = ln((1 − p)/p), rounded up."""
        return ApproximateDP(log_above((1 - self.flip) / self.flip))

    def prepared(self, data: Any) -> OneByOne:
        """Return an object that draws outputs for the bit `data != 0`; see `Mechanism.prepared`."""
        truth = exact("the bit", data) != 0
        return OneByOne(lambda bits: truth != bits.call(bernoulli, self.flip))


@dataclass(frozen=True)
class ShuffledResponse(Mechanism):
    """Flip each of several people's bits with a rational probability, then put them into uniformly random order.

    The shuffled list tells the number of yeses and nothing else. That number is a sum of independent bits, and its law
    depends on how many people say yes. If one person changes, the law changes from p to q, and δ(ε) is
    Σ max(p − e^ε·q, 0), maximised over both directions and the number of yeses among the other people.
    """

    flip: Fraction
    people: int
    epsilon: Fraction

    relation: ClassVar[Relation] = "substitute"

    def __post_init__(self) -> None:
        object.__setattr__(self, "flip", _flip(self.flip))
        convert(self, count, "people")
        convert(self, positive, "epsilon")

    @property
    def claim(self) -> Claim:
        """(ε, δ)-DP, with δ from `delta_of_shuffled`."""
        return ApproximateDP(self.epsilon, delta_of_shuffled(self.epsilon, self.flip, self.people))

    def prepared(self, data: Any) -> OneByOne:
        """Return an object that draws outputs for a number per person; ≥ 1 means yes; see `Mechanism.prepared`."""
        answers = [int(number >= 1) for number in vector("answers", data)]
        if len(answers) != self.people:
            raise ValueError(f"there must be {self.people} answers, their public number, not {len(answers)}")
        return OneByOne(lambda bits: self._shuffled(answers, bits))

    def _shuffled(self, answers: list[int], bits: RandomBits) -> tuple[int, ...]:
        shuffled = [answer ^ bits.call(bernoulli, self.flip) for answer in answers]
        for last in range(len(shuffled) - 1, 0, -1):
            place = bits.call(uniform_below, last + 1)
            shuffled[last], shuffled[place] = shuffled[place], shuffled[last]
        return tuple(shuffled)


def delta_of_shuffled(epsilon: Fraction, flip: Fraction, people: int) -> Fraction:
    """Return an upper bound on δ(ε) of `ShuffledResponse`, less than 2^−100 above it."""
    least = 1 / exp_above(-epsilon)
    worst = Fraction(0)
    for others in range(people):
        rates = [1 - flip] * others + [flip] * (people - 1 - others)
        yes, no = _count_law([1 - flip, *rates]), _count_law([flip, *rates])
        for first, second in ((yes, no), (no, yes)):
            worst = max(
                worst, sum((max(p - least * q, Fraction(0)) for p, q in zip(first, second, strict=True)), Fraction(0))
            )
    return worst


def _count_law(rates: list[Fraction]) -> list[Fraction]:
    """Return the probabilities of 0, 1, … yeses among independent answers; `rates` has the probability of each yes."""
    law = [Fraction(1)]
    for rate in rates:
        law = [p * (1 - rate) + q * rate for p, q in zip([*law, Fraction(0)], [Fraction(0), *law], strict=True)]
    return law


def logistic_coin(gamma: Fraction, bits: RandomBits) -> bool:
    """Draw True with exactly probability 1/(1 + e^−γ), for a rational γ above 0.

    The bits drawn so far say that a uniform U is in [leading, leading + 1]/2^length; more are drawn only if needed.
    """
    leading = length = precision = 0
    while True:
        if precision <= length + _STEP:
            precision = (length // _STEP + 2) * _STEP
            below, above = enclose_logistic(gamma, precision)
        if leading + 1 <= below * 2**length:
            return True
        if leading >= above * 2**length:
            return False
        leading, length = leading << 1 | bits.take(1), length + 1


def enclose_logistic(gamma: Fraction, precision: int) -> tuple[mpq, mpq]:
    """Return rational bounds below and above 1/(1 + e^−γ), for γ > 0; e^−γ is computed with `precision` bits."""
    below, above = mpq(0), mpq(1, 1 << precision)  # e^−γ < 2^−γ, all that is needed to know once γ > precision
    if gamma <= precision:
        down, up = rounding(precision)
        exponent = -mpq(gamma)
        below = mpq(down.exp(down.div(exponent.numerator, exponent.denominator)))
        above = mpq(up.exp(up.div(exponent.numerator, exponent.denominator)))
    return 1 / (1 + above), 1 / (1 + below)


def _flip(value: Any) -> Fraction:
    flip = rational("flip", value)
    if not 0 < flip <= Fraction(1, 2):
        raise ValueError(f"flip must lie in (0, 1/2], not {value}")
    return flip
