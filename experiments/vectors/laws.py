"""The vectors of type `law`: a mechanism, its parameters and its input, with the probability of each outcome."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from experiments.vectors import distributions as of
from experiments.vectors.distributions import Distribution
from experiments.vectors.notes import PARAMETERS, UTILITIES, case, file_of, fractions

TINY = Fraction(1, 1 << 53)
"""A probability below this is lost when it is added to 1 in binary64."""

LARGE, BIASED = 10**6, (3, 9, 20)
"""A utility u whose e^u overflows in every format, and scales at which a published sampler was biased."""


def laws() -> dict[str, Any]:
    """Return the contents of the file."""
    values = {name: fractions(PARAMETERS[name]) for name in CASES}
    return file_of("law", {name: [row for value in values[name] for row in CASES[name](value)] for name in CASES})


def _case(
    comment: str, parameters: dict[str, Any], input_: Any, law: Distribution, *flags: str, tails: Sequence[Any] = ()
) -> dict[str, Any]:
    probabilities, rest = law
    lightest = min(bounds.upper for bounds in probabilities.values() if bounds.upper)
    flags = (*flags, *(["TinyProbability"] if lightest < TINY else []))
    rows = [[outcome, bounds] for outcome, bounds in probabilities.items()]
    fields = {"parameters": parameters, "input": input_, "law": rows, "rest": rest, "tails": list(tails)}
    return case(comment, flags or ["Basic"], fields)


def _coin(word: str, name: str, value: Fraction, law: Distribution, fine: int = 1) -> Iterator[dict[str, Any]]:
    """Yield the case of a coin or of a uniform integer; `fine` is the denominator of its probabilities."""
    yield _case(f"{word} {value}", {name: value}, None, law, *(["FineRatio"] if fine & (fine - 1) else []))


def _responses(epsilon: Fraction) -> Iterator[dict[str, Any]]:
    for truth in (False, True):
        comment = f"ε = {epsilon}, the truth is {str(truth).lower()}"
        yield _case(comment, {"epsilon": epsilon}, truth, of.randomized_response(truth, epsilon))


def _noise(name: str, value: Fraction, law: Distribution) -> Iterator[dict[str, Any]]:
    """Yield the case of a law of noise; if its parameter is a scale, with tails at 1, at one and at three scales."""
    flags = [flag for flag, holds in (("BiasedIntegers", value in BIASED), ("LongTail", value > 1 << 32)) if holds]
    places = sorted({1, math.ceil(value), math.ceil(3 * value)}) if name == "scale" else []
    tails = [[place, of.discrete_laplace_tail(place, value)] for place in places]
    yield _case(f"{name} {value}", {name: value}, None, law, *flags, tails=tails)


def _selected(name: str, law_of: Callable[..., Distribution], value: Fraction) -> Iterator[dict[str, Any]]:
    for comment, utilities in UTILITIES.items():
        is_large, is_tied = max(map(abs, utilities)) >= LARGE, len(set(utilities)) < len(utilities)
        flags = ["LargeExponent"] if is_large else ["EqualWeights"] if is_tied else []
        yield _case(f"{comment}, {name} {value}", {name: value}, utilities, law_of(utilities, value), *flags)


CASES: Mapping[str, Callable[[Fraction], Iterator[dict[str, Any]]]] = {
    "uniform_below": lambda bound: _coin("below", "bound", bound, of.uniform(int(bound)), int(bound)),
    "bernoulli": lambda p: _coin("probability", "probability", p, of.coin(p), p.denominator),
    "bernoulli_exp": lambda gamma: _coin("γ =", "gamma", gamma, of.coin_of_exp(gamma)),
    "randomized_response": _responses,
    "two_sided_geometric": lambda ratio: _noise("ratio", ratio, of.two_sided_geometric(ratio)),
    "discrete_laplace": lambda scale: _noise("scale", scale, of.discrete_laplace(scale)),
    "discrete_gaussian": lambda variance: _noise("variance", variance, of.discrete_gaussian(variance)),
    "exponential": lambda rate: _selected("rate", of.exponential, rate),
    "exponential_base2": lambda decay: _selected("decay", of.exponential_base2, decay),
    "permute_and_flip": lambda rate: _selected("rate", of.permute_and_flip, rate),
}
"""For each mechanism, a function from the value of its parameter to cases."""
