"""The theorem on quantiles over candidates accepts the exact ones and refuses what differs."""

from __future__ import annotations

from fractions import Fraction
from operator import itemgetter
from typing import Any

import pytest

from checker.core.certificate import Conclusion, Refused
from checker.theorems import quantile as theorem
from experiments.certificates import DRAFTS
from mechanisms.grid import Grid
from mechanisms.quantile import candidates, exact
from mechanisms.quantile.candidates import Candidates
from tests.checker.conftest import Checked
from tests.checker.mutated_sources import mutate, rechecked
from tests.representatives import first_of_each

NAME = "exact_quantile"
DRAFT = DRAFTS[NAME]()


@pytest.mark.slow
def test_a_quantile_over_candidates_is_private_for_every_pair() -> None:
    found = rechecked(NAME)
    assert found.statement == "1-DP for every pair of databases one record apart, the quantile being 3/4"
    assert {"rank-utilities", "ranks", "rejection-from-levels"} <= set(found.lemmas)


@pytest.mark.slow
def test_it_is_so_at_other_parameters(checked: Checked) -> None:
    assert checked(DRAFTS["unlike_quantile"]()).statement.startswith("3/7-DP")


PARAMETERS: dict[str, Any] = dict(DRAFT.parameters)


@pytest.mark.parametrize(
    "change",
    [
        {"claim": {"kind": "approximate", "epsilon": "1", "delta": "1/100"}},
        {"claim": {"kind": "zcdp", "rho": "1/8"}},
        {"neighbours": "substitute"},
        {"neighbours": "add-remove or substitute"},
        {"parameters": {**PARAMETERS, "quantile": Fraction(5, 4)}},
        {"functions": {"reference": exact.exact_quantile}},
        {"functions": {"fast": exact.exact_quantile_fast}},
        {"functions": {"reference": exact.exact_exponential, "fast": exact.exact_exponential_fast}},
    ],
)
def test_what_is_false_is_refused(checked: Checked, change: dict[str, Any]) -> None:
    with pytest.raises((Refused, TypeError)):
        checked(DRAFT, **change)


@pytest.mark.parametrize(
    "change",
    [
        {"claim": {"kind": "pure", "epsilon": "999/1000"}},
        {"parameters": {**PARAMETERS, "epsilon": Fraction(1001, 1000)}},
    ],
)
def test_less_than_is_lost_cannot_be_claimed(checked: Checked, change: dict[str, Any]) -> None:
    with pytest.raises(Refused, match="more than"):
        checked(DRAFT, **change)


REFERENCE, FAST = "exact_quantile", "exact_quantile_fast"
MUTANTS: list[tuple[Any, str, str, str]] = [
    (candidates, "rank_utilities", 'side="left"', 'side="right"'),
    (candidates, "rank_utilities", 'side="right"', 'side="left"'),
    (candidates, "rank_utilities", "return -distances", "return distances"),
    (candidates, "rank_utilities", "np.abs(weight", "(weight"),
    (candidates, "rank_utilities", "weight_below * below", "weight_above * below"),
    (candidates, "rank_utilities", "- weight_above * above", "+ weight_above * above"),
    (candidates, "rank_utilities", "weight_below * below -", "weight_below * below * below -"),
    (candidates, "rank_utilities", "ranked.size -", "ranked.size + 1 -"),
    (candidates, "rank_utilities", "np.fmax(doubles", "(doubles"),
    (candidates, "rank_utilities", "np.fmin(np.fmax(", "np.maximum(np.fmax("),
    (candidates, "rank_utilities", "values[-1]))", "values[-2]))"),
    (candidates, "rank_utilities", "np.sort(", "np.unique("),
    (candidates, "rank_utilities", "np.sort(", "("),
    (candidates, "rank_utilities", "    return", "    distances += ranked.size > 5000\n    return"),
    (candidates, "rank_weights", "return exact.denominator - exact.numerator", "return exact.numerator"),
    (candidates, "rank_weights", "return exact.denominator - exact.numerator", "return exact.denominator"),
    (exact, REFERENCE, "max(rank_weights(quantile))", "min(rank_weights(quantile))"),
    (exact, REFERENCE, "max(rank_weights(quantile))", "max(rank_weights(quantile)) / 2"),
    (exact, REFERENCE, "sensitivity=sensitivity", "sensitivity=sensitivity, monotone=True"),
    (exact, REFERENCE, "epsilon=epsilon", "epsilon=2 * epsilon"),
    (exact, REFERENCE, "exact_exponential(utilities", "exact_exponential(-utilities"),
    (exact, REFERENCE, "values()[outcome]", "values()[outcome - 1]"),
    (exact, REFERENCE, "values()[outcome])", "values()[outcome]) + len(records)"),
    (exact, FAST, "max(rank_weights(quantile))", "min(rank_weights(quantile))"),
    (exact, FAST, "epsilon=epsilon", "epsilon=2 * epsilon"),
    (exact, FAST, "(utilities, trials, bits", "(utilities[:5000], trials, bits"),
    (exact, FAST, "values()[outcomes]", "values()[outcomes[::-1]]"),
    (exact, FAST, "values()[outcomes]", "values()"),
    (Candidates, "values", "last + 1", "last"),
    (Candidates, "values", "np.arange(first, last + 1)", "np.arange(last, first - 1, -1)"),
]  # fmt: skip


@pytest.mark.parametrize(("owner", "name", "old", "new"), first_of_each(MUTANTS, itemgetter(1)))
def test_a_mutant_is_refused(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, old: str, new: str) -> None:
    """None gets as far as the exponential mechanism, whose own mutants have tests of theirs."""

    def reached(_: object) -> Conclusion:
        raise AssertionError("the mutant was taken for the mechanism")

    mutate(monkeypatch, owner, name, old, new)
    if owner is candidates:
        monkeypatch.setattr(exact, name, vars(owner)[name])
    monkeypatch.setattr(theorem, "exponential_base_e", reached)
    with pytest.raises((Refused, TypeError, AttributeError)):
        rechecked(NAME)


def test_candidates_that_go_down_cannot_be_asked_for() -> None:
    with pytest.raises(ValueError, match="candidates"):
        Candidates(1, 0, Grid(0))
