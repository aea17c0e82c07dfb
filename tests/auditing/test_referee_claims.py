"""Audits of claims of every kind and relation: a broken mechanism is refuted, a sound one is not."""

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from attacklab.attacks import MISSING_CLIP, SPECIAL_VALUES, BlackBox
from attacklab.attacks.base import Event, FunctionAttack, Probe, Scenario
from attacklab.auditing.referee import audit
from attacklab.auditing.statistics.betting import evidence
from attacklab.model.claims import Claim, GaussianDP, PrivacyClaim, Profile, Renyi, ZeroConcentrated
from attacklab.model.findings import Finding, Verdict
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.targets import Kind, Target


def half_lines(_target: Target, _probe: Probe) -> Iterable[Scenario]:
    """Bets that an answer is at least one of some thresholds above the lower of two true answers."""
    thresholds = (-0.5, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
    yield Scenario(NeighbouringPair(1.0, 0.0, None), tuple(map(half_line, thresholds)))


def half_line(threshold: float) -> Event:
    return Event(f"the answer is at least {threshold:g}", lambda outputs: np.asarray(outputs >= threshold))


CLAIMS: list[Claim] = [
    PrivacyClaim(1.0, GaussianDP(1.0).delta_at(1.0)),
    ZeroConcentrated(0.5),
    Renyi((2.0, 8.0, 32.0), (1.0, 4.0, 16.0)),
    GaussianDP(1.0),
    Profile(GaussianDP(1.0).delta_at, "the profile of N(1, 1) against N(0, 1)"),
]
"""What noise of σ = Δ = 1 keeps."""

KINDS = [type(claim).__name__ for claim in CLAIMS]
ATTACK = FunctionAttack(half_lines, "too little noise", frozenset({Kind.NOISE}), "none")
ALPHA = 1e-6


def gaussian(answer: float, trials: int, rng: np.random.Generator, *, sigma: float) -> NDArray[np.float64]:
    return answer + sigma * rng.standard_normal(trials)


def audited(claim: Claim, sigma: float, trials: int = 20_000, seed: int = 0, **options: object) -> Finding:
    target = Target.noise(partial(gaussian, sigma=sigma), claim=claim, name="gaussian")
    (finding,) = audit(target, [ATTACK], trials=trials, alpha=ALPHA, seed=seed, **options)
    return replace(finding, seconds=0.0)


@pytest.mark.parametrize("claim", CLAIMS, ids=KINDS)
def test_half_the_noise_that_is_claimed_is_refuted_under_every_kind_of_claim(claim: Claim) -> None:
    """Each takes some 700 trials at the most, and has 20 000."""
    for seed in range(3):
        finding = audited(claim, 0.5, seed=seed)
        assert finding.verdict is Verdict.VIOLATED
        assert finding.samples.trials_needed < 20_000


@pytest.mark.parametrize("claim", CLAIMS, ids=KINDS)
def test_the_noise_that_is_claimed_is_refuted_under_no_kind_of_claim(claim: Claim) -> None:
    """Each of 15 audits is a false alarm with probability at most 1e-6."""
    for seed in range(3):
        assert audited(claim, 1.0, seed=seed).verdict is Verdict.NOT_DETECTED


@pytest.mark.parametrize("claim", CLAIMS, ids=KINDS)
@pytest.mark.parametrize("sigma", [0.5, 1.0])
def test_an_event_is_judged_at_a_point_of_the_profile_by_the_fresh_sample(claim: Claim, sigma: float) -> None:
    finding = audited(claim, sigma)
    judged = finding.shown.judged_at or claim
    assert isinstance(judged, PrivacyClaim)
    assert (finding.shown.judged_at is None) == isinstance(claim, PrivacyClaim)
    assert judged.epsilon in claim.points
    assert judged.delta == claim.delta_at(judged.epsilon)
    assert (finding.claim, finding.shown.ceiling) == (claim, claim.ceiling)
    assert finding.samples is not None
    decided_by_evidence = evidence(judged, finding.samples.counts) >= math.log(2 / ALPHA)
    assert decided_by_evidence == (finding.verdict is Verdict.VIOLATED)


def test_a_claim_with_one_point_is_judged_as_the_epsilon_and_delta_that_it_is() -> None:
    """The same outputs, the same event, the same bounds; only the claim has another name."""
    plain = PrivacyClaim(1.0, GaussianDP(1.0).delta_at(1.0))
    profile = Profile(((plain.epsilon, plain.delta),), "one point")
    for sigma in (0.5, 0.9, 1.0):
        one, other = (audited(claim, sigma, seed=3) for claim in (plain, profile))
        assert other.shown.judged_at == plain
        assert other.shown.ceiling == pytest.approx(one.shown.ceiling)
        assert other.samples is not None
        same = replace(other.samples, judged_at=None, ceiling=one.shown.ceiling)
        assert replace(other, claim=plain, evidence=same, reason=one.reason) == one


ZEROS = np.zeros(3)
BOUNDS = (0.0, 1.0)


def each(target: Target, probe: Probe) -> Iterable[Scenario]:
    """One pair of each relation that records have, and one of true answers."""
    probe(ZEROS, 1)
    ones = Event("more than a half", lambda outputs: outputs > 0.5)
    for pair in (
        NeighbouringPair.records(ZEROS, np.zeros(2), Relation.ADD_REMOVE),
        NeighbouringPair.records(ZEROS, np.array([0.0, 1.0, 0.0]), Relation.SUBSTITUTE),
        NeighbouringPair.answers(0.0, 1.0, sensitivity=target.sensitivity),
    ):
        yield Scenario(pair, (ones,))


EACH = FunctionAttack(each, "none", frozenset({Kind.DATASET}), "none")


def largest(records: float, trials: int, _: np.random.Generator) -> np.ndarray:
    """Gives away the largest record, which only replacing one changes here."""
    return np.full(trials, np.max(records))


def relations(findings: Iterable[Finding]) -> set[Any]:
    return {finding.pair["relation"] for finding in findings if finding.pair is not None}


@pytest.mark.parametrize(
    ("relation", "verdict"), [("add-remove", Verdict.NOT_DETECTED), ("substitute", Verdict.VIOLATED)]
)
def test_a_claim_is_judged_on_pairs_of_its_own_relation(relation: str, verdict: Verdict) -> None:
    target = Target.dataset(largest, epsilon=1.0, relation=relation)
    records, answers = audit(target, [EACH], trials=2_000)
    assert (records.relation, answers.relation) == (relation, relation)
    assert records.pair["relation"] == relation
    assert records.verdict is verdict
    assert answers.pair["relation"] is None
    assert answers.verdict is Verdict.VIOLATED


def test_a_claim_without_a_relation_is_judged_on_pairs_of_any() -> None:
    findings = audit(Target.dataset(largest, epsilon=1.0), [EACH], trials=2_000)
    assert relations(findings) == {"add-remove", "substitute", None}
    assert {finding.relation for finding in findings} == {None}


@pytest.mark.parametrize("relation", ["add-remove", "substitute"])
@pytest.mark.parametrize(
    ("attack", "kind"),
    [
        (MISSING_CLIP.given(size=16), "sum"),
        (MISSING_CLIP.given(size=16), "mean"),
        (SPECIAL_VALUES, "sum"),
        (SPECIAL_VALUES, "mean"),
        (BlackBox(learning=64), "mean"),
    ],
)
def test_attacks_that_can_make_pairs_of_either_relation_do(relation: str, attack: Any, kind: str) -> None:
    target = getattr(Target, kind)(
        lambda records, trials, rng: np.clip(np.nan_to_num(records), *BOUNDS).sum() + rng.laplace(0.0, 2.0, trials),
        epsilon=1.0,
        bounds=BOUNDS,
        relation=relation,
    )
    assert relations(audit(target, [attack], trials=10)) == {relation}
