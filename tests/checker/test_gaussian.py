"""Theorems on Gaussian mechanisms accept the exact ones and refuse false claims and broken mechanisms."""

from __future__ import annotations

import inspect
import math
import sys
from dataclasses import replace
from fractions import Fraction
from types import ModuleType
from typing import Any

import gmpy2
import numpy as np
import pytest

from checker.core.certificate import Refused
from checker.enclosures import normal
from checker.enclosures.discrete_gaussian import DiscreteGaussian
from checker.kinds.claims import shown
from checker.kinds.look_ups import require_look_ups
from checker.kinds.normal_filter import Thresholds, require_normal_filter
from checker.kinds.trace import Traced, entries
from experiments.certificates import DRAFTS
from mechanisms import grid as grids
from mechanisms.gaussian import exact, exact_fast, exact_rounded, inversion, law, mixture, quantile, rounding_filter
from mechanisms.gaussian.rounding_filter import RoundingFilter
from tests.checker.conftest import Checked
from tests.representatives import first_of_each

MODULES = (grids, quantile, law, inversion, rounding_filter, mixture, exact, exact_fast, exact_rounded)
CLAIMED = ("", "_zcdp", "_rdp", "_gdp", "_profile")
DISCRETE, ROUNDED = DRAFTS["exact_discrete_gaussian_zcdp"](), DRAFTS["exact_rounded_gaussian_zcdp"]()
FINE = replace(ROUNDED, parameters={**ROUNDED.parameters, "grid": grids.Grid(-40)})
LARGE = replace(DISCRETE, parameters={**DISCRETE.parameters, "sigma": Fraction(40)})


@pytest.mark.few(0)
@pytest.mark.parametrize(
    ("name", "statement"),
    [
        pytest.param("exact_discrete_gaussian", "(1, 1e-05)-DP", marks=pytest.mark.slow),
        pytest.param("exact_discrete_gaussian_zcdp", "0.021301851552944295-zCDP", marks=pytest.mark.slow),
        pytest.param("exact_discrete_gaussian_rdp", "RDP at (3/2, 0.03195277732941645), (2, ", marks=pytest.mark.slow),
        ("exact_discrete_gaussian_gdp", "0.20677442086130682-GDP"),
        pytest.param("exact_discrete_gaussian_profile", "(ε, δ(ε))-DP at 48 points", marks=pytest.mark.slow),
        pytest.param("exact_rounded_gaussian", "(1, 1e-05)-DP", marks=pytest.mark.slow),
        pytest.param("exact_rounded_gaussian_zcdp", "0.021301851552944295-zCDP", marks=pytest.mark.slow),
        pytest.param("exact_rounded_gaussian_rdp", "RDP at (3/2, 0.03195277732941645), (2, ", marks=pytest.mark.slow),
        pytest.param("exact_rounded_gaussian_gdp", "0.20640664501388659-GDP", marks=pytest.mark.slow),
        pytest.param("exact_rounded_gaussian_profile", "(ε, δ(ε))-DP at 48 points", marks=pytest.mark.slow),
    ],
)
def test_what_the_targets_claim_holds_for_every_pair_on_both_paths(name: str, statement: str, checked: Checked) -> None:
    found = checked(DRAFTS[name]()).statement
    assert found.startswith(statement)
    assert found.endswith("for every pair of answers at most 1 apart, on both paths")


@pytest.mark.slow
def test_noise_too_wide_for_a_table_is_rounded_to_its_thresholds(checked: Checked) -> None:
    assert checked(LARGE, claim={"kind": "zcdp", "rho": "1/3200"}).checked["cells"] == 20 * 512


@pytest.mark.slow
def test_noise_of_many_steps_is_proved_on_both_paths(checked: Checked) -> None:
    found = checked(FINE)
    assert "mixture" in found.lemmas
    assert found.checked["cells"] > 20_000
    with pytest.raises(Refused, match="the least ρ is"):
        checked(FINE, claim={"kind": "zcdp", "rho": smaller(FINE.claim["rho"])})


def smaller(number: str) -> str:
    """The double below one that is written exactly."""
    return str(Fraction(math.nextafter(float(Fraction(number)), 0)))


@pytest.mark.few(0)
@pytest.mark.parametrize("kind", ["discrete", "rounded"])
def test_a_claim_of_any_kind_that_is_a_hair_too_small_is_refused(kind: str, checked: Checked) -> None:
    drafts = {suffix: DRAFTS[f"exact_{kind}_gaussian{suffix}"]() for suffix in CLAIMED}
    zcdp, rdp, gdp, profile = (drafts[suffix].claim for suffix in CLAIMED[1:])
    least_rho = 1 / (2 * Fraction(DISCRETE.parameters["sigma"]) ** 2)
    below = least_rho * (1 - Fraction(1, 10**40))
    for suffix, claim in (
        ("_zcdp", {**zcdp, "rho": smaller(zcdp["rho"])}),
        ("_zcdp", {**zcdp, "rho": str(below)}),
        ("_rdp", {**rdp, "epsilons": [*rdp["epsilons"][:-1], str(32 * below)]}),
        ("_gdp", {**gdp, "mu": smaller(gdp["mu"])}),
        *(
            ("_profile", {**profile, "points": [[epsilon, smaller(delta)]]})
            for epsilon, delta in profile["points"][::12]
        ),
        ("", {"kind": "approximate", "epsilon": "1", "delta": "1/1000000000000"}),
    ):
        with pytest.raises(Refused, match=r"more than|tells neighbours apart better"):
            checked(drafts[suffix], claim=claim)


def test_each_point_of_a_profile_is_looked_at(checked: Checked) -> None:
    draft = DRAFTS["exact_rounded_gaussian_profile"]()
    points = [list(pair) for pair in draft.claim["points"]]
    points[17][1] = smaller(points[17][1])
    with pytest.raises(Refused, match="at ε = "):
        checked(draft, claim={"kind": "profile", "points": points})


@pytest.mark.parametrize(
    "claim",
    [
        {"kind": "pure", "epsilon": "1"},
        {"kind": "approximate", "epsilon": "1"},
        {"kind": "approximate", "epsilon": "-1", "delta": "1/2"},
        {"kind": "approximate", "epsilon": "1", "delta": "2"},
        {"kind": "profile", "points": []},
        {"kind": "profile", "points": [["1"]]},
        {"kind": "zcdp", "rho": "0"},
        {"kind": "zcdp", "rho": "1", "alpha": "2"},
        {"kind": "rdp", "orders": ["2", "3"], "epsilons": ["1"]},
        {"kind": "rdp", "orders": ["1"], "epsilons": ["1"]},
        {"kind": "gdp", "mu": 0.5},
    ],
)
def test_claims_that_say_nothing_are_refused(claim: dict[str, Any], checked: Checked) -> None:
    with pytest.raises(Refused):
        checked(ROUNDED, claim=claim)


@pytest.mark.parametrize("draft", [DISCRETE, ROUNDED], ids=["discrete", "rounded"])
def test_noise_that_is_too_small_and_answers_too_far_apart_are_refused(draft: Any, checked: Checked) -> None:
    sigma = Fraction(draft.parameters["sigma"]) * (1 - Fraction(1, 2**40))
    with pytest.raises(Refused, match="the least ρ is"):
        checked(draft, parameters={**draft.parameters, "sigma": sigma})
    with pytest.raises(Refused, match="the least ρ is"):
        checked(draft, neighbours="answers at most 1000001/1000000 apart")
    with pytest.raises(Refused, match="neighbours are"):
        checked(draft, neighbours="answers")


@pytest.mark.slow
def test_the_path_of_another_mechanism_is_refused(checked: Checked) -> None:
    for draft, other in ((DISCRETE, ROUNDED), (ROUNDED, DISCRETE)):
        for role in ("reference", "fast"):
            with pytest.raises(Refused):
                checked(draft, functions={**draft.functions, role: other.functions[role]})


def break_source(patch: pytest.MonkeyPatch, module: ModuleType, old: str, new: str) -> None:
    """Put a module's names, made of a changed source, wherever the family's modules have them."""
    source = inspect.getsource(module)
    assert old in source
    broken = ModuleType(module.__name__)
    broken.__file__ = module.__file__
    patch.setitem(sys.modules, module.__name__, broken)  # dataclasses look their module up
    exec(compile(source.replace(old, new), str(module.__file__), "exec"), broken.__dict__)  # noqa: S102
    patch.setitem(sys.modules, module.__name__, module)
    for name, value in list(vars(module).items()):
        for user in MODULES:
            if vars(user).get(name) is value and getattr(value, "__module__", None) == module.__name__:
                patch.setattr(user, name, vars(broken)[name])
    patch.setattr(exact_rounded, "_kept_filter", exact_rounded.RoundingFilter)  # what was kept before is not broken


BROKEN = [
    (inversion, "high <= tail(outcome, precision).lower:", "low <= tail(outcome, precision).lower:", DISCRETE),
    (inversion, "outcome + 1, precision).upper <= low and", "outcome + 1, precision).lower <= low and", ROUNDED),
    (inversion, "            if tail(outcome + 1", "            if width > 128 or tail(outcome + 1", ROUNDED),
    (inversion, "            if tail(outcome + 1", "            if width > 300 or tail(outcome + 1", DISCRETE),
    (inversion, "(2 + width // _PRECISION_STEP)", "min(7, 2 + width // _PRECISION_STEP)", ROUNDED),
    (inversion, "+ bits.take(1), width", "+ bits.take(1) * bits.take(1), width", DISCRETE),
    (inversion, "bits.call(invert, law, word, 64)", "bits.call(invert, law, 0, 0)", ROUNDED),
    (inversion, "bits.call(invert, law, word, 64)", "bits.call(invert, law, word, 63)", DISCRETE),
    (exact_fast, "resolved(law, word, bits)", "resolved(law, word ^ 1, bits)", DISCRETE),
    (exact_rounded, "RoundedNormal(shift, scale), word, bits)", "RoundedNormal(-shift, scale), word, bits)", ROUNDED),
    (exact_rounded, "rounding(words, shifts)", "rounding(words, abs(shifts))", ROUNDED),
    (exact_rounded, "rounding(words, shifts)", "rounding(words, shifts if shifts < 0.45 else 0.0)", ROUNDED),
    (exact_rounded, "ve(RoundedNormal(shift,", "ve(RoundedNormal(shift if float(shift) >= 0 else 0 * shift,", FINE),
    (
        exact_rounded,
        "ed(RoundedNormal(shift,",
        "ed(RoundedNormal(shift if float(shift) < 0.45 else 0 * shift,",
        ROUNDED,
    ),
    (exact_rounded, "RepeatedAnswer(whole, shift,", "RepeatedAnswer(whole, 2 * shift,", ROUNDED),
    (exact_fast, "RepeatedAnswer(grid.nearest(answer)", "RepeatedAnswer(grid.nearest(answer) + 1", DISCRETE),
    (rounding_filter, "value += shifts", "value -= shifts", ROUNDED),
    (rounding_filter, "table().greatest_error(self._degree)", "table().greatest_error(self._degree) / 3", ROUNDED),
    (rounding_filter, "<= self._greatest_distance  #", "<= 0.5  #", ROUNDED),
    (rounding_filter, "decided = np.abs(value, out=value) <=", "decided = np.abs(value, out=value) <", ROUNDED),
    (rounding_filter, "np.rint(value)", "np.floor(value)", ROUNDED),
    (rounding_filter, "self._scale = float(scale)", "self._scale = float(scale) * (1 - 2.0**-40)", ROUNDED),
    (mixture, "np.subtract(signed, below, out=below)", "np.subtract(below, signed, out=below)", FINE),
    (mixture, "below >>= 63", "below >>= 62", FINE),
    (mixture, "words >= self._limit", "words > self._limit", FINE),
    (mixture, "signed & self._width - 1)", "signed & self._width - 2)", FINE),
    (mixture, "= slot * capacity + count <<", "= slot * capacity + count + 1 <<", FINE),
    (mixture, "starts[2 * slot : 2 * slot + 2] = upper, lower", "starts[2 * slot : 2 * slot + 2] = lower, upper", FINE),
    (mixture, "each = far + (", "each = far + one + (", FINE),
    (mixture, "rise = max(min(near - far - 1, tangent), 0)", "rise = max(near - far - 1, 0)", FINE),
    (mixture, "rise = max(min(near - far - 1, tangent), 0)", "rise = tangent", FINE),
    (mixture, "(cell * width + 1) ** 2", "(cell * width) ** 2", FINE),
    (mixture, "place = max(place", "place = min(place", FINE),
    (mixture, "max(place, bits.take(self._width_bits))", "(bits.take(self._width_bits), max(place, place))[1]", FINE),
    (mixture, "if kind >= 2", "if kind == 2", FINE),
    (mixture, "return -1 - size if kind % 2", "return -size if kind % 2", FINE),
    (mixture, "(cell + 1) * self._width - 1 - place", "cell * self._width + place", FINE),
    (mixture, "bisect_right(self._ends, word)", "bisect_right(self._ends, word - 1)", FINE),
    (mixture, "bits.take(_WORD), bits)", "word, bits)", FINE),
    (mixture, "resolved(Remainder(law, self)", "resolved(law", FINE),
    (mixture, "part.ramp * along**2", "part.ramp * along", FINE),
    (mixture, "self.given(-outcome)", "self.given(1 - outcome)", FINE),
    (mixture, "with down:\n            rounded =", "with up:\n            rounded =", FINE),
    (mixture, "return 1 - 2 * mpq", "return 1 - mpq", FINE),
    (exact_rounded, "mixture.resolve(RoundedNormal(shift", "mixture.resolve(RoundedNormal(-shift", FINE),
    (quantile, "^= signed & _SIGN_BIT", "^= ~signed & _SIGN_BIT", ROUNDED),
    (quantile, "near + step + near * step * step / 2", "near * (1 + 2.0**-42)", ROUNDED),
    (quantile, "(-1) ** order * terms", "(-1) ** (order + (order == 3)) * terms", ROUNDED),
    (quantile, "self.greatest_slopes / 2 + left_out", "left_out / 9", ROUNDED),
    (
        quantile,
        "GREATEST_DEGREE + 1, len(_CELLS) + 2), np.nan)",
        "GREATEST_DEGREE + 1, len(_CELLS) + 2), 0.5)",
        ROUNDED,
    ),
    (exact_fast, 'side="right"', 'side="left"', DISCRETE),
    (exact_fast, "[low for low, _ in floors]", "[low + (low == floors[9][0]) for low, _ in floors]", DISCRETE),
    (exact_fast, "89 * variance", "60 * variance", DISCRETE),
    (exact_fast, "np.where(passed == passed_at_end", "np.where(passed + 1 >= passed_at_end", DISCRETE),
    (exact_fast, "last_passed == smaller", "last_passed > smaller", DISCRETE),
    (exact_fast, "^= signed & _SIGN_BIT", "^= ~signed & _SIGN_BIT", DISCRETE),
    (exact_fast, "TabledFilter(mpq(variance))", "TabledFilter(mpq(variance) * (1 + mpq(1, 2**40)))", DISCRETE),
    (exact_fast, "Fraction(3, 5) / sigma**3", "Fraction(3, 5) / sigma**4", LARGE),
    (exact_fast, "1 / (24 * variance)", "1 / (23 * variance)", LARGE),
    (exact_fast, "law = DiscreteGaussian(sigma**2)", "law = DiscreteGaussian(sigma)", DISCRETE),
    (exact_fast, "discrete_tail(outcome, mpq", "discrete_tail(outcome + 1, mpq", DISCRETE),
    (law, "discrete_tail(1 - threshold,", "discrete_tail(-threshold,", DISCRETE),
    (law, "with down:\n        lower = tail.lower / most", "with up:\n        lower = tail.lower / most", DISCRETE),
    (law, "(3 * mpfr(half_square) + 2)", "mpfr(0)", ROUNDED),
    (exact, "abs(proposed) - variance", "proposed - variance", DISCRETE),
    (exact, "bits.call(discrete_gaussian, sigma_steps**2)", "bits.call(discrete_gaussian, sigma_steps)", DISCRETE),
    (exact, "grid.nearest(answer) + bits", "2 * grid.nearest(answer) + bits", DISCRETE),
    (exact_rounded, "mpq(_HALF + self.shift)", "mpq(_HALF - self.shift)", ROUNDED),
    (exact_rounded, "mpq(self.scale) ** 2", "mpq(self.scale)", ROUNDED),
    (exact_rounded, "grid.steps_to(answer) - whole, scale", "whole - grid.steps_to(answer), scale", ROUNDED),
    (exact_rounded, "RoundedNormal(shift, scale), word", "RoundedNormal(Fraction(0), scale), word", ROUNDED),
    (exact_rounded, "RoundedNormal(shift, scale), 0, 0)", "RoundedNormal(shift, scale), 1, 2)", ROUNDED),
    (grids, "np.clip(outputs, -float(self.limit), float", "np.clip(outputs, -float(self.limit), 2 * float", ROUNDED),
    (grids, "np.add(noise, whole, out=outputs)", "np.subtract(noise, whole, out=outputs)", ROUNDED),
    (grids, "math.floor(self.steps_to(answer) + Fraction(1, 2))", "round(self.steps_to(answer))", DISCRETE),
    (grids, "answer), -end, end, missing", "answer), -end, 2 * end, missing", ROUNDED),
]


@pytest.mark.parametrize(
    ("module", "old", "new", "draft"),
    first_of_each(BROKEN, lambda one: (one[0] if one[0] is not quantile else inversion, one[3] is FINE)),
    ids=[f"{one[0].__name__}: {one[2]}" for one in BROKEN],
)
def test_a_broken_mechanism_is_refused(
    module: ModuleType, old: str, new: str, draft: Any, checked: Checked, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = {"kind": "zcdp", "rho": "1"}
    with monkeypatch.context() as patch:
        break_source(patch, module, old, new)
        broken = replace(
            draft,
            functions={role: vars(sys.modules[one.__module__])[one.__name__] for role, one in draft.functions.items()},
            parameters={**draft.parameters, "grid": grids.Grid(draft.parameters["grid"].exponent)},
        )
        with pytest.raises(Refused):
            checked(broken, claim=claim)


@pytest.mark.ci
def test_a_change_that_changes_nothing_is_accepted(checked: Checked, monkeypatch: pytest.MonkeyPatch) -> None:
    """The harness itself breaks nothing."""
    break_source(monkeypatch, inversion, "outcome += 1\n", "outcome = outcome + 1\n")
    functions = {role: vars(sys.modules[one.__module__])[one.__name__] for role, one in DISCRETE.functions.items()}
    assert "zCDP" in checked(DISCRETE, functions=functions).statement


@pytest.mark.slow
def test_every_cell_of_a_filter_is_found_to_keep_the_bound_that_it_has() -> None:
    words, scale = Traced.unknown("words", "uint64"), Fraction(7)
    wanted = Thresholds(scale, slack=Fraction(0), shift_error=Fraction(1, 1 << 55))
    found, reach = require_normal_filter(words, *RoundingFilter(scale)(words, 1 / 3), 1 / 3, wanted)
    assert found == 20 * 512
    assert 4.89 < reach < 4.91


@pytest.mark.slow
def test_a_filter_with_more_slack_than_it_was_made_for_is_refused() -> None:
    words, scale = Traced.unknown("words", "uint64"), Fraction(2**20)
    wanted = Thresholds(scale, slack=Fraction(1, 1 << 16), shift_error=Fraction(0))
    with pytest.raises(Refused, match="may be off by"):
        require_normal_filter(words, *RoundingFilter(scale)(words, 0.0), 0.0, wanted)


@pytest.mark.parametrize("bits", [40, 112, 300])
def test_the_checkers_normal_tail_and_density_agree_with_mpfr(bits: int) -> None:
    with gmpy2.context(precision=2 * bits + 100):
        for z in map(Fraction, ("-3", "1/10000", "1/1000", "1/3", "1", "29/10", "3", "31/10", "9/2", "10", "29", "60")):
            tail = gmpy2.erfc(gmpy2.mpfr(gmpy2.mpq(z)) / gmpy2.sqrt(gmpy2.mpfr(2))) / 2
            density = gmpy2.exp(gmpy2.mpfr(gmpy2.mpq(-z * z / 2))) / gmpy2.sqrt(2 * gmpy2.const_pi())
            for truth, (low, high) in ((tail, normal.tail(z, bits)), (density, normal.density(z, bits))):
                exact_truth = Fraction(*map(int, truth.as_integer_ratio()))
                assert low < exact_truth < high
                assert high - low <= high / 2**bits


@pytest.mark.parametrize("sigma", [Fraction(1, 10), Fraction(1), Fraction(19, 4), Fraction(40)])
def test_the_checkers_discrete_tails_agree_with_mpfr(sigma: Fraction) -> None:
    tails = DiscreteGaussian(sigma**2, 60, 128)
    for threshold in (-59, -1, 0, 1, 2, 7, 60):
        expected = law.discrete_tail(threshold, gmpy2.mpq(sigma**2), 400)
        low, high = tails.tail(threshold)
        assert low <= Fraction(gmpy2.mpq(expected.upper))
        assert Fraction(gmpy2.mpq(expected.lower)) <= high
        assert high - low <= high / 2**120


def test_what_is_traced_is_looked_up_in_public_tables_by_clipping_only() -> None:
    words, public = Traced.unknown("words", "uint64"), np.array([1.0, 2.0])
    index = words.view(np.int64) >> 62
    found = np.take(public, index, out=np.empty_like(words, dtype=np.float64), mode="clip")
    assert entries(found.step.operands[0]) == [1.0, 2.0]
    with pytest.raises(Refused):
        np.take(public, index, out=np.empty_like(words, dtype=np.float64), mode="wrap")
    with pytest.raises(Refused):
        np.take(public, index, out=np.empty(3), mode="clip")
    with pytest.raises(Refused):
        public[index]
    with pytest.raises(Refused):
        index.tolist()
    assert require_look_ups() > 10_000


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ("1", "1"),
        ("1/3", "1/3"),
        ("123456789", "123456789.0"),
        ("1234567890/7", "1.763669e+08"),
        ("1000000001/10000000000", "0.1000001"),
    ],
)
def test_numbers_are_shown_rounded_up(number: str, text: str) -> None:
    assert shown(Fraction(number)) == text
    assert Fraction(text) >= Fraction(number)
