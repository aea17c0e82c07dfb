"""The exact algorithms whose tapes and traces are written: the published ones, as this project implements them.

Each takes its randomness from a `RandomBits` and from nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from experiments.vectors import sources
from mechanisms.coins import bernoulli, bernoulli_exp, uniform_below
from mechanisms.exponential.base2.eta import BaseTwoEta
from mechanisms.exponential.exact import exact_exponential
from mechanisms.exponential.exact_base2 import exact_exponential_base2
from mechanisms.gaussian.exact import discrete_gaussian
from mechanisms.laplace.exact import discrete_laplace, two_sided_geometric
from mechanisms.laplace.exact_geometric import exact_two_sided_geometric
from mechanisms.laplace.exact_randomized_response import exact_randomized_response
from mechanisms.noisy_max.exact import exact_exponential_noisy_max
from mechanisms.randomness import RandomBits

Sampler = Callable[[RandomBits], Any]


@dataclass(frozen=True)
class Setting:
    """An algorithm with its parameters and its input.

    Attributes:
        parameters: by name.
        input: what is given besides; None for pure noise.
        sampler: takes the source of randomness.
    """

    parameters: Mapping[str, Any]
    input: Any
    sampler: Sampler


@dataclass(frozen=True)
class Algorithm:
    """An algorithm and the settings in which it is run.

    Attributes:
        name: of the mechanism.
        source: of the algorithm.
        settings: parameters and inputs.
    """

    name: str
    source: str
    settings: Sequence[Setting]


def _noise(draw: Callable[[Fraction, RandomBits], Any], name: str, values: Sequence[Fraction]) -> list[Setting]:
    return [Setting({name: value}, None, partial(draw, value)) for value in values]


def _fractions(*pairs: tuple[int, int]) -> list[Fraction]:
    return [Fraction(*pair) for pair in pairs]


def _responses() -> list[Setting]:
    return [
        Setting({"epsilon": epsilon}, truth, partial(exact_randomized_response, truth, epsilon=epsilon))
        for epsilon in _fractions((1, 10), (1, 1), (3, 1))
        for truth in (False, True)
    ]


def _clamped() -> list[Setting]:
    """Two-sided geometric noise on a range: 2^−η = 5/8, from −4 to 4."""
    settings = []
    for answer in (-4, 0, 3):
        for eta in (BaseTwoEta(1, 1), BaseTwoEta(5, 3)):
            parameters = {"decay": Fraction(eta.x, 1 << eta.y), "lower": -4, "upper": 4}
            run = partial(_in_range, answer, eta)
            settings.append(Setting(parameters, answer, run))
    return settings


def _in_range(answer: int, eta: BaseTwoEta, bits: RandomBits) -> int:
    return exact_two_sided_geometric(answer, bits, eta=eta, lower=-4, upper=4)


UTILITIES = ((0, 1), (3, 0, 0), (1, 1, 1, 1, 1), (0, -7, 2), (100, 0))


def _selections(run: Callable[..., int]) -> list[Setting]:
    return [
        Setting({"epsilon": epsilon, "sensitivity": 1}, list(one), partial(_selected, run, one, epsilon))
        for one in UTILITIES
        for epsilon in _fractions((1, 1), (1, 4))
    ]


def _selected(run: Callable[..., int], utilities: Sequence[int], epsilon: Fraction, bits: RandomBits) -> int:
    return run(list(utilities), bits, epsilon=epsilon)


def _base2() -> list[Setting]:
    etas = (BaseTwoEta(1, 1), BaseTwoEta(5, 3))
    return [
        Setting(
            {"decay": Fraction(eta.x, 1 << eta.y), "range": [-8, 128]}, list(one), partial(_selected_base2, one, eta)
        )
        for one in UTILITIES
        for eta in etas
    ]


def _selected_base2(utilities: Sequence[int], eta: BaseTwoEta, bits: RandomBits) -> int:
    return exact_exponential_base2(list(utilities), bits, eta=eta, utility_range=(-8, 128))


ALGORITHMS = (
    Algorithm(
        "uniform_below",
        sources.COINS,
        [
            Setting({"bound": bound}, None, partial(uniform_below, bound))
            for bound in (1, 2, 3, 5, 10, 100, 1000, 2**64)
        ],
    ),
    Algorithm(
        "bernoulli",
        sources.COINS,
        _noise(bernoulli, "probability", _fractions((0, 1), (1, 1), (1, 2), (1, 3), (7, 10), (1, 3**40))),
    ),
    Algorithm(
        "bernoulli_exp",
        sources.COINS,
        _noise(bernoulli_exp, "gamma", _fractions((0, 1), (1, 10), (1, 2), (1, 1), (5, 3), (7, 1))),
    ),
    Algorithm(
        "two_sided_geometric",
        sources.GEOMETRIC,
        _noise(two_sided_geometric, "ratio", _fractions((1, 2), (1, 3), (9, 10), (255, 256))),
    ),
    Algorithm(
        "discrete_laplace",
        sources.DISCRETE_LAPLACE,
        _noise(discrete_laplace, "scale", _fractions((1, 2), (1, 1), (3, 1), (7, 3), (9, 1), (20, 1), (10**12, 1))),
    ),
    Algorithm(
        "discrete_gaussian",
        sources.DISCRETE_GAUSSIAN,
        _noise(discrete_gaussian, "variance", _fractions((1, 4), (1, 1), (10, 3), (25, 1), (10**12, 1))),
    ),
    Algorithm("permute_and_flip", sources.PERMUTE_AND_FLIP, _selections(exact_exponential_noisy_max)),
)
"""Their requests for coins follow from the publication alone."""

IN_OUR_ORDER = (
    Algorithm("randomized_response", sources.RESPONSE, _responses()),
    Algorithm("two_sided_geometric_on_a_range", f"{sources.GEOMETRIC}; mechanisms/laplace/README.md", _clamped()),
    Algorithm(
        "exponential", f"{sources.EXPONENTIAL}; mechanisms/exponential/README.md", _selections(exact_exponential)
    ),
    Algorithm("exponential_base2", f"{sources.BASE2}; mechanisms/exponential/README.md", _base2()),
)
"""These compare single bits with probabilities, in an order of bits of our own."""
