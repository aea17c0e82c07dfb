"""Floating-point noise as libraries draw it, apart from inversion and Box and Muller's cosine.

Where the witness asks for "fine" outputs: near 0 the noise has bits below 2^-53. Added to an answer of 1, noise near -1
has none, since doubles between 1/2 and 1 are multiples of 2^-53 and the addition is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.targets import Target
from corpus.common.specimen import Rng, Specimen, broken, sound
from corpus.held_out.inputs import INTEGERS, answers

GROUP = "samplers"
Draw = Callable[[int, Rng], NDArray[Any]]


def _is_fine(output: Any) -> bool:
    return not float(output * 2.0**53).is_integer()


def _added(draw: Draw) -> Any:
    return lambda answer, trials, rng: answer + draw(trials, rng)


def _exponentials(trials: int, rng: Rng) -> NDArray[Any]:
    return rng.exponential(size=trials) - rng.exponential(size=trials)


def _normal_times_root(trials: int, rng: Rng) -> NDArray[Any]:
    return np.asarray(np.sqrt(2 * rng.standard_exponential(trials)) * rng.standard_normal(trials))


def _polar(trials: int, rng: Rng) -> NDArray[Any]:
    angle, radius = 2 * np.pi * rng.random(trials), np.sqrt(-2 * np.log1p(-rng.random(trials)))
    return np.asarray(4.9 * (np.sin(angle) * radius))


def _shares(trials: int, rng: Rng) -> NDArray[Any]:
    return np.asarray((rng.gamma(0.25, size=(4, trials)) - rng.gamma(0.25, size=(4, trials))).sum(axis=0))


def _logistic(trials: int, rng: Rng) -> NDArray[Any]:
    uniform = 1 - rng.random(trials)
    return np.asarray(np.log(uniform) - np.log1p(-uniform * (1 - 2.0**-53)))


def _determinant(trials: int, rng: Rng) -> NDArray[Any]:
    a, b, c, d = rng.standard_normal((4, trials))
    return np.asarray(a * b - c * d)


def _next_float(words: NDArray[Any]) -> NDArray[np.float64]:
    uniform = words / float(1 << 24)
    return np.asarray(-np.sign(uniform - 0.5) * np.log(1 - 2 * np.abs(uniform - 0.5) + 2.0**-40))


def _from_next_float(trials: int, rng: Rng) -> NDArray[Any]:
    return _next_float(rng.integers(1, 1 << 24, size=trials))


def _is_next_float(output: Any) -> bool:
    tail = (np.exp(-abs(output)) - 2.0**-40) / 2
    near = round(float(tail if output < 0 else 1 - tail) * (1 << 24)) + np.arange(-2, 3)
    return bool((_next_float(near) == output).any())


def _ratio_of_two(trials: int, rng: Rng) -> NDArray[Any]:
    words = rng.integers(0, 1 << 62, size=trials)
    heads = np.zeros(trials, dtype=np.int64)
    pending = np.arange(trials)
    while pending.size:
        low = words[pending] & -words[pending]
        heads[pending] += np.where(low > 0, np.frexp(low.astype(np.float64))[1] - 1, 62)
        pending = pending[low == 0]
        words[pending] = rng.integers(0, 1 << 62, size=pending.size)
    return heads


def _float_noise(name: str, draw: Draw, why: str, *, delta: float = 0.0, trials: int = 4_000) -> Specimen:
    return broken(
        name, Target.noise, why, _added(draw), answers(0.0, 1.0), _is_fine, trials=trials, epsilon=1.0, delta=delta
    )


FINE = "noise near 0 has finer bits than noise near -1"
# fmt: off
SPECIMENS: tuple[Specimen, ...] = (
    _float_noise("difference_of_two_exponentials", _exponentials, FINE),
    _float_noise("normal_times_root_of_exponential", _normal_times_root, FINE),
    _float_noise("sine_and_root", _polar, FINE, delta=1e-5),
    _float_noise("shares_of_gamma", _shares, FINE),
    _float_noise("logistic_of_two_logarithms", _logistic, FINE, trials=20_000),
    _float_noise("determinant_of_normals", _determinant, FINE),
    broken(
        "uniform_of_24_bits", Target.noise, "the uniform under the logarithm has 24 bits", _added(_from_next_float),
        answers(0.0, 0.7), _is_next_float, epsilon=1.0
    ),
    sound(
        "difference_of_two_geometrics", Target.noise,
        "the number of heads before the first tail has ratio 1/2, and ln 2 is below 0.6932",
        lambda answer, trials, rng: int(answer) + _ratio_of_two(trials, rng) - _ratio_of_two(trials, rng),
        epsilon=0.6932, domain=INTEGERS
    ),
    sound(
        "laplace_rounded_to_integers", Target.noise,
        "rounded noise of integer answers follows from the ideal noise but for a mass of 10^-12, which delta allows",
        lambda answer, trials, rng: int(answer) + np.rint(rng.laplace(size=trials)).astype(np.int64), epsilon=1.0,
        delta=1e-9, domain=INTEGERS
    ),
    sound(
        "normal_rounded_to_integers", Target.noise,
        "rounded noise of integer answers follows from the ideal noise, whose delta is well below the claimed one",
        lambda answer, trials, rng: int(answer) + np.rint(4.9 * rng.standard_normal(trials)).astype(np.int64),
        epsilon=1.0, delta=1e-5, domain=INTEGERS
    ),
)
# fmt: on
