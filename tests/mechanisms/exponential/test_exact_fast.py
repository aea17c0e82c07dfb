"""The fast path by levels gives what the reference path gives on the same words, and its filter keeps its bound."""

from __future__ import annotations

import math
import tracemalloc
from bisect import bisect_right
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import accumulate
from typing import Any

import gmpy2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray
from scipy.stats import chisquare

from attacklab.random_bits import SeededBits, TapedBits
from mechanisms.exponential import exact_fast
from mechanisms.exponential.exact import bernoulli_scaled_exp, exact_exponential
from mechanisms.exponential.exact_fast import FILTER_ERROR, LevelSampler, exact_exponential_fast, half_power
from mechanisms.exponential.levels import WIDEST_RANGE, LevelledUtilities
from mechanisms.exponential.naive import naive_exponential_stabilised
from mechanisms.randomness import REJECTED, RandomBits

FEW = 8
"""Below so many draws, words are given out in the order of the outcomes."""

RNG = np.random.default_rng(11)
STEEP = np.arange(100, dtype=np.float64)
NORMAL = RNG.normal(scale=10, size=1000)
FLAT = RNG.random(300)
DEEP = RNG.random(5000) * 1e4
NASTY = np.array(
    [
        0.0,
        -0.0,
        5e-324,
        -5e-324,
        2.2e-308,
        math.nextafter(1.0, 2.0),
        1.0,
        1.0,
        1.5,
        -1e300,
        1e-300,
        -50.0,
        -100.0,
        math.nan,
    ]
)


class Recorded(RandomBits):
    """Words, kept: first the given ones, then from a seed; and further bits for those that stay undecided."""

    def __init__(self, seed: int, first: NDArray[np.uint64] | None = None) -> None:
        self._words = np.random.default_rng(seed)
        self._further = SeededBits(np.random.default_rng([seed, 1]))
        self._first = np.empty(0, dtype=np.uint64) if first is None else first
        self.kept: list[NDArray[np.uint64]] = []
        self.taken = 0

    def take(self, count: int) -> int:
        if count == 64:  # a whole word: the fast path takes single words so, and further bits one by one
            return int(self.words(1)[0])
        self.taken += count
        return self._further.take(count)

    def words(self, count: int) -> NDArray[np.uint64]:
        given, self._first = self._first[:count], self._first[count:]
        drawn = self._words.integers(0, 2**64, size=count - given.size, dtype=np.uint64)
        self.kept.append(np.concatenate([given, drawn]))
        return self.kept[-1]


class WordByWord(RandomBits):
    """The recorded words' numbers for the reference path: a new one for every round, further bits when one runs out."""

    def __init__(self, recorded: Recorded, seed: int, alike: int, length: int) -> None:
        self._alike, self._length = alike, length
        self._words: Iterator[int] = iter(np.concatenate(recorded.kept).tolist())
        self._further = SeededBits(np.random.default_rng([seed, 1]))
        self._word: TapedBits | None = None

    def repeat(self, sampler: Callable[..., Any], *arguments: object) -> Any:
        while (outcome := sampler(*arguments, self)) is REJECTED:
            self.next_word()
        return outcome

    def next_word(self) -> None:
        self._word = None

    def take(self, count: int) -> int:
        if self._word is None:
            self._word = TapedBits(next(self._words) // self._alike, self._length)
        drawn = 0
        for _ in range(count):
            drawn = 2 * drawn + (self._word if self._word.left else self._further).take(1)
        return drawn


class WordsInOrder:
    """Words given out in the order of the outcomes, and the reference's coin on the rest of a word and further bits."""

    def __init__(self, recorded: Recorded, seed: int) -> None:
        self._words: Iterator[int] = iter(np.concatenate(recorded.kept).tolist())
        self._further = SeededBits(np.random.default_rng([seed, 1]))

    def selected(self, utilities: ArrayLike, **parameters: Any) -> int:
        """Return the outcome that the next words select."""
        held = levelled(utilities, **parameters)
        levels = held.levels().tolist()
        ends = list(accumulate(1 << (held.depth - level) for level in levels))
        spare = 64 - max((ends[-1] - 1).bit_length(), held.depth)
        while True:
            word = next(self._words)
            if word >> spare < ends[-1]:
                outcome = bisect_right(ends, word >> spare)
                size = held.depth - levels[outcome] + spare
                place = word - ((ends[outcome - 1] << spare) if outcome else 0)
                bits = WordThenFurther(TapedBits(place, size), self._further)
                if bernoulli_scaled_exp(held.gap(outcome), levels[outcome], bits):
                    return outcome


class WordThenFurther(RandomBits):
    """What is left of a word, then further bits, one at a time."""

    def __init__(self, word: TapedBits, further: RandomBits) -> None:
        self._word, self._further = word, further

    def take(self, count: int) -> int:
        assert count == 1
        return (self._word if self._word.left else self._further).take(1)


def assert_paths_agree(
    utilities: ArrayLike,
    trials: int,
    *,
    seed: int,
    batch: int | None = None,
    first: NDArray[np.uint64] | None = None,
    **parameters: Any,
) -> int:
    """Compare the fast path's outputs, drawn in batches, with others from the same words; return the bits taken beyond.

    Those of many draws are compared with the reference path's, those of a few with words given out in order.
    """
    parameters = {"epsilon": 1, **parameters}
    sampler = LevelSampler(utilities, **parameters)
    further = 0
    for begin in range(0, trials, batch or trials):
        recorded = Recorded(seed + begin, first)
        fast = sampler.draw(batch or trials, recorded)
        if len(fast) < FEW:
            in_order = WordsInOrder(recorded, seed + begin)
            assert fast.tolist() == [in_order.selected(utilities, **parameters) for _ in fast]
        else:
            bits = WordByWord(recorded, seed + begin, *numbers_of(utilities, **parameters))
            for selected in fast.tolist():
                assert exact_exponential(utilities, bits, **parameters) == selected
                bits.next_word()
        further += recorded.taken
    return further


def acceptance(levelled: LevelledUtilities, outcome: int) -> Fraction:
    """2^k·e^−x by MPFR, off by less than a share 2^−180."""
    with gmpy2.context(precision=200):
        scaled = gmpy2.mul_2exp(gmpy2.exp(-gmpy2.mpfr(levelled.gap(outcome))), int(levelled.levels()[outcome]))
        return Fraction(*scaled.as_integer_ratio())


def levelled(utilities: ArrayLike, epsilon: Fraction | float = 1, **others: Any) -> LevelledUtilities:
    parameters = {"sensitivity": 1, "monotone": False, "utility_range": WIDEST_RANGE} | others
    return LevelledUtilities.of(utilities, epsilon=epsilon, **parameters)


def shortest_codeword(levels: list[int]) -> int:
    """How many bits the shortest codewords have."""
    kraft = sum(Fraction(1, 2**level) for level in levels)
    return next(bits for bits in range(64) if kraft <= 2**bits)


def numbers_of(utilities: ArrayLike, **parameters: Any) -> tuple[int, int]:
    """How many words in a row are one number for many draws, and how many bits numbers have."""
    held = levelled(utilities, **parameters)
    levels = held.levels().tolist()
    shortest = shortest_codeword(levels)
    length = max(61, shortest + held.depth)
    numbers = sum(Fraction(2 ** (length - shortest), 2**level) for level in levels)
    return math.floor(2**64 / numbers), length


def words_owned(utilities: ArrayLike) -> list[int]:
    """How many words of many draws propose each outcome, and last how many propose none, found by bisection."""
    held = levelled(utilities)
    tables = exact_fast._Tables(held)
    levels = held.levels()
    order = np.append(np.argsort(levels, kind="stable"), len(levels))
    rank = np.argsort(order).astype(np.uint64)
    below, last = np.zeros(len(levels), dtype=np.uint64), np.full(len(levels), 2**64 - 1, dtype=np.uint64)
    while (below < last).any():  # the last word that proposes an outcome no later in order than a given one
        middle = last - (last - below) // np.uint64(2)
        proposed, _, _ = tables.proposals(middle)
        early = rank[proposed] <= np.arange(len(levels))
        below, last = np.where(early, middle, below), np.where(early, last, middle - np.uint64(1))
    ends = [0, *(int(word) + 1 for word in below), 2**64]
    return [ends[place + 1] - ends[place] for place in rank.tolist()]


def words_at_the_edges(utilities: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Words next to where a codeword begins or ends, to where acceptance ends, and to where the filter gives up."""
    held = levelled(utilities)
    levels = held.levels().tolist()
    alike, length = numbers_of(utilities)
    by_level = sorted(range(utilities.size), key=levels.__getitem__)
    edges = [0, 2**64 - 1]
    for order, words, share in ((by_level, alike, length), (range(utilities.size), 1, 64)):
        begin = 0
        for outcome in order:
            size = words * 2 ** (share - shortest_codeword(levels) - levels[outcome])
            threshold = begin + size * acceptance(held, outcome)
            window = Fraction(FILTER_ERROR) * size
            for edge in (begin, begin + size, threshold, threshold - window, threshold + window):
                edges += [math.floor(edge) + step for step in (-2, -1, 0, 1)]
            begin += size
    return np.array(sorted({edge for edge in edges if 0 <= edge < 2**64}), dtype=np.uint64)


CASES = [
    pytest.param(STEEP, id="steep"),
    pytest.param(NORMAL, id="normal"),
    pytest.param(FLAT, id="flat"),
    pytest.param(DEEP, id="deep"),
    pytest.param(NASTY, id="nasty"),
    pytest.param(np.zeros(64), id="equal, a full code"),
    pytest.param(np.array([0.0, -2e300]), id="two outcomes, one out of reach"),
]


@pytest.mark.few(3)
@pytest.mark.parametrize("utilities", CASES)
def test_both_paths_give_the_same_on_the_same_words(utilities: NDArray[np.float64]) -> None:
    assert_paths_agree(utilities, 1_000, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("utilities", CASES)
def test_both_paths_give_the_same_on_the_same_words_a_million_times(utilities: NDArray[np.float64]) -> None:
    assert_paths_agree(utilities, 200_000, seed=2)


@pytest.mark.few(3)
@pytest.mark.parametrize("utilities", CASES)
def test_single_draws_give_the_same_as_the_reference(utilities: NDArray[np.float64]) -> None:
    assert_paths_agree(utilities, 300, batch=1, seed=3)


@pytest.mark.few(5)
@pytest.mark.parametrize("utilities", CASES)
@pytest.mark.parametrize("batch", [1, 1000])
def test_both_paths_give_the_same_on_words_at_the_edges(utilities: NDArray[np.float64], batch: int) -> None:
    edges = words_at_the_edges(utilities[:100])
    for begin in range(0, edges.size, batch) if batch > 1 else range(0, edges.size, 7):
        assert_paths_agree(utilities[:100], batch, seed=4, first=edges[begin : begin + batch])


@pytest.mark.few(3)
@pytest.mark.parametrize("utilities", [*CASES, [0.0, -9.0], [0.0] * 65, [0.0, *[-40.0] * 3_000], [3.0]])
def test_many_draws_share_out_nearly_all_words_in_proportion_to_the_levels_weights(utilities: ArrayLike) -> None:
    held = levelled(utilities)
    *owned, nobodys = words_owned(utilities)
    levels = held.levels().tolist()
    assert len({words << level for words, level in zip(owned, levels, strict=True)}) == 1
    spared = min(3, 64 - held.depth - shortest_codeword(levels))
    assert Fraction(nobodys, 2**64) < Fraction(1, 2**spared + 1)


@pytest.mark.parametrize("batch", [1, 600])
def test_a_filter_that_decides_little_gives_the_same(monkeypatch: pytest.MonkeyPatch, batch: int) -> None:
    monkeypatch.setattr(exact_fast, "FILTER_ERROR", 0.25)
    monkeypatch.setattr(exact_fast, "_UNDECIDED", np.uint64(2**31 + 2))
    for utilities in (STEEP, NORMAL, NASTY):
        assert_paths_agree(utilities, 600, batch=batch, seed=5)


def test_words_that_end_undecided_go_on_with_further_bits() -> None:
    """Outcomes out of reach in all but 2^−60 of draws have codewords of all but a few bits: the words run out."""
    edges = words_at_the_edges(NASTY)
    assert assert_paths_agree(NASTY, 1000, seed=6, first=edges[-1000:]) > 0


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "parameters",
    [
        {"epsilon": Fraction(1, 3), "sensitivity": Fraction(7, 5)},
        {"epsilon": 0.1, "sensitivity": 0.25, "monotone": True},
        {"epsilon": Fraction(1, 10**30)},
        {"epsilon": 10**30},
        {"epsilon": 2, "utility_range": (-5, 5)},
    ],
)
def test_both_paths_give_the_same_for_all_parameters(parameters: dict[str, Any]) -> None:
    assert_paths_agree(NORMAL[:50], 700, seed=7, **parameters)
    assert_paths_agree(NASTY, 700, seed=8, **parameters)


@given(
    st.lists(st.floats(), min_size=1, max_size=12),
    st.fractions(Fraction(1, 1000), 1000, max_denominator=1000),
    st.integers(0, 2**32),
)
def test_both_paths_give_the_same_for_any_utilities(utilities: list[float], epsilon: Fraction, seed: int) -> None:
    assert_paths_agree(utilities, 40, seed=seed, epsilon=epsilon)
    assert_paths_agree(utilities, 4, batch=1, seed=seed, epsilon=epsilon)


def assert_half_power_keeps_its_bound(fractions: NDArray[np.float64]) -> None:
    approximations = half_power(fractions)
    with gmpy2.context(precision=120):
        errors = [abs(gmpy2.exp2(-gmpy2.mpfr(f)) - q) for f, q in zip(fractions.tolist(), approximations, strict=True)]
    assert max(errors) < FILTER_ERROR - 2.0**-43


def test_the_approximation_keeps_its_bound() -> None:
    below_one = math.nextafter(1.0, 0.0)
    corners = np.array([0.0, 5e-324, 2.0**-1022, 2.0**-54, 0.25, math.nextafter(0.5, 0), 0.5, below_one])
    assert_half_power_keeps_its_bound(corners)
    assert_half_power_keeps_its_bound(np.random.default_rng(9).random(50_000))
    assert [half_power(f) for f in corners.tolist()] == half_power(corners).tolist()


@pytest.mark.slow
def test_the_approximation_keeps_its_bound_on_a_million_points() -> None:
    assert_half_power_keeps_its_bound(np.linspace(0, 1, 1_000_000, endpoint=False))


@given(st.floats(-1e6, 1e6), st.floats(0, 80), st.fractions(Fraction(1, 100), 100))
def test_the_filter_keeps_its_bound_of_the_true_probability(best: float, drop: float, epsilon: Fraction) -> None:
    """The whole way from the utilities, the roundings of y included."""
    held = levelled([best, best - drop / float(epsilon)], epsilon)
    levels = held.levels().tolist()
    worse = 1 if levels[1] else 0
    if levels[worse] < held.depth:
        approximation = half_power(held.exponent(worse) - levels[worse])
        assert abs(Fraction(approximation) - acceptance(held, worse)) < Fraction(FILTER_ERROR)


def test_frequencies_are_the_ideal_ones() -> None:
    """χ² of 10^6 draws against the ideal law; false alarms: 10^−9."""
    counts = np.bincount(exact_exponential_fast(STEEP, 10**6, SeededBits(np.random.default_rng(13)), epsilon=1))
    kept = 24  # what lies further down is pooled
    expected = np.exp(-np.arange(100)[::-1] / 2)
    expected *= 10**6 / expected.sum()
    pooled = [np.array([values[: 100 - kept].sum(), *values[100 - kept :]]) for values in (counts, expected)]
    assert chisquare(*pooled).pvalue > 1e-9


def test_one_outcome_is_drawn_a_million_times() -> None:
    drawn = exact_exponential_fast([3.0], 2**20, SeededBits(np.random.default_rng(1)), epsilon=1)
    assert drawn.shape == (2**20,)
    assert drawn.dtype == np.int64
    assert not drawn.any()


def test_one_sampler_draws_any_number_of_trials() -> None:
    sampler = LevelSampler(STEEP, epsilon=1)
    bits = SeededBits(np.random.default_rng(1))
    assert [sampler.draw(trials, bits).shape for trials in (0, 1, 5, 1000, 1, 100_000)] == [
        (0,), (1,), (5,), (1000,), (1,), (100_000,)
    ]  # fmt: skip


def test_the_same_bits_give_the_same_outcomes_whatever_was_drawn_before() -> None:
    used = LevelSampler(STEEP, epsilon=1)
    used.draw(100, SeededBits(np.random.default_rng(1)))
    for trials in (1, 7, 8, 50_000):
        fresh = LevelSampler(STEEP, epsilon=1)
        drawn = [sampler.draw(trials, SeededBits(np.random.default_rng(trials))).tolist() for sampler in (used, fresh)]
        assert drawn[0] == drawn[1]


def test_the_order_of_utilities_is_the_order_of_outcomes() -> None:
    drawn = exact_exponential_fast([-80.0, 0.0, -90.0], 1000, SeededBits(np.random.default_rng(1)), epsilon=2)
    assert set(drawn.tolist()) == {1}


def test_memory_is_linear_in_outcomes_and_constant_in_trials() -> None:
    """Less than 200 bytes an outcome, and 8 a trial, which is the result, beside 8 MiB for a batch."""
    outcomes, trials = 200_000, 1_000_000
    utilities = np.random.default_rng(1).random(outcomes)
    tracemalloc.start()
    exact_exponential_fast(utilities, trials, SeededBits(np.random.default_rng(1)), epsilon=1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 200 * outcomes + 8 * trials + 2**23


def test_a_negative_number_of_trials_is_refused() -> None:
    with pytest.raises(ValueError, match="trials"):
        LevelSampler(STEEP, epsilon=1).draw(-1, SeededBits(np.random.default_rng(1)))


def test_bad_parameters_are_refused_at_set_up() -> None:
    bits = SeededBits(np.random.default_rng(1))
    with pytest.raises(ValueError, match="epsilon"):
        exact_exponential_fast(STEEP, 10, bits, epsilon=0)
    with pytest.raises(ValueError, match="sensitivity"):
        LevelSampler(STEEP, epsilon=1, sensitivity=-1)
    with pytest.raises(ValueError, match="utilities"):
        LevelSampler([], epsilon=1)


@pytest.mark.parametrize("trials", [1, 20, 100_000])
def test_memory_beside_the_result_is_at_most_twice_the_naive_one(trials: int) -> None:
    utilities = RNG.normal(scale=10, size=100_000)
    rng, bits = np.random.default_rng(1), SeededBits(1)
    peaks = []
    for select in (
        lambda: exact_exponential_fast(utilities, trials, bits, epsilon=1),
        lambda: naive_exponential_stabilised(utilities, trials, rng, epsilon=1),
    ):
        select()
        tracemalloc.start()
        result = np.asarray(select())
        peaks.append(tracemalloc.get_traced_memory()[1] - result.nbytes)
        tracemalloc.stop()
    assert peaks[0] <= 2 * peaks[1]
