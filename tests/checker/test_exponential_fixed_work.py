"""The theorem on selection with fixed work accepts the exact mechanism and refuses what differs from it."""

from __future__ import annotations

import inspect
import sys
from dataclasses import replace
from fractions import Fraction
from types import ModuleType
from typing import Any

import pytest

from attacklab.certificates import certificate
from checker.check import check
from checker.core.certificate import Certificate, Conclusion, Refused
from checker.models.fixed_work import tickets_of, weights_of
from experiments.certificates import DRAFTS
from mechanisms.exponential import exact_fixed_work
from mechanisms.exponential.base2.eta import BaseTwoEta
from mechanisms.exponential.exact_fixed_work import FixedWork
from tests.checker.conftest import Checked

APART = "utilities at most the sensitivity apart"
DRAFT = DRAFTS["exact_exponential_fixed_work"]()
SHORT = replace(
    DRAFT,
    parameters={
        "work": FixedWork(BaseTwoEta(5, 3, 2), steps=2, precision=4, spare=6),
        "utility_range": (-3, 2),
        "sensitivity": Fraction(1, 2),
    },
    claim={"kind": "pure", "epsilon": "3.83"},
)
"""R = (8/5)^8, and ln((64·R + 2)/62) = 3.7925…; a unit of utility has four levels, so that doubles are read at once."""


def mutated(monkeypatch: pytest.MonkeyPatch, old: str, new: str) -> Conclusion:
    """Check the short draft with a piece of the mechanism's source replaced, hashes aside."""
    source = inspect.getsource(exact_fixed_work)
    assert source.count(old) == 1, f"{old!r} is there {source.count(old)} times"
    name = f"{exact_fixed_work.__name__}_mutant"
    mutant = ModuleType(name)
    monkeypatch.setitem(sys.modules, name, mutant)
    exec(compile(source.replace(old, new), name, "exec"), vars(mutant))  # noqa: S102
    given: dict[str, Any] = certificate("mutant", SHORT)
    functions = {role: f"{name}:{function.__name__}" for role, function in SHORT.functions.items()}
    return check(Certificate(**{**given, "functions": functions}), sources=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["exact_exponential_fixed_work", "unlike_exponential_fixed_work"])
def test_the_mechanism_is_private_for_every_pair(checked: Checked, name: str) -> None:
    draft = DRAFTS[name]()
    found = checked(draft)
    epsilon = Fraction(draft.claim["epsilon"])
    assert found.statement.startswith(f"{epsilon}-DP for any number of outcomes and every pair of {draft.neighbours}")
    assert found.checked["large"] == 1
    assert found.checked["tickets of levels"] > 1_000


@pytest.mark.parametrize(
    "name",
    [pytest.param("small_exponential_fixed_work", marks=pytest.mark.slow), "small_exponential_fixed_work_four"],
)
def test_in_a_small_scope_every_law_is_found_and_every_pair_compared(checked: Checked, name: str) -> None:
    found = checked(DRAFTS[name]())
    assert found.lemmas == ()
    assert found.checked["pairs"] > 4_000


@pytest.mark.slow
def test_a_mechanism_of_few_bits_is_private_too(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "as many bits and comparisons" in mutated(monkeypatch, "the quotient 2^k/T", "the quotient").statement


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"claim": {"kind": "pure", "epsilon": "3.79"}}, r"may lose 3\.79"),
        ({"claim": {"kind": "pure", "epsilon": "0"}}, "may lose"),
        ({"claim": {"kind": "approximate", "epsilon": "4", "delta": "0"}}, "pure"),
        ({"neighbours": "answers at most 1 apart"}, "neighbours"),
        ({"theorem": "exponential_base2"}, "eta"),
    ],
)
def test_a_false_claim_is_refused(checked: Checked, changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        checked(SHORT, **changes)


def test_an_eta_a_hair_too_large_is_refused(checked: Checked) -> None:
    work = FixedWork.from_epsilon(1)
    steeper = replace(work, eta=BaseTwoEta(work.eta.x - (1 << 32), work.eta.y))
    with pytest.raises(Refused, match=r"may lose 1\.0"):
        checked(DRAFT, parameters={**DRAFT.parameters, "work": steeper})


SLOW = [
    ("ticket = bits.take(self.bits)", "ticket = bits.take(self.bits)\n        if len(levels) > 300: bits.take(1)"),
    ("np.ceil(clamped", "np.floor(clamped"),
    ("np.ceil(clamped", "np.ceil(2.0**-60 + clamped"),
    ("lower / factor), upper", "lower / factor), lower"),
    ("np.fmin(np.fmax(utilities, lower / factor)", "np.fmax(np.fmin(utilities, lower / factor)"),
    ("np.fmax(utilities, lower", "np.maximum(utilities, lower"),
    ("- depths.min(), float(deepest)", "- depths.min(), float(deepest - 1)"),
    ("- depths.min()", "- depths[0]"),
]
"""Slips that the checker meets late: with many outcomes, and in how doubles are read."""


@pytest.mark.few(8)
@pytest.mark.parametrize(
    ("old", "new"),
    [
        # weights
        ("-(-weights[-1] * numerator // denominator)", "(weights[-1] * numerator // denominator)"),
        ("-(-weights[-1] * numerator // denominator)", "round(weights[-1] * numerator / denominator)"),
        ("weights = [1 << self.work.precision]", "weights = [2 << self.work.precision]"),
        # tickets
        ("ticket >= threshold for", "ticket > threshold for"),
        ("self._total_bits + self.work.spare", "self._total_bits + self.work.spare - 1"),
        ("before * quotient >> shift)", "(before * quotient >> shift) + 1)"),
        ("digit = doubled >= total", "digit = doubled > total"),
        ("for _ in range(self._digits):", "for _ in range(self._digits - 1):"),
        ("(self.outcomes - 1).bit_length() + 1", "(self.outcomes - 1).bit_length()"),
        ("quotient = self._padded_quotient(sums[-1])", "quotient = self._padded_quotient(sums[-1] - 1)"),
        ("quotient = self._padded_quotient(sums[-1])", "quotient = self._padded_quotient(sums[-2])"),
        ("ticket = bits.take(self.bits)", "ticket = bits.take(self.bits) if levels[0] else bits.take(self.bits)\n"
         "        bits.take(levels[0] > 1)"),
        # levels
        ("divmod(work.steps * shortfall, 1)[0]", "divmod(work.steps * shortfall, 1)[0] + (shortfall > 1)"),
        ("divmod(work.steps * shortfall, 1)[0]", "divmod(shortfall, 1)[0] * work.steps"),
        ("best = min(depths)", "best = depths[0]"),
        ("best = min(depths)", "best = 0"),
        ("best = min(depths)", "best = max(depths)"),
        ("min(depth - best, deepest)", "min(depth - best, deepest - 1)"),
        ("min(depth - best, deepest)", "min(2 * (depth - best), deepest)"),
        # levels of doubles
        ("np.ceil(clamped", "np.rint(clamped"),
        # work
        (
            "return sum(ticket >= threshold for threshold in thresholds)",
            "return next((o for o, t in enumerate(thresholds) if ticket < t), len(thresholds))",
        ),
        *(pytest.param(*one, marks=pytest.mark.slow) for one in SLOW),
    ],
)  # fmt: skip
def test_a_broken_mechanism_is_refused(monkeypatch: pytest.MonkeyPatch, old: str, new: str) -> None:
    with pytest.raises(Refused):
        mutated(monkeypatch, old, new)


def test_the_model_draws_as_its_formulas_say() -> None:
    """The factor is 25/64: 16, ⌈6.25⌉, ⌈2.73…⌉, ⌈1.17…⌉, ⌈0.78…⌉. Of 16 + 3 + 7 the quotient is
    ⌊2^18/26⌋ = 10082.
    """
    work = SHORT.parameters["work"]
    assert weights_of(work, 10) == (16, 7, 3, 2, 1)
    assert weights_of(work, 2) == (16, 7, 3)
    assert tickets_of(work, 10, (0, 2, 1)) == (12, [16 * 10082 // 64, 19 * 10082 // 64])
