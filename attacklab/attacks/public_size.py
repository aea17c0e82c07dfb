"""Any attack, kept to pairs of as many records: for claims that take the number of records as public."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from attacklab.attacks.base import Attack, Probe, Scenario
from attacklab.neighbours import Relation
from attacklab.targets import Target


@dataclass(frozen=True)
class PublicSize:
    """An attack without its scenarios on a record more or less.

    Attributes:
        attack: which.
    """

    attack: Attack

    @property
    def name(self) -> str:
        """That of the attack."""
        return self.attack.name

    @property
    def flaw(self) -> str:
        """That of the attack."""
        return self.attack.flaw

    def applies_to(self, target: Target) -> bool:
        """Where the attack does."""
        return self.attack.applies_to(target)

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        """Those scenarios of the attack whose pair the claim speaks of."""
        for scenario in self.attack.scenarios(target, probe):
            if scenario.pair.relation is not Relation.ADD_REMOVE:
                yield scenario
