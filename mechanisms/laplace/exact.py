"""The discrete Laplace mechanism on a public grid, exactly, and the two-sided geometric law.

The answer is rounded to a multiple of 2^k first, and integer noise n with P[n] ∝ e^(−|n|/s) is added in steps of
2^k. No number is ever approximated: the coins are Bernoulli(e^−γ) with rational γ (`mechanisms.coins`).

Sources: Canonne, Kamath and Steinke 2020, 'The Discrete Gaussian for Differential Privacy', section 5.2,
Algorithm 2; Ghosh, Roughgarden and Sundararajan 2009, 'Universally Utility-Maximizing Privacy Mechanisms',
section 2 (the geometric mechanism). They add the noise to an integer answer; `mechanisms.grid` proves what
rounding a real one does to its sensitivity. We also clamp to the grid.
"""

from __future__ import annotations

import operator
from fractions import Fraction

from mechanisms.coins import bernoulli, bernoulli_exp, uniform_below
from mechanisms.grid import Grid
from mechanisms.parameters import positive_rational
from mechanisms.private_numbers import PrivateNumber
from mechanisms.randomness import REJECTED, RandomBits

INTEGER_LIMIT = 1 << 61
"""The largest noisy integer, for one draw and for many: far beyond any count, and safe in 64 bits."""


def discrete_laplace(scale: Fraction, bits: RandomBits) -> int:
    """Draw n with probability proportional to e^(−|n|/scale): Algorithm 2.

    With scale = t/s, x = u + t·v for u uniform in [0, t) kept with probability e^(−u/t), and v geometric, has
    P[x] ∝ e^(−x/t); ⌊x/s⌋ has P[m] ∝ e^(−m·s/t). The sign is fair and −0 is rejected.

    Args:
        scale: a rational number, above 0.
        bits: the source of randomness.

    Raises:
        ValueError: `scale` is not above 0.
    """
    scale = positive_rational("scale", scale)
    return bits.repeat(_signed_laplace, scale.numerator, scale.denominator)


def _signed_laplace(t: int, s: int, bits: RandomBits) -> int | None:
    u = bits.call(uniform_below, t)
    if not bits.call(bernoulli_exp, Fraction(u, t)):
        return REJECTED
    v = 0
    while bits.call(bernoulli_exp, Fraction(1)):
        v += 1
    return _signed((u + t * v) // s, bits)


def _signed(magnitude: int, bits: RandomBits) -> int | None:
    """Give a magnitude a fair sign; −0 is rejected."""
    if bits.take(1) == 0:
        return magnitude
    return -magnitude if magnitude > 0 else REJECTED


def clamp_integer(answer: int) -> int:
    """Bring an integer of any type into ±`INTEGER_LIMIT`, as a plain int."""
    return min(max(operator.index(answer), -INTEGER_LIMIT), INTEGER_LIMIT)


def noisy_integer(answer: int, scale: Fraction, bits: RandomBits) -> int:
    """Add discrete Laplace noise to an integer; what lies beyond ±`INTEGER_LIMIT` counts as the nearest end.

    Clamping an answer adds nothing to its sensitivity, and clamping the sum does not look at the data.

    Args:
        answer: the true answer; if neighbouring ones are at most d apart, the result has (d/scale)-DP.
        scale: a rational number, above 0.
        bits: the source of randomness.
    """
    return clamp_integer(clamp_integer(answer) + bits.call(discrete_laplace, scale))


def two_sided_geometric(ratio: float | Fraction, bits: RandomBits) -> int:
    """Draw n with probability (1 − ratio)/(1 + ratio)·ratio^|n|.

    It is the discrete Laplace law of scale −1/ln(ratio), with rational probabilities: adding it to an answer of
    sensitivity 1 multiplies no probability by more than 1/ratio.

    Args:
        ratio: above 0 and below 1; a float stands for its exact value.
        bits: the source of randomness.

    Raises:
        TypeError: `ratio` is not a number.
        ValueError: `ratio` is outside (0, 1).
    """
    ratio = positive_rational("ratio", ratio)
    if ratio >= 1:
        raise ValueError(f"ratio must lie in (0, 1), not {ratio}")
    return bits.repeat(_signed_geometric, ratio)


def _signed_geometric(ratio: Fraction, bits: RandomBits) -> int | None:
    magnitude = 0
    while bits.call(bernoulli, ratio):
        magnitude += 1
    return _signed(magnitude, bits)


def discrete_scale(epsilon: float | Fraction, sensitivity: float | Fraction, grid: Grid) -> Fraction:
    """Return the scale, in steps of the grid, at which discrete Laplace noise gives ε-DP: ⌈Δ/2^k⌉/ε.

    Raises:
        ValueError: a parameter is not above 0, or the grid is too fine for the noise; see `Grid.noise_steps`.
    """
    return grid.noise_steps(grid.rounded_sensitivity(sensitivity) / positive_rational("epsilon", epsilon))


def exact_discrete_laplace(
    answer: PrivateNumber,
    bits: RandomBits,
    *,
    epsilon: float | Fraction,
    sensitivity: float | Fraction = 1,
    grid: Grid,
) -> float:
    """Round an answer to the grid and add discrete Laplace noise.

    Answers beyond the grid count as its ends, and so do outputs: both are maps that do not look at the data.

    Args:
        answer: the true answer f(D).
        bits: the source of randomness.
        epsilon: privacy parameter, above 0; a float stands for its exact value.
        sensitivity: how far neighbouring answers can be apart before rounding, above 0.
        grid: the public grid of outputs.

    Returns:
        A point of the grid, with ε-DP.

    Raises:
        ValueError: a public parameter is out of its range.
    """
    scale = discrete_scale(epsilon, sensitivity, grid)
    return grid.value(grid.nearest(answer) + bits.call(discrete_laplace, scale))
