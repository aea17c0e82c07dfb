"""Counts of a secret sample, and shuffled answers, drawn exactly.

Records are yes or no. Whoever is in the sample, or where a person's answer comes in the shuffled list, is drawn with
exactly the stated probability, and the noise is `exact_two_sided_geometric`, so that every output has a rational
probability and the amplified claim can be checked outcome by outcome (README.md, 'The exact mechanism').

Sources: Balle, Barthe and Gaboardi 2018, 'Privacy Amplification by Subsampling: Tight Analyses via Couplings and
Divergences'; Cheu, Smith, Ullman, Zeber and Zhilyaev 2019, 'Distributed Differential Privacy via Shuffling'.
"""

from __future__ import annotations

from fractions import Fraction

from mechanisms.coins import bernoulli, uniform_below
from mechanisms.exponential.base2.eta import BaseTwoEta
from mechanisms.laplace.exact_geometric import exact_two_sided_geometric
from mechanisms.private_numbers import PrivateNumbers, exact_numbers
from mechanisms.randomness import RandomBits


def exact_poisson_count(
    records: PrivateNumbers, bits: RandomBits, *, eta: BaseTwoEta, rate: Fraction, most: int
) -> int:
    """Count the yeses among records of which each is in the sample with a given probability, and add noise.

    Args:
        records: at least 1 for yes; less is no, and so is what is missing.
        bits: the source of randomness.
        eta: η of the noise, so that the count of a known sample is (η·ln 2)-DP.
        rate: the probability with which each record is in the sample.
        most: the largest output; the least is 0.

    Returns:
        An integer of the range.

    Raises:
        TypeError: `records` is not a vector of numbers, or a parameter has a wrong type.
        ValueError: a parameter is out of its range.
    """
    answers = _answers(records)
    kept = sum([answer for answer in answers if bits.call(bernoulli, rate)])
    return exact_two_sided_geometric(kept, bits, eta=eta, lower=0, upper=most)


def exact_sampled_count(records: PrivateNumbers, bits: RandomBits, *, eta: BaseTwoEta, size: int, most: int) -> int:
    """Count the yeses in a sample of a given size, drawn without replacement, and add noise.

    Args:
        records: as in `exact_poisson_count`; their number is public, and where it is less than `size` all are taken.
        bits: the source of randomness.
        eta: η of the noise.
        size: how many records are in the sample, at least 0.
        most: the largest output; the least is 0.

    Returns:
        An integer of the range.

    Raises:
        TypeError: `records` is not a vector of numbers, or a parameter has a wrong type.
        ValueError: a parameter is out of its range.
    """
    answers = _answers(records)
    kept = 0
    wanted = min(size, len(answers))
    for left in range(len(answers), 0, -1):
        if bits.call(bernoulli, Fraction(wanted, left)):
            kept += answers[left - 1]
            wanted -= 1
    return exact_two_sided_geometric(kept, bits, eta=eta, lower=0, upper=most)


def exact_shuffled_response(records: PrivateNumbers, bits: RandomBits, *, flip: Fraction) -> tuple[int, ...]:
    """Flip each answer with a given probability, then put all answers into uniformly random order.

    Args:
        records: as in `exact_poisson_count`; their number is public.
        bits: the source of randomness.
        flip: the probability with which an answer is turned round.

    Returns:
        The answers, 0 or 1.

    Raises:
        TypeError: `records` is not a vector of numbers.
        ValueError: `flip` lies outside [0, 1].
    """
    answers = [answer ^ bits.call(bernoulli, flip) for answer in _answers(records)]
    for last in range(len(answers) - 1, 0, -1):
        other = bits.call(uniform_below, last + 1)
        answers[last], answers[other] = answers[other], answers[last]
    return tuple(answers)


def _answers(records: PrivateNumbers) -> list[int]:
    return [int(number >= 1) for number in exact_numbers("records", records)]
