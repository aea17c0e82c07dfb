"""The Laplace mechanism as textbooks and libraries write it: y = f(D) + Lap(Δ/ε), all in binary64.

The flaw (Mironov 2012, 'On Significance of the Least Significant Bits for Differential Privacy', section 4): the
uniform has 2^53 values, so the noise has at most 2^54 and wide gaps between them; the rounded sums f(D) + noise
of two neighbours are different sets of doubles, and the last bits of y tell which. Haney et al. 2022
('Precision-based attacks and interval refining'): the addition rounds to the finer of the grids of its operands,
and the number of trailing zero bits of y tells something of f(D), whatever the sampler.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mechanisms.parameters import positive_rational, trial_count


def naive_laplace_inverse_cdf(
    answer: float, trials: int, rng: np.random.Generator, *, epsilon: float, sensitivity: float = 1.0
) -> NDArray[np.float64]:
    """Add Laplace noise drawn by the inverse CDF, −b·sign(V)·log(1 − 2|V|) for V uniform in [−½, ½).

    V = −½, one draw in 2^53, gives −∞, as it does in the textbooks' formula.

    Args:
        answer: the true answer f(D).
        trials: how many outputs to draw.
        rng: the source of randomness.
        epsilon: privacy parameter, above 0.
        sensitivity: how far neighbouring answers can be apart, above 0.

    Returns:
        Array of `trials` outputs.

    Raises:
        ValueError: a parameter is out of its range.
    """
    scale = noise_scale(epsilon, sensitivity)
    centred = rng.random(trial_count(trials)) - 0.5
    with np.errstate(divide="ignore"):
        noise: NDArray[np.float64] = -scale * np.sign(centred) * np.log(1 - 2 * np.abs(centred))
    return answer + noise


def naive_laplace_numpy(
    answer: float, trials: int, rng: np.random.Generator, *, epsilon: float, sensitivity: float = 1.0
) -> NDArray[np.float64]:
    """Add Laplace noise drawn by `numpy.random.Generator.laplace`; see `naive_laplace_inverse_cdf`."""
    return answer + rng.laplace(0.0, noise_scale(epsilon, sensitivity), trial_count(trials))


def naive_laplace_numpy_legacy(
    answer: float, trials: int, rng: np.random.Generator, *, epsilon: float, sensitivity: float = 1.0
) -> NDArray[np.float64]:
    """Add Laplace noise drawn by `numpy.random.laplace`, whose generator gets a 32-bit seed from `rng`.

    See `naive_laplace_inverse_cdf`.
    """
    legacy = np.random.RandomState(int(rng.integers(2**32)))
    return answer + legacy.laplace(0.0, noise_scale(epsilon, sensitivity), trial_count(trials))


def noise_scale(epsilon: float, sensitivity: float) -> float:
    """Return Δ/ε.

    Raises:
        ValueError: a parameter is not above 0 and finite.
    """
    positive_rational("epsilon", epsilon)
    positive_rational("sensitivity", sensitivity)
    return float(sensitivity) / float(epsilon)
