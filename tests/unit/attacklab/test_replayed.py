"""What a replay adds to an audit: refutations and notes, never a verdict where it could not judge."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from attacklab.auditing.replayed import with_replay
from attacklab.cli.output import status_of
from attacklab.cli.status import Status
from attacklab.model.findings import Finding, Severity, Verdict
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.targets import Kind, Target
from attacklab.processes.targets import isolated

PAIR = NeighbouringPair(np.array([0.5, 1.0]), np.array([0.5]), Relation.ADD_REMOVE)
AGAIN = "attacklab replay some.py:target"


def half_the_noise(records: Any, trials: int, rng: np.random.Generator) -> Any:
    return records.sum() + rng.laplace(0, 0.5, trials)


def enough_noise(records: Any, trials: int, rng: np.random.Generator) -> Any:
    return records.sum() + rng.laplace(0, 1.0, trials)


def budget_twice(records: Any, trials: int, rng: np.random.Generator) -> Any:
    return (records.sum() + rng.laplace(0, 1.0, trials)) / (len(records) + rng.laplace(0, 1.0, trials))


def raw_bits(records: Any, trials: int, rng: np.random.Generator) -> Any:
    return [len(records) + int(word) % 7 for word in rng.integers(0, 1 << 62, trials)]


def place_in_a_chosen_interval(records: Any, trials: int, rng: np.random.Generator) -> Any:
    """The median by the exponential mechanism over the intervals between records (Smith 2011)."""
    ends = np.concatenate([[0.0], np.sort(np.clip(records, 0, 1)), [1.0]])
    weights = np.diff(ends) * np.exp(-np.abs(np.arange(len(records) + 1) - len(records) / 2))
    places = rng.choice(len(weights), trials, p=weights / weights.sum())
    return ends[places] + (ends[places + 1] - ends[places]) * rng.random(trials)


def steps_on_a_grid(records: Any, trials: int, rng: np.random.Generator) -> Any:
    stop = -np.expm1(-1 / 1024)
    return (np.rint(records * 1024).sum() + (rng.geometric(stop, trials) - rng.geometric(stop, trials))) * 2.0**-10


def one_after_another(records: Any, trials: int, rng: np.random.Generator) -> Iterator[Any]:
    return (records.sum() + rng.laplace(0, 0.5) for _ in range(trials))


def target_of(release: Callable[..., Any], **declared: Any) -> Target:
    return Target.dataset(release, epsilon=1.0, relation="add-remove", **{"pairs": [PAIR], **declared})


def sampled(target: Target, verdict: Verdict) -> Finding:
    return Finding(
        target=target.name, target_version="1", attack="bits", verdict=verdict, reason="none", claim=target.claim
    )


def with_sampled(release: Callable[..., Any], verdict: Verdict) -> list[Finding]:
    target = target_of(release)
    findings = with_replay(target, [sampled(target, verdict)], seed=0, again=AGAIN)
    assert findings[-1] == sampled(target, verdict)
    return findings


def test_a_refutation_stands_first_has_no_alpha_and_says_how_to_replay_it() -> None:
    first, _ = with_sampled(half_the_noise, Verdict.NOT_DETECTED)
    assert (first.attack, first.refutes, first.alpha, first.replay) == ("replay", True, None, AGAIN)
    assert status_of(with_sampled(half_the_noise, Verdict.UNTESTABLE)) is Status.REFUTED


def test_outputs_that_come_one_after_another_are_watched() -> None:
    assert with_sampled(one_after_another, Verdict.NOT_DETECTED)[0].refutes


def test_a_note_on_accounting_is_shown_and_changes_no_status() -> None:
    findings = with_sampled(budget_twice, Verdict.NOT_DETECTED)
    assert {finding.severity for finding in findings[:-1]} == {Severity.ACCOUNTING}
    assert status_of(findings) is Status.OK


@pytest.mark.parametrize("release", [place_in_a_chosen_interval, steps_on_a_grid])
def test_a_sound_use_of_uniform_numbers_or_of_steps_is_not_accused(release: Callable[..., Any]) -> None:
    assert {finding.verdict for finding in with_sampled(release, Verdict.NOT_DETECTED)} == {Verdict.NOT_DETECTED}


@pytest.mark.parametrize("verdict", [Verdict.UNTESTABLE, Verdict.INCONCLUSIVE, Verdict.ERROR, Verdict.NOT_APPLICABLE])
def test_nothing_found_does_not_stand_for_samples_that_could_not_decide(verdict: Verdict) -> None:
    findings = with_sampled(enough_noise, verdict)
    assert len(findings) == 1
    assert status_of(findings) is Status.FAILED


def test_nothing_found_is_told_beside_samples_that_found_nothing() -> None:
    first, _ = with_sampled(enough_noise, Verdict.NOT_DETECTED)
    assert first.verdict is Verdict.NOT_DETECTED
    assert "moves by at most 1" in first.reason


def test_what_cannot_be_judged_does_not_apply_and_says_why() -> None:
    first, _ = with_sampled(raw_bits, Verdict.NOT_DETECTED)
    assert first.verdict is Verdict.NOT_APPLICABLE
    assert "raw bits" in first.reason
    assert status_of(with_sampled(raw_bits, Verdict.UNTESTABLE)) is Status.FAILED


def test_a_target_that_is_to_be_proved_runs_elsewhere_or_has_no_pair_is_left_as_it_is() -> None:
    exact = target_of(half_the_noise).exact(lambda records, bits: len(records) + bits.take(1))
    elsewhere = isolated("tests.unit.attacklab.test_replayed:half_the_noise", kind=Kind.NOISE, epsilon=1.0)
    for target in (exact, elsewhere, target_of(half_the_noise, pairs=())):
        assert with_replay(target, [], seed=0, again=AGAIN) == []
