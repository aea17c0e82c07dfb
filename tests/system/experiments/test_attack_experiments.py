"""The experiments on attacks, by their records: naive twins are refuted, exact ones not; pages come from JSON alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from attacklab.model.claims import PrivacyClaim
from attacklab.model.findings import Finding, Verdict
from attacklab.model.targets import Target
from attacklab.reporting.experiment import load_experiments
from experiments import local_sensitivity
from experiments.common.reading_size import bet_on_size
from tests.system.experiments.records import Data, committed_record, quick_record, require_page

ROOT = Path(__file__).parents[3]
EXPERIMENTS = load_experiments(ROOT)
WITH_FINDINGS = ("zero_rounding", "truncated_addition", "low_bit_laplace", "precision", "sum_sensitivity")
NAMED = {
    "zero_rounding": "naive_exponential",
    "truncated_addition": "naive_exponential_bfloat16",
    "low_bit_laplace": "naive_laplace_numpy",
    "local_sensitivity": "naive_local_sensitivity_mean",
}


def refuted(data: Data) -> set[str]:
    findings = [Finding.from_json(finding) for finding in data["findings"]]
    return {finding.target for finding in findings if finding.verdict is Verdict.VIOLATED}


@pytest.mark.parametrize("name", WITH_FINDINGS)
def test_naive_twins_are_refuted_and_exact_ones_are_not(name: str) -> None:
    data = committed_record(name)
    assert any(target.startswith("naive_") for target in refuted(data))
    assert not any(target.startswith("exact_") for target in refuted(data))
    assert any(finding["target"].startswith("exact_") for finding in data["findings"])


@pytest.mark.parametrize("attack", NAMED)
def test_each_of_the_four_named_attacks_refutes_its_naive_twin_in_a_quick_run(attack: str) -> None:
    data = quick_record(EXPERIMENTS[attack])
    require_page(EXPERIMENTS[attack], data)
    assert NAMED[attack] in refuted(data)


def test_the_figures_of_the_sources_come_out() -> None:
    """ε = 0.5, 100 outcomes: 0.99 naive, 0.0028 ideal; two outcomes: 1 and 0.124 (Ilvento's demonstration)."""
    data = quick_record(EXPERIMENTS["zero_rounding"], seed=3)
    measured = data["measured"]
    at = measured["epsilons"].index(0.5)
    assert measured["ideal"]["2"][at] == pytest.approx(0.124, abs=5e-4)
    assert measured["ideal"]["100"][at] == pytest.approx(0.0028, abs=5e-5)
    findings = [Finding.from_json(finding) for finding in data["findings"]]
    naive = [one for one in findings if one.target == "naive_exponential" and one.claim == PrivacyClaim(0.5)]
    assert [round(one.advantage.estimate, 2) for one in naive if one.advantage] == [1.0, 0.99]


def test_the_bet_on_n_looks_at_nothing_but_the_answers() -> None:
    """A mechanism that answers alike on all data gives it no advantage at all."""

    def release(people: NDArray[np.float64], trials: int, rng: np.random.Generator) -> NDArray[np.float64]:  # noqa: ARG001
        return np.linspace(-5e4, 5e4, trials)

    target = Target.mean(release, bounds=(0.0, 100.0), epsilon=local_sensitivity.SMALL_EPSILON)
    group = np.array([0.0, 0.0, 100.0])
    bet = bet_on_size(target, group, 1, 50_000, 0.01, np.random.default_rng(0))
    assert bet["estimate"] == 0
    assert bet["lower"] < 0 < bet["upper"]


def test_a_pair_is_said_to_refute_a_claim_only_where_a_finding_does() -> None:
    data = committed_record("local_sensitivity")
    assert "single answers refute ε = 1" in local_sensitivity.explain(data)
    for finding in data["findings"]:
        finding["verdict"] = Verdict.NOT_DETECTED
    assert "single answers were too few to refute ε = 1" in local_sensitivity.explain(data)
