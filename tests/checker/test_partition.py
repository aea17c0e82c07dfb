"""The theorem on histograms by threshold accepts the exact one and refuses what differs."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from operator import itemgetter
from typing import Any

import pytest

from checker.core.certificate import Refused
from experiments.certificates import DRAFTS
from mechanisms.laplace import exact as laplace
from mechanisms.partition_selection import exact, tally, threshold
from tests.checker.conftest import Checked
from tests.checker.mutated_sources import mutate, rechecked
from tests.representatives import first_of_each

NAME = "exact_partition_selection"
DRAFT = DRAFTS[NAME]()


def claimed(epsilon: str, delta: str) -> dict[str, str]:
    return {"kind": "approximate", "epsilon": epsilon, "delta": delta}


@pytest.mark.slow
def test_a_histogram_by_threshold_is_private_for_every_pair() -> None:
    """What may be claimed at the least is e^(−5)/(1 + e^(−1)) = 0.00492583395603572877…, by mpmath."""
    found = rechecked(NAME, claim=claimed("1", "0.004925833956035729"))
    assert found.statement == (
        "(1, 0.004925834)-DP for every pair of databases one person apart, counts of 6 and more being shown"
    )
    assert {"tally", "thresholded-counts", "keys"} <= set(found.lemmas)


def test_less_than_what_the_threshold_gives_is_refused(checked: Checked) -> None:
    with pytest.raises(Refused, match="which is less than"):
        checked(DRAFT, claim=claimed("1", "0.004925833956035728"))


@pytest.mark.slow
def test_it_is_so_at_the_parameters_of_a_real_release_and_at_points_of_a_profile(checked: Checked) -> None:
    assert "counts of 49 and more" in checked(DRAFTS["unlike_partition_selection"]()).statement
    assert checked(DRAFT, claim={"kind": "profile", "points": [["1", "1/200"], ["2", "1/200"]]})


@pytest.mark.few(6)
@pytest.mark.parametrize(
    "change",
    [
        {"claim": claimed("999/1000", "1/128")},
        {"claim": {"kind": "pure", "epsilon": "1"}},
        {"claim": {"kind": "zcdp", "rho": "1/2"}},
        {"claim": {"kind": "profile", "points": [["1/2", "1/100"], ["1", "1/128"]]}},
        {"neighbours": "substitute"},
        {"parameters": {"epsilon": Fraction(2), "delta": Fraction(1, 128)}},
        {"parameters": {"epsilon": Fraction(1), "delta": Fraction(1, 50)}},
        {"parameters": {"epsilon": Fraction(1), "delta": Fraction(2, 3)}},
        {"parameters": {"epsilon": Fraction(-1), "delta": Fraction(1, 128)}},
        {"functions": {"reference": exact.exact_partition_selection}},
        {"functions": {"fast": exact.exact_partition_selection_fast}},
    ],
)
def test_what_is_false_is_refused(checked: Checked, change: dict[str, Any]) -> None:
    with pytest.raises(Refused):
        checked(DRAFT, **change)


CLAIMED, CLAIMED_FAST = "exact_partition_selection", "exact_partition_selection_fast"
REFERENCE, FAST = "by_threshold", "by_threshold_fast"
MUTANTS: list[tuple[Any, str, str, str]] = [
    (exact, "reaching", "count >= threshold", "count > threshold"),
    (exact, "reaching", "count >= threshold", "count >= threshold - 1"),
    (exact, "reaching", "count >= threshold", "count >= threshold or key == 'secret'"),
    (exact, "reaching", "(key, count)", "(key, max(count, threshold + 1))"),
    (exact, "reaching", "zip(keys, noisy, strict=True)", "sorted(zip(keys, noisy), key=lambda one: one[1])"),
    (exact, "reaching", "zip(keys, noisy, strict=True)", "list(zip(keys, noisy))[:5000]"),
    (exact, "reaching", "zip(keys, noisy, strict=True)", "list(zip(keys, noisy))[::-1]"),
    (exact, REFERENCE, "1 / positive", "Fraction(2**52 - 1, 2**52) / positive"),
    (
        exact,
        REFERENCE,
        "[noisy_integer(count, scale, bits)",
        "[count if count > 1000 else noisy_integer(count, 1, bits)",
    ),
    (exact, REFERENCE, "[noisy_integer(count, scale, bits) for", "[noisy_integer(2 * count, scale, bits) for"),
    (exact, CLAIMED, "least_threshold(epsilon, delta)", "least_threshold(epsilon, 2 * delta)"),
    (exact, REFERENCE, "for _, count in tallied]", "for _, count in tallied[:5000]]"),
    (exact, REFERENCE, "[key for key, _ in tallied]", "[key for key, _ in tallied][::-1]"),
    (exact, FAST, "1 / positive", "Fraction(2**52 - 1, 2**52) / positive"),
    (exact, CLAIMED_FAST, "least_threshold(epsilon, delta)", "least_threshold(epsilon, 2 * delta)"),
    (exact, CLAIMED_FAST, "least_threshold(epsilon, delta)", "least_threshold(epsilon, delta) - 1"),
    (exact, FAST, "for _, count in tallied]", "for _, count in tallied][::-1]"),
    (exact, FAST, "for _, count in tallied]", "for _, count in tallied] + noise"),
    (exact, FAST, ".reshape(trials, len(tallied))", ".reshape(len(tallied), trials).T"),
    (exact, FAST, "trials * len(tallied), bits).reshape(trials, len(tallied))", "trials, bits).reshape(trials, 1)"),
    (exact, FAST, ".clip(-INTEGER_LIMIT, INTEGER_LIMIT)", ".clip(threshold, INTEGER_LIMIT)"),
    (exact, FAST, ".clip(-INTEGER_LIMIT, INTEGER_LIMIT)", ""),
    (exact, FAST, "in noisy.tolist()]", "in noisy.tolist()][::-1]"),
    (tally, "tally", "tuple(sorted(", "tuple(list("),
    (tally, "tally", "map(plain_key, keys)", "map(plain_key, set(keys))"),
    (tally, "tally", "map(plain_key, keys)", "list(map(plain_key, keys))[:10**6]"),
    (tally, "tally", "Counter(map(plain_key, keys)).items()", "Counter(map(plain_key, keys)).most_common(10**9)"),
    (tally, "plain_key", "return str.__str__(key)", "return str.__str__(key).lower()"),
    (tally, "plain_key", "return str.__str__(key)", "return key"),
    (threshold, "least_threshold", "return found", "return found - 1"),
    (threshold, "_excess", "(1 + other)", "(3 + other)"),
    (threshold, "_excess", "(threshold - 1)", "threshold"),
    (laplace, "noisy_integer", "clamp_integer(answer) + bits", "clamp_integer(answer) + 2 * bits"),
    (laplace, "noisy_integer", "return clamp_integer(", "return ("),
    (laplace, "_signed_laplace", "// s, bits)", "// (s + 1), bits)"),
]


@pytest.fixture
def _no_thresholds_are_kept() -> Iterator[None]:
    threshold._least.cache_clear()
    yield
    threshold._least.cache_clear()


@pytest.mark.few(6)
@pytest.mark.usefixtures("_no_thresholds_are_kept")
@pytest.mark.parametrize(("owner", "name", "old", "new"), first_of_each(MUTANTS, itemgetter(1)))
def test_a_mutant_is_refused(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, old: str, new: str) -> None:
    mutate(monkeypatch, owner, name, old, new)
    for user in (tally, threshold, exact):
        if name in vars(user):
            monkeypatch.setattr(user, name, vars(owner)[name])
    with pytest.raises((Refused, TypeError, AttributeError)):
        rechecked(NAME)
