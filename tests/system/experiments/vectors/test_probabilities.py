"""The probabilities of types `law` and `pair`, from their definitions in decimal numbers of 90 digits.

No code is shared with what wrote them: exponentials are `decimal`'s, and sums are taken in another form. A few are also
held to the laws of this project's samplers on all bit strings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np
import pytest

from attacklab.laws import Bounds, enumerate_law
from attacklab.laws.enumeration import Limits
from attacklab.model.floats import BFLOAT16
from attacklab.vectors import read_value
from experiments.vectors.samplers import RUNS

Parameters = Mapping[str, Any]
SLACK = Decimal(10) ** -60


@pytest.fixture(autouse=True)
def digits() -> Iterator[None]:
    with localcontext() as context:
        context.prec, context.Emin = 90, -(10**9)
        yield


def decimal(number: Any) -> Decimal:
    return Decimal(int(number.numerator)) / Decimal(int(number.denominator))


def ends(text: Any) -> tuple[Fraction, Fraction]:
    value = read_value(text)
    lower, upper = value if isinstance(value, Bounds) else (value, value)
    return Fraction(lower), Fraction(upper)


def encloses(text: Any, number: Decimal) -> bool:
    lower, upper = map(decimal, ends(text))
    return lower * (1 - SLACK) <= number <= upper * (1 + SLACK)


def _uniform(of: Parameters, _: Any, outcome: Any) -> Decimal:
    return 1 / Decimal(of["bound"]) if 0 <= outcome < of["bound"] else Decimal(0)


def _coin(heads: Decimal, outcome: bool) -> Decimal:
    return heads if outcome else 1 - heads


def _discrete_laplace(of: Parameters, _: Any, outcome: int) -> Decimal:
    step = (-1 / decimal(of["scale"])).exp()
    return (1 - step) / (1 + step) * (-abs(outcome) / decimal(of["scale"])).exp()


def _two_sided_geometric(of: Parameters, _: Any, outcome: int) -> Decimal:
    ratio = decimal(of["ratio"])
    return (1 - ratio) / (1 + ratio) * ratio ** abs(outcome)


def _discrete_gaussian(of: Parameters, _: Any, outcome: int) -> Decimal:
    variance = decimal(of["variance"])
    return (-Decimal(outcome * outcome) / (2 * variance)).exp() / _gaussian_total(variance)


@cache
def _gaussian_total(variance: Decimal) -> Decimal:
    last = 18 * (int(variance.sqrt()) + 1)
    return 1 + 2 * sum(((-(n * n) / (2 * variance)).exp() for n in map(Decimal, range(1, last))), Decimal(0))


def _weights(of: Parameters, utilities: list[int]) -> list[Decimal]:
    if "decay" in of:
        return [decimal(of["decay"]) ** (max(utilities) - one) for one in utilities]
    return [(decimal(of["rate"]) * (one - max(utilities))).exp() for one in utilities]


def _exponential(of: Parameters, utilities: list[int], outcome: int) -> Decimal:
    weights = _weights(of, utilities)
    return weights[outcome] / sum(weights)


def _permute_and_flip(of: Parameters, utilities: list[int], outcome: int) -> Decimal:
    """p_i ∫₀¹ Π_{j≠i} (1 − t·p_j) dt: exponential clocks, as noisy max with exponential noise."""
    keeps = _weights(of, utilities)
    polynomial = [Decimal(1)]
    for place, keep in enumerate(keeps):
        if place != outcome:
            shifted = [Decimal(0), *(-keep * one for one in polynomial)]
            polynomial = [one + other for one, other in zip([*polynomial, Decimal(0)], shifted, strict=True)]
    return keeps[outcome] * sum((one / (power + 1) for power, one in enumerate(polynomial)), Decimal(0))


DEFINITIONS: Mapping[str, Callable[[Parameters, Any, Any], Decimal]] = {
    "uniform_below": _uniform,
    "bernoulli": lambda of, _, outcome: _coin(decimal(of["probability"]), outcome),
    "bernoulli_exp": lambda of, _, outcome: _coin((-decimal(of["gamma"])).exp(), outcome),
    "randomized_response": lambda of, truth, outcome: _coin(
        1 / (1 + (-decimal(of["epsilon"])).exp()), outcome is truth
    ),
    "two_sided_geometric": _two_sided_geometric,
    "discrete_laplace": _discrete_laplace,
    "discrete_gaussian": _discrete_gaussian,
    "exponential": _exponential,
    "exponential_base2": _exponential,
    "permute_and_flip": _permute_and_flip,
}


def parameters(case: Mapping[str, Any]) -> dict[str, Any]:
    return {name: read_value(value) for name, value in case["parameters"].items()}


def cases(file: Mapping[str, Any], mechanism: str) -> list[Any]:
    return next(group["cases"] for group in file["groups"] if group["mechanism"] == mechanism)


def test_every_mechanism_with_a_law_is_defined_here(files: Mapping[str, Any]) -> None:
    assert {group["mechanism"] for group in files["law"]["groups"]} == DEFINITIONS.keys()


@pytest.mark.parametrize("mechanism", DEFINITIONS)
def test_each_probability_is_that_of_the_definition(files: Mapping[str, Any], mechanism: str) -> None:
    for case in cases(files["law"], mechanism):
        of, input_ = parameters(case), read_value(case["input"])
        listed = Decimal(0)
        for outcome, probability in case["law"]:
            right = DEFINITIONS[mechanism](of, input_, read_value(outcome))
            listed += right
            assert encloses(probability, right), (case["id"], outcome)
            lower, upper = ends(probability)
            assert upper - lower <= upper / 2**80
        rest = decimal(read_value(case["rest"]))
        assert 1 - listed <= rest * (1 + SLACK) + SLACK
        assert rest <= (1 - listed) * Decimal("1.001") + SLACK


def test_tails_are_geometric_series_of_the_definition(files: Mapping[str, Any]) -> None:
    checked = 0
    for case in cases(files["law"], "discrete_laplace"):
        of = parameters(case)
        for place, probability in case["tails"]:
            step = (-1 / decimal(of["scale"])).exp()
            within = _discrete_laplace(of, None, read_value(place)) / (1 - step)
            assert encloses(probability, within), (case["id"], place)
            checked += 1
    assert checked > 30


SAMPLED = (
    ("uniform_below", {"bound": 5}, None),
    ("bernoulli", {"probability": Fraction(1, 3)}, None),
    ("bernoulli_exp", {"gamma": Fraction(4, 3)}, None),
    ("randomized_response", {"epsilon": Fraction(1)}, True),
    ("two_sided_geometric", {"ratio": Fraction(2, 3)}, None),
    ("discrete_laplace", {"scale": Fraction(7, 3)}, None),
    ("discrete_gaussian", {"variance": Fraction(1)}, None),
    ("exponential", {"rate": Fraction(1, 2)}, [0, 1]),
    ("exponential_base2", {"decay": Fraction(5, 8)}, [0, 1]),
    ("permute_and_flip", {"rate": Fraction(1, 2)}, [0, 1]),
)


@pytest.mark.parametrize(("mechanism", "of", "input_"), SAMPLED, ids=[one[0] for one in SAMPLED])
def test_the_law_of_our_exact_sampler_on_all_bit_strings_fits(
    files: Mapping[str, Any], mechanism: str, of: dict[str, Any], input_: Any
) -> None:
    (case,) = (
        one for one in cases(files["law"], mechanism) if parameters(one) == of and read_value(one["input"]) == input_
    )
    law = enumerate_law(partial(RUNS[mechanism], of, input_), limits=Limits(unresolved=Fraction(1, 200)))
    unresolved = Fraction(law.unresolved)
    assert unresolved < Fraction(1, 50)
    listed = 0
    for outcome, probability in case["law"]:
        lower, upper = ends(probability)
        known = Fraction(law.masses.get(read_value(outcome), 0))
        assert known <= upper
        assert lower <= known + unresolved
        if law.closed:
            assert lower == upper == known
        listed += bool(known)
    assert listed == len(law.masses)


def test_a_sound_mechanism_keeps_the_claim_and_the_naive_one_breaks_it(files: Mapping[str, Any]) -> None:
    for group in files["pair"]["groups"]:
        for case in group["cases"]:
            epsilon, delta = (decimal(read_value(case["claim"][name])) for name in ("epsilon", "delta"))
            sound, naive = ([ends(case[which][side]) for side in ("first", "second")] for which in ("sound", "naive"))
            (least, _), (_, most) = sound
            assert decimal(least) <= epsilon.exp() * decimal(most) + delta, (group["mechanism"], case["id"])
            (least, _), (_, most) = naive
            assert decimal(least) > epsilon.exp() * decimal(most) + delta, (group["mechanism"], case["id"])


def test_sound_probabilities_of_pairs_are_those_of_the_definition(files: Mapping[str, Any]) -> None:
    for case in cases(files["pair"], "exponential"):
        (outcome,) = map(read_value, case["event"]["outcomes"])
        for side in ("first", "second"):
            right = _exponential({"rate": Fraction(parameters(case)["epsilon"]) / 2}, read_value(case[side]), outcome)
            assert encloses(case["sound"][side], right)
    for case in cases(files["pair"], "randomized_response"):
        keep = 1 / (1 + (-decimal(parameters(case)["epsilon"])).exp())
        assert encloses(case["sound"]["first"], keep)
        assert encloses(case["sound"]["second"], 1 - keep)
    for case in cases(files["pair"], "discrete_laplace_on_integers"):
        epsilon = decimal(parameters(case)["epsilon"])
        for side in ("first", "second"):
            distance = read_value(case["event"]["at_least"]) - read_value(case[side])
            assert encloses(case["sound"][side], (-epsilon * distance).exp() / (1 + (-epsilon).exp()))


def test_naive_probabilities_of_pairs_are_those_of_doubles(files: Mapping[str, Any]) -> None:
    """The uniform numbers at the ends of the event fall on the right sides in this machine's arithmetic."""
    word = 1 << 53
    for case in cases(files["pair"], "randomized_response"):
        keep = read_value(case["naive"]["first"])
        weight = math.exp(float(parameters(case)["epsilon"]))
        double = weight / (1 + weight)
        count = int(keep * word)
        assert count == keep * word
        assert abs(count - double * word) <= 2  # this machine's exp may be off by a last place
        assert keep + read_value(case["naive"]["second"]) == 1
    for case in cases(files["pair"], "discrete_laplace_on_integers"):
        epsilon = decimal(parameters(case)["epsilon"])
        for side in ("first", "second"):
            distance = read_value(case["event"]["at_least"]) - read_value(case[side])
            count = int((-epsilon * distance).exp() * word)
            assert Fraction(read_value(case["naive"][side])) == Fraction(count, 2 * word)
    lost = [case for case in cases(files["pair"], "exponential") if case["flags"] == ["LostInSum"]]
    for case in lost:
        for side in ("first", "second"):
            utilities = read_value(case[side])
            rate = float(parameters(case)["epsilon"]) / 2
            weights = BFLOAT16.rounded(np.exp(rate * (np.array(utilities) - max(utilities))))
            total = np.float64(0)
            partial_sums = [total]
            for weight in weights:
                (total,) = BFLOAT16.rounded(np.array([total + weight]))
                partial_sums.append(total)
            (share,) = BFLOAT16.rounded(np.array([partial_sums[-2] / total]))
            assert Fraction(read_value(case["naive"][side])) == 1 - Fraction(float(share))
