"""The relation of a claim: pairs of another one are left out, wherever the claim was stated."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from attacklab.attacks import MISSING_CLIP, SPECIAL_VALUES, BlackBox
from attacklab.attacks.base import Event, Probe, Scenario
from attacklab.auditing.referee import audit
from attacklab.model.findings import Finding, Verdict
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.targets import Kind, Target

ZEROS = np.zeros(3)
BOUNDS = (0.0, 1.0)


@dataclass(frozen=True)
class Each:
    """One pair of each relation that records have, and one of true answers."""

    name: str = "each"
    flaw: str = "none"

    def applies_to(self, target: Target) -> bool:
        return target.kind is not Kind.NOISE

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        probe(ZEROS, 1)
        ones = Event("more than a half", lambda outputs: outputs > 0.5)
        for pair in (
            NeighbouringPair.records(ZEROS, np.zeros(2), Relation.ADD_REMOVE),
            NeighbouringPair.records(ZEROS, np.array([0.0, 1.0, 0.0]), Relation.SUBSTITUTE),
            NeighbouringPair.answers(0.0, 1.0, sensitivity=target.sensitivity),
        ):
            yield Scenario(pair, (ones,))


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
    records, answers = audit(target, [Each()], trials=2_000)
    assert (records.relation, answers.relation) == (relation, relation)
    assert records.pair["relation"] == relation
    assert records.verdict is verdict
    assert answers.pair["relation"] is None
    assert answers.verdict is Verdict.VIOLATED


def test_a_claim_without_a_relation_is_judged_on_pairs_of_any() -> None:
    findings = audit(Target.dataset(largest, epsilon=1.0), [Each()], trials=2_000)
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
