"""The fast paths give, bit for bit, what the reference paths give on the same words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from gmpy2 import mpq

from attacklab.random_bits import SeededBits
from mechanisms.certified import CHUNK
from mechanisms.gaussian import exact_fast, exact_rounded
from mechanisms.gaussian.exact_fast import DiscreteGaussian, exact_discrete_gaussian_fast
from mechanisms.gaussian.exact_rounded import RoundedNormal, exact_rounded_gaussian, exact_rounded_gaussian_fast
from mechanisms.gaussian.inversion import invert
from mechanisms.gaussian.law import SUMMED_UP_TO, discrete_tail, normal_tail
from mechanisms.gaussian.quantile import Table
from mechanisms.gaussian.rounding_filter import RoundingFilter
from mechanisms.grid import Grid
from mechanisms.randomness import RandomBits
from tests.mechanisms.words import GivenWords, RecordedWords, WordACall

ROUNDED = [
    {"answer": 0.3, "sigma": 1, "grid": Grid(-4)},
    {"answer": -1e5, "sigma": Fraction(5, 3), "grid": Grid(0)},
    {"answer": 2.0**-30, "sigma": 0.1, "grid": Grid(-20)},
    {"answer": 7.7, "sigma": 1, "grid": Grid(-24)},
]
DISCRETE = [
    {"answer": 0.3, "sigma": 1, "grid": Grid(-2)},
    {"answer": 12.0, "sigma": Fraction(1, 10), "grid": Grid(0)},
    {"answer": -4.0, "sigma": 31.9, "grid": Grid(0)},
    {"answer": -4.0, "sigma": 32.1, "grid": Grid(0)},
    {"answer": 1e6, "sigma": 10, "grid": Grid(-20)},
]


def continuation() -> SeededBits:
    """Bits beyond the words; both paths take them draw after draw."""
    return SeededBits(np.random.default_rng(99))


def discrete_reference(bits: RandomBits, *, answer: float, sigma: Fraction | float, grid: Grid) -> float:
    noise = bits.call(invert, DiscreteGaussian((Fraction(sigma) / grid.step) ** 2), 0, 0)
    return grid.value(grid.nearest(answer) + noise)


def rounded_reference(bits: RandomBits, **setting: object) -> float:
    return exact_rounded_gaussian(bits=bits, **setting)


def assert_paths_agree(fast, reference, trials: int, setting: dict[str, object]) -> None:
    bits = RecordedWords(23, continuation())
    outputs = fast(trials=trials, bits=bits, **setting)
    same = WordACall(iter(np.concatenate(bits.recorded).tolist()), continuation())
    assert [reference(same, **setting) for _ in range(trials)] == outputs.tolist()


@pytest.mark.few(1)
@pytest.mark.parametrize("trials", [2_000, pytest.param(250_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("setting", ROUNDED)
def test_the_rounded_ideal_is_the_same_on_the_same_words(setting: dict[str, object], trials: int) -> None:
    assert_paths_agree(exact_rounded_gaussian_fast, rounded_reference, trials, setting)


@pytest.mark.few(1)
@pytest.mark.parametrize("trials", [1_500, pytest.param(200_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("setting", DISCRETE)
def test_the_discrete_gaussian_is_the_same_on_the_same_words(setting: dict[str, object], trials: int) -> None:
    assert_paths_agree(exact_discrete_gaussian_fast, discrete_reference, trials, setting)


@pytest.mark.slow
def test_coarse_grids_agree_on_many_words() -> None:
    """10⁵ draws of each mechanism, where thresholds are few."""
    assert_paths_agree(exact_rounded_gaussian_fast, rounded_reference, 100_000, ROUNDED[1])
    assert_paths_agree(exact_discrete_gaussian_fast, discrete_reference, 100_000, DISCRETE[0])


@pytest.mark.parametrize("bound", [1e-6, 1e-4, pytest.param(1.0, marks=pytest.mark.slow)])
def test_a_wider_bound_sends_more_draws_to_mpfr_and_changes_none(bound: float, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = [(exact_rounded_gaussian_fast, ROUNDED[0]), (exact_discrete_gaussian_fast, DISCRETE[3])]
    trials = CHUNK + 100
    for fast, setting in settings:
        narrow = fast(trials=trials, bits=RecordedWords(4, continuation()), **setting)
        with monkeypatch.context() as patched:
            patched.setattr(Table, "greatest_error", lambda *_: bound)
            patched.setattr(exact_fast, "_kept_filter", exact_fast._filter)
            patched.setattr(exact_rounded, "_kept_filter", RoundingFilter)
            wide = fast(trials=trials, bits=RecordedWords(4, continuation()), **setting)
        assert np.array_equal(narrow, wide)


class Counting(RandomBits):
    def __init__(self) -> None:
        self.taken = 0
        self._source = continuation()

    def take(self, count: int) -> int:
        self.taken += count
        return self._source.take(count)


def word_below(tail: mpq) -> int:
    return math.floor(tail * 2**64)


def test_words_that_a_threshold_cuts_are_decided_by_the_next_bits_in_both_paths() -> None:
    """64 bits leave these words open: the threshold n + ½ of the outcome, for n = −3 … 3, lies within the word."""
    shift, scale = Fraction(-2, 5), Fraction(7, 3)
    words = [
        word_below(mpq(normal_tail(mpq(n) + mpq(1, 2) - mpq(shift), mpq(scale) ** 2, 200).lower)) for n in range(-3, 4)
    ]
    setting = {"answer": shift, "sigma": scale, "grid": Grid(0)}
    counting = Counting()
    outputs = exact_rounded_gaussian_fast(trials=len(words), bits=GivenWords(words, counting), **setting)
    assert counting.taken >= len(words)
    same = WordACall(iter(words), continuation())
    assert [rounded_reference(same, **setting) for _ in words] == outputs.tolist()


@pytest.mark.parametrize("sigma", [Fraction(1), Fraction(40)])
def test_words_that_a_discrete_threshold_cuts_are_decided_by_the_next_bits(sigma: Fraction) -> None:
    words = [word_below(mpq(discrete_tail(k, mpq(sigma) ** 2, 200).lower)) for k in range(-3, 5)]
    setting = {"answer": 0, "sigma": sigma, "grid": Grid(0)}
    counting = Counting()
    outputs = exact_discrete_gaussian_fast(trials=len(words), bits=GivenWords(words, counting), **setting)
    assert counting.taken >= len(words)
    same = WordACall(iter(words), continuation())
    assert [discrete_reference(same, **setting) for _ in words] == outputs.tolist()


@pytest.mark.parametrize("word", [0, 1, 2**44, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1])
@pytest.mark.parametrize("sigma", [Fraction(1, 2), Fraction(1000)])
def test_extreme_words_agree(word: int, sigma: Fraction) -> None:
    setting = {"answer": 0, "sigma": sigma, "grid": Grid(0)}
    for fast, reference in (
        (exact_rounded_gaussian_fast, rounded_reference),
        (exact_discrete_gaussian_fast, discrete_reference),
    ):
        output = fast(trials=1, bits=GivenWords([word], continuation()), **setting)
        assert output.tolist() == [reference(WordACall(iter([word]), continuation()), **setting)]


@pytest.mark.parametrize("sigma", [mpq(3201, 100), mpq(50), mpq(333)])
def test_discrete_thresholds_are_as_near_to_those_of_rounding_as_the_fast_path_takes_them_to_be(sigma: mpq) -> None:
    """(k + ½ ± 0.6/σ³)·(1 + 1/24σ²)/σ have normal tails on either side of P[X ≥ k + 1], out to 5σ."""
    assert sigma**2 > SUMMED_UP_TO
    stretch, slack = 1 + 1 / (24 * sigma**2), mpq(3, 5) / sigma**3
    for k in range(0, int(5 * sigma), max(1, int(sigma / 10))):
        tail = discrete_tail(k + 1, sigma**2, 200)
        nearer, farther = ((k + mpq(1, 2) + side * slack) * stretch for side in (-1, 1))
        assert normal_tail(farther, sigma**2, 200).upper < tail.lower
        assert tail.upper < normal_tail(nearer, sigma**2, 200).lower


def test_a_wrong_guess_costs_time_and_not_the_outcome() -> None:
    law = RoundedNormal(Fraction(0), Fraction(2))

    @dataclass(frozen=True)
    class Elsewhere:
        start: int
        tail = staticmethod(law.tail)

        def guess(self, uniform: object) -> int:  # noqa: ARG002
            return self.start

    word = 0x123456789ABCDEF0
    found = {invert(Elsewhere(start), word, 64, continuation()) for start in (-9, 0, 3, 20)}
    assert found == {invert(law, word, 64, continuation())}
