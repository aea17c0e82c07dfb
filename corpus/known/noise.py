"""Noise of few values, of leaky samplers and on biased lattices."""

from __future__ import annotations

import hashlib
import math
import random
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from attacklab.model.claims import GaussianDP, ZeroConcentrated
from attacklab.model.domains import Domain, Queries
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.random_bits import SeededBits
from attacklab.model.targets import Target
from corpus.common.exact_noise import answered, noisy, pushed, response_law, scale_of, weighted
from corpus.common.specimen import Computed, Rng, Specimen, broken, in_group, sound
from mechanisms.core.grid import Grid
from mechanisms.gaussian.exact import exact_discrete_gaussian
from mechanisms.laplace.exact import exact_discrete_laplace, exact_rounded_laplace, exact_snapping

# Noise that takes few values, or repeats: small generators, pools, tables, truncation, noise that sticks.


ZERO_ONE = NeighbouringPair(0.0, 1.0, None)
WHOLE = Domain(integers=True)
BIT = Domain(integers=True, bounds=(0, 1))
WHOLE_01 = NeighbouringPair(0, 1, None)

POOL = np.random.default_rng(20).laplace(0.0, 1.0, 1000)
IN_POOL = frozenset(POOL)
FROM_42 = frozenset(np.random.default_rng(42).laplace(0.0, 1.0, 20_000))


def keyed_by_answer(answer: float, trials: int, rng: Rng) -> NDArray[np.float64]:
    seed = int.from_bytes(hashlib.sha256(repr(float(answer)).encode()).digest()[:8], "big")
    return np.full(trials, answer + np.random.default_rng(seed).laplace(0.0, 1.0))


# fmt: off
FEW_VALUES = in_group(
    "few-valued and repeating noise",
    broken(
        "fixed_seed", Target.noise,
        "the generator is seeded with 42 in every call, so that the first output is always the same",
        lambda answer, trials, rng: answer + np.random.default_rng(42).laplace(0.0, 1.0, trials), ZERO_ONE,
        lambda output: output in FROM_42, epsilon=1.0
    ),
    broken(
        "keyed_by_answer", Target.noise,
        "noise is a function of the answer, so that repeated queries cannot average it away", keyed_by_answer, ZERO_ONE,
        lambda output: output == keyed_by_answer(0.0, 1, np.random.default_rng(0))[0], epsilon=1.0
    ),
    broken(
        "pool_of_noise", Target.noise, "noise is drawn from a pool of 1,000 values made in advance",
        lambda answer, trials, rng: answer + rng.choice(POOL, trials), ZERO_ONE, lambda output: output in IN_POOL,
        epsilon=1.0
    ),
    broken(
        "three_values", Target.noise, "noise is −2, 0 or 2",
        lambda answer, trials, rng: answer + 2.0 * rng.choice([-1, 0, 1], trials, p=[0.25, 0.5, 0.25]), ZERO_ONE,
        lambda output: output == 0.0, epsilon=1.0
    ),
    broken(
        "triangular", Target.noise, "noise of bounded range: one end is reached from one of two neighbours only",
        lambda answer, trials, rng: answer + rng.integers(0, 9, trials) - rng.integers(0, 9, trials), WHOLE_01,
        lambda output: output == -8, trials=20_000, epsilon=1.0, domain=WHOLE
    ),
    broken(
        "one_draw_for_all_queries", Target.dataset,
        "three answers share one draw of noise, so that their differences are exact",
        lambda answers, trials, rng: answers + rng.laplace(0.0, 1.0, (trials, 1)),
        NeighbouringPair(np.array([1.0, 0.0, 0.0]), np.zeros(3), None), lambda output: output[0] - output[1] > 0.5,
        epsilon=3.0, domain=Domain(shape=Queries(size=3))
    ),
    sound(
        "two_answers", Target.noise, "randomized response has two outputs, each of which may come from either input",
        partial(answered, epsilon=1.0), Computed(WHOLE_01, lambda answer: response_law(1.0, answer, (0, 1))),
        epsilon=1.0, domain=BIT
    ),
    noisy(
        "clamped_answer", Target.noise, "outputs pile up at the ends, alike for all inputs", scale_of(0.5),
        NeighbouringPair(10, 9, None), lambda n: np.clip(n, 0, 10), epsilon=0.5,
        domain=Domain(integers=True, bounds=(0, 10))
    ),
    sound(
        "table_of_weights", Target.noise,
        "integer weights 2^(4 − |difference|): a weight and their total move by a factor of 2 each at the most",
        lambda answer, trials, rng: weighted([2 ** (4 - abs(answer - k)) for k in range(5)], trials, rng),
        Computed(
            NeighbouringPair(0, 1, None),
            lambda answer: {
                k: 2 ** (4 - abs(answer - k)) / sum(2 ** (4 - abs(answer - j)) for j in range(5)) for k in range(5)
            },
        ),
        epsilon=2 * math.log(2), domain=Domain(integers=True, bounds=(0, 4))
    ),
)
# fmt: on


# Textbook and library samplers of Laplace, normal and other noise in doubles, and exact ones on a grid.


SIGMA = math.sqrt(2 * math.log(1.25e5))
NORMAL: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-5}


def is_finer_than_one(output: Any) -> bool:
    """Whether a number near 0 has bits that no rounded sum of 1 and noise has: those are multiples of 2^−53."""
    return abs(float(output)) < 0.25 and (float(output) * 2.0**53) % 1.0 != 0.0


def laplace_of_numpy(answer: float, trials: int, rng: Rng) -> NDArray[np.float64]:
    return answer + rng.laplace(0.0, 1.0, trials)


def difference_of_exponentials(answer: float, trials: int, rng: Rng) -> NDArray[np.float64]:
    return np.asarray(answer + 2.0 * (rng.standard_exponential(trials) - rng.standard_exponential(trials)))


def python_gauss(answer: float, trials: int, rng: Rng) -> list[float]:
    generator = random.Random(int(rng.integers(1 << 62)))
    return [answer + generator.gauss(0.0, SIGMA) for _ in range(trials)]


def inverse_normal(answer: float, trials: int, rng: Rng) -> NDArray[np.float64]:
    return np.asarray(answer + SIGMA * special.ndtri(1.0 - rng.random(trials)))


def binary32_ziggurat(answer: float, trials: int, rng: Rng) -> NDArray[np.float32]:
    return np.float32(answer) + np.float32(2.0) * rng.standard_normal(trials, dtype=np.float32)


FINE_LAPLACE = exact_discrete_laplace(epsilon=1, grid=Grid(-10))
COARSE_LAPLACE = exact_rounded_laplace(epsilon=0.5, grid=Grid(-4))
SNAPPING = exact_snapping(epsilon=1, bound=1000)


_LAPLACES: tuple[tuple[Any, float, str], ...] = (
    (laplace_of_numpy, 1.0, "numpy's Laplace sampler in doubles"),
    (difference_of_exponentials, 0.5, "a difference of two exponential variates in doubles"),
)
_NORMALS: tuple[tuple[Any, str], ...] = (
    (python_gauss, "Python's random.gauss, Box and Muller's method in doubles"),
    (inverse_normal, "the inverse of the normal distribution function of a uniform double"),
)


# fmt: off
SAMPLERS = in_group(
    "samplers",
    *(
        broken(
            release.__name__, Target.noise, f"{label}: near 0 it has bits that are lost beside the answer 1", release,
            ZERO_ONE, is_finer_than_one, trials=10_000, epsilon=epsilon
        )
        for release, epsilon, label in _LAPLACES
    ),
    *(
        broken(
            release.__name__, Target.noise, f"{label}: near 0 it has bits that are lost beside the answer 1", release,
            ZERO_ONE, is_finer_than_one, trials=10_000, **NORMAL
        )
        for release, label in _NORMALS
    ),
    broken(
        "binary32_ziggurat", Target.noise, "a ziggurat in binary32, with a claim of Gaussian privacy",
        binary32_ziggurat, ZERO_ONE,
        lambda output: abs(float(output)) < 0.25 and (float(output) * 2.0**24) % 1.0 != 0.0, claim=GaussianDP(0.5),
        noise_scale=2.0
    ),
    sound(
        "dyadic_laplace", Target.noise,
        "discrete Laplace noise on a grid of 2^−10, its scale widened by what rounding the answer adds",
        lambda answer, trials, rng: FINE_LAPLACE.many(answer, trials, SeededBits(rng)), epsilon=1.0
    ),
    sound(
        "rounded_laplace", Target.noise, "ideal Laplace noise rounded exactly to a grid of 2^−4",
        lambda answer, trials, rng: COARSE_LAPLACE.many(answer, trials, SeededBits(rng)), epsilon=0.5
    ),
    sound(
        "discrete_normal", Target.noise, "discrete Gaussian noise is 1/(2σ²)-zCDP between integers",
        lambda answer, trials, rng: exact_discrete_gaussian(2, grid=Grid(0)).many(answer, trials, SeededBits(rng)),
        Computed(WHOLE_01, lambda answer: normal_law(answer, 4.0)), claim=ZeroConcentrated(0.125),
        domain=Domain(integers=True, bounds=(-1000, 1000))
    ),
    sound(
        "snapped", Target.noise, "Mironov's snapping with the ε of its theorem",
        lambda answer, trials, rng: SNAPPING.many(answer, trials, SeededBits(rng)), epsilon=1.0,
        domain=Domain(floats_only=True)
    ),
)
# fmt: on


def normal_law(answer: int, variance: float) -> dict[float, float]:
    """Return the law of an answer with discrete Gaussian noise, {output: probability}."""
    mass = {n: math.exp(-(n**2) / (2 * variance)) for n in range(-40, 41)}
    total = sum(mass.values())
    return {float(answer + n): value / total for n, value in mass.items()}


# Integer and gridded noise whose masses are wrong: parity, multiples, rounding, division, biased coins.


THOUSANDS = Domain(integers=True, bounds=(-1000, 1000))


def bits_of_noise(answers: NDArray[Any], trials: int, rng: Rng) -> NDArray[np.int64]:
    """Return answers with noise composed of independent bits; the lowest bits are biased."""
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
LATTICES = in_group(
    "lattice bias",
    broken(
        "truncated_float", Target.noise, "Laplace noise cut towards 0, which so takes the mass of two cells",
        lambda answer, trials, rng: answer + np.trunc(rng.laplace(0.0, 1.0, trials)).astype(np.int64), WHOLE_01,
        lambda output: output == 0, epsilon=1.0, domain=THOUSANDS
    ),
    broken(
        "even_noise", Target.noise, "noise has steps of 2, so that the parity of the answer is exact",
        lambda answer, trials, rng: answer + 2 * np.rint(rng.laplace(0.0, 4.0, trials) / 2).astype(np.int64), WHOLE_01,
        lambda output: output % 2 == 0, epsilon=0.25, domain=THOUSANDS
    ),
    broken(
        "modulo_of_a_byte", Target.noise, "a byte modulo 150 is twice as often below 106",
        lambda answer, trials, rng: answer + rng.integers(0, 256, trials) % 150, NeighbouringPair(0, 10, None),
        lambda output: output < 10, epsilon=0.1, delta=0.02, domain=THOUSANDS, sensitivity=10
    ),
    broken(
        "bits_of_noise", Target.dataset, "the lowest bit of the noise is 1 four times out of five", bits_of_noise,
        NeighbouringPair(np.array([0, 0]), np.array([1, 1]), None),
        lambda output: output[0] % 2 == 1 and output[1] % 2 == 1, epsilon=1.0,
        domain=Domain(shape=Queries(size=2), integers=True, bounds=(0, 50))
    ),
    sound(
        "skew_within_claim", Target.noise, "even numbers are heavier by a tenth, which the claim includes",
        skew_within_claim, Computed(WHOLE_01, _skewed), epsilon=math.log(2.2),
        domain=Domain(integers=True, bounds=(0, 1))
    ),
    noisy(
        "even_answers_even_noise", Target.noise, "all outputs are even, whatever the answer", scale_of(0.2), WHOLE_01,
        lambda n: 2 * n, epsilon=0.2, domain=THOUSANDS
    ),
)
# fmt: on


SPECIMENS: tuple[Specimen, ...] = (*FEW_VALUES, *SAMPLERS, *LATTICES)
