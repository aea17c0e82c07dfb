"""Several answers at once: each is brought to the grid by itself, and gets the noise that it would get alone."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from attacklab.random_bits import SeededBits
from mechanisms.answers import RepeatedAnswer, SeveralAnswers
from mechanisms.certified import CHUNK
from mechanisms.chunks import release_in_chunks
from mechanisms.gaussian.exact_fast import exact_discrete_gaussian_each, exact_discrete_gaussian_fast
from mechanisms.gaussian.exact_rounded import exact_rounded_gaussian_each, exact_rounded_gaussian_fast
from mechanisms.grid import Grid
from mechanisms.laplace.exact_fast import exact_discrete_laplace_each, exact_discrete_laplace_fast
from mechanisms.laplace.exact_rounded import exact_rounded_laplace_each, exact_rounded_laplace_fast
from tests.mechanisms.words import Endless, GivenWords, RecordedWords

Each = Callable[..., Any]
LAPLACE = {"epsilon": 1, "grid": Grid(-20)}
GAUSSIAN = {"sigma": 3, "grid": Grid(-20)}
PAIRS: dict[str, tuple[Each, Each, dict[str, Any]]] = {
    "discrete Laplace": (exact_discrete_laplace_each, exact_discrete_laplace_fast, LAPLACE),
    "rounded Laplace": (exact_rounded_laplace_each, exact_rounded_laplace_fast, LAPLACE),
    "fine rounded Laplace": (exact_rounded_laplace_each, exact_rounded_laplace_fast, {**LAPLACE, "grid": Grid(-45)}),
    "discrete Gaussian": (exact_discrete_gaussian_each, exact_discrete_gaussian_fast, GAUSSIAN),
    "tabled Gaussian": (exact_discrete_gaussian_each, exact_discrete_gaussian_fast, {"sigma": 3, "grid": Grid(0)}),
    "rounded Gaussian": (exact_rounded_gaussian_each, exact_rounded_gaussian_fast, GAUSSIAN),
}
"""A release of several answers, that of one answer many times, and their parameters."""

EVERY = pytest.mark.parametrize(("each", "fast", "public"), PAIRS.values(), ids=PAIRS)
EACH = pytest.mark.parametrize(("each", "public"), [(one, public) for one, _, public in PAIRS.values()], ids=PAIRS)


@EVERY
def test_each_answer_gets_what_it_would_get_alone_on_the_same_words(
    each: Each, fast: Each, public: dict[str, Any]
) -> None:
    """Equal functions of the words have equal laws."""
    answers = np.concatenate([np.linspace(-3, 3, 40), [math.inf, -math.inf, math.nan, 1e300, 5e-324, -0.0]])
    bits = RecordedWords(5, Endless())
    released = each(answers, bits, **public)
    for place, answer in enumerate(answers.tolist()):
        (words,) = bits.recorded
        alone = fast(answer, 1, GivenWords([int(words[place])], Endless()), **public)
        assert released[place].tobytes() == alone[0].tobytes()


@pytest.mark.parametrize("below", [-0.5, -0.3, -5e-324, -0.0])
@pytest.mark.parametrize(
    ("each", "public"),
    [
        (exact_discrete_laplace_each, {"epsilon": 1}),
        (exact_rounded_laplace_each, {"epsilon": 1}),
        (exact_discrete_gaussian_each, {"sigma": 1}),
        (exact_rounded_gaussian_each, {"sigma": 1}),
    ],
)
def test_no_output_is_minus_zero_which_would_tell_that_an_answer_is_below_0(
    each: Each, public: dict[str, Any], below: float
) -> None:
    released = each(np.full(1_000, below), SeededBits(1), grid=Grid(0), **public)
    zeros = released[released == 0]
    assert len(zeros) > 100
    assert not np.signbit(zeros).any()


@EACH
def test_the_shape_of_the_answers_is_kept(each: Each, public: dict[str, Any]) -> None:
    answers = np.arange(24.0)
    flat = each(answers, SeededBits(1), **public)
    for shape in ((24,), (4, 6), (2, 3, 4), (24, 1)):
        assert np.array_equal(each(answers.reshape(shape), SeededBits(1), **public), flat.reshape(shape))
    turned = np.asfortranarray(answers.reshape(4, 6))
    assert np.array_equal(each(turned, SeededBits(1), **public), flat.reshape(4, 6))
    for shape in ((0,), (0, 3), (3, 0)):
        assert each(np.empty(shape), SeededBits(1), **public).shape == shape
    assert each(np.array(2.0), SeededBits(1), **public).shape == ()
    assert each([], SeededBits(1), **public).shape == (0,)


@EACH
def test_equal_numbers_of_other_types_get_the_same_outputs(each: Each, public: dict[str, Any]) -> None:
    """Bit for bit: numbers are not turned into doubles together, where one would change how another is read."""
    values = [0.5, 3.0, -2.25, 7.0]
    expected = each(np.array(values), SeededBits(2), **public).tolist()
    for same in (
        values,
        tuple(values),
        np.array(values, dtype=np.float32),
        np.array(values, dtype=object),
        np.array([Fraction(one) for one in values], dtype=object),
        [Decimal("0.5"), 3, Fraction(-9, 4), np.int8(7)],
    ):
        assert each(same, SeededBits(2), **public).tolist() == expected


def test_integers_that_no_double_holds_are_rounded_as_they_are() -> None:
    """On a grid of 4, 2^54 + 1 lies a quarter of a step above 2^52 steps; the double nearest to it does not."""
    for answers in ([2**54 + 1, 2**54 + 3, Fraction(1, 3)], np.array([2**54 + 1, 2**54 + 3], dtype=np.int64)):
        several = SeveralAnswers(answers, Grid(2))
        assert [several.at(place) for place in (0, 1)] == [(2**52, Fraction(1, 4)), (2**52 + 1, Fraction(-1, 4))]
        wholes, shifts = several.part(0, 2)
        assert (wholes.tolist(), shifts.tolist()) == ([2.0**52, 2.0**52 + 1], [0.25, -0.25])


@EACH
@pytest.mark.parametrize(
    ("answers", "error"),
    [
        (np.array(["1"], dtype=object), TypeError),
        (np.array(["1"]), TypeError),
        (np.array([1j]), TypeError),
        ("12", TypeError),
        ([1.0, "2"], TypeError),
        ([[1.0], [2.0]], ValueError),
        (3.0, ValueError),
    ],
)
def test_what_is_not_several_numbers_is_refused(
    each: Each, public: dict[str, Any], answers: Any, error: type[Exception]
) -> None:
    with pytest.raises(error, match="answers must be"):
        each(answers, SeededBits(3), **public)


@EACH
def test_the_answers_are_not_written_to(each: Each, public: dict[str, Any]) -> None:
    answers = np.array([1.0, math.nan, math.inf])
    answers.flags.writeable = False
    each(answers, SeededBits(4), **public)


@EACH
def test_memory_beside_the_result_is_at_most_twice_that_of_naive_noise(each: Each, public: dict[str, Any]) -> None:
    """Naive noise, `answers + noise`, holds one array of noise beside its result."""
    answers = np.linspace(0, 1, 60 * CHUNK)
    each(answers[:CHUNK], SeededBits(5), **public)
    tracemalloc.start()
    released = each(answers, SeededBits(5), **public)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak - released.nbytes <= 2 * answers.nbytes


DOUBLES = st.floats(allow_nan=True, allow_infinity=True, width=64)


@settings(derandomize=True, deadline=None, max_examples=300)
@given(DOUBLES, st.sampled_from([-1022, -60, -3, 0, 7, 600, 970]))
@example(0.49999999999999994, 0)
@example(-0.49999999999999994, 0)
@example(2.0**52 + 0.5, 0)
@example(2.0**52 - 0.5, 0)
@example(-2.5, 0)
@example(-5e-324, 970)
@example(-5e-324, -1022)
@example(1.7976931348623157e308, -1022)
def test_an_array_is_brought_to_the_grid_as_each_number_is(answer: float, exponent: int) -> None:
    grid = Grid(exponent)
    (whole,), (shift,) = grid.split(np.array([answer]))
    assert int(whole) == grid.nearest(answer)
    assert whole or not np.signbit(whole)
    exact = grid.steps_to(answer) - grid.nearest(answer)
    assert abs(Fraction(float(shift)) - exact) <= Fraction(1, 2**1074)


@pytest.mark.few(3)
@pytest.mark.parametrize("count", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK + 1])
def test_every_answer_of_many_chunks_gets_noise_of_its_own_word(count: int) -> None:
    words = [16 * place for place in range(count)]
    released = release_in_chunks(
        SeveralAnswers(np.arange(count) / 4, Grid(-1)),
        GivenWords(words, Endless()),
        grid=Grid(-1),
        decide=lambda _, words: (words.astype(np.float64), np.arange(0)),
        resolve=lambda *_: 0,
    )
    assert released.tolist() == [(Grid(-1).nearest(place / 4) + 16 * place) / 2 for place in range(count)]


def test_an_undecided_draw_goes_on_with_its_own_answer_and_word() -> None:
    seen = []

    def resolve(shift: Fraction, word: int, bits: Any) -> int:
        seen.append((shift, word, bits.take(2)))
        return 100

    released = release_in_chunks(
        SeveralAnswers([1, Fraction(1, 3), 3], Grid(0)),
        GivenWords([5, 6, 7], Endless()),
        grid=Grid(0),
        decide=lambda _, words: (words.astype(np.float64), np.array([1])),
        resolve=resolve,
    )
    assert (released.tolist(), seen) == ([6.0, 100.0, 10.0], [(Fraction(1, 3), 6, 1)])


def test_one_answer_is_the_same_for_every_trial() -> None:
    answer = RepeatedAnswer(3, Fraction(1, 3), 7)
    assert (len(answer), answer.part(2, 5), answer.at(6)) == (7, (3.0, 1 / 3), (3, Fraction(1, 3)))
