"""Mistakes that a review made or found: what one record, one type or one reading does to all the others."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate, islice
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from gmpy2 import mpq

from attacklab.model.random_bits import SeededBits
from checker.check import check
from checker.forms import Refused
from mechanisms import library
from mechanisms.core.certificate import certificate
from mechanisms.core.chunks import ChunkTotal
from mechanisms.core.column import Column
from mechanisms.core.compose import Both, Mapped
from mechanisms.core.grid import Grid
from mechanisms.core.kernel import Kernel
from mechanisms.core.laws import DiscreteLaplace
from mechanisms.core.local import Mean
from mechanisms.core.noise import Noise
from mechanisms.core.noisy import Noisy, noisy
from mechanisms.core.noisy_max import NoisyMax, PermuteAndFlip, one_of_those_up
from mechanisms.core.ranks import RankScores
from mechanisms.core.records import Answer, CountFrom, Total
from mechanisms.core.remainder import Remainder
from mechanisms.core.scores import Utilities
from mechanisms.core.select import Select
from mechanisms.core.smooth import Smooth
from mechanisms.core.snapped import Snapped
from mechanisms.core.table import Table
from mechanisms.core.term import Mechanism
from tests.mechanisms.core.scripted_noise import scripted
from tests.mechanisms.enumeration import law_of

ONE = Fraction(1)
WHOLE = Grid(0)
PEOPLE = noisy(ChunkTotal(np.max, 1, b"key", Fraction(0), ONE, WHOLE), DiscreteLaplace, 1)


def not_available(number: int) -> Any:
    """R's NA, a signalling NaN, so often."""
    return np.full(number, 0x7FF00000000007A2, np.uint64).view(np.float64)


@pytest.mark.parametrize("written", [lambda na: na, list, lambda na: [*na, 0]])
@pytest.mark.parametrize("number", range(1, 20))
def test_a_signalling_nan_is_any_nan_wherever_it_stands(number: int, written: Callable[[Any], Any]) -> None:
    given = written(not_available(number))
    assert Total(Fraction(0), Fraction(100), WHOLE).of(given) == 0
    scores = RankScores(Fraction(1, 2), Fraction(0), Fraction(9), WHOLE)
    assert scores.of(given).tolist() == scores.of([0.0] * len(given)).tolist()


def test_the_type_of_one_record_changes_no_other_above_a_bound() -> None:
    total = Total(Fraction(-3, 2), Fraction(3, 2), WHOLE, above_lower=True)
    near = 0.3 - 0.1 - 0.2
    one = total.of([near])
    assert total.of([near] * 1000) == 1000 * one
    for last in (0, 0.0, Fraction(0), np.float64(0), True):
        assert total.of([near] * 999 + [last]) - 999 * one == total.of([last])


@pytest.mark.parametrize("error", [SystemExit, GeneratorExit, KeyError, ArithmeticError])
def test_whatever_the_function_of_a_column_raises_stays_inside(error: type[BaseException]) -> None:
    def number(record: float) -> float:
        if record > 5:
            raise error
        return record

    assert Column(Total(Fraction(0), Fraction(10), WHOLE), number).of([1, 7]) == 1


@pytest.mark.parametrize(
    "parts",
    [
        (Noisy(Answer(Fraction(16777219), WHOLE), DiscreteLaplace(ONE)), Snapped(Fraction(16777220), ONE, 2.0**40)),
        (Noisy(Answer(ONE + Fraction(1, 10**30), WHOLE), DiscreteLaplace(ONE)), Snapped(ONE, ONE, 1000.0)),
        (PEOPLE, noisy(CountFrom(), DiscreteLaplace, 1)),
        (Select(Utilities(ONE), ONE), Select(Utilities(2 * ONE), ONE)),
    ],
)
def test_parts_of_other_neighbours_are_refused_by_the_term_and_by_the_checker(parts: tuple[Mechanism, ...]) -> None:
    with pytest.raises(ValueError, match="parts must be"):
        Both(parts)
    written = certificate("both", Both((parts[0], parts[0])))
    written["term"]["parts"][1] = certificate("second", parts[1])["term"]
    written["tables"] += certificate("second", parts[1])["tables"]
    with pytest.raises(Refused, match="different neighbours"):
        check(written)


def test_a_statement_never_promises_more_than_the_claim() -> None:
    wide = Fraction(2**24) - Fraction(1, 3)
    assert check(certificate("wide", Noisy(Answer(wide, Grid(24)), DiscreteLaplace(ONE)))).statement == (
        "1-DP for every pair of answers at most 1.677721E+7 apart"
    )
    scale = 1 / (1 + Fraction(1, 10**9))
    narrow = check(certificate("narrow", Noisy(Answer(ONE, WHOLE), DiscreteLaplace(scale)))).statement
    assert narrow == "1.000001-DP for every pair of answers at most 1 apart"
    huge = Noisy(Answer(Fraction(10) ** 400, Grid(970)), DiscreteLaplace(ONE))
    assert check(certificate("huge", huge)).statement.endswith("at most 1.000000E+400 apart")


def test_a_map_sees_one_output_at_a_time_where_outputs_come_in_lists() -> None:
    def doubled(output: Any) -> Any:
        return 2 * output

    first = PermuteAndFlip(Utilities(ONE, Fraction(-9), Fraction(9)), Fraction(1000))
    bits = SeededBits(np.random.default_rng(0))
    assert Mapped(first, doubled).many([0, 9], 3, bits) == [2, 2, 2]
    pairs = Mapped(Both((first, first)), lambda pair: pair[0] + pair[1])
    assert pairs.many([0, 9], 3, bits) == [2, 2, 2]


def test_permute_and_flip_has_no_favourite_among_equals() -> None:
    prepared = PermuteAndFlip(Utilities(ONE, Fraction(-9), Fraction(9)), ONE).prepared([3, 3, 3])
    assert law_of(prepared.one) == dict.fromkeys(range(3), Fraction(1, 3))
    drawn = {one_of_those_up((3.0,) * 3, mpq(1), SeededBits(seed)) for seed in range(64)}
    assert drawn == {0, 1, 2}  # but for a chance of 2e-11


@pytest.mark.parametrize(
    ("noise", "tied"),
    [((0, 2, 1, 3), range(4)), ((0, 2, 1, 2), range(3)), ((-5, 0, 1, 3), (2, 3)), ((1, 2, 1, 3), (0,))],
)
def test_a_tie_of_noisy_maxima_has_no_favourite(noise: tuple[int, ...], tied: Sequence[int]) -> None:
    prepared = NoisyMax(Utilities(ONE, Fraction(-9), Fraction(9)), ONE).prepared([3, 1, 2, 0])

    def one(bits: Any) -> int:
        waiting = iter(noise)
        with patch.object(Noise, "one", lambda *_: next(waiting)):
            return prepared.one(bits)

    def many(bits: Any) -> int:
        with patch.object(Noise, "many", lambda *_: np.array(noise)):
            return int(prepared.many(1, bits)[0])

    assert law_of(one) == law_of(many) == dict.fromkeys(tied, Fraction(1, len(tied)))


@pytest.mark.parametrize(("records", "bound"), [([], 5), ([1], 5), ([1] * 1000, None)])
def test_smooth_noise_has_twice_the_bound_as_its_scale(records: list[int], bound: int | None) -> None:
    """Of n records between −1 and 4 the mean moves by ⌈5/n⌉ steps, and S is no less and falls by 1 + 1/J at most."""
    term = Smooth(Mean(-ONE, Fraction(4), WHOLE), Fraction(1, 3), 20)
    _, (scale,) = scripted(term, records, [0])
    assert scale == 6 * (bound or term.bound(records))
    assert 1 <= term.bound(records) <= 5


@pytest.mark.parametrize("law", [DiscreteLaplace(Fraction(3, 2)), DiscreteLaplace(Fraction(500))])
def test_open_words_are_decided_as_the_certificate_says(law: DiscreteLaplace) -> None:
    """Each has the cell in whose share it lies, counted from the limit on; what is beyond all shares is inverted."""
    table = Table(law)
    told = table.evidence()
    shares = [(cell, words) for cell, even, ramp in told["open"] for words in (even, ramp) if words]
    *firsts, beyond = accumulate((words for _, words in shares), initial=told["limit"])
    words = [*firsts, *[first + words - 1 for first, (_, words) in zip(firsts, shares, strict=True)], beyond, 2**64 - 1]
    further = np.random.default_rng(0).integers(0, 2**63, 4 * len(words), dtype=np.uint64)
    waiting = iter([*map(np.uint64, words), *further])
    values = np.full(len(words), 7, dtype=np.int64)
    with (
        patch.object(SeededBits, "words", lambda _, count: np.array([*islice(waiting, count)], dtype=np.uint64)),
        patch.object(Remainder, "draw", lambda *_: 10**12),
    ):
        table.add(values, SeededBits(0))
    cells = (values - 7) >> told["width_bits"]
    assert cells[:-2].tolist() == [cell for cell, _ in shares] * 2
    assert values[-2:].tolist() == [10**12 + 7] * 2


def test_a_release_does_not_remember() -> None:
    """Twenty numbers of noise that spreads over 2^20 steps are alike with a probability below 2^−380."""
    made = library.laplace(epsilon=1, step=2**-20)
    assert len({made(0) for _ in range(20)}) > 1
    assert len({made.term.release(0, made.bits) for _ in range(20)}) > 1
    assert len(set(made.each([0] * 20).tolist())) > 1
    assert abs(made.each([1e6])[0] - 1e6) < 1000
    wide = library.laplace(epsilon=Fraction(1, 1000), step=1).seeded_for_tests(1).each([100.0] * 4000)
    assert wide.min() < -900 < 1100 < wide.max()


def test_a_number_of_a_column_that_no_double_holds_is_clamped() -> None:
    query = Column(Total(Fraction(0), Fraction(1), Grid(0)), lambda record: Fraction(10) ** record)
    assert [query.of([1]), query.of([1, 400]), query.of([1, 400, -400])] == [1, 2, 2]


def test_integers_that_no_double_holds_are_rounded_one_by_one() -> None:
    """2^53 + 1 and 2^53 + 3 are 2 apart, a step of 2 and no more, though the doubles next to them are 4 apart."""
    answers = np.array([2**53 + 1, 2**53 + 3], dtype=np.int64)
    assert np.diff(Answer(Fraction(2), Grid(1)).of_each(answers)).tolist() == [1]
    assert Answer(Fraction(2), Grid(1)).of_each(answers).tolist() == [2**52 + 1, 2**52 + 2]


class Told(SeededBits):
    """Words and bits that a test names."""

    def __init__(self, words: list[int], taken: int = 1) -> None:
        super().__init__(0)
        self._words, self._taken = words, taken

    def words(self, count: int) -> Any:
        assert count == len(self._words)
        return np.array(self._words, dtype=np.uint64)

    def take(self, count: int) -> int:
        return self._taken & (1 << count) - 1


def test_each_word_of_a_kernel_draws_the_same_for_one_and_for_many() -> None:
    kernel = Kernel(Answer(Fraction(1), Grid(0)), -1, ((5, 2, 1), (2, 4, 2), (1, 2, 5)), Fraction(3))
    for answer in (-1, 0, 1):
        row = kernel.prepared(answer)
        one = [row.one(Told([], word)) for word in range(8)]
        assert one == row.many(8, Told([word << 61 for word in range(8)])).tolist()
        assert [one.count(output) for output in (-1.0, 0.0, 1.0)] == list(kernel.rows[answer + 1])
