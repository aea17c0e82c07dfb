"""An attack kept to one relation: other pairs are left out, and all else is the attack's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pytest

from attacklab.attacks.base import Event, Probe, Scenario
from attacklab.findings import Finding, Verdict
from attacklab.neighbours import NeighbouringPair, Relation
from attacklab.referee import audit
from attacklab.related import Related
from attacklab.targets import Kind, Target

ZEROS = np.zeros(3)


@dataclass(frozen=True)
class Each:
    """One pair of each relation that records have, and one of true answers."""

    name: str = "each"
    flaw: str = "none"

    def applies_to(self, target: Target) -> bool:
        return target.kind is Kind.DATASET

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        probe(ZEROS, 1)
        ones = Event("more than a half", lambda outputs: outputs > 0.5)
        for pair in (
            NeighbouringPair.records(ZEROS, np.zeros(2), Relation.ADD_REMOVE),
            NeighbouringPair.records(ZEROS, np.array([0.0, 1.0, 0.0]), Relation.SUBSTITUTE),
            NeighbouringPair.answers(0.0, 1.0, sensitivity=target.sensitivity),
        ):
            yield Scenario(pair, (ones,))


def audited(relation: Relation, target: Target) -> list[Finding]:
    return audit(target, [Related(Each(), relation)], trials=2_000)


def largest(records: float, trials: int, _: np.random.Generator) -> np.ndarray:
    """Gives away the largest record, which only replacing one changes here."""
    return np.full(trials, np.max(records))


@pytest.mark.parametrize(
    ("relation", "verdict"), [(Relation.ADD_REMOVE, Verdict.NOT_DETECTED), (Relation.SUBSTITUTE, Verdict.VIOLATED)]
)
def test_a_claim_is_judged_on_pairs_of_its_own_relation(relation: Relation, verdict: Verdict) -> None:
    records, answers = audited(relation, Target.dataset(largest, epsilon=1.0))
    assert records.pair is not None
    assert records.pair["relation"] == relation
    assert records.verdict is verdict
    assert answers.pair is not None
    assert answers.pair["relation"] is None
    assert answers.verdict is Verdict.VIOLATED


def test_what_the_attack_does_not_apply_to_stays_so() -> None:
    (finding,) = audited(Relation.SUBSTITUTE, Target.noise(largest, epsilon=1.0))
    assert (finding.verdict, finding.attack) == (Verdict.NOT_APPLICABLE, "each")
