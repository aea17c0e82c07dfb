"""Sound mechanisms for tests, drawn with integers, their laws within 2^−62 of the ideal ones."""

from typing import Any

import gmpy2
import numpy as np
from gmpy2 import mpq
from numpy.typing import NDArray

RESOLUTION = 62
PRECISION = 256


def ideal_exponential(
    utilities: NDArray[np.float64], trials: int, rng: np.random.Generator, *, epsilon: float, sensitivity: float = 1.0
) -> NDArray[np.int64]:
    """The exponential mechanism, its weights with 256 bits and its cumulative law rounded to 2^−62."""
    rate = mpq(epsilon) / (2 * mpq(sensitivity))
    best = max(utilities.tolist())
    with gmpy2.context(precision=PRECISION, emin=gmpy2.get_emin_min()):
        weight = {
            utility: int(gmpy2.rint(gmpy2.exp(gmpy2.mpfr(rate * (mpq(utility) - mpq(best)))) * 2**PRECISION))
            for utility in set(utilities.tolist())
        }
    sums = np.cumsum(np.array([weight[utility] for utility in utilities.tolist()], dtype=object))
    total = int(sums[-1])
    thresholds = np.array([(int(part) << RESOLUTION) // total for part in sums], dtype=np.int64)
    return np.searchsorted(thresholds, rng.integers(0, 1 << RESOLUTION, trials), side="right").astype(np.int64)


def two_sided_geometric(rng: np.random.Generator, shape: Any, epsilon: float = 1.0) -> NDArray[np.int64]:
    """Integer noise that is ε-DP, and no better, for a sensitivity of 1."""
    stay = -np.expm1(-epsilon)
    return np.asarray(rng.geometric(stay, shape) - rng.geometric(stay, shape))
