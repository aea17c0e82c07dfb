"""Selection is exact: words are held against weights from mpmath, and base 2 against its law in rational numbers."""

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import accumulate, product
from typing import Any

import gmpy2
import mpmath
import numpy as np
import pytest
from mpmath import mpf
from numpy.typing import NDArray

from attacklab import SeededBits, TapedBits, enumerate_law
from mechanisms.core import select
from mechanisms.core.scores import WIDEST_RANGE, Utilities
from mechanisms.core.select import COARSE, FINE, Select, lies_below, scaled
from mechanisms.exponential.base2.eta import BaseTwoEta
from mechanisms.exponential.exact import exact_exponential_base2
from mechanisms.randomness import RandomBits
from tests.mechanisms.enumeration import Law, law_of

RNG = np.random.default_rng(11)
SUBNORMAL = 5e-324
CASES: list[list[Any]] = [
    [0.0],
    [0.0, 0.0, 0.0],
    [1.0, 2.0, 0.5],
    [0.0, -42.9, -43.1, -42.97],  # about where a weight is 1
    [2 * math.log(2) * k for k in range(40)],  # octaves
    [math.nextafter(2 * math.log(2) * k, math.inf) for k in range(12)],
    [2 * math.log(2) * k / 2**17 for k in (0, 1, 2, 2047, 2048, 2049, 131072)],  # steps of the tables
    [0.0, -0.0, SUBNORMAL, -SUBNORMAL, 2.0**-1022, -1e-300],
    [1e16, 1e16 + 2, 1e16 - 6],
    [0.0, -1e5, -1e300, -(2.0**1022)],
    [-1, 2**63 + 1024, 2**63 + 1025],
    [2**64 + 1, 2.0**64, Fraction(2**65 + 1, 2)],
    [Fraction(1, 3), 0.25, 7, np.float64(1.5)],
    RNG.normal(scale=10, size=300).tolist(),
]

POINTS = Fraction(1, 2**300), 1 - Fraction(1, 2**300)


class Words(RandomBits):
    """Given words, whichever way they are asked for, and then zeros; a point is POINTS[bit] of an interval."""

    def __init__(self, words: Iterable[int], bit: int = 0) -> None:
        self.left, self._bit, self._taken = list(words), bit, 0

    def call(self, sampler: Any, *arguments: object) -> Any:
        self._taken = 0
        return sampler(*arguments, self)

    def take(self, count: int) -> int:
        if count == 64:
            return int(self.words(1)[0])
        assert count == 1
        self._taken += 1
        return self._bit if self._taken <= 300 else 1 - self._bit

    def words(self, count: int) -> NDArray[np.uint64]:
        drawn, self.left = self.left[:count], self.left[count:]
        return np.array(drawn + [0] * (count - len(drawn)), dtype=np.uint64)


def term(epsilon: Any = 1, sensitivity: Any = 1, *, monotone: bool = False, ends: Any = None) -> Select:
    lower, upper = ends or WIDEST_RANGE
    return Select(Utilities(Fraction(sensitivity), lower, upper, monotone), Fraction(epsilon))


def rate_of(mechanism: Select) -> Fraction:
    return mechanism.epsilon / mechanism.query.sensitivity / (1 if mechanism.query.monotone else 2)


def weights(utilities: list[Any], rate: Fraction = Fraction(1, 2)) -> list[mpf]:
    """R = 2^31·e^(−γ) of each outcome, to 400 bits."""
    exact = [Fraction(utility) for utility in utilities]
    with mpmath.workprec(400):
        gaps = [rate * (max(exact) - utility) for utility in exact]
        return [mpf(2) ** 31 * mpmath.exp(-mpf(gap.numerator) / mpf(gap.denominator)) for gap in gaps]


class Oracle:
    """Which outcome a word selects, by the words' layout in plain integers and weights by mpmath."""

    def __init__(self, utilities: list[Any], rate: Fraction = Fraction(1, 2), width: int = FINE) -> None:
        self.weights = weights(utilities, rate)
        prepared = Select(Utilities(), 2 * rate).prepared(utilities, width)
        self.sure = prepared.below[0].tolist()
        self.ends = [*accumulate(self.sure)]
        self.open = [*accumulate(((sure >> width) + 4 for sure in self.sure), initial=self.ends[-1])][1:]
        self.last = self.ends[-1] + (self.ends[-1] >> width) + 4 * len(utilities)
        self.alike = (2**64 - 1) // self.last
        assert self.open[-1] <= self.last

    def selected(self, word: int, bit: int) -> int | None:
        """The outcome, or None; `bit` says whether the point drawn lies at the start or the end of its interval."""
        interval = word // self.alike
        if interval < self.ends[-1]:
            return bisect_right(self.ends, interval)
        outcome = bisect_right(self.open, interval)
        if outcome == len(self.open):
            return None
        place = interval - (self.open[outcome - 1] if outcome else self.ends[-1]) + self.sure[outcome]
        with mpmath.workprec(400):
            return (
                outcome
                if place + mpf(POINTS[bit].numerator) / POINTS[bit].denominator < self.weights[outcome]
                else None
            )

    def corners(self) -> list[int]:
        """Words on both sides of each end, and of each outcome's first interval that is not wholly below its weight."""
        starts = [self.ends[-1], *self.open[:-1]]
        above = [
            start + int(mpmath.floor(weight)) - sure
            for start, weight, sure in zip(starts, self.weights, self.sure, strict=True)
        ]
        intervals = [0, *self.ends, *self.open, self.last, *above, *(interval + 1 for interval in above)]
        words = [interval * self.alike + step for interval in intervals for step in (-1, 0, 1)]
        return sorted({word for word in [*words, 2**64 - 1] if 0 <= word < 2**64})


@pytest.mark.parametrize(("bit", "width"), [(0, FINE), (1, FINE), (0, COARSE), (1, COARSE)])
@pytest.mark.parametrize("utilities", CASES)
def test_each_word_selects_what_the_weights_say_for_one_for_many_and_for_rows(
    utilities: list[Any], bit: int, width: int
) -> None:
    oracle, mechanism = Oracle(utilities, width=width), term()
    words = [word for word in oracle.corners() if oracle.selected(word, bit) is not None]
    expected = [oracle.selected(word, bit) for word in words]
    assert bit or len(utilities) > 4 or set(expected) == {*range(len(utilities))} or min(oracle.weights) < 2**-99
    prepared = mechanism.prepared(utilities, width)
    assert [prepared.one(Words([word], bit)) for word in words] == expected
    assert prepared.many(len(words), Words(words, bit)).tolist() == expected
    if len(utilities) < 100:
        assert mechanism.each([utilities] * len(words), Words(words, bit), width).tolist() == expected


@pytest.mark.parametrize("bit", [0, 1])
@pytest.mark.parametrize("utilities", CASES[:10])
def test_a_word_that_selects_nothing_is_followed_by_another(utilities: list[Any], bit: int) -> None:
    oracle, mechanism = Oracle(utilities), term()
    nothing = [word for word in oracle.corners() if oracle.selected(word, bit) is None]
    assert 2**64 - 1 in nothing
    instead, last = oracle.ends[-1] * oracle.alike - 1, oracle.selected(oracle.ends[-1] * oracle.alike - 1, 0)
    for word in nothing:
        source = Words([word, instead], bit)
        assert mechanism.release(utilities, source) == last
        assert not source.left
    source = Words([*nothing, *[instead] * len(nothing)], bit)
    assert mechanism.many(utilities, len(nothing), source).tolist() == [last] * len(nothing)
    assert not source.left


def as_fraction(mass: Any) -> Fraction:
    return Fraction(*mass.as_integer_ratio())


def ideal(utilities: list[Any], rate: Fraction) -> list[Fraction]:
    shares = weights(utilities, rate)
    with mpmath.workprec(400):
        return [Fraction(*gmpy2.mpfr(str(share / sum(shares)), 300).as_integer_ratio()) for share in shares]


@pytest.mark.parametrize(
    ("mechanism", "utilities"),
    [
        *((term(), case) for case in CASES[:4]),
        (term(), CASES[4][:6]),
        (term(Fraction(3, 4), monotone=True), [0.0, 1.0, 2.5]),
        (term(0.1), [0.0, 30.0]),
        (term(Fraction(1, 3), Fraction(7, 5)), [1, 2, Fraction(1, 7)]),
    ],
)
def test_the_law_found_on_all_bits_is_the_ideal_one_and_the_stated_one(mechanism: Select, utilities: list[Any]) -> None:
    law = enumerate_law(mechanism.release, utilities)
    unresolved = as_fraction(law.unresolved)
    assert unresolved <= Fraction(1, 2**60)
    stated = mechanism.law(utilities, 200)
    for outcome, probability in enumerate(ideal(utilities, rate_of(mechanism))):
        mass, slack = as_fraction(law.mass(outcome)), Fraction(1, 10**50)
        assert mass - slack <= probability <= mass + unresolved + slack
        below, above = (as_fraction(end) for end in stated[outcome])
        assert below - slack <= probability <= above + slack
        assert above - below < Fraction(1, 2**150)


@pytest.mark.parametrize(
    "gap", [Fraction(0), Fraction(1, 3), Fraction(13, 10), Fraction(60), Fraction(1, 10**6)], ids=str
)
def test_weights_are_enclosed_narrowly_and_points_are_compared_with_them_bit_by_bit(gap: Fraction) -> None:
    """Every point of ten bits, its undecided bits followed by zeros, then by ones."""
    with mpmath.workprec(800):
        weight = mpf(2) ** 31 * mpmath.exp(-mpf(gap.numerator) / gap.denominator)
        for precision in (64, 192, 400):
            lower, upper = scaled(gmpy2.mpq(gap), precision)
            assert lower <= mpf(2) ** precision * weight <= upper <= lower + 2
        whole = int(mpmath.floor(weight))
        for value in (point << 200 | tail for point in range(2**10) for tail in (0, 2**200 - 1)):
            below = bool(mpf(value) / mpf(2) ** 210 < weight - whole)
            assert lies_below(gmpy2.mpq(gap), whole, TapedBits(value, 210)) is below


SIZES = [0, 1, *(2**power + step for power in (8, 14, 15, 16, 20) for step in (-1, 0, 1))]


@pytest.mark.parametrize("trials", SIZES)
def test_every_draw_of_any_number_has_its_place(trials: int) -> None:
    """Words that select 0, 1, 2 by a pattern; and some that have to look at the weight, at all ends of chunks."""
    oracle, mechanism = Oracle([1.0, 2.0, 0.5]), term()
    sure = [(end - 1) * oracle.alike for end in oracle.ends]
    looked = [start * oracle.alike for start in (oracle.ends[-1], *oracle.open[:2])]
    pattern = np.random.default_rng(trials).integers(0, 3, size=trials)
    words = np.array(sure, dtype=np.uint64)[pattern]
    for place in {0, 1, 255, 256, *range(2**14 - 1, trials, 2**14), 2**16, 2**16 + 1, trials - 1} & {*range(trials)}:
        words[place] = looked[pattern[place]]
    drawn = mechanism.many([1.0, 2.0, 0.5], trials, Words(words.tolist()))
    assert drawn.dtype == np.int64
    assert np.array_equal(drawn, pattern)


@pytest.mark.parametrize("outcomes", [size for size in SIZES if size])
def test_every_outcome_of_any_number_has_its_words(outcomes: int) -> None:
    mechanism, utilities = term(), np.zeros(outcomes)
    interval = (2**64 - 1) // (
        (sure := int(select._powers()[1][0])) * outcomes + (sure * outcomes >> 17) + 4 * outcomes
    )
    chosen = sorted({0, outcomes // 3, *(size for size in SIZES if size < outcomes), outcomes - 1})
    firsts = [outcome * sure * interval for outcome in chosen]
    lasts = [(outcome + 1) * sure * interval - 1 for outcome in chosen]
    behind = [(sure * outcomes + outcome * ((sure >> 17) + 4)) * interval for outcome in chosen]
    for words in (firsts, lasts, behind):
        prepared = mechanism.prepared(utilities)
        assert prepared.many(len(words), Words(words)).tolist() == chosen
        assert [prepared.one(Words([word])) for word in words] == chosen
        if outcomes < 2**17:
            rows = np.broadcast_to(utilities, (len(words), outcomes))
            assert mechanism.each(rows, Words(words)).tolist() == chosen


@pytest.mark.parametrize("rows", [0, 1, 7, 255, 257, 32769, 65537])
def test_every_row_is_selected_from_by_itself(rows: int) -> None:
    utilities = RNG.normal(scale=10, size=(rows, 3))
    words = RNG.integers(0, 2**64, size=rows, dtype=np.uint64)
    found = term().each(utilities, Words(words.tolist()))
    assert found.shape == (rows,)
    assert found.dtype == np.int64
    for row in {*range(min(rows, 50)), *range(rows - 50, rows)} & {*range(rows)}:
        assert found[row] == term().release(utilities[row], Words([int(words[row])]))


@pytest.mark.parametrize("bit", [0, 1])
def test_each_row_looks_at_weights_of_its_own(bit: int) -> None:
    """Rows of different utilities, each with a word that lies behind all ends of its own; some select nothing first."""
    rows = RNG.normal(scale=2, size=(60, 4))
    oracles = [Oracle(row.tolist()) for row in rows]
    words = [oracle.corners()[-13 + place % 12] for place, oracle in enumerate(oracles)]
    firsts = [oracle.selected(word, bit) for oracle, word in zip(oracles, words, strict=True)]
    assert None in firsts
    assert all(word >= oracle.ends[-1] * oracle.alike - 1 for oracle, word in zip(oracles, words, strict=True))
    expected = [
        oracle.selected(0, bit) if first is None else first for oracle, first in zip(oracles, firsts, strict=True)
    ]
    assert term().each(rows, Words(words, bit)).tolist() == expected


@pytest.mark.parametrize("outcomes", [1023, 1024, 1025, 2**17 + 1])
def test_far_outcomes_weigh_nothing_and_blocks_of_others_are_added_up_to_what_all_come_to(outcomes: int) -> None:
    utilities = np.random.default_rng(outcomes).normal(0, 3, outcomes)
    words = [*range(0, 2**64, 2**57), 2**63 + 1]
    for width in (FINE, COARSE):
        assert term().prepared([0.0, -1e19, -1e30, -1e300], width).below[0, 1:].tolist() == [0, 0, 0]
        prepared = term().prepared(utilities, width)
        assert prepared.sums(0)[-1] == prepared.running[-1]
        sure = [word for word in words if word < int(prepared.running[-1]) * prepared.alike(int(prepared.running[-1]))]
        assert [prepared.one(Words([word], 0)) for word in sure] == prepared.many(len(sure), Words(sure, 0)).tolist()


HALF = BaseTwoEta(1, 1)


def ideal_law(shortfalls: Sequence[Fraction], decay: Fraction) -> Law:
    """The definition, averaged over every combination of roundings up and down."""
    law = dict.fromkeys(range(len(shortfalls)), Fraction(0))
    choices = [{(math.floor(s), 1 - s % 1), (math.ceil(s), s % 1)} for s in shortfalls]
    for rounding in product(*choices):
        share = math.prod((probability for _, probability in rounding), start=Fraction(1))
        weights = [decay**level for level, _ in rounding]
        for index, weight in enumerate(weights):
            law[index] += share * weight / sum(weights)
    return law


def mechanism_law(utilities: Sequence[float | Fraction], **public: object) -> Law:
    return law_of(exact_exponential_base2(**public).release, utilities)


@pytest.mark.slow
@pytest.mark.parametrize("eta", [HALF, BaseTwoEta(3, 2), BaseTwoEta(2, 3), BaseTwoEta(5, 3)], ids=str)
@pytest.mark.parametrize("utilities", [(2,), (0, 0, 0), (3, 1, 2), (1, 3, 1, 0)], ids=str)
def test_integer_utilities_give_the_ideal_law_exactly(eta: BaseTwoEta, utilities: tuple[int, ...]) -> None:
    law = mechanism_law(utilities, eta=eta, utility_range=(0, 3))
    assert law == ideal_law([Fraction(3 - u) for u in utilities], eta.decay)


@pytest.mark.slow
def test_many_draws_are_single_ones_by_the_same_bits() -> None:
    """With utilities that are rounded at random, and with integers; weights are kept from one draw to the next."""
    for scores in ([0.5, 1.25, 3.0, 0.5], [3, 1, 2], [Fraction(1, 3)] * 40):
        term = exact_exponential_base2(eta=BaseTwoEta(155, 8), utility_range=(0, 3))
        singles, many = SeededBits(5), SeededBits(5)
        assert [term.release(scores, singles) for _ in range(300)] == term.many(scores, 300, many).tolist()
    assert term.many([1, 2], 0, TapedBits(0, 0)).shape == (0,)
