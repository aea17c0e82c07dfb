"""The exact algorithms whose tapes and traces are written: the published ones, as this project implements them.

Each takes its parameters by name, its input, and the source of its randomness, and draws from nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

from experiments.vectors import sources
from mechanisms.coins import bernoulli, bernoulli_exp, uniform_below
from mechanisms.exponential.base2.eta import BaseTwoEta
from mechanisms.exponential.exact import exact_exponential, exact_exponential_base2
from mechanisms.laplace.exact import exact_dyadic_geometric, exact_randomized_response
from mechanisms.noisy_max.exact import exact_exponential_noisy_max
from mechanisms.published import discrete_gaussian, discrete_laplace, two_sided_geometric
from mechanisms.randomness import RandomBits

Parameters: TypeAlias = Mapping[str, Any]
Run: TypeAlias = Callable[[Parameters, Any, RandomBits], Any]


def eta_of(decay: Fraction) -> BaseTwoEta:
    """The parameter η whose 2^−η is a dyadic rational."""
    return BaseTwoEta(decay.numerator, decay.denominator.bit_length() - 1)


def _exponential_base2(parameters: Parameters, utilities: Any, bits: RandomBits) -> int:
    ends = (min(utilities), max(utilities) + 1)
    term = exact_exponential_base2(eta=eta_of(parameters["decay"]), utility_range=ends)
    return int(term.release(utilities, bits))


def _geometric_on_a_range(parameters: Parameters, answer: Any, bits: RandomBits) -> int:
    lower, upper = parameters["lower"], parameters["upper"]
    return int(exact_dyadic_geometric(ratio=parameters["decay"], lower=lower, upper=upper).release(answer, bits))


RUNS: Mapping[str, Run] = {
    "uniform_below": lambda of, _, bits: uniform_below(of["bound"], bits),
    "bernoulli": lambda of, _, bits: bernoulli(Fraction(of["probability"]), bits),
    "bernoulli_exp": lambda of, _, bits: bernoulli_exp(Fraction(of["gamma"]), bits),
    "two_sided_geometric": lambda of, _, bits: two_sided_geometric(of["ratio"], bits),
    "discrete_laplace": lambda of, _, bits: discrete_laplace(Fraction(of["scale"]), bits),
    "discrete_gaussian": lambda of, _, bits: discrete_gaussian(Fraction(of["variance"]), bits),
    "permute_and_flip": lambda of, data, bits: exact_exponential_noisy_max(epsilon=2 * of["rate"]).release(data, bits),
    "randomized_response": lambda of, data, bits: exact_randomized_response(epsilon=of["epsilon"]).release(data, bits),
    "two_sided_geometric_on_a_range": _geometric_on_a_range,
    "exponential": lambda of, data, bits: exact_exponential(epsilon=2 * of["rate"]).release(data, bits),
    "exponential_base2": _exponential_base2,
}


class Setting(NamedTuple):
    """Parameters by name, and what is given besides; None for pure noise."""

    parameters: Parameters
    input: Any = None


class Algorithm(NamedTuple):
    """An algorithm of `RUNS`, its source, and the settings in which it is run."""

    name: str
    source: str
    settings: Sequence[Setting]

    def output(self, setting: Setting, bits: RandomBits) -> Any:
        """One run of the algorithm."""
        return RUNS[self.name](setting.parameters, setting.input, bits)


def fractions(text: str) -> list[Fraction]:
    """Rational numbers, written with spaces between them."""
    return [Fraction(word) for word in text.split()]


def _each(name: str, values: Sequence[Any], inputs: Sequence[Any] = (None,)) -> list[Setting]:
    return [Setting({name: value}, input_) for input_ in inputs for value in values]


_RATES = fractions("1/2 1/8")
_DECAYS = fractions("1/2 5/8")
_UTILITIES = [[0, 1], [3, 0, 0], [1, 1, 1, 1, 1], [0, -7, 2], [100, 0]]
_ON_A_RANGE = [
    Setting({"decay": decay, "lower": -4, "upper": 4}, answer) for answer in (-4, -1, 0, 2, 3) for decay in _DECAYS
]

COMPOUND = (
    Algorithm("bernoulli_exp", sources.COINS, _each("gamma", fractions("0 1/10 1/2 1 5/3 7"))),
    Algorithm("two_sided_geometric", sources.GEOMETRIC, _each("ratio", fractions("1/2 1/3 9/10 255/256"))),
    Algorithm(
        "discrete_laplace", sources.DISCRETE_LAPLACE, _each("scale", fractions("1/2 1 3 7/3 9 20 1000000000000"))
    ),
    Algorithm(
        "discrete_gaussian", sources.DISCRETE_GAUSSIAN, _each("variance", fractions("1/4 1 10/3 25 1000000000000"))
    ),
    Algorithm("permute_and_flip", sources.PERMUTE_AND_FLIP, _each("rate", _RATES, _UTILITIES)),
)
"""Made of coins and uniform integers, which follow from the publication alone."""

ALGORITHMS = (
    Algorithm("uniform_below", sources.COINS, _each("bound", (1, 2, 3, 5, 10, 100, 1000, 1 << 64))),
    Algorithm("bernoulli", sources.COINS, _each("probability", [*fractions("0 1 1/2 1/3 7/10"), Fraction(1, 3**40)])),
    *COMPOUND,
)

IN_OUR_ORDER = (
    Algorithm("randomized_response", sources.RESPONSE, _each("epsilon", fractions("1/10 1 3"), (False, True))),
    Algorithm("two_sided_geometric_on_a_range", f"{sources.GEOMETRIC}; mechanisms/laplace/README.md", _ON_A_RANGE),
    Algorithm(
        "exponential", f"{sources.EXPONENTIAL}; mechanisms/exponential/README.md", _each("rate", _RATES, _UTILITIES)
    ),
    Algorithm(
        "exponential_base2", f"{sources.BASE2}; mechanisms/exponential/README.md", _each("decay", _DECAYS, _UTILITIES)
    ),
)
"""These compare single bits with probabilities, in an order of bits of our own."""
