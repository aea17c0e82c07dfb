"""No bound and no draw depends on the MPFR context of the caller.

Module-level functions and operators of gmpy2 round as the current context says: to 53 bits, to nearest, by default. A
bound computed with one of them by oversight is not a bound, though it looks like one. A context of 2 bits shows it.
Numbers made outside of a context of one's own are held to the current one's exponents, which binary16's 5 bits show.
"""

import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import gmpy2
import numpy as np
import pytest
from gmpy2 import mpq

from attacklab import SeededBits
from attacklab.laws import Bounds, exp_bounds, log_bounds, normalised
from mechanisms.core.cells import Cells
from mechanisms.core.gaussian_claims import least_sigma
from mechanisms.core.inversion import invert
from mechanisms.core.laws import DiscreteGaussian, DiscreteLaplace, Law, RoundedGaussian, RoundedLaplace
from mechanisms.core.noise import Noise
from mechanisms.core.remainder import Remainder
from mechanisms.core.rounding import exp_above, log_above
from mechanisms.core.select import scaled
from mechanisms.core.threshold import least_threshold
from mechanisms.exponential.base2.eta import BaseTwoEta
from mechanisms.exponential.base2.precision import empirical_precision
from mechanisms.gaussian.exact import exact_fixed_work_gaussian
from tests.checker.making import TERMS

pytestmark = pytest.mark.slow

THIRD = Fraction(1, 3)
LAWS: tuple[Law, ...] = (
    DiscreteLaplace(THIRD * 20),
    RoundedLaplace(THIRD * 20),
    DiscreteGaussian(THIRD * 20),
    DiscreteGaussian(THIRD * 10**9),
    RoundedGaussian(THIRD),
    RoundedGaussian(THIRD * 2**80),
)


def fresh_caches() -> None:
    for name, module in list(sys.modules.items()):
        if name.startswith(("mechanisms.", "attacklab.")):
            for value in vars(module).values():
                if hasattr(value, "cache_clear") and not isinstance(value, type):
                    value.cache_clear()


RECORDS = [0.25, 1.0, 2.0, 3.5, 0.0]
DATA: dict[str | None, Any] = {
    "bit": True,
    "utilities": [0.5, 1.25, -3.0],
    "answers": 0.1,
    "distances": 0.1,
    "shuffled": [1, 0, 1, 1],
    "histogram": ["a", "b", "a"],
    "keys": {"a": 7, "b": 1},
    "threshold": [0, 7, 2],
    "values": [0, 7, 2],
    "counts": [0, 7, 2],
    "chunks": [("a", 1.0), ("b", 2.0), ("a", 0.5)],
}
"""Private data of a term of the checker's tests, by its name or by who are neighbours; else these are records."""


def claim_and_draws(name: str) -> Any:
    term = replace(TERMS[name])  # type: ignore[type-var] # all of them are dataclasses
    if name == "session":
        return term.claim
    data = DATA.get(name, DATA.get(term.relation, RECORDS))
    return repr((term.claim, [term.release(data, SeededBits(seed)) for seed in range(5)]))


def law_and_draws(law: Law) -> Any:
    cells = Cells(law)
    far = 3 * cells.width + 1
    noise = np.zeros(3000, dtype=np.int64)
    Noise(law).add(noise, SeededBits(4))
    return (
        [law.tail(k, 200) for k in (-5, 0, 1, 9, int(law.spread))],
        [law.heights([k]) for k in (0, 1, 9)],
        (cells.cells, cells.remaining, Remainder(cells).tail(far, 128)),
        [invert(law, SeededBits(seed)) for seed in range(20)],
        noise.tolist(),
    )


RESULTS: dict[str, Callable[[], Any]] = {
    "the exponential's bounds": lambda: exp_bounds(mpq(-22, 7)),
    "the logarithm's bounds": lambda: log_bounds(Bounds(mpq(1, 3), mpq(10, 3))),
    "an ideal law": lambda: dict(normalised({i: exp_bounds(mpq(i, 3)) for i in range(3)}).masses),
    "rational bounds": lambda: (log_above(THIRD * 10), exp_above(-THIRD), exp_above(THIRD * 100)),
    "the deltas of Gaussian noise": lambda: [
        law.delta(2, THIRD) for law in (DiscreteGaussian(THIRD * 20), RoundedGaussian(THIRD))
    ],
    "the least sigma": lambda: least_sigma(THIRD, Fraction(1, 10**6)),
    "Gaussian noise of fixed work": lambda: exact_fixed_work_gaussian(THIRD, sigma=THIRD * 9, lower=0, upper=9).rows,
    "the least threshold": lambda: least_threshold(DiscreteLaplace(1 / THIRD), Fraction(1, 10**60)),
    "the largest eta": lambda: BaseTwoEta.from_epsilon(0.1, y=200),
    "the epsilon of an eta": lambda: BaseTwoEta(12345, 20, 3).epsilon(),
    "the epsilon of the eta of 1": lambda: BaseTwoEta(1, 1).epsilon(),
    "the epsilon of a large eta": lambda: BaseTwoEta(1, 3000).epsilon(),
    "the empirical precision": lambda: empirical_precision(BaseTwoEta(5, 3), 40, 1000),
    "the empirical precision for weights that fall fast and many outcomes": lambda: empirical_precision(
        BaseTwoEta(1, 30), 3, 10**6
    ),
    "a scaled exponential": lambda: scaled(mpq(40, 3), 64),
    **{f"the law {law}": lambda law=law: law_and_draws(law) for law in LAWS},  # type: ignore[misc]
    **{f"the term {name}": lambda name=name: claim_and_draws(name) for name in TERMS},  # type: ignore[misc]
}


@pytest.mark.parametrize("result", RESULTS.values(), ids=RESULTS)
def test_a_result_is_the_same_in_any_context_of_the_caller_and_whatever_exponents_it_has_room_for(
    result: Callable[[], Any],
) -> None:
    fresh_caches()
    expected = result()
    roundings = (gmpy2.RoundUp, gmpy2.RoundDown, gmpy2.RoundToNearest)
    for context in (*(gmpy2.context(precision=2, round=rounding) for rounding in roundings), gmpy2.ieee(16)):
        fresh_caches()
        with context:
            computed = result()
        assert computed == expected, context
