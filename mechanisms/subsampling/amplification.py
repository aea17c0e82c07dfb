"""What sampling and shuffling do to a claim: the budget that a sample may spend, and the δ of shuffled answers.

Sources: Balle, Barthe and Gaboardi 2018, 'Privacy Amplification by Subsampling', theorems 8 and 9; the δ of shuffled
answers is computed from its definition, since for few people every general bound is far too large.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import gmpy2
from gmpy2 import mpq

from mechanisms.parameters import exact_rational, positive_integer, positive_rational
from mechanisms.rounding import rounding

PRECISION = 128


def budget_of_sample(epsilon: float | Fraction, share: Fraction) -> Fraction:
    """Return the ε that may be spent on a sample so that all of the data keep a given one: ln(1 + (e^ε − 1)/share).

    Args:
        epsilon: what is promised, above 0.
        share: the probability with which a record is in the sample, in (0, 1].

    Returns:
        A rational number not above the formula, less than 2^−100 of it below.

    Raises:
        ValueError: an argument is out of its range.
    """
    promised = positive_rational("epsilon", epsilon)
    if not 0 < share <= 1:
        raise ValueError(f"share must lie in (0, 1], not {share}")
    down, _ = rounding(PRECISION)
    with down:
        grown = gmpy2.expm1(gmpy2.mpfr(mpq(promised))) / gmpy2.mpfr(mpq(share), PRECISION)
        spent = mpq(gmpy2.log1p(grown)) * (1 - mpq(1, 1 << 100))
    return Fraction(int(spent.numerator), int(spent.denominator))


def delta_of_shuffled(epsilon: float | Fraction, flip: Fraction, people: int) -> Fraction:
    """Return the δ that shuffled randomized responses need at an ε, if one person's answer changes.

    The shuffled list tells the number of yeses and nothing else. Its law depends on how many others say yes; the worst
    number of them counts.

    Args:
        epsilon: at least 0.
        flip: the probability with which an answer is turned round, in [0, 1/2].
        people: how many answers there are, at least 1.

    Returns:
        A rational number not below δ; it exceeds δ by less than 2^−100.

    Raises:
        ValueError: an argument is out of its range.
    """
    promised = exact_rational("epsilon", epsilon)
    if promised < 0 or not 0 <= flip <= Fraction(1, 2):
        raise ValueError(f"epsilon must be at least 0 and flip in [0, 1/2], not {epsilon} and {flip}")
    down, _ = rounding(PRECISION)
    with down:
        factor = mpq(gmpy2.exp(gmpy2.mpfr(mpq(promised)))) * (1 - mpq(1, 1 << 120))
    least = Fraction(int(factor.numerator), int(factor.denominator))
    worst = Fraction(0)
    for others in range(positive_integer("people", people)):
        rates = [1 - flip] * others + [flip] * (people - 1 - others)
        yes, no = _count_law([1 - flip, *rates]), _count_law([flip, *rates])
        for one, other in ((yes, no), (no, yes)):
            excess = [max(Fraction(0), p - least * q) for p, q in zip(one, other, strict=True)]
            worst = max(worst, sum(excess, Fraction(0)))
    return worst


def _count_law(rates: Sequence[Fraction]) -> list[Fraction]:
    """The probabilities of 0, 1, … yeses among independent answers."""
    law = [Fraction(1)]
    for rate in rates:
        without, with_one = [*law, Fraction(0)], [Fraction(0), *law]
        law = [p * (1 - rate) + q * rate for p, q in zip(without, with_one, strict=True)]
    return law
