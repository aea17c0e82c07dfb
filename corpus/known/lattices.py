"""Integer and gridded noise whose masses are wrong: parity, multiples, rounding, division, biased coins."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.claims import GaussianDP
from attacklab.model.domains import Domain, Queries
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.random_bits import SeededBits
from attacklab.model.targets import Target
from corpus.common.exact_noise import coins, discrete_laplace, laplace_law, noisy, pushed, scale_of, weighted
from corpus.common.specimen import Computed, Rng, Specimen, broken, sound
from mechanisms.core.grid import Grid
from mechanisms.gaussian.exact import exact_discrete_gaussian

GROUP = "lattice bias"

WHOLE = Domain(integers=True, bounds=(-1000, 1000))
ZERO_ONE = NeighbouringPair(0, 1, None)
ONE_ZERO = NeighbouringPair(1, 0, None)


def parity_bias(answer: int, trials: int, rng: Rng) -> NDArray[np.int64]:
    noise = discrete_laplace(10, trials, rng)
    odd_again = (noise % 2 != 0) & coins(Fraction(1, 4), trials, rng)
    return np.asarray(answer + noise + odd_again)


def fours_are_heavier(answer: int, trials: int, rng: Rng) -> NDArray[np.int64]:
    weights = [(3 if n % 4 == 0 else 2) * max(1, round(1e6 * math.exp(-abs(n) / 9))) for n in range(-80, 81)]
    return np.asarray(answer + weighted(weights, trials, rng) - 80)


def two_zeros(answer: int, trials: int, rng: Rng) -> NDArray[np.int64]:
    magnitude = rng.geometric(1 - math.exp(-0.5), trials) - 1
    return np.asarray(answer + np.where(rng.random(trials) < 0.5, magnitude, -magnitude))


def no_zero(answer: int, trials: int, rng: Rng) -> NDArray[np.int64]:
    magnitude = rng.geometric(1 - math.exp(-0.5), trials)
    return np.asarray(answer + np.where(rng.random(trials) < 0.5, magnitude, -magnitude))


def floored_variance(answer: int, trials: int, rng: Rng) -> NDArray[np.float64]:
    sigma = math.isqrt(3)  # the integer part, instead of the root
    return np.asarray(exact_discrete_gaussian(sigma, grid=Grid(0)).many(answer, trials, SeededBits(rng)))


def integer_division(answer: int, trials: int, rng: Rng) -> list[int]:
    """Geometric noise by a coin of e^−1/20 as a quotient of integers, divided too early."""
    accept = 1000 * 95123 // 100000 // 10 * 10  # of 1000
    outputs = []
    drawn = iter(rng.integers(0, 1000, 60 * trials))
    for _ in range(trials):
        n = 0
        while next(drawn) < accept and n < 50:
            n += 1
        outputs.append(answer + (n if next(drawn) < 500 else -n))
    return outputs


def geometric_of_two_scales(answer: int, trials: int, rng: Rng) -> NDArray[np.int64]:
    noise = discrete_laplace(20, trials, rng)
    return np.asarray(answer + np.where(noise < 0, noise // 2, noise))


def bits_of_noise(answers: NDArray[Any], trials: int, rng: Rng) -> NDArray[np.int64]:
    """Noise composed of independent bits, the lowest of which are biased."""
    bits = rng.random((trials, len(answers), 6)) < np.array([0.8, 0.6, 0.5, 0.45, 0.4, 0.3])
    sign = np.where(rng.random((trials, len(answers))) < 0.5, 1, -1)
    return np.asarray(answers + sign * (bits @ (1 << np.arange(6))))


def skew_within_claim(answer: int, trials: int, rng: Rng) -> NDArray[np.int64]:
    weights = [(11 if n % 2 == 0 else 10) * 2 ** (20 - abs(n)) for n in range(-20, 21)]
    return np.clip(answer + weighted(weights, trials, rng) - 20, -1, 2)


def _skewed(answer: int) -> dict[int, float]:
    weights = {n: (11 if n % 2 == 0 else 10) * 2 ** (20 - abs(n)) for n in range(-20, 21)}
    total = sum(weights.values())
    return dict(pushed({n: w / total for n, w in weights.items()}, lambda n: min(2, max(-1, answer + n))))


def _modulo(answer: int) -> dict[int, float]:
    return dict(pushed(dict.fromkeys(range(1 << 12), 2.0**-12), lambda n: answer + n % 1000))


# fmt: off
SPECIMENS: tuple[Specimen, ...] = (
    broken(
        "parity_bias", Target.noise, "a quarter of the odd noise is moved to the even number above", parity_bias,
        ZERO_ONE, lambda output: output % 2 == 0, epsilon=0.1, domain=WHOLE
    ),
    broken(
        "truncated_float", Target.noise, "Laplace noise cut towards 0, which so takes the mass of two cells",
        lambda answer, trials, rng: answer + np.trunc(rng.laplace(0.0, 1.0, trials)).astype(np.int64), ZERO_ONE,
        lambda output: output == 0, epsilon=1.0, domain=WHOLE
    ),
    broken(
        "even_noise", Target.noise, "noise has steps of 2, so that the parity of the answer is exact",
        lambda answer, trials, rng: answer + 2 * np.rint(rng.laplace(0.0, 4.0, trials) / 2).astype(np.int64), ZERO_ONE,
        lambda output: output % 2 == 0, epsilon=0.25, domain=WHOLE
    ),
    broken(
        "fours_are_heavier", Target.noise, "multiples of 4 have half as much mass again as they should",
        fours_are_heavier, ZERO_ONE, lambda output: output % 4 == 0, trials=50_000, epsilon=1 / 9, domain=WHOLE
    ),
    broken(
        "two_zeros", Target.noise, "a sign times a magnitude counts 0 twice", two_zeros, ZERO_ONE,
        lambda output: output == 0, epsilon=0.5, domain=WHOLE
    ),
    broken(
        "no_zero", Target.noise, "magnitudes begin at 1, so that noise is never 0", no_zero, ZERO_ONE,
        lambda output: output == 1, epsilon=0.5, domain=WHOLE
    ),
    broken(
        "floored_variance", Target.noise, "the standard deviation is the integer part of what it should be",
        floored_variance, NeighbouringPair(0, 1, None), lambda output: output <= 0, claim=GaussianDP(1 / math.sqrt(3)),
        domain=WHOLE
    ),
    broken(
        "modulo_of_a_byte", Target.noise, "a byte modulo 150 is twice as often below 106",
        lambda answer, trials, rng: answer + rng.integers(0, 256, trials) % 150, NeighbouringPair(0, 10, None),
        lambda output: output < 10, epsilon=0.1, delta=0.02, domain=WHOLE, sensitivity=10
    ),
    broken(
        "integer_division", Target.noise,
        "the acceptance probability of geometric noise is cut to 95 %, and 0 counts twice", integer_division, ZERO_ONE,
        lambda output: output == 0, trials=20_000, epsilon=0.05, domain=WHOLE
    ),
    broken(
        "coarse_steps", Target.noise, "noise has steps of 4, the answer has not",
        lambda answer, trials, rng: answer + 4 * discrete_laplace(2, trials, rng), ZERO_ONE,
        lambda output: output % 4 == 0, epsilon=0.5, domain=WHOLE
    ),
    broken(
        "rounded_to_even_tenths", Target.noise, "answers are floored to tenths, noise has steps of a fifth",
        lambda answer, trials, rng: np.floor(10 * answer) / 10 + 0.2 * discrete_laplace(10, trials, rng),
        NeighbouringPair(0.0, 0.1, None), lambda output: round(10 * output) % 2 == 0, epsilon=0.5
    ),
    broken(
        "geometric_of_two_scales", Target.noise, "negative noise is halved, which doubles its mass",
        geometric_of_two_scales, NeighbouringPair(0, 1, None), lambda output: output < 0, trials=100_000, epsilon=0.05,
        domain=WHOLE
    ),
    broken(
        "bits_of_noise", Target.dataset, "the lowest bit of the noise is 1 four times out of five", bits_of_noise,
        NeighbouringPair(np.array([0, 0]), np.array([1, 1]), None),
        lambda output: output[0] % 2 == 1 and output[1] % 2 == 1, epsilon=1.0,
        domain=Domain(shape=Queries(size=2), integers=True, bounds=(0, 50))
    ),
    sound(
        "skew_within_claim", Target.noise, "even numbers are heavier by a tenth, which the claim includes",
        skew_within_claim, Computed(ZERO_ONE, _skewed), epsilon=math.log(2.2),
        domain=Domain(integers=True, bounds=(0, 1))
    ),
    noisy(
        "step_of_four", Target.noise, "outputs have steps of 4, and so has the rounded answer",
        scale_of(0.5), NeighbouringPair(3, 4, None), lambda n: 4 * n, true=lambda answer: answer // 4, epsilon=0.5,
        domain=WHOLE
    ),
    noisy(
        "even_answers_even_noise", Target.noise, "all outputs are even, whatever the answer", scale_of(0.2), ZERO_ONE,
        lambda n: 2 * n, epsilon=0.2, domain=WHOLE
    ),
    sound(
        "modulo_bias_in_delta", Target.noise, "biased uniform noise, whose bias the claim includes",
        lambda answer, trials, rng: answer + rng.integers(0, 1 << 12, trials) % 1000, Computed(ZERO_ONE, _modulo),
        epsilon=0.25, delta=0.002, domain=WHOLE
    ),
    sound(
        "sum_of_two_noises", Target.noise, "exact noise and more noise on multiples of 3, which is post-processing",
        lambda answer, trials, rng: answer + discrete_laplace(2, trials, rng) + 3 * discrete_laplace(1, trials, rng),
        Computed(ZERO_ONE, lambda answer: _two_noises(answer)), epsilon=0.5, domain=WHOLE
    ),
)
# fmt: on


def _two_noises(answer: int) -> dict[int, float]:
    outer = laplace_law(1)
    total: dict[int, float] = {}
    for n, mass in laplace_law(2).items():
        for m, weight in outer.items():
            total[answer + n + 3 * m] = total.get(answer + n + 3 * m, 0.0) + mass * weight
    return total
