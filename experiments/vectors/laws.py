"""The vectors of type `law`: a mechanism, its parameters and its input, with the probability of each outcome."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

from attacklab.vectors import Case, Group, VectorFile
from experiments.vectors import distributions, sources
from experiments.vectors.distributions import Distribution
from experiments.vectors.notes import NOTES

DESCRIPTION = (
    "The probability of each outcome of a mechanism on one input, exact or between two rational numbers; `rest` is at "
    "least the probability of all outcomes that are not listed, and `tails` has the probability that noise is at least "
    "so large. An implementation that can be asked for probabilities "
    "must give these; of one that can only be sampled, test the frequencies at a stated significance."
)

FARTHEST = 16
"""Noise is listed up to this distance from the answer."""

TINY = Fraction(1, 1 << 53)
"""Below this, a probability is lost beside 1 in binary64."""

BOUNDS = (1, 2, 3, 4, 5, 7, 10, 17, 33, 100, 255, 257)
PROBABILITIES = (
    *(Fraction(*pair) for pair in ((0, 1), (1, 1), (1, 2), (1, 3), (2, 3), (1, 10), (9, 10), (3, 1 << 20))),
    *(Fraction(1, 1 << 64), Fraction((1 << 64) - 1, 1 << 64), Fraction(1, 3**40), Fraction(10**18 - 1, 10**18)),
)
GAMMAS = (
    *(Fraction(*pair) for pair in ((0, 1), (1, 1000), (1, 10), (1, 3), (1, 2), (1, 1), (4, 3), (2, 1), (10, 1))),
    *(Fraction(37), Fraction(700), Fraction(1000), Fraction(1, 10**18), Fraction(10**9 + 1, 10**9)),
)
RESPONSES = tuple(Fraction(*pair) for pair in ((1, 1000), (1, 10), (1, 2), (1, 1), (2, 1), (10, 1), (40, 1)))
RATIOS = tuple(
    Fraction(*pair)
    for pair in ((1, 2), (1, 3), (2, 3), (1, 10), (9, 10), (99, 100), (1, 1 << 20), (3, 8), (5, 7), (255, 256))
)
SCALES = (
    *(
        Fraction(*pair)
        for pair in ((1, 2), (1, 1), (2, 1), (3, 1), (9, 1), (10, 1), (20, 1), (1, 10), (7, 3), (1000, 1))
    ),
    *map(Fraction, (1 << 33, 10**12, 1 << 40, 1 << 48, 1 << 62)),
)
BIASED = (3, 9, 20)
"""Scales at which a published sampler was biased."""
VARIANCES = tuple(
    Fraction(*pair) for pair in ((1, 4), (1, 2), (1, 1), (2, 1), (3, 1), (9, 1), (10, 3), (25, 1), (81, 1), (400, 1))
)


def laws() -> VectorFile:
    """The file."""
    return VectorFile("law", DESCRIPTION, NOTES, [*_coins(), *_noise(), *_selections()])


def _group(mechanism: str, source: str, cases: Iterable[Case]) -> Group:
    return Group(mechanism, source, list(cases))


def _case(
    comment: str, parameters: dict[str, Any], input_: Any, of: Distribution, *flags: str, tails: Sequence[Any] = ()
) -> Case:
    found, rest = of
    lightest = min(bounds.upper for bounds in found.values() if bounds.upper)
    flags = (*flags, *(["TinyProbability"] if lightest < TINY else []))
    law = [[outcome, bounds] for outcome, bounds in found.items()]
    fields = {"parameters": parameters, "input": input_, "law": law, "rest": rest, "tails": list(tails)}
    return Case(comment, flags or ["Basic"], fields)


def _coins() -> list[Group]:
    return [
        _group("uniform_below", sources.COINS, (_uniform(bound) for bound in BOUNDS)),
        _group(
            "bernoulli",
            sources.COINS,
            (
                _case(f"probability {p}", {"probability": p}, None, distributions.coin(p), *_fine(p))
                for p in PROBABILITIES
            ),
        ),
        _group(
            "bernoulli_exp",
            sources.COINS,
            (_case(f"γ = {gamma}", {"gamma": gamma}, None, distributions.coin_of_exp(gamma)) for gamma in GAMMAS),
        ),
        _group(
            "randomized_response",
            sources.RESPONSE,
            (
                _case(
                    f"ε = {epsilon}, the truth is {str(truth).lower()}",
                    {"epsilon": epsilon},
                    truth,
                    distributions.randomized_response(truth, epsilon),
                )
                for epsilon in RESPONSES
                for truth in (False, True)
            ),
        ),
    ]


def _uniform(bound: int) -> Case:
    return _case(f"below {bound}", {"bound": bound}, None, distributions.uniform(bound), *_fine(Fraction(1, bound)))


def _fine(probability: Fraction) -> Sequence[str]:
    denominator = probability.denominator
    return ["FineRatio"] if denominator & (denominator - 1) else []


def _noise() -> list[Group]:
    return [
        _group(
            "two_sided_geometric",
            sources.GEOMETRIC,
            (_noisy({"ratio": ratio}, distributions.two_sided_geometric(ratio, FARTHEST)) for ratio in RATIOS),
        ),
        _group(
            "discrete_laplace",
            sources.DISCRETE_LAPLACE,
            (
                _noisy(
                    {"scale": scale},
                    distributions.discrete_laplace(scale, FARTHEST),
                    [[place, distributions.discrete_laplace_tail(place, scale)] for place in _places(scale)],
                )
                for scale in SCALES
            ),
        ),
        _group(
            "discrete_gaussian",
            sources.DISCRETE_GAUSSIAN,
            (_noisy({"variance": one}, distributions.discrete_gaussian(one, FARTHEST)) for one in VARIANCES),
        ),
    ]


def _places(scale: Fraction) -> list[int]:
    """Where the tail of noise is told: near 0, and at one and three scales."""
    return sorted({1, math.ceil(scale), math.ceil(3 * scale)})


def _noisy(parameters: dict[str, Fraction], of: Distribution, tails: Sequence[Any] = ()) -> Case:
    ((name, value),) = parameters.items()
    flags = [flag for flag, holds in (("BiasedIntegers", value in BIASED), ("LongTail", value > 1 << 32)) if holds]
    return _case(f"{name} {value}", parameters, None, of, *flags, tails=tails)


UTILITIES: tuple[tuple[str, tuple[int, ...], Sequence[str]], ...] = (
    ("one outcome", (0,), ()),
    ("two equal outcomes", (5, 5), ("EqualWeights",)),
    ("one step apart", (0, 1), ()),
    ("a ladder", (0, 1, 2, 3, 4, 5), ()),
    ("a ladder downward", (5, 4, 3, 2, 1, 0), ()),
    ("the best among equal ones", (0, 0, 1, 0, 0), ("EqualWeights",)),
    ("the worst among equal ones", (3, 3, 0, 3, 3), ("EqualWeights",)),
    ("a power of two of equal ones", (1,) * 8, ("EqualWeights",)),
    ("seven equal ones", (1,) * 7, ("EqualWeights",)),
    ("large utilities", (10**6, 10**6 + 1), ("LargeExponent",)),
    ("large negative utilities", (-(10**6), -(10**6) - 1, -(10**6)), ("LargeExponent",)),
    ("utilities beyond 2^53", (2**60, 2**60 + 1, 2**60), ("LargeExponent",)),
    ("a weight that binary64 cannot hold", (0, 1600), ()),
    ("a weight that is lost in a sum", (100, 0, 0, 0), ("EqualWeights",)),
    ("a subnormal weight", (1450, 0), ()),
)
"""Utilities of the selections; larger is better."""

RATES = (Fraction(1, 2), Fraction(1, 10))
DECAYS = (Fraction(1, 2), Fraction(5, 8))


def _selections() -> list[Group]:
    return [
        _group("exponential", sources.EXPONENTIAL, _selected("rate", RATES, distributions.exponential)),
        _group("exponential_base2", sources.BASE2, _selected("decay", DECAYS, distributions.exponential_base2)),
        _group("permute_and_flip", sources.PERMUTE_AND_FLIP, _selected("rate", RATES, distributions.permute_and_flip)),
    ]


def _selected(name: str, values: Sequence[Fraction], of: Callable[..., Distribution]) -> Iterable[Case]:
    for value in values:
        for comment, utilities, flags in UTILITIES:
            yield _case(f"{comment}, {name} {value}", {name: value}, list(utilities), of(utilities, value), *flags)
