"""The experiments on attacks, by their records: naive twins are refuted, exact ones not; pages come from JSON alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

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
    "low_bit_laplace": "naive_laplace_numpy",
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
def test_an_experiment_refutes_its_naive_twin_in_a_quick_run(attack: str) -> None:
    data = quick_record(EXPERIMENTS[attack])
    require_page(EXPERIMENTS[attack], data)
    assert NAMED[attack] in refuted(data)


def test_the_bet_on_n_looks_at_nothing_but_the_answers() -> None:
    """A mechanism that answers alike on all data gives it no advantage at all."""

    def release(people: NDArray[np.float64], trials: int, rng: np.random.Generator) -> NDArray[np.float64]:  # noqa: ARG001
        return np.linspace(-5e4, 5e4, trials)

    target = Target.mean(release, bounds=(0.0, 100.0), epsilon=local_sensitivity.SMALL_EPSILON)
    group = np.array([0.0, 0.0, 100.0])
    bet = bet_on_size(target, group, 1, 50_000, 0.01, np.random.default_rng(0))
    assert bet["estimate"] == 0
    assert bet["lower"] < 0 < bet["upper"]
