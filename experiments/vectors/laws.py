"""The vectors of type `law`: a mechanism, its parameters and its input, with the probability of each outcome."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from attacklab.vectors import Case, Group, VectorFile
from experiments.vectors import distributions, sources
from experiments.vectors.distributions import Distribution
from experiments.vectors.notes import DESCRIPTIONS, NOTES
from experiments.vectors.samplers import fractions

FARTHEST = 16
"""Noise is listed up to this distance from the answer."""

TINY = Fraction(1, 1 << 53)
"""Below this, a probability is lost beside 1 in binary64."""

BOUNDS = (1, 2, 3, 4, 5, 7, 10, 17, 33, 100, 255, 257)
PROBABILITIES = (
    *fractions("0 1 1/2 1/3 2/3 1/10 9/10 3/1048576"),
    *(Fraction(1, 1 << 64), Fraction((1 << 64) - 1, 1 << 64), Fraction(1, 3**40), Fraction(10**18 - 1, 10**18)),
)
GAMMAS = (
    *fractions("0 1/1000 1/10 1/3 1/2 1 4/3 2 10 37 700 1000"),
    *(Fraction(1, 10**18), Fraction(10**9 + 1, 10**9)),
)
RESPONSES = fractions("1/1000 1/10 1/2 1 2 10 40")
RATIOS = fractions("1/2 1/3 2/3 1/10 9/10 99/100 1/1048576 3/8 5/7 255/256")
SCALES = (*fractions("1/2 1 2 3 9 10 20 1/10 7/3 1000"), *map(Fraction, (1 << 33, 10**12, 1 << 40, 1 << 48, 1 << 62)))
BIASED = (3, 9, 20)
"""Scales at which a published sampler was biased."""
VARIANCES = fractions("1/4 1/2 1 2 3 9 10/3 25 81 400")


def laws() -> VectorFile:
    """The file."""
    groups = [Group(mechanism, source, list(cases())) for mechanism, source, cases in GROUPS]
    return VectorFile("law", DESCRIPTIONS["law"], NOTES, groups)


def _case(
    comment: str, parameters: dict[str, Any], input_: Any, of: Distribution, *flags: str, tails: Sequence[Any] = ()
) -> Case:
    probabilities, rest = of
    lightest = min(bounds.upper for bounds in probabilities.values() if bounds.upper)
    flags = (*flags, *(["TinyProbability"] if lightest < TINY else []))
    law = [[outcome, bounds] for outcome, bounds in probabilities.items()]
    fields = {"parameters": parameters, "input": input_, "law": law, "rest": rest, "tails": list(tails)}
    return Case(comment, flags or ["Basic"], fields)


def _uniform() -> Iterator[Case]:
    for bound in BOUNDS:
        flags = _fine(Fraction(1, bound))
        yield _case(f"below {bound}", {"bound": bound}, None, distributions.uniform(bound), *flags)


def _coins() -> Iterator[Case]:
    for p in PROBABILITIES:
        yield _case(f"probability {p}", {"probability": p}, None, distributions.coin(p), *_fine(p))


def _fine(probability: Fraction) -> Sequence[str]:
    denominator = probability.denominator
    return ["FineRatio"] if denominator & (denominator - 1) else []


def _coins_of_exp() -> Iterator[Case]:
    for gamma in GAMMAS:
        yield _case(f"γ = {gamma}", {"gamma": gamma}, None, distributions.coin_of_exp(gamma))


def _responses() -> Iterator[Case]:
    for epsilon in RESPONSES:
        for truth in (False, True):
            comment = f"ε = {epsilon}, the truth is {str(truth).lower()}"
            yield _case(comment, {"epsilon": epsilon}, truth, distributions.randomized_response(truth, epsilon))


def _geometric() -> Iterator[Case]:
    return (_noisy("ratio", ratio, distributions.two_sided_geometric(ratio, FARTHEST)) for ratio in RATIOS)


def _discrete_laplace() -> Iterator[Case]:
    """With tails near 0, and at one and three scales."""
    for scale in SCALES:
        places = sorted({1, math.ceil(scale), math.ceil(3 * scale)})
        tails = [[place, distributions.discrete_laplace_tail(place, scale)] for place in places]
        yield _noisy("scale", scale, distributions.discrete_laplace(scale, FARTHEST), tails)


def _discrete_gaussian() -> Iterator[Case]:
    return (_noisy("variance", variance, distributions.discrete_gaussian(variance, FARTHEST)) for variance in VARIANCES)


def _noisy(name: str, value: Fraction, of: Distribution, tails: Sequence[Any] = ()) -> Case:
    flags = [flag for flag, holds in (("BiasedIntegers", value in BIASED), ("LongTail", value > 1 << 32)) if holds]
    return _case(f"{name} {value}", {name: value}, None, of, *flags, tails=tails)


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

RATES = fractions("1/2 1/10")
DECAYS = fractions("1/2 5/8")


def _selected(name: str, values: Sequence[Fraction], of: Callable[..., Distribution]) -> Callable[[], Iterator[Case]]:
    return lambda: (
        _case(f"{comment}, {name} {value}", {name: value}, list(utilities), of(utilities, value), *flags)
        for value in values
        for comment, utilities, flags in UTILITIES
    )


GROUPS: tuple[tuple[str, str, Callable[[], Iterator[Case]]], ...] = (
    ("uniform_below", sources.COINS, _uniform),
    ("bernoulli", sources.COINS, _coins),
    ("bernoulli_exp", sources.COINS, _coins_of_exp),
    ("randomized_response", sources.RESPONSE, _responses),
    ("two_sided_geometric", sources.GEOMETRIC, _geometric),
    ("discrete_laplace", sources.DISCRETE_LAPLACE, _discrete_laplace),
    ("discrete_gaussian", sources.DISCRETE_GAUSSIAN, _discrete_gaussian),
    ("exponential", sources.EXPONENTIAL, _selected("rate", RATES, distributions.exponential)),
    ("exponential_base2", sources.BASE2, _selected("decay", DECAYS, distributions.exponential_base2)),
    ("permute_and_flip", sources.PERMUTE_AND_FLIP, _selected("rate", RATES, distributions.permute_and_flip)),
)
"""Mechanisms, their sources and their cases."""
