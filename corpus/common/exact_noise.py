"""Exact noise for sound specimens, and the laws of what is made of it.

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
    """The scale of discrete Laplace noise that gives exactly this ε, the float taken for what it is."""
    return sensitivity / Fraction(epsilon)


def discrete_laplace(scale: Fraction | int, trials: int, rng: Rng) -> NDArray[np.int64]:
    """Integers n with probability proportional to e^(−|n|/scale), exactly."""
    return _noise(Fraction(scale)).many(trials, SeededBits(rng))


@lru_cache(maxsize=32)
def _noise(scale: Fraction) -> Noise:
    return Noise(DiscreteLaplace(scale))


def laplace_law(scale: Fraction | int) -> dict[int, float]:
    """The law of `discrete_laplace`."""
    ratio = math.exp(-1 / scale)
    reach = math.ceil(30 * scale)
    return {n: (1 - ratio) / (1 + ratio) * ratio ** abs(n) for n in range(-reach, reach + 1)}


def coins(probability: Fraction, trials: int, rng: Rng) -> NDArray[np.bool_]:
    """Coins that are True with exactly this probability, whose denominator is below 2^63."""
    heads: NDArray[np.bool_] = rng.integers(probability.denominator, size=trials) < probability.numerator
    return heads


def truth_probability(epsilon: float, answers: int = 2) -> Fraction:
    """The largest multiple of 2^−53 at which telling the truth in randomized response of so many answers keeps ε."""
    kept = math.exp(epsilon) / (math.exp(epsilon) + answers - 1)
    return Fraction(math.floor(kept * 2**50) - 1, 2**50)  # the float is right to 50 bits


def weighted(weights: Sequence[int], trials: int, rng: Rng) -> NDArray[np.intp]:
    """Indices with probability proportional to integer weights, exactly."""
    ends = np.cumsum(np.array(weights, dtype=np.int64))
    return np.searchsorted(ends, rng.integers(int(ends[-1]), size=trials), side="right")


def joint(*laws: Mapping[Any, float]) -> dict[tuple[Any, ...], float]:
    """The law of independent draws together."""
    return {
        tuple(value for value, _ in draw): math.prod(mass for _, mass in draw)
        for draw in itertools.product(*(law.items() for law in laws))
    }


def pushed(law: Mapping[Any, float], function: Callable[[Any], Hashable]) -> Law:
    """The law of a function of a draw."""
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
    """A sound specimen: an integer with discrete Laplace noise of a scale, and what is made of the noisy integer.

    Args:
        name: its name.
        kind: the constructor of its target.
        why: why it keeps its claim.
        scale: of the noise.
        pair: the neighbours whose laws are computed.
        made: makes outputs of an array of noisy integers, or of one of them.
        true: the integer that an input has.
        each: whether outputs are a list, each made of one integer.
        key: what the law calls an output.
        **options: of the target.
    """

    def release(input_: Any, trials: int, rng: Rng) -> Any:
        answers = true(input_) + discrete_laplace(scale, trials, rng)
        return [made(int(answer)) for answer in answers] if each else made(answers)

    def law(input_: Any) -> Law:
        return pushed(laplace_law(scale), lambda noise: key(made(true(input_) + noise)))

    return sound(name, kind, why, release, Computed(pair, law, key), **options)


def answered(answer: int, trials: int, rng: Rng, *, epsilon: float) -> NDArray[np.int64]:
    """Randomized response on a bit."""
    truth = coins(truth_probability(epsilon), trials, rng)
    return np.asarray(np.where(truth, answer, 1 - answer))


def response_law(epsilon: float, truth: Any, answers: Iterable[Any]) -> dict[Any, float]:
    """The law of randomized response with some possible answers."""
    possible = list(answers)
    kept = truth_probability(epsilon, len(possible))
    return {answer: float(kept if answer == truth else (1 - kept) / (len(possible) - 1)) for answer in possible}
