"""The vectors of type `special`: inputs at which implementations fail, or take a value for another."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple

from attacklab.model.random_bits import RandomBits
from attacklab.vectors import Case, Group, VectorFile
from experiments.vectors import sources
from experiments.vectors.notes import DESCRIPTIONS, NOTES
from mechanisms.core.grid import LIMIT, Grid
from mechanisms.exponential.exact import exact_exponential
from mechanisms.laplace.exact import exact_discrete_laplace, exact_dyadic_geometric
from mechanisms.noisy_max.exact import exact_exponential_noisy_max
from mechanisms.summation.exact import exact_bounded_mean, exact_bounded_sum

LARGEST = sys.float_info.max
LEAST = math.ulp(0.0)
HUGE = 1 << 63
STEP = Grid(-2)
END = float(STEP.step * LIMIT)
"""The end of the grid."""

Run = Callable[[Any, RandomBits], Any]


class Special(NamedTuple):
    """Which value is special, the note that it belongs to, the input with it, its neighbour, and ordinary ones."""

    comment: str
    flag: str
    first: Any
    second: Any
    counts_as: tuple[Any, Any]
    severity: str = "claim"


class Mechanism(NamedTuple):
    """A mechanism with its source, the relation of its inputs, its parameters, our implementation, and its inputs."""

    name: str
    source: str
    relation: str
    parameters: dict[str, Any]
    run: Run
    pairs: Iterable[Special]


def specials() -> VectorFile:
    """The file."""
    return VectorFile("special", DESCRIPTIONS["special"], NOTES, [_group(*mechanism) for mechanism in MECHANISMS])


def _group(
    name: str, source: str, relation: str, parameters: dict[str, Any], _: Run, pairs: Iterable[Special]
) -> Group:
    cases = []
    for comment, flag, first, second, ordinary, severity in pairs:
        fields = {"parameters": parameters, "relation": relation, "first": first, "second": second}
        counts_as = dict(zip(("first", "second"), ordinary, strict=True))
        cases.append(Case(comment, [flag], {**fields, "severity": severity, "counts_as": counts_as}))
    return Group(name, source, cases)


def _answers() -> Iterator[Special]:
    """Answers of sensitivity 1 on a grid of quarters that ends at ±2^51."""
    yield Special("NaN", "NotANumber", math.nan, 0.0, (0.0, 0.0), "robustness")
    for sign, name in ((1.0, ""), (-1.0, "minus ")):
        end, whole = sign * END, sign * 2.0**53
        yield Special(f"{name}infinity", "Infinite", sign * math.inf, sign * LARGEST, (end, end), "robustness")
        yield Special(f"{name}the end of the grid", "Infinite", end, end - sign, (end, end - sign))
        yield Special(f"{name}2^53", "IntegerExtreme", whole, whole - sign, (end, end))
        yield Special(f"{name}the least subnormal", "SubnormalInput", sign * LEAST, 0.0, (0.0, 0.0))
        yield Special(f"{name}the least normal number", "SubnormalInput", sign * sys.float_info.min, 0.0, (0.0, 0.0))
    yield Special("minus zero", "NegativeZero", -0.0, 0.0, (0.0, 0.0))
    yield Special("minus zero, one apart", "NegativeZero", -0.0, 1.0, (0.0, 1.0))
    yield Special("half a step below 0, a tie", "NegativeZero", -0.125, 0.0, (0.0, 0.0))


def _integers() -> Iterator[Special]:
    """Integer answers of sensitivity 1, clamped to [−4, 4]."""
    for answer in (HUGE - 1, HUGE, 2 * HUGE - 1, 2 * HUGE, 10**30, 1 << 31, (1 << 31) - 1, 1 << 15):
        yield Special(f"{answer} against the integer below", "IntegerExtreme", answer, answer - 1, (4, 4))
        yield Special(f"{-answer} against the integer above", "IntegerExtreme", -answer, 1 - answer, (-4, -4))


def _utilities() -> Iterator[Special]:
    """Utilities in [−8, 128], which count as the ends beyond them."""
    low, high = -8.0, 128.0
    for comment, flag, value, counts_as in (
        ("NaN", "NotANumber", math.nan, low),
        ("infinity", "Infinite", math.inf, high),
        ("minus infinity", "Infinite", -math.inf, low),
        ("the largest double", "Infinite", LARGEST, high),
        ("the least double", "Infinite", -LARGEST, low),
        ("minus zero", "NegativeZero", -0.0, 0.0),
        ("the least subnormal", "SubnormalInput", LEAST, LEAST),
    ):
        severity = "claim" if abs(value) < 1 else "robustness"
        nearby = 1.0 if abs(value) < 1 else counts_as
        for place, before, after in (("first", [], [0.0, 1.0]), ("last", [2.0], [])):
            special, neighbour, ordinary = ([*before, number, *after] for number in (value, nearby, counts_as))
            yield Special(f"{comment} {place}", flag, special, neighbour, (ordinary, neighbour), severity)
    lows = [low] * 3
    yield Special("all NaN", "NotANumber", [math.nan] * 3, lows, (lows, lows), "robustness")
    yield Special("all minus infinity", "Infinite", [-math.inf] * 3, lows, (lows, lows), "robustness")


def _records() -> Iterator[Special]:
    """Records in [0, 8], added or removed, which count as the ends beyond them and as 0 if they are NaN."""
    rest = [3.0, 5.0]
    for comment, flag, value, counts_as in (
        ("NaN", "NotANumber", math.nan, 0.0),
        ("infinity", "Infinite", math.inf, 8.0),
        ("minus infinity", "Infinite", -math.inf, 0.0),
        ("the largest double", "Infinite", LARGEST, 8.0),
        ("the least double", "Infinite", -LARGEST, 0.0),
        ("minus zero", "NegativeZero", -0.0, 0.0),
        ("the least subnormal", "SubnormalInput", LEAST, 0.0),
        ("above the bound", "OutOfBounds", 8.000001, 8.0),
        ("below the bound", "OutOfBounds", -1e-300, 0.0),
        ("far above the bound", "OutOfBounds", 1e9, 8.0),
    ):
        severity = "claim" if math.isfinite(value) else "robustness"
        yield Special(f"a record of {comment}", flag, [*rest, value], rest, ([*rest, counts_as], rest), severity)
    for record in (0.0, 8.0, 3.0, -0.0, 0.5):
        yield Special("no records, against one", "EmptyData", [], [record], ([], [abs(record)]))
    yield Special("no records, against one that is NaN", "EmptyData", [], [math.nan], ([], [0.0]), "robustness")


EPSILON = {"epsilon": Fraction(1)}
NOISE = {**EPSILON, "sensitivity": Fraction(1), "step": STEP.step}
SELECTION = {**EPSILON, "sensitivity": Fraction(1), "range": [Fraction(-8), Fraction(128)]}
OF_RECORDS = {**EPSILON, "bounds": [Fraction(0), Fraction(8)], "step": STEP.step}
ON_A_RANGE: dict[str, Any] = {"lower": -4, "upper": 4}
DECAY = Fraction(5, 8)

_LAPLACE = exact_discrete_laplace(epsilon=Fraction(1), grid=STEP).release
_GEOMETRIC = exact_dyadic_geometric(ratio=DECAY, **ON_A_RANGE).release
_EXPONENTIAL = exact_exponential(epsilon=Fraction(1), utility_range=(-8, 128)).release
_NOISY_MAX = exact_exponential_noisy_max(epsilon=Fraction(1), utility_range=(-8, 128)).release
_SUM, _MEAN = (
    term(epsilon=Fraction(1), lower=0, upper=8, grid=STEP, relation="add-remove").release
    for term in (exact_bounded_sum, exact_bounded_mean)
)
MECHANISMS = tuple(
    Mechanism(name, source, relation, parameters, run, list(pairs))
    for name, source, relation, parameters, run, pairs in (
        ("discrete_laplace_on_a_grid", sources.DISCRETE_LAPLACE, "answers", NOISE, _LAPLACE, _answers()),
        (
            "two_sided_geometric_on_a_range",
            sources.GEOMETRIC,
            "answers",
            {"decay": DECAY, **ON_A_RANGE},
            _GEOMETRIC,
            _integers(),
        ),
        ("exponential", sources.EXPONENTIAL, "answers", SELECTION, _EXPONENTIAL, _utilities()),
        ("permute_and_flip", sources.PERMUTE_AND_FLIP, "answers", SELECTION, _NOISY_MAX, _utilities()),
        ("bounded_sum", sources.SUM, "add-remove", OF_RECORDS, _SUM, _records()),
        ("bounded_mean", sources.SUM, "add-remove", OF_RECORDS, _MEAN, _records()),
    )
)
