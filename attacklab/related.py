"""An attack kept to the relation that a claim was made under: a pair of another one refutes nothing of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from attacklab.attacks.base import Attack, Probe, Scenario
from attacklab.neighbours import Relation
from attacklab.targets import Target


@dataclass(frozen=True)
class Related:
    """The scenarios of an attack whose datasets are neighbours by one relation.

    Pairs of what a mechanism sees of its datasets (true answers, utilities) are neighbours by any.

    Attributes:
        attack: the attack.
        relation: that of the claim.
    """

    attack: Attack
    relation: Relation

    @property
    def name(self) -> str:
        """That of the attack."""
        return self.attack.name

    @property
    def flaw(self) -> str:
        """That of the attack."""
        return self.attack.flaw

    def applies_to(self, target: Target) -> bool:
        """As the attack does."""
        return self.attack.applies_to(target)

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        """Those of the attack on pairs of this relation."""
        for scenario in self.attack.scenarios(target, probe):
            if scenario.pair.relation in (None, self.relation):
                yield scenario
