"""The precision of sums, judged by adding up every small multiset of weights in rational arithmetic."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement

import pytest

from mechanisms.exponential.base2.eta import BaseTwoEta
from mechanisms.exponential.base2.precision import empirical_precision, finest_bit, worst_case_precision

ETAS = [
    BaseTwoEta(1, 1),
    BaseTwoEta(3, 2),
    BaseTwoEta(5, 3),
    BaseTwoEta(3, 2, 2),
    BaseTwoEta(2, 3),
    BaseTwoEta(2**70 - 1, 71),
]


def significant_bits(value: Fraction) -> int:
    """The bits from the highest set to the lowest set, of a positive dyadic rational."""
    numerator = value.numerator
    return (numerator // (numerator & -numerator)).bit_length()


def least_sufficient_precision(eta: BaseTwoEta, spread: int, outcomes: int) -> int:
    """The most bits that any sum of up to `outcomes` weights needs: what both answers must reach."""
    decay = Fraction(eta.x, 2**eta.y) ** eta.z
    weights = [decay**level for level in range(spread + 1)]
    return max(
        significant_bits(sum(chosen, Fraction(0)))
        for count in range(1, outcomes + 1)
        for chosen in combinations_with_replacement(weights, count)
    )


@pytest.mark.parametrize("eta", ETAS, ids=str)
@pytest.mark.parametrize(("spread", "outcomes"), [(0, 1), (3, 1), (0, 6), (1, 2), (4, 2), (2, 5), (3, 4), (1, 9)])
def test_both_precisions_suffice_for_every_sum_and_are_not_wasteful(
    eta: BaseTwoEta, spread: int, outcomes: int
) -> None:
    least = least_sufficient_precision(eta, spread, outcomes)
    assert worst_case_precision(eta, spread, outcomes) >= least
    assert empirical_precision(eta, spread, outcomes) >= least
    if outcomes > 1:
        assert empirical_precision(eta, spread, outcomes) < 2 * least
        if spread > 0:
            assert worst_case_precision(eta, spread, outcomes) == least


@pytest.mark.parametrize("eta", ETAS, ids=str)
def test_the_finest_bit_holds_every_weight_and_is_the_coarsest_that_does(eta: BaseTwoEta) -> None:
    weights = [(Fraction(eta.x, 2**eta.y) ** eta.z) ** level for level in range(6)]
    assert all((weight * 2 ** finest_bit(eta, 5)).denominator == 1 for weight in weights)
    assert any((weight * 2 ** (finest_bit(eta, 5) - 1)).denominator == 2 for weight in weights)
