"""Integer noise with the wrong weights."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.targets import Target
from corpus.common.exact_noise import coins
from corpus.common.specimen import Rng, Specimen, broken, sound
from corpus.held_out.inputs import ADD_REMOVE, INTEGERS, added, noise, whole

GROUP = "lattice bias"


def _geometric(ratio: Fraction, trials: int, rng: Rng) -> NDArray[np.int64]:
    """How many coins of this probability come up heads before the first tail."""
    heads = np.zeros(trials, dtype=np.int64)
    pending = np.arange(trials)
    while pending.size:
        pending = pending[coins(ratio, pending.size, rng)]
        heads[pending] += 1
    return heads


def ratio_cut_to_sixteenths(answer: Any, trials: int, rng: Rng) -> NDArray[Any]:
    ratio = Fraction(int(np.exp(-0.5) * 16), 16)
    return int(answer) + _geometric(ratio, trials, rng) - _geometric(ratio, trials, rng)


def noise_is_never_zero(answer: Any, trials: int, rng: Rng) -> NDArray[Any]:
    drawn = noise(0.2, trials, rng)
    while (zero := drawn == 0).any():
        drawn[zero] = noise(0.2, int(zero.sum()), rng)
    return int(answer) + drawn


TABLE = np.array([round(-2 * np.sign(k - 99.5) * np.log1p(-abs(2 * (k + 0.5) / 200 - 1))) for k in range(200)])
BIASED = np.bincount(np.arange(256) % 200, minlength=200) / 256


def _modulo_event() -> frozenset[int]:
    law: dict[int, float] = {}
    for value, mass in zip(TABLE.astype(int).tolist(), BIASED.tolist(), strict=True):
        law[value] = law.get(value, 0.0) + mass
    return frozenset(value for value, mass in law.items() if mass > np.exp(0.5) * law.get(value - 1, 0.0))


MODULO = _modulo_event()


def sum_that_wraps_at_a_byte(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    total = int(np.rint(np.nan_to_num(np.clip(records, 0.0, 3.0))).sum())
    return (total + noise(0.7, trials, rng, sensitivity=3)).astype(np.int8)


# fmt: off
SPECIMENS: tuple[Specimen, ...] = (
    broken(
        "ratio_cut_to_sixteenths", Target.noise,
        "the ratio of the geometric law is cut to sixteenths, which makes it 0.575", ratio_cut_to_sixteenths,
        whole(0, 1), lambda output: output <= 0, trials=60_000, epsilon=0.5, domain=INTEGERS
    ),
    broken(
        "cut_towards_zero", Target.noise, "cutting noise towards zero makes zero as wide as two other integers",
        lambda answer, trials, rng: int(answer) + rng.laplace(size=trials).astype(np.int64), whole(0, 1),
        lambda output: output == 0, epsilon=1.0, domain=INTEGERS
    ),
    broken(
        "noise_is_never_zero", Target.noise, "noise of zero is drawn again", noise_is_never_zero, whole(1, 0),
        lambda output: output == 0, trials=10_000, epsilon=0.2, domain=INTEGERS
    ),
    broken(
        "low_bit_of_its_own", Target.noise, "the low bit is an unfair coin",
        lambda answer, trials, rng: int(answer) + 2 * noise(0.2, trials, rng) + coins(Fraction(5, 9), trials, rng),
        whole(0, 1), lambda output: output % 2 == 1, trials=20_000, epsilon=0.1, domain=INTEGERS
    ),
    broken(
        "table_by_modulo", Target.noise, "one of 200 quantiles is chosen by a byte modulo 200",
        lambda answer, trials, rng: int(answer) + TABLE[rng.integers(256, size=trials) % 200].astype(np.int64),
        whole(0, 1), lambda output: int(output) in MODULO, trials=20_000, epsilon=0.5, domain=INTEGERS
    ),
    broken(
        "binomial_noise_for_pure_claim", Target.noise,
        "binomial noise ends at 4, and falls faster than the claim allows before that",
        lambda answer, trials, rng: int(answer) + rng.binomial(8, 0.5, size=trials) - 4, whole(1, 0),
        lambda output: output >= 4, trials=20_000, epsilon=1.0, domain=INTEGERS
    ),
    sound(
        "floor_of_laplace", Target.noise,
        "the floor of noise on an integer follows from the ideal noise but for a mass of 10^-12, which delta allows",
        lambda answer, trials, rng: int(answer) + np.floor(rng.laplace(size=trials)).astype(np.int64), epsilon=1.0,
        delta=1e-9, domain=INTEGERS
    ),
    sound(
        "sum_that_wraps_at_a_byte", Target.sum, "wrapping follows from the noisy sum of integers from 0 to 3",
        sum_that_wraps_at_a_byte, bounds=(0, 3), epsilon=0.7, relation=ADD_REMOVE, pairs=[added([0.0, 1.0], 3.0)]
    ),
    sound(
        "unfair_coin_on_top", Target.noise, "a coin that is added to the noisy answer is drawn apart from the data",
        lambda answer, trials, rng: int(answer) + noise(0.4, trials, rng) + coins(Fraction(7, 10), trials, rng),
        epsilon=0.4, domain=INTEGERS
    ),
)
# fmt: on
