"""No bound and no draw depends on the MPFR context of the caller.

Module-level functions and operators of gmpy2 round as the current context says: to 53 bits, to nearest, by default. A
bound computed with one of them by oversight is not a bound, though it looks like one. A context of 2 bits shows it.
Numbers made outside of a context of one's own are held to the current one's exponents, which binary16's 5 bits show.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import gmpy2
import numpy as np
import pytest
from gmpy2 import mpq

from attacklab.laws.enclosures import exp_bounds, log_bounds, normalised
from attacklab.laws.law import Bounds
from attacklab.random_bits import SeededBits
from mechanisms.core.laws import DiscreteLaplace
from mechanisms.core.rounding import exp_above, log_above
from mechanisms.core.threshold import least_threshold
from mechanisms.exponential.base2.eta import BaseTwoEta
from mechanisms.exponential.base2.precision import empirical_precision
from mechanisms.exponential.exact import enclose_scaled_exp, exact_exponential
from mechanisms.gaussian.exact_fast import exact_discrete_gaussian_fast
from mechanisms.gaussian.exact_rounded import RoundedNormal
from mechanisms.gaussian.law import discrete_tails, normal_tail
from mechanisms.gaussian.mixture import Mixture, Remainder
from mechanisms.gaussian.privacy import discrete_gaussian_delta, gaussian_delta
from mechanisms.gaussian.quantile import normal_quantile
from mechanisms.grid import Grid
from mechanisms.laplace.exact_randomized_response import enclose_logistic
from mechanisms.laplace.exact_snapping import exact_snapping
from mechanisms.laplace.exponential_variates import decide_floor
from mechanisms.randomness import RandomBits

THIRD = Fraction(1, 3)


def draws(sampler: Callable[[RandomBits], Any]) -> list[Any]:
    bits = SeededBits(np.random.default_rng(1))
    return [sampler(bits) for _ in range(40)]


def fresh_caches() -> None:
    for name, module in list(sys.modules.items()):
        if name.startswith(("mechanisms.", "attacklab.")):
            for value in vars(module).values():
                if hasattr(value, "cache_clear"):
                    value.cache_clear()


def mixture_and_what_remains() -> Any:
    sigma = THIRD * 2**40
    mixture = Mixture(sigma)
    return mixture.given(10**12), Remainder(RoundedNormal(THIRD, sigma), mixture).tail(12345, 128)


RESULTS: dict[str, Callable[[], Any]] = {
    "the exponential's bounds": lambda: exp_bounds(mpq(-22, 7)),
    "the logarithm's bounds": lambda: log_bounds(Bounds(mpq(1, 3), mpq(10, 3))),
    "an ideal law": lambda: dict(normalised({i: exp_bounds(mpq(i, 3)) for i in range(3)}).masses),
    "the least threshold": lambda: least_threshold(DiscreteLaplace(1 / THIRD), Fraction(1, 10**60)),
    "bounds of claims": lambda: (log_above(THIRD), exp_above(THIRD)),
    "the logistic enclosure": lambda: enclose_logistic(THIRD, 192),
    "the floor of an exponential": lambda: draws(lambda bits: decide_floor(THIRD, Fraction(-(10**40), 7), 1, 1, bits)),
    "snapping": lambda: draws(lambda bits: exact_snapping(0.1, bits, epsilon=1, bound=100.0)),
    "the largest eta": lambda: BaseTwoEta.from_epsilon(0.1, y=200),
    "the epsilon of an eta": lambda: BaseTwoEta(12345, 20, 3).epsilon(),
    "the epsilon of the eta of 1": lambda: BaseTwoEta(1, 1).epsilon(),
    "the epsilon of a large eta": lambda: BaseTwoEta(1, 3000).epsilon(),
    "the empirical precision": lambda: empirical_precision(BaseTwoEta(5, 3), 40, 1000),
    "the empirical precision for weights that fall fast and many outcomes": lambda: empirical_precision(
        BaseTwoEta(1, 30), 3, 10**6
    ),
    "a scaled exponential": lambda: enclose_scaled_exp(mpq(40, 3), 19, 64),
    "the exponential mechanism": lambda: draws(lambda bits: exact_exponential((0.0, 1.25, -3.0), bits, epsilon=THIRD)),
    "the normal tail": lambda: normal_tail(mpq(-7, 3), mpq(2, 7), 200),
    "the discrete Gaussian's tails": lambda: discrete_tails(9, mpq(20, 3), 200),
    "the discrete Gaussian's tails by Euler and Maclaurin": lambda: discrete_tails(9, mpq(10**8, 3), 200),
    "the Gaussian's delta": lambda: gaussian_delta(1, sigma=THIRD * 10),
    "the discrete Gaussian's delta": lambda: discrete_gaussian_delta(1, sigma=THIRD * 10),
    "the quantile": lambda: normal_quantile(np.arange(2**50, 2**64, 2**57, dtype=np.uint64), 3).tolist(),
    "the mixture": mixture_and_what_remains,
    "the discrete Gaussian mechanism": lambda: exact_discrete_gaussian_fast(
        0.1, 40, SeededBits(np.random.default_rng(2)), sigma=THIRD, grid=Grid(-30)
    ).tolist(),
}


@pytest.mark.few(11)
@pytest.mark.parametrize("result", RESULTS.values(), ids=RESULTS)
def test_a_result_is_the_same_in_any_context_of_the_caller(result: Callable[[], Any]) -> None:
    fresh_caches()
    expected = result()
    for rounding in (gmpy2.RoundUp, gmpy2.RoundDown, gmpy2.RoundToNearest):
        fresh_caches()
        with gmpy2.context(precision=2, round=rounding):
            found = result()
        assert found == expected


@pytest.mark.few(11)
@pytest.mark.parametrize("result", RESULTS.values(), ids=RESULTS)
def test_a_result_is_the_same_whatever_exponents_the_caller_has_room_for(result: Callable[[], Any]) -> None:
    fresh_caches()
    expected = result()
    fresh_caches()
    with gmpy2.ieee(16):
        found = result()
    assert found == expected


def test_a_number_negated_outside_of_a_context_of_its_own_is_found_out() -> None:
    def careless() -> Any:
        return -gmpy2.mpfr(mpq(1, 3), 200)

    with gmpy2.context(precision=2):
        found = careless()
    assert found != careless()
