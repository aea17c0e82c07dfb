"""Composition: several releases on the same data, public maps of them, and sessions within a budget."""

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from attacklab.model.random_bits import SeededBits
from mechanisms.core.claims import NOTHING, ApproximateDP
from mechanisms.core.compose import Both, Mapped, Session, Size
from mechanisms.core.flip import RationalResponse
from mechanisms.core.grid import Grid
from mechanisms.core.laws import DiscreteGaussian, DiscreteLaplace
from mechanisms.core.maps import Quotient, Share, WithOrigins, ratio
from mechanisms.core.noisy import Noisy, noisy
from mechanisms.core.ranks import RankScores
from mechanisms.core.records import Count, Total
from mechanisms.core.select import Select
from mechanisms.core.term import OneByOne, encoded
from tests.mechanisms.enumeration import law_of

TOTAL = noisy(Total(0, 10, Grid(0)), DiscreteLaplace, Fraction(1, 2))
COUNT = noisy(Count(), DiscreteLaplace, Fraction(1, 3))
SMALL = RationalResponse(Fraction(1, 4))


def test_losses_of_parts_add_up_and_their_outputs_come_in_order() -> None:
    both = Both((TOTAL, COUNT))
    assert (both.claim, both.relation) == (ApproximateDP(Fraction(5, 6)), "add-remove")
    released = both.many([1, 2, 3], 2000, SeededBits(1))
    assert [round(float(np.median(part))) for part in released] == [6, 3]
    total, count = both.release([1, 2, 3], SeededBits(2))
    assert (type(total), type(count)) == (float, float)


def test_the_public_maps_are_their_formulas_on_numbers_and_arrays() -> None:
    quotient = Quotient(-1.0, 10.0, 2.0)
    totals, counts = np.array([6.0, -60.0, 600.0, 5.0]), np.array([3.0, 2.0, 2.0, -4.0])
    expected = [4.0, -1.0, 10.0, 7.0]
    assert quotient((totals, counts)).tolist() == expected
    assert [float(quotient(pair)) for pair in zip(totals, counts, strict=True)] == expected
    assert WithOrigins(1.5)((np.array([0.25, 1.0]), 4)).tolist() == [6.25, 7.0]
    assert Share(4, -1.0)(np.array([6.0, -2.0])).tolist() == [0.5, -1.5]
    assert ratio(TOTAL, COUNT, -1, 10, 2).function == quotient
    assert type(Mapped(TOTAL, Share(2, 1.0)).release([1], SeededBits(0))) is float


def test_equal_parts_have_noise_of_their_own() -> None:
    drawn = Both((TOTAL,) * 8).release([1], SeededBits(0))
    assert len(set(drawn)) > 2


def test_the_number_of_records_is_free_where_it_is_public_and_nowhere_else() -> None:
    assert (Size().claim, Size().relation) == (NOTHING, "substitute")
    assert Size().release([1, 2, 3], SeededBits(0)) == 3
    for relation in ("add-remove", "add-remove or substitute"):
        with pytest.raises(ValueError, match="same neighbours"):
            Both((noisy(Total(0, 1, Grid(0), relation), DiscreteLaplace, 1), Size()))


@dataclass(frozen=True)
class Asking:
    """Asks at a price of ln 3 until nothing is left, or one more time."""

    more: int = 0

    def __call__(self, answers: Any, left: Fraction) -> RationalResponse | None:
        return SMALL if left >= SMALL.claim.epsilon or len(answers) < self.more else None


def test_a_session_spends_its_budget_and_no_more() -> None:
    cost = SMALL.claim.epsilon
    session = Session(Asking(), 2 * cost, "bit")
    assert (session.claim, session.relation) == (ApproximateDP(2 * cost), "bit")
    law = law_of(session.prepared(True).one)
    assert {len(transcript) for transcript in law} == {2}
    other = law_of(session.prepared(False).one)
    assert max(law[transcript] / other[transcript] for transcript in law) == 9  # e^(2 ln 3)
    assert len(Session(Asking(), 2 * cost - Fraction(1, 10**30), "bit").release(True, SeededBits(0))) == 1
    assert Counter(map(len, session.many(True, 10, SeededBits(0)))) == {2: 10}


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (Asking(more=3), "is left; ask a cheaper one"),
        (lambda *_: COUNT, "a question about neighbours by 'add-remove'"),
        (
            lambda *_: Mapped(Noisy(Count(), DiscreteGaussian(Fraction(9))), Share(2, 0.0)),
            "a question about neighbours",
        ),
    ],
)
def test_a_question_beyond_the_budget_or_about_others_is_refused(ask: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Session(ask, 2 * SMALL.claim.epsilon, "bit").release(True, SeededBits(0))


@dataclass(frozen=True)
class Quiet(RationalResponse):
    """Claims nothing, and tells the bit."""

    @property
    def claim(self) -> ApproximateDP:
        return ApproximateDP(0)

    def prepared(self, data: Any) -> Any:
        return OneByOne(lambda _: data)


@dataclass
class Changing:
    """Keeps a state."""

    seen: int = 0

    def __call__(self, released: Any) -> Any:
        self.seen += 1
        return released


@dataclass(frozen=True)
class Around:
    """Hides a function."""

    function: Any
    sha256: str = ""

    def __call__(self, released: Any) -> Any:
        return self.function(released)


@pytest.mark.parametrize(
    "question",
    [Quiet(Fraction(1, 2)), Both((Quiet(Fraction(1, 2)),)), Mapped(SMALL, abs), Mapped(SMALL, Around(abs)), object()],
)
def test_a_question_that_is_not_of_the_core_alone_is_not_asked(question: Any) -> None:
    with pytest.raises(TypeError, match=r"made of mechanisms\.core alone"):
        Session(lambda *_: question, Fraction(9), "bit").release(True, SeededBits(0))


def test_a_question_runs_what_its_fields_say() -> None:
    """A selection whose rate was found for another ε is made anew."""
    question = Select(RankScores(Fraction(1, 2), Fraction(0), Fraction(8), Grid(0)), Fraction(1000))
    assert question.rate == 500
    object.__setattr__(question, "epsilon", Fraction(1, 10**6))
    session = Session(lambda answers, _: None if len(answers) == 40 else question, Fraction(1), "add-remove")
    assert len(set(session.release([4.0] * 100, SeededBits(0)))) > 1


@pytest.mark.parametrize(
    "function",
    [Changing(), Around(abs), Around(lambda x: x), lambda x: x, partial(round, ndigits=2), Asking().__call__, "x".join],
)
def test_a_function_that_nobody_can_read_has_no_form(function: Any) -> None:
    with pytest.raises(TypeError, match=r"needs a name|may keep a state|may be called is or sha256"):
        encoded(Mapped(COUNT, function))
