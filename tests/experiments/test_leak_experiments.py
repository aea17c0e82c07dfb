"""Experiments in quick runs: what is refuted and what is not; pages come from JSON alone."""

from pathlib import Path

import pytest

from attacklab.model.findings import Finding, Verdict
from attacklab.reporting.experiment import load_experiments
from tests.experiments.records import Data, committed_record, quick_record, require_page

pytestmark = pytest.mark.slow

EXPERIMENTS = load_experiments(Path(__file__).parents[2])


def written(name: str) -> Data:
    """What an experiment wrote in a quick run, read again; figures and paragraph come from that alone."""
    data = quick_record(EXPERIMENTS[name])
    require_page(EXPERIMENTS[name], data)
    return data


def verdicts(data: Data, target: str) -> set[str]:
    return {finding["verdict"] for finding in data["findings"] if finding["target"] == target}


def test_special_values_violate_every_naive_sum_and_are_noted_of_naive_selections() -> None:
    """Each exact finding is a false alarm with probability below 1e-7, at this fixed seed."""
    data = written("special_values")
    for name in ("naive_sum", "naive_refusing_sum"):
        assert "violated" in verdicts(data, name)
    for name in ("naive_exponential", "naive_exponential_stabilised"):  # nothing is claimed of NaN among utilities
        assert verdicts(data, name) == {"not applicable", "not detected"}
    for name in ("exact_sum", "exact_exponential"):
        assert verdicts(data, name) == {"not detected"}
    silent = data["measured"]["silent"]
    assert [one["estimate"] for one in silent["naive_silent_laplace"]][:2] == [1.0, 1.0]
    assert max(abs(one["estimate"]) for one in silent["exact_silent_laplace"]) < 0.05


def test_counted_work_violates_the_loop_and_not_fixed_work() -> None:
    """Each finding on fixed work is a false alarm with probability below 1e-7, at this fixed seed."""
    data = written("observed_work")
    assert verdicts(data, "seeing_work(naive_geometric)") == {"violated"}
    assert data["measured"]["outputs"] <= 300
    for name in ("exact_fixed_work", "exact_exponential_fixed_work"):
        assert verdicts(data, f"seeing_work({name})") == {"not detected"}


NAMED = {"zero_rounding": "naive_exponential", "low_bit_laplace": "naive_laplace_numpy"}


def refuted(data: Data) -> set[str]:
    findings = [Finding.from_json(finding) for finding in data["findings"]]
    return {finding.target for finding in findings if finding.verdict is Verdict.VIOLATED}


@pytest.mark.parametrize("attack", NAMED)
def test_an_experiment_refutes_its_naive_twin_in_a_quick_run(attack: str) -> None:
    data = quick_record(EXPERIMENTS[attack])
    require_page(EXPERIMENTS[attack], data)
    assert NAMED[attack] in refuted(data)


@pytest.mark.parametrize("name", ["truncated_addition", "precision", "sum_sensitivity"])
def test_the_record_refutes_naive_targets_and_no_exact_one(name: str) -> None:
    data = committed_record(name)
    assert {target.partition("_")[0] for target in refuted(data)} == {"naive"}
    assert any(finding["target"].startswith("exact_") for finding in data["findings"])
