"""Integer and gridded noise whose masses are wrong: parity, multiples, rounding, division, biased coins."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.domains import Domain, Queries
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Target
from corpus.common.exact_noise import coins, discrete_laplace, noisy, pushed, scale_of, weighted
from corpus.common.specimen import Computed, Rng, Specimen, broken, sound

GROUP = "lattice bias"

WHOLE = Domain(integers=True, bounds=(-1000, 1000))
ZERO_ONE = NeighbouringPair(0, 1, None)


def parity_bias(answer: int, trials: int, rng: Rng) -> NDArray[np.int64]:
    noise = discrete_laplace(10, trials, rng)
    odd_again = (noise % 2 != 0) & coins(Fraction(1, 4), trials, rng)
    return np.asarray(answer + noise + odd_again)


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
        "modulo_of_a_byte", Target.noise, "a byte modulo 150 is twice as often below 106",
        lambda answer, trials, rng: answer + rng.integers(0, 256, trials) % 150, NeighbouringPair(0, 10, None),
        lambda output: output < 10, epsilon=0.1, delta=0.02, domain=WHOLE, sensitivity=10
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
        "even_answers_even_noise", Target.noise, "all outputs are even, whatever the answer", scale_of(0.2), ZERO_ONE,
        lambda n: 2 * n, epsilon=0.2, domain=WHOLE
    ),
)
# fmt: on
