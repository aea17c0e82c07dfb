"""The fast paths give, bit for bit, what the reference paths give on the same words."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction

import gmpy2
import numpy as np
import pytest

from attacklab.random_bits import SeededBits
from mechanisms.certified import CHUNK
from mechanisms.grid import Grid
from mechanisms.laplace import exact_fast, exact_rounded, floor_filter
from mechanisms.laplace.exact import discrete_scale
from mechanisms.laplace.exact_fast import discrete_laplace_by_inversion, exact_discrete_laplace_fast
from mechanisms.laplace.exact_rounded import exact_rounded_laplace, exact_rounded_laplace_fast
from mechanisms.randomness import RandomBits
from tests.mechanisms.words import Endless, GivenWords, RecordedWords, WordACall
from tests.representatives import first_of_each

MANY = [5_000, pytest.param(1_000_000, marks=pytest.mark.slow)]
SETTINGS = [
    {"answer": 0.3, "epsilon": 1, "sensitivity": 1, "grid": Grid(-20)},
    {"answer": -1e5, "epsilon": 0.1, "sensitivity": Fraction(5, 3), "grid": Grid(0)},
    {"answer": 2.0**-30, "epsilon": Fraction(1, 3), "sensitivity": 1, "grid": Grid(-36)},
]


def rounded_reference(words: Iterator[int], **setting: object) -> float:
    return exact_rounded_laplace(bits=WordACall(words, Endless()), **setting)


def discrete_reference(words: Iterator[int], *, answer: float, grid: Grid, **privacy: object) -> float:
    scale = discrete_scale(grid=grid, **privacy)
    noise = WordACall(words, Endless()).call(discrete_laplace_by_inversion, scale)
    return grid.value(grid.nearest(answer) + noise)


def compare_rounded(trials: int, setting: dict[str, object]) -> None:
    bits = RecordedWords(11, Endless())
    fast = exact_rounded_laplace_fast(trials=trials, bits=bits, **setting)
    words = iter(np.concatenate(bits.recorded).tolist())
    assert [rounded_reference(words, **setting) for _ in range(trials)] == fast.tolist()


def compare_discrete(trials: int, setting: dict[str, object]) -> None:
    bits = RecordedWords(12, Endless())
    fast = exact_discrete_laplace_fast(trials=trials, bits=bits, **setting)
    words = iter(np.concatenate(bits.recorded).tolist())
    assert [discrete_reference(words, **setting) for _ in range(trials)] == fast.tolist()


COMPARE = pytest.mark.parametrize("compare", [compare_rounded, compare_discrete])


@pytest.mark.few(1)
@COMPARE
@pytest.mark.parametrize("trials", MANY)
def test_both_paths_agree_on_the_same_words(compare: Callable[..., None], trials: int) -> None:
    compare(trials, SETTINGS[0])


@pytest.mark.few(0)
@COMPARE
@pytest.mark.parametrize("setting", first_of_each(SETTINGS[1:], bool))
def test_both_paths_agree_for_other_parameters(compare: Callable[..., None], setting: dict[str, object]) -> None:
    compare(CHUNK + 17, setting)


@pytest.mark.few(1)
@COMPARE
@pytest.mark.parametrize("bound", [2.0**-4, 0.499])
def test_both_paths_agree_when_a_wider_bound_leaves_more_to_mpfr(
    compare: Callable[..., None], bound: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At 2^−4 an eighth of the draws go to MPFR, at 0.499 all but one in five hundred."""
    for kind in (floor_filter.CoarseFilter, floor_filter.FineFilter):
        monkeypatch.setattr(kind, "_error", lambda *_: Fraction(bound))
    monkeypatch.setattr(exact_fast, "_kept_inversion", exact_fast._Inversion)
    monkeypatch.setattr(exact_rounded, "_kept_filter", floor_filter.floor_filter)
    compare(2_500, SETTINGS[0])
    compare(2_500, {**SETTINGS[0], "grid": Grid(-30)})


@pytest.mark.parametrize("continuation", range(20))
def test_a_draw_that_64_bits_cannot_decide_takes_more_bits_of_the_same_uniform(continuation: int) -> None:
    """U = 2^−40 to 23 bits and a grid of 2^−46: some 24 bits more are needed, and both paths ask for the same."""
    setting = {"answer": 0.0, "epsilon": 1, "grid": Grid(-46)}
    word = 1 << 23
    fast_bits, reference_bits = (SeededBits(np.random.default_rng(continuation)) for _ in range(2))
    fast = exact_rounded_laplace_fast(trials=1, bits=GivenWords([word], fast_bits), **setting)
    discrete = exact_discrete_laplace_fast(trials=1, bits=GivenWords([word], Endless()), **setting)
    reference = exact_rounded_laplace(bits=WordACall(iter([word]), reference_bits), **setting)
    assert fast[0] == reference
    assert discrete[0] == discrete_reference(iter([word]), answer=0.0, grid=Grid(-46), epsilon=1, sensitivity=1)


class Constant(RandomBits):
    """Bits that are all alike."""

    def __init__(self, bit: int) -> None:
        self._bit = bit

    def take(self, count: int) -> int:
        return ((1 << count) - 1) * self._bit


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("magnitude", [1, 2, 5])
def test_a_uniform_on_the_edge_between_two_magnitudes_is_decided_by_further_bits(sign: int, magnitude: int) -> None:
    """P[|N| ≥ k] = 2e^−k/(1 + e^−1) at the scale 1: the word that holds this has zeros after it below, ones above."""
    with gmpy2.context(precision=200):
        tail = 2 * gmpy2.exp(-magnitude) / (1 + gmpy2.exp(-1))
        word = math.floor(tail * 2**63) | (sign < 0) << 63
    outputs = [
        exact_discrete_laplace_fast(0.0, 1, GivenWords([word], Constant(bit)), epsilon=1, grid=Grid(0))[0]
        for bit in (0, 1)
    ]
    assert outputs == [sign * magnitude, sign * (magnitude - 1)]


def test_no_zero_of_the_noise_is_negative() -> None:
    """−0 would tell the sign of the noise of an answer that is 0."""
    words = SeededBits(np.random.default_rng(31)).words(20_000)
    for scale in (Fraction(1, 50), Fraction(1), Fraction(3, 2)):
        noise, _ = exact_fast._Inversion(scale).decide(words)
        assert np.count_nonzero(noise == 0) > 5_000
        assert not np.signbit(noise[noise == 0]).any()
