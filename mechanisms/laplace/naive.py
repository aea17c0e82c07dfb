"""The Laplace mechanism, the geometric one and randomized response as textbooks and libraries write them, in binary64.

The flaw of y = f(D) + Lap(Δ/ε) (Mironov 2012, 'On Significance of the Least Significant Bits for Differential
Privacy', section 4): the uniform has 2^53 values, so the noise has at most 2^54 and wide gaps between them; the rounded
sums f(D) + noise of two neighbours are different sets of doubles, and the last bits of y tell which. Haney et al. 2022
('Precision-based attacks and interval refining'): the addition rounds to the finer of the grids of its operands, and
the number of trailing zero bits of y tells something of f(D), whatever the sampler.

The flaw of geometric noise (Ghosh, Roughgarden and Sundararajan 2009, section 2, for the mechanism): it is counted in
loops that run once for every step, so the time taken tells how large it is. And the ratio e^(−ε/Δ) is rounded.

The flaw of randomized response (Warner 1965): for ε > 37.43 (54·ln 2) the probability of the truth rounds to 1 and no
answer is ever a lie; beyond 709 it is NaN and every answer is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mechanisms.core.numbers import count, positive


def naive_laplace_inverse_cdf(
    answer: float, trials: int, rng: np.random.Generator, *, epsilon: float, sensitivity: float = 1.0
) -> NDArray[np.float64]:
    """Add Laplace noise drawn by the inverse CDF, −b·sign(V)·log(1 − 2|V|) for V uniform in [−½, ½).

    V = −½, one draw in 2^53, gives −∞, as it does in the textbooks' formula.
    """
    scale = noise_scale(epsilon, sensitivity)
    centred = rng.random(count("trials", trials, least=0)) - 0.5
    with np.errstate(divide="ignore"):
        noise: NDArray[np.float64] = -scale * np.sign(centred) * np.log(1 - 2 * np.abs(centred))
    return answer + noise


def naive_laplace_numpy(
    answer: float, trials: int, rng: np.random.Generator, *, epsilon: float, sensitivity: float = 1.0
) -> NDArray[np.float64]:
    """Add Laplace noise drawn by `numpy.random.Generator.laplace`; see `naive_laplace_inverse_cdf`."""
    return answer + rng.laplace(0.0, noise_scale(epsilon, sensitivity), count("trials", trials, least=0))


def naive_laplace_numpy_legacy(
    answer: float, trials: int, rng: np.random.Generator, *, epsilon: float, sensitivity: float = 1.0
) -> NDArray[np.float64]:
    """Add Laplace noise drawn by `numpy.random.laplace`, whose generator gets a 32-bit seed from `rng`.

    See `naive_laplace_inverse_cdf`.
    """
    legacy = np.random.RandomState(int(rng.integers(2**32)))
    return answer + legacy.laplace(0.0, noise_scale(epsilon, sensitivity), count("trials", trials, least=0))


def naive_two_sided_geometric(
    answer: int, trials: int, rng: np.random.Generator, *, epsilon: float, sensitivity: float = 1.0
) -> NDArray[np.int64]:
    """Add to an integer the difference of two geometric variates, each counted in a loop.

    Arguments, result and errors as in `naive_laplace_inverse_cdf`.
    """
    ratio = np.exp(-1 / noise_scale(epsilon, sensitivity))

    def successes() -> int:
        steps = 0
        while rng.random() < ratio:
            steps += 1
        return steps

    draws = range(count("trials", trials, least=0))
    return np.array([answer + successes() - successes() for _ in draws], dtype=np.int64)


def naive_randomized_response(
    truth: bool, trials: int, rng: np.random.Generator, *, epsilon: float
) -> NDArray[np.bool_]:
    """Tell the truth when one uniform is below e^ε/(1 + e^ε), its opposite otherwise.

    Arguments, result and errors as in `naive_laplace_inverse_cdf`; the answer is the private bit `truth`.
    """
    positive("epsilon", epsilon)
    with np.errstate(over="ignore", invalid="ignore"):
        odds = np.exp(np.float64(epsilon))
        keep = odds / (1 + odds)
    truthful: NDArray[np.bool_] = rng.random(count("trials", trials, least=0)) < keep
    return truthful if truth else ~truthful


def noise_scale(epsilon: float, sensitivity: float) -> float:
    """Return Δ/ε."""
    positive("epsilon", epsilon)
    positive("sensitivity", sensitivity)
    return float(sensitivity) / float(epsilon)
