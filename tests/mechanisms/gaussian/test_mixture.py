"""Mixtures of Gaussian noise: what words are given to, against the law, by counting and by MPFR."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from gmpy2 import mpq

from attacklab.random_bits import SeededBits
from mechanisms.gaussian.exact_fast import DiscreteGaussian, exact_discrete_gaussian_fast
from mechanisms.gaussian.exact_rounded import RoundedNormal, exact_rounded_gaussian_each, exact_rounded_gaussian_fast
from mechanisms.gaussian.inversion import Law
from mechanisms.gaussian.mixture import Mixture, Remainder
from mechanisms.grid import Grid
from mechanisms.randomness import RandomBits
from tests.mechanisms.words import GivenWords

SIGMAS = [Fraction(2**24) + Fraction(1, 3), Fraction(2**36), Fraction(2**46)]
HALF = Fraction(1, 2)


@pytest.fixture(scope="module", params=SIGMAS, ids=["2^24", "2^36", "2^46"])
def sigma(request: pytest.FixtureRequest) -> Fraction:
    return request.param


@pytest.fixture(scope="module")
def mixture(sigma: Fraction) -> Mixture:
    return Mixture(sigma)


def laws(sigma: Fraction) -> Iterator[Law]:
    for shift in (-HALF, Fraction(0), Fraction(1, 3), HALF):
        yield RoundedNormal(shift, sigma)
    yield DiscreteGaussian(sigma**2)


def probability(law: Law, outcome: int) -> tuple[mpq, mpq]:
    """Enclose P[X = outcome]."""
    near, far = law.tail(outcome, 400), law.tail(outcome + 1, 400)
    return mpq(near.lower) - mpq(far.upper), mpq(near.upper) - mpq(far.lower)


def given_to(mixture: Mixture, outcome: int) -> mpq:
    return mixture.given(outcome) - mixture.given(outcome + 1)


def outcomes_of(sigma: Fraction) -> list[int]:
    """The steps about the ends of some cells, and others."""
    width = 1 << int(sigma).bit_length() - 11
    cells = [0, 1, 2, 500, 1023, 1024, 1025, 2047, 2048, 5000, 9000, 16383]
    sizes = {cell * width + near for cell in cells for near in (0, 1, width // 2, width - 2, width - 1)}
    return [one for size in sorted(sizes) for one in (size, -1 - size)]


def test_no_step_is_given_more_than_any_of_the_laws_has(mixture: Mixture, sigma: Fraction) -> None:
    for law in laws(sigma):
        for outcome in outcomes_of(sigma):
            assert 0 <= given_to(mixture, outcome) <= probability(law, outcome)[0]


def test_the_words_below_the_limit_are_as_many_as_each_cell_is_given(mixture: Mixture, sigma: Fraction) -> None:
    """Counted in the tables, cell by cell: the probability of a cell is that of its words and of the open ones."""
    width = 1 << int(sigma).bit_length() - 11
    limit, size = int(mixture._limit), 1 << 49
    counted: dict[int, int] = {}
    for slot in range(limit // size):
        cut = int(mixture._thresholds[slot]) % 2**64
        for place, words in ((1, cut - slot * size), (0, slot * size + size - cut)):
            start = int(mixture._starts[2 * slot + place])
            counted[start] = counted.get(start, 0) + words
    assert sum(counted.values()) == limit
    assert all(start % width == 0 for start in counted)
    ends = [limit, *mixture._ends]
    open_words = [high - low for low, high in zip(ends, mixture._ends, strict=False)]
    for cell in range(0, 1 << 14, 37):
        for start, first in ((cell * width, 0), (-(cell + 1) * width, 1)):
            words = counted.get(start, 0) + open_words[4 * cell + first] + open_words[4 * cell + 2 + first]
            assert mixture.given(start) - mixture.given(start + width) == mpq(words, 2**64)


def test_words_are_decided_as_the_tables_say_up_to_the_limit(mixture: Mixture) -> None:
    limit = int(mixture._limit)
    words = [0, 1, limit - 1, limit, 2**64 - 1, *SeededBits(np.random.default_rng(3)).words(2000).tolist()]
    for slot in range(0, limit >> 49, 331):
        cut = int(mixture._thresholds[slot]) % 2**64
        words += [word for word in (slot << 49, cut - 1, cut, cut + 1, (slot + 1 << 49) - 1) if word >= 0]
    given = np.array(words, dtype=np.uint64)
    noise, undecided = mixture.decide(given)
    assert given.tolist() == words
    assert undecided.tolist() == [place for place, word in enumerate(words) if word >= limit]
    for word, steps in zip(words, noise.tolist(), strict=True):
        if word < limit:
            slot = word >> 49
            is_upper = word >= int(mixture._thresholds[slot]) % 2**64
            assert steps == mixture._starts[2 * slot + (not is_upper)] + word % mixture._width


def test_few_words_are_open_and_fewer_need_an_inversion(mixture: Mixture) -> None:
    assert 1 - int(mixture._limit) / 2**64 < 2.0**-11
    assert 0 < mixture.remaining < mpq(1, 2**22)
    assert mixture.remaining == 1 - mpq(mixture._ends[-1], 2**64)


class Given(RandomBits):
    """Replies one after the other."""

    def __init__(self, *replies: int) -> None:
        self._replies = list(replies)

    def take(self, count: int) -> int:
        reply = self._replies.pop(0)
        assert reply < 2**count
        return reply


def test_open_words_draw_even_steps_and_ramps_towards_zero(mixture: Mixture, sigma: Fraction) -> None:
    width = 1 << int(sigma).bit_length() - 11
    law = RoundedNormal(Fraction(0), sigma)
    ends = [int(mixture._limit), *mixture._ends]
    for cell in (0, 3, 1000, 4000):
        last = (cell + 1) * width - 1
        for kind, side in ((0, 1), (1, -1)):
            word = ends[4 * cell + kind]
            found = [mixture.resolve(law, word, Given(place)) for place in (0, 5, width - 1)]
            assert found == [last - place if side > 0 else -1 - last + place for place in (0, 5, width - 1)]
            for one, other in ((5, 3), (3, 5), (0, width - 1)):
                found_one = mixture.resolve(law, ends[4 * cell + 2 + kind], Given(one, other))
                assert found_one == (last - max(one, other) if side > 0 else -1 - last + max(one, other))


def test_the_greater_one_of_two_uniform_numbers_has_probability_on_a_line() -> None:
    width = 16
    counts = np.bincount([max(one, other) for one in range(width) for other in range(width)])
    assert counts.tolist() == [2 * place + 1 for place in range(width)]


def test_what_remains_is_a_law_and_is_what_is_left_of_the_other(mixture: Mixture, sigma: Fraction) -> None:
    for law in laws(sigma):
        remainder = Remainder(law, mixture)
        places = sorted({*range(-3, 4), *outcomes_of(sigma)[::5]})
        tails = [remainder.tail(place, 128) for place in places]
        assert all(one.lower <= one.upper and one.upper >= 0 and one.lower <= 1 for one in tails)
        assert all(other.lower <= one.upper for one, other in pairwise(tails))
        for place in (-1, 0, 12345, int(sigma)):
            low, high = probability(law, place)
            left = mpq(remainder.tail(place, 400).lower) - mpq(remainder.tail(place + 1, 400).upper)
            assert abs(left * mixture.remaining + given_to(mixture, place) - low) < high - low + mpq(1, 2**380)


def test_the_last_words_draw_what_remains_by_inversion(mixture: Mixture, sigma: Fraction) -> None:
    for number, law in enumerate(laws(sigma)):
        bits = SeededBits(np.random.default_rng(number))
        uniform = SeededBits(np.random.default_rng(number)).take(64)
        outcome = mixture.resolve(law, 2**64 - 1 - number, bits)
        remainder = Remainder(law, mixture)
        assert remainder.tail(outcome + 1, 200).lower * 2**64 <= uniform + 1
        assert uniform <= remainder.tail(outcome, 200).upper * 2**64


@pytest.mark.parametrize("sigma", [Fraction(1), Fraction(2**24), Fraction(2**46) + 1])
def test_noise_of_few_steps_or_too_many_is_refused(sigma: Fraction) -> None:
    with pytest.raises(ValueError, match="above 2\\^24"):
        Mixture(sigma)


@pytest.mark.parametrize("fast", [exact_rounded_gaussian_fast, exact_discrete_gaussian_fast])
def test_fine_releases_add_the_noise_of_their_words(fast) -> None:
    grid, mixture = Grid(-40), Mixture(Fraction(2**40))
    words = SeededBits(np.random.default_rng(4)).words(1000)
    words = words[words < mixture._limit]
    noise, _ = mixture.decide(words)
    outputs = fast(Fraction(3, 7), len(words), GivenWords(words.tolist(), Given()), sigma=1, grid=grid)
    assert outputs.tolist() == [grid.value(grid.nearest(Fraction(3, 7)) + int(one)) for one in noise]


def test_a_fine_release_of_answers_hands_each_open_word_its_own_shift() -> None:
    """The word just below the first ramp's is open, as is the last; what they draw depends on the answer's shift."""
    grid, mixture = Grid(-40), Mixture(Fraction(2**40))
    answers = [Fraction(1, 3), Fraction(-5, 7)]
    words, further = [2**64 - 1, 2**64 - 2], SeededBits(np.random.default_rng(8))
    outputs = exact_rounded_gaussian_each(answers, GivenWords(words, further), sigma=1, grid=grid)
    again = SeededBits(np.random.default_rng(8))
    for answer, word, output in zip(answers, words, outputs.tolist(), strict=True):
        whole = grid.nearest(answer)
        law = RoundedNormal(grid.steps_to(answer) - whole, Fraction(2**40))
        assert output == grid.value(whole + mixture.resolve(law, word, again))
