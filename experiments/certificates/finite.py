"""Drafts of certificates of small scope: every vector of a few values, and every pair of neighbours among them.

The laws that they state are the published ones, from their formulas; the checker finds the samplers' own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise, permutations, product
from math import prod
from typing import Any

import gmpy2
from gmpy2 import mpq
from mechanisms.exponential.exact_base2 import exact_exponential_base2
from mechanisms.exponential.exact_fixed_work import FixedWork, exact_exponential_fixed_work

from attacklab.certificates import Draft, encoded
from mechanisms.exponential.base2.eta import BaseTwoEta
from mechanisms.exponential.exact import exact_exponential
from mechanisms.grid import Grid
from mechanisms.noisy_max.exact import exact_exponential_noisy_max, exact_laplace_noisy_max
from mechanisms.summation.bounds import Bounds
from mechanisms.summation.exact import exact_bounded_sum

Law = Mapping[Any, Any]
"""Outcomes and their probabilities, rational."""

PRECISION = 256
STATED = 1 << 48
"""Masses of laws that are not closed are stated in parts of 2^−48, rounded down."""

REACH = 60
"""Noise beyond so many scales has less than 2^−80."""

ALL_THE_UTILITIES = "utilities at most the sensitivity apart"


def exp_of(exponent: Fraction) -> Any:
    """e^exponent as a rational, to about 2^−PRECISION."""
    with gmpy2.context(precision=PRECISION):
        return mpq(gmpy2.exp(gmpy2.mpfr(mpq(exponent))))


def exponential(rate: Fraction, utilities: Sequence[int]) -> Law:
    """The exponential mechanism's law: e^(rate·u), normalised."""
    return _in_proportion([exp_of(rate * (u - max(utilities))) for u in utilities])


def powers(decay: Fraction, utilities: Sequence[int]) -> Law:
    """The law of the exponential mechanism in base 2: decay^(−u), normalised."""
    return _in_proportion([decay ** (max(utilities) - u) for u in utilities])


def _in_proportion(weights: list[Any]) -> Law:
    return {outcome: weight / sum(weights) for outcome, weight in enumerate(weights)}


def permute_and_flip(rate: Fraction, utilities: Sequence[int]) -> Law:
    """Go through the outcomes in each order; o is taken if its coin, e^(rate·(u − max u)), comes up."""
    coins = [exp_of(rate * (u - max(utilities))) for u in utilities]
    orders = list(permutations(range(len(coins))))
    law: Counter[int] = Counter()
    for order in orders:
        for at, outcome in enumerate(order):
            law[outcome] += prod((1 - coins[other] for other in order[:at]), start=mpq(1, len(orders))) * coins[outcome]
    return law


def discrete_laplace(scale: Fraction) -> Law:
    """Noise n with probability (1 − q)/(1 + q)·q^|n|, q = e^(−1/scale)."""
    q, reach = exp_of(-1 / scale), int(REACH * scale)
    return {n: (1 - q) / (1 + q) * q ** abs(n) for n in range(-reach, reach + 1)}


def noisy_maximum(noise: Law, utilities: Sequence[int]) -> Law:
    """The first of two outcomes whose utility with noise is the greatest, ties broken evenly."""
    first, second = utilities
    above = sum(p * r for (n, p), (m, r) in product(noise.items(), noise.items()) if first + n > second + m)
    ties = sum(p * noise.get(first + n - second, 0) for n, p in noise.items())
    return {0: above + ties / 2, 1: 1 - above - ties / 2}


def _stated(law: Law, *, closed: bool) -> list[Any]:
    masses = {outcome: Fraction(int(mass.numerator), int(mass.denominator)) for outcome, mass in law.items()}
    if not closed:
        masses = {outcome: Fraction(int(mass * STATED // 1), STATED) for outcome, mass in masses.items()}
    return [[encoded(outcome), str(mass)] for outcome, mass in masses.items() if mass]


def small_scope(
    sampler: Callable[..., Any],
    parameters: Mapping[str, Any],
    ideal: Callable[[tuple[int, ...]], Law],
    *,
    values: int,
    lengths: Sequence[int],
    neighbours: str,
    epsilon: Fraction,
    delta: Fraction = Fraction(0),
    closed: bool = False,
) -> Draft:
    """Draft a certificate of every vector of given lengths of the whole numbers below `values`.

    Args:
        sampler: `sampler(vector, bits, **parameters)`.
        parameters: its public parameters.
        ideal: the law of a vector, by formula.
        values: how many values an element can have.
        lengths: of the vectors.
        neighbours: which vectors are neighbours.
        epsilon: what is claimed.
        delta: what is claimed besides; 2^−58 more where laws are not closed.
        closed: whether every probability is rational.
    """
    delta += 0 if closed else Fraction(1, 1 << 58)
    claim = {"kind": "approximate", "epsilon": str(epsilon), "delta": str(delta)}
    if not delta:
        claim = {"kind": "pure", "epsilon": str(epsilon)}
    vectors = [vector for length in lengths for vector in product(range(values), repeat=length)]
    return Draft(
        theorem="finite_inputs",
        functions={"reference": sampler},
        parameters=parameters,
        neighbours=neighbours,
        claim=claim,
        evidence={
            "inputs": {"values": [*range(values)], "lengths": [*lengths]},
            "laws": [_stated(ideal(vector), closed=closed) for vector in vectors],
        },
    )


def _base2(values: int, lengths: Sequence[int]) -> Draft:
    """2·η·ln 2 = 2·ln(4/3) < 0.5754."""
    return small_scope(
        exact_exponential_base2,
        {"eta": BaseTwoEta(3, 2), "utility_range": (0, 8)},
        lambda utilities: powers(Fraction(3, 4), utilities),
        values=values,
        lengths=lengths,
        neighbours=ALL_THE_UTILITIES,
        epsilon=Fraction("0.5754"),
        closed=True,
    )


def tickets(precision: int, spare: int, weights: Sequence[int], utilities: Sequence[int]) -> Law:
    """The law of selection with fixed work: the tickets between thresholds ⌊C·Q/2^h⌋, of 2^k."""
    more = (len(utilities) - 1).bit_length()
    mine = [weights[min(max(utilities) - u, len(weights) - 1)] for u in utilities]
    h, bits = precision + more, precision + more + spare
    quotient = (1 << bits + h) // sum(mine)
    firsts = [sum(mine[:outcome]) * quotient >> h for outcome in range(len(mine))]
    return {outcome: mpq(end - begin, 1 << bits) for outcome, (begin, end) in enumerate(pairwise([*firsts, 1 << bits]))}


def _fixed_work(values: int, lengths: Sequence[int], precision: int, weights: Sequence[int], epsilon: str) -> Draft:
    """2·ln(4/3) = 0.57536…, and what few bits cost."""
    return small_scope(
        exact_exponential_fixed_work,
        {"work": FixedWork(BaseTwoEta(3, 2), precision=precision, spare=6), "utility_range": (0, 8)},
        lambda utilities: tickets(precision, 6, weights, utilities),
        values=values,
        lengths=lengths,
        neighbours=ALL_THE_UTILITIES,
        epsilon=Fraction(epsilon),
        closed=True,
    )


def _base_e(values: int, lengths: Sequence[int]) -> Draft:
    return small_scope(
        exact_exponential,
        {"epsilon": Fraction(1)},
        lambda utilities: exponential(Fraction(1, 2), utilities),
        values=values,
        lengths=lengths,
        neighbours=ALL_THE_UTILITIES,
        epsilon=Fraction(1),
    )


def _permute_and_flip(values: int, lengths: Sequence[int]) -> Draft:
    return small_scope(
        exact_exponential_noisy_max,
        {"epsilon": Fraction(1)},
        lambda utilities: permute_and_flip(Fraction(1, 2), utilities),
        values=values,
        lengths=lengths,
        neighbours=ALL_THE_UTILITIES,
        epsilon=Fraction(1),
    )


def _laplace_noisy_max() -> Draft:
    return small_scope(
        exact_laplace_noisy_max,
        {"epsilon": Fraction(4)},
        lambda utilities: noisy_maximum(discrete_laplace(Fraction(1, 2)), utilities),
        values=3,
        lengths=(2,),
        neighbours=ALL_THE_UTILITIES,
        epsilon=Fraction(4),
    )


def _sum(relation: str, length: int) -> Draft:
    """Records of 0, 1 or 2, with noise of scale 2/ε under either relation."""
    noise = discrete_laplace(Fraction(1))
    return small_scope(
        exact_bounded_sum,
        {"epsilon": Fraction(2), "bounds": Bounds(0, 2, Grid(0)), "relation": relation},
        lambda records: {float(sum(records) + n): mass for n, mass in noise.items()},
        values=3,
        lengths=range(length + 1),
        neighbours=relation,
        epsilon=Fraction(2),
    )


DRAFTS: Mapping[str, Callable[[], Draft]] = {
    "small_exponential_base2": lambda: _base2(9, (1, 2, 3)),
    "small_exponential_base2_four": lambda: _base2(4, (4,)),
    "small_exponential": lambda: _base_e(9, (1, 2, 3)),
    "small_exponential_four": lambda: _base_e(4, (4,)),
    "small_exponential_fixed_work": lambda: _fixed_work(9, (1, 2, 3), 4, (16, 12, 9, 7, 6, 5, 4, 3), "0.625"),
    "small_exponential_fixed_work_four": lambda: _fixed_work(4, (4,), 5, (32, 24, 18, 14), "0.625"),
    "small_exponential_noisy_max": lambda: _permute_and_flip(9, (1, 2, 3)),
    "small_exponential_noisy_max_four": lambda: _permute_and_flip(3, (4,)),
    "small_laplace_noisy_max": _laplace_noisy_max,
    "small_bounded_sum_add_remove": lambda: _sum("add-remove", 4),
    "small_bounded_sum_substitute": lambda: _sum("substitute", 4),
}
"""Named `small_…`, for they cover a few inputs each of a mechanism that has a certificate for all."""
