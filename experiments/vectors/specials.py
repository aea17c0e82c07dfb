"""The vectors of type `special`: inputs at which implementations fail, or take a value for another."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from attacklab.random_bits import RandomBits
from attacklab.vectors import Case, Group, VectorFile
from experiments.vectors import sources
from experiments.vectors.notes import NOTES
from mechanisms.core.grid import LIMIT, Grid
from mechanisms.exponential.exact import exact_exponential
from mechanisms.laplace.exact import exact_discrete_laplace, exact_dyadic_geometric
from mechanisms.noisy_max.exact import exact_exponential_noisy_max
from mechanisms.summation.exact import exact_bounded_mean, exact_bounded_sum

DESCRIPTION = (
    "Two neighbouring inputs, one of which has a special value. An implementation must answer both or fail on both: "
    "what fails on one of them tells it apart. Where the claim's domain ends before such inputs, the severity is "
    "`robustness`, else `claim`. `counts_as` is an ordinary input on which this project's exact implementation has the "
    "same law; others may take the value for another one, as long as it is one of the domain."
)

LARGEST = sys.float_info.max
LEAST = math.ulp(0.0)
HUGE = 1 << 63
STEP = Grid(-2)
END = float(STEP.step * LIMIT)
"""The end of the grid."""

Run = Callable[[Any, RandomBits], Any]


@dataclass(frozen=True)
class Special:
    """Two inputs.

    Attributes:
        comment: which value is special.
        flag: the note that it belongs to.
        first: the input with it.
        second: its neighbour.
        counts_as: an ordinary input like the first, and one like the second.
        severity: claim or robustness.
    """

    comment: str
    flag: str
    first: Any
    second: Any
    counts_as: tuple[Any, Any]
    severity: str = "claim"


@dataclass(frozen=True)
class Mechanism:
    """A mechanism with its public parameters.

    Attributes:
        name: as the file calls it.
        source: of the mechanism.
        relation: between its inputs.
        parameters: by name.
        run: our exact implementation with these parameters.
        pairs: the inputs.
    """

    name: str
    source: str
    relation: str
    parameters: dict[str, Any]
    run: Run
    pairs: Sequence[Special]


def specials() -> VectorFile:
    """The file."""
    return VectorFile("special", DESCRIPTION, NOTES, [_group(one) for one in MECHANISMS])


def _group(mechanism: Mechanism) -> Group:
    fixed = {"parameters": mechanism.parameters, "relation": mechanism.relation}
    cases = [Case(one.comment, [one.flag], {**fixed, **_fields(one)}) for one in mechanism.pairs]
    return Group(mechanism.name, mechanism.source, cases)


def _fields(pair: Special) -> dict[str, Any]:
    first, second = pair.counts_as
    ordinary = {"first": first, "second": second}
    return {"first": pair.first, "second": pair.second, "severity": pair.severity, "counts_as": ordinary}


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
        other = 1.0 if abs(value) < 1 else counts_as
        yield Special(
            f"{comment} first",
            flag,
            [value, 0.0, 1.0],
            [other, 0.0, 1.0],
            ([counts_as, 0.0, 1.0], [other, 0.0, 1.0]),
            severity,
        )
        yield Special(f"{comment} last", flag, [2.0, value], [2.0, other], ([2.0, counts_as], [2.0, other]), severity)
    for comment, flag, values in (
        ("all NaN", "NotANumber", [math.nan] * 3),
        ("all minus infinity", "Infinite", [-math.inf] * 3),
    ):
        yield Special(comment, flag, values, [low] * 3, ([low] * 3, [low] * 3), "robustness")


def _records(relation: str) -> Iterator[Special]:
    """Records in [0, 8], which count as the ends beyond them and as 0 if they are NaN."""
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
        severity = "robustness" if not math.isfinite(value) else "claim"
        rest = [3.0, 5.0]
        second = rest if relation == "add-remove" else [*rest, 8.0]
        yield Special(f"a record of {comment}", flag, [*rest, value], second, ([*rest, counts_as], second), severity)
    if relation == "add-remove":
        for record in (0.0, 8.0, 3.0, -0.0, 0.5):
            yield Special("no records, against one", "EmptyData", [], [record], ([], [abs(record)]))
        yield Special("no records, against one that is NaN", "EmptyData", [], [math.nan], ([], [0.0]), "robustness")


ONE = Fraction(1)
RECORDS: dict[str, Any] = {"epsilon": ONE, "lower": 0, "upper": 8, "grid": STEP, "relation": "add-remove"}
NOISE = {"epsilon": ONE, "sensitivity": ONE, "step": STEP.step}
SELECTION = {"epsilon": ONE, "sensitivity": ONE, "range": [Fraction(-8), Fraction(128)]}
OF_RECORDS = {"epsilon": ONE, "bounds": [Fraction(0), Fraction(8)], "step": STEP.step}
DECAY = Fraction(5, 8)

MECHANISMS = (
    Mechanism(
        "discrete_laplace_on_a_grid",
        sources.DISCRETE_LAPLACE,
        "answers",
        NOISE,
        exact_discrete_laplace(epsilon=ONE, grid=STEP).release,
        list(_answers()),
    ),
    Mechanism(
        "two_sided_geometric_on_a_range",
        sources.GEOMETRIC,
        "answers",
        {"decay": DECAY, "lower": -4, "upper": 4},
        exact_dyadic_geometric(ratio=DECAY, lower=-4, upper=4).release,
        list(_integers()),
    ),
    Mechanism(
        "exponential",
        sources.EXPONENTIAL,
        "answers",
        SELECTION,
        exact_exponential(epsilon=ONE, utility_range=(-8, 128)).release,
        list(_utilities()),
    ),
    Mechanism(
        "permute_and_flip",
        sources.PERMUTE_AND_FLIP,
        "answers",
        SELECTION,
        exact_exponential_noisy_max(epsilon=ONE, utility_range=(-8, 128)).release,
        list(_utilities()),
    ),
    Mechanism(
        "bounded_sum",
        sources.SUM,
        "add-remove",
        OF_RECORDS,
        exact_bounded_sum(**RECORDS).release,
        list(_records("add-remove")),
    ),
    Mechanism(
        "bounded_mean",
        sources.SUM,
        "add-remove",
        OF_RECORDS,
        exact_bounded_mean(**RECORDS).release,
        list(_records("add-remove")),
    ),
)
