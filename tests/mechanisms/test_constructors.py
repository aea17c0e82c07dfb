"""What constructors say of themselves, and what they, makers and samplers refuse, by the word that the error names."""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from attacklab.model.random_bits import SeededBits, TapedBits
from mechanisms.coins import bernoulli, bernoulli_exp, uniform_below
from mechanisms.core import tested
from mechanisms.core.chunks import ChunkTotal
from mechanisms.core.claims import ApproximateDP, GaussianDP, ProfileDP, RenyiDP, ZeroConcentratedDP, together
from mechanisms.core.column import Column
from mechanisms.core.compose import Both, Session, Size
from mechanisms.core.distances import Distances
from mechanisms.core.flip import RationalResponse, ShuffledResponse
from mechanisms.core.gaussian_claims import least_sigma, normal_delta
from mechanisms.core.grid import Grid
from mechanisms.core.kernel import Kernel
from mechanisms.core.laws import DiscreteGaussian, DiscreteLaplace, RoundedGaussian, RoundedLaplace
from mechanisms.core.local import Mean
from mechanisms.core.maps import PointAt, ratio
from mechanisms.core.noise import Noise
from mechanisms.core.noisy import Noisy, noisy
from mechanisms.core.noisy_max import NoisyMax
from mechanisms.core.ranks import RankScores
from mechanisms.core.records import Answer, Count, CountFrom, Histogram, Total
from mechanisms.core.restated import Restated
from mechanisms.core.sample import FixedSample, PoissonSample, spent_on_sample
from mechanisms.core.scores import Utilities, utilities
from mechanisms.core.select import Select
from mechanisms.core.select_dyadic import SelectBase2, SelectFixedWork
from mechanisms.core.smooth import Smooth, smooth
from mechanisms.core.snapped import Snapped
from mechanisms.core.table import Table
from mechanisms.core.term import encoded
from mechanisms.core.threshold import AboveThreshold, KeysAbove, least_threshold
from mechanisms.exponential.base2.eta import BaseTwoEta
from mechanisms.gaussian.claims import discrete_gaussian_delta, gaussian_delta, gaussian_sigma
from mechanisms.laplace.exact import exact_dyadic_geometric
from tests.checker.making import TERMS as CONSTRUCTED

Call = Callable[[], object]

ONE, HALF, THIRD = Fraction(1), Fraction(1, 2), Fraction(1, 3)
WHOLE, HALVES, QUARTERS = Grid(0), Grid(-1), Grid(-2)
STEP, QUARTER_STEP = Answer(ONE, WHOLE), Answer(ONE, QUARTERS)
SURE, WIDE = DiscreteLaplace(Fraction(1, 100)), DiscreteLaplace(2**46 + THIRD)
GAUSSIAN = DiscreteGaussian(ONE)
LAPLACE = Noisy(STEP, DiscreteLaplace(Fraction(2)))
COUNTED, NORMAL = noisy(Count(), DiscreteLaplace, ONE), Noisy(Count(), GAUSSIAN)
REPLACED = noisy(CountFrom(ONE, "substitute"), DiscreteLaplace, ONE)
DISCRETE = Noisy(STEP, GAUSSIAN)
TWO_COUNTS = Noisy(Histogram(("a", "b"), "substitute"), RoundedGaussian(ONE))
SELECT = Select(Utilities(), ONE)
RANGE = utilities(utility_range=(0, 3))
ROWS = ((5, 2, 1), (2, 4, 2), (1, 2, 5))
NO_ROWS: list[Any] = [np.zeros(3), np.zeros((2, 0)), np.zeros((2, 2, 2)), [[1.0], [1.0, 2.0]], [[]]]


def bits() -> SeededBits:
    return SeededBits(0)


def stream(positives: Any = 1, threshold: Any = 1, *laws: Any) -> AboveThreshold:
    return AboveThreshold(STEP, threshold, positives, *(laws or (SURE, SURE)))


def chunks(number: Any = 2, key: bytes = b"k", upper: Any = 2) -> ChunkTotal:
    return ChunkTotal(np.max, number, key, 0, upper, WHOLE)


def mean(width: int = 100, grid: Grid = HALVES) -> Mean:
    return Mean(0, width, grid)


def table(rows: Any, lower: int = 0, epsilon: Any = None) -> Kernel:
    return Kernel(STEP, lower, rows, epsilon)


QUERIES: list[tuple[str, Call]] = [
    ("upper", lambda: Total(1, 0, WHOLE)),
    ("lower", lambda: Total(0.1, 1, QUARTERS)),
    ("upper", lambda: Total(0, 0.1, QUARTERS)),
    ("bounds", lambda: Total(THIRD, 1 + THIRD, WHOLE, above_lower=True)),
    ("upper", lambda: Total(0.1, 1, QUARTERS, above_lower=True)),
    ("cell", lambda: Histogram(())),
    ("cells", lambda: Histogram(("a", "a"))),
    ("upper", lambda: chunks(upper=0)),
    *(("bound", partial(QUARTERS.steps_of, "bound", wrong)) for wrong in (0.1, 2.0**52)),
    ("dimension", lambda: WHOLE.nearest_each(np.zeros((2, 2)))),
    *(("upper", partial(Mean, lower, upper, WHOLE)) for lower, upper in ((0, 0), (1, 0), (0, math.inf))),
    *(("lower", partial(Mean, lower, 3, WHOLE)) for lower in (0.5, math.nan)),
    *(("candidates", partial(RankScores, HALF, *ends, WHOLE)) for ends in ((0, 0), (1, 0), (0, 2**25))),
    ("first", lambda: RankScores(HALF, 0.5, 3, WHOLE)),
    *(("quantile", partial(RankScores, q, 0, 3, WHOLE)) for q in (-0.1, 1.5, math.nan, Fraction(1, 2**20 + 1))),
    *(("points", partial(Distances, 1, *ends, Grid(-1))) for ends in ((0, 0), (4, 0), (0, 1 << 19))),
    ("first", lambda: Distances(1, 0.25, 4, HALVES)),
    *(("utility_range", partial(utilities, utility_range=ends)) for ends in ((1, 0), (0, math.inf))),
    ("outcome", lambda: Utilities().of(np.array([], dtype=np.int64))),
    *(("utilities", partial(Utilities().of_each, rows)) for rows in NO_ROWS),
]
"""What queries refuse, by ValueError, and the word that tells which argument it was."""

NOISE: list[tuple[str, Call]] = [
    ("steps", lambda: GAUSSIAN.delta(-1, ONE)),
    ("epsilon", lambda: RoundedGaussian(ONE).delta(1, -ONE)),
    ("shift", lambda: normal_delta(ONE, variance=ONE, shift=-ONE)),
    ("epsilon", lambda: least_sigma(Fraction(0), HALF)),
    ("delta", lambda: least_sigma(ONE, ONE)),
    ("delta", lambda: least_sigma(ONE, Fraction(1, 2**1101))),
    ("draws", lambda: Noise(SURE).many(-1, bits())),
    *(("table", partial(Table, RoundedLaplace(Fraction(scale)))) for scale in (2**58, 2**60, 2**90)),
    ("epsilon", lambda: noisy(QUARTER_STEP, DiscreteLaplace, 0)),
    ("above 0", lambda: noisy(Count("substitute"), DiscreteLaplace, 1)),
    *(("epsilon", partial(gaussian_delta, wrong, sigma=1)) for wrong in (-1, math.inf)),
    *(("sigma", partial(gaussian_delta, 1, sigma=wrong)) for wrong in (0, math.nan)),
    ("sensitivity", lambda: discrete_gaussian_delta(1, sigma=1, sensitivity=0)),
    ("delta", lambda: gaussian_sigma(1.0, 1.0)),
]
"""What noise and its claims refuse, by ValueError."""

TERMS: list[tuple[str, Call]] = [
    ("epsilon/sensitivity", lambda: Select(Utilities(), Fraction(1, 2**1000))),
    *(("ratio", partial(SelectBase2, RANGE, ratio)) for ratio in (0, 1, Fraction(2, 3), 1.5, -HALF)),
    *(("ratio", partial(SelectFixedWork, RANGE, ratio)) for ratio in (0, 1, THIRD, -HALF, Fraction(3, 2))),
    ("range", lambda: SelectBase2(utilities(utility_range=(-(2**40), 0)), HALF)),
    ("outcome", lambda: SelectFixedWork(RANGE, HALF).release([], TapedBits(0, 0))),
    ("threshold", lambda: stream(1, HALF)),
    ("pure DP", lambda: stream(1, 1, GAUSSIAN, GAUSSIAN)),
    ("DP", lambda: stream(1, 1, SURE, GAUSSIAN)),
    *(("too fine", partial(stream, 1, 1, *laws)) for laws in ((WIDE, SURE), (SURE, WIDE), (SURE, SURE, WIDE))),
    ("composes", lambda: KeysAbove(GAUSSIAN, 4)),
    ("too fine", lambda: KeysAbove(WIDE, 2)),
    *(("delta", partial(least_threshold, SURE, wrong)) for wrong in (0.5, 0)),
    ("delta", lambda: least_threshold(DiscreteLaplace(Fraction(2**46)), Fraction(1, 10**40_000))),
    *(("rows", partial(table, rows)) for rows in ((), ((),), ((4, 4), (8,)))),
    *(("power of two", partial(table, rows)) for rows in (((1, 2), (2, 1)), ((1 << 62, 1 << 62),), ((1, 0),))),
    ("same sum", lambda: table(((1, 3), (4, 4)))),
    ("words", lambda: table(((5, -1), (2, 2)))),
    ("entries", lambda: table(((4,) * 2,) * ((1 << 19) + 1))),
    ("epsilon", lambda: table(((4, 4, 0), (2, 4, 2), (1, 2, 5)))),
    *(("bound", partial(Snapped, 1, 1, wrong)) for wrong in (-1.0, math.inf, 2.0**53 + 2, THIRD)),
    ("grid exponent", lambda: Snapped(Fraction(1, 2**1030), 1, 1.0)),
    ("answers", lambda: ShuffledResponse(0.1, 2, 1).release([1], bits())),
    ("substitute", lambda: PoissonSample(REPLACED, 0.5)),
    ("pure DP", lambda: PoissonSample(NORMAL, 0.5)),
    ("substitute", lambda: FixedSample(COUNTED, 1, 2)),
    ("records", lambda: FixedSample(REPLACED, 1, 2).release([1], bits())),
    ("share", lambda: spent_on_sample(ONE, Fraction(2))),
    ("smoothing", lambda: Smooth(Mean(0, 2, WHOLE), ONE, 1)),
    *(("bound", partial(tested.propose_test_release, mean(), b, 1, 0.1)) for b in (0, -1, 101, 100, 0.49, math.nan)),
    ("composes", lambda: tested.Tested(mean(), 5, DiscreteGaussian(Fraction(10)), SURE, 20)),
    ("too fine", lambda: tested.propose_test_release(Mean(0, 2**31, WHOLE), 2**30, Fraction(1, 2**17), 0.1)),
    *(("epsilon", partial(tested.propose_test_release, mean(2), 1, e, 0.1)) for e in (0, -1, math.inf, math.nan)),
    *(("delta", partial(tested.propose_test_release, mean(2), 1, 1, delta)) for delta in (0, 0.5, math.nan)),
    *(("parts", partial(Both, parts)) for parts in ((), (COUNTED, Size()), (COUNTED, RationalResponse(0.25)))),
    *(("session", partial(Session, lambda *_: COUNTED, ONE, about)) for about in ("answers", "utilities")),
    ("ZeroConcentratedDP", lambda: Session(lambda *_: NORMAL, ONE, "add-remove").release([1], bits())),
    *(("keep", partial(Restated, LAPLACE, claim)) for claim in (GaussianDP(Fraction(100)), ApproximateDP(THIRD))),
    *(("keep", partial(Restated, DISCRETE, claim)) for claim in (ApproximateDP(Fraction(1000)), GaussianDP(9 * ONE))),
    ("keep", lambda: Restated(TWO_COUNTS, GaussianDP(Fraction(9)))),
    ("ratio", lambda: exact_dyadic_geometric(ratio=THIRD, lower=0, upper=3)),
    ("power of two", lambda: exact_dyadic_geometric(ratio=Fraction(3, 8), lower=0, upper=30)),
]
"""What terms refuse, by ValueError."""

OTHERS: list[tuple[str, Call]] = [
    *(("alpha", partial(RenyiDP, alpha, HALF)) for alpha in (ONE, math.inf)),
    ("composes", lambda: together(RenyiDP(2, HALF), RenyiDP(3, HALF))),
    *(("x must be", partial(BaseTwoEta, *of)) for of in ((0, 1, 1), (-1, 3, 1), (8, 3, 1))),
    *(("epsilon", partial(BaseTwoEta.from_epsilon, e, y=8)) for e in (0, -1, math.nan, math.inf, -math.inf, 0.0)),
    ("bound", lambda: uniform_below(0, bits())),
    ("probability", lambda: bernoulli(Fraction(3, 2), bits())),
    ("gamma", lambda: bernoulli_exp(-HALF, bits())),
    ("count", lambda: bits().take(-1)),
]
"""What claims and coins refuse, by ValueError."""

TYPES: list[tuple[str, Call]] = [
    ("Total or CountFrom", lambda: Column(Count(), abs)),
    ("Total or CountFrom", lambda: Column(Column(CountFrom(), abs), abs)),
    *(("value", partial(chunks().of, [("Ada", wrong)])) for wrong in ("1", None, 1j, np.float16(1))),
    *(("person", partial(chunks().of, [(wrong, 1.0)])) for wrong in (1, b"Ada", None)),
    *(("draws", partial(Noise(SURE).many, wrong, bits())) for wrong in (2.0, True, "3")),
    ("answers", lambda: COUNTED.each([1], bits())),
    ("list or an array", lambda: LAPLACE.each("12", bits())),
    ("trials", lambda: SELECT.many([1.0], 1.5, bits())),
    ("answers", lambda: stream().release(["1"], bits())),
    *(("keys", partial(KeysAbove(SURE, 2).release, [wrong], bits())) for wrong in (b"a", 1)),
    *(("words", partial(table, rows)) for rows in (((4.0, 4.0),), ((True, 1),))),
    ("answer", lambda: table(ROWS).release("0", TapedBits(0, 3))),
    ("answers", lambda: ShuffledResponse(0.1, 1, 1).release(["1"], bits())),
    *(("Count", partial(made, Count(), 1, 5)) for made in (Smooth, partial(tested.propose_test_release, delta=0.1))),
    ("points", lambda: ProfileDP(())),
    ("points", lambda: ProfileDP((ZeroConcentratedDP(HALF),))),
    ("form", lambda: encoded(object())),
    ("epsilon", lambda: BaseTwoEta.from_epsilon("1", y=8)),
]
"""What is refused by TypeError."""


@pytest.mark.parametrize(("named", "call"), [*QUERIES, *NOISE, *TERMS, *OTHERS])
def test_a_value_out_of_range_is_refused_and_named(named: str, call: Call) -> None:
    with pytest.raises(ValueError, match=re.escape(named)):
        call()


@pytest.mark.parametrize(("named", "call"), TYPES)
def test_a_value_of_another_type_is_refused_and_named(named: str, call: Call) -> None:
    with pytest.raises(TypeError, match=re.escape(named)):
        call()


def test_what_is_left_out_is_the_least_that_is_promised() -> None:
    assert encoded(Utilities()) == encoded(utilities()) == {
        "is": "Utilities",
        "sensitivity": {"rational": "1"},
        "lower": {"rational": str(-(2**1022))},
        "upper": {"rational": str(2**1022)},
        "monotone": False,
    }  # fmt: skip
    fixed = SelectFixedWork(RANGE, HALF)
    assert (fixed.steps, fixed.precision, fixed.spare) == (1, 64, 64)
    assert CountFrom().bound == 1
    assert not Select(RANGE, ONE).concentrated
    assert not Total(0, 1, WHOLE).above_lower
    assert ratio(COUNTED, COUNTED, 0, 1).function == ratio(COUNTED, COUNTED, 0, 1, 0).function


@pytest.mark.parametrize(
    "make",
    [
        lambda beyond: RankScores(HALF, ONE, Fraction((1 << 24) + beyond), WHOLE),
        lambda beyond: RankScores(Fraction(1, (1 << 20) + beyond), ONE, Fraction(3), WHOLE),
        lambda beyond: RankScores(Fraction((1 << 20) - 1 + 2 * beyond, 1 << 20), ONE, Fraction(3), WHOLE),
        lambda beyond: RankScores(HALF, ONE, Fraction(2 - beyond), WHOLE),
        lambda beyond: Distances(ONE, ONE, Fraction((1 << 20) + beyond), WHOLE),
        lambda beyond: Distances(ONE, ONE, Fraction(2 - beyond), WHOLE),
        lambda beyond: SelectBase2(utilities(utility_range=(0, (1 << 30) + beyond)), HALF),
        lambda beyond: SelectFixedWork(RANGE, HALF, spare=2 - beyond),
        lambda beyond: Kernel(Answer(ONE, WHOLE), (1 << 53) - 2 + beyond, ((1, 1, 2), (1, 1, 2))),
        lambda beyond: Kernel(Answer(ONE, WHOLE), -(1 << 53) - beyond, ((1, 1), (1, 1))),
        lambda beyond: Kernel(Answer(ONE, WHOLE), 0, ((1, 1 - beyond),)),
        lambda beyond: Snapped(ONE, ONE, Fraction(2**53 + 2 * beyond)),
        lambda beyond: utilities(utility_range=(-(2**1022) - beyond, 2**1022)),
        lambda beyond: utilities(utility_range=(0, 2**1022 + beyond)),
        lambda beyond: Select(utilities(Fraction(1, 2**901)), ONE + beyond * Fraction(1, 2**1000)),
        lambda beyond: Select(utilities(Fraction(2**899)), ONE - beyond * Fraction(1, 2**1000)),
        lambda beyond: RationalResponse(HALF + beyond * Fraction(1, 2**99)),
        lambda beyond: PoissonSample(COUNTED, ONE + beyond * Fraction(1, 2**99)),
        lambda beyond: FixedSample(REPLACED, 2 + beyond, 2),
        lambda beyond: KeysAbove(DiscreteLaplace(ONE), 2 - beyond),
        lambda beyond: NoisyMax(RANGE, Fraction(100 - beyond, 100 * 2**45)),
        lambda beyond: NoisyMax(utilities(utility_range=(0, 3), monotone=True), Fraction(100 - beyond, 100 * 2**46)),
        lambda beyond: smooth(Mean(0, 2**31, WHOLE), Fraction(1024 - beyond, 2**24), 0.1),
        lambda beyond: Grid(970 + beyond),
        lambda beyond: Grid(-1021 - beyond),
        lambda beyond: noisy(Answer(ONE, Grid(-46)), DiscreteLaplace, 1 - beyond * Fraction(1, 2**60)),
        lambda beyond: Table(DiscreteLaplace(ONE)) if not beyond else Table(DiscreteLaplace(Fraction(1 << 62))),
        lambda beyond: ChunkTotal(max, 2, b"k" * (64 + beyond), Fraction(0), ONE, WHOLE),
        lambda beyond: WHOLE.steps_of("point", 2**53 + beyond),
    ],
)  # fmt: skip
def test_the_last_parameter_in_range_is_accepted_and_the_next_one_refused(make: Callable[[int], Any]) -> None:
    make(0)
    with pytest.raises(ValueError, match=r".+"):
        make(1)


def test_points_are_counted_from_the_first_one() -> None:
    assert PointAt(-3, Grid(-1))(5) == 1.0


WRONG: dict[type, tuple[Any, ...]] = {
    Fraction: (math.nan, math.inf, "1", True, np.float16(1)),
    int: (1.5, True, "1", None),
    bool: (0, 1, None, "False", np.bool_(False)),
}
"""What no parameter of a type is."""

ABOVE_0 = ("epsilon", "scale", "variance", "sensitivity", "budget", "ratio", "rate", "flip", "chunks", "people")


def parts_of(term: Any) -> Iterator[Any]:
    """Give a term and all that it is made of."""
    yield term
    for field in fields(term):
        value = getattr(term, field.name)
        for part in value if isinstance(value, tuple) else (value,):
            if is_dataclass(part):
                yield from parts_of(part)


PARTS = {type(part): part for term in CONSTRUCTED.values() for part in parts_of(term)}


@pytest.mark.parametrize("part", PARTS.values(), ids=lambda part: type(part).__name__)
def test_a_constructor_refuses_what_is_of_another_type_and_keeps_numbers_as_rationals(part: Any) -> None:
    given = {field.name: getattr(part, field.name) for field in fields(part) if field.init}
    above_0 = () if isinstance(part, ApproximateDP) else ABOVE_0
    for field in fields(part):
        if not field.init:  # it is derived
            with pytest.raises(TypeError, match=field.name):
                type(part)(**{**given, field.name: ONE})
            continue
        value = getattr(part, field.name)
        relation = ("edge",) if field.name == "relation" else ()
        for wrong in (*WRONG.get(type(value), ()), *relation, *((0, -1) if field.name in above_0 else ())):
            with pytest.raises((TypeError, ValueError)):
                replace(part, **{field.name: wrong})
        if type(value) is Fraction and Fraction(float(value)) == value:
            assert type(getattr(replace(part, **{field.name: float(value)}), field.name)) is Fraction
