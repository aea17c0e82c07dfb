"""What constructors say of themselves: neighbours, stabilities, grids, defaults, and the limits of their parameters."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from attacklab.model.random_bits import SeededBits
from mechanisms.core.chunks import ChunkTotal
from mechanisms.core.compose import Session
from mechanisms.core.distances import Distances
from mechanisms.core.flip import RationalResponse, Response, ShuffledResponse
from mechanisms.core.grid import Grid
from mechanisms.core.kernel import Kernel
from mechanisms.core.laws import DiscreteGaussian, DiscreteLaplace, RoundedGaussian, RoundedLaplace
from mechanisms.core.local import Mean
from mechanisms.core.maps import PointAt, ratio
from mechanisms.core.noisy import noisy
from mechanisms.core.noisy_max import NoisyMax, PermuteAndFlip
from mechanisms.core.ranks import RankScores
from mechanisms.core.records import Answer, Count, CountFrom, Total
from mechanisms.core.sample import FixedSample, PoissonSample
from mechanisms.core.scores import Utilities, utilities
from mechanisms.core.select import Select
from mechanisms.core.select_dyadic import SelectBase2, SelectFixedWork
from mechanisms.core.smooth import smooth
from mechanisms.core.snapped import Snapped
from mechanisms.core.table import Table
from mechanisms.core.term import encoded
from mechanisms.core.threshold import AboveThreshold, KeysAbove

ONE, HALF = Fraction(1), Fraction(1, 2)
WHOLE = Grid(0)
UNIT = DiscreteLaplace(ONE)
ANSWER = Answer(ONE, Grid(-2))
RANGE = utilities(utility_range=(0, 3))
MEAN = Mean(Fraction(0), Fraction(8), WHOLE)
SUBSTITUTED = noisy(CountFrom(ONE, "substitute"), DiscreteLaplace, 1)
COUNTED = noisy(Count(), DiscreteLaplace, 1)


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
        lambda beyond: FixedSample(SUBSTITUTED, 2 + beyond, 2),
        lambda beyond: KeysAbove(UNIT, 2 - beyond),
        lambda beyond: NoisyMax(RANGE, Fraction(100 - beyond, 100 * 2**45)),
        lambda beyond: NoisyMax(utilities(utility_range=(0, 3), monotone=True), Fraction(100 - beyond, 100 * 2**46)),
        lambda beyond: smooth(Mean(0, 2**31, WHOLE), Fraction(1024 - beyond, 2**24), 0.1),
        lambda beyond: Grid(970 + beyond),
        lambda beyond: Grid(-1021 - beyond),
        lambda beyond: noisy(Answer(ONE, Grid(-46)), DiscreteLaplace, 1 - beyond * Fraction(1, 2**60)),
        lambda beyond: Table(UNIT) if not beyond else Table(DiscreteLaplace(Fraction(1 << 62))),
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


@pytest.mark.parametrize(
    ("term", "names"),
    [
        (Answer(0.5, WHOLE), ("sensitivity",)),
        (Total(0.5, 1, Grid(-1)), ("lower", "upper")),
        (CountFrom(0.5), ("bound",)),
        (Mean(0, 8.0, WHOLE), ("lower", "upper")),
        (ChunkTotal(max, 2, b"", 0, 2.0, WHOLE), ("lower", "upper")),
        (Utilities(0.5, 0, 1.5), ("sensitivity", "lower", "upper")),
        (RankScores(0.5, 0, 3.0, WHOLE), ("quantile", "first", "last", "sensitivity", "lower", "upper")),
        (Distances(0.5, 0, 3.0, WHOLE), ("sensitivity", "first", "last", "lower", "upper")),
        (DiscreteLaplace(0.5), ("scale",)),
        (RoundedLaplace(0.5), ("scale",)),
        (DiscreteGaussian(0.5), ("variance",)),
        (RoundedGaussian(0.5), ("variance",)),
        (Kernel(Answer(1, WHOLE), 0, ((1, 1), (1, 1)), 0.5), ("epsilon",)),
        (Snapped(0.5, 1.5, 1), ("sensitivity", "epsilon", "bound")),
        (Select(RANGE, 0.5), ("epsilon",)),
        (SelectBase2(RANGE, 0.5), ("ratio",)),
        (SelectFixedWork(RANGE, 0.5), ("ratio",)),
        (PermuteAndFlip(RANGE, 0.5), ("epsilon",)),
        (NoisyMax(RANGE, 0.5), ("epsilon",)),
        (Response(0.5), ("epsilon",)),
        (RationalResponse(0.5), ("flip",)),
        (ShuffledResponse(0.5, 2, 0.5), ("flip", "epsilon")),
        (PoissonSample(COUNTED, 0.5), ("rate",)),
        (AboveThreshold(ANSWER, 0.5, 1, UNIT, UNIT), ("threshold",)),
        (smooth(MEAN, 0.5, 0.1), ("epsilon",)),
        (Session(lambda *_: None, 0.5, "bit"), ("budget",)),
    ],
    ids=lambda item: type(item).__name__,
)
def test_parameters_are_kept_as_the_rationals_that_they_are(term: Any, names: tuple[str, ...]) -> None:
    for name in names:
        assert type(getattr(term, name)) is Fraction


@pytest.mark.parametrize("name", ["lower", "upper", "monotone"])
def test_what_is_derived_is_not_a_parameter(name: str) -> None:
    for kind in (RankScores, Distances):
        with pytest.raises(TypeError, match=name):
            kind(ONE, ONE, 3 * ONE, WHOLE, **{name: ONE})


@pytest.mark.parametrize(
    ("term", "data"),
    [
        (noisy(ANSWER, DiscreteLaplace, 1), 0),
        (Kernel(Answer(ONE, WHOLE), 0, ((1, 1), (1, 1))), 0),
        (Snapped(ONE, ONE, ONE), 0),
        (Select(RANGE, ONE), [0, 1]),
        (SelectBase2(RANGE, HALF), [0, 1]),
        (NoisyMax(RANGE, ONE), [0, 1]),
    ],
    ids=lambda item: type(item).__name__,
)
def test_no_trials_are_no_outputs_and_fewer_are_refused(term: Any, data: Any) -> None:
    assert len(term.many(data, 0, SeededBits(0))) == 0
    with pytest.raises(ValueError, match="trials must be at least 0, not -1"):
        term.many(data, -1, SeededBits(0))
