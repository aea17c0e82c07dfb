"""Report noisy max, exactly: selection by Gumbel, one-sided exponential and Laplace noise, and no floating point.

- Gumbel noise gives the exponential mechanism, so that mechanism is its exact twin.
- One-sided exponential noise gives permute-and-flip: an outcome's noisy utility exceeds the best utility with
  probability e^(−gap), and among those that do each is as likely to come first. No noise is drawn, only coins.
- Laplace noise is drawn from its discrete law and added to utilities rounded at random to multiples of Δu; ties
  are broken at random.

README.md proves what each of them loses. Dwork and Roth 2014, Theorem 3.13, says that exponential noise gives the
exponential mechanism; it gives permute-and-flip, whose law differs.

Sources: Ding, Kifer, Sayed, Steinke, Wang, Xiao and Zhang 2021, 'The Permute-and-Flip Mechanism is Identical to
Report-Noisy-Max with Exponential Noise'; McKenna and Sheldon 2020, 'Permute-and-Flip'; Yellott 1977 (Gumbel).
"""

from __future__ import annotations

from fractions import Fraction

from mechanisms.coins import bernoulli_exp, uniform_below
from mechanisms.exponential.exact import exact_exponential
from mechanisms.exponential.levels import WIDEST_RANGE
from mechanisms.exponential.utilities import UtilityScale, round_at_random
from mechanisms.parameters import positive_rational
from mechanisms.private_numbers import PrivateNumbers
from mechanisms.published import discrete_laplace
from mechanisms.randomness import RandomBits

exact_gumbel_noisy_max = exact_exponential


def exact_exponential_noisy_max(
    utilities: PrivateNumbers,
    bits: RandomBits,
    *,
    epsilon: float | Fraction,
    sensitivity: float | Fraction = 1,
    monotone: bool = False,
    utility_range: tuple[float | Fraction, float | Fraction] = WIDEST_RANGE,
) -> int:
    """Permute and flip: go through the outcomes in random order until a coin Bernoulli(e^(−γ)) comes up.

    γ = ε·(max u − u)/(2Δu), and twice that if utilities are monotone. The coin of the best outcome always comes
    up. No round is repeated: each leaves one outcome fewer.

    Args:
        utilities: one utility an outcome; larger is better; numbers as `mechanisms.private_numbers` reads them.
        bits: the source of randomness.
        epsilon: the privacy loss ε.
        sensitivity: Δu, the most that one record moves any utility.
        monotone: whether one record moves all utilities in the same direction.
        utility_range: the least and the largest utility, to which others are clamped; chosen without looking at the
            database.

    Returns:
        The index of the selected outcome.

    Raises:
        TypeError: an argument, or a utility, is not a number, by its type.
        ValueError: there is no outcome; epsilon or the sensitivity is not positive and finite, or the range is empty.
    """
    scale = _noise_scale(epsilon, monotone)
    shortfalls = UtilityScale(utility_range, sensitivity).shortfalls(utilities)
    best = min(shortfalls)
    waiting = list(range(len(shortfalls)))
    while True:
        position = bits.call(uniform_below, len(waiting))
        waiting[position], waiting[-1] = waiting[-1], waiting[position]
        candidate = waiting.pop()
        if bits.call(bernoulli_exp, (shortfalls[candidate] - best) / scale):
            return candidate


def exact_laplace_noisy_max(
    utilities: PrivateNumbers,
    bits: RandomBits,
    *,
    epsilon: float | Fraction,
    sensitivity: float | Fraction = 1,
    monotone: bool = False,
    utility_range: tuple[float | Fraction, float | Fraction] = WIDEST_RANGE,
) -> int:
    """Report the outcome whose utility, in whole units of Δu, is largest after adding discrete Laplace noise.

    The noise's scale is 2/ε, and 1/ε if utilities are monotone. Ties are broken uniformly at random.

    Arguments, result and errors as in `exact_exponential_noisy_max`.
    """
    scale = _noise_scale(epsilon, monotone)
    shortfalls = UtilityScale(utility_range, sensitivity).shortfalls(utilities)
    noisy = [bits.call(discrete_laplace, scale) - round_at_random(shortfall, bits) for shortfall in shortfalls]
    largest = max(noisy)
    winners = [index for index, value in enumerate(noisy) if value == largest]
    return winners[bits.call(uniform_below, len(winners))]


def _noise_scale(epsilon: float | Fraction, monotone: bool) -> Fraction:
    """Return the scale of the noise in units of Δu."""
    return (1 if monotone else 2) / positive_rational("epsilon", epsilon)
