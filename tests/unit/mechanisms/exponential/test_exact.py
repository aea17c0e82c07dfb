"""The exponential mechanisms as terms: what they claim, and that the checker derives it; laws are tested in core."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import pytest

from attacklab.model.random_bits import SeededBits
from mechanisms.core.certificate import certificate
from mechanisms.core.claims import ApproximateDP, ZeroConcentratedDP
from mechanisms.core.term import Mechanism
from mechanisms.exponential.base2.eta import BaseTwoEta
from mechanisms.exponential.exact import (
    exact_exponential,
    exact_exponential_base2,
    exact_exponential_fixed_work,
    exact_exponential_zcdp,
)
from tests.unit.checker.making import accepted

ONE = Fraction(1)
ETA = BaseTwoEta.from_epsilon(1, y=16)
MADE: dict[str, Callable[..., Mechanism]] = {
    "base e": partial(exact_exponential, epsilon=1),
    "zcdp": partial(exact_exponential_zcdp, epsilon=1),
    "base 2": partial(exact_exponential_base2, eta=ETA, utility_range=(-8, 8)),
    "fixed work": partial(exact_exponential_fixed_work, epsilon=1, utility_range=(-8, 8)),
}


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
@pytest.mark.parametrize("public", [{}, {"sensitivity": 0.5}, {"utility_range": (-2, 2.5)}])
def test_the_claim_is_within_epsilon_and_the_checker_accepts_it(
    make: Callable[..., Mechanism], public: dict[str, Any]
) -> None:
    term = make(**public)
    promised = ZeroConcentratedDP(ONE / 8) if make is MADE["zcdp"] else ApproximateDP(ONE)
    assert term.claim.within(promised)
    accepted(certificate("selection", term))


def test_monotone_utilities_allow_twice_the_exponent() -> None:
    """Probabilities in proportion to e^(ε·u), and to 2^(η·u) with a loss of η·ln 2."""
    law = exact_exponential(epsilon=1, monotone=True).law([0, 1])
    assert float(law[0].lower) == pytest.approx(1 / (1 + math.e), rel=1e-15)
    half = BaseTwoEta(1, 1)
    claims = [
        exact_exponential_base2(eta=half, utility_range=(0, 1), monotone=monotone).claim.epsilon
        for monotone in (True, False)
    ]
    assert [float(claim) for claim in claims] == pytest.approx([math.log(2), 2 * math.log(2)], rel=1e-15)
    fixed = exact_exponential_fixed_work(epsilon=1, utility_range=(0, 8), monotone=True)
    assert 1 - 2.0**-30 < fixed.claim.epsilon <= 1


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
@pytest.mark.parametrize("public", [{}, {"utility_range": (-3, 3.5), "sensitivity": 0.1}])
def test_no_utility_of_the_database_raises(make: Callable[..., Mechanism], public: dict[str, Any]) -> None:
    bits, term = SeededBits(43), make(**public)
    extremes = [math.nan, math.inf, -math.inf, 1.7e308, -5e-324, 2**70, 10**400, Fraction(1, 10**40), 0.1]
    for pair in product(extremes, repeat=2):
        assert term.release(pair, bits) in (0, 1)
        assert set(term.many(pair, 20, bits)) <= {0, 1}
