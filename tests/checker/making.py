"""Terms of every constructor, their certificates, and edits of JSON."""

import copy
import json
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any

from checker.check import Conclusion, check
from checker.forms import Refused
from mechanisms.core.certificate import certificate
from mechanisms.core.chunks import ChunkTotal
from mechanisms.core.claims import ApproximateDP, GaussianDP, ProfileDP
from mechanisms.core.column import Column
from mechanisms.core.compose import Both, Mapped, Session, Size
from mechanisms.core.distances import Distances
from mechanisms.core.flip import RationalResponse, Response, ShuffledResponse
from mechanisms.core.grid import Grid
from mechanisms.core.kernel import Kernel
from mechanisms.core.laws import DiscreteGaussian, DiscreteLaplace, RoundedGaussian, RoundedLaplace
from mechanisms.core.local import Mean, Median
from mechanisms.core.maps import Quotient
from mechanisms.core.noise import Noise
from mechanisms.core.noisy import Noisy
from mechanisms.core.noisy_max import NoisyMax, PermuteAndFlip
from mechanisms.core.ranks import RankScores
from mechanisms.core.records import Answer, Count, CountFrom, Counts, Histogram, Total
from mechanisms.core.restated import Restated
from mechanisms.core.sample import FixedSample, PoissonSample
from mechanisms.core.scores import Utilities
from mechanisms.core.select import Select
from mechanisms.core.select_dyadic import SelectBase2, SelectFixedWork
from mechanisms.core.smooth import Smooth
from mechanisms.core.snapped import Snapped
from mechanisms.core.term import Mechanism
from mechanisms.core.tested import Tested
from mechanisms.core.threshold import AboveThreshold, KeysAbove

Json = Any
Place = tuple[str | int, ...]

SMALL = Fraction(3, 2)
"""A scale of tables with few cells."""

ANSWER = Answer(Fraction(5, 4), Grid(0))
UTILITIES = Utilities(Fraction(1, 3), Fraction(-4), Fraction(8))
MONOTONE = Utilities(Fraction(1, 3), Fraction(-4), Fraction(8), True)
LAPLACE = DiscreteLaplace(SMALL)
MEAN = Mean(Fraction(-1), Fraction(4), Grid(0))
COUNTED = Noisy(Count(), LAPLACE)
DISCRETE, ROUNDED = DiscreteGaussian(Fraction(9, 4)), RoundedGaussian(Fraction(9, 4))
REPLACED = Noisy(CountFrom(Fraction(1), "substitute"), LAPLACE)
QUANTILE = RankScores(Fraction(3, 4), Fraction(0), Fraction(8), Grid(0))
POINTS = tuple(ApproximateDP(epsilon, ROUNDED.delta(2, epsilon)) for epsilon in (Fraction(0), Fraction(2)))


def doubled(record: Any) -> Any:
    """Twice a record."""
    return 2 * record


def asked(answers: object, left: object) -> None:
    """Ask nothing."""


TERMS: dict[str, Mechanism] = {
    "discrete_laplace": Noisy(ANSWER, LAPLACE),
    "counts": Noisy(Counts(), DiscreteLaplace(Fraction(3, 5))),
    "rounded_laplace": Noisy(Count("add-remove or substitute"), RoundedLaplace(SMALL)),
    "discrete_gaussian": Noisy(ANSWER, DISCRETE),
    "rounded_gaussian": Noisy(ANSWER, ROUNDED),
    "sum": Noisy(Total(Fraction(-1), Fraction(3), Grid(-1)), LAPLACE),
    "sum_above": Noisy(Total(Fraction(1), Fraction(3, 2), Grid(-3), "substitute", True), LAPLACE),
    "column": Noisy(Column(Total(Fraction(-1), Fraction(3), Grid(-1), "substitute"), doubled), LAPLACE),
    "histogram": Noisy(Histogram(("a", "b"), "substitute"), LAPLACE),
    "mean": Mapped(Both((COUNTED, Noisy(Total(Fraction(0), Fraction(2), Grid(0)), LAPLACE))), Quotient(0.0, 2.0)),
    "size": Mapped(Both((Size(), REPLACED)), Quotient(0.0, 2.0)),
    "session": Session(asked, Fraction(1, 3), "add-remove"),
    "threshold": AboveThreshold(ANSWER, Fraction(3), 2, DiscreteLaplace(Fraction(2)), LAPLACE),
    "values": AboveThreshold(ANSWER, Fraction(3), 2, DiscreteLaplace(Fraction(2)), LAPLACE, LAPLACE),
    "keys": KeysAbove(LAPLACE, 7),
    "select": Select(UTILITIES, Fraction(1, 3)),
    "select_zcdp": Select(UTILITIES, Fraction(1, 3), concentrated=True),
    "permute": PermuteAndFlip(MONOTONE, Fraction(1, 3)),
    "noisy_max": NoisyMax(UTILITIES, Fraction(4, 3)),
    "base2": SelectBase2(UTILITIES, Fraction(3, 4)),
    "base2_monotone": SelectBase2(MONOTONE, Fraction(3, 4)),
    "fixed_work": SelectFixedWork(UTILITIES, Fraction(3, 4), 2, 16, 8),
    "fixed_work_monotone": SelectFixedWork(MONOTONE, Fraction(3, 4), 2, 16, 8),
    "kernel": Kernel(ANSWER, -1, ((5, 2, 1), (3, 3, 2), (2, 3, 3), (1, 3, 4))),
    "kernel_approximate": Kernel(ANSWER, -1, ((6, 2, 0), (4, 2, 2), (1, 4, 3)), Fraction(1, 2)),
    "distances": SelectBase2(Distances(Fraction(1, 3), Fraction(-1), Fraction(2), Grid(-1)), Fraction(3, 4)),
    "snapped": Snapped(Fraction(5, 4), Fraction(1, 3), Fraction(16)),
    "response": Response(Fraction(1, 3)),
    "rational_response": RationalResponse(Fraction(1, 3)),
    "shuffled": ShuffledResponse(Fraction(1, 8), 4, Fraction(1)),
    "poisson": PoissonSample(COUNTED, Fraction(1, 4)),
    "fixed_sample": FixedSample(REPLACED, 2, 5),
    "quantile": Select(QUANTILE, Fraction(1, 3)),
    "chunks": Noisy(ChunkTotal(asked, 5, b"key", Fraction(1, 4), Fraction(9, 4), Grid(0)), LAPLACE),
    "numbered": Noisy(ChunkTotal(asked, 5, b"key", Fraction(0), Fraction(2), Grid(0), named=False), LAPLACE),
    "smooth": Smooth(MEAN, Fraction(1, 3), 20),
    "median": Tested(Median(Fraction(-1), Fraction(4), Grid(0)), 2, DiscreteLaplace(Fraction(3)), LAPLACE, 9),
    "restated": Restated(Noisy(ANSWER, DISCRETE), ApproximateDP(Fraction(1), DISCRETE.delta(2, Fraction(1)))),
    "restated_rounded": Restated(Noisy(ANSWER, ROUNDED), GaussianDP(4 / ROUNDED.variance)),
    "restated_profile": Restated(Noisy(ANSWER, ROUNDED), ProfileDP(POINTS)),
    "tested": Tested(MEAN, 2, DiscreteLaplace(Fraction(3)), LAPLACE, 9),
}
"""A term of each constructor, all with small tables."""


@cache
def _written(name: str) -> str:
    written = certificate(name, TERMS[name])
    if name == "noisy_max":
        written["tables"] = [Noise(LAPLACE).table.evidence()]
    return json.dumps(written)


def written(name: str) -> Json:
    """Return the certificate of a term as JSON, fresh each time."""
    return json.loads(_written(name))


def refusal(edited: Json) -> str:
    """Return why a certificate is refused, or nothing."""
    try:
        check(edited)
    except Refused as error:
        return str(error) or "refused"
    return ""


def accepted(edited: Json) -> Conclusion:
    """Check a certificate that is to be accepted."""
    return check(edited)


def leaves(value: Json, place: Place = ()) -> Iterator[tuple[Place, Json]]:
    """Give each number, word and truth value in some JSON, with its place."""
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(item, (*place, key))
    else:
        yield place, value


def edited(value: Json, place: Place, new: Json) -> Json:
    """Return some JSON with another value at a place."""
    whole = copy.deepcopy(value)
    part = whole
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = new
    return whole


def at(value: Json, place: Place) -> Json:
    """Return what is at a place."""
    for key in place:
        value = value[key]
    return value


def rational(number: Fraction) -> Json:
    """Write a rational as certificates do."""
    return {"rational": str(number)}
