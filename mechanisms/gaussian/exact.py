"""The discrete Gaussian mechanism on a public grid, exactly.

The answer is rounded to a multiple of 2^k first, and integer noise n with P[n] ∝ exp(−n²/2σ²) is added in steps of
2^k. The reference path is Canonne, Kamath and Steinke 2020, 'The Discrete Gaussian for Differential Privacy',
Algorithm 3: no number is ever approximated. The fast path, `mechanisms.gaussian.exact_fast`, has the same law by
inversion.

Privacy is that of the *discrete* law, `exact_discrete_gaussian_delta`; they add noise to an integer answer, and
`mechanisms.grid` proves what rounding a real answer does to its sensitivity.
"""

from __future__ import annotations

import math
from fractions import Fraction

from mechanisms.coins import bernoulli_exp
from mechanisms.gaussian.privacy import discrete_gaussian_delta
from mechanisms.grid import Grid
from mechanisms.parameters import positive_rational
from mechanisms.private_numbers import PrivateNumber
from mechanisms.published import discrete_laplace
from mechanisms.randomness import REJECTED, RandomBits


def discrete_gaussian(variance: Fraction, bits: RandomBits) -> int:
    """Draw n with probability proportional to exp(−n²/(2·variance)): Algorithm 3.

    With t = ⌊σ⌋ + 1, discrete Laplace noise y of scale t is kept with probability exp(−(|y| − σ²/t)²/2σ²), and
    exp(−|y|/t)·exp(−(|y| − σ²/t)²/2σ²) is exp(−y²/2σ²) times a constant.

    Args:
        variance: σ², a rational number above 0.
        bits: the source of randomness.

    Raises:
        ValueError: `variance` is not above 0.
    """
    variance = positive_rational("variance", variance)
    return bits.repeat(_kept_proposal, variance, Fraction(math.isqrt(math.floor(variance)) + 1))


def _kept_proposal(variance: Fraction, scale: Fraction, bits: RandomBits) -> int | None:
    proposed = bits.call(discrete_laplace, scale)
    is_kept = bits.call(bernoulli_exp, (abs(proposed) - variance / scale) ** 2 / (2 * variance))
    return proposed if is_kept else REJECTED


def exact_discrete_gaussian(answer: PrivateNumber, bits: RandomBits, *, sigma: float | Fraction, grid: Grid) -> float:
    """Round an answer to the grid and add discrete Gaussian noise.

    Answers beyond the grid count as its ends, and so do outputs: both are maps that do not look at the data.

    Args:
        answer: the true answer f(D).
        bits: the source of randomness.
        sigma: σ of the noise, positive; a float stands for the rational that it is.
        grid: the public grid of outputs.

    Returns:
        A point of the grid, (ε, δ)-DP for every ε with the δ of `exact_discrete_gaussian_delta`.

    Raises:
        ValueError: a public parameter is out of its range, or the grid is too fine for the noise.
    """
    sigma_steps = sigma_in_steps(sigma, grid)
    return grid.value(grid.nearest(answer) + bits.call(discrete_gaussian, sigma_steps**2))


def exact_discrete_gaussian_delta(
    epsilon: float | Fraction, *, sigma: float | Fraction, sensitivity: float | Fraction = 1, grid: Grid
) -> float:
    """Return a certified upper bound of δ(ε) of the discrete Gaussian mechanism on a grid.

    Args:
        epsilon: ε ≥ 0.
        sigma: σ of the noise, positive.
        sensitivity: how far neighbouring answers can be apart before rounding, above 0.
        grid: the public grid of outputs.

    Returns:
        The least double known to be at least δ(ε).

    Raises:
        ValueError: a parameter is out of its range.
    """
    sigma_steps = sigma_in_steps(sigma, grid)
    return discrete_gaussian_delta(epsilon, sigma=sigma_steps, sensitivity=grid.rounded_sensitivity(sensitivity))


def sigma_in_steps(sigma: float | Fraction, grid: Grid) -> Fraction:
    """Return σ in steps of the grid.

    Raises:
        ValueError: `sigma` is not above 0, or the grid is too fine for it; see `Grid.noise_steps`.
    """
    return grid.noise_steps(positive_rational("sigma", sigma) / grid.step)
