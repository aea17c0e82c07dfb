"""Theorems on mechanisms of finitely many inputs, and on snapping, accept the exact ones and refuse what differs."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from types import ModuleType
from typing import Any

import pytest

from attacklab.certificates import Draft, certificate
from checker.check import check
from checker.core.certificate import Certificate, Refused
from checker.theorems.snapping import greatest_factor, round_up, rounded_logarithm
from experiments.certificates import DRAFTS
from mechanisms.gaussian import exact_fixed_work
from mechanisms.gaussian.exact_fixed_work import exact_fixed_work_gaussian_delta
from mechanisms.laplace import exact_geometric, exact_randomized_response, exact_snapping
from tests.checker.conftest import Checked
from tests.representatives import first_of_each

GEOMETRIC, RESPONSE, SNAPPING = (
    DRAFTS[name]() for name in ("exact_two_sided_geometric", "exact_randomized_response", "exact_snapping")
)


@pytest.fixture
def mutated(monkeypatch: pytest.MonkeyPatch) -> Callable[[Draft, ModuleType, str, str], None]:
    """Check a draft with a piece of its mechanism's source replaced, hashes aside."""

    def check_mutant(draft: Draft, module: ModuleType, old: str, new: str) -> None:
        source = inspect.getsource(module)
        assert source.count(old) >= 1
        name = f"{module.__name__}_mutant"
        mutant = ModuleType(name)
        monkeypatch.setitem(sys.modules, name, mutant)
        exec(compile(source.replace(old, new, 1), name, "exec"), vars(mutant))  # noqa: S102
        given: dict[str, Any] = certificate("mutant", draft)
        functions = {role: f"{name}:{function.__name__}" for role, function in draft.functions.items()}
        check(Certificate(**{**given, "functions": functions}), sources=False)

    return check_mutant


@pytest.mark.slow
def test_geometric_noise_on_a_range_is_private_for_every_pair(checked: Checked) -> None:
    found = checked(GEOMETRIC)
    assert found.statement == "1-DP for every pair of answers at most 1 apart (at most 0.999973)"
    assert found.checked["laws"] == 33


GAUSSIAN = DRAFTS["exact_fixed_work_gaussian"]()
NARROW = replace(GAUSSIAN, parameters={"sigma": Fraction(3, 2), "lower": -2, "upper": 3})


@pytest.mark.slow
def test_gaussian_noise_of_fixed_work_is_private_for_every_pair(checked: Checked) -> None:
    found = checked(GAUSSIAN)
    assert found.statement.startswith("(1, 1e-05)-DP for every pair of answers at most 1 apart (δ is at most 3.8")
    assert found.checked["laws"] == 33


@pytest.mark.parametrize("sensitivity", [1, 2])
def test_the_delta_of_gaussian_noise_of_fixed_work_is_the_least(checked: Checked, sensitivity: int) -> None:
    least = exact_fixed_work_gaussian_delta(1, sensitivity=sensitivity, **NARROW.parameters)
    neighbours = f"answers at most {sensitivity} apart"
    checked(NARROW, neighbours=neighbours, claim={"kind": "approximate", "epsilon": "1", "delta": str(Fraction(least))})
    less = str(Fraction(least) * (1 - Fraction(1, 2**50)))
    with pytest.raises(Refused, match="two answers need δ"):
        checked(NARROW, neighbours=neighbours, claim={"kind": "approximate", "epsilon": "1", "delta": less})


@pytest.mark.parametrize(
    "claim", [{"kind": "pure", "epsilon": "1"}, {"kind": "zcdp", "rho": "1"}, {"kind": "gdp", "mu": "1"}]
)
def test_gaussian_noise_of_fixed_work_claims_no_more_than_a_delta(checked: Checked, claim: dict[str, str]) -> None:
    with pytest.raises(Refused):
        checked(NARROW, claim=claim)


@pytest.mark.parametrize(
    ("old", "new"),
    first_of_each(
        [
            ("drawn >= threshold for", "drawn > threshold for"),
            ("drawn >= threshold for threshold in self.thresholds)", "drawn >= threshold for threshold in self.tails)"),
            ("(1 << BITS) - tail for tail in self.tails)", "(1 << BITS) - tail - 1 for tail in self.tails)"),
            ("mpq(self.sigma) ** 2, precision", "mpq(self.sigma), precision"),
            ("low for low, _ in floors", "low + 1 for low, _ in floors"),
            ("missing=mpq(lower)) + mpq(1, 2))", "missing=mpq(lower)))"),
            ("min(max(int(centre) + noise, lower), upper)", "int(centre) + noise"),
            ("bits.take(BITS)", "bits.take(BITS - 1) << 1"),
        ],
        bool,
    ),
)
def test_another_gaussian_noise_of_fixed_work_is_refused(
    mutated: Callable[[Draft, ModuleType, str, str], None], old: str, new: str
) -> None:
    wide = {"kind": "approximate", "epsilon": "1", "delta": "1/4"}
    with pytest.raises(Refused):
        mutated(replace(NARROW, claim=wide), exact_fixed_work, old, new)


SHORT = replace(GEOMETRIC, parameters={**GEOMETRIC.parameters, "lower": -1, "upper": 2})


@pytest.mark.parametrize("claim", ["0.9999", "-1", "1/2"])
def test_less_than_the_geometric_mechanism_loses_is_refused(checked: Checked, claim: str) -> None:
    with pytest.raises(Refused, match=r"successive answers lose 0\.99997"):
        checked(SHORT, claim={"kind": "pure", "epsilon": claim})


@pytest.mark.parametrize(
    ("old", "new"),
    first_of_each(
        [
            ("drawn >= threshold", "drawn > threshold"),
            ("-(-unit * denominator //", "(unit * denominator //"),
            ("range(1, self.radius + 1)]\n        one", "range(1, self.radius + 1)]; tails[0] += 1\n        one"),
            ("max(centre + noise, lower)", "max(centre + noise + 1, lower)"),
            ("return min(max(centre + noise, lower), upper)", "return centre + noise"),
            ("+ mpq(1, 2))", "+ mpq(1, 3))"),
            ("math.floor(clamped", "round(clamped"),
            ("mpq(upper), missing", "mpq(upper) + 1, missing"),
            ("missing=mpq(lower)", "missing=mpq(upper)"),
            ("* (self.radius + 2) + 2", "* (self.radius + 2) + 3"),
            ("    number = exact_number", "    eta = type(eta)(eta.x + 1, eta.y); number = exact_number"),
        ],
        bool,
    ),
)
def test_a_broken_geometric_mechanism_is_refused(mutated: Any, old: str, new: str) -> None:
    with pytest.raises(Refused):
        mutated(SHORT, exact_geometric, old, new)


def test_randomized_response_is_private_for_both_answers(checked: Checked) -> None:
    assert checked(RESPONSE).statement.startswith("1-DP for both answers")


def test_less_than_randomized_response_loses_is_refused(checked: Checked) -> None:
    with pytest.raises(Refused, match="odds change by"):
        checked(RESPONSE, claim={"kind": "pure", "epsilon": "999999/1000000"})


@pytest.mark.parametrize(
    ("old", "new"),
    first_of_each(
        [
            ("leading + 1 <= below", "leading <= below"),
            ("leading >= above", "leading + 1 >= above"),
            ("leading << 1 | bits.take(1)", "leading << 1 | 1 - bits.take(1)"),
            ("leading << 1 | bits.take(1)", "leading << 1 | bits.take(1) & (length < 60)"),
            ("1 / (1 + above), 1 / (1 + below)", "1 / (1 + above), 1 / (1 + above)"),
            ("gmpy2.mpq(1, 1 << precision)", "gmpy2.mpq(1, 1 << precision + 1)\n    gamma = gamma * (1 + 2**-52)"),
            ("bool(truth) == bits.call(logistic_coin", "bool(truth) != bits.call(logistic_coin"),
            ('positive_rational("epsilon", epsilon))', 'positive_rational("epsilon", epsilon) * 2)'),
            ("down.exp(", "up.exp("),
            ("precision <= length + _STEP", "precision <= length + _STEP and length < 100"),
            ("length += 1", "length += 1\n        if length > 328:\n            return True"),
            ("(length // _STEP + 2) * _STEP", "min(448, (length // _STEP + 2) * _STEP)"),
        ],
        bool,
    ),
)
def test_a_broken_randomized_response_is_refused(mutated: Any, old: str, new: str) -> None:
    with pytest.raises(Refused):
        mutated(RESPONSE, exact_randomized_response, old, new)


def test_an_enclosure_that_does_not_decide_is_refused(checked: Checked, monkeypatch: pytest.MonkeyPatch) -> None:
    def another(gamma: Fraction, precision: int) -> Any:
        return exact_randomized_response.enclose_logistic(gamma, precision)

    another.__module__, another.__qualname__ = exact_randomized_response.__name__, "another"
    monkeypatch.setattr(exact_randomized_response, "another", another, raising=False)
    with pytest.raises(Refused, match="by another enclosure"):
        checked(RESPONSE, functions={**RESPONSE.functions, "enclosure": another})


def test_snapping_is_private_for_every_pair_of_doubles(checked: Checked) -> None:
    assert checked(SNAPPING).statement.startswith(
        "1-DP for every pair of doubles at most 1 apart: λ = 1.0000000000000568"
    )


@pytest.mark.few(1)
@pytest.mark.parametrize("bound", [4.25, 2.0**40])
def test_other_bounds_are_proved_as_well(checked: Checked, bound: float) -> None:
    parameters = {"epsilon": Fraction(1, 3), "sensitivity": Fraction(3, 2), "bound": 4.5 * bound}
    assert checked(SNAPPING, parameters=parameters, claim={"kind": "pure", "epsilon": "1/3"})


def test_the_loss_of_the_ideal_noise_alone_is_refused(checked: Checked) -> None:
    """Snapping loses more than 1/λ: the claim is between what noise of that scale loses and what is proved."""
    ideal = 1 / Fraction(round_up(1 + Fraction(16, 1 << 48)))
    for claim in (ideal, ideal + Fraction(1, 1 << 50)):
        with pytest.raises(Refused, match="may exceed"):
            checked(SNAPPING, claim={"kind": "pure", "epsilon": str(claim)})


def test_the_bound_of_the_readme_covers_what_is_computed() -> None:
    """2^−48·B/λ is at least ln(M₊/M₋) wherever 4λ ≤ B ≤ 2^46·λ; tried at the ends and between."""
    for scale, ratio in ((1, 4), (1, 5), (Fraction(7, 10), 50), (1, 2**20), (Fraction(1001, 1000), 2**45)):
        step = Fraction(2) if scale > 1 else Fraction(1)
        factor = greatest_factor(Fraction(scale), step, Fraction(scale) * ratio)
        assert factor <= 1 + Fraction(ratio, 1 << 48)


def test_a_logarithm_is_rounded_correctly() -> None:
    assert rounded_logarithm(Fraction(1, 2)) == -0.6931471805599453
    assert rounded_logarithm(1 - Fraction(1, 1 << 53)) == -(2.0**-53)


@pytest.mark.parametrize(
    ("old", "new"),
    first_of_each(
        [
            ("self.clamp(answer) + sign", "answer + sign"),
            (
                "self.clamp(answer) + sign * (self.scale * logarithm)",
                "self.clamp(answer) + sign * self.scale * (logarithm * 1.5)",
            ),
            ("return self.clamp(float(snapped))", "return float(snapped)"),
            ("return self.clamp(float(snapped))", "return self.clamp(float(snapped)) + 0 * answer"),
            ("+ Fraction(1, 2)) * self.step", "+ Fraction(1, 2) - Fraction(1, 2**60)) * self.step"),
            ("math.floor(Fraction(noisy)", "round(Fraction(noisy)"),
            ("if value != value:\n            return 0.0", "if value != value:\n            return 1.0"),
            ("        if value != value:\n            return 0.0\n", ""),
            ("-self.bound), self.bound)", "-self.bound), 2 * self.bound)"),
            ("exponent - 1 if mantissa == 0.5 else exponent", "exponent - 1"),
            ("Fraction(1, 2**48)", "Fraction(1, 2**49)"),
            ("round_up(loss", "float(loss * (1 + Fraction(1, 2**50))"),
            ("1 - 2 * bits.take(1)", "1"),
            ("1 - 2 * bits.take(1)", "1 - bits.take(1)"),
            ("while bits.take(1) == 0", "while bits.take(1) == 1"),
            ("exponent = 1\n", "exponent = 0\n"),
            ("1 << _MANTISSA_BITS | bits", "bits"),
            ("| bits.take(_MANTISSA_BITS)", "| bits.take(_MANTISSA_BITS) & -2"),
            ("precision=53, round=gmpy2.RoundToNearest", "precision=53, round=gmpy2.RoundDown"),
            ("float(_NEAREST.log(uniform))", "math.log(float(uniform)) * (1 + 2**-52)"),
            ("float(_NEAREST.log(uniform))", "float(gmpy2.context(precision=24).log(uniform))"),
            ("noisy = self", "answer = math.trunc(answer); noisy = self"),
        ],
        bool,
    ),
)
def test_a_broken_snapping_mechanism_is_refused(mutated: Any, old: str, new: str) -> None:
    with pytest.raises(Refused):
        mutated(SNAPPING, exact_snapping, old, new)
