"""The exact algorithms whose tapes and traces are written: the published ones, as this project implements them.

Each takes its parameters by name, its input, and the source of its randomness, and draws from nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

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
    "permute_and_flip": lambda of, one, bits: exact_exponential_noisy_max(epsilon=2 * of["rate"]).release(one, bits),
    "randomized_response": lambda of, one, bits: exact_randomized_response(epsilon=of["epsilon"]).release(one, bits),
    "two_sided_geometric_on_a_range": _geometric_on_a_range,
    "exponential": lambda of, one, bits: exact_exponential(epsilon=2 * of["rate"]).release(one, bits),
    "exponential_base2": _exponential_base2,
}


@dataclass(frozen=True)
class Setting:
    """Parameters and an input.

    Attributes:
        parameters: by name.
        input: what is given besides; None for pure noise.
    """

    parameters: Parameters
    input: Any = None


@dataclass(frozen=True)
class Algorithm:
    """An algorithm and the settings in which it is run.

    Attributes:
        name: of the mechanism, in `RUNS`.
        source: of the algorithm.
        settings: parameters and inputs.
    """

    name: str
    source: str
    settings: Sequence[Setting]

    def output(self, setting: Setting, bits: RandomBits) -> Any:
        """One run of the algorithm."""
        return RUNS[self.name](setting.parameters, setting.input, bits)


UTILITIES = ((0, 1), (3, 0, 0), (1, 1, 1, 1, 1), (0, -7, 2), (100, 0))


def _each(name: str, *values: Any, inputs: Sequence[Any] = (None,)) -> list[Setting]:
    return [Setting({name: value}, input_) for input_ in inputs for value in values]


def _fractions(*pairs: tuple[int, int]) -> list[Fraction]:
    return [Fraction(*pair) for pair in pairs]


def _on_a_range() -> list[Setting]:
    return [
        Setting({"decay": decay, "lower": -4, "upper": 4}, answer)
        for answer in (-4, -1, 0, 2, 3)
        for decay in _fractions((1, 2), (5, 8))
    ]


_RATES = _fractions((1, 2), (1, 8))
_SELECTED = [list(one) for one in UTILITIES]

ALGORITHMS = (
    Algorithm("uniform_below", sources.COINS, _each("bound", 1, 2, 3, 5, 10, 100, 1000, 1 << 64)),
    Algorithm(
        "bernoulli",
        sources.COINS,
        _each("probability", *_fractions((0, 1), (1, 1), (1, 2), (1, 3), (7, 10), (1, 3**40))),
    ),
    Algorithm(
        "bernoulli_exp", sources.COINS, _each("gamma", *_fractions((0, 1), (1, 10), (1, 2), (1, 1), (5, 3), (7, 1)))
    ),
    Algorithm(
        "two_sided_geometric", sources.GEOMETRIC, _each("ratio", *_fractions((1, 2), (1, 3), (9, 10), (255, 256)))
    ),
    Algorithm(
        "discrete_laplace",
        sources.DISCRETE_LAPLACE,
        _each("scale", *_fractions((1, 2), (1, 1), (3, 1), (7, 3), (9, 1), (20, 1), (10**12, 1))),
    ),
    Algorithm(
        "discrete_gaussian",
        sources.DISCRETE_GAUSSIAN,
        _each("variance", *_fractions((1, 4), (1, 1), (10, 3), (25, 1), (10**12, 1))),
    ),
    Algorithm("permute_and_flip", sources.PERMUTE_AND_FLIP, _each("rate", *_RATES, inputs=_SELECTED)),
)
"""Their requests for coins follow from the publication alone."""

IN_OUR_ORDER = (
    Algorithm(
        "randomized_response",
        sources.RESPONSE,
        _each("epsilon", *_fractions((1, 10), (1, 1), (3, 1)), inputs=(False, True)),
    ),
    Algorithm("two_sided_geometric_on_a_range", f"{sources.GEOMETRIC}; mechanisms/laplace/README.md", _on_a_range()),
    Algorithm(
        "exponential",
        f"{sources.EXPONENTIAL}; mechanisms/exponential/README.md",
        _each("rate", *_RATES, inputs=_SELECTED),
    ),
    Algorithm(
        "exponential_base2",
        f"{sources.BASE2}; mechanisms/exponential/README.md",
        _each("decay", *_fractions((1, 2), (5, 8)), inputs=_SELECTED),
    ),
)
"""These compare single bits with probabilities, in an order of bits of our own."""
