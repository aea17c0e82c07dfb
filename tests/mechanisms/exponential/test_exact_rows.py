"""Rows of utilities are selected from as single ones are: the same law, by words of their own."""

from __future__ import annotations

import math
import tracemalloc
from bisect import bisect_right
from collections import Counter
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray
from scipy.stats import chisquare

from attacklab.random_bits import SeededBits, TapedBits
from mechanisms.exponential import exact_rows
from mechanisms.exponential.exact import bernoulli_scaled_exp
from mechanisms.exponential.exact_fast import exact_exponential_fast
from mechanisms.exponential.exact_rows import exact_exponential_rows
from mechanisms.exponential.levels import WIDEST_RANGE, LevelledUtilities
from mechanisms.exponential.naive import naive_exponential_rows
from mechanisms.randomness import RandomBits

RNG = np.random.default_rng(21)
MIXED = np.array([[0.0, -1.4, -26.0, -80.0], [-3.0, 0.0, -3.0, -500.0], [0.0] * 4, [math.nan, math.inf, -1.0, 2.0]])
DEEP = [0.0, -80.0, -1.4, -26.0, -1e4, -5e-324]


class Words(RandomBits):
    """Given words, then others from a seed; and the same further bit over and over."""

    def __init__(self, first: list[int], further: int, seed: int = 0) -> None:
        self._first, self.further = list(first), further
        self._words = np.random.default_rng(seed)
        self.given: list[int] = []

    def take(self, count: int) -> int:
        if count == 64:
            return int(self.words(1)[0])
        return self.further * ((1 << count) - 1)

    def words(self, count: int) -> NDArray[np.uint64]:
        first, self._first = self._first[:count], self._first[count:]
        rest = self._words.integers(0, 2**64, size=count - len(first), dtype=np.uint64).tolist()
        self.given += [*first, *rest]
        return np.array([*first, *rest], dtype=np.uint64)


class Rest(RandomBits):
    """The rest of a word, then the same further bit over and over."""

    def __init__(self, place: int, size: int, further: int) -> None:
        self._word, self._further = TapedBits(place, size), further

    def take(self, count: int) -> int:
        assert count == 1
        return self._word.take(1) if self._word.left else self._further


def repeated(rows: Any, often: int) -> Any:
    """Rows, one after the other, and so on: very few of them are drawn from one by one."""
    if isinstance(rows, np.ma.MaskedArray):
        return np.ma.concatenate([rows] * often)
    return rows * often if isinstance(rows, list | tuple) else np.concatenate([rows] * often)


def selected(utilities: ArrayLike, word: int, further: int) -> int | None:
    """What one word selects, by integers and by the reference's coin; None if it selects nothing."""
    held = LevelledUtilities.of(utilities, epsilon=1, sensitivity=1, monotone=False, utility_range=WIDEST_RANGE)
    levels = held.levels().tolist()
    ends = list(accumulate(1 << (held.depth - level) for level in levels))
    spare = 64 - max((ends[-1] - 1).bit_length(), held.depth)
    if word >> spare >= ends[-1]:
        return None
    outcome = bisect_right(ends, word >> spare)
    size = held.depth - levels[outcome] + spare
    place = word - ((ends[outcome - 1] << spare) if outcome else 0)
    kept = bernoulli_scaled_exp(held.gap(outcome), levels[outcome], Rest(place, size, further))
    return outcome if kept else None


def words_of(utilities: list[float]) -> list[int]:
    """Words at both ends of each outcome's, and at both ends of each 2^−7 of all words."""
    held = LevelledUtilities.of(utilities, epsilon=1, sensitivity=1, monotone=False, utility_range=WIDEST_RANGE)
    ends = [0, *accumulate(1 << (held.depth - level) for level in held.levels().tolist())]
    spare = 64 - max((ends[-1] - 1).bit_length(), held.depth)
    edges = [(end << spare) + step for end in ends for step in (-1, 0, 1)] + [part << 57 for part in range(128)]
    return sorted({edge for edge in edges if 0 < edge < 2**64})


@pytest.mark.parametrize("further", [0, 1])
@pytest.mark.parametrize("utilities", [DEEP, [0.0], [0.0, 0.0, 0.0], [-1.0, 0.3, 0.2]])
def test_a_row_selects_what_single_draws_select_by_the_same_word(utilities: list[float], further: int) -> None:
    words = words_of(utilities)
    source = Words(words, further)
    found = exact_exponential_rows([utilities] * len(words), source, epsilon=1).tolist()
    for row, word in enumerate(words):
        expected = selected(utilities, word, further)
        if expected is not None:
            assert found[row] == expected
            assert exact_exponential_fast(utilities, 1, Words([word], further), epsilon=1).tolist() == [expected]


def test_every_row_reads_words_of_its_own_until_it_has_selected() -> None:
    """The rounds of a block by hand: a word for each row, then as many as there are places for those that wait."""
    rows = [MIXED[index % 4].tolist() for index in range(400)]
    source = Words([], 0, seed=5)
    found = exact_exponential_rows(rows, source, epsilon=1).tolist()
    words, waiting, each = iter(source.given), list(range(400)), 1
    chosen: dict[int, int] = {}
    while waiting:
        for row in waiting:
            outcomes = [selected(rows[row], next(words), 0) for _ in range(each)]
            if accepted := [outcome for outcome in outcomes if outcome is not None]:
                chosen[row] = accepted[0]
        waiting = [row for row in waiting if row not in chosen]
        each = max(1, 512 // max(len(waiting), 1))
    assert next(words, None) is None
    assert found == [chosen[row] for row in range(400)]


@pytest.mark.parametrize("utilities", [[0.0, -1.0], [0.0, -1.4, -3.0], [-7.5, 0.0, 0.0]])
def test_the_law_of_a_row_is_that_of_a_single_draw_on_all_words_of_a_grid(utilities: list[float]) -> None:
    """The middles of 2^10 equal parts of all words, each once: counts differ from the law at edges of parts only."""
    words = [(2 * part + 1) << 53 for part in range(1 << 10)]
    singles = Counter(selected(utilities, word, 0) for word in words)
    singles.pop(None)
    accepted = [word for word in words if selected(utilities, word, 0) is not None]
    found = exact_exponential_rows([utilities] * len(accepted), Words(accepted, 0), epsilon=1)
    assert Counter(found.tolist()) == singles
    weights = [math.exp(-(max(utilities) - one) / 2) for one in utilities]
    for outcome, weight in enumerate(weights):
        share = singles[outcome] / len(accepted)
        assert abs(share - weight / sum(weights)) < 4 / len(accepted)


def test_rows_follow_their_own_laws() -> None:
    """χ² on 100,000 draws of each row; false alarms have probability 10^−9 a row."""
    rows = np.repeat(MIXED[:3, :3], 100_000, axis=0)
    found = exact_exponential_rows(rows, SeededBits(3), epsilon=1).reshape(3, -1)
    for drawn, utilities in zip(found, MIXED, strict=False):
        weights = np.exp((utilities[:3] - utilities[:3].max()) / 2)
        counts = np.bincount(drawn, minlength=3)
        expected = drawn.size * weights / weights.sum()
        seen = expected > 10
        assert chisquare(counts[seen], expected[seen] * counts[seen].sum() / expected[seen].sum()).pvalue > 1e-9


def test_rows_in_many_blocks_are_those_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = RNG.normal(scale=10, size=(50, 8))
    in_blocks = []
    for together in (8, 24, 50 * 8):
        monkeypatch.setattr(exact_rows, "_AT_ONCE", together)
        monkeypatch.setattr(exact_rows, "_WORDS_AT_LEAST", 0)
        best = [int(np.argmax(row)) for row in rows]
        word_of = {}
        for index, row in enumerate(rows):
            words = words_of(row.tolist())
            word_of[index] = next(word for word in words if selected(row, word, 0) == best[index])
        source = Words([word_of[index] for index in range(50)], 0)
        in_blocks.append(exact_exponential_rows(rows, source, epsilon=1).tolist())
        assert len(source.given) == 50
    assert in_blocks == [best] * 3


@pytest.mark.parametrize(
    "rows",
    [
        [[3, 1, 2], [0, 9, 0]],
        np.array([[3, 1, 2], [0, 9, 0]], dtype=np.int32),
        np.array([[3, 1, 2], [0, 9, 0]], dtype=np.float32),
        np.asfortranarray([[3.0, 1.0, 2.0], [0.0, 9.0, 0.0]]),
        np.ma.masked_array([[3.0, 1.0, 2.0], [0.0, 9.0, 0.0]], mask=False),
        (np.array([3.0, 1.0, 2.0]), [0, 9.0, np.float64(0)]),
    ],
)
@pytest.mark.parametrize("often", [1, 5])
def test_rows_may_be_written_in_many_ways(rows: Any, often: int) -> None:
    plain = repeated(np.array([[3.0, 1.0, 2.0], [0.0, 9.0, 0.0]]), often)
    for seed in range(20):
        expected = exact_exponential_rows(plain, SeededBits(seed), epsilon=1).tolist()
        assert exact_exponential_rows(repeated(rows, often), SeededBits(seed), epsilon=1).tolist() == expected


@pytest.mark.parametrize(
    "rows",
    [
        [[Fraction(1, 3), 2], [5, Fraction(1, 7)]],
        [[2**53 + 1, 2**53 - 2], [0, 1]],
        np.array([[2**53 + 1, 2**53 - 2], [0, 1]]),
        np.array([[Fraction(1, 3), 2], [5, None]], dtype=object),
    ],
)
def test_rows_of_other_numbers_select_what_single_draws_select_by_the_same_words(rows: Any) -> None:
    rows = repeated(rows, 5)
    for seed in range(50):
        source = Words([], seed % 2, seed)
        found = exact_exponential_rows(rows, source, epsilon=1).tolist()
        for row, (utilities, word) in enumerate(zip(rows, source.given, strict=False)):
            if (expected := selected(utilities, word, seed % 2)) is not None:
                assert found[row] == expected


@pytest.mark.parametrize("shape", [(10, 5000), (7, 4), (1, 1)])
def test_long_rows_and_very_few_are_drawn_from_one_by_one(shape: tuple[int, int]) -> None:
    rows, one_by_one = np.zeros(shape), SeededBits(4)
    expected = [int(exact_exponential_fast(row, 1, one_by_one, epsilon=1)[0]) for row in rows]
    assert exact_exponential_rows(rows, SeededBits(4), epsilon=1).tolist() == expected


@pytest.mark.parametrize("often", [1, 5])
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, None, 5e-324, -1e308])
def test_no_utility_raises_and_a_row_does_not_change_the_others(bad: float | None, often: int) -> None:
    rows: Any = np.array([[1.0, 2.0], [0.0, math.nan if bad is None else bad]])
    for seed in range(5):
        plain = exact_exponential_rows(repeated([[1.0, 2.0], [0.0, 0.5]], often), SeededBits(seed), epsilon=1)
        with np.errstate(all="raise"):
            given = np.ma.masked_invalid(repeated(rows, often)) if bad is None else repeated(rows, often)
            found = exact_exponential_rows(given, SeededBits(seed), epsilon=1)
        assert set(found[1::2].tolist()) <= {0, 1}
        assert plain.shape == found.shape == (2 * often,)


@pytest.mark.parametrize(
    ("rows", "error"),
    [
        (np.zeros(3), ValueError),
        (np.zeros((2, 2, 2)), ValueError),
        (np.zeros((2, 0)), ValueError),
        ([[1.0], [1.0, 2.0]], ValueError),
        ([], ValueError),
        ([1.0, 2.0], ValueError),
        (3.0, TypeError),
        ("ab", TypeError),
        ([["a"]], TypeError),
        (np.array([["a"]]), TypeError),
        (np.array([[1j]]), TypeError),
    ],
)
def test_what_is_not_rows_of_numbers_is_refused(rows: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="utilities"):
        exact_exponential_rows(rows, SeededBits(1), epsilon=1)


@pytest.mark.parametrize(
    "parameters",
    [{"epsilon": 0}, {"epsilon": 1, "sensitivity": -1}, {"epsilon": 1, "utility_range": (2, 1)}, {"epsilon": math.nan}],
)
def test_bad_parameters_are_refused_whatever_the_rows(parameters: dict[str, Any]) -> None:
    for rows in (np.zeros((2, 2)), np.zeros((0, 2)), np.array([[math.nan, 1.0]])):
        with pytest.raises(ValueError, match=r"epsilon|sensitivity|utility_range"):
            exact_exponential_rows(rows, SeededBits(1), **parameters)


def test_no_rows_select_nothing() -> None:
    assert exact_exponential_rows(np.zeros((0, 3)), SeededBits(1), epsilon=1).tolist() == []


def test_parameters_reach_the_law() -> None:
    """At ε = 10^6 another outcome than the best has probability e^−500,000; the range, or Δu, make them about equal."""
    rows = np.tile([0.0, 1.0, 0.0], (1000, 1))
    assert exact_exponential_rows(rows, SeededBits(1), epsilon=10**6).tolist() == [1] * 1000
    clamped = exact_exponential_rows(rows, SeededBits(1), epsilon=10**6, utility_range=(0.0, 0.0))
    assert set(clamped.tolist()) == {0, 1, 2}
    calm = exact_exponential_rows(rows, SeededBits(1), epsilon=10**6, sensitivity=10**6)
    assert set(calm.tolist()) == {0, 1, 2}


def test_memory_beside_the_result_is_at_most_twice_the_naive_one() -> None:
    utilities = RNG.normal(scale=10, size=(1000, 100))
    rng, bits = np.random.default_rng(1), SeededBits(1)
    peaks = []
    for select in (
        lambda: exact_exponential_rows(utilities, bits, epsilon=1),
        lambda: naive_exponential_rows(utilities, rng, epsilon=1),
    ):
        select()
        tracemalloc.start()
        result = select()
        peaks.append(tracemalloc.get_traced_memory()[1] - result.nbytes)
        tracemalloc.stop()
    assert peaks[0] <= 2 * peaks[1]


def test_naive_rows_are_naive_selections_of_each_row() -> None:
    """χ² on 100,000 draws; a false alarm has probability 10^−9."""
    drawn = naive_exponential_rows(np.tile([0.0, -1.0, -2.0], (100_000, 1)), np.random.default_rng(2), epsilon=1)
    weights = np.exp([0.0, -0.5, -1.0])
    assert chisquare(np.bincount(drawn), 100_000 * weights / weights.sum()).pvalue > 1e-9
