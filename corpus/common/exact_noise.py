"""Exact noise for sound specimens, and the laws of the outputs that are computed from it.

`Generator.integers` draws uniform integers without bias, by rejection. So a coin of rational probability is exact, and
discrete Laplace noise comes from `mechanisms`, which keeps it exact.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.random_bits import SeededBits
from attacklab.model.targets import Target
from corpus.common.specimen import Computed, Law, Rng, Specimen, sound
from mechanisms.core.laws import DiscreteLaplace
from mechanisms.core.noise import Noise


def scale_of(epsilon: float, sensitivity: int = 1) -> Fraction:
    """Return the scale of discrete Laplace noise that is ε-DP; the float stands for its exact rational value."""
    return sensitivity / Fraction(epsilon)


def discrete_laplace(scale: Fraction | int, trials: int, rng: Rng) -> NDArray[np.int64]:
    """Return `trials` integers n, each with probability exactly proportional to e^(−|n|/scale)."""
    return _noise(Fraction(scale)).many(trials, SeededBits(rng))


@lru_cache(maxsize=32)
def _noise(scale: Fraction) -> Noise:
    return Noise(DiscreteLaplace(scale))


def laplace_law(scale: Fraction | int) -> dict[int, float]:
    """Return the law of `discrete_laplace`, {n: probability}, up to 30 scales from 0."""
    ratio = math.exp(-1 / scale)
    reach = math.ceil(30 * scale)
    return {n: (1 - ratio) / (1 + ratio) * ratio ** abs(n) for n in range(-reach, reach + 1)}


def coins(probability: Fraction, trials: int, rng: Rng) -> NDArray[np.bool_]:
    """Return coins that are True with exactly this probability; its denominator must be below 2^63."""
    heads: NDArray[np.bool_] = rng.integers(probability.denominator, size=trials) < probability.numerator
    return heads


def truth_probability(epsilon: float, answers: int = 2) -> Fraction:
    """Return a multiple of 2^−50 just below e^ε/(e^ε + answers − 1); telling the truth that often is ε-DP."""
    kept = math.exp(epsilon) / (math.exp(epsilon) + answers - 1)
    return Fraction(math.floor(kept * 2**50) - 1, 2**50)  # the float is right to 50 bits


def weighted(weights: Sequence[int], trials: int, rng: Rng) -> NDArray[np.intp]:
    """Return `trials` indices, each with probability exactly proportional to its integer weight."""
    ends = np.cumsum(np.array(weights, dtype=np.int64))
    return np.searchsorted(ends, rng.integers(int(ends[-1]), size=trials), side="right")


def joint(*laws: Mapping[Any, float]) -> dict[tuple[Any, ...], float]:
    """Return the law of a tuple of independent draws, one from each law."""
    return {
        tuple(value for value, _ in draw): math.prod(mass for _, mass in draw)
        for draw in itertools.product(*(law.items() for law in laws))
    }


def pushed(law: Mapping[Any, float], function: Callable[[Any], Hashable]) -> Law:
    """Return the law of `function(draw)`, where the draw has this law."""
    outputs: dict[Hashable, float] = defaultdict(float)
    for value, mass in law.items():
        outputs[function(value)] += mass
    return outputs


def noisy(
    name: str,
    kind: Callable[..., Target],
    why: str,
    scale: Fraction | int,
    pair: NeighbouringPair,
    made: Callable[[Any], Any] = lambda noisy: noisy,
    *,
    true: Callable[[Any], int] = lambda input_: input_,
    each: bool = False,
    key: Callable[[Any], Hashable] = lambda output: output,
    **options: Any,
) -> Specimen:
    """Return a sound specimen that adds discrete Laplace noise to an integer and outputs a function of the sum.

    Args:
        name: the name of the specimen.
        kind: the constructor of its target.
        why: why the specimen keeps its claim.
        scale: the scale of the noise.
        pair: the neighbours whose laws are computed.
        made: a function from an array of noisy integers, or from one of them, to outputs.
        true: a function from an input to its integer.
        each: whether `made` is called for one integer at a time, so that the outputs are a list.
        key: a function from an output to its key in the law.
        **options: further arguments of `kind`.
    """

    def release(input_: Any, trials: int, rng: Rng) -> Any:
        answers = true(input_) + discrete_laplace(scale, trials, rng)
        return [made(int(answer)) for answer in answers] if each else made(answers)

    def law(input_: Any) -> Law:
        return pushed(laplace_law(scale), lambda noise: key(made(true(input_) + noise)))

    return sound(name, kind, why, release, Computed(pair, law, key), **options)


def answered(answer: int, trials: int, rng: Rng, *, epsilon: float) -> NDArray[np.int64]:
    """Return the randomized responses to a bit, shape (trials,)."""
    truth = coins(truth_probability(epsilon), trials, rng)
    return np.asarray(np.where(truth, answer, 1 - answer))


def response_law(epsilon: float, truth: Any, answers: Iterable[Any]) -> dict[Any, float]:
    """Return the law of randomized response, {answer: probability}, where `answers` are possible."""
    possible = list(answers)
    kept = truth_probability(epsilon, len(possible))
    return {answer: float(kept if answer == truth else (1 - kept) / (len(possible) - 1)) for answer in possible}
